/* SPDX-License-Identifier: MIT
 *
 * builder: its life, and keys that come in.
 */
#include "api/builder.h"

#include <stdlib.h>

#include "api/options.h"
#include "base/thread.h"
#include "simd/hashes.h"

#define MEMORY_LEAST (UINT64_C(16) << 20) /* the largest chunks and their keys fit */
#define MEMORY_PER_THREAD (UINT64_C(8) << 20)
#define FOLDER "/var/tmp" /* /tmp is often in memory */

/* -------------------------------------------------------------------------------- life -- */

/* What can be known before keys come. Errors: those of nidus_create, E_NOMEM. */
static nidus_status check_options(struct nidus_builder *builder)
{
	nidus_options *options = &builder->options, sized;
	const struct family *family;
	struct blueprint plan;
	if (options->max_capacity > options->capacity)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a builder makes filters of fixed size: leave max_capacity 0");
	builder->counts = options->capacity == 0;
	if (builder->counts && options->features & NIDUS_MULTISET)
		return fail(
			NIDUS_E_UNSUPPORTED,
			"a builder cannot tell how much room copies need: set options.capacity");
	sized = *options;
	if (builder->counts)
		sized.capacity = 1;
	nidus_status status = options_check(&sized);
	if (status == NIDUS_OK && sized.slices > 0)
		return fail(NIDUS_E_UNSUPPORTED, "a builder makes no filter that forgets (slices)");
	if (status == NIDUS_OK)
		status = options_plan_in_parts(&sized, &family, &plan);
	options->fpr = sized.fpr;
	if (status == NIDUS_OK)
		status = workshop_check(&builder->workshop, family, &plan);
	return status;
}

static nidus_status prepare(struct nidus_builder *builder)
{
	nidus_options *options = &builder->options;
	nidus_status status = check_options(builder);
	builder->hashes = options->seed != 0;
	if (status == NIDUS_OK)
		status = options_seed(options);
	if (status != NIDUS_OK)
		return status;
	builder->seed = options->seed;
	builder->key = hash_key_of(options->seed);
	spill_begin(&builder->spill, builder->workshop.folder,
	            workshop_room(&builder->workshop, options->value_bits), options->value_bits,
	            !(options->features & NIDUS_MULTISET), builder->workshop.threads,
	            &options->allocator);
	return NIDUS_OK;
}

static unsigned threads_within(uint64_t memory, unsigned threads)
{
	uint64_t most = memory / MEMORY_PER_THREAD;
	threads = threads_wanted(threads);
	return most < threads ? (unsigned)most : threads;
}

static const char *usual_folder(void)
{
	const char *folder = getenv("TMPDIR");
	return folder != NULL && *folder != '\0' ? folder : FOLDER;
}

/* A builder with checked arguments, whose folder lies behind it. */
static nidus_status make(const nidus_options *options, uint64_t memory, const char *folder,
                         unsigned threads, nidus_builder **builder)
{
	struct block block;
	size_t length = strlen(folder) + 1;
	nidus_status status =
		memory_take(&options->allocator, sizeof(struct nidus_builder) + length, &block);
	if (status != NIDUS_OK)
		return status;
	nidus_builder *made = (nidus_builder *)(void *)block.bytes;
	char *name = (char *)(made + 1);
	memcpy(name, folder, length);
	made->memory = block;
	made->options = *options;
	made->workshop = (struct workshop){ .memory = memory,
		                            .threads = threads_within(memory, threads),
		                            .folder = name,
		                            .allocator = options->allocator };
	status = prepare(made);
	if (status == NIDUS_OK)
		*builder = made;
	else
		memory_give(&options->allocator, &block);
	return status;
}

nidus_status nidus_builder_create(const nidus_options *options, uint64_t memory, const char *folder,
                                  unsigned threads, nidus_builder **builder)
{
	nidus_options checked;
	if (builder == NULL)
		return filter_null("builder");
	*builder = NULL;
	nidus_status status = options_read(options, &checked);
	if (status == NIDUS_OK)
		status = options_check_allocator(&checked.allocator);
	if (status == NIDUS_OK && memory < MEMORY_LEAST)
		status = fail(NIDUS_E_RANGE,
		              "a memory limit of %llu bytes is too low: %llu at least",
		              (unsigned long long)memory, (unsigned long long)MEMORY_LEAST);
	if (status != NIDUS_OK)
		return status;
	return make(&checked, memory, folder != NULL ? folder : usual_folder(), threads, builder);
}

void nidus_builder_free(nidus_builder *builder)
{
	if (builder == NULL)
		return;
	nidus_allocator allocator = builder->options.allocator;
	struct block memory = builder->memory;
	spill_end(&builder->spill);
	memory_give(&allocator, &memory);
}

nidus_status nidus_builder_get_info(const nidus_builder *builder, nidus_builder_info *info)
{
	if (builder == NULL || info == NULL)
		return filter_null(builder == NULL ? "builder" : "info");
	if (info->struct_size < sizeof info->struct_size || info->struct_size > 4096)
		return fail(NIDUS_E_ARG,
		            "info.struct_size is not set: start from NIDUS_BUILDER_INFO_INIT");
	const struct scratch *file = &builder->spill.file;
	nidus_builder_info all = {
		.struct_size = info->struct_size,
		.keys = builder->spill.added,
		.seed = builder->options.seed,
		.written = builder->written + file->written,
		.read = builder->read + file->read,
	};
	memcpy(info, &all, info->struct_size < sizeof all ? info->struct_size : sizeof all);
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------------- adding -- */

/* What every call that adds asks first. `keys`: hashed here. Errors: E_ARG, E_UNSUPPORTED, E_RANGE. */
static nidus_status check_add(const nidus_builder *builder, bool hashed)
{
	if (builder == NULL)
		return filter_null("builder");
	if (hashed && !builder->hashes)
		return fail(NIDUS_E_ARG,
		            "hashes depend on a seed: options.seed must be the one that "
		            "they were made with");
	if (builder->spill.lost)
		return fail(NIDUS_E_ARG, "the builder was stopped: free it");
	return NIDUS_OK;
}

static nidus_status check_value(const nidus_builder *builder, const uint64_t *values, size_t n)
{
	unsigned bits = builder->options.value_bits;
	if (bits == 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "there is no room for values: options.value_bits is 0");
	size_t right = values_fitting(values, n, bits);
	if (right < n)
		return fail(NIDUS_E_RANGE, "values[%zu] is %llu, which has more than %u bits",
		            right, (unsigned long long)values[right], bits);
	return NIDUS_OK;
}

nidus_status nidus_builder_add(nidus_builder *builder, const void *key, size_t len)
{
	nidus_status status = check_add(builder, false);
	if (status == NIDUS_OK && !filter_key_given(key, len))
		status = filter_no_key();
	return status == NIDUS_OK
	               ? spill_add_one(&builder->spill, hash_bytes(builder->seed, key, len), 0)
	               : status;
}

nidus_status nidus_builder_add_u64(nidus_builder *builder, uint64_t key)
{
	nidus_status status = check_add(builder, false);
	return status == NIDUS_OK ? spill_add_one(&builder->spill, hash_u64(&builder->key, key), 0)
	                          : status;
}

nidus_status nidus_builder_add_hash(nidus_builder *builder, uint64_t hash)
{
	nidus_status status = check_add(builder, true);
	return status == NIDUS_OK ? spill_add_one(&builder->spill, hash, 0) : status;
}

nidus_status nidus_builder_add_value(nidus_builder *builder, const void *key, size_t len,
                                     uint64_t value)
{
	nidus_status status = check_add(builder, false);
	if (status == NIDUS_OK && !filter_key_given(key, len))
		status = filter_no_key();
	if (status == NIDUS_OK)
		status = check_value(builder, &value, 1);
	return status == NIDUS_OK
	               ? spill_add_one(&builder->spill, hash_bytes(builder->seed, key, len), value)
	               : status;
}

nidus_status nidus_builder_add_value_u64(nidus_builder *builder, uint64_t key, uint64_t value)
{
	nidus_status status = check_add(builder, false);
	if (status == NIDUS_OK)
		status = check_value(builder, &value, 1);
	return status == NIDUS_OK
	               ? spill_add_one(&builder->spill, hash_u64(&builder->key, key), value)
	               : status;
}

nidus_status nidus_builder_add_value_hash(nidus_builder *builder, uint64_t hash, uint64_t value)
{
	nidus_status status = check_add(builder, true);
	if (status == NIDUS_OK)
		status = check_value(builder, &value, 1);
	return status == NIDUS_OK ? spill_add_one(&builder->spill, hash, value) : status;
}

/* Many at once, in arrays of the caller's. */
struct batch {
	const struct hash_key *key; /* to hash with; NULL: they are hashes */
	const uint64_t *keys, *values;
};

static void read_batch(const void *context, size_t from, size_t n, uint64_t *hashes,
                       uint64_t *values)
{
	const struct batch *batch = context;
	if (batch->key != NULL)
		hashes_of_u64(batch->key, batch->keys + from, n, hashes);
	else
		memcpy(hashes, batch->keys + from, n * sizeof *hashes);
	if (values != NULL && batch->values != NULL)
		memcpy(values, batch->values + from, n * sizeof *values);
	else if (values != NULL)
		memset(values, 0, n * sizeof *values);
}

static nidus_status add_batch(nidus_builder *builder, const struct batch *batch, size_t n,
                              size_t *done)
{
	size_t added = 0;
	nidus_status status = NIDUS_OK;
	if (batch->keys == NULL && n > 0)
		status = filter_null(batch->key != NULL ? "keys" : "hashes");
	if (status == NIDUS_OK && batch->values != NULL)
		status = check_value(builder, batch->values, n);
	if (status == NIDUS_OK)
		status = spill_add(&builder->spill, n, read_batch, batch, &added);
	if (done != NULL)
		*done = added;
	return status;
}

nidus_status nidus_builder_add_u64_batch(nidus_builder *builder, const uint64_t *keys, size_t n,
                                         size_t *done)
{
	if (done != NULL)
		*done = 0;
	nidus_status status = check_add(builder, false);
	if (status != NIDUS_OK)
		return status;
	const struct batch batch = { &builder->key, keys, NULL };
	return add_batch(builder, &batch, n, done);
}

nidus_status nidus_builder_add_batch(nidus_builder *builder, const uint64_t *hashes, size_t n,
                                     size_t *done)
{
	if (done != NULL)
		*done = 0;
	nidus_status status = check_add(builder, true);
	if (status != NIDUS_OK)
		return status;
	const struct batch batch = { NULL, hashes, NULL };
	return add_batch(builder, &batch, n, done);
}

nidus_status nidus_builder_add_value_batch(nidus_builder *builder, const uint64_t *hashes,
                                           const uint64_t *values, size_t n, size_t *done)
{
	if (done != NULL)
		*done = 0;
	nidus_status status = check_add(builder, true);
	if (status == NIDUS_OK && values == NULL && n > 0)
		status = filter_null("values");
	if (status != NIDUS_OK)
		return status;
	const struct batch batch = { NULL, hashes, values };
	return add_batch(builder, &batch, n, done);
}
