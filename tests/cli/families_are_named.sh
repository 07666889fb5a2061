try() {
	"$NIDUS" "$@" -o s.nidus >out 2>err </dev/null
	echo "$? $(head -n 1 err | sed 's/[Cc]hoose from: .*/choose from: .../')"
}
try build -f cuckoo
try build -f auto
try build -f cukcoo
try build -f hash
try build -f ''
