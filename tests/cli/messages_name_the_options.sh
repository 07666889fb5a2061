# What is wrong is told in the words of the command line, not in those of the library.
try() {
	"$NIDUS" "$@" </dev/null >out 2>err
	echo "$? $(head -n 1 err)"
}
try build -n 2^63 -o s.nidus
try build -n 9223372036854775808 -o s.nidus
try build -s 3 -o s.nidus
try build -n 10 --grow 5 -o s.nidus
try plan -n 10 --grow 5
try build --delete --no-delete -o s.nidus
try build -o ''
try grow -n 10 -o '' s.nidus
yes heron | head -n 100 >same
"$NIDUS" build -n 10 -o s.nidus same || exit
"$NIDUS" build -n 2^10 -o p.nidus same && "$NIDUS" info --json p.nidus | grep -o '"capacity": [0-9]*'
echo 'the same options make a plan and a set'
"$NIDUS" build --help | grep -oE -- '--(fast|delete|no-delete|enumerate|merge|grow|concurrent|multiset|slots|fpr|family)' | sort -u >built
"$NIDUS" plan --help | grep -oE -- '--(fast|delete|no-delete|enumerate|merge|grow|concurrent|multiset|slots|fpr|family)' | sort -u | cmp built - && wc -l <built
seq 1000 | "$NIDUS" build --fast -o f.nidus && "$NIDUS" info f.nidus | head -n 1
seq 1000 | "$NIDUS" build --concurrent --merge -o f.nidus && "$NIDUS" info --json f.nidus | grep -o concurrent
