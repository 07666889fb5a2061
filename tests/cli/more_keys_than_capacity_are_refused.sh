# With any seed: whether a few more would find a place is luck, and luck is no exit code.
for seed in 1 2 3 4 5; do
	for keys in 1000 1001 1050; do
		seq $keys | "$NIDUS" build -n 1000 -f windowed --seed $seed -o s.nidus 2>err
		echo "build $? $(cat err)"
	done
	"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
	echo more | "$NIDUS" add s.nidus 2>err; echo "add $?"
	cut -c -60 err
	echo 7 | "$NIDUS" add s.nidus 2>err; echo "add what is there $?"
done | sort | uniq -c
seq 1000 | "$NIDUS" build -n 1000 -f windowed -o s.nidus
echo more | "$NIDUS" add --overfill s.nidus; echo "code $?"
echo bloom is never full, its rate rises
seq 2000 | "$NIDUS" build -n 1000 -f bloom -o b.nidus 2>err; echo "code $?"
sed 's/now [0-9.]* instead of [0-9.]*/now A instead of B/' err
seq 3000 | "$NIDUS" add b.nidus 2>err; echo "code $?"
sed 's/now [0-9.]* instead of [0-9.]*/now A instead of B/; s/[0-9]* keys are/N keys are/' err
echo a set that grows takes what it was made for
seq 1000 | "$NIDUS" build -n 10 --grow 1000 -o g.nidus 2>err; echo "code $? $(cat err)"
seq 5000 | "$NIDUS" build -n 10 --grow 1000 -o g.nidus 2>err; echo "code $? $(cat err)"
