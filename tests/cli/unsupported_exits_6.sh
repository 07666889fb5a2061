# What the set's family cannot do leaves it alone, and the reason says so kindly.
for family in bloom blocked-bloom; do
	seq 1 100 | "$NIDUS" build -f $family -n 200 --seed 7 -o s.nidus || exit 9
	cp s.nidus before
	echo 5 | "$NIDUS" remove s.nidus 2>err
	echo "remove $? $(grep -c "nidus: s.nidus: .*the $family family cannot remove" err)"
	"$NIDUS" dump s.nidus 2>err
	echo "dump $? $(grep -c "nidus: s.nidus: .*cannot be listed" err)"
	"$NIDUS" grow -n 1M s.nidus 2>err
	echo "grow $? $(grep -c "nidus: s.nidus: .*the $family family cannot grow" err)"
	"$NIDUS" plan -n 1M -f $family --delete >out 2>err
	echo "plan $? $(grep -c "^  $family .*cannot delete" out)"
	cmp s.nidus before
	# And what it can: add, query, merge, verify.
	seq 101 200 | "$NIDUS" build --like s.nidus -o t.nidus
	seq 101 150 | "$NIDUS" add s.nidus
	seq 1 150 | "$NIDUS" query -c s.nidus
	"$NIDUS" merge -o m.nidus before t.nidus && seq 1 200 | "$NIDUS" query -c m.nidus
	"$NIDUS" verify m.nidus
	rm -- *.nidus
done
ls -- *.nidus 2>/dev/null
"$NIDUS" build -f bloom -n 1k --grow 1M -o t.nidus </dev/null
