/* SPDX-License-Identifier: MIT */
/*
 * One pass over one row. The clock runs while the library works on a batch of
 * keys, hashing included, and stands still while the next batch is prepared.
 */

#include "bench_pass.h"

#include <stdlib.h>

#include "bench_keys.h"
#include "machine.h"
#include "progress.h"
#include "report.h"

/* Where the last 5 % of a fill begin. */
#define LAST_PART 0.95

/* Where batches and single calls take turns there are at least so many batches, so that both see
 * every load. */
#define LEAST_BATCHES 128

/* Keys between the two halves of a prefetched lookup. */
#define PREFETCHED_AHEAD 32

/* Removes are measured on this part of the keys, so that the filter stays nearly full. */
#define REMOVED_PART 8

/*
 * What a bulk build takes beside the table, for a key and in all, and some more: the system
 * need not hand out just those pages again that were given back last.
 */
#define BUILD_BYTES_PER_KEY 12
#define VALUE_BITS 8
#define BUILD_BYTES_MORE (UINT64_C(16) << 20)

struct tally {
	uint64_t keys;
	double seconds;
};

struct pass {
	struct bench_row *row;
	struct pass_room *room;
	nidus_filter *filter;
};

/* What is done with the batch that stands in room->keys. */
typedef nidus_status (*batch_call)(struct pass *pass, size_t n);

/* ---------------------------------------------------------------- calls -- */

static nidus_status insert_batch(struct pass *pass, size_t n)
{
	struct pass_room *room = pass->room;

	nidus_hash_u64_batch(pass->filter, room->keys, n, room->hashes);
	return nidus_insert_batch(pass->filter, room->hashes, n, NULL);
}

static nidus_status insert_singly(struct pass *pass, size_t n)
{
	nidus_filter *filter = pass->filter;
	const uint64_t *keys = pass->room->keys;

	for (size_t i = 0; i < n; i++) {
		nidus_status status = nidus_insert_u64(filter, keys[i]);

		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

static nidus_status contains_batch(struct pass *pass, size_t n)
{
	struct pass_room *room = pass->room;

	nidus_hash_u64_batch(pass->filter, room->keys, n, room->hashes);
	nidus_contains_batch(pass->filter, room->hashes, n, room->yes);
	return NIDUS_OK;
}

static nidus_status contains_singly(struct pass *pass, size_t n)
{
	/* Copies: an answer is a byte and might, for all the compiler knows, be stored over them. */
	const nidus_filter *filter = pass->filter;
	const uint64_t *keys = pass->room->keys;
	uint8_t *yes = pass->room->yes;

	for (size_t i = 0; i < n; i++)
		yes[i] = nidus_contains_u64(filter, keys[i]);
	return NIDUS_OK;
}

/* As a program does that handles keys one by one but knows some of them ahead. */
static nidus_status contains_prefetched(struct pass *pass, size_t n)
{
	const nidus_filter *filter = pass->filter;
	const uint64_t *keys = pass->room->keys;
	uint8_t *yes = pass->room->yes;
	nidus_probe ring[PREFETCHED_AHEAD];

	for (size_t i = 0; i < n && i < PREFETCHED_AHEAD; i++)
		nidus_prepare_u64(filter, keys[i], &ring[i]);
	for (size_t i = 0; i < n; i++) {
		nidus_probe *probe = &ring[i % PREFETCHED_AHEAD];
		size_t ahead = i + PREFETCHED_AHEAD;

		yes[i] = nidus_ask(filter, probe);
		if (ahead < n)
			nidus_prepare_u64(filter, keys[ahead], probe);
	}
	return NIDUS_OK;
}

static nidus_status remove_singly(struct pass *pass, size_t n)
{
	nidus_filter *filter = pass->filter;
	const uint64_t *keys = pass->room->keys;

	for (size_t i = 0; i < n; i++) {
		nidus_status status = nidus_remove_u64(filter, keys[i]);

		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

static nidus_status remove_batch(struct pass *pass, size_t n)
{
	struct pass_room *room = pass->room;

	nidus_hash_u64_batch(pass->filter, room->keys, n, room->hashes);
	return nidus_remove_batch(pass->filter, room->hashes, n, NULL);
}

static nidus_status clocked(struct pass *pass, batch_call call, size_t n, struct tally *tally)
{
	double began = machine_seconds();
	nidus_status status = call(pass, n);

	tally->seconds += machine_seconds() - began;
	tally->keys += n;
	return status;
}

static void add(struct pass *pass, enum bench_op op, const struct tally *tally)
{
	if (tally->keys > 0)
		samples_add(&pass->row->rates[op], (double)tally->keys, tally->seconds);
}

/* The size of the batch that follows `done` of `total` keys. */
static size_t batch_at(size_t batch, uint64_t done, uint64_t total)
{
	uint64_t left = total - done;

	return left < batch ? (size_t)left : batch;
}

/* The size of batches where they take turns with single calls. */
static size_t alternating_batch(const struct pass *pass, uint64_t total)
{
	return batch_at(pass->room->batch, 0, (total + LEAST_BATCHES - 1) / LEAST_BATCHES);
}

/* ----------------------------------------------------------------- fills -- */

/*
 * Batches go in by one call and by single calls in turn, so that one fill
 * gives both figures and both see every load.
 */
static nidus_status fill(struct pass *pass)
{
	static const enum bench_op ops[2][2] = { { OP_INSERT, OP_INSERT_LAST },
		                                 { OP_SINGLE_INSERT, OP_SINGLE_INSERT_LAST } };
	bool both = pass->room->groups & GROUP_INSERT;
	uint64_t total = pass->row->keys;
	uint64_t last = (uint64_t)((double)total * LAST_PART);
	struct tally tally[2][2] = { { { 0 } } }; /* batch or single, before or in the last part */
	size_t batch = alternating_batch(pass, total);
	unsigned singly = 0;

	progress_start(pass->row->spec.name, total);
	for (uint64_t done = 0; done < total;) {
		size_t n = batch_at(batch, done, total);
		nidus_status status;

		keys_fill(KEYS_INSERTED + done, pass->room->keys, n);
		status = clocked(pass, singly ? insert_singly : insert_batch, n,
		                 &tally[singly][done >= last]);
		if (status != NIDUS_OK)
			return status;
		done += n;
		progress_update(done, done);
		singly ^= both;
	}
	for (singly = 0; both && singly < 2; singly++) {
		struct tally *parts = tally[singly];
		struct tally whole = { parts[0].keys + parts[1].keys,
			               parts[0].seconds + parts[1].seconds };

		add(pass, ops[singly][0], &whole);
		add(pass, ops[singly][1], &parts[1]);
	}
	return NIDUS_OK;
}

/* A static filter is built from the keys that others are filled with. */
static nidus_status fill_at_once(struct pass *pass)
{
	size_t n = (size_t)pass->row->keys;
	uint64_t *keys = malloc(n * sizeof(*keys));
	nidus_status status;

	if (!keys)
		return NIDUS_E_NOMEM;
	progress_start(pass->row->spec.name, n);
	keys_fill(KEYS_INSERTED, keys, n);
	nidus_free(pass->filter);
	status = nidus_build_u64(&pass->row->options, keys, n, 1, &pass->filter);
	free(keys);
	return status;
}

static nidus_status build(struct pass *pass, unsigned threads, enum bench_op op,
                          nidus_filter **built)
{
	struct bench_row *row = pass->row;
	struct tally tally = { .keys = row->keys };
	double began;
	nidus_status status;

	machine_warm(row->info.bytes + BUILD_BYTES_PER_KEY * row->keys + BUILD_BYTES_MORE);
	began = machine_seconds();
	status = nidus_build_u64(&row->options, pass->room->built, (size_t)row->keys, threads,
	                         built);

	tally.seconds = machine_seconds() - began;
	if (status == NIDUS_OK && (pass->room->groups & GROUP_BUILD))
		add(pass, op, &tally);
	return status;
}

static nidus_status merge(struct pass *pass, const nidus_filter *other)
{
	struct tally tally = { .keys = 2 * pass->row->keys };
	double began;
	nidus_filter *merged;
	nidus_status status;

	machine_warm(3 * pass->row->info.bytes); /* room for both, and some to spare */
	began = machine_seconds();
	status = nidus_merge(pass->filter, other, &merged);
	tally.seconds = machine_seconds() - began;
	nidus_free(merged);
	if (status == NIDUS_OK)
		add(pass, OP_MERGE, &tally);
	return status;
}

static bool wants_merge(const struct pass *pass)
{
	return (pass->room->groups & GROUP_MERGE) && pass->row->spec.merges;
}

static nidus_status builds(struct pass *pass)
{
	bool measured = pass->room->groups & GROUP_BUILD;
	nidus_filter *built;
	nidus_status status = NIDUS_OK;

	if (measured || wants_merge(pass)) {
		status = build(pass, 1, OP_BUILD, &built);
		if (status == NIDUS_OK && wants_merge(pass))
			status = merge(pass, built);
		nidus_free(built);
	}
	if (status == NIDUS_OK && measured && pass->room->threads > 1) {
		status = build(pass, pass->room->threads, OP_BUILD_CREW, &built);
		nidus_free(built);
	}
	return status;
}

/* --------------------------------------------------------------- lookups -- */

static uint64_t count_yes(const struct pass *pass, size_t n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += pass->room->yes[i];
	return count;
}

/* Looks up present or absent keys in random order; returns how many were answered yes. */
static uint64_t look_up(struct pass *pass, enum bench_op op, batch_call call, bool present)
{
	struct key_order order = key_order_of(pass->row->keys);
	struct tally tally = { 0 };
	uint64_t yes = 0;

	for (uint64_t done = 0; done < pass->room->lookups;) {
		size_t n = batch_at(pass->room->batch, done, pass->room->lookups);

		if (present)
			key_order_fill(&order, pass->room->keys, n);
		else
			keys_fill(KEYS_ABSENT + done, pass->room->keys, n);
		clocked(pass, call, n, &tally);
		yes += count_yes(pass, n);
		done += n;
	}
	add(pass, op, &tally);
	return yes;
}

static int lookups(struct pass *pass)
{
	uint64_t asked = pass->room->lookups;
	uint64_t found = look_up(pass, OP_LOOKUP_PRESENT, contains_batch, true);
	uint64_t absent = look_up(pass, OP_LOOKUP_ABSENT, contains_batch, false);

	found += look_up(pass, OP_SINGLE_PRESENT, contains_singly, true);
	absent += look_up(pass, OP_SINGLE_ABSENT, contains_singly, false);
	found += look_up(pass, OP_PREFETCHED_PRESENT, contains_prefetched, true);
	absent += look_up(pass, OP_PREFETCHED_ABSENT, contains_prefetched, false);
	pass->row->fpr = (double)absent / (3.0 * (double)asked);
	if (found == 3 * asked)
		return EXIT_OK;
	report_error("bench: %s did not find keys that are in it; please report this",
	             pass->row->spec.name);
	return EXIT_NOTHING;
}

/* --------------------------------------------------------------- removes -- */

uint64_t pass_removes(const struct bench_row *row, const struct pass_room *room)
{
	uint64_t part = (row->keys + REMOVED_PART - 1) / REMOVED_PART;

	return part < room->lookups ? part : room->lookups;
}

static nidus_status removes(struct pass *pass)
{
	struct key_order order = key_order_of(pass->row->keys);
	uint64_t total = pass_removes(pass->row, pass->room);
	size_t batch = alternating_batch(pass, total);
	struct tally tally[2] = { { 0 } }; /* batch or single */
	unsigned singly = 0;

	for (uint64_t done = 0; done < total;) {
		size_t n = batch_at(batch, done, total);
		nidus_status status;

		key_order_fill(&order, pass->room->keys, n);
		status = clocked(pass, singly ? remove_singly : remove_batch, n, &tally[singly]);
		if (status != NIDUS_OK)
			return status;
		done += n;
		singly ^= 1;
	}
	add(pass, OP_REMOVE, &tally[0]);
	add(pass, OP_SINGLE_REMOVE, &tally[1]);
	return NIDUS_OK;
}

/* --------------------------------------------------------------- values -- */

static nidus_status insert_value_batch(struct pass *pass, size_t n)
{
	struct pass_room *room = pass->room;

	nidus_hash_u64_batch(pass->filter, room->keys, n, room->hashes);
	return nidus_insert_value_batch(pass->filter, room->hashes, room->values, n, NULL);
}

static nidus_status find_batch(struct pass *pass, size_t n)
{
	struct pass_room *room = pass->room;

	nidus_hash_u64_batch(pass->filter, room->keys, n, room->hashes);
	nidus_find_batch(pass->filter, room->hashes, n, room->first, room->found);
	for (size_t i = 0; i < n; i++)
		room->yes[i] = room->found[i] > 0;
	return NIDUS_OK;
}

static nidus_status fill_with_values(struct pass *pass)
{
	uint64_t total = pass->row->keys;
	size_t batch = alternating_batch(pass, total); /* as in the fill it is compared with */
	struct tally tally = { 0 };

	for (uint64_t done = 0; done < total;) {
		size_t n = batch_at(batch, done, total);
		nidus_status status;

		keys_fill(KEYS_INSERTED + done, pass->room->keys, n);
		status = clocked(pass, insert_value_batch, n, &tally);
		if (status != NIDUS_OK)
			return status;
		done += n;
	}
	add(pass, OP_VALUES_INSERT, &tally);
	return NIDUS_OK;
}

/* Hashing is inside, as in the build it is compared with. */
static nidus_status build_with_values(struct pass *pass, const nidus_options *options)
{
	struct pass_room *room = pass->room;
	struct tally tally = { .keys = pass->row->keys };
	size_t n = (size_t)pass->row->keys;
	nidus_filter *built;
	nidus_status status;
	double began;

	for (size_t i = 0; i < n; i++)
		room->values[i] = i % (1 << VALUE_BITS);
	machine_warm(2 * pass->row->info.bytes + BUILD_BYTES_PER_KEY * n + BUILD_BYTES_MORE);
	began = machine_seconds();
	nidus_hash_u64_batch(pass->filter, room->built, n, room->build_hashes);
	status = nidus_build_values(options, room->build_hashes, room->values, n, 1, &built);
	tally.seconds = machine_seconds() - began;
	nidus_free(built);
	if (status == NIDUS_OK)
		add(pass, OP_VALUES_BUILD, &tally);
	return status;
}

/* Batches on a filter like the row's that keeps values, too. */
static int measure_values(struct pass *pass, const nidus_options *options)
{
	nidus_status status = fill_with_values(pass);
	uint64_t found;

	if (status != NIDUS_OK)
		return report_status(pass->row->spec.name, status);
	found = look_up(pass, OP_VALUES_FIND, find_batch, true);
	look_up(pass, OP_VALUES_ABSENT, contains_batch, false);
	if (found != pass->room->lookups) {
		report_error("bench: %s did not find the values of keys that are in it; "
		             "please report this",
		             pass->row->spec.name);
		return EXIT_NOTHING;
	}
	status = build_with_values(pass, options);
	return status == NIDUS_OK ? EXIT_OK : report_status(pass->row->spec.name, status);
}

static int run_values(struct bench_row *row, struct pass_room *room)
{
	struct pass pass = { .row = row, .room = room };
	nidus_options built = row->options, options;
	nidus_status status;
	int code;

	if (!(nidus_family_features(row->spec.family) & NIDUS_ENUMERATE))
		return EXIT_OK; /* no values */
	built.value_bits = VALUE_BITS;
	options = built;
	options.allocator = site_allocator(room->site);
	status = nidus_create(&options, &pass.filter);
	if (status != NIDUS_OK)
		return report_status(row->spec.name, status);
	code = measure_values(&pass, &built);
	nidus_free(pass.filter);
	return code;
}

/* -------------------------------------------------------------- the pass -- */

static int measure(struct pass *pass)
{
	unsigned groups = pass->room->groups;
	struct bench_row *row = pass->row;
	nidus_status status;
	int code = EXIT_OK;

	row->info = (nidus_info)NIDUS_INFO_INIT;
	status = nidus_get_info(pass->filter, &row->info);
	if (status == NIDUS_OK)
		status = row->info.features & NIDUS_STATIC ? fill_at_once(pass) : fill(pass);
	if (status == NIDUS_OK)
		status = nidus_get_info(pass->filter, &row->info);
	if (status == NIDUS_OK && (groups & GROUP_LOOKUP))
		code = lookups(pass);
	if (status == NIDUS_OK && code == EXIT_OK)
		status = builds(pass);
	if (status == NIDUS_OK && code == EXIT_OK && (groups & GROUP_REMOVE) &&
	    (nidus_family_features(row->spec.family) & NIDUS_DELETE))
		status = removes(pass);
	return status == NIDUS_OK ? code : report_status(row->spec.name, status);
}

int pass_run(struct bench_row *row, struct pass_room *room)
{
	struct pass pass = { .row = row, .room = room };
	nidus_options options = row->options;
	nidus_status status;
	int code;

	options.allocator = site_allocator(room->site);
	status = nidus_create(&options, &pass.filter);
	if (status != NIDUS_OK)
		return report_status(row->spec.name, status);
	code = measure(&pass);
	nidus_free(pass.filter);
	if (code == EXIT_OK && (room->groups & GROUP_VALUES))
		code = run_values(row, room);
	progress_clear();
	return code;
}

void pass_hash(const nidus_filter *filter, struct pass_room *room, struct samples *rates)
{
	struct tally tally = { 0 };

	while (tally.keys < room->lookups) {
		double began;

		keys_fill(KEYS_INSERTED + tally.keys, room->keys, room->batch);
		began = machine_seconds();
		nidus_hash_u64_batch(filter, room->keys, room->batch, room->hashes);
		tally.seconds += machine_seconds() - began;
		tally.keys += room->batch;
	}
	samples_add(rates, (double)tally.keys, tally.seconds);
}

/* -------------------------------------------------------------- the room -- */

static bool open_for_values(struct pass_room *room, uint64_t most)
{
	size_t n = most > room->batch ? (size_t)most : room->batch;

	if (!(room->groups & GROUP_VALUES))
		return true;
	room->values = calloc(n, sizeof(*room->values));
	room->build_hashes = calloc(n, sizeof(*room->build_hashes));
	room->first = calloc(room->batch, sizeof(*room->first));
	room->found = calloc(room->batch, sizeof(*room->found));
	return room->values && room->build_hashes && room->first && room->found;
}

bool pass_open(struct pass_room *room, uint64_t most)
{
	bool builds_any = room->groups & (GROUP_BUILD | GROUP_MERGE);

	room->keys = calloc(room->batch, sizeof(*room->keys));
	room->hashes = calloc(room->batch, sizeof(*room->hashes));
	room->yes = calloc(room->batch, sizeof(*room->yes));
	room->built = builds_any && most <= SIZE_MAX / sizeof(*room->built)
	                      ? malloc((size_t)most * sizeof(*room->built))
	                      : NULL;
	if (!room->keys || !room->hashes || !room->yes || (builds_any && !room->built) ||
	    !open_for_values(room, most)) {
		pass_close(room);
		return false;
	}
	if (room->built)
		keys_fill(KEYS_BUILT, room->built, (size_t)most);
	return true;
}

void pass_close(struct pass_room *room)
{
	free(room->keys);
	free(room->hashes);
	free(room->yes);
	free(room->built);
	free(room->values);
	free(room->build_hashes);
	free(room->first);
	free(room->found);
	room->keys = room->hashes = room->built = NULL;
	room->values = room->build_hashes = room->first = NULL;
	room->found = NULL;
	room->yes = NULL;
}
