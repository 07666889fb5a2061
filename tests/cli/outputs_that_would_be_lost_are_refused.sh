# Neither an input nor a file that is no set is replaced.
seq 1 100 >keys
cp keys before
ln -s keys link
ln keys hard
"$NIDUS" build --seed 3 -o s.nidus keys && cp s.nidus t.nidus || exit
ln -s s.nidus link.nidus
try() {
	"$NIDUS" "$@" 2>err
	echo "$1 -> $? $(head -n 1 err)"
}
echo '== an input'
try build -o keys keys
try build --force -o keys keys
try build -o link keys
try build -o hard keys
try build -o keys - <keys
try build -o keys <keys
try build -o s.nidus --like s.nidus keys
try merge -o s.nidus s.nidus t.nidus
try merge -o link.nidus t.nidus s.nidus
try add -o s.nidus s.nidus keys
try add -o link.nidus s.nidus keys
try add s.nidus s.nidus
try remove -o link.nidus s.nidus keys
try grow --relax -n 1000 -o link.nidus s.nidus
try shrink -o link.nidus s.nidus
cmp keys before
cmp s.nidus t.nidus
echo '== no set'
echo text >text
try build -o text keys
try merge -o text s.nidus t.nidus
try add -o text s.nidus keys
try remove -o text s.nidus keys
try grow --relax -n 1000 -o text s.nidus
try shrink -o text s.nidus
try add text keys
cat text
echo '== forced, and nothing to lose'
try build --force --seed 3 -o text keys
cmp text t.nidus
: >empty
try build --seed 3 -o empty keys
cmp empty t.nidus
head -c 100 t.nidus >torn.nidus
try build --seed 3 -o torn.nidus keys
cmp torn.nidus t.nidus
echo '== streams and devices'
"$NIDUS" build --seed 3 -o /dev/stdout keys | cmp - t.nidus
"$NIDUS" build --seed 3 -o /dev/stdout keys >file && cmp file t.nidus
"$NIDUS" build --seed 3 keys >file && cmp file t.nidus
try build -o /dev/null /dev/null
"$NIDUS" add - keys <s.nidus | cmp - t.nidus
echo '== keys that would be read again as they are printed'
seq 1 100000 >many
cp many before
print() {
	"$NIDUS" "$@" >>many 2>err
	echo "$1 -> $? $(head -n 1 err)"
}
print query -v s.nidus many
print query -k many s.nidus
print dedup many
print dedup <many
cmp many before
print dedup -c many
