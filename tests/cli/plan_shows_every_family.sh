"$NIDUS" plan -n 1M -p 0.001 >table || exit
head -n 1 table
grep -c '^\*' table
grep -c '^. cuckoo ' table
"$NIDUS" plan -n 1M -p 0.001 -f cuckoo | grep -c '^\* cuckoo '
"$NIDUS" plan -n 1M -p 0.001 -f cuckoo | tail -n 1
"$NIDUS" plan -n 1M -p 0.001 --fast | tail -n 1 | grep -c ' is taken: the quickest'
"$NIDUS" plan -n 1e9 -p 1e-4 --delete --merge --grow 4e9 | tail -n 2 | grep -c ' is taken: .*the smallest of'
"$NIDUS" plan -n 1.5M -p 0.001 --json | grep -c '"why": "the smallest'
"$NIDUS" plan -n 1M -p 0.001 | grep -c '^windowed is taken: clearly faster than semisort, the smallest of '
echo json
"$NIDUS" plan -n 1M -p 0.001 --json | grep -o '"chosen": true' | wc -l
"$NIDUS" plan -n 1M -p 0.001 --json | grep -o '"family": "cuckoo"'
"$NIDUS" plan -n 1M -p 0.001 --json | wc -l
"$NIDUS" plan -n 1M -p 0.001 --delete --enumerate >/dev/null && echo 'can be deleted from'
"$NIDUS" plan -n 10k --grow 5M | tail -n 1 | grep -c '^growing to 5000000 keys it takes up to [0-9.]* MiB$'
"$NIDUS" plan -n 10k --json | grep -o '"pace": [0-9]*' | sort -u | wc -l
"$NIDUS" plan -n 10k --json | grep -o '"speed": "[a-z]*"' | sort | uniq -c
"$NIDUS" plan -n 1M | awk 'NR > 1 && $(NF - 1) == "fastest" { print $1, "is the quickest" }'
echo bad
"$NIDUS" plan -n 1M -p 1e-12 >out 2>err; echo "code $?"
"$NIDUS" plan -n 0 >out 2>err; echo "code $?"
"$NIDUS" plan -n 1e13 -p 1e-7 2>err | grep -c 'so many keys at so low a rate need more than a 64-bit hash'
"$NIDUS" plan 1M 2>&1 | head -n 1
