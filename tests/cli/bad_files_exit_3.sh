# A file that is no whole set is refused by every command that reads one, and left as it is.
seq 1 1000 | "$NIDUS" build -n 1000 -p 0.001 --seed 1 -o good.nidus || exit 9
size=$(stat -c %s good.nidus)
flip() { # flip OFFSET: writes bad.nidus with one bit changed
	cp good.nidus bad.nidus
	byte=$(od -An -tu1 -j "$1" -N 1 good.nidus)
	printf '%b' "\\x$(printf %x $((byte ^ 16)))" |
		dd of=bad.nidus bs=1 seek="$1" conv=notrunc status=none
}
refused() { # refused WHAT FILE: all commands exit with 3, and say the file's name and a reason
	cp "$2" "$2.copy"
	for command in query add remove info verify dump; do
		echo key | "$NIDUS" $command "$2" >out 2>err
		code=$?
		if [[ $code != 3 || -s out ]] || ! grep -q "^nidus: $2: .*[a-z]" err; then
			echo "$1: $command exits with $code: $(cat err)"
		fi
	done
	"$NIDUS" build --like "$2" -o never.nidus </dev/null 2>err; [[ $? == 3 ]] || echo "$1: --like"
	cmp "$2" "$2.copy"
	echo "$1: refused"
}
for bytes in 0 1 7 8 31 $((size / 2)) $((size - 1)); do
	head -c "$bytes" good.nidus >bad.nidus
	refused "the first $bytes bytes" bad.nidus
done | sed "s/first $((size / 2)) /first half /; s/first $((size - 1)) /all but one /"
for offset in 0 1 8 12 17 33 47 $((size - 1)); do
	flip "$offset"
	refused "bit flipped at $offset" bad.nidus
done | sed "s/at $((size - 1)):/at the end:/"
# Damage of the table itself is seen by whoever reads all of it; the others answer from the rest.
damaged() { # damaged WHAT FILE
	for command in 'query --verify' add remove verify 'merge -o never.nidus good.nidus'; do
		echo key | "$NIDUS" $command "$2" >out 2>err
		code=$?
		[[ $code == 3 && ! -s out ]] || echo "$1: $command exits with $code: $(cat err)"
	done
	for command in query info dump; do
		echo key | "$NIDUS" $command "$2" >out 2>err
		code=$?
		[[ $code -le 1 && ! -s err ]] || echo "$1: $command exits with $code: $(cat err)"
	done
	[[ ! -e never.nidus ]] || echo "$1: something was written"
	echo "$1: refused where all is read"
}
flip $((size / 2))
damaged 'bit flipped in the middle' bad.nidus
{ cat good.nidus; echo; } >bad.nidus
refused 'bytes after the end' bad.nidus
seq 1 1000 >bad.nidus
refused 'text' bad.nidus
head -c 100000 /dev/zero >bad.nidus
refused 'zeros' bad.nidus
"$NIDUS" verify good.nidus
