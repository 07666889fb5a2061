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

# A disk that is full, as far as a limit of the size of files is one: the old set stays.
seq 1 40000 >'more'
seq 1 5 >some
"$NIDUS" build -o other.nidus --like s.nidus keys || exit 9
"$NIDUS" build -n 1000 --grow 1M -o g.nidus keys || exit 9
"$NIDUS" dedup -q --set d.nidus keys >/dev/null || exit 9
"$NIDUS" count -q c.nidus keys || exit 9
rm err
sha256sum ./* >before
full() {
	(ulimit -f 1 && exec "$NIDUS" "$@" >/dev/null 2>err)
	echo "$1 -> $? $(cat err)"
	rm err
}
full build -o new.nidus more
full build -o s.nidus more
full build -o a more
full build -o write more
full add g.nidus more
full remove -o new.nidus g.nidus some
full grow -n 10k g.nidus
full merge -o new.nidus s.nidus other.nidus
full merge -o d.nidus s.nidus other.nidus
full dedup --set d.nidus more
full dedup --set new.nidus more
full count c.nidus more
full count new.nidus more
sha256sum -c --quiet before
ls
