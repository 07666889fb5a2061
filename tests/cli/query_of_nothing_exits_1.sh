printf 'heron\n' | "$NIDUS" build -p 2^-24 --seed 1 -o s.nidus || exit 9
echo heron | "$NIDUS" query -v s.nidus; echo "code $?"
echo heron | "$NIDUS" query -vc s.nidus; echo "code $?"
echo raven | "$NIDUS" query --json s.nidus; echo "code $?"
echo raven | "$NIDUS" query --json -v s.nidus; echo "code $?"
"$NIDUS" query -c s.nidus </dev/null; echo "code $?"
echo raven | "$NIDUS" query s.nidus
