seq 1 1000 | "$NIDUS" build -o good.nidus || exit 9
head -c 900 good.nidus >s.nidus
"$NIDUS" query s.nidus </dev/null 2>err
code=$?
grep -c '^nidus: s.nidus: .*\(truncated\|too early\)' err
exit $code
