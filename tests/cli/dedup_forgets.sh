echo '-- the last keys, never fewer'
(seq 1000; seq 1000) | "$NIDUS" dedup --seed 1 --last 1000 -c
(seq 1000; seq 801 1000) | "$NIDUS" dedup --seed 1 --last 1000 -c
(seq 1000; seq 1000) | "$NIDUS" dedup --seed 1 --last 900 --slices 91 -c
(seq 2000; seq 1000) | "$NIDUS" dedup --seed 1 --last 900 --slices 91 -c
echo '-- a key that comes again is refreshed'
for i in $(seq 50); do echo again; seq $((i * 20)) $((i * 20 + 19)); done | "$NIDUS" dedup --seed 1 --last 40 | grep -c again
echo '-- a set goes on'
seq 1000 | "$NIDUS" dedup --seed 1 --last 500 --set seen.nidus -c
seq 501 1500 | "$NIDUS" dedup --last 500 --set seen.nidus -c
"$NIDUS" info seen.nidus | grep slices
"$NIDUS" info --json seen.nidus | grep -o '"slices".*'
"$NIDUS" verify seen.nidus
seq 1001 1500 | "$NIDUS" query -c seen.nidus
echo 1 | "$NIDUS" remove seen.nidus 2>err; echo "code $?"
echo 1 | "$NIDUS" dedup --set seen.nidus 2>&1; echo "code $?"
seq 10 | "$NIDUS" dedup --seed 1 --set plain.nidus -c
echo 1 | "$NIDUS" dedup --last 5 --set plain.nidus 2>&1; echo "code $?"
echo '-- time'
seq 1000 | "$NIDUS" dedup --seed 1 --for 7d -n 1000 --set week.nidus -c
seq 1000 | "$NIDUS" dedup --for 7d -n 1000 --set week.nidus -c
touch -d '6 days ago' week.nidus
seq 1000 | "$NIDUS" dedup --for 7d -n 1000 --set week.nidus -c
touch -d '8 days ago' week.nidus
seq 1000 | "$NIDUS" dedup --for 7d -n 1000 --set week.nidus -c
touch -d '1 day' week.nidus
seq 1000 | "$NIDUS" dedup --for 7d -n 1000 --set week.nidus -c
(seq 3; sleep 4; seq 3) | "$NIDUS" dedup --seed 1 --for 2s -n 10 -c
echo '-- refused'
for options in '--last 5 --for 5s' '--for 5s' '--for 5x -n 9' '--for s -n 9' '--last 0' '--last x' '--slices 4' '--last 9 --slices 1' '--last 9 --slices 255'; do
	seq 5 | "$NIDUS" dedup $options 2>&1 | head -n 1
done
