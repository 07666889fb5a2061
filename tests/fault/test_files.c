/* SPDX-License-Identifier: MIT
 *
 * Files from outside: cut off, flipped, forged, foreign. None is taken for good,
 * none is a crash, whatever the family.
 */
#include <math.h>

#include "base/bits.h"
#include "store/image.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"

/* Where the header keeps its fields: the drawing in store/image.c. */
enum {
	AT_FAMILY = 16,
	AT_FEATURES = 20,
	AT_SEED = 24,
	AT_CAPACITY = 32,
	AT_MAX_CAPACITY = 40,
	AT_FPR = 48,
	AT_SLOTS = 56,
	AT_CORE_BITS = 60,
	AT_GROWTH_BITS = 64,
	AT_LEVEL = 68,
	AT_CHUNKS = 72,
	AT_GROUPS = 80,
	AT_RESERVE = 88,
	AT_MAX_STEPS = 92,
	AT_STASH_LIMIT = 96,
	AT_VARIANT = 100,
	AT_COUNT = 104,
	AT_STASHED = 112,
	AT_TABLE = 128,
	AT_STASH = 160,
};

/* A few keys and, where the family has one, a stash. */
static struct bytes sample(const struct shape *shape)
{
	nidus_filter *filter = shape_create(shape, 30, 5);
	for (unsigned i = 0; i < 40; i++)
		(void)nidus_insert_u64(filter, 1000); /* COPIES in the end */
	for (unsigned i = 0; i < 20; i++)
		(void)nidus_insert_new_u64(filter, i);
	struct bytes bytes = bytes_save(filter);
	nidus_free(filter);
	return bytes;
}

static bool bad_file(nidus_status status)
{
	return status == NIDUS_E_FORMAT || status == NIDUS_E_VERSION ||
	       status == NIDUS_E_TRUNCATED || status == NIDUS_E_CORRUPT;
}

/* The three ways in refuse; gives the first one's answer. */
static nidus_status expect_refused(const struct bytes *bytes)
{
	nidus_filter *filter = (nidus_filter *)(void *)&bytes;
	nidus_status status = nidus_load_buffer(bytes->data, bytes->size, NULL, &filter);
	if (!bad_file(status))
		expect_status(status, NIDUS_E_FORMAT);
	expect(filter == NULL);
	expect(nidus_reason()[0] != '\0');
	return status;
}

/* -------------------------------------------------------------------------- damage -- */

static void truncate_it(const struct shape *shape, void *context)
{
	(void)context;
	struct bytes whole = sample(shape);
	for (size_t size = 0; size < whole.size; size++) {
		/* An exact copy, so that a sanitizer sees reads beyond the end. */
		struct bytes part = { check_alloc(size), size };
		memcpy(part.data, whole.data, size);
		check_note("%s, slots %u: %zu of %zu bytes", shape->family->name, shape->slots,
		           size, whole.size);
		expect_status(expect_refused(&part), NIDUS_E_TRUNCATED);
		bytes_free(&part);
	}
	bytes_free(&whole);
}

static void every_truncated_file_is_refused(void **state)
{
	(void)state;
	each_layout(8, 8, truncate_it, NULL);
}

static void flip_it(const struct shape *shape, void *context)
{
	(void)context;
	struct bytes bytes = sample(shape);
	for (size_t i = 0; i < bytes.size; i++) {
		for (unsigned bit = 0; bit < 8; bit += i < IMAGE_HEADER ? 1 : 3) {
			bytes.data[i] ^= (unsigned char)(1u << bit);
			check_note("%s, slots %u: byte %zu, bit %u", shape->family->name,
			           shape->slots, i, bit);
			(void)expect_refused(&bytes);
			bytes.data[i] ^= (unsigned char)(1u << bit);
		}
	}
	bytes_free(&bytes);
}

static void every_flipped_bit_is_noticed(void **state)
{
	(void)state;
	each_layout(5, 5, flip_it, NULL);
	each_layout(12, 12, flip_it, NULL);
}

/*
 * The same with checksums made right again: a table that is damaged in a way no
 * checksum shows may be refused or taken, but what is taken must be sound.
 */
static void forge_table(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	struct bytes good = sample(shape);
	unsigned refused = 0, taken = 0;
	for (unsigned i = 0; i < 400; i++) {
		struct bytes bytes = { check_alloc(good.size), good.size };
		nidus_filter *filter;
		memcpy(bytes.data, good.data, good.size);
		if (i == 1)
			memset(bytes.data + IMAGE_HEADER, 0, bytes.size - IMAGE_HEADER);
		for (unsigned j = 0; j <= i % 3 && i > 1; j++) {
			uint64_t at = IMAGE_HEADER + chance_below(chance, good.size - IMAGE_HEADER);
			bytes.data[at] = (unsigned char)chance_next(chance);
		}
		bytes_seal(&bytes);
		check_note("%s, slots %u, forgery %u", shape->family->name, shape->slots, i);
		nidus_status status = nidus_load_buffer(bytes.data, bytes.size, NULL, &filter);
		refused += status != NIDUS_OK;
		taken += status == NIDUS_OK;
		if (status == NIDUS_OK) {
			expect_ok(nidus_verify(filter, NULL));
			expect(bytes_match(&bytes, filter)); /* one spelling per contents */
		} else {
			expect(bad_file(status) && filter == NULL);
		}
		nidus_free(filter);
		bytes_free(&bytes);
	}
	/*
	 * The first is as it was; the second lost all its entries, which is refused. Bits
	 * that are no entries can be right in any pattern.
	 */
	bool entries = nidus_family_features(shape->family->id) & NIDUS_ENUMERATE;
	expect(taken > 0 && (refused > 0 || !entries));
	bytes_free(&good);
}

static void forged_tables_are_refused_or_sound(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 12, forge_table, &chance);
}

/* ----------------------------------------------------------------- hostile headers -- */

struct lie {
	unsigned at, width;
	uint64_t value;
};

static const struct lie lies[] = {
	{ AT_FAMILY, 32, 0 },
	{ AT_FAMILY, 32, 10 },
	{ AT_FAMILY, 32, UINT32_MAX },
	{ AT_FEATURES, 32, UINT32_MAX },
	{ AT_SEED, 64, 0 },
	{ AT_CAPACITY, 64, 0 },
	{ AT_CAPACITY, 64, UINT64_MAX }, /* more than max_capacity */
	{ AT_MAX_CAPACITY, 64, 0 },
	{ AT_SLOTS, 32, 0 },
	{ AT_SLOTS, 32, 1 },
	{ AT_SLOTS, 32, 3 },
	{ AT_SLOTS, 32, 16 },
	{ AT_SLOTS, 32, UINT32_MAX },
	{ AT_CORE_BITS, 32, 0 },
	{ AT_CORE_BITS, 32, 1 },
	{ AT_CORE_BITS, 32, 57 },
	{ AT_CORE_BITS, 32, 64 },
	{ AT_CORE_BITS, 32, UINT32_MAX },
	{ AT_GROWTH_BITS, 32, 60 },
	{ AT_GROWTH_BITS, 32, UINT32_MAX },
	{ AT_LEVEL, 32, 1 }, /* more than growth bits */
	{ AT_LEVEL, 32, 63 },
	{ AT_LEVEL, 32, UINT32_MAX },
	{ AT_CHUNKS, 64, 0 },
	{ AT_CHUNKS, 64, 2 },
	{ AT_CHUNKS, 64, UINT64_C(1) << 32 },
	{ AT_CHUNKS, 64, UINT64_C(1) << 58 },
	{ AT_CHUNKS, 64, UINT64_MAX },
	{ AT_GROUPS, 64, 0 },
	{ AT_GROUPS, 64, 1 },
	{ AT_GROUPS, 64, 3 },
	{ AT_GROUPS, 64, UINT64_C(1) << 20 },
	{ AT_GROUPS, 64, UINT64_C(1) << 40 },
	{ AT_GROUPS, 64, UINT64_C(1) << 58 },
	{ AT_GROUPS, 64, UINT64_C(1) << 63 },
	{ AT_GROUPS, 64, UINT64_MAX },
	{ AT_RESERVE, 32, UINT32_MAX },
	{ AT_MAX_STEPS, 32, 0 },
	{ AT_MAX_STEPS, 32, UINT32_MAX },
	{ AT_VARIANT, 32, UINT32_MAX },
	{ AT_COUNT, 64, 0 },
	{ AT_COUNT, 64, UINT64_MAX },
	{ AT_STASHED, 64, 0 },
	{ AT_STASHED, 64, 1 },
	{ AT_STASHED, 64, UINT64_MAX },
	{ AT_STASHED, 64, UINT64_C(1) << 60 },
	{ AT_TABLE + 16, 64, 0 },
	{ AT_TABLE + 16, 64, 1 },
	{ AT_TABLE + 16, 64, UINT64_MAX },
	{ AT_TABLE + 16, 64, UINT64_C(1) << 60 },
	{ AT_STASH + 16, 64, 1 },
	{ AT_STASH + 16, 64, UINT64_C(1) << 62 },
};

#define LIES (sizeof lies / sizeof *lies)

static void tell_lies(const struct shape *shape, void *context)
{
	(void)context;
	struct bytes good = sample(shape);
	for (size_t i = 0; i < LIES; i++) {
		struct bytes bytes = { check_alloc(good.size), good.size };
		memcpy(bytes.data, good.data, good.size);
		if (lies[i].width == 32)
			store32(bytes.data + lies[i].at, (uint32_t)lies[i].value);
		else
			store64(bytes.data + lies[i].at, lies[i].value);
		bool changed = memcmp(bytes.data, good.data, good.size) != 0;
		bytes_seal(&bytes);
		check_note("%s, slots %u: byte %u of the header is %#llx", shape->family->name,
		           shape->slots, lies[i].at, (unsigned long long)lies[i].value);
		if (changed)
			(void)expect_refused(&bytes);
		bytes_free(&bytes);
	}
	bytes_free(&good);
}

static void hostile_headers_are_refused(void **state)
{
	(void)state;
	each_layout(8, 8, tell_lies, NULL);
}

static void rates_in_a_header_must_be_rates(void **state)
{
	(void)state;
	static const double rates[] = { 0, -0.5, 1, 2, INFINITY, -INFINITY, NAN };
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct shape shape = { *family, 0, 8, 0 };
		struct bytes bytes = sample(&shape);
		for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
			uint64_t bits;
			memcpy(&bits, &rates[i], sizeof bits);
			store64(bytes.data + AT_FPR, bits);
			bytes_seal(&bytes);
			check_note("%s, fpr %g", (*family)->name, rates[i]);
			expect_status(expect_refused(&bytes), NIDUS_E_FORMAT);
		}
		bytes_free(&bytes);
	}
}

/* Whole headers of rubbish, sealed: nothing may crash, overflow or be taken on trust. */
static void random_headers_are_survived(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 3 };
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct shape shape = { *family, 0, 8, 0 };
		struct bytes good = sample(&shape);
		for (unsigned i = 0; i < 20000; i++) {
			unsigned char kept[IMAGE_HEADER];
			nidus_filter *filter;
			memcpy(kept, good.data, IMAGE_HEADER);
			for (unsigned j = 0; j <= i % 4; j++) {
				uint64_t at =
					AT_CAPACITY +
					4 * chance_below(&chance, (AT_TABLE - AT_CAPACITY) / 4);
				store32(good.data + at, (uint32_t)(chance_next(&chance) >>
				                                   chance_below(&chance, 64)));
			}
			bytes_seal(&good);
			check_note("%s, header %u", (*family)->name, i);
			nidus_status status =
				nidus_load_buffer(good.data, good.size, NULL, &filter);
			expect(status == NIDUS_OK || bad_file(status));
			if (status == NIDUS_OK)
				expect_ok(nidus_verify(filter, NULL));
			nidus_free(filter);
			memcpy(good.data, kept, IMAGE_HEADER);
		}
		bytes_free(&good);
	}
}

/* Work of every kind; what fails does so with a status. Filters of files never crash. */
static void use(nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t seen = 0, before = info_of(filter).count;
	bool listed = nidus_family_features(info_of(filter).family) & NIDUS_ENUMERATE;
	while (nidus_next(filter, &cursor, &entry))
		seen++;
	expect(seen == before || !listed);
	for (uint64_t key = 5000; key < 5150; key++) {
		if (nidus_insert_u64(filter, key) == NIDUS_OK)
			expect(nidus_contains_u64(filter, key));
		(void)nidus_remove_u64(filter, key - 5000);
	}
	(void)nidus_grow(filter, before * 2);
	expect_ok(nidus_verify(filter, NULL));
	struct bytes bytes = bytes_save(filter);
	nidus_filter *again;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &again));
	nidus_free(again);
	bytes_free(&bytes);
}

/* One word of the header changed: refused, or a filter that works. */
static void change_word(const struct bytes *good, unsigned at, uint32_t value)
{
	struct bytes bytes = { check_alloc(good->size), good->size };
	nidus_filter *filter;
	memcpy(bytes.data, good->data, good->size);
	store32(bytes.data + at, value);
	bytes_seal(&bytes);
	nidus_status status = nidus_load_buffer(bytes.data, bytes.size, NULL, &filter);
	if (status == NIDUS_OK)
		use(filter);
	else
		expect(bad_file(status));
	nidus_free(filter);
	bytes_free(&bytes);
}

static void change_words(const struct bytes *good, const char *what)
{
	for (unsigned at = 8; at < IMAGE_HEADER - 8; at += 4) {
		uint32_t now = load32(good->data + at);
		const uint32_t values[] = { 0,       1,       2,          now + 1,    now - 1,
			                    now * 2, now / 2, UINT32_MAX, 0x7fffffff, 0x3ff00000 };
		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			check_note("%s: word %u of the header is %#x", what, at, values[i]);
			change_word(good, at, values[i]);
		}
	}
}

/* A filter of fixed size, one that has grown in part, and a merge of two full ones. */
static void every_header_field_is_checked_or_harmless(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct shape shape = { *family, 0, 8, 0 };
		struct bytes bytes = sample(&shape);
		change_words(&bytes, (*family)->name);
		bytes_free(&bytes);
		if (!((*family)->features & NIDUS_MERGE))
			continue;
		nidus_filter *filter = shape_create(&shape, 40, 3), *merged;
		for (uint64_t key = 0; key < 40; key++)
			expect_ok(nidus_insert_u64(filter, key));
		expect_ok(nidus_merge(filter, filter, &merged));
		bytes = bytes_save(merged);
		change_words(&bytes, (*family)->name);
		bytes_free(&bytes);
		nidus_free(filter);
		nidus_free(merged);
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_options options = shape_options(&shape, 30, 3);
		options.max_capacity = 500;
		filter = filter_create(&options);
		for (uint64_t key = 0; key < 70; key++)
			expect_ok(nidus_insert_u64(filter, key));
		bytes = bytes_save(filter);
		change_words(&bytes, (*family)->name);
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

/* A stash entry that no filter of this shape can have, with all checksums right. */
static void forged_stashes_are_refused(void **state)
{
	(void)state;
	unsigned tried = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct shape shape = { *family, 0, 8, 0 };
		struct bytes bytes = sample(&shape);
		uint64_t stash = load64(bytes.data + AT_STASH + 8),
			 n = load64(bytes.data + AT_STASHED);
		static const uint64_t values[2][3] = { { UINT64_MAX, UINT64_C(1) << 40, 12345 },
			                               { UINT64_MAX, UINT64_C(1) << 40, 0 } };
		for (unsigned i = 0; n > 0 && i < 6; i++) {
			unsigned char *field = bytes.data + stash + i / 3 * 8;
			uint64_t kept = load64(field), value = values[i / 3][i % 3];
			store64(field, value);
			bytes_seal(&bytes);
			check_note("%s, field %u is %llu", (*family)->name, i / 3,
			           (unsigned long long)value);
			expect_status(expect_refused(&bytes), NIDUS_E_CORRUPT);
			store64(field, kept);
			tried++;
		}
		bytes_free(&bytes);
	}
	expect(tried > 0);
}

/* One spelling per contents, and no sorting of a long list of unknown origin. */
static void a_stash_out_of_order_is_refused(void **state)
{
	(void)state;
	unsigned tried = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct shape shape = { *family, 0, 12, 0 };
		nidus_filter *filter = shape_create(&shape, 30, 5);
		for (unsigned i = 0; i < 200; i++)
			(void)nidus_insert_u64(filter, i % 3); /* COPIES in the end */
		struct bytes bytes = bytes_save(filter);
		uint64_t n = load64(bytes.data + AT_STASHED);
		unsigned char *first = bytes.data + load64(bytes.data + AT_STASH + 8), kept[16];
		unsigned char *last = n < 2 ? first : first + 16 * (n - 1);
		nidus_free(filter);
		if (n < 2 || memcmp(first, last, 16) == 0) {
			bytes_free(&bytes);
			continue;
		}
		memcpy(kept, first, 16);
		memcpy(first, last, 16);
		memcpy(last, kept, 16);
		bytes_seal(&bytes);
		expect_status(expect_refused(&bytes), NIDUS_E_CORRUPT);
		bytes_free(&bytes);
		tried++;
	}
	expect(tried > 0);
}

/* ------------------------------------------------------------------ not only damage -- */

static void what_follows_a_filter_is_an_error(void **state)
{
	(void)state;
	struct shape shape = { families[0], 0, 8, 0 };
	struct bytes good = sample(&shape), longer = { check_alloc(good.size + 1), good.size + 1 };
	nidus_filter *filter;
	memcpy(longer.data, good.data, good.size);
	longer.data[good.size] = 0;
	expect_status(expect_refused(&longer), NIDUS_E_FORMAT);
	folder_write("longer", longer.data, longer.size);
	expect_status(nidus_load(folder_path("longer"), &filter), NIDUS_E_FORMAT);
	expect(filter == NULL);
	bytes_free(&good);
	bytes_free(&longer);
}

static void foreign_files_are_no_filters(void **state)
{
	(void)state;
	static const char *const texts[] = { "", "#!/bin/sh\nexit 0\n", "\x89nidus",
		                             "\x89PNG\r\n\x1a\n", "nidus nidus nidus nidus nidus" };
	nidus_filter *filter;
	for (unsigned i = 0; i < 5; i++) {
		check_note("text %u", i);
		struct bytes bytes = { (unsigned char *)(uintptr_t)texts[i], strlen(texts[i]) };
		nidus_status status = expect_refused(&bytes);
		expect_equal(status == NIDUS_E_TRUNCATED, i == 0 || i == 2);
		folder_write("foreign", bytes.data, bytes.size);
		expect_status(nidus_load(folder_path("foreign"), &filter), status);
	}
}

static void another_version_says_so(void **state)
{
	(void)state;
	struct shape shape = { families[0], 0, 8, 0 };
	static const struct {
		uint32_t version;
		const char *advice;
	} others[] = { { 0, "build the filter anew" },
		       { 2, "use a newer nidus" },
		       { UINT32_MAX, "use a newer nidus" } };
	struct bytes bytes = sample(&shape);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		store32(bytes.data + 8, others[i].version);
		bytes_seal(&bytes);
		expect_status(expect_refused(&bytes), NIDUS_E_VERSION);
		expect(strstr(nidus_reason(), others[i].advice) != NULL);
	}
	bytes_free(&bytes);
}

struct feed {
	const struct bytes *bytes;
	size_t at, most;
};

static ptrdiff_t feed_source(void *context, void *data, size_t size)
{
	struct feed *feed = context;
	size_t left = feed->bytes->size - feed->at;
	size = size < feed->most ? size : feed->most;
	size = size < left ? size : left;
	memcpy(data, feed->bytes->data + feed->at, size);
	feed->at += size;
	return (ptrdiff_t)size;
}

static ptrdiff_t greedy_source(void *context, void *data, size_t size)
{
	(void)context, (void)data;
	return (ptrdiff_t)size + 1;
}

static void drip(const struct shape *shape, void *context)
{
	(void)context;
	struct bytes bytes = sample(shape);
	nidus_filter *filter;
	for (size_t most = 1; most < 300; most = most * 5 + 1) {
		struct feed feed = { &bytes, 0, most };
		expect_ok(nidus_read(feed_source, &feed, NULL, &filter));
		expect(bytes_match(&bytes, filter));
		expect_equal(feed.at, bytes.size);
		nidus_free(filter);
	}
	struct bytes cut = { bytes.data, bytes.size - 1 };
	struct feed feed = { &cut, 0, 1 };
	expect_status(nidus_read(feed_source, &feed, NULL, &filter), NIDUS_E_TRUNCATED);
	expect(filter == NULL);
	expect(nidus_read(greedy_source, NULL, NULL, &filter) != NIDUS_OK && filter == NULL);
	bytes_free(&bytes);
}

static void streams_may_come_byte_by_byte(void **state)
{
	(void)state;
	each_layout(8, 8, drip, NULL);
}

/* What is expected next of a stream. */
struct expected {
	const unsigned char *at;
	size_t left;
};

static int compare_sink(void *context, const void *data, size_t size)
{
	struct expected *expected = context;
	if (size > expected->left || memcmp(data, expected->at, size) != 0)
		return 1;
	expected->at += size;
	expected->left -= size;
	return 0;
}

static void expect_ends(const nidus_filter *filter, const struct bytes *bytes)
{
	for (size_t from = 0; from <= bytes->size; from += from < 600 ? 1 : 1 + bytes->size / 100) {
		struct expected expected = { bytes->data + from, bytes->size - from };
		expect_ok(nidus_write_from(filter, from, compare_sink, &expected));
		expect_equal(expected.left, 0);
	}
	struct expected nothing = { bytes->data, 0 };
	expect_ok(nidus_write_from(filter, bytes->size + 1, compare_sink, &nothing));
	expect_ok(nidus_write_from(filter, UINT64_MAX, compare_sink, &nothing));
}

static void begin_late(const struct shape *shape, void *context)
{
	(void)context;
	struct bytes bytes = sample(shape);
	nidus_filter *filter;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &filter));
	expect_ends(filter, &bytes);
	nidus_free(filter);
	bytes_free(&bytes);
}

static void streams_may_begin_anywhere(void **state)
{
	(void)state;
	each_layout(8, 8, begin_late, NULL);
}

static void streams_of_growing_filters_may_begin_anywhere(void **state)
{
	(void)state;
	nidus_options options = filter_options(500, 0.01, 1);
	options.max_capacity = 50000;
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0; key < 1100; key++) {
		expect_ok(nidus_insert_u64(filter, key));
		if (key % 100 != 60)
			continue;
		size_t size = nidus_saved_size(filter);
		struct bytes bytes = { check_alloc(size), size };
		expect_ok(nidus_save_buffer(filter, bytes.data, size, NULL));
		expect_ends(filter, &bytes);
		bytes_free(&bytes);
	}
	nidus_free(filter);
}

/* A stream cannot be asked for its length: a header that promises much is not believed. */
static void a_stream_that_promises_too_much_is_refused(void **state)
{
	(void)state;
	struct shape shape = { families[0], 0, 8, 0 };
	struct bytes bytes = sample(&shape);
	nidus_filter *filter;
	store64(bytes.data + AT_STASHED, UINT64_C(1) << 56);
	store64(bytes.data + AT_COUNT, UINT64_C(1) << 57);
	store64(bytes.data + AT_STASH + 16, UINT64_C(1) << 60);
	struct image image = { 0 };
	image.section[IMAGE_TABLE].size = load64(bytes.data + AT_TABLE + 16);
	image.section[IMAGE_STASH].size = UINT64_C(1) << 60;
	expect_ok(image_lay_out(&image));
	store64(bytes.data + AT_STASH + 8, image.section[IMAGE_STASH].offset);
	bytes_seal(&bytes);
	struct feed feed = { &bytes, 0, 64 };
	nidus_status status = nidus_read(feed_source, &feed, NULL, &filter);
	expect(status == NIDUS_E_NOMEM || bad_file(status));
	expect(filter == NULL);
	bytes_free(&bytes);
}

static void save_buffer_needs_exactly_the_saved_size(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.01, 1);
	nidus_filter *filter = filter_create(&options);
	size_t size = nidus_saved_size(filter), written = 99;
	unsigned char *buffer = check_alloc(size + 1);
	buffer[size] = 0xab;
	expect_status(nidus_save_buffer(filter, buffer, size - 1, &written), NIDUS_E_BUFFER);
	expect_ok(nidus_save_buffer(filter, buffer, size, &written));
	expect_equal(written, size);
	expect_equal(buffer[size], 0xab);
	expect_ok(nidus_save_buffer(filter, buffer, size + 1, NULL));
	expect_ok(nidus_save(filter, folder_path("size")));
	struct bytes file = folder_read("size");
	expect_equal(file.size, size);
	expect(memcmp(file.data, buffer, size) == 0);
	bytes_free(&file);
	free(buffer);
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_truncated_file_is_refused),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(forged_tables_are_refused_or_sound),
		cmocka_unit_test(hostile_headers_are_refused),
		cmocka_unit_test(rates_in_a_header_must_be_rates),
		cmocka_unit_test(random_headers_are_survived),
		cmocka_unit_test(every_header_field_is_checked_or_harmless),
		cmocka_unit_test(forged_stashes_are_refused),
		cmocka_unit_test(a_stash_out_of_order_is_refused),
		cmocka_unit_test(what_follows_a_filter_is_an_error),
		cmocka_unit_test(foreign_files_are_no_filters),
		cmocka_unit_test(another_version_says_so),
		cmocka_unit_test(streams_may_come_byte_by_byte),
		cmocka_unit_test(streams_may_begin_anywhere),
		cmocka_unit_test(streams_of_growing_filters_may_begin_anywhere),
		cmocka_unit_test(a_stream_that_promises_too_much_is_refused),
		cmocka_unit_test(save_buffer_needs_exactly_the_saved_size),
	};
	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
