# A line each, or an object each; a set that cannot be read costs the others nothing.
seq 1 900 | "$NIDUS" build -n 1000 -p 0.001 -f cuckoo --seed 5 -o a.nidus || exit 9
seq 1 5000 | "$NIDUS" build -f bloom -p 1e-4 --seed 5 -o b.nidus || exit 9
echo no >c.nidus
"$NIDUS" info a.nidus c.nidus b.nidus 2>err; echo "code $?"
cut -c 1-32 err
"$NIDUS" info --json a.nidus - b.nidus <a.nidus | sed 's/"features.*\("seed\)/... \1/'
"$NIDUS" info missing.nidus a.nidus 2>err | wc -l
grep -c missing err
