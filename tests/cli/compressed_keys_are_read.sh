for tool in gzip zstd; do
	command -v $tool >tool || { echo "$tool is not installed"; exit 77; }
done
seq 1 50000 >keys
gzip -k keys && zstd -q keys || exit
"$NIDUS" build -n 1 -o s.nidus keys.gz 2>err
if grep -q 'built without' err; then cat err; exit 77; fi
"$NIDUS" build --seed 1 -o s.nidus keys || exit
for file in keys.gz keys.zst; do
	"$NIDUS" build --seed 1 $file | cmp - s.nidus && echo $file
done
cat keys.gz keys.gz >twice.gz
cat keys.zst keys.zst >twice.zst
"$NIDUS" query -c s.nidus twice.gz twice.zst keys
echo '-- damaged'
for name in keys.gz keys.zst; do
	head -c 20000 $name >short-$name
	(head -c 5000 $name; head -c 5000 /dev/zero; tail -c +10001 $name) >bad-$name
	for file in short-$name bad-$name; do
		"$NIDUS" query -c s.nidus $file 2>err; echo "code $?"
		grep -c "^nidus: $file: cannot be decompressed: " err
	done
done
echo '-- by name only: keys are any bytes'
(($("$NIDUS" query -c s.nidus <keys.gz) < 5000)) && echo as they are
: >empty.gz
: >empty.zst
"$NIDUS" query -c s.nidus empty.gz empty.zst; echo "code $?"
echo '-- but told'
"$NIDUS" query -c s.nidus - <keys.zst 2>&1 >out | sed 's/;.*//'
"$NIDUS" query -c s.nidus s.nidus 2>&1 >out
printf 'BZhang\n' | "$NIDUS" query s.nidus 2>&1
"$NIDUS" query -q s.nidus - <keys.gz 2>&1 >out
