# Copies of keys fit without -n, many of one key too.
for copies in 2 3 5 10; do
	for _ in $(seq 1 $copies); do seq 1 10000; done | "$NIDUS" build --multiset -p 0.001 --seed 7 -o m.nidus || exit
	"$NIDUS" verify m.nidus
	"$NIDUS" info --json m.nidus | grep -o '"count": [0-9]*'
	echo "$(seq 1 10000 | "$NIDUS" query -c m.nidus) found"
	bits=$("$NIDUS" info --json m.nidus | grep -o '"bits_per_key": [0-9]*' | grep -o '[0-9]*$')
	[ "$bits" -le 48 ] || echo "$bits bits for each of $copies copies"
done
(seq 1 100; yes heron | head -n 40) >keys.txt
"$NIDUS" build --multiset -o x.nidus keys.txt || exit
"$NIDUS" info --json x.nidus | grep -o '"count": [0-9]*'
"$NIDUS" build -o x.nidus keys.txt && "$NIDUS" query -c x.nidus keys.txt
"$NIDUS" plan -n 1000 --multiset --json | grep -c '"copies": '
