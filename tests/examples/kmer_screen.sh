"$PROGRAM" "$HERE/reference.fasta" <"$HERE/kmer_screen.in"
