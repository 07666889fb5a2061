/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a file whose checksums are right and whose numbers are not. It is refused,
 * or the filter in it grows, relaxes, shrinks, merges and saves like any other, and never
 * asks for memory out of all proportion to the file.
 *
 *     byte   the filter that the file starts from: family, and how it came about; from 216 on one
 *            that forgets, from 240 on a static one
 *     edits to the end, at most EDITS of them:
 *     byte   bits 0-1: 0 a field of the header becomes a number of 8 bytes
 *                      1 a field of the header becomes a little more or less
 *                      2 a field of the header becomes a power of two, the rate a
 *                        negative one
 *                      3 a byte behind the header becomes another
 *            bits 2-7: which field, or 6 bits of the offset; a byte has 8 more
 *
 * Where the edited header asks for a table of another size it gets one, with nothing in
 * it; a filter that grows gets a list or, by its seed, first leaves. So a number that the library
 * does not check is used.
 */
#include <math.h>

#include "api/claims.h"
#include "api/filter.h"
#include "api/generations_parts.h"
#include "base/bits.h"
#include "base/os.h"
#include "feed.h"
#include "store/image.h"
#include "support/check.h"
#include "support/filters.h"

#define EDITS 12
#define KEYS 48
#define FILE_MOST ((size_t)1 << 16)

/* ------------------------------------------------------------------------- memory -- */

#define GIVEN_MOST ((size_t)1 << 22) /* larger blocks are refused, to be quick, */
#define ASKED_MOST ((size_t)1 << 28) /* and one like this may not even be asked for */

static struct os_calls real;

static bool give(size_t size)
{
	check_note("a block of %zu bytes", size);
	expect(size < ASKED_MOST);
	return size <= GIVEN_MOST;
}

static void *allocate(size_t size)
{
	return give(size) ? real.allocate(size) : NULL;
}

static void *map_zeroed(size_t size)
{
	return give(size) ? real.map_zeroed(size) : NULL;
}

static void watch_memory(void)
{
	if (os.allocate == allocate)
		return;
	real = os;
	os.allocate = allocate;
	os.map_zeroed = map_zeroed;
}

/* ---------------------------------------------------------------- files to forge -- */

enum origin { FIXED, TO_GROW, GROWN, RELAXED, SHARED, CROWDED, UNSIZED, GENERATIONS, ORIGINS };

static nidus_filter *make(nidus_family family, enum origin origin)
{
	nidus_options options = filter_options(100, 0.01, 7);
	uint64_t keys = 100;
	options.family = family;
	if (origin == TO_GROW || origin == GROWN)
		options.max_capacity = 1600;
	if (origin == SHARED)
		options.features = NIDUS_CONCURRENT;
	if (origin == UNSIZED || origin == GENERATIONS) {
		options.capacity = 0;
		options.max_capacity = NIDUS_UNLIMITED;
		options.features = family < NIDUS_BUCKETED ? NIDUS_NO_DELETE : 0;
	}
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK) /* a family that cannot */
		return NULL;
	if (origin == GROWN || origin == GENERATIONS)
		keys = 400;
	if (origin == UNSIZED)
		keys = 10;
	for (uint64_t key = 0; key < keys; key++)
		expect_ok(nidus_insert_u64(filter, key));
	for (uint64_t i = 0; origin == CROWDED && i < 40; i++)
		(void)nidus_insert_u64(filter, i % 2); /* into the stash */
	if (origin == RELAXED)
		(void)nidus_grow_relaxed(filter, 500);
	return filter;
}

#define FIRST_STATIC 240
#define STATICS 3

/* A plain one; one with values, a fraction of a bit and a list; one that excludes keys. */
static nidus_filter *make_static(unsigned kind)
{
	nidus_options options = filter_options(0, kind == 1 ? 0.013 : 0.01, 7);
	uint64_t hashes[KEYS], values[KEYS], out[KEYS];
	nidus_filter *filter;
	options.family = NIDUS_RIBBON;
	for (uint64_t i = 0; i < KEYS; i++) {
		hashes[i] = kind == 1 ? i : (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		out[i] = ~hashes[i];
		values[i] = i % 8;
	}
	options.value_bits = kind == 1 ? 3 : 0;
	if (kind == 1)
		expect_ok(nidus_build_values(&options, hashes, values, KEYS, 1, &filter));
	else if (kind == 2)
		expect_ok(nidus_build_exclude(&options, hashes, KEYS, out, KEYS, 1, &filter));
	else
		expect_ok(nidus_build_hashes(&options, hashes, KEYS, 1, &filter));
	return filter;
}

static const struct bytes *original_static(unsigned kind)
{
	static struct bytes files[STATICS];
	if (files[kind].data == NULL) {
		nidus_filter *filter = make_static(kind);
		files[kind] = bytes_save(filter);
		nidus_free(filter);
	}
	return &files[kind];
}

#define FIRST_RECENT 216
#define RECENTS 8 /* of each of three families */

/* Ones that forget: lists and segments, fixed and such that grow, with more or fewer that have expired. */
static nidus_filter *make_recent(unsigned number)
{
	unsigned kind = number / 3;
	nidus_options options = filter_options(kind % 4 < 2 ? 20 : kind < 4 ? 150 : 300, 0.01, 7);
	options.family = (nidus_family)(NIDUS_BUCKETED + number % 3);
	options.max_capacity = kind % 4 == 0 || kind % 4 == 3 ? 1600 : 0;
	options.slices = kind < 4 ? 5 : 14;
	if (kind % 4 == 1)
		options.features = NIDUS_CONCURRENT;
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0; key < (kind % 4 < 2 ? 20 : 300); key++) {
		expect_ok(nidus_insert_u64(filter, key));
		if (key % 25 == 24 || (key < 20 && key % 4 == 3))
			expect_ok(nidus_tick(filter));
	}
	for (unsigned i = 0; i < kind; i++)
		expect_ok(nidus_tick(filter));
	return filter;
}

static const struct bytes *original_recent(unsigned number)
{
	static struct bytes files[3 * RECENTS];
	if (files[number].data == NULL) {
		nidus_filter *filter = make_recent(number);
		files[number] = bytes_save(filter);
		nidus_free(filter);
	}
	return &files[number];
}

/* Files of every family and origin, made once. */
static const struct bytes *original(unsigned number)
{
	static struct bytes files[NIDUS_BLOCKED_BLOOM + 1][ORIGINS];
	if (number >= FIRST_STATIC)
		return original_static(number % STATICS);
	if (number >= FIRST_RECENT)
		return original_recent(number - FIRST_RECENT);
	nidus_family family = (nidus_family)(1 + number % NIDUS_BLOCKED_BLOOM);
	enum origin origin = (enum origin)(number / NIDUS_BLOCKED_BLOOM % ORIGINS);
	struct bytes *bytes = &files[family][origin];
	if (bytes->data != NULL)
		return bytes;
	nidus_filter *filter = make(family, origin);
	if (filter == NULL)
		filter = make(family, FIXED);
	*bytes = bytes_save(filter);
	nidus_free(filter);
	expect(bytes->size <= FILE_MOST);
	return bytes;
}

/* -------------------------------------------------------------------------- edits -- */

/* The fields of a blueprint and the counts, by their place in the header. */
static const struct field {
	unsigned at, size;
} fields[] = {
	{ 16, 4 },  { 20, 4 },  { 24, 8 },  { 32, 8 },  { 40, 8 },  { 48, 8 },
	{ 56, 4 },  { 60, 4 },  { 64, 4 },  { 68, 4 },  { 72, 8 },  { 80, 8 },
	{ 88, 4 },  { 92, 4 },  { 96, 4 },  { 100, 4 }, { 104, 8 }, { 112, 8 },
	{ 192, 4 }, { 200, 8 }, { 196, 4 }, { 208, 8 }, { 216, 4 },
};

#define FIELDS (sizeof fields / sizeof *fields)
#define RATE 48

static uint64_t bits_of(double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	return bits;
}

static void edit_field(struct feed *feed, unsigned how, const struct field *field,
                       unsigned char *header)
{
	unsigned char *at = header + field->at;
	uint64_t value = field->size == 8 ? load64(at) : load32(at);
	if (how == 0)
		value = feed_number(feed, 8);
	else if (how == 1)
		value += (uint64_t)(int64_t)(int8_t)feed_byte(feed);
	else if (field->at == RATE)
		value = bits_of(ldexp(1, -(int)feed_byte(feed)));
	else
		value = UINT64_C(1) << feed_byte(feed) % 64;
	if (field->size == 8)
		store64(at, value);
	else
		store32(at, (uint32_t)value);
}

static void edit(struct feed *feed, struct bytes *bytes)
{
	unsigned what = feed_byte(feed), how = what & 3, which = what >> 2;
	if (how < 3) {
		edit_field(feed, how, &fields[which % FIELDS], bytes->data);
		return;
	}
	uint64_t at = IMAGE_HEADER + (which | (uint64_t)feed_byte(feed) << 6);
	unsigned char byte = (unsigned char)feed_byte(feed);
	if (at < bytes->size)
		bytes->data[at] = byte;
}

/* --------------------------------------------------------------- tables that fit -- */

static ptrdiff_t header_source(void *context, void *data, size_t size)
{
	const unsigned char **next = context;
	memcpy(data, *next, size);
	*next += size;
	return (ptrdiff_t)size;
}

static int bytes_sink(void *context, const void *data, size_t size)
{
	struct bytes *bytes = context;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

#define BASE_MOST 8

/* An empty filter of the plan, if it is another than that of the file's bodies, and small. */
static void fit_directory(struct bytes *bytes, const struct family *family,
                          const struct blueprint *plan)
{
	static const nidus_allocator system = { 0 };
	nidus_filter *empty;
	if (!(family->features & NIDUS_GROW) || plan->chunks > BASE_MOST ||
	    directory_check(family, plan) != NIDUS_OK || plan->groups > FILE_MOST / 64 ||
	    load64(bytes->data + 24) == 7 || /* the seed of the files: it has not changed */
	    filter_make(family, plan, &system, NULL, &empty) != NIDUS_OK)
		return;
	if (plan->seed % 2 == 0 && directory_plant(filter_directory(empty)) != NIDUS_OK) {
		nidus_free(empty);
		return;
	}
	if (feed_can_save(empty) && nidus_saved_size(empty) <= FILE_MOST) {
		bytes_free(bytes);
		*bytes = bytes_save(empty);
	}
	nidus_free(empty);
}

/* The same of a filter without a size. */
static void fit_generations(struct bytes *bytes, const struct family *family,
                            const struct blueprint *plan)
{
	static const nidus_allocator system = { 0 };
	nidus_filter *empty;
	if (!(family->features & NIDUS_GROW) || plan->chunks > BASE_MOST ||
	    plan->groups > FILE_MOST / 64 || generations_check(family, plan) != NIDUS_OK ||
	    load64(bytes->data + 24) == 7 ||
	    filter_make(family, plan, &system, NULL, &empty) != NIDUS_OK)
		return;
	if (feed_can_save(empty) && nidus_saved_size(empty) <= FILE_MOST) {
		bytes_free(bytes);
		*bytes = bytes_save(empty);
	}
	nidus_free(empty);
}

/* The same header over an empty table of the size that it asks for, if that is small. */
static void fit_table(struct bytes *bytes)
{
	struct image image;
	const unsigned char *next = bytes->data;
	bytes_seal(bytes);
	if (image_read_header(&image, header_source, &next) != NIDUS_OK)
		return;
	const struct family *family = family_find((nidus_family)image.plan.family);
	if (family == NULL || claims_check(family, &image.plan) != NIDUS_OK)
		return; /* it is refused by that alone */
	if (image.plan.segmented == PLAN_GENERATIONS) {
		fit_generations(bytes, family, &image.plan);
		return;
	}
	if (image.plan.segmented == PLAN_DIRECTORY) {
		fit_directory(bytes, family, &image.plan);
		return;
	}
	uint64_t size = family->forecast(&image.plan, 0).bytes;
	if (size == image.section[IMAGE_TABLE].size || size > FILE_MOST / 8)
		return;
	struct image empty = { .plan = image.plan };
	empty.section[IMAGE_TABLE].size = size;
	unsigned char *table = check_alloc((size_t)size);
	memset(table, 0, (size_t)size);
	const void *const sections[IMAGE_SECTIONS] = { table, table };
	bytes_free(bytes);
	*bytes = (struct bytes){ check_alloc(FILE_MOST), 0 };
	expect_ok(image_write(&empty, sections, bytes_sink, bytes));
	free(table);
}

/* -------------------------------------------------------------------------- using -- */

static bool refused(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES || status == NIDUS_E_NOMEM ||
	       status == NIDUS_E_RANGE || status == NIDUS_E_UNSUPPORTED;
}

static void walk(const nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_info info = info_of(filter);
	uint64_t entries = 0;
	while (nidus_next(filter, &cursor, &entry))
		entries++;
	if (info.features & NIDUS_ENUMERATE)
		expect_equal(entries, info.count);
	expect_ok(nidus_verify(filter, NULL));
}

static void put_keys_in(nidus_filter *filter, uint64_t first)
{
	for (uint64_t key = first; key < first + KEYS; key++) {
		nidus_status status = nidus_insert_u64(filter, key);
		expect(status == NIDUS_OK || refused(status));
		expect(status != NIDUS_OK || nidus_contains_u64(filter, key));
	}
}

/* Saved, it is as good as before: what the library writes it also takes. */
static void save_and_load(const nidus_filter *filter)
{
	if (!feed_can_save(filter))
		return;
	struct bytes bytes = bytes_save(filter);
	nidus_filter *again;
	check_note("%s of %llu keys", nidus_family_name(info_of(filter).family),
	           (unsigned long long)info_of(filter).capacity);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &again));
	expect(bytes_match(&bytes, again));
	nidus_free(again);
	bytes_free(&bytes);
}

static void merge_with_itself(const nidus_filter *filter)
{
	nidus_filter *merged;
	nidus_status status = nidus_merge(filter, filter, &merged);
	expect(status == NIDUS_OK || refused(status));
	if (status != NIDUS_OK)
		return;
	walk(merged);
	put_keys_in(merged, 2000);
	save_and_load(merged);
	nidus_free(merged);
}

static void resize(nidus_filter *filter, nidus_status status, uint64_t count)
{
	expect(status == NIDUS_OK || refused(status));
	expect_equal(info_of(filter).count, count);
	walk(filter);
	save_and_load(filter);
}

/* After so many ticks nothing is left, and what comes then is found as long again. */
static void forget_all(nidus_filter *filter, unsigned slices)
{
	uint64_t count = info_of(filter).count;
	for (unsigned i = 0; i < slices; i++) {
		expect_equal(info_of(filter).count, count);
		count -= nidus_slice_count(filter, slices - 1);
		expect_ok(nidus_tick(filter));
	}
	if (slices == 0)
		return;
	expect_equal(info_of(filter).count, 0);
	walk(filter);
	put_keys_in(filter, 0);
	for (unsigned i = 1; i < slices; i++)
		expect_ok(nidus_tick(filter));
	for (uint64_t key = 0; key < KEYS; key++)
		expect(nidus_age_u64(filter, key) < (int)slices);
	walk(filter);
	save_and_load(filter);
}

static void use(nidus_filter *filter)
{
	nidus_info info = info_of(filter);
	expect(info.capacity >= 1 && info.fpr_target > 0 && info.fpr_target < 1);
	walk(filter);
	save_and_load(filter);
	merge_with_itself(filter);
	put_keys_in(filter, 1000);
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t value;
		(void)nidus_find_hash(filter, key * UINT64_C(0x9e3779b97f4a7c15), &value, 1);
	}
	info = info_of(filter);
	resize(filter, nidus_grow(filter, 2 * info.capacity), info.count);
	resize(filter, nidus_grow_relaxed(filter, 4 * info.capacity), info.count);
	put_keys_in(filter, 3000);
	info = info_of(filter);
	resize(filter, nidus_shrink(filter, 0), info.count);
	expect(info_of(filter).bytes <= info.bytes);
	merge_with_itself(filter);
	forget_all(filter, info.slices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, size };
	nidus_filter *filter;
	watch_memory();
	take_small_segments(64); /* so that a few keys fill some */
	generation_bits_first = generation_bits = 1;
	const struct bytes *from = original(feed_byte(&feed));
	struct bytes bytes = { check_alloc(from->size), from->size };
	memcpy(bytes.data, from->data, from->size);
	for (unsigned i = 0; i < EDITS && feed.left > 0; i++)
		edit(&feed, &bytes);
	fit_table(&bytes);
	bytes_seal(&bytes);
	nidus_status status = nidus_load_buffer(bytes.data, bytes.size, NULL, &filter);
	expect(status == NIDUS_OK || status == NIDUS_E_FORMAT || status == NIDUS_E_CORRUPT ||
	       status == NIDUS_E_TRUNCATED || status == NIDUS_E_NOMEM);
	if (status == NIDUS_OK)
		use(filter);
	nidus_free(filter);
	bytes_free(&bytes);
	return 0;
}
