seq 1 100 | "$NIDUS" build -p 2^-24 --seed 1 -o s.nidus || exit
cp s.nidus before
seq 91 110 >keys
"$NIDUS" remove --strict s.nidus keys 2>err; echo "code $?"
grep -c '10 of 20 keys' err
cmp s.nidus before && echo unchanged
"$NIDUS" remove s.nidus keys 2>err; echo "code $?"
grep -c '10 of 20 keys' err
"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
"$NIDUS" remove -q --json s.nidus keys 2>err; echo "code $?"
cat err
