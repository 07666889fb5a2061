# Two sets made alike merge; a set made to grow grows, by itself and when told.
for family in cuckoo semisort simplified chunked bucketed windowed breadcrumb; do
	seq 1 5000 | "$NIDUS" build -f $family -n 5000 -p 0.001 --seed 7 -o a.nidus || exit
	seq 5001 10000 | "$NIDUS" build --like a.nidus -o b.nidus || exit
	"$NIDUS" merge -o m.nidus a.nidus b.nidus || exit
	"$NIDUS" verify m.nidus
	echo "$family merged $(seq 1 10000 | "$NIDUS" query -c m.nidus)"
	absent=$(seq 20001 120000 | "$NIDUS" query -c m.nidus)
	[ "$absent" -le 270 ] || echo "$absent absent keys of 100000 passed"
	seq 1 5000 | "$NIDUS" build -f $family -n 5000 -p 0.001 --grow 100000 -o g.nidus || exit
	"$NIDUS" grow -n 20000 g.nidus || exit
	seq 5001 100000 | "$NIDUS" add --multiset g.nidus || exit
	echo "$family grown $(seq 1 100000 | "$NIDUS" query -c g.nidus)"
	absent=$(seq 200001 300000 | "$NIDUS" query -c g.nidus)
	[ "$absent" -le 160 ] || echo "$absent absent keys of 100000 passed"
	"$NIDUS" grow -n 1e9 g.nidus 2>err && echo "grew too far"
	grep -c "keys at most; with --relax" err
done
seq 1 10 | "$NIDUS" build -n 10 --seed 8 -o other.nidus
"$NIDUS" merge -o x.nidus m.nidus other.nidus 2>err
echo "code $?"
grep -c differ err
