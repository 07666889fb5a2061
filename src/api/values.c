/* SPDX-License-Identifier: MIT
 *
 * values: the calls that take keys with values, and counts.
 */
#include "api/shared.h"

#define SOME 64 /* counts of a batch that are fetched at a time */

static nidus_status too_large(const nidus_filter *filter, uint64_t value)
{
	return fail(NIDUS_E_RANGE, "the value %llu does not fit into %u bits",
	            (unsigned long long)value, filter->value_bits);
}

/* Whether values of a filter can be changed. Errors: E_ARG, E_READONLY, E_UNSUPPORTED. */
static nidus_status check_changeable(const nidus_filter *filter)
{
	nidus_status status = filter_check_writable(filter);
	if (status == NIDUS_OK && filter->value_bits == 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "the filter keeps no values: make it with options.value_bits");
	return status;
}

static bool fits(const nidus_filter *filter, uint64_t value)
{
	return value <= bits_low(filter->value_bits);
}

/* -------------------------------------------------------------------- insert -- */

/* Puts a key in with a value that fits. */
static nidus_status put(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	if (filter->gate != NULL)
		return shared_insert(filter, hash, value);
	return body_insert(filter->ops, filter_body(filter), hash, value);
}

nidus_status nidus_insert_value_hash(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	nidus_status status = check_changeable(filter);
	if (status != NIDUS_OK)
		return status;
	return fits(filter, value) ? put(filter, hash, value) : too_large(filter, value);
}

nidus_status nidus_insert_value(nidus_filter *filter, const void *key, size_t len, uint64_t value)
{
	return filter_key_given(key, len)
	               ? nidus_insert_value_hash(filter, nidus_hash(filter, key, len), value)
	               : filter_no_key();
}

nidus_status nidus_insert_value_u64(nidus_filter *filter, uint64_t key, uint64_t value)
{
	return nidus_insert_value_hash(filter, nidus_hash_u64(filter, key), value);
}

static nidus_status put_batch(nidus_filter *filter, const uint64_t *hashes, const uint64_t *values,
                              size_t n, size_t *done)
{
	if (filter->gate != NULL)
		return shared_insert_batch(filter, hashes, values, n, done);
	return filter->ops->insert_batch(filter_body(filter), hashes, values, n, done);
}

nidus_status nidus_insert_value_batch(nidus_filter *filter, const uint64_t *hashes,
                                      const uint64_t *values, size_t n, size_t *done)
{
	size_t ignored, right = 0;
	if (done == NULL)
		done = &ignored;
	*done = 0;
	nidus_status status = check_changeable(filter);
	if (status == NIDUS_OK && n > 0 && (hashes == NULL || values == NULL))
		return filter_null(hashes == NULL ? "hashes" : "values");
	if (status == NIDUS_OK)
		right = values_fitting(values, n, filter->value_bits);
	if (right > 0)
		status = put_batch(filter, hashes, values, right, done);
	return status == NIDUS_OK && right < n ? too_large(filter, values[right]) : status;
}

/* ---------------------------------------------------------------------- find -- */

/* A filter without values: each is 0. */
static size_t find_zeros(const nidus_filter *filter, uint64_t hash, uint64_t *values, size_t cap)
{
	size_t found = (size_t)nidus_count_key_hash(filter, hash);
	for (size_t i = 0; i < found && i < cap; i++)
		values[i] = 0;
	return found;
}

size_t nidus_find_hash(const nidus_filter *filter, uint64_t hash, uint64_t *values, size_t cap)
{
	if (filter == NULL)
		return 0;
	cap = values != NULL ? cap : 0;
	if (filter->value_bits == 0)
		return find_zeros(filter, hash, values, cap);
	return filter->gate != NULL ? shared_find(filter, hash, values, cap)
	                            : filter->ops->find(filter_body(filter), hash, values, cap);
}

size_t nidus_find(const nidus_filter *filter, const void *key, size_t len, uint64_t *values,
                  size_t cap)
{
	return filter_key_given(key, len)
	               ? nidus_find_hash(filter, nidus_hash(filter, key, len), values, cap)
	               : 0;
}

size_t nidus_find_u64(const nidus_filter *filter, uint64_t key, uint64_t *values, size_t cap)
{
	return nidus_find_hash(filter, nidus_hash_u64(filter, key), values, cap);
}

void nidus_find_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n, uint64_t *first,
                      uint32_t *found)
{
	if (n == 0 || first == NULL || found == NULL)
		return;
	if (filter != NULL && hashes != NULL && filter->value_bits > 0) {
		if (filter->gate != NULL)
			shared_find_batch(filter, hashes, n, first, found);
		else
			filter->ops->find_batch(filter_body(filter), hashes, n, first, found);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		first[i] = 0;
		found[i] = hashes != NULL ? (uint32_t)nidus_count_key_hash(filter, hashes[i]) : 0;
	}
}

/* ------------------------------------------------------------------- changes -- */

static nidus_status change(nidus_filter *filter, uint64_t hash, struct value_change change)
{
	return filter->gate != NULL ? shared_change(filter, hash, change)
	                            : filter->ops->change(filter_body(filter), hash, change);
}

nidus_status nidus_remove_value_hash(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	nidus_status status = check_changeable(filter);
	if (status == NIDUS_OK)
		status = filter_check_removable(filter);
	if (status != NIDUS_OK)
		return status;
	if (!fits(filter, value))
		return too_large(filter, value);
	return change(filter, hash, (struct value_change){ VALUE_REMOVE, value, 0 });
}

nidus_status nidus_remove_value(nidus_filter *filter, const void *key, size_t len, uint64_t value)
{
	return filter_key_given(key, len)
	               ? nidus_remove_value_hash(filter, nidus_hash(filter, key, len), value)
	               : filter_no_key();
}

nidus_status nidus_remove_value_u64(nidus_filter *filter, uint64_t key, uint64_t value)
{
	return nidus_remove_value_hash(filter, nidus_hash_u64(filter, key), value);
}

nidus_status nidus_replace_value_hash(nidus_filter *filter, uint64_t hash, uint64_t old,
                                      uint64_t fresh)
{
	nidus_status status = check_changeable(filter);
	if (status != NIDUS_OK)
		return status;
	if (!fits(filter, old) || !fits(filter, fresh))
		return too_large(filter, fits(filter, old) ? fresh : old);
	return change(filter, hash, (struct value_change){ VALUE_REPLACE, old, fresh });
}

nidus_status nidus_replace_value(nidus_filter *filter, const void *key, size_t len, uint64_t old,
                                 uint64_t fresh)
{
	return filter_key_given(key, len)
	               ? nidus_replace_value_hash(filter, nidus_hash(filter, key, len), old, fresh)
	               : filter_no_key();
}

nidus_status nidus_replace_value_u64(nidus_filter *filter, uint64_t key, uint64_t old,
                                     uint64_t fresh)
{
	return nidus_replace_value_hash(filter, nidus_hash_u64(filter, key), old, fresh);
}

/* -------------------------------------------------------------------- counts -- */

/* The filter keeps values. */
static nidus_status add(nidus_filter *filter, uint64_t hash, uint64_t delta)
{
	if (delta > bits_low(filter->value_bits))
		delta = bits_low(filter->value_bits);
	if (filter->gate != NULL)
		return shared_add(filter, hash, delta);
	nidus_status status = filter->ops->change(filter_body(filter), hash,
	                                          (struct value_change){ VALUE_ADD, 0, delta });
	return status == NIDUS_NOT_FOUND ? put(filter, hash, delta) : status;
}

nidus_status nidus_add_count_hash(nidus_filter *filter, uint64_t hash, uint64_t delta)
{
	nidus_status status = check_changeable(filter);
	return status == NIDUS_OK ? add(filter, hash, delta) : status;
}

nidus_status nidus_add_count(nidus_filter *filter, const void *key, size_t len, uint64_t delta)
{
	return filter_key_given(key, len)
	               ? nidus_add_count_hash(filter, nidus_hash(filter, key, len), delta)
	               : filter_no_key();
}

nidus_status nidus_add_count_u64(nidus_filter *filter, uint64_t key, uint64_t delta)
{
	return nidus_add_count_hash(filter, nidus_hash_u64(filter, key), delta);
}

nidus_status nidus_add_count_batch(nidus_filter *filter, const uint64_t *hashes,
                                   const uint64_t *deltas, size_t n, size_t *done)
{
	size_t ignored;
	uint8_t yes[SOME];
	if (done == NULL)
		done = &ignored;
	*done = 0;
	nidus_status status = check_changeable(filter);
	if (status == NIDUS_OK && hashes == NULL && n > 0)
		return filter_null("hashes");
	while (status == NIDUS_OK && *done < n) {
		if (*done % SOME == 0) /* a lookup of the next ones brings them into the cache */
			nidus_contains_batch(filter, hashes + *done,
			                     n - *done < SOME ? n - *done : SOME, yes);
		status = add(filter, hashes[*done], deltas != NULL ? deltas[*done] : 1);
		*done += status == NIDUS_OK;
	}
	return status;
}

#define FEW 256 /* values that are added up; counts that were only added to have one each */

uint64_t nidus_get_count_hash(const nidus_filter *filter, uint64_t hash)
{
	uint64_t values[FEW], sum = 0;
	size_t found = nidus_find_hash(filter, hash, values, FEW);
	for (size_t i = 0; i < found && i < FEW; i++)
		sum = value_sum(sum, values[i], filter->value_bits);
	/* Of more entries than that it is not known: a count may be too high, but never too low. */
	return found > FEW ? bits_low(filter->value_bits) : sum;
}

uint64_t nidus_get_count(const nidus_filter *filter, const void *key, size_t len)
{
	return filter_key_given(key, len)
	               ? nidus_get_count_hash(filter, nidus_hash(filter, key, len))
	               : 0;
}

uint64_t nidus_get_count_u64(const nidus_filter *filter, uint64_t key)
{
	return nidus_get_count_hash(filter, nidus_hash_u64(filter, key));
}
