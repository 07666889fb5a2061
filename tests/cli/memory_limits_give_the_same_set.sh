# With --memory a set is the same, whatever goes to files, and nothing is left.
seq 1 2200000 >keys
awk '{ print $1 "\t" $1 % 200 }' keys | head -n 700000 >pairs
export TMPDIR=$PWD/temporary
mkdir temporary
try() {
	"$NIDUS" build --seed 5 "$@" -o without.nidus || exit 9
	"$NIDUS" build --seed 5 "$@" --memory 2^24 -o within.nidus || exit 9
	cmp within.nidus without.nidus && echo "same: $*"
}
try keys
try -n 2500000 -f windowed keys
try -f chunked -p 0.001 keys
try --compact keys
try --static -p 2^-10 keys
try -f blocked-bloom keys
try --values 8 pairs
try -n 1000 /dev/null
head -n 700000 keys >few
cat few few few | "$NIDUS" build --seed 5 -f bucketed --memory 2^24 -t 1 >within.nidus
"$NIDUS" build --seed 5 -f bucketed few | cmp - within.nidus && echo 'same: stream, equal keys'
"$NIDUS" build --seed 5 --memory 2^24 --json -n 2200000 -f windowed -o within.nidus keys |
	grep -o '"memory_limit": .*}'
"$NIDUS" build --seed 5 --memory 1G --json -f windowed -o within.nidus few | grep -o '"memory_limit": .*}'

# What cannot be is told before keys are read.
refused() {
	"$NIDUS" build --seed 5 --memory 2^24 "$@" -o new.nidus no-such-file 2>err
	echo "$? $(head -n 1 err)"
}
refused -f cuckoo
refused -f bloom
refused --multiset
refused --grow 1M
refused --like without.nidus
refused --exclude keys
"$NIDUS" build --memory 1M keys 2>err; echo "$? $(head -n 1 err)"
"$NIDUS" build -T . keys 2>err; echo "$? $(head -n 1 err)"
"$NIDUS" build --memory lots keys 2>err; echo "$? $(head -n 1 err)"
"$NIDUS" build --memory 2^24 -n 1000000 -o new.nidus keys 2>err; echo "$? $(cat err)"
"$NIDUS" build --memory 2^24 -T no/where -o new.nidus keys 2>err; echo "$? $(cat err)"
(ulimit -f 100 && "$NIDUS" build --memory 2^24 -T temporary -o new.nidus keys 2>err); echo "$? $(cat err)"
ls . temporary
