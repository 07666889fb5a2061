seq 1 100 | "$NIDUS" build --seed 1 -p 2^-24 -o a.nidus || exit
seq 51 150 | "$NIDUS" build --seed 1 -p 2^-24 -f cuckoo -o b.nidus || exit
: | "$NIDUS" build --seed 1 -o c.nidus || exit
printf '7\n77\n777\n' >keys
"$NIDUS" query -k keys a.nidus b.nidus c.nidus; echo "code $?"
echo 77 | "$NIDUS" query -k - b.nidus; echo "code $?"
"$NIDUS" query -v -k keys a.nidus c.nidus
seq 1 1000 | "$NIDUS" query -c -k - a.nidus b.nidus c.nidus
seq 1 1000 | "$NIDUS" query --json -k - a.nidus b.nidus
echo 777 | "$NIDUS" query -k - ./*.nidus; echo "code $?"
"$NIDUS" query --verify -k - - <a.nidus 2>err; echo "code $?"; head -n 1 err
"$NIDUS" query -k keys - <a.nidus; echo "code $?"
"$NIDUS" query -k keys 2>err; echo "code $?"; head -n 1 err
"$NIDUS" query -k keys a.nidus missing.nidus 2>err; echo "code $?"
