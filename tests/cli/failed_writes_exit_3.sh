[[ -w /dev/full ]] || exit 77
seq 1 1000 >keys
"$NIDUS" build -o s.nidus keys || exit 9
try() {
	"$NIDUS" "$@" >/dev/full 2>err
	echo "$1 -> $? $(cat err)"
}
try query s.nidus keys
try query -c s.nidus keys
try info s.nidus
try verify s.nidus
try dump s.nidus
try plan -n 1000
try --help
try --version
try build keys
"$NIDUS" build -o /dev/full keys 2>err; echo "$? $(cat err)"
"$NIDUS" info s.nidus >&- 2>err; echo "$? $(cat err)"
[[ -c /dev/full ]] && echo 'a device stays a device'
