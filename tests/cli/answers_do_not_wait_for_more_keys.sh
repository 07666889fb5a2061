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

# Nor do the keys of one file wait for a named pipe after it, which nobody may open for long.
seq 1 3 >keys
mkfifo later
for command in 'dedup keys later' 'query s.nidus keys later'; do
	coproc "$NIDUS" $command
	for _ in 1 2 3; do
		read -r -t 600 answer <&"${COPROC[0]}" || echo "no answer"
		echo "$command: $answer"
	done
	echo 4 >later
	read -r -t 600 answer <&"${COPROC[0]}" || echo "no answer"
	echo "$command: $answer"
	wait "$COPROC_PID"
done

# A reader that went away ends the command at the next answer, though more keys could come.
mkfifo keys.fifo
coproc "$NIDUS" dedup keys.fifo
exec {writer}>keys.fifo
echo 7 >&"$writer"
read -r -t 600 answer <&"${COPROC[0]}" || echo "no answer"
ended=$COPROC_PID answers=${COPROC[0]}
exec {answers}<&-
echo 8 >&"$writer"
wait "$ended"
echo "code $?"
