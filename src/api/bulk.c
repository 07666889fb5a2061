/* SPDX-License-Identifier: MIT
 *
 * bulk: a filter from all its keys at once.
 *
 * The keys are hashed and the hashes put in ascending order (base/hash_sort.h): equal
 * ones meet, and ascending hashes are ascending chunks and buckets, so that the
 * fill walks through memory instead of jumping. What a family then makes of them
 * is up to the family (struct family's build). Values go along with their hashes
 * (base/pair_sort.h); `values` is NULL below where there are none.
 */
#include "api/copies.h"
#include "api/filter.h"
#include "api/options.h"
#include "api/shared.h"
#include "base/hash_sort.h"
#include "base/pair_sort.h"
#include "base/thread.h"
#include "base/watch.h"
#include "simd/hashes.h"

/* -------------------------------------------------------- where hashes come from -- */

struct integers {
	struct hash_key key;
	const uint64_t *numbers;
};

static void hash_integers(const void *context, size_t from, size_t n, uint64_t *hashes)
{
	const struct integers *integers = context;
	if (n > 0) /* without any there need not be an array */
		hashes_of_u64(&integers->key, integers->numbers + from, n, hashes);
}

#define LONG_KEY ((size_t)1 << 20) /* bytes; hashing it takes as long as thousands of others */

struct strings {
	uint64_t seed;
	const void *const *keys;
	const size_t *lens;
};

static void hash_strings(const void *context, size_t from, size_t n, uint64_t *hashes)
{
	const struct strings *strings = context;
	for (size_t i = 0; i < n; i++) {
		size_t len = strings->lens[from + i];
		if (UNLIKELY(len > LONG_KEY) && watch_ask())
			break;
		hashes[i] = hash_bytes(strings->seed, strings->keys[from + i], len);
	}
}

/* ------------------------------------------------------------------------ filling -- */

#define KEYS_PER_THREAD ((size_t)1 << 14) /* fewer take less time than to start a thread */

/* Inserts of values that are in range. */
static nidus_status insert_some(nidus_filter *filter, const uint64_t *hashes,
                                const uint64_t *values, size_t n)
{
	return values != NULL ? nidus_insert_value_batch(filter, hashes, values, n, NULL)
	                      : nidus_insert_batch(filter, hashes, n, NULL);
}

static nidus_status insert_all(nidus_filter *filter, const uint64_t *hashes, const uint64_t *values,
                               size_t n)
{
	nidus_status status = NIDUS_OK;
	for (size_t from = 0; from < n && status == NIDUS_OK; from += WATCH_PIECE) {
		size_t some = n - from < WATCH_PIECE ? n - from : WATCH_PIECE;
		status = insert_some(filter, hashes + from, values_from(values, from), some);
		if (watch_step(some))
			break;
	}
	return status;
}

/* Puts ascending hashes into an empty filter. */
static nidus_status fill(nidus_filter *filter, const uint64_t *hashes, const uint64_t *values,
                         size_t n, unsigned threads)
{
	size_t worth = 1 + n / KEYS_PER_THREAD;
	nidus_status status;
	threads = threads_wanted(threads);
	if (filter->family->build != NULL)
		status = filter->family->build(filter_body(filter), hashes, values, n,
		                               worth < threads ? (unsigned)worth : threads);
	else
		status = insert_all(filter, hashes, values, n);
	return watch_stopped() ? watch_status() : status;
}

/* Fills a filter that was just made, or gives it back. */
static nidus_status fill_or_free(nidus_filter **filter, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, unsigned threads)
{
	nidus_status status = fill(*filter, hashes, values, n, threads);
	if (status != NIDUS_OK) {
		nidus_free(*filter);
		*filter = NULL;
	}
	return status;
}

static nidus_status make(const nidus_options *options, const uint64_t *hashes,
                         const uint64_t *values, size_t n, unsigned threads, nidus_filter **filter)
{
	nidus_status status = nidus_create(options, filter);
	return status == NIDUS_OK ? fill_or_free(filter, hashes, values, n, threads) : status;
}

/*
 * Checked options, with a capacity for all n keys where none was given; the seed may still
 * be 0. What no family can do is refused here, before the keys are hashed.
 */
static nidus_status prepare(const nidus_options *options, size_t n, nidus_options *checked,
                            bool *count_keys)
{
	nidus_status status = options_read(options, checked);
	if (status != NIDUS_OK)
		return status;
	if (checked->capacity == 0 && n == 0)
		checked->capacity = 1;
	*count_keys = checked->capacity == 0;
	if (*count_keys)
		options_size_for(checked, n);
	status = options_check(checked);
	const struct family *family;
	struct blueprint plan;
	return status == NIDUS_OK ? options_plan(checked, &family, &plan) : status;
}

static bool unique(const nidus_options *options)
{
	return !(options->features & NIDUS_MULTISET);
}

/* Whether a filter is about as large as it was said to be. */
static bool keeps_promise(const nidus_filter *filter, uint64_t bytes)
{
	return filter->family->fill(filter_body(filter)).bytes <= bytes + bytes / 16 + 1024;
}

/* A filter of the family and size that hold these copies best. */
static nidus_status make_for_copies(const nidus_options *options, const uint64_t *hashes,
                                    const uint64_t *values, size_t n, unsigned threads,
                                    nidus_filter **filter)
{
	struct offers offers;
	nidus_options taken;
	nidus_filter *best = NULL, *made;
	nidus_status status = offers_make(&offers, options, hashes, n);
	if (status != NIDUS_OK)
		return status;
	while (offers_take(&offers, &taken) &&
	       (best == NULL ||
	        offers_bytes(&offers) < best->family->fill(filter_body(best)).bytes)) {
		status = make(&taken, hashes, values, n, threads, &made);
		if (status != NIDUS_OK && status != NIDUS_FULL && status != NIDUS_COPIES) {
			nidus_free(best);
			return status;
		}
		bool good = status == NIDUS_OK && keeps_promise(made, offers_bytes(&offers));
		if (status == NIDUS_OK && best != NULL &&
		    made->family->fill(filter_body(made)).bytes >=
		            best->family->fill(filter_body(best)).bytes) {
			nidus_free(made);
		} else if (status == NIDUS_OK) {
			nidus_free(best);
			best = made;
		}
		if (good)
			break;
		/* What is listed takes more than a larger table would. */
		offers_refuse(&offers, status == NIDUS_OK ? NIDUS_FULL : status);
	}
	*filter = best;
	if (best != NULL)
		return NIDUS_OK;
	return fail(NIDUS_COPIES,
	            "too many keys have too many copies: no filter with these options "
	            "holds them all");
}

/* Whether ascending hashes have copies: with values they may, even if each pair is there once. */
static bool any_copies(const nidus_options *options, const uint64_t *hashes, const uint64_t *values,
                       size_t n)
{
	if (options_static(options)) /* keeps none: the family says so */
		return false;
	bool equal = n > 0 && !unique(options);
	for (size_t i = 1; i < n && values != NULL && !equal; i++)
		equal = hashes[i] == hashes[i - 1];
	return equal;
}

/* A filter of ascending hashes. */
static nidus_status make_and_fit(nidus_options *options, bool count_keys, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, unsigned threads,
                                 nidus_filter **filter)
{
	bool unlimited =
		options->max_capacity == NIDUS_UNLIMITED; /* it takes room as it needs it */
	if (count_keys && !unlimited && any_copies(options, hashes, values, n))
		return make_for_copies(options, hashes, values, n, threads, filter);
	if (count_keys)
		options_size_for(options, n);
	nidus_status status = make(options, hashes, values, n, threads, filter);
	/* Without a stash the capacity is no promise: if it is ours to choose, we raise it. */
	while (status == NIDUS_FULL && count_keys && options->capacity / 8 < n) {
		options_size_for(options, options->capacity + options->capacity / 4 + 1);
		status = make(options, hashes, values, n, threads, filter);
	}
	return status;
}

/* Steps of a build: a key is read, sorted and put in; with a value it is read twice. */
#define STEPS 3
#define STEPS_VALUES 4

static nidus_status build(nidus_options *options, bool count_keys, const struct hash_source *source,
                          unsigned threads, nidus_filter **filter)
{
	struct block memory;
	struct watch watch;
	size_t n;
	watch_begin(&watch, &options->progress, STEPS * (double)source->n);
	nidus_status status =
		hash_sort(source, unique(options), threads, &options->allocator, &memory, &n);
	if (status != NIDUS_OK)
		return watch_end(&watch, status);
	const uint64_t *hashes = (const uint64_t *)(void *)memory.bytes;
	status = make_and_fit(options, count_keys, hashes, NULL, n, threads, filter);
	memory_give(&options->allocator, &memory);
	return watch_end(&watch, status);
}

nidus_status nidus_build_u64(const nidus_options *options, const uint64_t *keys, size_t n,
                             unsigned threads, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (keys == NULL && n > 0)
		return filter_null("keys");
	nidus_options checked;
	bool count_keys;
	nidus_status status = prepare(options, n, &checked, &count_keys);
	if (status == NIDUS_OK)
		status = options_seed(&checked);
	if (status != NIDUS_OK)
		return status;
	struct integers integers = { hash_key_of(checked.seed), keys };
	struct hash_source source = { n, &integers, hash_integers, NULL };
	return build(&checked, count_keys, &source, threads, filter);
}

nidus_status nidus_build_bytes(const nidus_options *options, const void *const *keys,
                               const size_t *lens, size_t n, unsigned threads,
                               nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if ((keys == NULL || lens == NULL) && n > 0)
		return filter_null(keys == NULL ? "keys" : "lens");
	for (size_t i = 0; i < n; i++) {
		if (keys[i] == NULL && lens[i] > 0)
			return fail(NIDUS_E_ARG, "key %zu is NULL but its length is not 0", i);
	}
	nidus_options checked;
	bool count_keys;
	nidus_status status = prepare(options, n, &checked, &count_keys);
	if (status == NIDUS_OK)
		status = options_seed(&checked);
	if (status != NIDUS_OK)
		return status;
	struct strings strings = { checked.seed, keys, lens };
	struct hash_source source = { n, &strings, hash_strings, NULL };
	return build(&checked, count_keys, &source, threads, filter);
}

static nidus_status no_seed(void)
{
	return fail(NIDUS_E_ARG, "hashes depend on a seed: options.seed must be the one that they "
	                         "were made with");
}

nidus_status nidus_build_hashes(const nidus_options *options, uint64_t *hashes, size_t n,
                                unsigned threads, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (hashes == NULL && n > 0)
		return filter_null("hashes");
	nidus_options checked;
	bool count_keys;
	nidus_status status = prepare(options, n, &checked, &count_keys);
	if (status != NIDUS_OK)
		return status;
	if (checked.seed == 0)
		return no_seed();
	size_t left;
	struct watch watch;
	watch_begin(&watch, &checked.progress, STEPS * (double)n);
	status =
		hash_sort_in_place(hashes, n, unique(&checked), threads, &checked.allocator, &left);
	if (status == NIDUS_OK)
		status = make_and_fit(&checked, count_keys, hashes, NULL, left, threads, filter);
	return watch_end(&watch, status);
}

/* Whether every value has at most so many bits. Errors: E_RANGE, E_UNSUPPORTED. */
static nidus_status check_values(const uint64_t *values, size_t n, unsigned bits)
{
	if (bits == 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "there is no room for values: options.value_bits is 0");
	size_t right = values_fitting(values, n, bits);
	if (right < n)
		return fail(NIDUS_E_RANGE, "values[%zu] is %llu, which has more than %u bits",
		            right, (unsigned long long)values[right], bits);
	return NIDUS_OK;
}

nidus_status nidus_build_values(const nidus_options *options, uint64_t *hashes, uint64_t *values,
                                size_t n, unsigned threads, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if ((hashes == NULL || values == NULL) && n > 0)
		return filter_null(hashes == NULL ? "hashes" : "values");
	nidus_options checked;
	bool count_keys;
	nidus_status status = prepare(options, n, &checked, &count_keys);
	if (status == NIDUS_OK && checked.seed == 0)
		return no_seed();
	if (status == NIDUS_OK)
		status = check_values(values, n, checked.value_bits);
	if (status != NIDUS_OK)
		return status;
	size_t left;
	struct watch watch;
	watch_begin(&watch, &checked.progress, STEPS_VALUES * (double)n);
	status = pair_sort(hashes, values, n, checked.value_bits, unique(&checked), threads,
	                   &checked.allocator, &left);
	if (status == NIDUS_OK)
		status = make_and_fit(&checked, count_keys, hashes, values, left, threads, filter);
	return watch_end(&watch, status);
}

/* An empty filter with family, size and seed of another. Errors: E_NOMEM. */
static nidus_status make_like(const nidus_filter *other, nidus_filter **filter)
{
	shared_stop(other, false); /* its threads may make it grow */
	struct blueprint plan = other->plan;
	shared_go_on(other);
	nidus_status status = filter_make(other->family, &plan, &other->allocator, NULL, filter);
	return status == NIDUS_OK ? filter_begin(filter) : status;
}

/*
 * Makes room in an empty filter for more keys than were promised, at a higher rate: whoever has a
 * part of the keys cannot know how many there will be, and the parts are to be merged.
 * Errors: E_RANGE, E_NOMEM.
 */
static nidus_status make_room(nidus_filter *filter, const uint64_t *hashes, const uint64_t *values,
                              size_t n)
{
	if (!(filter->family->features & NIDUS_GROW) || n <= filter->plan.max_capacity)
		return NIDUS_OK;
	uint64_t places = copies_places(filter->family, &filter->plan, hashes, values, n);
	return places > filter->plan.max_capacity ? nidus_grow_relaxed(filter, places) : NIDUS_OK;
}

/* Fills an empty filter like another one, or gives it back. */
static nidus_status fill_like(nidus_filter **filter, const uint64_t *hashes, const uint64_t *values,
                              size_t n, unsigned threads)
{
	nidus_status status = make_room(*filter, hashes, values, n);
	if (status == NIDUS_OK)
		return fill_or_free(filter, hashes, values, n, threads);
	nidus_free(*filter);
	*filter = NULL;
	return status;
}

nidus_status nidus_build_like(const nidus_filter *other, uint64_t *hashes, uint64_t *values,
                              size_t n, bool copies, unsigned threads,
                              const nidus_progress *progress, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (other == NULL || (hashes == NULL && n > 0))
		return filter_null(other == NULL ? "other" : "hashes");
	size_t left;
	nidus_status status = NIDUS_OK;
	if (values != NULL)
		status = check_values(values, n, other->value_bits);
	if (status != NIDUS_OK)
		return status;
	struct watch watch;
	watch_begin(&watch, progress != NULL ? progress : &(nidus_progress){ 0 },
	            (values != NULL ? STEPS_VALUES : STEPS) * (double)n);
	status = values != NULL ? pair_sort(hashes, values, n, other->value_bits, !copies, threads,
	                                    &other->allocator, &left)
	                        : hash_sort_in_place(hashes, n, !copies, threads, &other->allocator,
	                                             &left);
	if (status == NIDUS_OK)
		status = make_like(other, filter);
	if (status == NIDUS_OK)
		status = fill_like(filter, hashes, values, left, threads);
	return watch_end(&watch, status);
}
