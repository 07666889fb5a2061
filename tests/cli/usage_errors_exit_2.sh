# try ARGUMENT...: the exit code, then the first line of what is said; stdout stays empty.
try() {
	"$NIDUS" "$@" >out 2>err </dev/null
	echo "$? $(head -n 1 err)$(cat out)"
	tail -n +2 err | grep -v "^Try 'nidus.*--help'\.$"
}
try
try biuld
try frobnicate
try -n 5
try help nothing
try build --fqr 0.1
try build --multi
try build --frobnicate
try build -x
try build --multiset=yes
try build -n
try build --fpr
try query
try query -cx s.nidus
try info
try verify
try dump
try add
try remove
try remove --stricked s.nidus
try merge
try grow a.nidus
try plan
try plan -n 5 file
try query - -
try query -k - - a.nidus
try merge -o m.nidus - a.nidus -
try info - -
try verify - -
ls
