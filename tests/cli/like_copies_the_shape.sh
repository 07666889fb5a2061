seq 1 3000 | "$NIDUS" build -n 4000 -p 0.003 -o a.nidus || exit
seq 1 3000 | "$NIDUS" build --like a.nidus -o b.nidus || exit
cmp a.nidus b.nidus && echo same
"$NIDUS" build --like a.nidus -n 5 -o c.nidus 2>err </dev/null; echo "code $?"
grep -c -e '--like.*--capacity' err
