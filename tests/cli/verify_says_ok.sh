seq 1 1000 | "$NIDUS" build -o a.nidus || exit 9
"$NIDUS" verify a.nidus; echo "code $?"
"$NIDUS" verify - <a.nidus; echo "code $?"
"$NIDUS" verify <(cat a.nidus); echo "code $?"
cp a.nidus b.nidus
echo no >c.nidus
"$NIDUS" verify a.nidus c.nidus b.nidus 2>err
