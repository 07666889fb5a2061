# Exact counts of the same k-mers, by a table of all of them: no count may be lower, and at a
# rate of 1/1000 few of some thousand are higher.
awk 'BEGIN {
	srand(7); letters = "ACGT"
	for (i = 0; i < 3000; i++) genome = genome substr(letters, 1 + int(4 * rand()), 1)
	for (read = 0; read < 400; read++) {
		sequence = substr(genome, 1 + int(2800 * rand()), 150)
		if (read % 7 == 0) sequence = substr(sequence, 1, 70) "N" substr(sequence, 71)
		if (read % 5 == 0) sequence = tolower(sequence)
		print ">read " read
		print substr(sequence, 1, 60); print substr(sequence, 61)
	}
}' >reads.fasta
awk 'function other(kmer,   i, turned) {
	for (i = 21; i > 0; i--) turned = turned substr("TGCA", index("ACGT", substr(kmer, i, 1)), 1)
	return turned < kmer ? turned : kmer
}
function count(   i, kmer) {
	for (i = 1; i + 20 <= length(sequence); i++) {
		kmer = substr(sequence, i, 21)
		if (kmer !~ /N/) exact[other(kmer)]++
	}
	sequence = ""
}
/^>/ { count(); next }
{ sequence = sequence toupper($0) }
END { count(); for (kmer in exact) print kmer "\t" exact[kmer] }' reads.fasta | sort >exact
cut -f1 exact | "$PROGRAM" reads.fasta >told
grep -v '^[0-9]' told | sort >counted
grep '^[0-9]' told >histogram
join -t "$(printf '\t')" exact counted | awk -F '\t' '
	{ n++; low += $3 < $2 && $3 < 255; high += $3 > $2 }
	END { print (n > 2000 ? "some thousand k-mers" : n), low + 0, "too low,",
	      (high <= n / 100 ? "few" : high), "too high" }'
awk -F '\t' '{ kmers += $2; all += $1 * $2 } END { print (kmers > 2000), (all > 40000) }' histogram
# shellcheck disable=SC2069 # the complaint alone
echo GATTACA | "$PROGRAM" reads.fasta 2>&1 >/dev/null
# Unlike a table of fixed size, it takes as many k-mers as come.
awk 'BEGIN { srand(8); print ">long"
	for (i = 0; i < 1300000; i++) printf i % 60 == 59 ? "%s\n" : "%s", substr("ACGT", 1 + int(4 * rand()), 1)
}' >long.fasta
"$PROGRAM" long.fasta | awk -F '\t' '{ kmers += $2 } END { print (kmers > 1295000), "more than a million" }'
