printf '7\n18446744073709551615\n-9223372036854775808\n-2\n0\r\n007\n-0\n' |
	"$NIDUS" build --u64 -p 2^-24 --seed 1 -o s.nidus || exit
"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
echo 'modulo 2^64'
printf '7\n-1\n9223372036854775808\n18446744073709551614\n0\n' | "$NIDUS" query --u64 s.nidus
echo 'text is another key'
echo 7 | "$NIDUS" query -c s.nidus
echo 'added and removed'
printf '8\0009' | "$NIDUS" add -0 --u64 s.nidus && printf '8\n10' | "$NIDUS" query --u64 s.nidus
echo 9 | "$NIDUS" remove --u64 --strict s.nidus && printf '8\n9\n' | "$NIDUS" query --u64 s.nidus
echo 'the copies of a multiset go straight in'
seq 1 5000 | "$NIDUS" build --u64 --multiset -n 5000 --seed 1 -o m.nidus
seq 1 5000 | "$NIDUS" query --u64 -c m.nidus
echo 'both ways of building give the same set'
seq 1 5000 | "$NIDUS" build --u64 -n 5000 --seed 1 -o a.nidus
seq 5000 -1 1 | "$NIDUS" build --u64 --like a.nidus -o b.nidus
cmp a.nidus b.nidus && echo same
