# While a command reads its keys the set is its own; others wait, or say that it is busy.
echo heron | "$NIDUS" build -n 100 -p 0.001 --grow 1000 -o s.nidus || exit
cp s.nidus other.nidus
mkfifo keys
"$NIDUS" add s.nidus <keys &
first=$!
exec 3>keys
until "$NIDUS" add --no-wait s.nidus </dev/null 2>err; (($? == 7)); do :; done
cat err
"$NIDUS" grow --no-wait -n 500 s.nidus 2>&1; echo "grow $?"
"$NIDUS" shrink --no-wait s.nidus 2>&1; echo "shrink $?"
echo gull | "$NIDUS" build --no-wait -o s.nidus 2>&1; echo "build $?"
ln s.nidus hard.nidus
echo gull | "$NIDUS" remove --no-wait hard.nidus 2>&1; echo "hard link $?"
"$NIDUS" merge --no-wait -o s.nidus other.nidus other.nidus 2>&1; echo "merge $?"

echo '== looking, and writing elsewhere, wait for nobody'
echo heron | "$NIDUS" query s.nidus
echo crane | "$NIDUS" add --no-wait -o t.nidus s.nidus; echo "add -o $?"

echo '== the next one says that it waits, and then finds what the first one did'
echo crane | "$NIDUS" add --verbose s.nidus 2>err 3>&- &
second=$!
until grep -s 'waiting' err; do :; done
echo egret >&3
exec 3>&-
wait $first && wait $second
tail -n +2 err
printf '%s\n' heron crane egret | "$NIDUS" query s.nidus
