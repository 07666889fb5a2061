# Counts add up over several runs, are never too low, and end at the highest value.
seq 1 300 > numbers
cat numbers numbers | "$NIDUS" count -q -n 1000 --seed 3 counts.nidus
seq 1 100 | "$NIDUS" count -q counts.nidus - numbers
printf '5\n200\n299\n301\n' | "$NIDUS" query --counts counts.nidus
printf 'heron\t250\ncrane\t3\n' | "$NIDUS" count -q --values 8 --sums -n 10 --seed 3 small.nidus
printf 'heron\t4\nheron\t4\n' | "$NIDUS" count -q --sums small.nidus
printf 'heron\ncrane\n' | "$NIDUS" query --counts small.nidus
cp small.nidus other.nidus
"$NIDUS" merge -q --sum -o sum.nidus small.nidus other.nidus
printf 'heron\ncrane\n' | "$NIDUS" query --counts sum.nidus
# A set without counts, and more keys than fit: nothing changes.
echo heron | "$NIDUS" build -q -o plain.nidus
echo heron | "$NIDUS" count plain.nidus; echo $?
cp small.nidus before.nidus
seq 1 100000 | "$NIDUS" count small.nidus 2>/dev/null; echo $?
cmp small.nidus before.nidus && echo unchanged
echo heron | "$NIDUS" count -; echo $?
"$NIDUS" count; echo $?
