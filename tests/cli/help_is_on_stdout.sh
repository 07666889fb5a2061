"$NIDUS" --version | grep -c '^nidus [0-9]*\.[0-9]*\.[0-9]*$'
"$NIDUS" --help 2>err | head -n 1
"$NIDUS" -h | cmp - <("$NIDUS" help) && echo same
[[ $("$NIDUS" -V) == "$("$NIDUS" --version)" ]] && echo version
"$NIDUS" help help | cmp - <("$NIDUS" help) && echo same
for command in build query add remove dedup count merge grow shrink info verify dump plan bench; do
	"$NIDUS" $command --help >out 2>>err || echo "code $?"
	head -n 1 out | grep -o '^Usage: nidus [a-z]*'
	"$NIDUS" help $command | cmp - out
	"$NIDUS" $command -h | cmp - out
	"$NIDUS" --help | grep -q "^  $command  *[a-z]" || echo "$command is not listed"
	awk 'length($0) > 90' out
	grep -n $'\t' out # an example that cannot be copied
done
cat err
