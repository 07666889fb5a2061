# table ARGUMENT...: the rows and operations that are measured, without their figures.
table() {
	"$NIDUS" bench speed -n 2000 --repeat 1 -t 1 "$@" >out 2>err || echo "code $?"
	grep -v 'other programs were at work' err
	sed -n '/^[a-z0-9-]*: [0-9]* keys/,$p' out | sed -e 's/: .*//' -e 's/  *[0-9.]* *[0-9.]* *\.\..*//'
}
echo '- one row'
table -f windowed-2-k8
echo '- rows of a family, one operation'
table -f windowed-2,cuckoo --only remove
echo '- two operations'
table -f breadcrumb --only merge,lookup
echo '- fingerprints as wide as the name says'
"$NIDUS" bench speed -n 2000 --repeat 1 -f chunked,cuckoo --only remove | grep -c '12-bit fingerprints'
echo '- batches of any size'
table -f cuckoo --batch 7 --only lookup
echo '- bars'
"$NIDUS" bench speed -n 2000 --repeat 1 -f cuckoo --only lookup --bars >out
code=$?
grep -c -e ' pass$' -e ' BELOW$' out
grep -q ' 0 missed' out
echo "$?, as the exit code: $code" | sed -e 's/^0, as the exit code: 0$/agrees/' -e 's/^1, as the exit code: 1$/agrees/'
