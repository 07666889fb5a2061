/* SPDX-License-Identifier: MIT
 *
 * generations: the calls on keys of a filter without a size, which go to its generations.
 *
 * Inserts go to the youngest, and old generations only lose entries. So, where threads share the filter,
 * a call that comes to the youngest last is right at the moment when it does: what was not found in the
 * others does not come back. Without threads the youngest, which is the largest as a rule, comes first.
 */
#include "api/generations_parts.h"

#include "base/reason.h"

#define SOME 256 /* keys of a batch that are taken from generation to generation at a time */

/* ---------------------------------------------------------------------- lookups -- */

static bool contains(const void *body, uint64_t hash)
{
	const struct generations *generations = body;
	for (unsigned i = generations_n(generations); i-- > 0;) {
		if (directory_ops.contains(generations_at(generations, i), hash))
			return true;
	}
	return false;
}

static bool contains_shared(const void *body, uint64_t hash)
{
	const struct generations *generations = body;
	for (unsigned i = 0; i < generations_n(generations); i++) {
		if (directory_ops.contains(generations_at(generations, i), hash))
			return true;
	}
	return false;
}

/* Copies of a key in all generations but the youngest. */
static uint64_t count_old(const struct generations *generations, uint64_t hash)
{
	uint64_t count = 0;
	for (unsigned i = 0; i + 1 < generations_n(generations); i++)
		count += directory_ops.count(generations_at(generations, i), hash);
	return count;
}

static uint64_t count(const void *body, uint64_t hash)
{
	const struct generations *generations = body;
	return count_old(generations, hash) +
	       directory_ops.count(generations_youngest(generations), hash);
}

/* Old copies only become fewer: if they are as many afterwards they were so in between. */
static uint64_t count_shared(const void *body, uint64_t hash)
{
	const struct generations *generations = body;
	uint64_t old, young, again = count_old(generations, hash);
	do {
		old = again;
		young = directory_ops.count(generations_youngest(generations), hash);
		again = count_old(generations, hash);
	} while (again != old);
	return old + young;
}

static size_t find(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const struct generations *generations = body;
	size_t found = 0;
	for (unsigned i = 0; i < generations_n(generations); i++) {
		size_t before = found < cap ? found : cap;
		found += directory_ops.find(generations_at(generations, i), hash,
		                            cap > 0 ? values + before : values, cap - before);
	}
	return found;
}

/* Lines of all generations are asked for; the numbers are those of the youngest. */
static void prepare(const void *body, uint64_t hash, nidus_probe *probe)
{
	const struct generations *generations = body;
	for (unsigned i = 0; i < generations_n(generations); i++)
		directory_ops.prepare(generations_at(generations, i), hash, probe);
}

static bool contains_old(const struct generations *generations, uint64_t hash)
{
	for (unsigned i = 0; i + 1 < generations_n(generations); i++) {
		if (directory_ops.contains(generations_at(generations, i), hash))
			return true;
	}
	return false;
}

static bool ask(const void *body, const nidus_probe *probe)
{
	const struct generations *generations = body;
	return directory_ops.ask(generations_youngest(generations), probe) ||
	       contains_old(generations, probe->hash);
}

static bool ask_shared(const void *body, const nidus_probe *probe)
{
	const struct generations *generations = body;
	return contains_old(generations, probe->hash) ||
	       directory_ops.ask(generations_youngest(generations), probe);
}

/* Keys that no generation had so far, and their places in a batch. */
struct rest {
	uint64_t hashes[SOME];
	uint16_t at[SOME];
	uint8_t yes[SOME];
	size_t n;
};

/* Asks a generation for the rest; those that it has leave it. */
static void contains_rest(const struct directory *directory, struct rest *rest, uint8_t *yes)
{
	size_t left = 0;
	directory_ops.contains_batch(directory, rest->hashes, rest->n, rest->yes);
	for (size_t i = 0; i < rest->n; i++) {
		yes[rest->at[i]] = rest->yes[i];
		rest->hashes[left] = rest->hashes[i];
		rest->at[left] = rest->at[i];
		left += !rest->yes[i];
	}
	rest->n = left;
}

/* Up to SOME keys, generation by generation. */
static void contains_some(const struct generations *generations, const uint64_t *hashes, size_t n,
                          uint8_t *yes)
{
	struct rest rest = { .n = 0 };
	unsigned last = generations_n(generations) - 1;
	bool shared = generations->first.shared;
	directory_ops.contains_batch(generations_at(generations, shared ? 0 : last), hashes, n,
	                             yes);
	for (size_t i = 0; i < n; i++) {
		rest.hashes[rest.n] = hashes[i];
		rest.at[rest.n] = (uint16_t)i;
		rest.n += !yes[i];
	}
	for (unsigned i = 1; i <= last && rest.n > 0; i++)
		contains_rest(generations_at(generations, shared ? i : last - i), &rest, yes);
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const struct generations *generations = body;
	if (generations_n(generations) == 1) {
		directory_ops.contains_batch(generations_at(generations, 0), hashes, n, yes);
		return;
	}
	for (size_t from = 0; from < n; from += SOME)
		contains_some(generations, hashes + from, n - from < SOME ? n - from : SOME,
		              yes + from);
}

static void find_batch(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                       uint32_t *found)
{
	const struct generations *generations = body;
	uint64_t value[SOME];
	uint32_t more[SOME];
	directory_ops.find_batch(generations_at(generations, 0), hashes, n, first, found);
	for (size_t from = 0; from < n && generations_n(generations) > 1; from += SOME) {
		size_t some = n - from < SOME ? n - from : SOME;
		for (unsigned i = 1; i < generations_n(generations); i++) {
			directory_ops.find_batch(generations_at(generations, i), hashes + from,
			                         some, value, more);
			for (size_t k = 0; k < some; k++) {
				if (found[from + k] == 0)
					first[from + k] = value[k];
				found[from + k] += more[k];
			}
		}
	}
}

/* ---------------------------------------------------------------------- inserts -- */

/*
 * Makes room for an insert of a key, in a new generation if it must be; without bits for one the
 * youngest takes what it can. Errors: E_NOMEM.
 */
static nidus_status make_room(struct generations *generations, uint64_t hash)
{
	struct directory *youngest = generations_youngest(generations);
	if (directory_ops.count(youngest, hash) > 0)
		return NIDUS_OK; /* copies never make a filter grow */
	generations_recount(generations);
	if (generations->room > 0)
		return NIDUS_OK;
	reason_set_aside();
	nidus_status status = generations_add(generations);
	if (status != NIDUS_E_RANGE)
		return reason_decide(status);
	generations->room = (int64_t)(generations_most(generations) / GENERATION_LEFT + 1);
	return reason_decide(NIDUS_OK);
}

/* An insert for which the youngest generation has to be looked at first. */
static nidus_status insert_first(struct generations *generations, uint64_t hash, uint64_t value)
{
	const unsigned before = generations_n(generations);
	const int64_t room = generations->room;
	nidus_status status = make_room(generations, hash);
	if (status == NIDUS_OK)
		status = directory_ops.insert_value(generations_youngest(generations), hash, value);
	if (status == NIDUS_OK) {
		generations->room--;
		return status;
	}
	if (generations_n(generations) > before)
		generations_drop(generations);
	generations->room = room;
	return status;
}

static nidus_status insert_value(void *body, uint64_t hash, uint64_t value)
{
	struct generations *generations = body;
	if (UNLIKELY(generations->room <= 0))
		return insert_first(generations, hash, value);
	nidus_status status =
		directory_ops.insert_value(generations_youngest(generations), hash, value);
	generations->room -= status == NIDUS_OK;
	return status;
}

static nidus_status insert(void *body, uint64_t hash)
{
	return insert_value(body, hash, 0);
}

static nidus_status insert_new(void *body, uint64_t hash)
{
	/* As in a directory, a lookup alone may be right for a twin that will not stay one. */
	return contains(body, hash) && count(body, hash) > 0 ? NIDUS_PRESENT : insert(body, hash);
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	struct generations *generations = body;
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done, in = 0;
		if (generations->room > 0) {
			if ((uint64_t)generations->room < some)
				some = (size_t)generations->room;
			status = directory_ops.insert_batch(generations_youngest(generations),
			                                    hashes + *done,
			                                    values_from(values, *done), some, &in);
			generations->room -= (int64_t)in;
		} else {
			status = insert_value(body, hashes[*done],
			                      values != NULL ? values[*done] : 0);
			in = status == NIDUS_OK;
		}
		*done += in;
	}
	return status;
}

/* ------------------------------------------------------ inserts of many threads -- */

/* After inserts of threads, of which `hash` was the last: asks to be looked after if that is due. */
static void take_room_shared(struct generations *generations, int64_t inserts, uint64_t hash)
{
	const struct directory *youngest = generations_youngest(generations);
	bool full = __atomic_sub_fetch(&generations->room, inserts, __ATOMIC_RELAXED) <= 0;
	bool due = __atomic_load_n(&youngest->due, __ATOMIC_RELAXED) != 0;
	if (UNLIKELY(due || (full && directory_ops.count(youngest, hash) <= 1)))
		__atomic_store_n(&generations->due, 1, __ATOMIC_RELAXED);
}

bool generations_due(const struct generations *generations)
{
	return __atomic_load_n(&generations->due, __ATOMIC_RELAXED) != 0;
}

void generations_look_after(struct generations *generations)
{
	struct directory *youngest = generations_youngest(generations);
	directory_look_after(youngest);
	__atomic_store_n(&generations->due, 0, __ATOMIC_RELAXED);
	if (generations->room > 0)
		return;
	generations_recount(generations);
	if (generations->room > 0)
		return;
	reason_set_aside();
	if (generations_add(generations) !=
	    NIDUS_OK) /* no memory, or no bits: again a little later */
		generations->room = (int64_t)(generations_most(generations) / GENERATION_LEFT + 1);
	(void)reason_decide(NIDUS_OK);
}

static nidus_status insert_value_shared(void *body, uint64_t hash, uint64_t value)
{
	struct generations *generations = body;
	nidus_status status =
		directory_ops.insert_value(generations_youngest(generations), hash, value);
	if (status == NIDUS_OK)
		take_room_shared(generations, 1, hash);
	return status;
}

static nidus_status insert_shared(void *body, uint64_t hash)
{
	return insert_value_shared(body, hash, 0);
}

static nidus_status insert_new_shared(void *body, uint64_t hash)
{
	struct generations *generations = body;
	if (count_old(generations, hash) > 0)
		return NIDUS_PRESENT;
	nidus_status status = directory_ops.insert_new(generations_youngest(generations), hash);
	if (status == NIDUS_OK)
		take_room_shared(generations, 1, hash);
	return status;
}

static nidus_status add_shared(void *body, uint64_t hash, uint64_t value)
{
	struct generations *generations = body;
	struct value_change change = { .what = VALUE_ADD, .fresh = value };
	for (unsigned i = 0; i + 1 < generations_n(generations); i++) {
		nidus_status status =
			directory_ops.change(generations_at(generations, i), hash, change);
		if (status != NIDUS_NOT_FOUND)
			return status;
	}
	nidus_status status = directory_ops.add(generations_youngest(generations), hash, value);
	if (status == NIDUS_OK) /* it may have come */
		take_room_shared(generations, 1, hash);
	return status;
}

static nidus_status insert_batch_shared(void *body, const uint64_t *hashes, const uint64_t *values,
                                        size_t n, size_t *done)
{
	struct generations *generations = body;
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK && !generations_due(generations);) {
		size_t some = n - *done < SOME ? n - *done : SOME, in = 0;
		int64_t room = __atomic_load_n(&generations->room, __ATOMIC_RELAXED);
		if (room < (int64_t)some) /* up to the insert that one by one would make it due */
			some = room > 0 ? (size_t)room : 1;
		status = directory_ops.insert_batch(generations_youngest(generations),
		                                    hashes + *done, values_from(values, *done),
		                                    some, &in);
		*done += in;
		if (in > 0)
			take_room_shared(generations, (int64_t)in, hashes[*done - 1]);
	}
	return status;
}

/* ---------------------------------------------------------------------- changes -- */

/* From the youngest on: see generations.h for why that is exact. */
static nidus_status remove_key(void *body, uint64_t hash)
{
	struct generations *generations = body;
	nidus_status status = NIDUS_NOT_FOUND;
	for (unsigned i = generations_n(generations); i-- > 0 && status == NIDUS_NOT_FOUND;)
		status = directory_ops.remove(generations_at(generations, i), hash);
	/* It may have come to the youngest while the last old copy went. */
	if (status == NIDUS_NOT_FOUND && generations->first.shared && generations->younger != NULL)
		status = directory_ops.remove(generations_youngest(generations), hash);
	return status;
}

static nidus_status change(void *body, uint64_t hash, struct value_change what)
{
	struct generations *generations = body;
	nidus_status status = NIDUS_NOT_FOUND;
	for (unsigned i = generations_n(generations); i-- > 0 && status == NIDUS_NOT_FOUND;)
		status = directory_ops.change(generations_at(generations, i), hash, what);
	if (status == NIDUS_NOT_FOUND && generations->first.shared && generations->younger != NULL)
		status = directory_ops.change(generations_youngest(generations), hash, what);
	return status;
}

static nidus_status remove_batch(void *body, const uint64_t *hashes, size_t n, size_t *done)
{
	struct generations *generations = body;
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t out = 0;
		status = directory_ops.remove_batch(generations_youngest(generations),
		                                    hashes + *done, n - *done, &out);
		*done += out;
		if (status == NIDUS_NOT_FOUND && generations_n(generations) > 1) {
			status = remove_key(body, hashes[*done]);
			*done += status == NIDUS_OK;
		}
	}
	return status;
}

const struct body_ops generations_ops = {
	.contains = contains,
	.prepare = prepare,
	.ask = ask,
	.count = count,
	.find = find,
	.insert = insert,
	.insert_value = insert_value,
	.insert_new = insert_new,
	.remove = remove_key,
	.change = change,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch,
	.remove_batch = remove_batch,
};

const struct body_ops generations_shared_ops = {
	.contains = contains_shared,
	.prepare = prepare,
	.ask = ask_shared,
	.count = count_shared,
	.find = find,
	.insert = insert_shared,
	.insert_value = insert_value_shared,
	.insert_new = insert_new_shared,
	.add = add_shared,
	.remove = remove_key,
	.change = change,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch_shared,
	.remove_batch = remove_batch,
};
