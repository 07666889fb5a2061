/* SPDX-License-Identifier: MIT
 *
 * nidus_js: what the WebAssembly module exports, for nidus.js.
 *
 *     import { Filter } from 'nidus';
 *     const seen = new Filter({ capacity: 1000000, fpr: 0.001 });
 *     seen.add('heron');
 *     seen.has('heron');      // true
 *
 * Structures cross the border as arrays of numbers. Their order is written once, in the
 * lists below; nidus.js asks for the names and knows no layout. Numbers of 64 bits that must
 * be exact, keys and seeds, are parameters of their own (BigInt in JavaScript).
 *
 * Many keys at once come in one of two forms: an array of integers, or
 * packed, where key i is the bytes from end[i - 1] to end[i]. Eight bytes whose end has
 * PACKED_INTEGER set are an integer key.
 */
#include <nidus.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

#define BLOCK 1024 /* keys that are hashed, then looked up */
#define PACKED_INTEGER 0x80000000u

/* ------------------------------------------------------- structures as numbers -- */

/* X(cast, field): what options JavaScript may set, and how a number becomes one. The seed comes
 * beside them. */
#define OPTIONS(X)                \
	X((nidus_family), family) \
	X((uint64_t), capacity)   \
	X((double), fpr)          \
	X(limit_of, max_capacity) \
	X((unsigned), slots)      \
	X((uint32_t), features)   \
	X((unsigned), max_steps)  \
	X((unsigned), reserve)    \
	X((unsigned), stash)      \
	X((unsigned), value_bits)

#define INFO(X)             \
	X(family)           \
	X(count)            \
	X(capacity)         \
	X(max_capacity)     \
	X(bytes)            \
	X(load)             \
	X(headroom)         \
	X(bits_per_key)     \
	X(fpr_target)       \
	X(fpr_now)          \
	X(slots)            \
	X(fingerprint_bits) \
	X(slot_bits)        \
	X(growth_bits)      \
	X(total_slots)      \
	X(chunks)           \
	X(stashed)          \
	X(features)         \
	X(value_bits)

#define PLAN(X)             \
	X(family)           \
	X(status)           \
	X(chosen)           \
	X(bytes)            \
	X(capacity)         \
	X(bits_per_key)     \
	X(overhead)         \
	X(fpr)              \
	X(load)             \
	X(lines_per_lookup) \
	X(slots)            \
	X(fingerprint_bits) \
	X(copies)           \
	X(features)         \
	X(pace)             \
	X(speed)            \
	X(bytes_growing)

#define NAME_OF_OPTION(cast, field) #field " "
#define NAME_OF(field) #field " "

const char *EXPORT(js_option_names)(void)
{
	return OPTIONS(NAME_OF_OPTION);
}

const char *EXPORT(js_info_names)(void)
{
	return INFO(NAME_OF);
}

const char *EXPORT(js_plan_names)(void)
{
	return PLAN(NAME_OF);
}

/* The highest rate that a filter is made for. */
double EXPORT(js_fpr_most)(void)
{
	return NIDUS_FPR_MOST;
}

/* What JavaScript calls Infinity. */
static uint64_t limit_of(double keys)
{
	return keys == INFINITY ? NIDUS_UNLIMITED : (uint64_t)keys;
}

/* nidus.js has checked that each number fits its field. */
static nidus_options options_of(const double *numbers, uint64_t seed)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
#define TAKE(cast, field) options.field = cast(*numbers++);
	OPTIONS(TAKE)
#undef TAKE
	options.seed = seed;
	return options;
}

/* ------------------------------------------------------------ words and errors -- */

/* What the last call of those that return a filter came to. */
static nidus_status last_status;

/* *filter, by address: as a parameter it may be evaluated before the call that sets it. */
static nidus_filter *made(nidus_status status, nidus_filter *const *filter)
{
	last_status = status;
	return *filter;
}

nidus_status EXPORT(js_last_status)(void)
{
	return last_status;
}

const char *EXPORT(js_status_name)(nidus_status status)
{
	return nidus_status_name(status);
}

const char *EXPORT(js_status_text)(nidus_status status)
{
	return nidus_status_text(status);
}

const char *EXPORT(js_reason)(void)
{
	return nidus_reason();
}

const char *EXPORT(js_family_name)(nidus_family family)
{
	return nidus_family_name(family);
}

uint32_t EXPORT(js_family_features)(nidus_family family)
{
	return nidus_family_features(family);
}

const char *EXPORT(js_version)(void)
{
	return nidus_version();
}

/* ---------------------------------------------------------------------- memory -- */

void *EXPORT(js_alloc)(size_t size)
{
	return malloc(size);
}

void EXPORT(js_give_back)(void *memory)
{
	free(memory);
}

/* ------------------------------------------------------------- life of a filter -- */

nidus_filter *EXPORT(js_create)(const double *numbers, uint64_t seed)
{
	nidus_options options = options_of(numbers, seed);
	nidus_filter *filter = NULL;
	return made(nidus_create(&options, &filter), &filter);
}

void EXPORT(js_free)(nidus_filter *filter)
{
	nidus_free(filter);
}

nidus_filter *EXPORT(js_clone)(const nidus_filter *filter)
{
	nidus_filter *copy = NULL;
	return made(nidus_clone(filter, &copy), &copy);
}

nidus_filter *EXPORT(js_merge)(const nidus_filter *const *filters, size_t n, nidus_merge_how how)
{
	nidus_filter *merged = NULL;
	return made(nidus_merge_many(filters, n, how, &merged), &merged);
}

nidus_filter *EXPORT(js_load)(const void *bytes, size_t size)
{
	nidus_filter *filter = NULL;
	return made(nidus_load_buffer(bytes, size, NULL, &filter), &filter);
}

size_t EXPORT(js_saved_size)(const nidus_filter *filter)
{
	return nidus_saved_size(filter);
}

nidus_status EXPORT(js_save)(const nidus_filter *filter, void *bytes, size_t size)
{
	return nidus_save_buffer(filter, bytes, size, NULL);
}

nidus_status EXPORT(js_clear)(nidus_filter *filter)
{
	return nidus_clear(filter);
}

nidus_status EXPORT(js_verify)(const nidus_filter *filter)
{
	return nidus_verify(filter, NULL);
}

nidus_status EXPORT(js_grow)(nidus_filter *filter, double capacity)
{
	return nidus_grow(filter, (uint64_t)capacity);
}

nidus_status EXPORT(js_shrink)(nidus_filter *filter, double capacity)
{
	return nidus_shrink(filter, (uint64_t)capacity);
}

nidus_status EXPORT(js_pack)(nidus_filter *filter)
{
	return nidus_pack(filter);
}

double EXPORT(js_size)(const nidus_filter *filter)
{
	return (double)nidus_size(filter);
}

uint64_t EXPORT(js_seed)(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_get_info(filter, &info);
	return info.seed;
}

nidus_status EXPORT(js_info)(const nidus_filter *filter, double *numbers)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_status status = nidus_get_info(filter, &info);
#define TELL(field) *numbers++ = (double)info.field;
	INFO(TELL)
#undef TELL
	return status;
}

/* -------------------------------------------------------------------- planning -- */

#define PLAN_ROWS 32
static nidus_plan_row plan[PLAN_ROWS];
static size_t plan_rows;

nidus_status EXPORT(js_plan)(const double *numbers, uint64_t seed)
{
	nidus_options options = options_of(numbers, seed);
	return nidus_plan(&options, plan, PLAN_ROWS, &plan_rows);
}

size_t EXPORT(js_plan_rows)(void)
{
	return plan_rows;
}

void EXPORT(js_plan_row)(size_t index, double *numbers)
{
	const nidus_plan_row *row = &plan[index];
#define TELL(field) *numbers++ = (double)row->field;
	PLAN(TELL)
#undef TELL
}

/* Why the row was chosen, or why there cannot be such a filter. */
const char *EXPORT(js_plan_why)(size_t index)
{
	return plan[index].status == NIDUS_OK ? plan[index].why : plan[index].why_not;
}

/* ------------------------------------------------------------------------- keys -- */

uint64_t EXPORT(js_hash_bytes)(const nidus_filter *filter, const void *key, size_t size)
{
	return nidus_hash(filter, key, size);
}

uint64_t EXPORT(js_hash_integer)(const nidus_filter *filter, uint64_t key)
{
	return nidus_hash_u64(filter, key);
}

bool EXPORT(js_has)(const nidus_filter *filter, const void *key, size_t size)
{
	return nidus_contains(filter, key, size);
}

bool EXPORT(js_has_integer)(const nidus_filter *filter, uint64_t key)
{
	return nidus_contains_u64(filter, key);
}

nidus_status EXPORT(js_add_hash)(nidus_filter *filter, uint64_t hash)
{
	return nidus_insert_hash(filter, hash);
}

nidus_status EXPORT(js_add_new_hash)(nidus_filter *filter, uint64_t hash)
{
	return nidus_insert_new_hash(filter, hash);
}

nidus_status EXPORT(js_remove_hash)(nidus_filter *filter, uint64_t hash)
{
	return nidus_remove_hash(filter, hash);
}

double EXPORT(js_count_hash)(const nidus_filter *filter, uint64_t hash)
{
	return (double)nidus_count_key_hash(filter, hash);
}

/* ----------------------------------------------------------------------- values -- */

nidus_status EXPORT(js_add_value_hash)(nidus_filter *filter, uint64_t hash, uint32_t value)
{
	return nidus_insert_value_hash(filter, hash, value);
}

nidus_status EXPORT(js_remove_value_hash)(nidus_filter *filter, uint64_t hash, uint32_t value)
{
	return nidus_remove_value_hash(filter, hash, value);
}

size_t EXPORT(js_find_hash)(const nidus_filter *filter, uint64_t hash, uint64_t *values, size_t cap)
{
	return nidus_find_hash(filter, hash, values, cap);
}

nidus_status EXPORT(js_add_count_hash)(nidus_filter *filter, uint64_t hash, uint32_t delta)
{
	return nidus_add_count_hash(filter, hash, delta);
}

double EXPORT(js_get_count_hash)(const nidus_filter *filter, uint64_t hash)
{
	return (double)nidus_get_count_hash(filter, hash);
}

/* -------------------------------------------------------------------- many keys -- */

/* Keys in one of the forms above: `width` is 8, 4, or -4 where 4 bytes have a sign, or 0 for packed ones. */
struct keys {
	const unsigned char *bytes;
	const uint32_t *ends;
	int width;
};

static uint64_t hash_packed(const nidus_filter *filter, const struct keys *keys, size_t i)
{
	uint32_t start = i == 0 ? 0 : keys->ends[i - 1] & ~PACKED_INTEGER;
	uint32_t end = keys->ends[i];
	uint64_t integer;
	if (!(end & PACKED_INTEGER))
		return nidus_hash(filter, keys->bytes + start, end - start);
	memcpy(&integer, keys->bytes + start, sizeof integer);
	return nidus_hash_u64(filter, integer);
}

/* The hashes of `n` keys, BLOCK at most, from key `first` on. */
static void hash_block(const nidus_filter *filter, const struct keys *keys, size_t first, size_t n,
                       uint64_t *hashes)
{
	if (keys->width == 8) {
		const uint64_t *wide = (const uint64_t *)(const void *)keys->bytes;
		nidus_hash_u64_batch(filter, wide + first, n, hashes);
		return;
	}
	if (keys->width != 0) {
		const uint32_t *narrow = (const uint32_t *)(const void *)keys->bytes + first;
		uint64_t wide[BLOCK];
		for (size_t i = 0; i < n; i++)
			wide[i] = keys->width > 0 ? narrow[i] : (uint64_t)(int32_t)narrow[i];
		nidus_hash_u64_batch(filter, wide, n, hashes);
		return;
	}
	for (size_t i = 0; i < n; i++)
		hashes[i] = hash_packed(filter, keys, first + i);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void EXPORT(js_hash_many)(const nidus_filter *filter, const void *bytes, const uint32_t *ends,
                          int width, size_t n, uint64_t *hashes)
{
	struct keys keys = { bytes, ends, width };
	for (size_t i = 0; i < n; i += BLOCK)
		hash_block(filter, &keys, i, least(n - i, BLOCK), hashes + i);
}

void EXPORT(js_has_many)(const nidus_filter *filter, const void *bytes, const uint32_t *ends,
                         int width, size_t n, uint8_t *yes)
{
	struct keys keys = { bytes, ends, width };
	uint64_t hashes[BLOCK];
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = least(n - i, BLOCK);
		hash_block(filter, &keys, i, some, hashes);
		nidus_contains_batch(filter, hashes, some, yes + i);
	}
}

typedef nidus_status change_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                  size_t *done);

/* Keys that the last js_add_many or js_remove_many was done with. */
static size_t last_done;

size_t EXPORT(js_last_done)(void)
{
	return last_done;
}

static nidus_status change_many(nidus_filter *filter, const struct keys *keys, size_t n,
                                change_batch *change)
{
	uint64_t hashes[BLOCK];
	nidus_status status = NIDUS_OK;
	last_done = 0;
	for (size_t i = 0; i < n && status == NIDUS_OK; i += BLOCK) {
		size_t some = least(n - i, BLOCK), done = 0;
		hash_block(filter, keys, i, some, hashes);
		status = change(filter, hashes, some, &done);
		last_done += done;
	}
	return status;
}

nidus_status EXPORT(js_add_many)(nidus_filter *filter, const void *bytes, const uint32_t *ends,
                                 int width, size_t n)
{
	struct keys keys = { bytes, ends, width };
	return change_many(filter, &keys, n, nidus_insert_batch);
}

nidus_status EXPORT(js_remove_many)(nidus_filter *filter, const void *bytes, const uint32_t *ends,
                                    int width, size_t n)
{
	struct keys keys = { bytes, ends, width };
	return change_many(filter, &keys, n, nidus_remove_batch);
}

/* A filter of all these hashes, which are left in another order. */
nidus_filter *EXPORT(js_build)(const double *numbers, uint64_t seed, uint64_t *hashes, size_t n)
{
	nidus_options options = options_of(numbers, seed);
	nidus_filter *filter = NULL;
	return made(nidus_build_hashes(&options, hashes, n, 1, &filter), &filter);
}
