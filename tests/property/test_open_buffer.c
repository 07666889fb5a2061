/* SPDX-License-Identifier: MIT
 *
 * Filters over memory that is the caller's: they answer like the saved ones at every
 * alignment, never read outside the buffer and never write to it.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <sys/mman.h>
#include <unistd.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define KEYS 500

/* Keys 0 to KEYS - 1, of which the first have copies. */
static nidus_filter *filled(const struct shape *shape, uint64_t capacity, uint64_t seed)
{
	nidus_filter *filter = shape_create(shape, capacity, seed);
	for (uint64_t key = 0; key < capacity; key++)
		expect_ok(nidus_insert_u64(filter, key));
	for (unsigned i = 0; i < 40 && nidus_insert_u64(filter, 0) == NIDUS_OK; i++)
		continue;
	return filter;
}

static void expect_same_answers(const nidus_filter *a, const nidus_filter *b)
{
	uint64_t hashes[2 * KEYS];
	uint8_t yes[2 * KEYS];
	for (uint64_t key = 0; key < 2 * KEYS; key++) {
		hashes[key] = nidus_hash_u64(a, key);
		expect_equal(nidus_contains_u64(a, key), nidus_contains_u64(b, key));
		expect_equal(nidus_count_key_u64(a, key), nidus_count_key_u64(b, key));
	}
	nidus_contains_batch(b, hashes, 2 * KEYS, yes);
	for (uint64_t key = 0; key < 2 * KEYS; key++)
		expect_equal(yes[key], nidus_contains_u64(a, key));
}

/* Pages that end where nothing may be read any more. */
struct fenced {
	unsigned char *map;
	size_t mapped;
	unsigned char *end; /* the first byte behind the fence */
};

static struct fenced fence(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (size + page - 1) / page * page;
	struct fenced made = { .mapped = whole + page };
	made.map =
		mmap(NULL, made.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(made.map != MAP_FAILED);
	made.end = made.map + whole;
	expect(mprotect(made.end, page, PROT_NONE) == 0);
	return made;
}

/* Opens `bytes` so that they end at a fence, in pages that cannot be written to. */
static void open_at_the_fence(const struct bytes *bytes, const nidus_filter *filter)
{
	struct fenced fenced = fence(bytes->size);
	unsigned char *start = fenced.end - bytes->size;
	nidus_filter *opened, *copy;
	memcpy(start, bytes->data, bytes->size);
	expect(mprotect(fenced.map, (size_t)(fenced.end - fenced.map), PROT_READ) == 0);
	for (unsigned flags = 0; flags <= NIDUS_OPEN_VERIFY; flags++) {
		expect_ok(nidus_open_buffer(start, bytes->size, flags, &opened));
		expect(info_of(opened).readonly);
		expect_equal(info_of(opened).count, info_of(filter).count);
		expect_same_answers(filter, opened);
		expect(bytes_match(bytes, opened));
		expect_ok(nidus_verify(opened, NULL));
		expect_status(nidus_insert_u64(opened, 1), NIDUS_E_READONLY);
		expect_ok(nidus_clone(opened, &copy));
		nidus_free(opened);
		expect_status(nidus_insert_new_u64(copy, 0), NIDUS_PRESENT);
		expect(bytes_match(bytes, copy) && !info_of(copy).readonly);
		nidus_free(copy);
	}
	expect(munmap(fenced.map, fenced.mapped) == 0);
}

static void compare(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	static const uint64_t capacities[] = { 1, 60, KEYS };
	for (unsigned i = 0; i < 3; i++) {
		nidus_filter *filter = filled(shape, capacities[i], chance_next(chance) | 1);
		struct bytes bytes = bytes_save(filter);
		open_at_the_fence(&bytes, filter);
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

static void a_buffer_answers_like_the_filter_it_was_saved_from(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 4, compare, &chance);
	each_layout(9, 9, compare, &chance);
	each_layout(13, 13, compare, &chance);
	each_layout(20, 20, compare, &chance);
}

static void shift(const struct shape *shape, void *context)
{
	(void)context;
	nidus_filter *filter = filled(shape, 100, 7), *opened;
	struct bytes bytes = bytes_save(filter);
	unsigned char *room = check_alloc(bytes.size + 64);
	for (size_t offset = 0; offset < 64; offset++) {
		memcpy(room + offset, bytes.data, bytes.size);
		expect_ok(nidus_open_buffer(room + offset, bytes.size, 0, &opened));
		expect_same_answers(filter, opened);
		nidus_free(opened);
	}
	free(room);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void a_buffer_needs_no_alignment(void **state)
{
	(void)state;
	each_layout(8, 8, shift, NULL);
}

/* Whatever the bits of a table are, no call leaves the buffer. */
static void ask_everything(const nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_filter *copy;
	uint8_t yes[KEYS];
	uint64_t hashes[KEYS];
	for (uint64_t key = 0; key < KEYS; key++)
		hashes[key] = nidus_hash_u64(filter, key) + nidus_count_key_u64(filter, key);
	nidus_contains_batch(filter, hashes, KEYS, yes);
	while (nidus_next(filter, &cursor, &entry))
		continue;
	if (nidus_clone(filter, &copy) == NIDUS_OK)
		nidus_free(copy);
}

/* Where the table begins in a saved filter (docs/format.md). */
#define HEADER 256

static void damage(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	nidus_filter *filter = filled(shape, 200, 3), *opened;
	struct bytes bytes = bytes_save(filter);
	struct fenced fenced = fence(bytes.size);
	unsigned char *start = fenced.end - bytes.size;
	for (unsigned round = 0; round < 20; round++) {
		memcpy(start, bytes.data, bytes.size);
		for (unsigned i = 0; i < 1u << round % 10; i++)
			start[HEADER + chance_below(chance, bytes.size - HEADER)] ^=
				(unsigned char)(1 + chance_below(chance, 255));
		if (memcmp(start, bytes.data, bytes.size) == 0)
			continue;
		nidus_status status =
			nidus_open_buffer(start, bytes.size, NIDUS_OPEN_VERIFY, &opened);
		expect(status == NIDUS_E_CORRUPT && opened == NULL);
		if (nidus_open_buffer(start, bytes.size, 0, &opened) != NIDUS_OK)
			continue; /* the damage was in padding or in the stash */
		ask_everything(opened);
		nidus_free(opened);
	}
	expect(munmap(fenced.map, fenced.mapped) == 0);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void damage_is_found_or_harmless(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(8, 8, damage, &chance);
	each_layout(14, 14, damage, &chance);
}

static void wrong_lengths_and_arguments_are_refused(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.01, 3);
	nidus_filter *filter = filter_create(&options), *opened = filter;
	struct bytes bytes = bytes_save(filter);
	unsigned char *more = check_alloc(bytes.size + 1);
	memcpy(more, bytes.data, bytes.size);
	more[bytes.size] = 0;
	for (size_t size = 0; size < bytes.size; size += 7) {
		expect_status(nidus_open_buffer(bytes.data, size, 0, &opened), NIDUS_E_TRUNCATED);
		expect(opened == NULL);
	}
	expect_status(nidus_open_buffer(more, bytes.size + 1, 0, &opened), NIDUS_E_FORMAT);
	expect_status(nidus_open_buffer(NULL, 10, 0, &opened), NIDUS_E_ARG);
	expect_status(nidus_open_buffer(more, bytes.size, 2, &opened), NIDUS_E_ARG);
	expect_status(nidus_open_buffer(more, bytes.size, 0, NULL), NIDUS_E_ARG);
	free(more);
	bytes_free(&bytes);
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_answers_like_the_filter_it_was_saved_from),
		cmocka_unit_test(a_buffer_needs_no_alignment),
		cmocka_unit_test(damage_is_found_or_harmless),
		cmocka_unit_test(wrong_lengths_and_arguments_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
