seq 1 1000 >monday
seq 501 1500 >tuesday
"$NIDUS" dedup --seed 1 -n 1500 --set seen.nidus monday | wc -l
"$NIDUS" dedup --seed 1 --set seen.nidus tuesday | cmp - <(seq 1001 1500) && echo only new ones
"$NIDUS" dedup --seed 1 --set seen.nidus tuesday; echo "code $?"
"$NIDUS" info --json seen.nidus | grep -oE '"(count|max_capacity)": [0-9]*'
echo '-- more than it was made for'
seq 1 5000 | "$NIDUS" dedup --seed 1 --set seen.nidus >out 2>err; echo "code $?"
sed 's/up to .*;/up to R;/' err
seq 1 5000 | "$NIDUS" query -c seen.nidus
seq 20 | "$NIDUS" dedup --seed 1 -n 10 --set new.nidus 2>err | wc -l
sed 's/up to .*;/up to R;/' err
"$NIDUS" dedup --seed 1 -n 100 --set new.nidus monday -q 2>err | wc -l
echo '-- refused'
echo text >text
"$NIDUS" dedup --seed 1 --set text monday >out 2>err; echo "code $? $(cat out err)"
"$NIDUS" dedup --seed 1 --set monday monday 2>err; echo "code $?"
"$NIDUS" dedup --seed 1 --set . monday 2>err; echo "code $?"
"$NIDUS" dedup --seed 1 --set '' monday 2>err; echo "code $?"
"$NIDUS" dedup --seed 1 --set - monday 2>err; echo "code $?"
"$NIDUS" dedup --seed 1 --set missing/s.nidus monday 2>err; echo "code $?"
echo '-- a set that was not begun is not there'
"$NIDUS" dedup --seed 1 --set begun.nidus absent 2>err; echo "code $?"
[ ! -e begun.nidus ] || echo "a set is there"
ln -s target link
"$NIDUS" dedup --seed 1 --set link monday -c; ls -s link target | wc -l
echo '-- a reader that goes away has not seen the keys: they are not remembered'
seq 1 100000 | "$NIDUS" dedup --seed 1 --set lost.nidus | head -n 1
seq 1 100000 | "$NIDUS" dedup --seed 1 --set lost.nidus -c
echo '-- two at a time lose nothing'
for i in 1 2 3 4; do seq $((i * 1000)) $((i * 1000 + 999)) | "$NIDUS" dedup --seed 1 --set both.nidus -c & done | sort | uniq -c
wait
seq 1000 4999 | "$NIDUS" query -c both.nidus
echo '-- a set that is there stays what it was made for'
seq 5 | "$NIDUS" dedup -c -n 100 -p 0.001 --set small.nidus
seq 5 | "$NIDUS" dedup -c -n 50 -p 0.01 --set small.nidus 2>&1
seq 5 | "$NIDUS" dedup -c -n 200 -p 0.001 --set small.nidus 2>&1
seq 5 | "$NIDUS" dedup -c -p 1e-4 --set small.nidus 2>&1
seq 5 | "$NIDUS" dedup -c --set small.nidus 2>&1
"$NIDUS" build -n 10 -f bloom -o bloom.nidus monday 2>err
seq 5 | "$NIDUS" dedup -c -p 0.01 --set bloom.nidus 2>&1
