printf 'one\ntwo' >a
printf 'three\n' >b
: >empty
echo four | "$NIDUS" build -p 2^-24 --seed 1 -o s.nidus a empty - b || exit
printf 'one\ntwo\nthree\nfour\nfive\ntwothree\n' >all
"$NIDUS" query s.nidus all
echo stdin
echo four | "$NIDUS" query s.nidus b - a
echo '-- ends options'
echo minus >-v
"$NIDUS" build -p 2^-24 -o m.nidus -- -v || exit
"$NIDUS" query -- m.nidus -v
