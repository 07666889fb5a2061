# --grow without a number: any number of keys may come.
seq 1 1000 >few
"$NIDUS" build --seed 1 -p 1% --grow few -o s.nidus
"$NIDUS" info s.nidus | grep -E '^(count|max capacity|room for)'
"$NIDUS" info --json s.nidus | grep -oE '"(max_capacity|room)": [^,]*'
seq 1001 700000 | "$NIDUS" add s.nidus
"$NIDUS" verify s.nidus
seq 1 700000 | "$NIDUS" query s.nidus | wc -l
"$NIDUS" info s.nidus | awk '/^fpr now/ && $3 > 0.01 { print "the rate is too high" }'
seq 1 500 | "$NIDUS" remove s.nidus
seq 699001 700000 | "$NIDUS" remove s.nidus
seq 501 699000 | "$NIDUS" query s.nidus | wc -l
"$NIDUS" pack s.nidus 2>err; echo "code $?"
"$NIDUS" build --seed 1 -p 1% --grow=50000 few | "$NIDUS" info - | grep '^max capacity'
"$NIDUS" build --seed 1 -p 1% few --grow | "$NIDUS" info - | grep '^max capacity'
"$NIDUS" build --seed 1 -f cuckoo --grow few >out 2>err; echo "code $?"
"$NIDUS" build --seed 1 -f cuckoo --no-delete --grow few | "$NIDUS" info - | grep '^max capacity'
"$NIDUS" plan -n 1000 -p 1% --grow | tail -n 1 | sed 's/about .*/about S/'
"$NIDUS" dedup --seed 1 --set seen.nidus few | wc -l
"$NIDUS" info seen.nidus | grep '^max capacity'
"$NIDUS" count --seed 1 counts.nidus few
"$NIDUS" info counts.nidus | grep '^max capacity'
