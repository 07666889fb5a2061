# One key any number of times: each copy is stored, and can be taken out again.
yes same | head -n 5000 | "$NIDUS" build --multiset -n 100 -f bucketed -o s.nidus || exit
"$NIDUS" verify s.nidus
"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
yes same | head -n 4999 | "$NIDUS" remove s.nidus || exit
echo same | "$NIDUS" query -c s.nidus
echo same | "$NIDUS" remove s.nidus || exit
"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
yes same | head -n 5000 | "$NIDUS" build --multiset -o t.nidus || exit
"$NIDUS" info --json t.nidus | grep -o '"count": [0-9]*'
