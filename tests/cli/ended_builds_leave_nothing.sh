# A build with temporary files that is ended at any time leaves none of them, and no part of a set.
seq 1 2000000 >keys
set -m # or the jobs would ignore INT
for signal in INT TERM HUP KILL; do
	for ((i = 0; i < 4; i++)); do
		"$NIDUS" build --seed 5 --memory 2^24 -f windowed -T . -o set.nidus keys 2>err &
		sleep "0.$((RANDOM % 80 + 10))"
		kill -$signal $! 2>/dev/null
		wait $! 2>/dev/null
		code=$?
		((code == 0 || code == 128 + $(kill -l $signal))) || echo "$signal: $code $(cat err)"
		if [[ -e set.nidus ]]; then
			"$NIDUS" verify -q set.nidus >/dev/null || echo 'half a set'
			rm set.nidus
		fi
		ls | grep -v -x -e keys -e err
	done
	echo "$signal: done"
done
