# Which figures there are and that they are in order; how large they are is nobody's business here.
"$NIDUS" bench latency -n 3000 --repeat 2 -f breadcrumb,windowed-2-k8,windowed-4-k8,bloom --json >out 2>err; echo "code $?"
cat err
wc -l <out
row() { # NAME: the names of its figures
	sed 's/{"row": /\n&/g' out | grep -m 1 "\"row\": \"$1\"" |
		grep -o '"[a-z_]*": {' | cut -d '"' -f 2
}
for name in windowed-2-k8 windowed-4-k8 bloom-12; do
	echo "- $name"
	row "$name"
done
echo '- compared with'
sed 's/"rows".*//' out | grep -o '"[a-z_]*": {"\(median\|calls\)"' | cut -d '"' -f 2
# p50 <= p99 <= p99.9 <= most; low <= median <= high.
grep -o '"calls": [^}]*' out | tr -d ',' | awk '!($2 > 0 && $4 <= $6 && $6 <= $8 && $8 <= $10 && $10 > 0)'
grep -o '"median": [^}]*' out | tr -d ',' | awk '!($4 > 0 && $4 <= $2 && $2 <= $6)'
# 5 % of the fill; all keys but the first hundredth.
grep -o '"\(fill\|growth\)[a-z_]*": {"calls": [0-9]*' out | sort | uniq -c | sed 's/^ *//'
echo '- as a table'
"$NIDUS" bench latency -n 2000 --repeat 1 -f cuckoo --only lookup | sed 's/  *  [0-9][0-9. ]*$//' | tail -n 4
"$NIDUS" bench latency -n 2000 --repeat 1 -f cuckoo --only insert | sed 's/  *  [0-9][0-9. ]*$//' | tail -n 5
"$NIDUS" bench latency -n 2000 --repeat 1 -f cuckoo,blocked-bloom --only grow | sed 's/  *  [0-9][0-9. ]*$//' | tail -n 3
