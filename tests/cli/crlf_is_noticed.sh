printf 'heron\r\ncrane\r\n' >dos
printf 'heron\ncrane\n' >unix
"$NIDUS" build --seed 1 -p 2^-20 -o s.nidus unix || exit
"$NIDUS" query s.nidus dos 2>err; echo "code $?"; cat err
"$NIDUS" query -q s.nidus dos 2>err; echo "code $?"; cat err
"$NIDUS" query --crlf s.nidus dos 2>err | cmp - unix && cat err
"$NIDUS" build --crlf --seed 1 dos | cmp - <("$NIDUS" build --seed 1 unix) && echo same set
"$NIDUS" dedup --seed 1 --crlf dos unix
"$NIDUS" add --crlf s.nidus dos --json
printf '7\r\n8\r\n' | "$NIDUS" dedup --seed 1 --u64 -c
echo '-- once, and only if the first lines have it'
"$NIDUS" query -c s.nidus dos dos 2>&1 | grep -c CR
printf 'a\nb\r\n' | "$NIDUS" query s.nidus
printf 'a\r\0b\r\0' | "$NIDUS" query -0 s.nidus
printf 'last\r' | "$NIDUS" dedup --seed 1 --crlf
echo '-- marks of Windows at the beginning'
printf '\xef\xbb\xbfa\nb\n' >marked
"$NIDUS" build -q --seed 1 -o marked.nidus marked
"$NIDUS" query -c marked.nidus marked 2>&1
tail -c +4 marked | "$NIDUS" query -v marked.nidus 2>&1
printf '\xff\xfea\0\n\0' | "$NIDUS" query -c marked.nidus 2>&1; echo "code $?"
