seq 1 1000 >keys
"$NIDUS" build --seed 3 -o s.nidus keys || exit
"$NIDUS" build --seed 3 keys | cmp - s.nidus && echo 'build to a pipe'
"$NIDUS" build --seed 3 -o - keys | cmp - s.nidus && echo 'build to -'
"$NIDUS" query -c - keys <s.nidus
seq 1 10 | "$NIDUS" query -c <(cat s.nidus)
"$NIDUS" remove - keys <s.nidus >empty.nidus && "$NIDUS" query -c empty.nidus keys
"$NIDUS" build -o /dev/null keys && [[ -c /dev/null ]] && echo 'a device stays a device'
cat s.nidus s.nidus | "$NIDUS" info - 2>err; echo "code $?"
