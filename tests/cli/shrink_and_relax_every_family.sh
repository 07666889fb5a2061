# A set that has grown becomes small again; with --relax a set grows beyond its reserve.
for family in cuckoo semisort simplified chunked bucketed windowed breadcrumb; do
	seq 1 2000 | "$NIDUS" build -f $family -n 2000 -p 0.001 --grow 16000 --seed 7 -o s.nidus || exit
	seq 2001 16000 | "$NIDUS" add --multiset s.nidus || exit
	before=$(wc -c <s.nidus)
	seq 1 15000 | "$NIDUS" remove s.nidus || exit
	"$NIDUS" shrink -n 500 s.nidus 2>err && echo "shrank too far"
	grep -c "entries are in the filter" err
	"$NIDUS" shrink -n 1200 -o t.nidus s.nidus || exit
	"$NIDUS" shrink s.nidus || exit
	"$NIDUS" verify s.nidus t.nidus
	[ "$(wc -c <s.nidus)" -lt $((before / 2)) ] || echo "$before -> $(wc -c <s.nidus)"
	echo "$family shrunk $(seq 15001 16000 | "$NIDUS" query -c s.nidus)"
	seq 1 2000 | "$NIDUS" build -f $family -n 2000 -p 0.001 --seed 7 -o r.nidus || exit
	"$NIDUS" grow -n 6000 r.nidus 2>err && echo "grew without bits"
	grep -c "at most; with --relax it grows on" err
	"$NIDUS" grow --relax -n 6000 r.nidus || exit
	"$NIDUS" verify r.nidus
	seq 2001 6000 | "$NIDUS" add --multiset r.nidus || exit
	echo "$family relaxed $(seq 1 6000 | "$NIDUS" query -c r.nidus)"
	absent=$(seq 200001 300000 | "$NIDUS" query -c r.nidus)
	[ "$absent" -le 520 ] || echo "$absent absent keys of 100000 passed"
done
