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
seq 1 20001 | "$NIDUS" dedup --seed 1 -n 20000 2>err | wc -l
cat err
"$NIDUS" dedup --seed 1 missing; echo "code $?"
