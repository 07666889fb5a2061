/* SPDX-License-Identifier: MIT
 *
 * keys: the calls that take keys, one by one and in batches.
 *
 * Three spellings of a key (bytes, integer, hash) meet here and go on as hashes.
 */
#include "api/shared.h"
#include "base/probe.h"
#include "simd/hashes.h"

/* ------------------------------------------------------------------- hashing -- */

uint64_t nidus_hash(const nidus_filter *filter, const void *key, size_t len)
{
	return filter != NULL && filter_key_given(key, len)
	               ? hash_bytes(filter->plan.seed, key, len)
	               : 0;
}

uint64_t nidus_hash_u64(const nidus_filter *filter, uint64_t key)
{
	return filter != NULL ? hash_u64(&filter->key, key) : 0;
}

void nidus_hash_batch(const nidus_filter *filter, const void *const *keys, const size_t *lens,
                      size_t n, uint64_t *hashes)
{
	bool given = filter != NULL && keys != NULL && lens != NULL;
	for (size_t i = 0; i < n && hashes != NULL; i++)
		hashes[i] = given ? nidus_hash(filter, keys[i], lens[i]) : 0;
}

void nidus_hash_u64_batch(const nidus_filter *filter, const uint64_t *keys, size_t n,
                          uint64_t *hashes)
{
	if (filter != NULL && keys != NULL && hashes != NULL)
		hashes_of_u64(&filter->key, keys, n, hashes);
	else if (hashes != NULL && n > 0)
		memset(hashes, 0, n * sizeof *hashes);
}

/* -------------------------------------------------------------------- insert -- */

/*
 * The body of a filter, for calls on one key. The compiler must not know where it comes from:
 * it then reaches the filter from the body, and keeps one address instead of two.
 */
static inline void *body_of(const nidus_filter *filter)
{
	void *body = (void *)(uintptr_t)filter->body;
	__asm__("" : "+r"(body));
	return body;
}

/* Calls on one key: what is rare is called last, so that the rest needs no stack. */
static inline nidus_status insert(nidus_filter *filter, uint64_t hash)
{
	if (UNLIKELY(filter == NULL))
		return filter_null("filter");
	if (UNLIKELY(filter->readonly))
		return filter_check_writable(filter);
	void *body = body_of(filter);
	return filter_of(body)->front->insert(body, hash);
}

nidus_status nidus_insert_hash(nidus_filter *filter, uint64_t hash)
{
	return insert(filter, hash);
}

nidus_status nidus_insert(nidus_filter *filter, const void *key, size_t len)
{
	if (UNLIKELY(!filter_key_given(key, len)))
		return filter_no_key();
	return insert(filter, nidus_hash(filter, key, len));
}

nidus_status nidus_insert_u64(nidus_filter *filter, uint64_t key)
{
	return insert(filter, nidus_hash_u64(filter, key));
}

nidus_status nidus_insert_new_hash(nidus_filter *filter, uint64_t hash)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK)
		return status;
	if (UNLIKELY(filter->gate != NULL))
		return shared_insert_new(filter, hash);
	if (filter->ops->insert_new != NULL)
		return filter->ops->insert_new(filter_body(filter), hash);
	if (filter->ops->contains(filter_body(filter), hash))
		return NIDUS_PRESENT;
	return insert(filter, hash);
}

nidus_status nidus_insert_new(nidus_filter *filter, const void *key, size_t len)
{
	if (UNLIKELY(!filter_key_given(key, len)))
		return filter_no_key();
	return nidus_insert_new_hash(filter, nidus_hash(filter, key, len));
}

nidus_status nidus_insert_new_u64(nidus_filter *filter, uint64_t key)
{
	return nidus_insert_new_hash(filter, nidus_hash_u64(filter, key));
}

/* -------------------------------------------------------------------- lookup -- */

bool nidus_contains_hash(const nidus_filter *filter, uint64_t hash)
{
	if (UNLIKELY(filter == NULL))
		return false;
	const void *body = body_of(filter);
	return filter_of(body)->front->contains(body, hash);
}

bool nidus_contains(const nidus_filter *filter, const void *key, size_t len)
{
	return filter_key_given(key, len) &&
	       nidus_contains_hash(filter, nidus_hash(filter, key, len));
}

bool nidus_contains_u64(const nidus_filter *filter, uint64_t key)
{
	return nidus_contains_hash(filter, nidus_hash_u64(filter, key));
}

void nidus_prepare_hash(const nidus_filter *filter, uint64_t hash, nidus_probe *probe)
{
	if (UNLIKELY(probe == NULL))
		return;
	if (UNLIKELY(filter == NULL)) {
		probe_by_hash(probe, hash);
		return;
	}
	const void *body = body_of(filter);
	filter_of(body)->front->prepare(body, hash, probe);
}

void nidus_prepare(const nidus_filter *filter, const void *key, size_t len, nidus_probe *probe)
{
	nidus_prepare_hash(filter, nidus_hash(filter, key, len), probe);
}

void nidus_prepare_u64(const nidus_filter *filter, uint64_t key, nidus_probe *probe)
{
	nidus_prepare_hash(filter, nidus_hash_u64(filter, key), probe);
}

bool nidus_ask(const nidus_filter *filter, const nidus_probe *probe)
{
	if (UNLIKELY(filter == NULL) || UNLIKELY(probe == NULL))
		return false;
	const void *body = body_of(filter);
	return filter_of(body)->front->ask(body, probe);
}

void nidus_prefetch_hash(const nidus_filter *filter, uint64_t hash)
{
	nidus_probe ignored;
	nidus_prepare_hash(filter, hash, &ignored);
}

uint64_t nidus_count_key_hash(const nidus_filter *filter, uint64_t hash)
{
	if (filter == NULL)
		return 0;
	return UNLIKELY(filter->gate != NULL) ? shared_count(filter, hash)
	                                      : filter->ops->count(filter_body(filter), hash);
}

uint64_t nidus_count_key(const nidus_filter *filter, const void *key, size_t len)
{
	return filter_key_given(key, len)
	               ? nidus_count_key_hash(filter, nidus_hash(filter, key, len))
	               : 0;
}

uint64_t nidus_count_key_u64(const nidus_filter *filter, uint64_t key)
{
	return nidus_count_key_hash(filter, nidus_hash_u64(filter, key));
}

/* -------------------------------------------------------------------- remove -- */

static inline nidus_status remove_one(nidus_filter *filter, uint64_t hash)
{
	if (UNLIKELY(filter == NULL))
		return filter_null("filter");
	if (UNLIKELY(filter->readonly | filter->keeps_all || filter->front->remove == NULL))
		return filter_check_removable(filter);
	void *body = body_of(filter);
	return filter_of(body)->front->remove(body, hash);
}

nidus_status nidus_remove_hash(nidus_filter *filter, uint64_t hash)
{
	return remove_one(filter, hash);
}

nidus_status nidus_remove(nidus_filter *filter, const void *key, size_t len)
{
	if (UNLIKELY(!filter_key_given(key, len)))
		return filter_no_key();
	return remove_one(filter, nidus_hash(filter, key, len));
}

nidus_status nidus_remove_u64(nidus_filter *filter, uint64_t key)
{
	return remove_one(filter, nidus_hash_u64(filter, key));
}

/* ----------------------------------------------------------- where calls go to -- */

static bool contains_through_gate(const void *body, uint64_t hash)
{
	return shared_contains(filter_of(body), hash);
}

static void prepare_through_gate(const void *body, uint64_t hash, nidus_probe *probe)
{
	shared_prepare(filter_of(body), hash, probe);
}

static bool ask_through_gate(const void *body, const nidus_probe *probe)
{
	return shared_ask(filter_of(body), probe);
}

static nidus_status insert_through_gate(void *body, uint64_t hash)
{
	return shared_insert(filter_of(body), hash, 0);
}

static nidus_status remove_through_gate(void *body, uint64_t hash)
{
	nidus_filter *filter = filter_of(body);
	nidus_status status = filter_check_removable(filter);
	return status == NIDUS_OK ? shared_remove(filter, hash) : status;
}

static bool contains_apart(const void *behind, uint64_t hash)
{
	const nidus_filter *filter = filter_of(behind);
	return filter->ops->contains(filter_body(filter), hash);
}

static void prepare_apart(const void *behind, uint64_t hash, nidus_probe *probe)
{
	const nidus_filter *filter = filter_of(behind);
	filter->ops->prepare(filter_body(filter), hash, probe);
}

static bool ask_apart(const void *behind, const nidus_probe *probe)
{
	const nidus_filter *filter = filter_of(behind);
	return filter->ops->ask(filter_body(filter), probe);
}

static nidus_status insert_apart(void *behind, uint64_t hash)
{
	nidus_filter *filter = filter_of(behind);
	return filter->ops->insert(filter_body(filter), hash);
}

static nidus_status remove_apart(void *behind, uint64_t hash)
{
	nidus_filter *filter = filter_of(behind);
	return filter->ops->remove(filter_body(filter), hash);
}

/* The front of a filter that threads share is read while others make it grow. */
void filter_choose_front(nidus_filter *filter)
{
	static const struct body_ops gate = { .contains = contains_through_gate,
		                              .prepare = prepare_through_gate,
		                              .ask = ask_through_gate,
		                              .insert = insert_through_gate,
		                              .remove = remove_through_gate };
	static const struct body_ops apart = { .contains = contains_apart,
		                               .prepare = prepare_apart,
		                               .ask = ask_apart,
		                               .insert = insert_apart,
		                               .remove = remove_apart };
	if (filter->gate == NULL)
		filter->front = filter->apart ? &apart : filter->ops;
	else if (filter->front != &gate)
		filter->front = &gate;
}

/* ------------------------------------------------------------------- batches -- */

void nidus_contains_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                          uint8_t *yes)
{
	if (yes == NULL || n == 0)
		return;
	if (filter == NULL || hashes == NULL)
		memset(yes, 0, n);
	else if (filter->gate != NULL)
		shared_contains_batch(filter, hashes, n, yes);
	else
		filter->ops->contains_batch(filter_body(filter), hashes, n, yes);
}

nidus_status nidus_insert_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                size_t *done)
{
	size_t ignored;
	if (done == NULL)
		done = &ignored;
	*done = 0;
	nidus_status status = filter_check_writable(filter);
	if (status == NIDUS_OK && hashes == NULL && n > 0)
		return filter_null("hashes");
	if (status == NIDUS_OK && filter->gate != NULL)
		return shared_insert_batch(filter, hashes, NULL, n, done);
	return status == NIDUS_OK
	               ? filter->ops->insert_batch(filter_body(filter), hashes, NULL, n, done)
	               : status;
}

#define NEW_BLOCK 128 /* their cache lines stay until they are inserted */

/*
 * A lookup of a whole block brings its cache lines and finds what is there already. The others are
 * looked up once more when their turn comes: they may have come twice. In a filter that grows so are
 * all: it says yes for keys that are not there to stay (insert_new of api/directory.c).
 */
static nidus_status insert_new_block(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                     uint8_t *fresh, size_t *done)
{
	uint8_t known[NEW_BLOCK];
	bool sure = filter->plan.segmented == PLAN_WHOLE;
	nidus_contains_batch(filter, hashes, n, known);
	for (size_t i = 0; i < n; i++) {
		nidus_status status =
			known[i] && sure ? NIDUS_PRESENT : nidus_insert_new_hash(filter, hashes[i]);
		if (status != NIDUS_OK && status != NIDUS_PRESENT)
			return status;
		if (fresh != NULL)
			fresh[i] = status == NIDUS_OK;
		++*done;
	}
	return NIDUS_OK;
}

nidus_status nidus_insert_new_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                    uint8_t *fresh, size_t *done)
{
	size_t ignored;
	if (done == NULL)
		done = &ignored;
	*done = 0;
	nidus_status status = filter_check_writable(filter);
	if (status == NIDUS_OK && hashes == NULL && n > 0)
		return filter_null("hashes");
	while (status == NIDUS_OK && *done < n) {
		size_t some = n - *done < NEW_BLOCK ? n - *done : NEW_BLOCK;
		status = insert_new_block(filter, hashes + *done, some,
		                          fresh != NULL ? fresh + *done : NULL, done);
	}
	return status;
}

nidus_status nidus_remove_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                size_t *done)
{
	size_t ignored;
	if (done == NULL)
		done = &ignored;
	*done = 0;
	nidus_status status = filter_check_removable(filter);
	if (status == NIDUS_OK && hashes == NULL && n > 0)
		return filter_null("hashes");
	if (status == NIDUS_OK && filter->gate != NULL)
		return shared_remove_batch(filter, hashes, n, done);
	return status == NIDUS_OK ? filter->ops->remove_batch(filter_body(filter), hashes, n, done)
	                          : status;
}
