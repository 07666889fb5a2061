seq 1 900 | "$NIDUS" build -n 1000 -p 0.001 -f cuckoo --seed 5 -o s.nidus || exit
echo table
"$NIDUS" info s.nidus | sed 's/^\(.\{17\}\) .*/\1|/'
"$NIDUS" info s.nidus | grep -e '^family' -e '^count' -e '^fpr target' -e '^seed'
echo json
"$NIDUS" info --json s.nidus | tr ',' '\n' | grep -o '"[a-z_]*":' | tr -d '":'
"$NIDUS" info --json s.nidus | grep -o -e '"family": [^,]*' -e '"count": [^,]*' \
	-e '"fpr_target": [^,]*' -e '"seed": [^,}]*'
"$NIDUS" info --json s.nidus | wc -l
"$NIDUS" info s.nidus >table
"$NIDUS" info - <s.nidus | cmp - table && echo 'the same from stdin'

echo segments come with the keys
seq 1 100 | "$NIDUS" build --seed 5 -n 100 --grow 40k -f windowed -o g.nidus
"$NIDUS" info --json g.nidus | grep -o '"chunks": 0,'
seq 101 30000 | "$NIDUS" add g.nidus
"$NIDUS" info g.nidus | awk '$1 == "chunks" { print ($2 > 1 ? "several" : $2) }'
room=$("$NIDUS" info g.nidus | awk '$1 == "capacity" { print ($2 >= 30000 && $2 <= 40000) }')
echo "room for the keys: $room"
