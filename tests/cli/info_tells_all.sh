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
