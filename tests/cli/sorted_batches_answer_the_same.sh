# Keys that are looked up in the order of the table are answered as others are, and in their order.
seq 1 200000 | "$NIDUS" build --seed 3 -f windowed -o a.nidus || exit 9
seq 100001 300000 | "$NIDUS" build --seed 4 -f blocked-bloom -o b.nidus || exit 9
{ seq 400000 -7 1; echo; printf 'long%.0s' {1..5000}; echo; seq 1 50000; } >keys
try() {
	"$NIDUS" query "$@" >plain; code=$?
	"$NIDUS" query --sort-batches "$@" >sorted; sorted=$?
	cmp plain sorted && echo "$* -> $code $sorted, $(wc -l <sorted) lines"
}
try a.nidus keys
try -v a.nidus keys
try -c a.nidus keys keys
try --json a.nidus keys
try -k keys a.nidus b.nidus
try -c -k keys a.nidus b.nidus
try a.nidus /dev/null
seq 1 100 | "$NIDUS" build --u64 --seed 3 -o u.nidus || exit 9
seq 50 150 >numbers
try --u64 -v u.nidus numbers
tr '\n' '\0' <numbers | "$NIDUS" query --u64 -0 --sort-batches u.nidus | tr '\0' '\n' | head -n 2

# A key that is no integer: those before it are answered.
printf '7\n8\nnine\n10\n' | "$NIDUS" query --u64 --sort-batches u.nidus; echo "$?"

# A pipe that brings no more is answered all the same.
mkfifo pipe
"$NIDUS" query --sort-batches a.nidus pipe >answers &
exec 9>pipe
echo 17 >&9
for ((i = 0; i < 100; i++)); do
	[[ -s answers ]] && break
	sleep 0.1
done
cat answers
exec 9>&-
wait
"$NIDUS" query --sort-batches --values a.nidus keys 2>err; echo "$? $(head -n 1 err)"
