# Longer than the reader's buffer, at its edges, and several of them in a row.
key() { head -c "$1" /dev/zero | tr '\0' "$2"; }
{ key 262143 a; echo; key 262144 b; echo; key 262145 c; echo; key 5000000 d; echo; echo e; } >keys
"$NIDUS" build -p 2^-24 --seed 1 -o s.nidus keys || exit
"$NIDUS" query -c s.nidus keys
"$NIDUS" query s.nidus keys | cmp - keys && echo same
key 4999999 d | "$NIDUS" query -c s.nidus
tail -n +1 keys | "$NIDUS" query -c s.nidus
