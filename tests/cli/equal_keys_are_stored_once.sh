count() { "$NIDUS" info --json "$1" | grep -o '"count": [0-9]*'; }
{ seq 1 1000; seq 1 1000; echo 7; } >keys
"$NIDUS" build -o s.nidus keys && count s.nidus
"$NIDUS" build -n 1000 -o s.nidus keys && count s.nidus
"$NIDUS" build -t 3 -o s.nidus keys && count s.nidus
"$NIDUS" build --multiset -o m.nidus keys && count m.nidus
"$NIDUS" build --multiset -f cuckoo -n 2001 -o m.nidus keys && count m.nidus
