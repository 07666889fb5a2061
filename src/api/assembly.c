/* SPDX-License-Identifier: MIT
 *
 * assembly: portions in, ranges out.
 */
#include "api/assembly.h"

#include "base/watch.h"

/* Shares of the limit: for the ranges that are built, for keys that come again, for everything else. */
#define WINDOW_SHARE 8
#define AGAIN_SHARE 8
#define REST_SHARE 16

#define PIECE ((size_t)1 << 16) /* bytes that are read at a time to be checked or copied */

/* ------------------------------------------------------------------------------ limits -- */

static uint64_t window_of(const struct workshop *workshop)
{
	return workshop->memory / WINDOW_SHARE;
}

size_t workshop_room(const struct workshop *workshop, unsigned value_bits)
{
	/* What is left is for the ranges, if all hashes stay in memory. */
	return spill_room(workshop->memory / 4 * 3, value_bits, workshop->threads);
}

/* Hashes of a portion, while ranges are built of them. */
static size_t portion_room(const struct workshop *workshop, const struct family *family,
                           const struct blueprint *plan)
{
	uint64_t memory = workshop->memory;
	uint64_t taken = family->ranges->memory(plan, window_of(workshop), workshop->threads) +
	                 memory / REST_SHARE +
	                 (family->features & NIDUS_STATIC ? memory / AGAIN_SHARE : 0);
	size_t room = spill_room(memory > taken ? memory - taken : 0, plan->value_bits,
	                         workshop->threads);
	size_t most = workshop_room(workshop, plan->value_bits);
	return room < most ? room : most;
}

/* Whether a limit leaves room for the hashes of the largest range. */
static bool leaves_room(const struct workshop *workshop, const struct family *family,
                        const struct blueprint *plan)
{
	return portion_room(workshop, family, plan) > family->ranges->hashes(plan);
}

static nidus_status too_low(const struct workshop *workshop, const struct family *family,
                            const struct blueprint *plan)
{
	struct workshop larger = *workshop;
	do
		larger.memory += larger.memory / 4;
	while (larger.memory < UINT64_MAX / 2 && !leaves_room(&larger, family, plan));
	return fail(NIDUS_E_NOMEM,
	            "a memory limit of %llu bytes is too low for this filter: %llu will do",
	            (unsigned long long)workshop->memory, (unsigned long long)larger.memory);
}

nidus_status workshop_check(const struct workshop *workshop, const struct family *family,
                            const struct blueprint *plan)
{
	if (family->ranges == NULL)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a key may lie anywhere in the table of a %s filter, so it cannot be "
		            "built in parts: take another family, or no memory limit",
		            family->name);
	return leaves_room(workshop, family, plan) ? NIDUS_OK : too_low(workshop, family, plan);
}

/* ------------------------------------------------------------------------------- ranges -- */

static nidus_status put(void *context, uint64_t at, const void *bytes, uint64_t size)
{
	struct assembly *assembly = context;
	if (assembly->table != NULL) {
		memcpy(assembly->table + at, bytes, (size_t)size);
		return NIDUS_OK;
	}
	if (at == assembly->next) {
		hash_stream_add(&assembly->checksum, bytes, (size_t)size);
		assembly->next += size;
	}
	assembly->highest = at + size > assembly->highest ? at + size : assembly->highest;
	return scratch_write(assembly->file, assembly->at + at, bytes, size);
}

struct more {
	const uint64_t *hashes, *values;
};

static void read_more(const void *context, size_t from, size_t n, uint64_t *hashes,
                      uint64_t *values)
{
	const struct more *more = context;
	memcpy(hashes, more->hashes + from, n * sizeof *hashes);
	if (values != NULL)
		memcpy(values, more->values + from, n * sizeof *values);
}

static nidus_status again(void *context, const uint64_t *hashes, const uint64_t *values, size_t n)
{
	struct assembly *assembly = context;
	struct more more = { hashes, values };
	size_t done;
	return spill_add(assembly->again, n, read_more, &more, &done);
}

/* All hashes of a spill, once. */
static nidus_status run_pass(struct assembly *assembly, struct spill *spill)
{
	const struct ranges_ops *ranges = assembly->family->ranges;
	const struct ranges_out out = { assembly, put, again };
	struct portion portion = { .n = 0 };
	size_t taken = 0;
	nidus_status status = spill_read(spill, assembly->room);
	while (status == NIDUS_OK && !portion.last) {
		size_t keep = portion.n - taken;
		if (keep > 0 && keep == spill->room)
			return too_low(assembly->workshop, assembly->family, &assembly->plan);
		status = spill_next(spill, keep, &portion);
		if (status == NIDUS_OK)
			status = ranges->add(assembly->state.bytes, &portion,
			                     assembly->workshop->threads, &out, &taken);
	}
	return status;
}

/* --------------------------------------------------------------------------- all passes -- */

/* An empty spill for the keys of the next pass, if there is one. */
static void await_keys(struct assembly *assembly, unsigned pass)
{
	const struct workshop *workshop = assembly->workshop;
	size_t room = spill_room(workshop->memory / AGAIN_SHARE, assembly->plan.value_bits,
	                         workshop->threads);
	assembly->again = pass + 1 < assembly->passes ? &assembly->waiting[pass % 2] : NULL;
	if (assembly->again != NULL)
		spill_begin(assembly->again, workshop->folder, room, assembly->plan.value_bits,
		            true, workshop->threads, &workshop->allocator);
}

/* Ends a spill of our own. */
static void end_spill(struct assembly *assembly, struct spill *spill)
{
	assembly->written += spill->file.written;
	assembly->read += spill->file.read;
	spill_end(spill);
}

static nidus_status run_passes(struct assembly *assembly, struct spill *spill)
{
	nidus_status status = NIDUS_OK;
	for (unsigned pass = 0; pass < assembly->passes && status == NIDUS_OK; pass++) {
		struct spill *from = pass == 0 ? spill : assembly->again;
		await_keys(assembly, pass);
		status = run_pass(assembly, from);
		spill_read_end(from);
		if (pass > 0)
			end_spill(assembly, from);
	}
	if (assembly->again != NULL)
		end_spill(assembly, assembly->again);
	return status;
}

static nidus_status begin(struct assembly *assembly)
{
	const struct workshop *workshop = assembly->workshop;
	const struct ranges_ops *ranges = assembly->family->ranges;
	nidus_status status = workshop_check(workshop, assembly->family, &assembly->plan);
	if (status != NIDUS_OK)
		return status;
	assembly->room = portion_room(workshop, assembly->family, &assembly->plan);
	hash_stream_begin(&assembly->checksum);
	status = memory_take(&workshop->allocator, ranges->state_size, &assembly->state);
	if (status != NIDUS_OK)
		return status;
	status = ranges->begin(assembly->state.bytes, &assembly->plan, window_of(workshop),
	                       &workshop->allocator, &assembly->passes);
	if (status != NIDUS_OK)
		memory_give(&workshop->allocator, &assembly->state);
	if (status == NIDUS_OK && assembly->passes > 1)
		status = memory_take(&workshop->allocator, 2 * sizeof *assembly->waiting,
		                     &assembly->waiting_memory);
	assembly->waiting = (struct spill *)(void *)assembly->waiting_memory.bytes;
	return status;
}

void assembly_free(struct assembly *assembly)
{
	const nidus_allocator *allocator = &assembly->workshop->allocator;
	if (assembly->state.bytes != NULL)
		assembly->family->ranges->free(assembly->state.bytes);
	memory_give(allocator, &assembly->state);
	memory_give(allocator, &assembly->waiting_memory);
}

/* -------------------------------------------------------------------------------- files -- */

/* Zeros of the file, from one place to another. */
static nidus_status write_zeros(struct assembly *assembly, uint64_t from, uint64_t to)
{
	static const unsigned char zeros[4096];
	nidus_status status = NIDUS_OK;
	for (; from < to && status == NIDUS_OK; from += sizeof zeros)
		status = scratch_write(assembly->file, from, zeros,
		                       to - from < sizeof zeros ? to - from : sizeof zeros);
	return status;
}

/* The checksum of the table: what did not come in order is read again. */
static nidus_status finish_checksum(struct assembly *assembly, uint64_t size)
{
	struct block piece;
	nidus_status status = memory_take(&assembly->workshop->allocator, PIECE, &piece);
	if (status != NIDUS_OK)
		return status;
	while (assembly->next < size && status == NIDUS_OK) {
		uint64_t some = size - assembly->next < PIECE ? size - assembly->next : PIECE;
		status = scratch_read(assembly->file, assembly->at + assembly->next, piece.bytes,
		                      some);
		if (status == NIDUS_OK)
			hash_stream_add(&assembly->checksum, piece.bytes, (size_t)some);
		assembly->next += some;
	}
	memory_give(&assembly->workshop->allocator, &piece);
	return status;
}

/* Writes what is round the table. */
static nidus_status finish_file(struct assembly *assembly, struct image *image)
{
	unsigned char header[IMAGE_HEADER];
	const struct ranges_end *end = &assembly->end;
	uint64_t stash = assembly->family->stash_entry * end->listed;
	image->count = end->count;
	image->stashed = end->listed;
	image->section[IMAGE_STASH].size = stash;
	image->section[IMAGE_STASH].checksum = hash_checksum(end->stash, (size_t)stash);
	nidus_status status = image_lay_out(image);
	if (status == NIDUS_OK)
		status = write_zeros(assembly, assembly->at + assembly->highest,
		                     image->section[IMAGE_STASH].offset);
	if (status == NIDUS_OK)
		status = finish_checksum(assembly, image->section[IMAGE_TABLE].size);
	if (status == NIDUS_OK)
		status = scratch_write(assembly->file, image->section[IMAGE_STASH].offset,
		                       end->stash, stash);
	if (status != NIDUS_OK)
		return status;
	image->section[IMAGE_TABLE].checksum = hash_stream_end(&assembly->checksum);
	image_header(image, header);
	assembly->size = image->size;
	return scratch_write(assembly->file, 0, header, IMAGE_HEADER);
}

static nidus_status begin_file(struct assembly *assembly, struct image *image)
{
	const struct blueprint *plan = &assembly->plan;
	*image = (struct image){ .plan = *plan };
	for (unsigned i = 0; i < IMAGE_SECTIONS; i++)
		image->section[i].checksum = hash_checksum(NULL, 0);
	image->section[IMAGE_TABLE].size = assembly->family->forecast(plan, 0).bytes;
	nidus_status status = image_lay_out(image);
	assembly->at = image->section[IMAGE_TABLE].offset;
	return status == NIDUS_OK ? scratch_clear(assembly->file) : status;
}

/*
 * More keys may go into a table than it was made for. Here they may not: who gives a capacity and a
 * list of keys wants to know. Tables of bits, which have no entries, are never full.
 */
static nidus_status check_capacity(const struct assembly *assembly)
{
	uint64_t taken = assembly->end.count - assembly->end.stashed;
	if (taken <= assembly->plan.capacity || !(assembly->family->features & NIDUS_ENUMERATE))
		return NIDUS_OK;
	return fail(NIDUS_FULL, "%llu keys are more than the capacity of %llu",
	            (unsigned long long)assembly->end.count,
	            (unsigned long long)assembly->plan.capacity);
}

nidus_status assemble(struct assembly *assembly, struct spill *spill)
{
	const struct ranges_out out = { assembly, put, again };
	struct image image;
	nidus_status status = begin(assembly);
	if (status == NIDUS_OK && assembly->file != NULL)
		status = begin_file(assembly, &image);
	if (status == NIDUS_OK)
		status = run_passes(assembly, spill);
	if (status == NIDUS_OK)
		status = assembly->family->ranges->end(assembly->state.bytes, &out, &assembly->end);
	if (status == NIDUS_OK)
		status = check_capacity(assembly);
	if (status == NIDUS_OK && assembly->file != NULL)
		status = finish_file(assembly, &image);
	return status;
}
