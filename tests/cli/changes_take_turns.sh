# Commands that change one set at the same time: none of them loses what another one did.
ln -s s.nidus link.nidus
for ((round = 0; round < 10; round++)); do
	rm -f s.nidus
	seq 1 1000 | "$NIDUS" build -n 1000 --grow 100000 -p 0.001 -o s.nidus || exit
	jobs=()
	for ((i = 0; i < 6; i++)); do
		set=s.nidus
		((i % 2 == 0)) || set=link.nidus
		seq $((10000 + i * 200)) $((10199 + i * 200)) >"more.$i"
		seq $((1 + i * 100)) $((100 + i * 100)) >"fewer.$i"
		"$NIDUS" add --multiset "$set" "more.$i" & jobs+=($!)
		"$NIDUS" remove "$set" "fewer.$i" & jobs+=($!)
	done
	"$NIDUS" grow -n 5000 s.nidus & jobs+=($!)
	"$NIDUS" shrink s.nidus & jobs+=($!)
	for job in "${jobs[@]}"; do
		wait "$job" || echo "round $round: code $?"
	done
	cat more.* <(seq 601 1000) >keys
	"$NIDUS" query -v s.nidus keys
	"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
	"$NIDUS" verify s.nidus >/dev/null || echo "round $round: not whole"
done | sort | uniq -c | sed 's/^ *//'
ls ./*.nidus* | cat
