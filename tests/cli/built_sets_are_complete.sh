seq 1 1000 | "$NIDUS" build --seed 1 -o s.nidus
"$NIDUS" info s.nidus | grep '^room'
"$NIDUS" info --json s.nidus | grep -o '"room": [0-9]*'
echo new | "$NIDUS" add s.nidus 2>&1; echo "code $?"
echo '-- the advice works'
"$NIDUS" grow --relax -n 1500 s.nidus && echo new | "$NIDUS" add s.nidus && echo new | "$NIDUS" query s.nidus
seq 1 1000 | "$NIDUS" build -n 1001 --seed 1 -o n.nidus && echo new | "$NIDUS" add n.nidus && echo new | "$NIDUS" query n.nidus
seq 1 1000 | "$NIDUS" build --grow 2000 --seed 1 -o g.nidus && echo new | "$NIDUS" add g.nidus && echo new | "$NIDUS" query g.nidus
echo '-- room'
seq 1 400 | "$NIDUS" build -n 1000 --seed 1 -o n.nidus
"$NIDUS" info n.nidus | grep '^room'
seq 1 400 | "$NIDUS" build -f bloom --seed 1 -o b.nidus
"$NIDUS" info b.nidus | grep '^room'
