# What the set's family cannot do leaves it alone; when it can, there is nothing to see.
seq 1 100 | "$NIDUS" build -f cuckoo -o s.nidus || exit 9
cp s.nidus before
"$NIDUS" merge -o t.nidus s.nidus s.nidus 2>err && exit 77
echo "merge $? $(grep -c 'nidus: s.nidus: .*cannot' err)"
"$NIDUS" grow -n 1M s.nidus 2>err && exit 77
echo "grow $? $(grep -c 'nidus: s.nidus: .*cannot' err)"
"$NIDUS" plan -n 1M -f cuckoo --merge >out 2>err
echo "plan $? $(grep -c '^  cuckoo .*cannot merge' out)"
cmp s.nidus before
ls -- *.nidus
"$NIDUS" build -f cuckoo -n 1k --grow 1M -o t.nidus </dev/null
