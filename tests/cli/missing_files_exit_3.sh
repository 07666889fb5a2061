mkdir folder
echo heron | "$NIDUS" build -o s.nidus || exit 9
try() {
	"$NIDUS" "$@" >out 2>err </dev/null
	echo "$* -> $? $(cat out err)"
}
try query missing.nidus
try add missing.nidus
try remove missing.nidus
try info missing.nidus
try verify missing.nidus
try dump missing.nidus
try query folder
try add folder
try info folder
try verify folder
try query s.nidus missing
try query s.nidus folder
try add s.nidus missing
try build -o t.nidus s.nidus missing
try build -o t.nidus folder
try build -o folder
try build -o missing/t.nidus
try build -o s.nidus/t.nidus
try add -o missing/t.nidus s.nidus
try build --like missing.nidus -o t.nidus
ls
