/* SPDX-License-Identifier: MIT
 *
 * spill: runs of sorted hashes in a file, and ranges of all of them.
 */
#include "base/spill.h"

#include "base/bits.h"
#include "base/hash_sort.h"
#include "base/pair_sort.h"
#include "base/reason.h"
#include "base/thread.h"
#include "base/watch.h"

#define SLOT_SHIFT (64 - SPILL_SLOT_BITS)
#define VALUE_BYTES 4 /* in the file */
#define ROOM_LEAST 1024
#define ROOM_MODEST \
	((size_t)1 << 22) /* a pool for more of them may be smaller: half is enough to build */

_Static_assert(VALUE_BITS_MOST <= 8 * VALUE_BYTES, "a value fits");

/* ------------------------------------------------------------------------------ memory -- */

/* What sorting takes on the side, as base/hash_sort.h and base/pair_sort.h have it. */
#define PACKED_BITS 11 /* values of so many bits are sorted in words */
#define SORT_FIXED ((uint64_t)16 << 10)
#define SORT_FIXED_THREAD ((uint64_t)4 << 10)
#define PACKED_FIXED_THREAD ((uint64_t)704 << 10)

size_t spill_room(uint64_t memory, unsigned value_bits, unsigned threads)
{
	uint64_t fixed = SORT_FIXED + threads * (value_bits > 0 && value_bits <= PACKED_BITS
	                                                 ? PACKED_FIXED_THREAD
	                                                 : SORT_FIXED_THREAD);
	/* Of 16 hashes: themselves, their values and what sorts them. */
	uint64_t bytes = value_bits == 0             ? 16 * 8 + threads
	                 : value_bits <= PACKED_BITS ? 16 * 24
	                                             : 16 * 32;
	uint64_t room = memory > fixed ? (memory - fixed) / bytes * 16 : 0;
	return room < SIZE_MAX / 32 ? (size_t)room : SIZE_MAX / 32;
}

void spill_begin(struct spill *spill, const char *folder, size_t room, unsigned value_bits,
                 bool unique, unsigned threads, const nidus_allocator *allocator)
{
	room = room > ROOM_LEAST ? room : ROOM_LEAST;
	*spill = (struct spill){
		.folder = folder,
		.room = room,
		.usual_room = room,
		.value_bits = value_bits,
		.unique = unique,
		.threads = threads,
		.allocator = *allocator,
		.turn = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER,
		.file = SCRATCH_CLOSED,
	};
}

static size_t entry_size(const struct spill *spill)
{
	return (spill->value_bits > 0 ? 2 : 1) * sizeof *spill->hashes;
}

static void give_pool(struct spill *spill)
{
	memory_give(&spill->allocator, &spill->memory);
	spill->hashes = spill->values = NULL;
	spill->used = 0;
}

/* The pool, smaller where the system does not have as much memory as the limit allows. */
static nidus_status take_pool(struct spill *spill)
{
	if (spill->hashes != NULL)
		return NIDUS_OK;
	uint64_t each = entry_size(spill);
	nidus_status status = memory_take(&spill->allocator, spill->room * each, &spill->memory);
	while (status == NIDUS_E_NOMEM && spill->room > ROOM_MODEST) {
		spill->room /= 2;
		status = memory_take(&spill->allocator, spill->room * each, &spill->memory);
	}
	if (status != NIDUS_OK)
		return status;
	spill->hashes = (uint64_t *)(void *)spill->memory.bytes;
	spill->values = spill->value_bits > 0 ? spill->hashes + spill->room : NULL;
	return NIDUS_OK;
}

void spill_end(struct spill *spill)
{
	give_pool(spill);
	for (size_t i = 0; i < spill->run_count; i++)
		memory_give(&spill->allocator, &spill->runs[i].index);
	memory_give(&spill->allocator, &spill->runs_memory);
	spill->run_count = 0;
	spill->runs = NULL;
	scratch_close(&spill->file);
}

/* ---------------------------------------------------------------------------- sorting -- */

/* Sorts hashes from place `from` of the pool on, with their values; gives how many are left. */
static nidus_status sort_pool(struct spill *spill, size_t from, size_t n, size_t *left)
{
	if (spill->value_bits > 0)
		return pair_sort(spill->hashes + from, spill->values + from, n, spill->value_bits,
		                 spill->unique, spill->threads, &spill->allocator, left);
	return hash_sort_in_place(spill->hashes + from, n, spill->unique, spill->threads,
	                          &spill->allocator, left);
}

static nidus_status sort_once(struct spill *spill)
{
	size_t left;
	if (spill->sorted || spill->used == 0)
		return NIDUS_OK;
	nidus_status status = sort_pool(spill, 0, spill->used, &left);
	if (status == NIDUS_STOPPED)
		spill->lost = true;
	if (status != NIDUS_OK)
		return status;
	spill->used = left;
	spill->sorted = true;
	return NIDUS_OK;
}

/* sort_once that nobody can stop: what comes of it is still needed. */
static nidus_status sort_surely(struct spill *spill)
{
	struct watch unwatched;
	watch_begin(&unwatched, &(nidus_progress){ 0 }, 0);
	return watch_end(&unwatched, sort_once(spill));
}

/* ------------------------------------------------------------------------------- runs -- */

/* The first of n ascending hashes that is not below one. */
static size_t first_from(const uint64_t *hashes, size_t n, uint64_t hash)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (hashes[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static nidus_status more_runs(struct spill *spill)
{
	struct block memory;
	size_t size = spill->runs_memory.size;
	if ((spill->run_count + 1) * sizeof *spill->runs <= size)
		return NIDUS_OK;
	nidus_status status =
		memory_take(&spill->allocator, 2 * size + 16 * sizeof *spill->runs, &memory);
	if (status != NIDUS_OK)
		return status;
	if (size > 0)
		memcpy(memory.bytes, spill->runs_memory.bytes, size);
	memory_give(&spill->allocator, &spill->runs_memory);
	spill->runs_memory = memory;
	spill->runs = (struct spill_run *)(void *)memory.bytes;
	return NIDUS_OK;
}

/* Describes the sorted pool as a run. Errors: E_NOMEM. */
static nidus_status describe_run(struct spill *spill, struct spill_run *run)
{
	*run = (struct spill_run){ .at = spill->end, .n = spill->used };
	nidus_status status =
		memory_take(&spill->allocator, (SPILL_SLOTS + 1) * sizeof *run->start, &run->index);
	if (status != NIDUS_OK)
		return status;
	run->start = (uint64_t *)(void *)run->index.bytes;
	for (size_t slot = 0; slot < SPILL_SLOTS; slot++)
		run->start[slot] =
			first_from(spill->hashes, spill->used, (uint64_t)slot << SLOT_SHIFT);
	run->start[SPILL_SLOTS] = spill->used;
	return NIDUS_OK;
}

static uint64_t values_at(const struct spill_run *run)
{
	return run->at + run->n * sizeof(uint64_t);
}

/* Values are narrower in the file, and there and back at the same place. */
static void pack_values(uint64_t *values, size_t n)
{
	unsigned char *to = (unsigned char *)values;
	for (size_t i = 0; i < n; i++) {
		uint32_t value = (uint32_t)values[i];
		memcpy(to + i * VALUE_BYTES, &value, VALUE_BYTES);
	}
}

static void unpack_values(uint64_t *values, size_t n)
{
	const unsigned char *from = (const unsigned char *)values;
	for (size_t i = n; i-- > 0;) {
		uint32_t value;
		memcpy(&value, from + i * VALUE_BYTES, VALUE_BYTES);
		values[i] = value;
	}
}

static nidus_status write_run(struct spill *spill, const struct spill_run *run)
{
	nidus_status status = NIDUS_OK;
	if (spill->file.file < 0)
		status = scratch_open(&spill->file, spill->folder);
	if (status == NIDUS_OK)
		status = scratch_write(&spill->file, run->at, spill->hashes,
		                       run->n * sizeof *spill->hashes);
	if (status != NIDUS_OK || spill->values == NULL)
		return status;
	pack_values(spill->values, spill->used);
	status = scratch_write(&spill->file, values_at(run), spill->values, run->n * VALUE_BYTES);
	if (status != NIDUS_OK)
		unpack_values(spill->values, spill->used);
	return status;
}

/* Makes a run of the sorted pool, which is empty then; after a failure it holds what it held. */
static nidus_status empty_pool(struct spill *spill)
{
	struct spill_run run;
	if (spill->used == 0)
		return NIDUS_OK;
	nidus_status status = more_runs(spill);
	if (status == NIDUS_OK)
		status = describe_run(spill, &run);
	if (status != NIDUS_OK)
		return status;
	status = write_run(spill, &run);
	if (status != NIDUS_OK) {
		memory_give(&spill->allocator, &run.index);
		return status;
	}
	spill->runs[spill->run_count++] = run;
	spill->end = values_at(&run) + (spill->values != NULL ? run.n * VALUE_BYTES : 0);
	spill->used = 0;
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------------ adding -- */

/* Waits until there is room in the pool, or makes some; the caller has the turn, and keeps it. */
static nidus_status find_room(struct spill *spill)
{
	nidus_status status = NIDUS_OK;
	while (spill->emptying)
		pthread_cond_wait(&spill->turned, &spill->turn);
	status = take_pool(spill);
	if (status != NIDUS_OK || spill->used < spill->room)
		return status;
	spill->emptying = true;
	while (spill->writers > 0)
		pthread_cond_wait(&spill->turned, &spill->turn);
	pthread_mutex_unlock(&spill->turn); /* nobody touches the pool meanwhile */
	status = sort_surely(spill);
	if (status == NIDUS_OK && spill->used > spill->room / 2) /* or most were there already */
		status = empty_pool(spill);
	pthread_mutex_lock(&spill->turn);
	spill->emptying = false;
	pthread_cond_broadcast(&spill->turned);
	return status;
}

/* Takes places of the pool, for at most n hashes. */
static nidus_status take_places(struct spill *spill, size_t n, size_t *first, size_t *places)
{
	pthread_mutex_lock(&spill->turn);
	nidus_status status = find_room(spill);
	*places = 0;
	if (status == NIDUS_OK) {
		*first = spill->used;
		*places = n < spill->room - spill->used ? n : spill->room - spill->used;
		spill->used += *places;
		spill->added += *places;
		spill->sorted = false;
		spill->writers++;
	}
	pthread_mutex_unlock(&spill->turn);
	return status;
}

static void fill_places(struct spill *spill)
{
	pthread_mutex_lock(&spill->turn);
	if (--spill->writers == 0)
		pthread_cond_broadcast(&spill->turned);
	pthread_mutex_unlock(&spill->turn);
}

nidus_status spill_add(struct spill *spill, size_t n, spill_source source, const void *context,
                       size_t *done)
{
	size_t first, places;
	for (*done = 0; *done < n; *done += places) {
		nidus_status status = take_places(spill, n - *done, &first, &places);
		if (status != NIDUS_OK)
			return status;
		source(context, *done, places, spill->hashes + first,
		       spill->values != NULL ? spill->values + first : NULL);
		fill_places(spill);
	}
	return NIDUS_OK;
}

nidus_status spill_add_one(struct spill *spill, uint64_t hash, uint64_t value)
{
	pthread_mutex_lock(&spill->turn);
	nidus_status status = find_room(spill);
	if (status == NIDUS_OK) {
		size_t at = spill->used++;
		spill->hashes[at] = hash;
		if (spill->values != NULL)
			spill->values[at] = value;
		spill->added++;
		spill->sorted = false;
	}
	pthread_mutex_unlock(&spill->turn);
	return status;
}

/* ----------------------------------------------------------------------------- reading -- */

static uint64_t slot_end(uint64_t slot)
{
	return slot + 1 < SPILL_SLOTS ? (slot + 1) << SLOT_SHIFT : UINT64_MAX;
}

uint64_t spill_most(const struct spill *spill)
{
	uint64_t most = spill->reading ? 0 : spill->used;
	for (size_t i = 0; i < spill->run_count; i++)
		most += spill->runs[i].n;
	return most;
}

/* Changes the size of a pool that holds nothing of use. */
static void set_room(struct spill *spill, size_t room)
{
	if (room != spill->room)
		give_pool(spill);
	spill->room = room;
	spill->used = 0;
}

nidus_status spill_read(struct spill *spill, size_t room)
{
	if (spill->run_count == 0)
		return sort_once(spill);
	nidus_status status = sort_surely(spill);
	if (status == NIDUS_OK)
		status = empty_pool(spill);
	if (status != NIDUS_OK)
		return status;
	set_room(spill, room);
	spill->reading = true;
	spill->from = spill->done = 0;
	memset(spill->before, 0, sizeof spill->before);
	for (size_t i = 0; i < spill->run_count; i++) {
		spill->runs[i].next = 0;
		for (size_t slot = 0; slot <= SPILL_SLOTS; slot++)
			spill->before[slot] += spill->runs[i].start[slot];
	}
	return take_pool(spill);
}

/* The first hash of a run, within its slot, that is not below one: looked for in the file. */
static nidus_status find_in_run(struct spill *spill, const struct spill_run *run, uint64_t hash,
                                uint64_t *place)
{
	uint64_t slot = hash >> SLOT_SHIFT, low = run->start[slot], high = run->start[slot + 1];
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, found;
		nidus_status status = scratch_read(&spill->file, run->at + middle * sizeof found,
		                                   &found, sizeof found);
		if (status != NIDUS_OK)
			return status;
		if (found < hash)
			low = middle + 1;
		else
			high = middle;
	}
	*place = low;
	return NIDUS_OK;
}

/* Hashes of all runs that are below one. */
static nidus_status count_below(struct spill *spill, uint64_t hash, uint64_t *count)
{
	nidus_status status = NIDUS_OK;
	*count = 0;
	for (size_t i = 0; i < spill->run_count && status == NIDUS_OK; i++) {
		uint64_t place = 0;
		status = find_in_run(spill, &spill->runs[i], hash, &place);
		*count += place;
	}
	return status;
}

/* An end, within the slot of spill->from, up to which there are no more hashes than there is room. */
static nidus_status split_slot(struct spill *spill, size_t room, uint64_t *end)
{
	uint64_t low = spill->from, high = slot_end(low >> SLOT_SHIFT), count = 0;
	while (high - low > 1 && count < room - room / 4) {
		uint64_t middle = low + (high - low) / 2;
		nidus_status status = count_below(spill, middle, &count);
		if (status != NIDUS_OK)
			return status;
		count -= spill->done;
		if (count <= room)
			low = middle;
		else
			high = middle, count = 0;
	}
	*end = low;
	if (low == spill->from)
		return fail(NIDUS_E_NOMEM,
		            "more than %zu copies of one key take more memory than the limit is",
		            room);
	return NIDUS_OK;
}

/* Where the next portion ends; 0: behind the last hash. */
static nidus_status find_end(struct spill *spill, size_t room, uint64_t *end)
{
	size_t slot = (size_t)(spill->from >> SLOT_SHIFT), last = SPILL_SLOTS;
	while (last > slot && spill->before[last] - spill->done > room)
		last--;
	*end = last == SPILL_SLOTS ? 0 : (uint64_t)last << SLOT_SHIFT;
	return last > slot ? NIDUS_OK : split_slot(spill, room, end);
}

/* Reads the hashes of a run up to `end` behind those that are in the pool. */
static nidus_status read_run(struct spill *spill, struct spill_run *run, uint64_t end)
{
	uint64_t to = run->n;
	nidus_status status = NIDUS_OK;
	if (end != 0 && (end & bits_low(SLOT_SHIFT)) == 0)
		to = run->start[end >> SLOT_SHIFT];
	else if (end != 0)
		status = find_in_run(spill, run, end, &to);
	if (status != NIDUS_OK || to == run->next)
		return status;
	size_t n = (size_t)(to - run->next);
	status = scratch_read(&spill->file, run->at + run->next * sizeof *spill->hashes,
	                      spill->hashes + spill->used, n * sizeof *spill->hashes);
	if (status == NIDUS_OK && spill->values != NULL) {
		status = scratch_read(&spill->file, values_at(run) + run->next * VALUE_BYTES,
		                      spill->values + spill->used, (uint64_t)n * VALUE_BYTES);
		unpack_values(spill->values + spill->used, n);
	}
	run->next = to;
	spill->used += n;
	spill->done += n;
	return status;
}

static void keep_last(struct spill *spill, size_t keep)
{
	size_t from = spill->used - keep;
	memmove(spill->hashes, spill->hashes + from, keep * sizeof *spill->hashes);
	if (spill->values != NULL)
		memmove(spill->values, spill->values + from, keep * sizeof *spill->values);
	spill->used = keep;
}

static nidus_status next_of_runs(struct spill *spill, size_t keep, uint64_t *end)
{
	size_t left;
	keep_last(spill, keep);
	nidus_status status = find_end(spill, spill->room - keep, end);
	for (size_t i = 0; i < spill->run_count && status == NIDUS_OK; i++)
		status = read_run(spill, &spill->runs[i], *end);
	if (status == NIDUS_OK)
		status = sort_pool(spill, keep, spill->used - keep, &left);
	if (status != NIDUS_OK)
		return status;
	spill->used = keep + left;
	spill->from = *end;
	return NIDUS_OK;
}

nidus_status spill_next(struct spill *spill, size_t keep, struct portion *portion)
{
	uint64_t end = 0;
	nidus_status status = spill->run_count > 0 ? next_of_runs(spill, keep, &end) : NIDUS_OK;
	*portion = (struct portion){
		.hashes = spill->hashes,
		.values = spill->values,
		.n = spill->used,
		.end = end,
		.last = end == 0,
	};
	return status;
}

void spill_read_end(struct spill *spill)
{
	if (spill->reading)
		set_room(spill, spill->usual_room);
	spill->reading = false;
}
