# All of a million keys are found, and of a million others no more than the rate allows: 1000 are
# expected, and 1150 or more would be a chance below one in a million.
seq 1 1000000 | "$NIDUS" build -n 1000000 -p 0.001 -f cuckoo -o s.nidus || exit
seq 1 1000000 | "$NIDUS" query -c s.nidus || exit
absent=$(seq 1000001 2000000 | "$NIDUS" query -c s.nidus)
echo "false positives are few: $((absent <= 1150))"
