# What messages about sets that do not fit together, or do not fit, say is tried, word for word.
try() {
	"$NIDUS" "$@" 2>err
	echo "$? $(head -n 1 err)"
}
seq 1 3000 >a.txt
seq 3001 6007 >b.txt
"$NIDUS" build -n 3000 -p 0.001 --seed 1 -f windowed -o a.nidus a.txt
"$NIDUS" build -n 3007 -p 0.001 --seed 2 -f windowed -o b.nidus b.txt
try merge -o both.nidus a.nidus b.nidus
try merge -o both.nidus a.nidus a.nidus b.nidus
echo 'build one of them anew with --like the other'
try build -n 3007 --like a.nidus -o b.nidus b.txt
echo 'leave --capacity out'
try build --like a.nidus -o b.nidus b.txt
try merge -o both.nidus a.nidus b.nidus
cat a.txt b.txt | "$NIDUS" query -c both.nidus
echo 'plan for all keys'
"$NIDUS" plan -n 6007 -p 0.001 -f windowed --save plan.nidus
try build --like plan.nidus -o a.nidus a.txt
try build --like plan.nidus -o b.nidus b.txt
try merge -o both.nidus a.nidus b.nidus
cat a.txt b.txt | "$NIDUS" query -c both.nidus
"$NIDUS" info both.nidus | grep target
try build --like plan.nidus --memory 100M -o b.nidus b.txt
echo 'build several smaller sets like plan.nidus, and merge them'
split -l 1000 b.txt b.part.
for part in b.part.*; do
	"$NIDUS" build --like plan.nidus -o "$part.nidus" "$part"
done
try merge -o both.nidus a.nidus b.part.*.nidus
cat a.txt b.txt | "$NIDUS" query -c both.nidus
"$NIDUS" plan -n 10 -p 0.0625 -f windowed --seed 1 --save plan.nidus
try build --like plan.nidus -o a.nidus a.txt
echo 'build all sets with --like a larger plan'
"$NIDUS" plan -n 3000 -p 0.0625 -f windowed --seed 1 --save plan.nidus
try build --like plan.nidus -o a.nidus a.txt
try build -n 2000 -o c.nidus a.txt
try build -n 3000 -o c.nidus a.txt
try build -n 10 --grow 2000 -o c.nidus a.txt
try build -n 10 --grow 3000 -o c.nidus a.txt
try build --grow 2000 -o c.nidus a.txt
try build -o c.nidus a.txt
