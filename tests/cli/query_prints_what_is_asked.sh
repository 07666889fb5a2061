printf 'heron\ncrane\nstork\n' | "$NIDUS" build -p 2^-24 --seed 1 -o s.nidus || exit
printf 'stork\nraven\nheron\nstork\nowl\n' >keys
"$NIDUS" query s.nidus keys; echo "code $?"
"$NIDUS" query -v s.nidus keys; echo "code $?"
"$NIDUS" query -c s.nidus keys; echo "code $?"
"$NIDUS" query -vc s.nidus keys; echo "code $?"
"$NIDUS" query --json s.nidus keys; echo "code $?"
"$NIDUS" query s.nidus --invert --count <keys; echo "code $?"
