/* SPDX-License-Identifier: MIT
 *
 * recent: stamps, sweeps and the calls on keys of filters that forget.
 */
#include "api/recent.h"

#include <sched.h>

#include "api/directory_parts.h"
#include "base/reason.h"

#define SOME 128     /* keys of a batch whose lines are asked for at a time */
#define SWEPT 256    /* expired entries that are taken out at a time */
#define STAMPS_MOST 256
#define TICKS bits_low(RECENT_TICK_BITS)

/* ------------------------------------------------------------------------- stamps -- */

unsigned recent_bits(unsigned slices)
{
	return log2_floor(slices + 1) + 1;
}

static unsigned slices_of(const struct recent *recent)
{
	return recent->directory.ground->plan.slices;
}

static uint64_t stamps_of(const struct recent *recent)
{
	return UINT64_C(1) << recent->directory.ground->plan.value_bits;
}

/* Now; other threads may begin a slice while this one looks a key up. */
static uint64_t tick_of(const struct recent *recent)
{
	return __atomic_load_n(&recent->tick, __ATOMIC_RELAXED);
}

uint64_t recent_tick_of(const struct directory *directory)
{
	const struct recent *recent = recent_of(directory);
	return recent != NULL ? recent->tick : 0;
}

static uint64_t swept_of(const void *body)
{
	return __atomic_load_n(&body_head(body)->swept_and_tag, __ATOMIC_ACQUIRE) >> 8;
}

static void set_swept(void *body, uint64_t tick)
{
	__atomic_store_n(&body_head(body)->swept_and_tag, tick << 8 | body_tag_bits(body),
	                 __ATOMIC_RELEASE);
}

/*
 * Ticks since a sweep. Where there are more than stamps, all entries have expired, and how many more does not
 * matter. A thread that comes late may count less than none.
 */
static int lag_of(const struct recent *recent, uint64_t swept)
{
	int64_t lag = (int64_t)((tick_of(recent) - swept) << (64 - RECENT_TICK_BITS)) >>
	              (64 - RECENT_TICK_BITS);
	int64_t most = (int64_t)stamps_of(recent);
	return (int)(lag > most ? most : lag < -most ? -most : lag);
}

/* The age of an entry with a stamp, which is `slices` or more if it has expired. */
static int age_of(const struct recent *recent, uint64_t swept, uint64_t stamp)
{
	uint64_t oldest = swept - (slices_of(recent) - 1);
	int behind = (int)((stamp - oldest) & (stamps_of(recent) - 1));
	return lag_of(recent, swept) + (int)slices_of(recent) - 1 - behind;
}

static bool is_live(const struct recent *recent, uint64_t swept, uint64_t stamp)
{
	return age_of(recent, swept, stamp) < (int)slices_of(recent);
}

static uint64_t stamp_of(const struct recent *recent, unsigned age)
{
	return (recent->tick - age) & (stamps_of(recent) - 1);
}

int recent_age_of_entry(const struct recent *recent, const void *body, const nidus_entry *entry)
{
	return age_of(recent, body != NULL ? swept_of(body) : recent->list_swept, entry->value);
}

/* Whether an entry can be stamped now without a sweep before. */
static bool can_stamp(const struct recent *recent, uint64_t swept)
{
	return lag_of(recent, swept) <= (int)(stamps_of(recent) - slices_of(recent));
}

/* A lag in a file is at most the number of stamps. */
unsigned recent_lag(const struct recent *recent, const void *body)
{
	int lag = lag_of(recent, body != NULL ? swept_of(body) : recent->list_swept);
	return lag > 0 ? (unsigned)lag : 0;
}

nidus_status recent_set_lag(struct recent *recent, void *body, uint64_t lag)
{
	if (lag > stamps_of(recent))
		return fail(NIDUS_E_FORMAT, "a segment that was swept so long ago makes no sense");
	if (body != NULL)
		set_swept(body, (recent->tick - lag) & TICKS);
	else
		recent->list_swept = (recent->tick - lag) & TICKS;
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------- counts -- */

/* The place of the keys of an age. */
static unsigned place_of(const struct recent *recent, unsigned age)
{
	unsigned slices = slices_of(recent);
	return recent->now >= age ? recent->now - age : recent->now + slices - age;
}

uint64_t recent_of_age(const struct recent *recent, unsigned age)
{
	return age < slices_of(recent)
	               ? __atomic_load_n(&recent->live[place_of(recent, age)], __ATOMIC_RELAXED)
	               : 0;
}

uint64_t recent_count(const struct recent *recent)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < slices_of(recent); i++)
		count += __atomic_load_n(&recent->live[i], __ATOMIC_RELAXED);
	return count;
}

uint64_t recent_used(const struct directory *directory)
{
	const struct recent *recent = recent_of(directory);
	return recent != NULL ? recent_count(recent) : directory_used(directory);
}

static void add_to_age(struct recent *recent, unsigned age, uint64_t more)
{
	uint64_t *live = &recent->live[place_of(recent, age)];
	if (recent->directory.shared)
		(void)__atomic_add_fetch(live, more, __ATOMIC_RELAXED);
	else
		*live += more;
}

/* An entry is as old as `age` now; it was as old as `was`, or had expired. */
static void count_refresh(struct recent *recent, int was, unsigned age)
{
	if (was < (int)slices_of(recent))
		add_to_age(recent, was > 0 ? (unsigned)was : 0, UINT64_MAX);
	add_to_age(recent, age, 1);
}

void recent_tick(struct recent *recent)
{
	__atomic_store_n(&recent->tick, (recent->tick + 1) & TICKS, __ATOMIC_RELAXED);
	recent->now = recent->now + 1 < slices_of(recent) ? recent->now + 1 : 0;
	__atomic_store_n(&recent->live[recent->now], 0, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------- sweeps -- */

/* An entry that expired: a hash of its identity, and its stamp. */
struct expired {
	uint64_t hash, stamp;
};

/* The next entry of a body that has expired, by its stamp. */
static bool next_expired(const struct family *inner, const void *body, const uint8_t *expired,
                         nidus_cursor *cursor, nidus_entry *entry)
{
	if (inner->next_wanted != NULL)
		return inner->next_wanted(body, expired, cursor, entry);
	while (inner->next(body, cursor, entry)) {
		if (expired[entry->value])
			return true;
	}
	return false;
}

/* Takes up to SWEPT expired entries behind a place out of a body; false: there are none. */
static bool take_some(const struct recent *recent, void *body, const uint8_t *expired,
                      nidus_cursor *cursor, uint64_t *taken)
{
	const struct directory *directory = &recent->directory;
	const struct family *inner = directory->inner;
	struct expired found[SWEPT];
	nidus_entry entry;
	size_t n = 0;
	while (n < SWEPT && next_expired(inner, body, expired, cursor, &entry)) {
		uint64_t part = directory_part_of_entry(directory, body, &entry);
		found[n++] = (struct expired){ inner->body_hash(body, &entry, part), entry.value };
	}
	for (size_t i = 0; i < n; i++) {
		struct value_change change = { .what = VALUE_REMOVE, .old = found[i].stamp };
		*taken += directory->ops->change(body, found[i].hash, change) == NIDUS_OK;
	}
	return n > 0;
}

/* Takes what expired out of a body; false: there was nothing to be done. */
static bool sweep_body(const struct recent *recent, void *body)
{
	uint8_t expired[STAMPS_MOST];
	uint64_t swept = swept_of(body);
	uint64_t taken;
	if (swept == recent->tick)
		return false;
	for (uint64_t stamp = 0; stamp < stamps_of(recent); stamp++)
		expired[stamp] = !is_live(recent, swept, stamp);
	/* Others move where some go: until a walk comes by none. */
	do {
		nidus_cursor cursor = { { 0, 0 } };
		taken = 0;
		while (take_some(recent, body, expired, &cursor, &taken)) {
		}
	} while (taken > 0);
	set_swept(body, recent->tick);
	return true;
}

bool recent_sweep_leaf(struct directory *directory, struct leaf *leaf)
{
	const struct recent *recent = recent_of(directory);
	bool any = false;
	for (unsigned i = 0; recent != NULL && i < leaf->bodies; i++)
		any |= sweep_body(recent, leaf->body[i]);
	return any;
}

static void sweep_list(struct recent *recent)
{
	struct few *few = &recent->directory.few;
	struct few_place place = { 0, 0 };
	struct few_record record;
	while (recent->list_swept != recent->tick && few_next(few, &place, &record)) {
		if (is_live(recent, recent->list_swept, record.value))
			continue;
		few_remove(few, record);
		place = few_find(few, record);
	}
	recent->list_swept = recent->tick;
}

/* ------------------------------------------------------------------------ lookups -- */

/* The age of a key in the list; -1: it is not there. */
static int age_in_list(const struct recent *recent, uint64_t hash)
{
	uint64_t stamp;
	if (directory_few_values(&recent->directory, hash, &stamp, 1) == 0)
		return -1;
	int age = age_of(recent, recent->list_swept, stamp);
	return age >= (int)slices_of(recent) ? -1 : age > 0 ? age : 0;
}

static int age_in_body(const struct recent *recent, const void *body, uint64_t hash)
{
	uint64_t swept = swept_of(body), again, stamp;
	int age;
	do {
		again = swept;
		if (recent->directory.ops->find(body, hash, &stamp, 1) == 0)
			return -1;
		age = age_of(recent, swept, stamp);
	} while ((swept = swept_of(body)) != again);
	return age >= (int)slices_of(recent) ? -1 : age > 0 ? age : 0;
}

static bool has_leaves(const struct recent *recent)
{
	return recent->directory.index != NULL;
}

int recent_age(const struct recent *recent, uint64_t hash)
{
	return has_leaves(recent)
	               ? age_in_body(recent, directory_body(&recent->directory, hash), hash)
	               : age_in_list(recent, hash);
}

/* Whether a key that its body finds is live: in one that was swept in this slice all entries are. */
static inline bool found_is_live(const struct recent *recent, uint64_t hash)
{
	if (!has_leaves(recent))
		return age_in_list(recent, hash) >= 0;
	const void *body = directory_body(&recent->directory, hash);
	return swept_of(body) == tick_of(recent) || age_in_body(recent, body, hash) >= 0;
}

static bool contains(const void *body, uint64_t hash)
{
	const struct recent *recent = body;
	return directory_ops.contains(body, hash) && found_is_live(recent, hash);
}

static uint64_t count(const void *body, uint64_t hash)
{
	return recent_age(body, hash) >= 0;
}

static size_t find(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	int age = recent_age(body, hash);
	if (age >= 0 && cap > 0)
		values[0] = (uint64_t)age;
	return age >= 0;
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const struct recent *recent = body;
	for (size_t from = 0; from < n; from += SOME) { /* bodies are still in the cache */
		size_t end = n - from < SOME ? n : from + SOME;
		directory_ops.contains_batch(body, hashes + from, end - from, yes + from);
		for (size_t i = from; i < end; i++)
			yes[i] = yes[i] && found_is_live(recent, hashes[i]);
	}
}

static void find_batch(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                       uint32_t *found)
{
	for (size_t i = 0; i < n; i++) {
		first[i] = 0;
		found[i] = (uint32_t)find(body, hashes[i], &first[i], 1);
	}
}

/* ------------------------------------------------------------------------ inserts -- */

static nidus_status put_in_list(struct recent *recent, uint64_t hash, unsigned age)
{
	struct directory *directory = &recent->directory;
	struct value_change change = { .what = VALUE_REPLACE, .fresh = stamp_of(recent, age) };
	/* What goes from a list to leaves is live. */
	if (!can_stamp(recent, recent->list_swept) ||
	    directory->few.count >= directory->few_most)
		sweep_list(recent);
	if (directory_few_values(directory, hash, &change.old, 1) == 0) {
		nidus_status status = directory_few_put(directory, hash, change.fresh, 1);
		if (status == NIDUS_OK)
			add_to_age(recent, age, 1);
		return status;
	}
	int was = age_of(recent, recent->list_swept, change.old);
	if (was <= (int)age)
		return NIDUS_OK;
	nidus_status status = directory_few_change(directory, hash, change);
	if (status == NIDUS_OK)
		count_refresh(recent, was, age);
	return status;
}

/* Stamps the entry of a key anew. Errors: NOT_FOUND (it has none), COPIES, E_NOMEM. */
static nidus_status refresh(struct recent *recent, void *body, uint64_t hash, unsigned age)
{
	const struct body_ops *ops = recent->directory.ops;
	struct value_change change = { .what = VALUE_REPLACE, .fresh = stamp_of(recent, age) };
	/* Most new keys are told by the quicker call. */
	if (!ops->contains(body, hash) || ops->find(body, hash, &change.old, 1) == 0)
		return NIDUS_NOT_FOUND;
	int was = age_of(recent, swept_of(body), change.old);
	if (was <= (int)age)
		return NIDUS_OK;
	nidus_status status = ops->change(body, hash, change);
	if (status == NIDUS_OK)
		count_refresh(recent, was, age);
	return status;
}

static nidus_status put_in_body(struct recent *recent, void *body, uint64_t hash, unsigned age)
{
	if (UNLIKELY(!can_stamp(recent, swept_of(body))))
		(void)sweep_body(recent, body);
	nidus_status status = refresh(recent, body, hash, age);
	if (status != NIDUS_NOT_FOUND)
		return status;
	status = directory_put(&recent->directory, hash, stamp_of(recent, age));
	if (status == NIDUS_OK)
		add_to_age(recent, age, 1);
	return status;
}

static nidus_status insert_value(void *body, uint64_t hash, uint64_t age)
{
	struct recent *recent = body;
	if (UNLIKELY(!has_leaves(recent)))
		return put_in_list(recent, hash, (unsigned)age);
	return put_in_body(recent, directory_body(body, hash), hash, (unsigned)age);
}

static nidus_status insert(void *body, uint64_t hash)
{
	return insert_value(body, hash, 0);
}

static nidus_status insert_new(void *body, uint64_t hash)
{
	return recent_age(body, hash) >= 0 ? NIDUS_PRESENT : insert(body, hash);
}

/*
 * Homes of keys of a batch, some bits of them. Keys that look the same have the same home: where a bit is
 * set already, a key may have come before.
 */
#define HOMES 4096

struct homes {
	uint64_t bits[HOMES / 64];
};

static bool add_home(struct homes *homes, const struct directory *directory, uint64_t hash)
{
	uint64_t rest, part = multiply_wide(hash, directory->parts, &rest);
	uint64_t home = multiply_high(rest, directory->ground->plan.groups);
	uint64_t mixed = (home ^ part * UINT64_C(0x9e3779b97f4a7c15)) % HOMES;
	bool there = homes->bits[mixed / 64] >> (mixed % 64) & 1;
	homes->bits[mixed / 64] |= UINT64_C(1) << (mixed % 64);
	return there;
}

/* Inserts keys that are not there and come once, as the directory does it. */
static nidus_status insert_fresh(struct recent *recent, const uint64_t *hashes, size_t n,
                                 size_t *done)
{
	uint64_t stamps[SOME];
	size_t in;
	if (n == 0)
		return NIDUS_OK;
	for (size_t i = 0; i < n; i++)
		stamps[i] = stamp_of(recent, 0);
	nidus_status status =
		directory_ops.insert_batch(&recent->directory, hashes, stamps, n, &in);
	add_to_age(recent, 0, in);
	*done += in;
	return status;
}

/* Up to SOME inserts into leaves: what a lookup does not find goes in together. */
static nidus_status insert_some(struct recent *recent, const uint64_t *hashes, size_t n, size_t *done)
{
	struct directory *directory = &recent->directory;
	struct homes homes = { { 0 } };
	uint8_t there[SOME];
	size_t from = 0;
	nidus_status status = NIDUS_OK;
	directory_ops.contains_batch(directory, hashes, n, there);
	*done = 0;
	for (size_t i = 0; i < n && status == NIDUS_OK; i++) {
		bool again = add_home(&homes, directory, hashes[i]);
		void *body = directory_body(directory, hashes[i]);
		if (!there[i] && !again && can_stamp(recent, swept_of(body)))
			continue;
		status = insert_fresh(recent, hashes + from, i - from, done);
		if (status == NIDUS_OK)
			status = insert(recent, hashes[i]);
		*done += status == NIDUS_OK;
		from = i + 1;
	}
	return status == NIDUS_OK ? insert_fresh(recent, hashes + from, n - from, done) : status;
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *ages, size_t n,
                                 size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < SOME ? n - *done : SOME, in = 1;
		if (ages == NULL && has_leaves(body)) {
			status = insert_some(body, hashes + *done, some, &in);
		} else {
			status = insert_value(body, hashes[*done], ages != NULL ? ages[*done] : 0);
			in = status == NIDUS_OK;
		}
		*done += in;
	}
	return status;
}

/* ------------------------------------------------------ inserts of many threads -- */

/* A leaf's bit among the locks. Leaves stay where they are while threads insert. */
static uint32_t lock_of(const struct leaf *leaf)
{
	return UINT32_C(1) << ((uintptr_t)leaf * UINT64_C(0x9e3779b97f4a7c15) >> 59);
}

static void lock(struct recent *recent, uint32_t bit)
{
	while (__atomic_fetch_or(&recent->locked, bit, __ATOMIC_ACQUIRE) & bit)
		(void)sched_yield();
}

static void unlock(struct recent *recent, uint32_t bit)
{
	(void)__atomic_fetch_and(&recent->locked, ~bit, __ATOMIC_RELEASE);
}

static nidus_status insert_value_shared(void *body, uint64_t hash, uint64_t age)
{
	struct recent *recent = body;
	void *place = directory_body(body, hash);
	uint32_t bit = lock_of(body_head(place)->leaf);
	lock(recent, bit);
	nidus_status status = put_in_body(recent, place, hash, (unsigned)age);
	unlock(recent, bit);
	return status;
}

static nidus_status insert_shared(void *body, uint64_t hash)
{
	return insert_value_shared(body, hash, 0);
}

static nidus_status insert_new_shared(void *body, uint64_t hash)
{
	struct recent *recent = body;
	void *place = directory_body(body, hash);
	uint32_t bit = lock_of(body_head(place)->leaf);
	lock(recent, bit);
	nidus_status status = age_in_body(recent, place, hash) >= 0
	                              ? NIDUS_PRESENT
	                              : put_in_body(recent, place, hash, 0);
	unlock(recent, bit);
	return status;
}

/* Up to where a leaf has to be split: the caller does that with the filter for itself. */
static nidus_status insert_batch_shared(void *body, const uint64_t *hashes, const uint64_t *ages,
                                        size_t n, size_t *done)
{
	const struct recent *recent = body;
	uint8_t ignored[SOME];
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		if (__atomic_load_n(&recent->directory.due, __ATOMIC_RELAXED) != 0)
			break;
		if (*done % SOME == 0)
			directory_ops.contains_batch(body, hashes + *done,
			                             n - *done < SOME ? n - *done : SOME, ignored);
		status = insert_value_shared(body, hashes[*done], ages != NULL ? ages[*done] : 0);
		*done += status == NIDUS_OK;
	}
	return status;
}

/* What was prepared are cache lines: an answer needs the stamps, too. */
static void prepare(const void *body, uint64_t hash, nidus_probe *probe)
{
	directory_ops.prepare(body, hash, probe);
}

static bool ask(const void *body, const nidus_probe *probe)
{
	return contains(body, probe->hash);
}

const struct body_ops recent_ops = {
	.contains = contains,
	.prepare = prepare,
	.ask = ask,
	.count = count,
	.find = find,
	.insert = insert,
	.insert_value = insert_value,
	.insert_new = insert_new,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch,
};

const struct body_ops recent_shared_ops = {
	.contains = contains,
	.prepare = prepare,
	.ask = ask,
	.count = count,
	.find = find,
	.insert = insert_shared,
	.insert_value = insert_value_shared,
	.insert_new = insert_new_shared,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch_shared,
};
