# Many sets merge at once, with all copies of their keys or with --unique once.
for family in cuckoo semisort simplified chunked bucketed windowed breadcrumb; do
	seq 1 500 | "$NIDUS" build -f $family -n 500 -p 0.0001 --seed 7 -o s0.nidus || exit
	sets=s0.nidus
	for i in 1 2 3 4 5 6 7 8 9 10 11; do
		seq $((i * 500 + 1)) $((i * 500 + 500)) | "$NIDUS" build --like s0.nidus -o s$i.nidus || exit
		sets="$sets s$i.nidus"
	done
	"$NIDUS" merge -o m.nidus $sets || exit
	"$NIDUS" verify m.nidus
	echo "$family merged $(seq 1 6000 | "$NIDUS" query -c m.nidus)"
	"$NIDUS" merge s0.nidus s0.nidus | "$NIDUS" info --json - | grep -o '"count": [0-9]*'
	"$NIDUS" merge --unique s0.nidus s0.nidus s1.nidus >u.nidus || exit
	echo "$family once $(seq 1 1000 | "$NIDUS" query -c u.nidus)"
	"$NIDUS" info --json u.nidus | grep -c '"count": \(1000\|99[0-9]\)'
	rm -f x.nidus
	# Forty times the same keys: all copies are kept, or one with --unique.
	many=$(for i in $(seq 1 40); do echo s0.nidus; done)
	if [ $family != breadcrumb ]; then
		"$NIDUS" merge -o x.nidus $many || exit
		"$NIDUS" verify x.nidus
		"$NIDUS" info --json x.nidus | grep -o '"count": [0-9]*'
	fi
	"$NIDUS" merge --unique -o x.nidus $many || exit
	echo "$(seq 1 500 | "$NIDUS" query -c x.nidus) of 500"
done
seq 1 10 | "$NIDUS" build -f breadcrumb -n 500 -p 0.0001 --seed 8 -o other.nidus
"$NIDUS" merge -o x.nidus s0.nidus s1.nidus other.nidus 2>err
echo "code $?"
grep -c 'filter 3 of 3: the seeds differ' err
seq 1 10 | "$NIDUS" build -f breadcrumb -n 500 -p 0.01 --seed 7 -o other.nidus
"$NIDUS" merge -o x.nidus s0.nidus other.nidus 2>&1 | grep -c 'the fingerprints differ: make both filters with the same rate'
