seq 1 100 | "$NIDUS" build -n 100 -o s.nidus || exit
cp s.nidus before
seq 101 100000 | "$NIDUS" add s.nidus 2>err; echo "code $?"
cmp s.nidus before && echo unchanged
cat err
yes same | head -n 5000 | "$NIDUS" add --multiset s.nidus 2>err; echo "code $?"
cmp s.nidus before && echo unchanged
"$NIDUS" add s.nidus missing 2>err; echo "code $?"
cmp s.nidus before && echo unchanged
ls
