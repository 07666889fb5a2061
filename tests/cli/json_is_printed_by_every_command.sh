seq 100 | "$NIDUS" build -n 100 --grow 1000 -f windowed -o a.nidus || exit
seq 101 200 | "$NIDUS" build --like a.nidus -o b.nidus || exit
short() { grep -oE '"(family|count|capacity|max_capacity)": [^,]*' | tr '\n' ' '; echo; }
"$NIDUS" merge --json -o m.nidus a.nidus b.nidus | short
# A filter that was opened has no records of its own: bytes differ.
same() { sed -E 's/"readonly": (true|false)//; s/"(bytes|bits_per_key)": [0-9.]+//g'; }
"$NIDUS" grow --json -n 800 a.nidus >grown; short <grown
"$NIDUS" info --json a.nidus | same | cmp - <(same <grown)
"$NIDUS" shrink --json -n 100 a.nidus | short
"$NIDUS" verify --json a.nidus
head -c 60 a.nidus >short.nidus
"$NIDUS" verify --json a.nidus short.nidus missing b.nidus 2>err; echo "code $?"
wc -l <err
for command in 'merge a.nidus b.nidus' 'grow -n 10 -o -' 'shrink -o -'; do
	"$NIDUS" ${command%% *} --json ${command#* } a.nidus >out 2>err; echo "code $? $(head -n 1 err)"
done
seq 50 | "$NIDUS" build --json -o c.nidus -n 50 -f windowed | short
seq 50 | "$NIDUS" build --json -n 50 >out 2>err; echo "code $? $(head -n 1 err)"
seq 50 60 | cat - <(seq 55 59) | "$NIDUS" count --json -n 100 n.nidus
seq 50 60 | "$NIDUS" count --json n.nidus
for command in build query add remove dedup count merge grow shrink info verify dump plan bench; do
	"$NIDUS" help $command | grep -q '^ *--json ' || echo "$command has no --json"
done
# Names of any bytes: each line is UTF-8 and gives the name back.
mkdir names
for name in $'quo"te\\\n.nidus' $'\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e.nidus' $'\xff\xc0\xaf\xed\xa0\x80\xe2\x82.nidus' $'\xf4\x90\x80\x80\xc3.nidus'; do
	cp b.nidus "names/$name"
done
"$NIDUS" verify --json names/* | python3 -c '
import json, os, sys
names = [json.loads(line.decode("utf-8"))["set"] for line in sys.stdin.buffer]
found = sorted(os.listdir(b"names"))
print(len(found), sorted(name.encode("utf-8", "surrogateescape")[6:] for name in names) == found)'
