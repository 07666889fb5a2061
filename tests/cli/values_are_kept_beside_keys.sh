# Values go in behind a tab and come out the same way.
printf 'heron\t3\ncrane\t1\nheron\t200\nheron\t3\na\tb\t7\n' > pairs
"$NIDUS" build -q --values 8 --seed 5 -p 2^-16 -o pairs.nidus pairs
"$NIDUS" query --values pairs.nidus <<'END' | sort
heron
crane
stork
END
printf 'a\tb\n' | "$NIDUS" query --values pairs.nidus
"$NIDUS" info pairs.nidus | grep value
"$NIDUS" dump pairs.nidus | awk '{ print $3 }' | sort -n
"$NIDUS" dump --json pairs.nidus | grep -c value
# Numbers as keys.
printf '7\t1\n-1\t255\n' | "$NIDUS" build -q --u64 --values 8 -o numbers.nidus
printf '18446744073709551615\n7\n' | "$NIDUS" query --u64 --values numbers.nidus
# What is wrong is told, with the line.
printf 'x\t1\nheron\n' | "$NIDUS" build --values 8 -o bad.nidus; echo $?
printf 'x\t1\nheron\t256\n' | "$NIDUS" build --values 8 -o bad.nidus; echo $?
printf 'x\t1\nheron\t-1\n' | "$NIDUS" build --values 8 -o bad.nidus; echo $?
printf 'heron\t\n' | "$NIDUS" build --values 8 -o bad.nidus; echo $?
printf 'heron\t8\n' | "$NIDUS" build --values 3 -o bad.nidus 2>&1; echo $?
ls bad.nidus 2>/dev/null
"$NIDUS" build --values 33 -o bad.nidus < /dev/null; echo $?
"$NIDUS" build --values 8 -f bloom -o bad.nidus < /dev/null; echo $?
printf 'stork\t256\n' | "$NIDUS" build --like pairs.nidus -o bad.nidus 2>/dev/null; echo $?
printf 'stork\t9\n' | "$NIDUS" build -q --like pairs.nidus -o more.nidus
"$NIDUS" merge -q -o all.nidus pairs.nidus more.nidus && printf 'stork\ncrane\n' | "$NIDUS" query --values all.nidus
echo heron | "$NIDUS" build -q -o plain.nidus
echo heron | "$NIDUS" query --values plain.nidus; echo $?
echo heron | "$NIDUS" query --values -c pairs.nidus; echo $?
"$NIDUS" merge -o both.nidus pairs.nidus plain.nidus 2>/dev/null; echo $?
"$NIDUS" plan -n 1M -p 0.001 --values 8 | sed 's/^\*/ /' | awk '$1 == "windowed" && $2 != "is" { print ($2 > 19 && $2 < 23) }'
# A set with values is added to and removed from by pairs.
printf 'a\t1\nb\t2\n' | "$NIDUS" build -q --values 4 --seed 5 -p 2^-16 -n 100 -o changed.nidus
printf 'c\t3\na\t1\na\t7\nc\t3\n' | "$NIDUS" add --json changed.nidus
printf 'a\nc\n' | "$NIDUS" query --values changed.nidus | sort
printf 'c\t3\n' | "$NIDUS" add --multiset --json changed.nidus
printf 'b\t3\na\t7\nc\t3\n' | "$NIDUS" remove -q --json changed.nidus; echo $?
printf 'a\nb\nc\n' | "$NIDUS" query --values changed.nidus
cp changed.nidus before.nidus
printf 'd\t1\ne\n' | "$NIDUS" add changed.nidus 2>err; echo "$? $(cat err)"
printf 'd\t16\n' | "$NIDUS" add changed.nidus 2>err; echo "$? $(cat err)"
printf 'd\t%s\n' '' $'\e[31m' 184467440737095516150 | while IFS= read -r line; do
	"$NIDUS" add changed.nidus <<<"$line" 2>&1 || "$NIDUS" count --sums -q new.nidus <<<"$line" 2>&1
done
printf 'a\n' | "$NIDUS" remove changed.nidus 2>err; echo "$? $(cat err)"
printf 'f\n' | "$NIDUS" dedup -q --set changed.nidus 2>err; echo "$? $(cat err)"
cmp changed.nidus before.nidus && echo unchanged
