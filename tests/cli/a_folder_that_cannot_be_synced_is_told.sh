# The set is in place then: its loss in a power cut is another matter than a failed save.
export ASAN_OPTIONS=detect_leaks=0 # which strace cannot do
inject() { strace -f -qq -e trace=fsync -e inject=fsync:error=EIO:when="$1" "${@:2}" 2>&1 | grep -v fsync; }
[[ $(inject 1 sync /dev/null 2>&1) == *Input/output* ]] || exit 77 # no strace, or it may not

seq 1 10 >keys
echo 'the file:'
inject 1 "$NIDUS" build -o s.nidus keys | sed 's/tmp-[0-9a-f]*/tmp-.../'
ls
echo 'its folder:'
inject 2 "$NIDUS" build -o s.nidus keys
"$NIDUS" query -c s.nidus keys
