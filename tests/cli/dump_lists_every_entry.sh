seq 1 5000 | "$NIDUS" build -p 0.001 -f cuckoo -o s.nidus || exit
"$NIDUS" dump s.nidus | wc -l
"$NIDUS" dump s.nidus | grep -c -v '^[0-9][0-9]* [1-9][0-9]*$'
"$NIDUS" dump --json s.nidus | grep -c '^{"home": [0-9]*, "fingerprint": [0-9]*}$'
"$NIDUS" build -o e.nidus </dev/null && "$NIDUS" dump e.nidus
