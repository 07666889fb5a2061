yes same | head -n 5000 | "$NIDUS" build --multiset -n 100000 -o s.nidus 2>err
echo "code $?"
grep -c 'another copy' err
ls
yes same | head -n 5000 | "$NIDUS" build --multiset -o s.nidus 2>err
echo "code $?"
ls
