/* SPDX-License-Identifier: MIT
 *
 * bulk: a filter from all its keys at once.
 *
 * Hashes are made first, 8 bytes per key, then sorted: equal ones meet, and
 * ascending hashes are ascending buckets, so that the fill walks through memory
 * instead of jumping.
 */
#include "api/filter.h"
#include "api/options.h"
#include "base/sort.h"

static nidus_status fill(const nidus_options *options, const uint64_t *hashes, size_t n,
                         nidus_filter **filter)
{
	nidus_status status = nidus_create(options, filter);
	if (status != NIDUS_OK)
		return status;
	status = nidus_insert_batch(*filter, hashes, n, NULL);
	if (status != NIDUS_OK) {
		nidus_free(*filter);
		*filter = NULL;
	}
	return status;
}

static void size_for(nidus_options *options, uint64_t keys)
{
	options->capacity = keys;
	if (options->max_capacity != 0 && options->max_capacity < keys)
		options->max_capacity = keys;
}

/* Exactly one of `numbers` and `keys` is given. */
static nidus_status build(const nidus_options *options, const uint64_t *numbers,
                          const void *const *keys, const size_t *lens, size_t n,
                          nidus_filter **filter)
{
	nidus_options checked;
	nidus_status status = options_read(options, &checked);
	if (status != NIDUS_OK)
		return status;
	if (checked.capacity == 0 && n == 0)
		checked.capacity = 1;
	bool count_keys = checked.capacity == 0;
	if (count_keys)
		size_for(&checked, n);
	status = options_check(&checked);
	if (status == NIDUS_OK)
		status = options_seed(&checked);
	struct block memory;
	uint64_t size;
	if (status == NIDUS_OK && multiply_overflows(n, sizeof(uint64_t), &size))
		return fail(NIDUS_E_NOMEM, "no memory for the hashes of %zu keys", n);
	if (status == NIDUS_OK)
		status = memory_take(&checked.allocator, size, &memory);
	if (status != NIDUS_OK)
		return status;
	uint64_t *hashes = (uint64_t *)(void *)memory.bytes;
	struct hash_key key = hash_key_of(checked.seed);
	for (size_t i = 0; i < n; i++)
		hashes[i] = numbers != NULL ? hash_u64(&key, numbers[i])
		                            : hash_bytes(&key, keys[i], lens[i]);
	sort_u64(hashes, n);
	if (!(checked.features & NIDUS_MULTISET))
		n = sort_unique_u64(hashes, n);
	if (count_keys)
		size_for(&checked, n);
	status = fill(&checked, hashes, n, filter);
	/* Copies crowd their slots: where the size is ours to choose, it gives way. */
	while (status == NIDUS_FULL && count_keys && checked.capacity / 8 < n) {
		size_for(&checked, checked.capacity + checked.capacity / 4 + 1);
		status = fill(&checked, hashes, n, filter);
	}
	memory_give(&checked.allocator, &memory);
	return status;
}

nidus_status nidus_build_u64(const nidus_options *options, const uint64_t *keys, size_t n,
                             unsigned threads, nidus_filter **filter)
{
	(void)threads; /* one does the work, for now */
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (keys == NULL && n > 0)
		return filter_null("keys");
	static const uint64_t none;
	return build(options, keys != NULL ? keys : &none, NULL, NULL, n, filter);
}

nidus_status nidus_build_bytes(const nidus_options *options, const void *const *keys,
                               const size_t *lens, size_t n, unsigned threads,
                               nidus_filter **filter)
{
	(void)threads;
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if ((keys == NULL || lens == NULL) && n > 0)
		return filter_null(keys == NULL ? "keys" : "lens");
	for (size_t i = 0; i < n; i++) {
		if (keys[i] == NULL && lens[i] > 0)
			return fail(NIDUS_E_ARG, "key %zu is NULL but its length is not 0", i);
	}
	return build(options, NULL, keys, lens, n, filter);
}
