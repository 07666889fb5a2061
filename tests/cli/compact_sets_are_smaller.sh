# A set made with --compact is bucketed, smaller than all others, and works like them.
seq 1 100000 >keys
"$NIDUS" build --seed 7 -p 2^-8 -f windowed -o any.nidus keys || exit 9
"$NIDUS" build --seed 7 -p 2^-8 --compact -o compact.nidus keys || exit 9
[ "$(wc -c <compact.nidus)" -lt "$(wc -c <any.nidus)" ] && echo smaller
"$NIDUS" info compact.nidus | grep -E "^(family|features|slot bits)"
"$NIDUS" info --json compact.nidus | grep -c '"compact"'
seq 1 1000 | "$NIDUS" remove compact.nidus
"$NIDUS" verify compact.nidus && "$NIDUS" info compact.nidus | grep "^count"
seq 1001 100000 | "$NIDUS" query -c compact.nidus
"$NIDUS" build -f windowed --compact -o no.nidus keys 2>err
echo "windowed $? $(grep -c "the windowed family cannot be compact; bucketed can" err)"
"$NIDUS" build -s 2 --compact -o no.nidus keys 2>err
echo "2 slots $? $(grep -c "a compact filter has 4 slots per bucket, not 2" err)"
