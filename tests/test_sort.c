/* SPDX-License-Identifier: MIT
 *
 * Tests of base/sort against the C library's qsort.
 */
#include "base/sort.h"
#include "support/chance.h"
#include "support/check.h"

static int compare(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static void expect_sorted_like_qsort(const uint64_t *numbers, size_t n)
{
	uint64_t *ours = check_alloc(n * sizeof *ours), *theirs = check_alloc(n * sizeof *theirs);
	if (n > 0) {
		memcpy(ours, numbers, n * sizeof *ours);
		memcpy(theirs, numbers, n * sizeof *theirs);
	}
	sort_u64(ours, n);
	qsort(theirs, n, sizeof *theirs, compare);
	for (size_t i = 0; i < n; i++)
		expect_equal(ours[i], theirs[i]);
	size_t left = sort_unique_u64(ours, n), wanted = 0;
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && theirs[i] == theirs[i - 1])
			continue;
		expect_equal(ours[wanted], theirs[i]);
		wanted++;
	}
	expect_equal(left, wanted);
	free(ours);
	free(theirs);
}

static void every_small_size_is_sorted(void **state)
{
	(void)state;
	uint64_t numbers[300];
	struct chance chance = { chance_seed() };
	for (size_t n = 0; n <= 300; n++) {
		unsigned shift = (unsigned)chance_below(&chance, 64);
		for (size_t i = 0; i < n; i++)
			numbers[i] = chance_next(&chance) >> shift;
		check_note("%zu numbers of %u bits", n, 64 - shift);
		expect_sorted_like_qsort(numbers, n);
	}
}

static void large_and_odd_inputs_are_sorted(void **state)
{
	(void)state;
	enum { N = 50000 };
	static uint64_t numbers[N];
	struct chance chance = { chance_seed() };
	for (unsigned kind = 0; kind < 7; kind++) {
		for (size_t i = 0; i < N; i++) {
			uint64_t x = chance_next(&chance);
			const uint64_t kinds[] = {
				x, i, N - i, 42, x << 56, x & 255, x % 3 == 0 ? UINT64_MAX : 0
			};
			numbers[i] = kinds[kind];
		}
		check_note("kind %u", kind);
		expect_sorted_like_qsort(numbers, N);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_size_is_sorted),
		cmocka_unit_test(large_and_odd_inputs_are_sorted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
