# A command that is ended while it writes, or may not write so much, leaves a whole file and no other.
seq 1 30000 >keys
seq 30001 60000 >'more'
"$NIDUS" build --seed 3 -n 60000 -p 0.001 -o old.nidus keys || exit 9
cp old.nidus new.nidus
"$NIDUS" add new.nidus more || exit 9
left() { compgen -G 's.nidus.tmp-*'; }

# Too large: no signal, but a failed write.
cp old.nidus s.nidus
(ulimit -f 8 && "$NIDUS" add s.nidus more 2>err)
echo "too large: $? $(cat err)"
cmp s.nidus old.nidus
left
(ulimit -f 8 && "$NIDUS" build -o t.nidus keys 2>err)
echo "too large: $? $(cat err)"
compgen -G 't.nidus*'

set -m # or the jobs would ignore INT
for signal in INT TERM HUP; do
	for ((i = 0; i < 8; i++)); do
		cp old.nidus s.nidus
		"$NIDUS" add s.nidus more 2>err &
		sleep "0.0$((RANDOM % 50))"
		kill -$signal $! 2>/dev/null
		wait $! 2>/dev/null
		cmp -s s.nidus old.nidus || cmp -s s.nidus new.nidus || echo "$signal: neither the old nor the new file"
		left
	done
	echo "$signal: done"
done

# A set that was begun and is not there yet goes with the process that began it.
mkfifo keys-to-come
for signal in INT TERM HUP QUIT; do
	for command in 'dedup --set' 'count'; do
		(ulimit -c 0 && exec "$NIDUS" $command begun.nidus keys-to-come) 2>err &
		exec 9>keys-to-come # which waits until it is read, and the set begun
		kill -$signal $!
		wait $! 2>/dev/null
		[[ $? == $((128 + $(kill -l $signal))) ]] || echo "$signal: another code"
		exec 9>&-
		compgen -G 'begun.nidus*'
	done
done
echo 'nothing begun is left'
