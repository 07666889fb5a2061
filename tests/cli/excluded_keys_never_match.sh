# A set that excludes keys is right about both lists; -p bounds the rate of all others.
seq 1 3000 >in
seq 3001 40000 >out
"$NIDUS" build --exclude out --seed 5 -o e.nidus in
"$NIDUS" query -c e.nidus in
"$NIDUS" query -c e.nidus out; echo "code $?"
"$NIDUS" info e.nidus | grep -E '^(features|fpr|exact)'
"$NIDUS" build --exclude out --seed 5 -p 0.001 -o p.nidus in && "$NIDUS" query -c p.nidus in && "$NIDUS" query -c p.nidus out
"$NIDUS" info --json p.nidus | grep -o '"fpr_target": [0-9.]*'
"$NIDUS" build --exclude - --u64 --seed 5 -o u.nidus in <out && "$NIDUS" query --u64 -c u.nidus in && "$NIDUS" query --u64 -c u.nidus out
echo 77 >>out
"$NIDUS" build --exclude out -o x.nidus in 2>&1; echo "code $?"
"$NIDUS" build --exclude - -o x.nidus in <out 2>&1; echo "code $?"
"$NIDUS" build --exclude - -o x.nidus 2>&1 | head -n 1
"$NIDUS" build --exclude out --values 3 -o x.nidus in 2>&1 | head -n 1
"$NIDUS" build --exclude out --like e.nidus -o x.nidus in 2>&1 | head -n 1
"$NIDUS" build --exclude out -f cuckoo -o x.nidus in 2>&1 | head -n 1
"$NIDUS" build --exclude missing -o x.nidus in 2>&1; echo "code $?"
"$NIDUS" build --exclude out --force -o out in 2>&1; echo "code $?"
test ! -e x.nidus && echo nothing was written
