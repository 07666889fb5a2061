#!/usr/bin/env bash
# Fills a filter with a million keys, asks for a million that are in it and a million that are not,
# and compares its size with other ways to keep the set.
# usage: examples/demo.sh [PATH/TO/nidus]
set -euo pipefail
export LC_ALL=C

nidus=${1:-nidus}
keys=1000000
fpr=0.001

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
set=$folder/seen.nidus

# pages FIRST LAST: made-up keys, one per line.
pages() { seq "$1" "$2" | sed 's|.*|https://example.org/page/&|'; }

# field NAME: a number of `nidus info --json`.
field() { sed -nE "s/.*\"$1\": *\"?([-+.0-9a-z]+).*/\1/p" "$folder/info.json" | head -n 1; }

# count FILE: how many of its keys the filter says yes to. Answer 1 is "none of them", no failure.
count() { "$nidus" query -c "$set" "$1" || (($? == 1)); }

commas() { printf '%s' "$1" | sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta'; }

# row WHAT BYTES FALSE_POSITIVES: a line of the table.
row() {
	printf '  %-36s %14s %9.2f   %s\n' "$1" "$(commas "$2")" \
		"$(awk -v b="$2" -v n="$keys" 'BEGIN { print 8 * b / n }')" "$3"
}

pages 1 $keys >"$folder/seen"
pages $((keys + 1)) $((2 * keys)) >"$folder/unseen"

echo "A set of $(commas $keys) web addresses, approximate: at most 1 of 1,000 absent keys may pass."
echo
echo "  \$ nidus build -n $keys -p $fpr -o seen.nidus seen"
"$nidus" build -n $keys -p $fpr -o "$set" "$folder/seen"
"$nidus" info --json "$set" >"$folder/info.json"

echo "  \$ nidus query -c seen.nidus seen"
present=$(count "$folder/seen")
echo "  $present"
echo "  \$ nidus query -c seen.nidus unseen"
absent=$(count "$folder/unseen")
echo "  $absent"

measured=$(awk -v a="$absent" -v n="$keys" 'BEGIN { printf "%.6f", a / n }')
bytes=$(field bytes)
raw=$(wc -c <"$folder/seen")
bloom=$(awk -v n="$keys" -v p="$fpr" \
	'BEGIN { printf "%.0f", n * 1 / log(2) * log(1 / p) / log(2) / 8 }')

echo
printf '  %-26s %s\n' \
	"family" "$(field family)" \
	"keys put in" "$(commas "$keys")" \
	"  found again" "$(commas "$present") (must be all)" \
	"absent keys asked for" "$(commas "$keys")" \
	"  found by mistake" "$(commas "$absent")" \
	"fpr, target" "$fpr" \
	"fpr, measured" "$measured" \
	"file" "$(commas "$(wc -c <"$set")") bytes" \
	"bits per key" "$(awk -v b="$(field bits_per_key)" 'BEGIN { printf "%.2f", b }')"
echo
printf '  %-36s %14s %9s   %s\n' "the same set kept as" "bytes" "bits/key" "false positives"
printf '  %-36s %14s %9s   %s\n' "------------------------------------" "--------------" \
	"--------" "---------------"
row "the keys themselves, as text" "$raw" "none"
row "hash set (8-byte hashes, half full)" $((16 * keys)) "next to none"
row "Bloom filter (no delete)" "$bloom" "$fpr, by theory"
row "nidus, $(field family) (with delete)" "$bytes" "$measured, measured"

if ((present != keys)); then
	echo "$((keys - present)) keys that were put in were not found" >&2
	exit 1
fi
