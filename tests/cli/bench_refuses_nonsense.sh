try() {
	"$NIDUS" bench "$@" >out 2>err
	echo "$? $(head -n 1 err | sed 's/; choose from: [a-z].*/; choose from: .../')$(cat out)"
}
try
try sped
try speed twice
try speed -n 12
try speed -n many
try speed -f swallow
try speed -f windowed,
try speed -f windowed-2-k
try speed --only lookup,fly
try speed --repeat 0
try speed --repeat 33
try speed --batch 0
try speed --time soon
try speed -t 100000
try speed --bar
try latency --only build
try speed --only grow
try latency --bars
try latency -f swallow
