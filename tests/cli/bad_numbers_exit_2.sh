try() {
	"$NIDUS" build -o s.nidus "$@" >out 2>err </dev/null
	echo "$* -> $?"
	grep -q "^nidus build: .*[a-z]" err || cat err
	grep -q "^Try 'nidus build --help'" err || cat err
}
for n in 0 -1 1e30 18446744073709551616 1e18 1152921504606846976 1.5 0.5 x 1x '' ' 1' nan inf 0x10 1e 1kk; do
	try -n "$n"
done
for p in 0 1 1.5 -0.1 nan inf x '' 0x1p-8 100% 0% 2^-0 2^8 2^- 1/0 1/1 2/1 1/ 0.1%% 1e-10 2^-40; do
	try -p "$p"
done
for s in 0 3 1000000 4294967300 x; do
	try -s "$s"
done
for seed in 0 -1 x 0x 18446744073709551616 1.5 1e3; do
	try --seed "$seed"
done
for t in 0 -1 1.5 x; do
	try -t "$t"
done
for grow in 0 1 -1 1e18 12x; do
	try -n 10 --grow "$grow"
done
ls
