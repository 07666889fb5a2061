seq 1 200000 >keys
"$NIDUS" build -o s.nidus keys 2>err || exit
"$NIDUS" query -c s.nidus keys 2>>err
"$NIDUS" add s.nidus keys 2>>err
wc -c <err
"$NIDUS" build --verbose -o s.nidus keys 2>&1 | grep -o '200000 keys read, 200000 stored'
"$NIDUS" build --verbose -q -o s.nidus keys 2>&1
