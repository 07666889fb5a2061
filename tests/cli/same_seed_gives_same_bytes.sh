seq 1 5000 >keys
sort -r keys >reversed
"$NIDUS" build -n 6000 -p 0.001 --seed 42 -o a.nidus keys || exit
"$NIDUS" build -n 6000 -p 0.001 --seed 0x2a -t 4 -o b.nidus reversed || exit
"$NIDUS" build -n 6k -p 0.1% --seed=42 <keys >c.nidus || exit
cmp a.nidus b.nidus && cmp a.nidus c.nidus && echo same
"$NIDUS" build -n 6000 -p 0.001 -o d.nidus keys || exit
"$NIDUS" build -n 6000 -p 0.001 -o e.nidus keys || exit
cmp -s d.nidus e.nidus || echo 'random seeds differ'
