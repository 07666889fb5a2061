/* SPDX-License-Identifier: MIT
 *
 * directory: the calls on keys of a growing filter, which go to the bodies that hold them.
 */
#include "api/directory_parts.h"

#include "base/probe.h"
#include "base/reason.h"

#define SOME 256 /* keys of a batch whose bodies are found at a time */

/* ---------------------------------------------------------------- finding a body -- */

/*
 * The body where the index has borrowed bits, too. Without a branch on whether a part is whole in one
 * body: that is unpredictable.
 */
ALWAYS_INLINE void *body_by_lender(const struct directory *directory, uint64_t hash)
{
	unsigned borrowed = directory->borrowed;
	uint64_t rest, part = multiply_wide(hash, directory->parts, &rest);
	uint64_t bits = lender_bits(&directory->trunk->lender, rest);
	return directory->index[part << borrowed | bits >> (64 - borrowed)];
}

NEVER_INLINE void *body_by_asking(const struct directory *directory, uint64_t hash)
{
	unsigned borrowed = directory->borrowed;
	uint64_t bits = directory->inner->borrow(directory->trunk->model, hash);
	return directory->index[multiply_high(hash, directory->parts) << borrowed |
	                        bits >> (64 - borrowed)];
}

ALWAYS_INLINE void *body_by_growth(const struct directory *directory, uint64_t hash)
{
	return directory->index[multiply_high(hash, directory->parts) >> directory->behind];
}

static inline void *body_of(const struct directory *directory, uint64_t hash)
{
	return LIKELY(directory->way == DIRECTORY_GROWTH) ? body_by_growth(directory, hash)
	       : LIKELY(directory->way == DIRECTORY_LENT) ? body_by_lender(directory, hash)
	                                                  : body_by_asking(directory, hash);
}

/* Whether there are leaves: otherwise the entries are a list. */
static inline bool has_leaves(const struct directory *directory)
{
	return directory->index != NULL;
}

void *directory_body(const struct directory *directory, uint64_t hash)
{
	return body_of(directory, hash);
}

/* ---------------------------------------------------------------------- one key -- */

NEVER_INLINE bool contains_else(const struct directory *directory, uint64_t hash)
{
	return has_leaves(directory)
	               ? directory->ops->contains(body_by_asking(directory, hash), hash)
	               : directory_few_copies(directory, hash) > 0;
}

/* Each way calls last, so that none needs a stack. */
static bool contains(const void *body, uint64_t hash)
{
	const struct directory *directory = body;
	if (LIKELY(directory->way == DIRECTORY_GROWTH))
		return directory->ops->contains(body_by_growth(directory, hash), hash);
	if (LIKELY(directory->way == DIRECTORY_LENT))
		return directory->ops->contains(body_by_lender(directory, hash), hash);
	return contains_else(directory, hash);
}

static uint64_t count(const void *body, uint64_t hash)
{
	const struct directory *directory = body;
	return has_leaves(directory) ? directory->ops->count(body_of(directory, hash), hash)
	                             : directory_few_copies(directory, hash);
}

static size_t find(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const struct directory *directory = body;
	return has_leaves(directory)
	               ? directory->ops->find(body_of(directory, hash), hash, values, cap)
	               : directory_few_values(directory, hash, values, cap);
}

/* A list has nothing to ask for. */
static void prepare(const void *body, uint64_t hash, nidus_probe *probe)
{
	const struct directory *directory = body;
	if (LIKELY(has_leaves(directory)))
		directory->ops->prepare(body_of(directory, hash), hash, probe);
	else
		probe_by_hash(probe, hash);
}

/* If the body is another one by now it has another version. */
static bool ask(const void *body, const nidus_probe *probe)
{
	const struct directory *directory = body;
	return LIKELY(has_leaves(directory))
	               ? directory->ops->ask(body_of(directory, probe->hash), probe)
	               : directory_few_copies(directory, probe->hash) > 0;
}

/* Takes room for inserts into a leaf, or gives it back; what is left. */
static inline int64_t take_room(const struct directory *directory, struct leaf *leaf,
                                int64_t inserts)
{
	if (LIKELY(!directory->shared))
		return leaf->room -= inserts;
	return __atomic_sub_fetch(&leaf->room, inserts, __ATOMIC_RELAXED);
}

/*
 * A leaf has no room left after an insert into one of its bodies: it is looked at, by threads as soon
 * as one has the filter for itself. Copies never make a filter grow: after one, another key is
 * waited for.
 */
static void look_at(struct directory *directory, const void *body, uint64_t hash)
{
	bool copy = directory->ops->count(body, hash) > 1;
	if (!directory->shared)
		directory_look_at(directory, body_head(body)->leaf, !copy);
	else if (!copy)
		__atomic_store_n(&directory->due, 1, __ATOMIC_RELAXED);
}

/* After an insert into a body. */
static inline void count_insert(struct directory *directory, const void *body, uint64_t hash)
{
	if (UNLIKELY(take_room(directory, body_head(body)->leaf, 1) <= 0))
		look_at(directory, body, hash);
}

/*
 * Whether a body refuses a key: it is in a leaf that cannot be split, and is no copy of one that is
 * there already.
 */
static inline bool refuses(struct directory *directory, const void *body, uint64_t hash)
{
	struct leaf *leaf = body_head(body)->leaf;
	return UNLIKELY(leaf->last) && __atomic_load_n(&leaf->room, __ATOMIC_RELAXED) <= 0 &&
	       directory_is_full(directory, leaf) && !directory->ops->contains(body, hash);
}

static nidus_status no_place(void)
{
	return fail(NIDUS_FULL, "no place for this key was found; the filter is full");
}

nidus_status directory_put(struct directory *directory, uint64_t hash, uint64_t value)
{
	void *body = body_of(directory, hash);
	if (refuses(directory, body, hash))
		return no_place();
	nidus_status status = body_insert(directory->ops, body, hash, value);
	if (LIKELY(status == NIDUS_OK))
		count_insert(directory, body, hash);
	return status;
}

nidus_status directory_put_copies(struct directory *directory, uint64_t hash, uint64_t value,
                                  uint64_t copies)
{
	if (!has_leaves(directory))
		return directory_few_put(directory, hash, value, copies);
	if (copies == 1)
		return directory_put(directory, hash, value);
	return directory->inner->insert_copies(body_of(directory, hash), hash, value, copies);
}

static nidus_status insert_value(void *body, uint64_t hash, uint64_t value)
{
	struct directory *directory = body;
	return LIKELY(has_leaves(directory)) ? directory_put(directory, hash, value)
	                                     : directory_few_put(directory, hash, value, 1);
}

static nidus_status insert(void *body, uint64_t hash)
{
	return insert_value(body, hash, 0);
}

static nidus_status insert_new(void *body, uint64_t hash)
{
	struct directory *directory = body;
	/* A lookup may be right for a twin that goes elsewhere at the next split: that is counted. */
	if (!directory->shared)
		return contains(body, hash) && count(body, hash) > 0 ? NIDUS_PRESENT
		                                                     : insert(body, hash);
	void *place = body_of(directory, hash);
	if (refuses(directory, place, hash))
		return no_place();
	nidus_status status = directory->ops->insert_new(place, hash);
	if (status == NIDUS_OK)
		count_insert(directory, place, hash);
	return status;
}

/* Of a directory that threads share. */
static nidus_status add(void *body, uint64_t hash, uint64_t value)
{
	struct directory *directory = body;
	void *place = body_of(directory, hash);
	if (refuses(directory, place, hash))
		return no_place();
	nidus_status status = directory->ops->add(place, hash, value);
	if (status == NIDUS_OK) /* it may have come */
		count_insert(directory, place, hash);
	return status;
}

static nidus_status remove_key(void *body, uint64_t hash)
{
	struct directory *directory = body;
	return LIKELY(has_leaves(directory))
	               ? directory->ops->remove(body_of(directory, hash), hash)
	               : directory_few_take(directory, hash);
}

static nidus_status change(void *body, uint64_t hash, struct value_change what)
{
	struct directory *directory = body;
	return has_leaves(directory) ? directory->ops->change(body_of(directory, hash), hash, what)
	                             : directory_few_change(directory, hash, what);
}

/* ----------------------------------------------------------------------- batches -- */

/* Finds the bodies of up to SOME keys, and asks for what is read first of each. */
static void find_bodies(const struct directory *directory, const uint64_t *hashes, size_t n,
                        void **bodies)
{
	for (size_t i = 0; i < n; i++) {
		bodies[i] = body_of(directory, hashes[i]);
		PREFETCH(bodies[i]);
	}
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const struct directory *directory = body;
	void *bodies[SOME];
	for (size_t i = 0; i < n && !has_leaves(directory); i++)
		yes[i] = contains(body, hashes[i]);
	for (size_t from = 0; from < n && has_leaves(directory); from += SOME) {
		size_t some = n - from < SOME ? n - from : SOME;
		find_bodies(directory, hashes + from, some, bodies);
		directory->ops->contains_each((const void *const *)bodies, hashes + from, some,
		                              yes + from);
	}
}

/* find of up to SOME keys of bodies that have no find_each: only of those that are found. */
static void find_if_there(const struct directory *directory, void *const *bodies,
                          const uint64_t *hashes, size_t n, uint64_t *first, uint32_t *found)
{
	uint8_t yes[SOME];
	directory->ops->contains_each((const void *const *)bodies, hashes, n, yes);
	for (size_t i = 0; i < n; i++) {
		first[i] = found[i] = 0;
		if (yes[i])
			found[i] = (uint32_t)directory->ops->find(bodies[i], hashes[i], &first[i],
			                                          1);
	}
}

static void find_batch(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                       uint32_t *found)
{
	const struct directory *directory = body;
	void *bodies[SOME];
	for (size_t i = 0; i < n && !has_leaves(directory); i++) {
		first[i] = 0;
		found[i] = (uint32_t)find(body, hashes[i], &first[i], 1);
	}
	for (size_t from = 0; from < n && has_leaves(directory); from += SOME) {
		size_t some = n - from < SOME ? n - from : SOME;
		find_bodies(directory, hashes + from, some, bodies);
		if (directory->ops->find_each != NULL)
			directory->ops->find_each((const void *const *)bodies, hashes + from, some,
			                          first + from, found + from);
		else
			find_if_there(directory, bodies, hashes + from, some, first + from,
			              found + from);
	}
}

/*
 * Whether threads share the filter and a leaf has to be split before more comes, for which the
 * caller has to have the filter for itself.
 */
static bool is_waiting(const struct directory *directory)
{
	return UNLIKELY(__atomic_load_n(&directory->due, __ATOMIC_RELAXED) != 0);
}

/* Inserts one by one: the list, and leaves that may have to be split on the way. */
static nidus_status insert_singly(struct directory *directory, const uint64_t *hashes,
                                  const uint64_t *values, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK && !is_waiting(directory);) {
		status = insert_value(directory, hashes[*done], values != NULL ? values[*done] : 0);
		*done += status == NIDUS_OK;
	}
	return status;
}

/*
 * Finds the bodies of up to n keys and takes room for them: up to the first key with which a leaf is
 * to be looked at, or before one of a leaf that has no room.
 */
static size_t claim_bodies(const struct directory *directory, const uint64_t *hashes, size_t n,
                           void **bodies)
{
	for (size_t i = 0; i < n; i++) {
		bodies[i] = body_of(directory, hashes[i]);
		struct leaf *leaf = body_head(bodies[i])->leaf;
		int64_t left = take_room(directory, leaf, 1);
		if (LIKELY(left > 0))
			continue;
		if (left == 0)
			return i + 1;
		(void)take_room(directory, leaf, -1);
		return i;
	}
	return n;
}

/* Up to SOME inserts; fewer if a leaf has to be looked at. */
static nidus_status insert_some(struct directory *directory, const uint64_t *hashes,
                                const uint64_t *values, size_t n, size_t *done)
{
	void *bodies[SOME];
	size_t some = has_leaves(directory) ? claim_bodies(directory, hashes, n, bodies) : 0;
	if (some == 0)
		return insert_singly(directory, hashes, values, has_leaves(directory) ? 1 : n,
		                     done);
	nidus_status status = directory->ops->insert_each(bodies, hashes, values, some, done);
	for (size_t i = *done; i < some; i++)
		(void)take_room(directory, body_head(bodies[i])->leaf, -1);
	const void *last = bodies[some - 1];
	if (status == NIDUS_OK && take_room(directory, body_head(last)->leaf, 0) <= 0)
		look_at(directory, last, hashes[some - 1]);
	return status;
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK && !is_waiting(body);) {
		size_t some = n - *done < SOME ? n - *done : SOME, in = 0;
		status = insert_some(body, hashes + *done, values_from(values, *done), some, &in);
		*done += in;
	}
	return status;
}

static nidus_status remove_batch(void *body, const uint64_t *hashes, size_t n, size_t *done)
{
	struct directory *directory = body;
	void *bodies[SOME];
	nidus_status status = NIDUS_OK;
	*done = 0;
	while (*done < n && status == NIDUS_OK && !has_leaves(directory)) {
		status = remove_key(body, hashes[*done]);
		*done += status == NIDUS_OK;
	}
	while (*done < n && status == NIDUS_OK) {
		size_t some = n - *done < SOME ? n - *done : SOME, out = 0;
		find_bodies(directory, hashes + *done, some, bodies);
		status = directory->ops->remove_each(bodies, hashes + *done, some, &out);
		*done += out;
	}
	return status;
}

const struct body_ops directory_ops = {
	.contains = contains,
	.prepare = prepare,
	.ask = ask,
	.count = count,
	.find = find,
	.insert = insert,
	.insert_value = insert_value,
	.insert_new = insert_new,
	.add = add,
	.remove = remove_key,
	.change = change,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch,
	.remove_batch = remove_batch,
};
