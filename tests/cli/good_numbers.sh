echo heron >keys
info() { "$NIDUS" info --json s.nidus | grep -o "\"$1\": [^,}]*"; }
for p in 0.01 1e-2 1% 1/100 .01 0.010; do
	"$NIDUS" build -p "$p" -o s.nidus keys && info fpr_target
done | sort -u
for p in 2^-10 1/1024 0.0009765625 0.09765625%; do
	"$NIDUS" build -p "$p" -o s.nidus keys && info fpr_target
done | sort -u
for n in 20000 2e4 20k 20K 0.02M 2.0e4; do
	"$NIDUS" build -n "$n" --seed 7 -o s.nidus keys && cksum <s.nidus
done | sort -u | wc -l
for seed in 18446744073709551615 0xffffffffffffffff 0XFFFFFFFFFFFFFFFF; do
	"$NIDUS" build --seed "$seed" -o s.nidus keys && info seed
done | sort -u
