# Without -n there is room for just the keys, and none at all is fine too.
seq 1 12345 | "$NIDUS" build -p 0.01 -o s.nidus || exit
seq 1 12345 | "$NIDUS" query -c s.nidus
"$NIDUS" build -o empty.nidus </dev/null || exit
"$NIDUS" info --json empty.nidus | grep -o '"count": [0-9]*'
echo x | "$NIDUS" query -c empty.nidus
