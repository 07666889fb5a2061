# A finished set becomes as small as one that was built for its keys, or says why it cannot.
for family in windowed bucketed breadcrumb; do
	seq 1 5000 | "$NIDUS" build -f $family -n 100 -p 0.001 --grow 10M --seed 7 -o s.nidus || exit
	seq 1 5000 | "$NIDUS" build -f $family -p 0.001 --seed 7 -o built.nidus || exit
	before=$(wc -c <s.nidus) built=$(wc -c <built.nidus)
	"$NIDUS" pack -o t.nidus s.nidus || exit
	[ "$(wc -c <s.nidus)" = "$before" ] || echo "s.nidus changed"
	"$NIDUS" pack --json s.nidus | grep -c '"count": 5000' || exit
	cmp s.nidus t.nidus
	"$NIDUS" verify s.nidus
	packed=$(wc -c <s.nidus)
	[ $((packed * 10)) -le $((built * 13)) ] || echo "$before -> $packed, built $built"
	echo "$family $(seq 1 5000 | "$NIDUS" query -c s.nidus)"
	"$NIDUS" pack s.nidus && cmp s.nidus t.nidus
done
seq 1 100 | "$NIDUS" build -f windowed -n 100 --grow 10M --seed 7 -o a.nidus
seq 101 200 | "$NIDUS" build --like a.nidus -o b.nidus
"$NIDUS" pack a.nidus
"$NIDUS" merge -o c.nidus a.nidus b.nidus 2>err
echo "merge exits with $?"
grep -c "merge first, and pack what comes of it" err
for family in cuckoo bloom ribbon; do
	seq 1 100 | "$NIDUS" build -f $family --seed 7 -o o.nidus || exit
	"$NIDUS" pack o.nidus 2>err
	echo "$family exits with $?"
done
"$NIDUS" pack 2>err
echo "without a set: $?"
