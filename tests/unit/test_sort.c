/* SPDX-License-Identifier: MIT
 *
 * Tests of base/sort, base/hash_sort and base/pair_sort against the C library's qsort.
 */
#include "base/hash_sort.h"
#include "base/pair_sort.h"
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

static void read_numbers(const void *context, size_t from, size_t n, uint64_t *numbers)
{
	if (n > 0)
		memcpy(numbers, (const uint64_t *)context + from, n * sizeof *numbers);
}

/* `sorted` are the numbers in order, `distinct` how many of them differ. */
static void expect_ascent(const uint64_t *numbers, size_t n, const uint64_t *sorted,
                          size_t distinct)
{
	static const unsigned threads[] = { 1, 2, 3, 8 };
	nidus_allocator allocator = { 0 };
	struct hash_source source = { n, numbers, read_numbers, NULL };
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		struct block block;
		size_t left;
		expect_ok(hash_sort(&source, false, threads[i], &allocator, &block, &left));
		expect_equal(left, n);
		expect(n == 0 || memcmp(block.bytes, sorted, n * sizeof *sorted) == 0);
		memory_give(&allocator, &block);
		expect_ok(hash_sort(&source, true, threads[i], &allocator, &block, &left));
		expect_equal(left, distinct);
		const uint64_t *unique = (const uint64_t *)(const void *)block.bytes;
		for (size_t j = 0, at = 0; j < n; j++) {
			if (j > 0 && sorted[j] == sorted[j - 1])
				continue;
			expect_equal(unique[at], sorted[j]);
			at++;
		}
		if (n > 0)
			memcpy(block.bytes, numbers, n * sizeof *numbers);
		expect_ok(hash_sort_in_place((uint64_t *)(void *)block.bytes, n, true, threads[i],
		                             &allocator, &left));
		expect_equal(left, distinct);
		for (size_t j = 0, at = 0; j < n; j++) {
			if (j > 0 && sorted[j] == sorted[j - 1])
				continue;
			expect_equal(unique[at], sorted[j]);
			at++;
		}
		memory_give(&allocator, &block);
	}
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
	if (n > 0)
		memcpy(ours, numbers, n * sizeof *ours);
	uint64_t *room = check_alloc(n * sizeof *room);
	bool equal = sort_hashes(ours, n, 0, room);
	for (size_t i = 0; i < n; i++)
		expect_equal(ours[i], theirs[i]);
	free(room);
	size_t left = sort_unique_u64(ours, n), wanted = 0;
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && theirs[i] == theirs[i - 1])
			continue;
		expect_equal(ours[wanted], theirs[i]);
		wanted++;
	}
	expect_equal(left, wanted);
	expect(equal || wanted == n);
	expect_ascent(numbers, n, theirs, wanted);
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
	enum { N = 200003 };
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

/* What hash_sort does to each part: hashes that agree in their highest bits. */
static void hashes_with_common_bits_are_sorted(void **state)
{
	(void)state;
	enum { N = 5000 };
	static uint64_t ours[N], theirs[N], room[N];
	struct chance chance = { chance_seed() };
	for (unsigned common = 0; common < 64; common++) {
		check_note("%u common bits", common);
		for (size_t i = 0; i < N; i++)
			ours[i] = theirs[i] =
				UINT64_C(1) << 63 | chance_next(&chance) >> common >> 1;
		sort_hashes(ours, N, common, room);
		qsort(theirs, N, sizeof *theirs, compare);
		expect(memcmp(ours, theirs, sizeof ours) == 0);
	}
}

struct pair {
	uint64_t hash, value;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int by_hash = compare(&x->hash, &y->hash);
	return by_hash != 0 ? by_hash : compare(&x->value, &y->value);
}

static void expect_pairs_sorted(const struct pair *pairs, size_t n, unsigned bits, bool unique,
                                unsigned threads)
{
	const nidus_allocator allocator = { 0 };
	struct pair *theirs = check_alloc(n * sizeof *theirs);
	uint64_t *hashes = check_alloc(n * sizeof *hashes);
	uint64_t *values = check_alloc(n * sizeof *values);
	for (size_t i = 0; i < n; i++) {
		theirs[i] = pairs[i];
		hashes[i] = pairs[i].hash;
		values[i] = pairs[i].value;
	}
	size_t left, wanted = 0;
	qsort(theirs, n, sizeof *theirs, compare_pairs);
	expect_ok(pair_sort(hashes, values, n, bits, unique, threads, &allocator, &left));
	for (size_t i = 0; i < n; i++) {
		if (unique && i > 0 && compare_pairs(&theirs[i], &theirs[i - 1]) == 0)
			continue;
		expect_equal(hashes[wanted], theirs[i].hash);
		expect_equal(values[wanted], theirs[i].value);
		wanted++;
	}
	expect_equal(left, wanted);
	free(theirs);
	free(hashes);
	free(values);
}

/* Values of every width: some fit into a word with their hash, others do not. */
static void pairs_are_sorted(void **state)
{
	(void)state;
	enum { N = 40000 };
	static struct pair pairs[N];
	struct chance chance = { chance_seed() };
	for (unsigned bits = 1; bits <= 32; bits++) {
		size_t n = bits % 3 == 0 ? chance_below(&chance, 40) : chance_below(&chance, N);
		unsigned kind = bits % 5;
		for (size_t i = 0; i < n; i++) {
			uint64_t x = chance_next(&chance);
			const uint64_t kinds[] = { x, x, x << 54, x & 255,
				                   x % 3 == 0 ? UINT64_MAX : 0 };
			pairs[i] =
				(struct pair){ kinds[kind], chance_next(&chance) >> (64 - bits) };
		}
		check_note("%zu pairs of kind %u, values of %u bits", n, kind, bits);
		expect_pairs_sorted(pairs, n, bits, bits % 2, 1 + bits % 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_size_is_sorted),
		cmocka_unit_test(large_and_odd_inputs_are_sorted),
		cmocka_unit_test(hashes_with_common_bits_are_sorted),
		cmocka_unit_test(pairs_are_sorted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
