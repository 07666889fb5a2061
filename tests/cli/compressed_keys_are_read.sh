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
echo '-- standard input and any name'
"$NIDUS" query -c s.nidus <keys.gz
cat keys.zst | "$NIDUS" query -c s.nidus -
cp keys.gz renamed
(head -c 1 keys.gz; sleep 0.1; tail -c +2 keys.gz) | "$NIDUS" query -c s.nidus - renamed
: >empty.gz
: >empty.zst
"$NIDUS" query -c s.nidus empty.gz empty.zst; echo "code $?"
(cat keys.gz; echo more) | "$NIDUS" query -c s.nidus 2>&1
for head in 1 2 5 17 18; do
	head -c $head keys.gz | "$NIDUS" query -q -c s.nidus 2>err; echo "$head: code $?"
done
echo '-- as they are'
(($("$NIDUS" query -c --plain s.nidus <keys.gz) < 5000)) && echo plain
printf '\x1f\x8b\x08\n' | "$NIDUS" build --plain -o odd.nidus
printf '\x1f\x8b\x08\n' | "$NIDUS" query -c --plain odd.nidus
printf '\x1f\x8b\n' | "$NIDUS" dedup -c
echo '-- refused'
cp keys plain.gz
"$NIDUS" query -c s.nidus plain.gz 2>&1; echo "code $?"
"$NIDUS" query -c --plain s.nidus plain.gz
printf 'BZh61AY&SYrest' | "$NIDUS" query -c s.nidus 2>&1; echo "code $?"
printf '\xfd7zXZ\0rest' >keys.xz
"$NIDUS" query -c s.nidus keys.xz 2>&1; echo "code $?"
echo '-- a key that begins like a magic number is answered before the next comes'
echo BZh >odd
"$NIDUS" build --seed 1 -o odd.nidus odd
mkfifo keys-to-come
"$NIDUS" query odd.nidus keys-to-come >answer &
exec 3>keys-to-come
echo BZh >&3
for ((i = 0; i < 200; i++)); do [[ -s answer ]] && break; sleep 0.05; done
cat answer
exec 3>&-
wait
echo '-- told'
"$NIDUS" query -c s.nidus s.nidus 2>&1 >out
printf 'BZhang\n' | "$NIDUS" query s.nidus 2>&1; true
