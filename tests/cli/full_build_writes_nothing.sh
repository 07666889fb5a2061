echo before >s.nidus
seq 1 100000 | "$NIDUS" build --force -n 100 -o s.nidus 2>err; echo "code $?"
cat s.nidus
cat err
ls
