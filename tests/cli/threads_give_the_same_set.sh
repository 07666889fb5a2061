seq 1 300000 >keys
for family in cuckoo windowed chunked breadcrumb; do
	"$NIDUS" build -f $family --seed 42 -o default.nidus keys || exit
	for threads in 1 2 3 8 200 1e18; do
		"$NIDUS" build -f $family --seed 42 -t $threads -o s.nidus keys || exit
		cmp default.nidus s.nidus || exit
	done
	echo "$family: same"
done
