seq 1 1000 | "$NIDUS" build -n 1000 -o s.nidus 2>err || exit
cat err
capacity=$("$NIDUS" info --json s.nidus | grep -o '"capacity": [0-9]*' | grep -o '[0-9]*')
seq 1 $((capacity + 1)) | "$NIDUS" build -n 1000 -o s.nidus 2>err; echo "code $?"
grep -c "$((capacity + 1)) keys are more than the capacity of $capacity" err
seq 1 $((capacity + 1)) | "$NIDUS" build -q -n 1000 -o s.nidus 2>err; echo "code $?"
cat err
