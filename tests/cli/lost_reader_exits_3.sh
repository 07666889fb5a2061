# More than a pipe holds, to a reader that wants one line: no message, but an exit code.
seq 1 100000 >keys
"$NIDUS" build -o s.nidus keys || exit 9
"$NIDUS" query s.nidus keys 2>err | head -n 1
code=${PIPESTATUS[0]}
cat err
exit "$code"
