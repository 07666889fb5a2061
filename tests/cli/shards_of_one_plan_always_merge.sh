# Sets built like one saved plan merge, however many keys each has, and keep the planned rate.
for family in auto cuckoo semisort simplified chunked bucketed windowed breadcrumb; do
	rm -f ./*.nidus
	"$NIDUS" plan -f $family -n 20000 -p 0.001 --seed 7 --save plan.nidus || exit
	(($(stat -c %s plan.nidus) < 1000)) || echo "$family: the plan is not small"
	"$NIDUS" info plan.nidus | grep -x 'count *0' >/dev/null || echo "$family: the plan is not empty"
	seq 1 10 | "$NIDUS" build --like plan.nidus -o part1.nidus || exit
	seq 11 15000 | "$NIDUS" build --like plan.nidus -o part2.nidus || exit
	seq 15001 20000 | "$NIDUS" build --like plan.nidus -o part3.nidus || exit
	"$NIDUS" build --like plan.nidus -o part4.nidus </dev/null || exit
	"$NIDUS" merge -o all.nidus part*.nidus 2>err || exit
	cat err
	"$NIDUS" verify all.nidus
	rate=$("$NIDUS" info --json all.nidus | sed -n 's/.*"fpr_target": \([0-9.e-]*\).*/\1/p')
	echo "$family: $(seq 1 20000 | "$NIDUS" query -c all.nidus) keys, rate $rate"
	(($(seq 20001 120000 | "$NIDUS" query -c all.nidus) < 160)) || echo "$family: more match than planned"
	# One key more than planned, one and a half times as many, and all of that merged.
	seq 1 20001 | "$NIDUS" build --like plan.nidus -o more1.nidus || exit
	seq 20002 50001 | "$NIDUS" build --like plan.nidus -o more2.nidus 2>&1 || exit
	"$NIDUS" merge -o more.nidus more1.nidus more2.nidus 2>&1 || exit
	"$NIDUS" verify more.nidus
	echo "$family: $(seq 1 50001 | "$NIDUS" query -c more.nidus) keys"
	# What was merged merges again, and so does a plan.
	"$NIDUS" merge -q -o again.nidus plan.nidus more.nidus part1.nidus all.nidus || exit
	"$NIDUS" info --json again.nidus | grep -o '"count": [0-9]*'
done
# The two Bloom families do not grow: their plan is as large as their sets.
for family in bloom blocked-bloom; do
	rm -f ./*.nidus
	"$NIDUS" plan -f $family -n 20000 -p 0.001 --seed 7 --save plan.nidus || exit
	seq 1 10 | "$NIDUS" build --like plan.nidus -o part1.nidus || exit
	seq 11 50000 | "$NIDUS" build -q --like plan.nidus -o part2.nidus || exit
	"$NIDUS" merge -q -o all.nidus part*.nidus || exit
	echo "$family: $(seq 1 50000 | "$NIDUS" query -c all.nidus) keys"
done
# Sets of fixed size are plans, too.
seq 1 1000 | "$NIDUS" build -p 0.001 -o a.nidus
seq 1001 2007 | "$NIDUS" build -q --like a.nidus -o b.nidus || exit
"$NIDUS" merge -q -o both.nidus a.nidus b.nidus || exit
seq 1 2007 | "$NIDUS" query -c both.nidus
# One part may be merged, too, and streams are parts.
"$NIDUS" merge -o one.nidus a.nidus && seq 1 1000 | "$NIDUS" query -c one.nidus
"$NIDUS" plan -n 5000 --seed 3 --save - >plan.nidus
seq 1 100 | "$NIDUS" build --like plan.nidus | "$NIDUS" merge - plan.nidus | "$NIDUS" info --json - | grep -o '"count": [0-9]*'
# Values and copies go along.
"$NIDUS" plan -n 1000 -p 1e-6 --values 8 --seed 5 --save plan.nidus
printf 'heron\t3\n' | "$NIDUS" build --like plan.nidus -o one.nidus
printf 'heron\t4\ncrane\t1\n' | "$NIDUS" build --like plan.nidus -o two.nidus
"$NIDUS" merge --sum -o sum.nidus one.nidus two.nidus && printf 'heron\ncrane\n' | "$NIDUS" query --values sum.nidus
yes stork | head -n 100000 >many
"$NIDUS" plan -n 1000 --seed 5 --save plan.nidus
"$NIDUS" build --multiset --like plan.nidus -o one.nidus many && "$NIDUS" info --json one.nidus | grep -o '"max_capacity": [0-9]*'
