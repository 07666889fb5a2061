/* SPDX-License-Identifier: MIT
 *
 * sort: a radix sort in place, highest byte first ("American flag").
 *
 * Each pass counts the values of one byte, then walks every number along its
 * cycle to the run where it belongs, then sorts the runs by the next byte. Our
 * numbers are hashes, so runs shrink by 256 a pass and end in insertion sorts.
 */
#include "base/sort.h"

#define RADIX 256
#define SMALL 48 /* below this an insertion sort is quicker */

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

static void sort_by_byte(uint64_t *numbers, size_t n, unsigned shift)
{
	if (n < SMALL) {
		sort_small(numbers, n);
		return;
	}
	size_t end[RADIX] = { 0 }, next[RADIX], sum = 0;
	for (size_t i = 0; i < n; i++)
		end[numbers[i] >> shift & (RADIX - 1)]++;
	for (unsigned digit = 0; digit < RADIX; digit++) {
		next[digit] = sum;
		sum += end[digit];
		end[digit] = sum;
	}
	for (unsigned digit = 0; digit < RADIX; digit++) {
		while (next[digit] < end[digit]) {
			uint64_t number = numbers[next[digit]];
			unsigned goal = number >> shift & (RADIX - 1);
			while (goal != digit) {
				uint64_t displaced = numbers[next[goal]];
				numbers[next[goal]++] = number;
				number = displaced;
				goal = number >> shift & (RADIX - 1);
			}
			numbers[next[digit]++] = number;
		}
	}
	if (shift == 0)
		return;
	for (unsigned digit = 0; digit < RADIX; digit++) {
		size_t start = digit == 0 ? 0 : end[digit - 1];
		if (end[digit] - start > 1)
			sort_by_byte(numbers + start, end[digit] - start, shift - 8);
	}
}

void sort_u64(uint64_t *numbers, size_t n)
{
	sort_by_byte(numbers, n, 56);
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
