/* SPDX-License-Identifier: MIT
 *
 * Tests of nidus_prefetch_hash: it takes any hash of any filter and changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "api/filter.h"
#include "support/check.h"
#include "support/filters.h"

static unsigned char *saved(const nidus_filter *filter, size_t *size)
{
	*size = nidus_saved_size(filter);
	unsigned char *bytes = check_alloc(*size);
	expect_ok(nidus_save_buffer(filter, bytes, *size, NULL));
	return bytes;
}

/* Hashes of keys that are there, of others, and those at the ends of the range. */
static void prefetch_many(const nidus_filter *filter, uint64_t n)
{
	for (uint64_t i = 0; i < 2 * n; i++)
		nidus_prefetch_hash(filter, nidus_hash_u64(filter, i));
	nidus_prefetch_hash(filter, 0);
	nidus_prefetch_hash(filter, UINT64_MAX);
}

static void expect_no_change(const nidus_filter *filter, uint64_t n)
{
	size_t size, again;
	unsigned char *before = saved(filter, &size);
	prefetch_many(filter, n);
	unsigned char *after = saved(filter, &again);
	expect_equal(size, again);
	expect(memcmp(before, after, size) == 0);
	for (uint64_t i = 0; i < n; i++)
		expect(nidus_contains_u64(filter, i));
	nidus_filter *opened;
	expect_ok(nidus_open_buffer(before, size, 0, &opened));
	prefetch_many(opened, n);
	nidus_free(opened);
	free(before);
	free(after);
}

static void prefetch_changes_nothing_in_any_family(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned what = 0; what < 4; what++) {
			nidus_options options = filter_options(300, 0.01, 5);
			options.family = (*family)->id;
			options.features = what & 1 ? (*family)->features & NIDUS_CONCURRENT : 0;
			if (what & 2 && !((*family)->features & NIDUS_GROW))
				continue;
			options.max_capacity = what & 2 ? 100000 : 0;
			check_note("%s, %u", (*family)->name, what);
			nidus_filter *filter = filter_create(&options);
			/* One that grows has segments after a few more than its list takes. */
			uint64_t n = what & 2 ? info_of(filter).capacity + 40 : 300;
			nidus_free(filter);
			filter = filter_of_keys(&options, 0, n);
			expect(info_of(filter).chunks >= 1);
			expect_no_change(filter, n);
			nidus_free(filter);
		}
	}
}

static void prefetch_of_no_filter_does_nothing(void **state)
{
	(void)state;
	nidus_prefetch_hash(NULL, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefetch_changes_nothing_in_any_family),
		cmocka_unit_test(prefetch_of_no_filter_does_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
