printf 'a\nb\0\0\377\001\0last' | "$NIDUS" build -0 -p 2^-24 --seed 1 -o s.nidus || exit
"$NIDUS" info --json s.nidus | grep -o '"count": [0-9]*'
printf 'last\0\0a\0\377\001\0a\nb\0\377\0' | "$NIDUS" query -0 s.nidus | od -An -c | tr -s ' '
echo lines
printf 'x\n\ny' | "$NIDUS" build -p 2^-24 --seed 1 -o t.nidus || exit
"$NIDUS" info --json t.nidus | grep -o '"count": [0-9]*'
printf 'x\r\n\ny\nx' | "$NIDUS" query t.nidus | od -An -c | tr -s ' '
