# A program at the other end of two pipes gets the answer to one key before it sends the next.
seq 1 100 | "$NIDUS" build -q -p 1e-6 -o s.nidus
for command in dedup 'query s.nidus'; do
	coproc "$NIDUS" $command
	for key in 7 8 9; do
		echo $key >&"${COPROC[1]}"
		read -r -t 600 answer <&"${COPROC[0]}" || echo "no answer"
		echo "$command: $answer"
	done
	ended=$COPROC_PID keys=${COPROC[1]}
	exec {keys}>&-
	wait "$ended"
done
