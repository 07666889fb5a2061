# A rate above the highest that sets are made for is taken as that one, with a word about it.
target() { "$NIDUS" info --json s.nidus | grep -o '"fpr_target": [^,}]*'; }
echo heron | "$NIDUS" build -p 0.5 -o s.nidus 2>&1 && target
echo heron | "$NIDUS" build -p 0.0625 -o s.nidus 2>&1 && target
echo heron | "$NIDUS" build -q -p 50% -o s.nidus 2>&1 && target
"$NIDUS" plan -n 1000 -p 90% 2>&1 >table
