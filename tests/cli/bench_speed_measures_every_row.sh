# Which figures there are, for every family; how large they are is nobody's business here.
"$NIDUS" bench speed -n 3000 --repeat 2 -t 2 --json >out 2>err; echo "code $?"
grep -v 'other programs were at work' err
wc -l <out
grep -o '"row": "[a-z0-9-]*"' out | cut -d '"' -f 4 | cmp - <("$NIDUS" bench speed --list)
family() { # FAMILY: the names of its first row's figures
	sed 's/{"row": /\n&/g' out | grep -m 1 "\"family\": \"$1\"" |
		grep -o '"[a-z_]*": {"median"' | cut -d '"' -f 2
}
echo windowed
family windowed
echo breadcrumb
family breadcrumb | grep -x merge
echo ceilings
grep -o '"C[12W]": {"depth"' out | cut -d '"' -f 2
# Rates are positive numbers, two samples each; lookups found a rate like the one asked for.
grep -o '"samples": \[[^]]*\]' out | grep -v '\[[0-9.e+-]*, [0-9.e+-]*\]$'
grep -o '"median": [^,]*' out | awk '!($2 > 0)'
grep -o '"fpr_found": [^,]*' out | awk '$2 > 0.02 { print "so many false positives:", $2 }'
