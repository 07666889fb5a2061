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

echo amid a growth
seq 1 4000 | "$NIDUS" build --seed 5 -n 4000 --grow 40k -f windowed -o g.nidus
seq 4001 4300 | "$NIDUS" add g.nidus
"$NIDUS" info g.nidus | grep '^tables'
"$NIDUS" grow -n 1 g.nidus
"$NIDUS" info --json g.nidus | grep -o '"tables": 1'
