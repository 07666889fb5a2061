/* SPDX-License-Identifier: MIT
 *
 * Growing filters of a few keys, which are lists (base/few.h), through the public calls.
 */
#include "api/filter.h"
#include "support/check.h"
#include "support/filters.h"

/* For most keys of a list more than half a body: one with 20,000 values is a list no longer, but works. */
static void take_many_values(const struct family *family)
{
	nidus_options options = filter_options(100, 0.01, 7);
	options.family = family->id;
	options.max_capacity = 100000;
	options.value_bits = 20;
	nidus_filter *filter = filter_create(&options), *loaded;
	expect(!has_segments(filter));
	for (uint64_t value = 0; value < 20000; value++)
		expect_ok(nidus_insert_value_u64(filter, value % 3, value));
	expect(has_segments(filter));
	expect_equal(nidus_size(filter), 20000);
	expect_ok(nidus_verify(filter, NULL));
	struct bytes bytes = bytes_save(filter);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	expect_equal(nidus_count_key_u64(loaded, 1), 6667);
	nidus_free(loaded);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void keys_may_have_more_values_than_a_list_has_room_for(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if ((*family)->features & NIDUS_GROW)
			take_many_values(*family);
	}
}

/* An allocator that counts the bytes that are out. */
static void *take_counted(void *context, size_t size)
{
	*(size_t *)context += size;
	return malloc(size);
}

static void give_counted(void *context, void *memory, size_t size)
{
	*(size_t *)context -= size;
	free(memory);
}

#define FEW_BYTES 272 /* of a filter with one key */

/* A filter per user is a common use: what they take beyond the keys themselves is little. */
static void a_filter_of_few_keys_takes_little_memory(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		size_t taken = 0, records;
		nidus_options options = filter_options(100, 0.01, 7);
		options.family = (*family)->id;
		options.max_capacity = UINT64_C(1) << 26;
		options.allocator = (nidus_allocator){ .alloc = take_counted,
			                               .free = give_counted,
			                               .context = &taken };
		if (!((*family)->features & NIDUS_GROW))
			continue;
		check_note("%s", (*family)->name);
		nidus_filter *filter = filter_create(&options), *copy;
		expect_ok(nidus_insert_u64(filter, 0));
		expect(taken <= FEW_BYTES);
		for (uint64_t key = 1; key < 100; key++)
			expect_ok(nidus_insert_u64(filter, key));
		records = taken - sizeof(nidus_filter) - sizeof(struct directory);
		expect(records <= 100 * 5);
		nidus_info info = NIDUS_INFO_INIT;
		expect_ok(nidus_get_info(filter, &info));
		expect_equal(info.bytes, records);
		expect_ok(nidus_clone(filter, &copy));
		expect_ok(nidus_insert_u64(copy, 5)); /* a copy: it needs a list of them */
		expect_ok(nidus_remove_u64(copy, 5));
		expect(nidus_same(filter, copy));
		nidus_free(filter);
		nidus_free(copy);
		expect_equal(taken, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_of_few_keys_takes_little_memory),
		cmocka_unit_test(keys_may_have_more_values_than_a_list_has_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
