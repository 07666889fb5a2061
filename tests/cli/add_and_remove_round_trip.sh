seq 1 1000 >first
seq 1001 2000 >second
"$NIDUS" build -f cuckoo -n 6000 -p 2^-24 --seed 1 -o s.nidus first || exit
"$NIDUS" add --json s.nidus second
"$NIDUS" add --json s.nidus first
"$NIDUS" query -c s.nidus first second
"$NIDUS" remove --json s.nidus first; echo "code $?"
"$NIDUS" query -c s.nidus first; echo "code $?"
"$NIDUS" query -c s.nidus second
"$NIDUS" verify s.nidus
"$NIDUS" add --multiset s.nidus second second
"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
cp s.nidus before
"$NIDUS" remove -o other.nidus s.nidus second || exit
cmp s.nidus before && "$NIDUS" info --json other.nidus | grep -o '"count": [0-9]*'
