# A static set takes about log2(1/fpr) bits per key, is only read, and keeps one value per key.
seq 1 20000 >keys
"$NIDUS" build --static -p 2^-12 --seed 7 -o s.nidus keys && "$NIDUS" info s.nidus | head -n 6
"$NIDUS" build -f ribbon -t 3 -p 2^-12 --seed 7 -o again.nidus keys && cmp s.nidus again.nidus && echo the same bytes
"$NIDUS" info --json s.nidus | grep -o '"bits_per_key": [0-9]*\.[0-9]'
"$NIDUS" query -c s.nidus keys
"$NIDUS" verify s.nidus
seq 30001 30100 | "$NIDUS" add s.nidus 2>&1; echo "code $?"
"$NIDUS" remove s.nidus keys 2>&1; echo "code $?"
"$NIDUS" merge -o m.nidus s.nidus again.nidus 2>&1; echo "code $?"
"$NIDUS" grow -n 1M s.nidus 2>&1; echo "code $?"
"$NIDUS" build --static -f cuckoo keys -o x.nidus 2>&1; echo "code $?"
"$NIDUS" build --static -p 2^-40 keys -o x.nidus 2>&1; echo "code $?"
printf 'heron\t3\ncrane\t1\n' | "$NIDUS" build --static --values 2 -p 2^-32 -o v.nidus
printf 'heron\ncrane\nstork\n' | "$NIDUS" query --values v.nidus
printf 'heron\t3\nheron\t1\n' | "$NIDUS" build --static --values 2 -o x.nidus 2>&1 | sed 's/keys 0 and 1.*hashes, have/(keys) have/'
test ! -e x.nidus && echo nothing was written
