/* SPDX-License-Identifier: MIT
 *
 * sort: two radix sorts.
 *
 * sort_u64 works in place, highest byte first ("American flag"): each pass
 * counts the values of one byte, then walks every number along its cycle to the
 * run where it belongs, then sorts the runs by the next byte.
 *
 * sort_hashes goes back and forth between two arrays: a pass by the lower half of
 * the digit, one by its upper half, and an insertion sort for the rest. A digit
 * has two bits more than it takes to count the hashes, so few share one, and the
 * insertion sort has next to nothing to do.
 */
#include "base/sort.h"

#include "base/bits.h"
#include "base/watch.h"

#define MANY ((size_t)1 << 14) /* after so many the caller is asked whether to stop */
#define SMALL 48               /* below this an insertion sort is quicker */

static void sort_small(uint64_t *numbers, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t number = numbers[i];
		size_t at = i;
		for (; at > 0 && numbers[at - 1] > number; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
	}
}

void sort_part_u64(uint64_t *numbers, size_t n, unsigned shift, size_t end[SORT_RADIX])
{
	size_t next[SORT_RADIX], sum = 0;
	memset(end, 0, SORT_RADIX * sizeof *end);
	for (size_t from = 0; from < n; from += MANY) {
		size_t to = n - from < MANY ? n : from + MANY;
		for (size_t i = from; i < to; i++)
			end[numbers[i] >> shift & (SORT_RADIX - 1)]++;
		if (to < n)
			watch_ask();
	}
	for (unsigned digit = 0; digit < SORT_RADIX; digit++) {
		next[digit] = sum;
		sum += end[digit];
		end[digit] = sum;
	}
	for (unsigned digit = 0; digit < SORT_RADIX; digit++) {
		while (next[digit] < end[digit]) {
			uint64_t number = numbers[next[digit]];
			unsigned goal = number >> shift & (SORT_RADIX - 1);
			while (goal != digit) {
				uint64_t displaced = numbers[next[goal]];
				numbers[next[goal]++] = number;
				number = displaced;
				goal = number >> shift & (SORT_RADIX - 1);
			}
			numbers[next[digit]++] = number;
			if (UNLIKELY(next[digit] % MANY == 0) && watch_ask())
				return;
		}
	}
}

static void sort_by_byte(uint64_t *numbers, size_t n, unsigned shift)
{
	if (n < SMALL) {
		sort_small(numbers, n);
		return;
	}
	size_t end[SORT_RADIX];
	sort_part_u64(numbers, n, shift, end);
	if (shift == 0 || (n > MANY && watch_stopped()))
		return;
	for (unsigned digit = 0; digit < SORT_RADIX; digit++) {
		size_t start = digit == 0 ? 0 : end[digit - 1];
		if (end[digit] - start > 1)
			sort_by_byte(numbers + start, end[digit] - start, shift - 8);
	}
}

void sort_u64(uint64_t *numbers, size_t n)
{
	sort_by_byte(numbers, n, SORT_TOP_SHIFT);
}

/* ------------------------------------------------------------------ hashes -- */

#define HALF_MOST 10 /* bits of half a digit: its counts stay in the first-level cache */

/* One stable pass by a half digit; next[] is where each of its values begins. */
static void pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift, unsigned mask,
                 uint32_t *next)
{
	for (size_t i = 0; i < n; i++)
		to[next[from[i] >> shift & mask]++] = from[i];
}

static void counts_to_starts(uint32_t *counts, unsigned values)
{
	uint32_t sum = 0;
	for (unsigned value = 0; value < values; value++) {
		uint32_t count = counts[value];
		counts[value] = sum;
		sum += count;
	}
}

/*
 * Insertion sort of what is nearly sorted; false if it is not and too much has to move.
 * *equal is set if it meets equal ones.
 */
static bool finish(uint64_t *hashes, size_t n, bool *equal)
{
	size_t moves = 0;
	for (size_t i = 1; i < n; i++) {
		uint64_t hash = hashes[i];
		if (LIKELY(hashes[i - 1] < hash))
			continue;
		size_t at = i;
		for (; at > 0 && hashes[at - 1] > hash && moves <= 4 * n; at--, moves++)
			hashes[at] = hashes[at - 1];
		hashes[at] = hash;
		*equal |= at > 0 && hashes[at - 1] == hash;
		if (UNLIKELY(moves > 4 * n))
			return false;
	}
	return true;
}

bool sort_hashes(uint64_t *hashes, size_t n, unsigned common, uint64_t *room)
{
	if (n < SMALL || n > UINT32_MAX) {
		sort_u64(hashes, n);
		return true;
	}
	unsigned half = (log2_floor(n) + 3) / 2;
	half = half < HALF_MOST ? half : HALF_MOST;
	unsigned shift = common + 2 * half < 64 ? 64 - common - 2 * half : 0;
	unsigned mask = (1u << half) - 1;
	uint32_t low[1 << HALF_MOST] = { 0 }, high[1 << HALF_MOST] = { 0 };
	for (size_t i = 0; i < n; i++) {
		low[hashes[i] >> shift & mask]++;
		high[hashes[i] >> (shift + half) & mask]++;
	}
	counts_to_starts(low, mask + 1);
	counts_to_starts(high, mask + 1);
	pass(hashes, room, n, shift, mask, low);
	pass(room, hashes, n, shift + half, mask, high);
	bool equal = false;
	if (finish(hashes, n, &equal))
		return equal;
	sort_u64(hashes, n);
	return true;
}

size_t sort_unique_u64(uint64_t *numbers, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	}
	return kept;
}
