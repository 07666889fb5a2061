exec 2>&1
# try LINE: what is said about it, on the third line, after two that are fine.
try() {
	printf '1\n2\n%s\n4\n' "$1" | "$NIDUS" build --u64 -o s.nidus 2>err
	echo "$? $(cat err)"
}
try ''
try x
try 1x
try ' 1'
try '1 '
try -
try +1
try 1.5
try 0x10
try 18446744073709551616
try -9223372036854775809
try 99999999999999999999999999999999999999999999999999
try $'\e[31m'
try $'1\r\r'
ls
echo 'lines are counted per file'
seq 1 3000 >good
{ seq 1 2000 && echo bad; } >ugly
"$NIDUS" build --u64 -o s.nidus good ugly
echo "$?"
echo 'nothing is changed by half'
"$NIDUS" build --u64 --seed 1 -o s.nidus good && cp s.nidus before
"$NIDUS" add --u64 s.nidus ugly
echo "$?"
"$NIDUS" remove --u64 s.nidus ugly
echo "$?"
cmp s.nidus before && echo same
echo 'query answers up to there'
printf '1\n2\nbad\n3\n' | "$NIDUS" query --u64 s.nidus
echo "$?"
printf '1\0002\0bad\0003' | "$NIDUS" query -0 --u64 s.nidus | tr '\0' ,
echo
