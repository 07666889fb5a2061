seq 1 5000 >keys
cat keys keys | "$NIDUS" dedup --seed 1 -p 2^-24 | cmp - keys && echo each once, in order
cat keys keys keys | "$NIDUS" dedup --seed 1 -c
cat keys keys keys | "$NIDUS" dedup --seed 1 -v -c
cat keys keys keys | "$NIDUS" dedup --seed 1 --json
printf 'a\na\nb\na\n\n\n' | "$NIDUS" dedup --seed 1 -v
printf 'a\0b\nc\0a\0' | "$NIDUS" dedup --seed 1 -0 | tr '\0' '|' && echo
printf '7\n+7\n007\n' | "$NIDUS" dedup --seed 1 --u64
"$NIDUS" dedup --seed 1 </dev/null; echo "nothing $?"
echo '-- it grows from a small beginning'
seq 1 20000 | "$NIDUS" dedup --seed 1 -n 20000 -c
echo '-- and goes on where more come'
seq 1 20001 | "$NIDUS" dedup -q --seed 1 -n 20000 | cmp - <(seq 1 20001) && echo all
seq 1 100000 | "$NIDUS" dedup --seed 1 -n 1000 -p 2^-24 2>err | cmp - <(seq 1 100000) && echo all
sed 's/up to .*;/up to R;/' err
"$NIDUS" dedup --seed 1 missing; echo "code $?"
