/* SPDX-License-Identifier: MIT
 *
 * history: what concerns a filter as a whole.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/filter.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"
#include "support/history.h"

#define THREADS_MOST 4
#define OTHERS_MOST 5
#define BYTES_MOST 4000000 /* a filter that merges made larger is made anew */

static void check_filter(struct history *h)
{
	const char *why = "";
	if (nidus_verify(h->filter, &why) != NIDUS_OK)
		history_fault(why, __FILE__, __LINE__);
	history_check_contents(h, h->filter);
}

static void replace(struct history *h, nidus_filter *by)
{
	nidus_free(h->filter);
	h->filter = by;
}

static nidus_filter *make(const struct history *h)
{
	nidus_filter *filter;
	DEMAND_OK(nidus_create(&h->options, &filter));
	return filter;
}

static bool tired(struct history *h)
{
	struct actor actor = { .history = h, .parts = 1 };
	return history_tired(&actor);
}

static void do_verify(struct history *h)
{
	history_learn_promises(h, false);
}

static void do_walk(struct history *h)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	if (h->ledger.exact)
		DEMAND(ledger_walk(&h->ledger, h->filter));
	else
		DEMAND(!nidus_next(h->filter, &cursor, &entry));
}

static void do_clone(struct history *h)
{
	nidus_filter *copy;
	history_met.cloned_amid += has_segments(h->filter);
	DEMAND_OK(nidus_clone(h->filter, &copy));
	DEMAND(filters_equal(copy, h->filter));
	replace(h, copy);
}

static void do_save_buffer(struct history *h)
{
	nidus_filter *loaded, *opened;
	history_met.saved_amid += has_segments(h->filter);
	struct bytes bytes = bytes_save(h->filter);
	DEMAND_OK(nidus_open_buffer(bytes.data, bytes.size, 0, &opened));
	history_check_contents(h, opened);
	nidus_free(opened);
	DEMAND_OK(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	DEMAND(bytes_match(&bytes, loaded));
	bytes_free(&bytes);
	replace(h, loaded);
}

struct stream {
	struct bytes bytes;
	size_t at, piece;
};

static int take_piece(void *context, const void *data, size_t size)
{
	struct stream *stream = context;
	if (size > stream->bytes.size - stream->at)
		return EFBIG;
	memcpy(stream->bytes.data + stream->at, data, size);
	stream->at += size;
	return 0;
}

static ptrdiff_t give_piece(void *context, void *data, size_t size)
{
	struct stream *stream = context;
	size_t left = stream->bytes.size - stream->at;
	size = size < stream->piece ? size : stream->piece;
	size = size < left ? size : left;
	memcpy(data, stream->bytes.data + stream->at, size);
	stream->at += size;
	return (ptrdiff_t)size;
}

static void do_stream(struct history *h)
{
	nidus_filter *read;
	struct stream stream = { .bytes = { .size = nidus_saved_size(h->filter) } };
	stream.bytes.data = check_alloc(stream.bytes.size);
	DEMAND_OK(nidus_write(h->filter, take_piece, &stream));
	DEMAND_EQUAL(stream.at, stream.bytes.size);
	stream.at = 0;
	stream.piece = 1 + (size_t)chance_below(&h->chance, 5000);
	DEMAND_OK(nidus_read(give_piece, &stream, NULL, &read));
	DEMAND_EQUAL(stream.at, stream.bytes.size);
	DEMAND(bytes_match(&stream.bytes, read));
	bytes_free(&stream.bytes);
	replace(h, read);
}

static void do_save_file(struct history *h)
{
	const char *path = folder_path("soak.nidus");
	nidus_filter *loaded, *opened, *copy;
	DEMAND_OK(nidus_save(h->filter, path));
	DEMAND_OK(nidus_load(path, &loaded));
	DEMAND_OK(
		nidus_open(path, chance_percent(&h->chance, 50) ? NIDUS_OPEN_VERIFY : 0, &opened));
	DEMAND_STATUS(nidus_insert_u64(opened, 1), NIDUS_E_READONLY);
	history_check_contents(h, opened);
	DEMAND_OK(nidus_clone(opened, &copy));
	DEMAND(filters_equal(copy, loaded));
	nidus_free(opened);
	replace(h, loaded);
	if (chance_percent(&h->chance, 50))
		replace(h, copy);
	else
		nidus_free(copy);
}

static void forget_all(struct history *h)
{
	ledger_clear(&h->ledger);
	h->sums = (struct ledger_sums){ 0 };
}

static void do_clear(struct history *h)
{
	DEMAND_OK(nidus_clear(h->filter));
	forget_all(h);
}

/* --------------------------------------------------------------- growth and merge -- */

/* Copies of keys may crowd each other in every size. */
static bool crowded(const struct history *h, nidus_status status)
{
	return (status == NIDUS_FULL || status == NIDUS_COPIES) && h->sums.repeated > 0;
}

static void do_grow(struct history *h)
{
	uint64_t wanted = 1 + chance_below(&h->chance, h->promise + h->promise / 8);
	if (!h->grows)
		return;
	nidus_info before = info_of(h->filter);
	nidus_status status = nidus_grow(h->filter, wanted);
	nidus_info after = info_of(h->filter);
	if (status == NIDUS_OK) {
		DEMAND(after.capacity >= wanted && after.capacity >= before.capacity);
		history_met.grown += after.capacity > before.capacity;
	} else {
		DEMAND(crowded(h, status) || (status == NIDUS_E_RANGE && wanted > before.capacity));
		DEMAND_EQUAL(after.capacity, before.capacity);
	}
	history_learn_promises(h, false);
}

static void do_grow_relaxed(struct history *h)
{
	if (!h->grows || info_of(h->filter).bytes > BYTES_MOST / 8 ||
	    !chance_percent(&h->chance, 20))
		return;
	uint64_t wanted = h->promise + 1 + chance_below(&h->chance, h->promise);
	nidus_status status = nidus_grow_relaxed(h->filter, wanted);
	if (status == NIDUS_OK)
		DEMAND(info_of(h->filter).capacity >= wanted);
	else
		DEMAND(crowded(h, status) || status == NIDUS_E_RANGE);
	history_met.relaxed += status == NIDUS_OK;
	history_learn_promises(h, status == NIDUS_OK);
}

static void do_shrink(struct history *h)
{
	if (!h->grows)
		return;
	nidus_info before = info_of(h->filter);
	uint64_t total = (uint64_t)h->sums.total;
	uint64_t wanted = chance_percent(&h->chance, 50) ? total + chance_below(&h->chance, 99) : 0;
	nidus_status status = nidus_shrink(h->filter, wanted);
	nidus_info after = info_of(h->filter);
	DEMAND(status == NIDUS_OK || crowded(h, NIDUS_FULL) || wanted > before.capacity);

	DEMAND(after.bytes <= before.bytes);
	DEMAND(after.capacity >= wanted || wanted > before.capacity);
	history_met.shrunk += after.bytes < before.bytes;
	DEMAND(after.fpr_target <= h->target);
	history_learn_promises(h, true);
}

/* Identities that had bits to grow may be one when they are packed: a key may have more copies. */
static void look_for_packed(const struct history *h, const nidus_filter *packed)
{
	const struct ledger *ledger = &h->ledger;
	for (uint64_t key = 0; key < ledger->keys; key++) {
		unsigned held = ledger_held(ledger, key);
		if (held == 0)
			continue;
		DEMAND(nidus_contains_hash(packed, ledger->hashes[key]));
		DEMAND(!ledger->exact || nidus_count_key_hash(packed, ledger->hashes[key]) >= held);
	}
}

/* A copy that is packed finds what the filter does. */
static void do_pack(struct history *h)
{
	nidus_filter *packed, *loaded;
	DEMAND_OK(nidus_clone(h->filter, &packed));
	nidus_info before = info_of(packed); /* a copy's memory is its own */
	nidus_status status = nidus_pack(packed);
	DEMAND(status == NIDUS_OK || status == NIDUS_E_UNSUPPORTED);
	nidus_info after = info_of(packed);
	DEMAND(after.bytes <= before.bytes && after.count == before.count);
	DEMAND(after.fpr_target <= before.fpr_target);
	history_met.packed += after.bytes < before.bytes;
	DEMAND_OK(nidus_verify(packed, NULL));
	look_for_packed(h, packed);
	struct bytes bytes = bytes_save(packed);
	DEMAND_OK(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	look_for_packed(h, loaded);
	bytes_free(&bytes);
	nidus_free(loaded);
	nidus_free(packed);
}

/* Another filter that fits, and what was put into it. */
struct other {
	nidus_filter *filter;
	size_t n;
	uint64_t keys[HISTORY_BATCH], values[HISTORY_BATCH];
};

static void make_other(struct history *h, struct other *other)
{
	struct actor actor = { .history = h, .parts = 1, .chance = { chance_next(&h->chance) } };
	bool valued = h->ledger.values != NULL;
	uint64_t hashes[HISTORY_BATCH];
	size_t n = history_choose(&actor, false, other->keys, hashes);
	for (size_t i = 0; i < n; i++)
		other->values[i] = valued ? history_any_value(&actor) : 0;
	other->filter = make(h);
	nidus_status status = valued ? nidus_insert_value_batch(other->filter, hashes,
	                                                        other->values, n, &other->n)
	                             : nidus_insert_batch(other->filter, hashes, n, &other->n);
	DEMAND(status == NIDUS_OK || status == NIDUS_FULL || status == NIDUS_COPIES);
}

static void add_other(struct history *h, const struct other *other)
{
	for (size_t i = 0; i < other->n; i++)
		ledger_add(&h->ledger, &h->sums, other->keys[i], other->values[i]);
}

static void put_through_file(struct history *h, nidus_filter **filter)
{
	const char *path = folder_path("other.nidus");
	if (!chance_percent(&h->chance, 25))
		return;
	DEMAND_OK(nidus_save(*filter, path));
	nidus_free(*filter);
	DEMAND_OK(nidus_open(path, 0, filter));
}

/* Whether a key has more copies in both filters together than one takes that can grow. */
static bool crowded_together(const struct history *h, const struct other *other)
{
	const struct ledger *ledger = &h->ledger;
	unsigned most = h->filter->family->copies(&h->filter->plan);
	for (size_t i = 0; i < other->n; i++) {
		unsigned copies = ledger_held(ledger, other->keys[i]);
		for (size_t j = 0; j < other->n; j++)
			copies += ledger->identity[other->keys[j]] ==
			          ledger->identity[other->keys[i]];
		if (copies > most)
			return true;
	}
	return false;
}

static void merge_once(struct history *h)
{
	struct other other;
	nidus_filter *merged;
	make_other(h, &other);
	put_through_file(h, &other.filter);
	nidus_info a = info_of(h->filter), b = info_of(other.filter);
	bool grow = h->filter->plan.growth_bits > 0 && other.filter->plan.growth_bits > 0;
	bool overfull = a.count > a.capacity || b.count > b.capacity;
	bool turned = chance_percent(&h->chance, 50);
	nidus_status status = turned ? nidus_merge(other.filter, h->filter, &merged)
	                             : nidus_merge(h->filter, other.filter, &merged);
	nidus_free(other.filter);
	if (status != NIDUS_OK) {
		DEMAND(status == NIDUS_COPIES || status == NIDUS_E_RANGE);
		DEMAND(status == NIDUS_E_RANGE || !grow || overfull || crowded_together(h, &other));
		return;
	}
	nidus_info info = info_of(merged);
	if (h->ledger.exact) {
		DEMAND_EQUAL(info.count, a.count + b.count);
		DEMAND(overfull || info.fpr_target <= (a.fpr_target + b.fpr_target) * 1.0000001);
	}
	add_other(h, &other);
	replace(h, merged);
	history_learn_promises(h, true);
	history_met.merged++;
}

static void do_merge_chain(struct history *h)
{
	if (!h->merges)
		return;
	for (unsigned n = 1 + (unsigned)chance_below(&h->chance, 4); n > 0; n--)
		merge_once(h);
}

static int compare_values(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* What a merge that keeps an identity once makes of its n values, in ascending order. */
static uint64_t made_one(const uint32_t *values, unsigned n, nidus_merge_how how, uint64_t highest)
{
	uint64_t one = 0;
	for (unsigned i = 0; i < n; i++) {
		if (how == NIDUS_MERGE_SUM)
			one += values[i];
		else
			one = how == NIDUS_MERGE_OR ? one | values[i] : values[i];
	}
	return one < highest ? one : highest;
}

/* Checks the values of an identity after such a merge; gives how many there must be. */
static unsigned check_reduced_values(const struct history *h, const nidus_filter *reduced,
                                     uint32_t identity, uint64_t hash, nidus_merge_how how)
{
	uint32_t *values = h->ledger.values[identity];
	uint64_t found[HISTORY_COPIES_MOST], highest = (UINT64_C(1) << h->options.value_bits) - 1;
	unsigned held = h->ledger.held[identity], n = 0;
	uint64_t wanted_sum = 0, sum = 0;
	qsort(values, held, sizeof *values, compare_values);
	for (unsigned i = 0; how == NIDUS_MERGE_UNIQUE && i < held; i++) {
		bool fresh = i == 0 || values[i] != values[i - 1];
		wanted_sum += fresh ? values[i] : 0;
		n += fresh;
	}
	if (how != NIDUS_MERGE_UNIQUE) {
		wanted_sum = made_one(values, held, how, highest);
		n = 1;
	}
	DEMAND_EQUAL(nidus_find_hash(reduced, hash, found, HISTORY_COPIES_MOST), n);
	for (unsigned i = 0; i < n; i++)
		sum += found[i];
	DEMAND_EQUAL(sum, wanted_sum);
	return n;
}

/* Each identity once; made before and looked at after its entries were added. */
static void check_reduced(struct history *h, nidus_filter *reduced, nidus_merge_how how)
{
	const struct ledger *ledger = &h->ledger;
	uint64_t here = 0;
	memset(ledger->seen, 0, ledger->identities * sizeof *ledger->seen);
	for (uint64_t key = 0; key < ledger->keys; key++) {
		uint32_t identity = ledger->identity[key];
		if (ledger->held[identity] == 0 || ledger->seen[identity]++ > 0)
			continue;
		here += ledger->values == NULL ? 1
		                               : check_reduced_values(h, reduced, identity,
		                                                      ledger->hashes[key], how);
	}
	if (ledger->exact)
		DEMAND_EQUAL(info_of(reduced).count, here);
	DEMAND_OK(nidus_verify(reduced, NULL));
	history_look_for_all(h, reduced);
}

static nidus_merge_how any_reduction(struct history *h)
{
	return (nidus_merge_how)(NIDUS_MERGE_UNIQUE + chance_below(&h->chance, 4));
}

static void do_merge_many(struct history *h)
{
	static struct other others[OTHERS_MOST];
	size_t n = 1 + (size_t)chance_below(&h->chance, OTHERS_MOST);
	nidus_filter *merged, *reduced;
	const nidus_filter *all[OTHERS_MOST + 1] = { h->filter };
	if (!h->merges)
		return;
	for (size_t i = 0; i < n; i++) {
		make_other(h, &others[i]);
		put_through_file(h, &others[i].filter);
		all[i + 1] = others[i].filter;
	}
	nidus_merge_how how = any_reduction(h);
	nidus_status once = nidus_merge_many(all, n + 1, how, &reduced);
	nidus_status status = nidus_merge_many(all, n + 1, NIDUS_MERGE_COPIES, &merged);
	bool several = how == NIDUS_MERGE_UNIQUE && h->ledger.values != NULL;
	DEMAND(once == NIDUS_OK || once == NIDUS_E_RANGE ||
	       (several && (once == NIDUS_FULL || once == NIDUS_COPIES)));
	DEMAND(status == NIDUS_OK || status == NIDUS_FULL || status == NIDUS_COPIES ||
	       status == NIDUS_E_RANGE);
	for (size_t i = 0; i < n; i++) {
		if (status == NIDUS_OK)
			add_other(h, &others[i]);
		nidus_free(others[i].filter);
	}
	if (status == NIDUS_OK) {
		replace(h, merged);
		history_learn_promises(h, true);
		if (once == NIDUS_OK)
			check_reduced(h, reduced, how);
		history_met.merged++;
	}
	nidus_free(reduced);
}

/* A fresh filter of the same options has the same base geometry. */
static void start_over(struct history *h, nidus_filter *filter)
{
	replace(h, filter);
	history_learn_promises(h, true);
}

static void do_start_over(struct history *h)
{
	forget_all(h);
	start_over(h, make(h));
}

/* Whether a filter made anew may refuse what is in this one. */
static bool may_refuse(const struct history *h, nidus_status status, uint64_t promise)
{
	return (status == NIDUS_FULL || status == NIDUS_COPIES) &&
	       (h->sums.repeated > 0 || !h->promises || (uint64_t)h->sums.total > promise);
}

static uint64_t promise_of(const nidus_filter *filter)
{
	nidus_info info = info_of(filter);
	return info.capacity > info.max_capacity ? info.capacity : info.max_capacity;
}

/*
 * Whether a build like an empty filter may refuse: it makes room beyond the promise, for copies that
 * take slots, too, and the rate that this takes may be too high. The empty filter says so as well.
 */
static bool like_may_refuse(const struct history *h, nidus_status status, nidus_filter *empty)
{
	if (status != NIDUS_E_RANGE)
		return may_refuse(h, status, promise_of(empty));
	return nidus_grow_relaxed(empty, (uint64_t)h->sums.total) == NIDUS_E_RANGE;
}

/* The entries of a walk, into a new filter, which grows as it must. */
static void do_rebuild(struct history *h)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	if (!h->ledger.exact)
		return;
	nidus_filter *other = make(h);
	bool all = true;
	while (status == NIDUS_OK && nidus_next(h->filter, &cursor, &entry) && (all = !tired(h)))
		status = nidus_insert_entry(other, &entry);
	if (!all) {
		nidus_free(other);
	} else if (status == NIDUS_OK) {
		start_over(h, other);
	} else {
		DEMAND(may_refuse(h, status, promise_of(other)));
		nidus_free(other);
	}
}

/*
 * All copies of all keys, as hashes; with values, those of an identity go to its keys in
 * turn. The caller frees both.
 */
static uint64_t *all_hashes(const struct history *h, uint64_t **values, size_t *n)
{
	const struct ledger *ledger = &h->ledger;
	uint64_t *hashes = check_alloc((size_t)h->sums.total * sizeof *hashes);
	*values = check_alloc((size_t)h->sums.total * sizeof **values);
	*n = 0;
	memset(ledger->seen, 0, ledger->identities * sizeof *ledger->seen);
	for (uint64_t key = 0; key < ledger->keys; key++) {
		uint32_t identity = ledger->identity[key];
		for (unsigned i = 0; i < ledger->copies[key]; i++) {
			if (ledger->values != NULL)
				(*values)[*n] = ledger->values[identity][ledger->seen[identity]++];
			hashes[(*n)++] = ledger->hashes[key];
		}
	}
	DEMAND_EQUAL(*n, h->sums.total);
	return hashes;
}

static void do_build(struct history *h)
{
	nidus_options options = h->options;
	nidus_filter *built, *fresh = make(h);
	size_t n;
	uint64_t *values, *hashes = all_hashes(h, &values, &n);
	unsigned threads = (unsigned)chance_below(&h->chance, 3);
	if (h->ledger.exact)
		options.features |= NIDUS_MULTISET;
	nidus_status status;
	bool valued = h->ledger.values != NULL, like = chance_percent(&h->chance, 50);
	if (like)
		status = nidus_build_like(fresh, hashes, valued ? values : NULL, n, true, threads,
		                          NULL, &built);
	else if (valued)
		status = nidus_build_values(&options, hashes, values, n, threads, &built);
	else
		status = nidus_build_hashes(&options, hashes, n, threads, &built);
	free(hashes);
	free(values);
	if (status == NIDUS_OK) {
		history_met.built++;
		start_over(h, built);
	} else {
		DEMAND(like ? like_may_refuse(h, status, fresh)
		            : may_refuse(h, status, promise_of(fresh)));
	}
	nidus_free(fresh);
}

/* ----------------------------------------------------------------------- threads -- */

static void *act_alone(void *context)
{
	struct actor *actor = context;
	while (actor->operations < actor->limit) {
		actor->filling = actor->sums.total < actor->room;
		history_use(actor);
	}
	return NULL;
}

/* Reads the whole filter while it changes: whatever the moment, it must be sound. */
static void read_amid_changes(struct history *h)
{
	nidus_filter *copy;
	nidus_info info = NIDUS_INFO_INIT;
	DEMAND_OK(nidus_get_info(h->filter, &info));
	DEMAND_OK(nidus_clone(h->filter, &copy));
	DEMAND_OK(nidus_verify(copy, NULL));
	nidus_free(copy);
	size_t room = nidus_saved_size(h->filter) + 65536, written;
	unsigned char *buffer = check_alloc(room);
	nidus_status status = nidus_save_buffer(h->filter, buffer, room, &written);
	DEMAND(status == NIDUS_OK || status == NIDUS_E_BUFFER);
	if (status == NIDUS_OK) {
		DEMAND_OK(nidus_load_buffer(buffer, written, NULL, &copy));
		nidus_free(copy);
	}
	free(buffer);
	DEMAND_OK(nidus_verify(h->filter, NULL));
}

static void do_threads(struct history *h)
{
	struct actor actors[THREADS_MOST];
	pthread_t threads[THREADS_MOST];
	if (!(h->options.features & NIDUS_CONCURRENT) || h->filter->gate == NULL)
		return;
	unsigned n = 2 + (unsigned)chance_below(&h->chance, THREADS_MOST - 1);
	bool reads = chance_percent(&h->chance, 50);
	uint64_t limit = 1000 + 4 * h->ledger.keys;
	int64_t room = ((int64_t)h->promise - h->sums.total) / (int64_t)n;
	for (unsigned i = 0; i < n; i++) {
		actors[i] = (struct actor){ .history = h,
			                    .chance = { chance_next(&h->chance) },
			                    .part = i,
			                    .parts = n,
			                    .limit = limit,
			                    .room = room };
		DEMAND(pthread_create(&threads[i], NULL, act_alone, &actors[i]) == 0);
	}
	if (reads)
		read_amid_changes(h);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		history_fold(h, &actors[i]);
	}
	history_met.threads++;
}

/* --------------------------------------------------------------------- a history -- */

static const struct {
	const char *name;
	void (*act)(struct history *h);
	unsigned weight;
	bool searches; /* for room in tables that may be crowded */
} acts[] = {
	{ "verify", do_verify, 4, false },
	{ "walk", do_walk, 3, false },
	{ "clone", do_clone, 2, false },
	{ "save to a buffer and load", do_save_buffer, 2, false },
	{ "write and read", do_stream, 1, false },
	{ "save to a file, load and open", do_save_file, 1, false },
	{ "clear", do_clear, 1, false },
	{ "start over", do_start_over, 2, false },
	{ "grow", do_grow, 3, true },
	{ "grow, relaxed", do_grow_relaxed, 1, true },
	{ "shrink", do_shrink, 5, true },
	{ "pack", do_pack, 2, true },
	{ "merge", do_merge_chain, 2, true },
	{ "merge many", do_merge_many, 2, true },
	{ "rebuild from entries", do_rebuild, 1, true },
	{ "build", do_build, 1, true },
	{ "threads", do_threads, 4, false },
};

#define ACTS (sizeof acts / sizeof *acts)

void history_act(struct history *h)
{
	unsigned all = 0, i = 0;
	for (unsigned a = 0; a < ACTS; a++)
		all += acts[a].weight;
	uint64_t roll = chance_below(&h->chance, all);
	for (; roll >= acts[i].weight; i++)
		roll -= acts[i].weight;
	if (acts[i].searches && tired(h))
		i = 0;
	h->act = acts[i].name;
	acts[i].act(h);
	check_filter(h);
	/* A rate that gave way stays so, and such tables are slow. */
	bool relaxed = h->target > h->options.fpr && chance_one_in(&h->chance, 3);
	if (relaxed || info_of(h->filter).bytes > BYTES_MOST)
		do_start_over(h);
}
