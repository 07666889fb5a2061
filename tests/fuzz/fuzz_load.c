/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a file from anywhere is refused with a reason, or the filter in it
 * can be used like any other.
 *
 *     byte   bits 0-1: 0 the rest is the file, as it stands
 *                      1 the same, with its checksums put right
 *                      2, 3 the file of a filter that is described next, changed in
 *                        some places, with its checksums put right
 *            bit 2:    the count too is put right, as far as a walk can tell it
 *            bits 3-7: how many bytes a stream gives at a time, and what is done with the
 *                      filter
 *     forged files go on with:
 *     options (feed.c), byte: how often to merge it with itself (mostly never), from 240 on a
 *     static filter, 2 bytes: keys
 *     patches to the end: a byte that tells where (in the header or behind) and how
 *     many bytes, 2 bytes of offset, and the new bytes
 *
 * So both worlds are reached: bytes that are no file of ours, and files whose
 * checksums are right and whose contents are hostile. Forged files come from the
 * library itself: inputs stay good when the format changes.
 */
#include "base/bits.h"
#include "feed.h"
#include "store/image.h"
#include "support/check.h"
#include "support/filters.h"

#define KEYS 8
#define BLOCK_MOST ((size_t)1 << 15)
#define COUNT_AT 104 /* in the header, see docs/format.md */

/* ------------------------------------------------------------------ forged files -- */

#define BUILT 0xf0 /* the byte for merges, from here on: a static filter of the same rate */

static nidus_filter *built_filter(const nidus_options *described, uint64_t n)
{
	nidus_options options = filter_options(0, described->fpr, described->seed);
	uint64_t hashes[100], values[100];
	nidus_filter *filter;
	options.family = NIDUS_RIBBON;
	options.value_bits = described->value_bits;
	for (uint64_t i = 0; i < n; i++) {
		hashes[i] = i << described->capacity % 64; /* many of them crowd a bucket */
		values[i] = i & bits_low(options.value_bits);
	}
	nidus_status status = options.value_bits > 0
	                              ? nidus_build_values(&options, hashes, values, n, 1, &filter)
	                              : nidus_build_hashes(&options, hashes, n, 1, &filter);
	return status == NIDUS_OK ? filter : NULL;
}

static nidus_filter *described_filter(struct feed *feed)
{
	nidus_options options = feed_options(feed);
	unsigned how = feed_byte(feed), merges = how % 8;
	uint64_t keys = feed_number(feed, 2) % 100;
	nidus_filter *filter, *merged;
	if (how >= BUILT)
		return built_filter(&options, keys);
	if (nidus_create(&options, &filter) != NIDUS_OK)
		return NULL;
	for (uint64_t key = 0; key < keys; key++) {
		if (nidus_insert_u64(filter, key) != NIDUS_OK)
			break;
		if (options.slices > 0 && key % (1 + how / 8) == 0)
			expect_ok(nidus_tick(filter));
	}
	for (unsigned i = 4; i < merges; i++) {
		if (nidus_merge(filter, filter, &merged) != NIDUS_OK)
			break;
		nidus_free(filter);
		filter = merged;
	}
	return filter;
}

static void patch(struct feed *feed, struct bytes *bytes)
{
	unsigned what = feed_byte(feed), length = 1 + what / 2 % 8;
	uint64_t from = what & 1 ? IMAGE_HEADER : 0;
	uint64_t room = what & 1 ? bytes->size - IMAGE_HEADER : IMAGE_HEADER;
	uint64_t at = from + feed_number(feed, 2) % (room > 0 ? room : 1);
	for (unsigned i = 0; i < length && at + i < bytes->size; i++)
		bytes->data[at + i] = (unsigned char)feed_byte(feed);
}

static struct bytes forged_file(struct feed *feed)
{
	struct bytes bytes = { 0 };
	nidus_filter *filter = described_filter(feed);
	if (filter == NULL)
		return bytes;
	if (feed_can_save(filter))
		bytes = bytes_save(filter);
	nidus_free(filter);
	while (bytes.data != NULL && feed->left > 0)
		patch(feed, &bytes);
	return bytes;
}

static struct bytes plain_file(struct feed *feed)
{
	struct bytes bytes = { check_alloc(feed->left), feed->left };
	if (feed->left > 0)
		memcpy(bytes.data, feed->next, feed->left);
	return bytes;
}

/* --------------------------------------------------------------- ways to read it -- */

static void expect_refused(nidus_status status, const nidus_filter *filter)
{
	expect(filter == NULL);
	expect(status == NIDUS_E_FORMAT || status == NIDUS_E_VERSION ||
	       status == NIDUS_E_TRUNCATED || status == NIDUS_E_CORRUPT || status == NIDUS_E_NOMEM);
	expect(nidus_reason()[0] != '\0');
}

struct stream {
	const struct bytes *bytes;
	size_t at, piece;
};

static ptrdiff_t give_piece(void *context, void *data, size_t size)
{
	struct stream *stream = context;
	size_t left = stream->bytes->size - stream->at;
	size = size < left ? size : left;
	size = size < stream->piece ? size : stream->piece;
	if (size > 0)
		memcpy(data, stream->bytes->data + stream->at, size);
	stream->at += size;
	return (ptrdiff_t)size;
}

/* A stream goes on where a file ends; apart from that both are read alike. */
static void expect_stream_agrees(const struct bytes *bytes, size_t piece, nidus_status as_buffer)
{
	struct stream stream = { bytes, 0, piece };
	nidus_filter *filter;
	nidus_status status = nidus_read(give_piece, &stream, NULL, &filter);
	expect(status == as_buffer || as_buffer == NIDUS_E_FORMAT ||
	       as_buffer == NIDUS_E_TRUNCATED);
	if (as_buffer == NIDUS_OK)
		expect_equal(stream.at, bytes->size);
	if (status != NIDUS_OK)
		expect_refused(status, filter);
	nidus_free(filter);
}

/* ------------------------------------------------------------------------ looking -- */

/*
 * Lookups, counts and a walk; answers how many entries the walk had. Different calls
 * need not agree about a table that is damaged: they read different parts of it.
 */
static uint64_t look(const nidus_filter *filter, uint64_t most)
{
	uint64_t hashes[KEYS], entries = 0;
	uint8_t yes[KEYS];
	bool sound = nidus_verify(filter, NULL) == NIDUS_OK;
	for (uint64_t key = 0; key < KEYS; key++) {
		hashes[key] = nidus_hash_u64(filter, key * (key % 2 == 0 ? 1 : 1 << 20));
		bool found = nidus_contains_hash(filter, hashes[key]);
		bool counted = nidus_count_key_hash(filter, hashes[key]) > 0;
		bool twins = info_of(filter).family == NIDUS_BREADCRUMB; /* of a growing one */
		expect(!sound || counted == found || (found && twins));
		yes[key] = 2;
	}
	(void)nidus_contains(filter, "key", 3);
	int slices = (int)info_of(filter).slices;
	for (uint64_t key = 0; key < KEYS; key++) {
		int age = nidus_age_hash(filter, hashes[key]);
		expect(age >= -1 && (age < slices || age == -1));
		expect(age < 0 || nidus_contains_hash(filter, hashes[key]));
	}
	nidus_contains_batch(filter, hashes, KEYS, yes);
	for (uint64_t key = 0; key < KEYS; key++) {
		bool found = nidus_contains_hash(filter, hashes[key]);
		expect(yes[key] <= 1 && (!sound || yes[key] == found));
	}
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	while (entries <= most && nidus_next(filter, &cursor, &entry))
		entries++;
	return entries;
}

/*
 * An opened file, or buffer, is believed as far as its header goes: whatever the rest
 * is, lookups, counts and walks stay inside. Answers the entries of a walk, or
 * UINT64_MAX if there was none.
 */
static uint64_t look_at_opened(const struct bytes *bytes, bool verify)
{
	nidus_filter *filter = NULL;
	uint64_t entries = UINT64_MAX;
	unsigned flags = verify ? NIDUS_OPEN_VERIFY : 0;
	nidus_status status = nidus_open_buffer(bytes->data, bytes->size, flags, &filter);
	if (status == NIDUS_OK) {
		nidus_info info = info_of(filter);
		expect(info.readonly);
		expect_status(nidus_insert_u64(filter, 1), NIDUS_E_READONLY);
		expect_status(nidus_clear(filter), NIDUS_E_READONLY);
		entries = look(filter, UINT64_MAX - 1);
		(void)nidus_verify(filter, NULL);
	} else {
		expect_refused(status, filter);
	}
	nidus_free(filter);
	return entries;
}

/* Writes what a walk found into the header; the checksums are put right afterwards. */
static void mend_count(struct bytes *bytes)
{
	uint64_t entries = look_at_opened(bytes, false);
	if (entries != UINT64_MAX)
		store64(bytes->data + COUNT_AT, entries);
}

/* ------------------------------------------------------------------------ using it -- */

static bool refused(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES || status == NIDUS_E_NOMEM;
}

/* Keys that were put in in this slice are found until so many ticks have passed; then nothing is. */
static void forget(nidus_filter *filter, const bool in[KEYS])
{
	unsigned slices = info_of(filter).slices;
	for (unsigned tick = 0; tick < slices; tick++) {
		for (uint64_t key = 0; key < KEYS; key++) {
			expect(!in[key] || nidus_age_u64(filter, key) == (int)tick);
			expect(!in[key] || nidus_contains_u64(filter, key));
		}
		expect_ok(nidus_tick(filter));
	}
	if (slices == 0)
		return;
	expect_equal(info_of(filter).count, 0);
	expect_ok(nidus_verify(filter, NULL));
}

/* Puts keys in and takes them out again; a file may say that it grows meanwhile. */
static void churn(nidus_filter *filter)
{
	bool in[KEYS];
	for (uint64_t key = 0; key < KEYS; key++) {
		nidus_status status = nidus_insert_u64(filter, key);
		in[key] = status == NIDUS_OK;
		expect(in[key] || refused(status) ||
		       (status == NIDUS_E_UNSUPPORTED && info_of(filter).features & NIDUS_STATIC));
		expect(!in[key] || nidus_contains_u64(filter, key));
	}
	expect_ok(nidus_verify(filter, NULL));
	for (uint64_t key = 0; key < KEYS; key++) {
		expect(!in[key] || nidus_contains_u64(filter, key));
		if (in[key] && info_of(filter).features & NIDUS_DELETE)
			expect_ok(nidus_remove_u64(filter, key));
	}
	expect_ok(nidus_verify(filter, NULL));
	forget(filter, in);
}

static void use_merged(nidus_filter *filter)
{
	nidus_filter *other;
	uint64_t count = info_of(filter).count;
	nidus_status status = nidus_merge(filter, filter, &other);
	if (status == NIDUS_OK) {
		if (info_of(filter).features & NIDUS_DELETE)
			expect_equal(info_of(other).count, 2 * count);
		expect_ok(nidus_verify(other, NULL));
		churn(other);
	} else {
		expect(other == NULL && (refused(status) || status == NIDUS_E_RANGE ||
		                         status == NIDUS_E_UNSUPPORTED));
	}
	nidus_free(other);
}

static void use_clone(nidus_filter *filter)
{
	nidus_filter *other;
	expect_ok(nidus_clone(filter, &other));
	expect(filters_equal(filter, other));
	churn(other);
	nidus_free(other);
}

static void use_grown(nidus_filter *filter)
{
	nidus_info info = info_of(filter);
	nidus_status status = nidus_grow(filter, info.capacity + info.capacity / 2 + 1);
	expect(status == NIDUS_OK || refused(status) || status == NIDUS_E_RANGE ||
	       status == NIDUS_E_UNSUPPORTED);
	expect_equal(info_of(filter).count, info.count);
	expect_ok(nidus_verify(filter, NULL));
	churn(filter);
	if (!feed_can_save(filter))
		return;
	struct bytes bytes = bytes_save(filter);
	nidus_filter *again;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &again));
	expect(bytes_match(&bytes, again));
	nidus_free(again);
	bytes_free(&bytes);
}

static void use(nidus_filter *filter, const struct bytes *bytes, unsigned how)
{
	nidus_info info = info_of(filter);
	check_note("%s, count %llu, capacity %llu to %llu, seed %llu, slots %u",
	           nidus_family_name(info.family), (unsigned long long)info.count,
	           (unsigned long long)info.capacity, (unsigned long long)info.max_capacity,
	           (unsigned long long)info.seed, info.slots);
	expect_ok(nidus_verify(filter, NULL));
	expect(bytes_match(bytes, filter)); /* there is one spelling */
	uint64_t entries = look(filter, info.count);
	if (info.features & NIDUS_ENUMERATE)
		expect_equal(entries, info.count);
	if (how % 4 == 0)
		use_merged(filter);
	else if (how % 4 == 1)
		use_clone(filter);
	else
		use_grown(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, size };
	nidus_filter *filter;
	feed_tame_system(BLOCK_MOST);
	take_small_segments(32); /* so that a few keys fill some */
	unsigned how = feed_byte(&feed), mode = how & 3;
	check_note("mode %u", mode);
	struct bytes bytes = mode < 2 ? plain_file(&feed) : forged_file(&feed);
	if (bytes.data == NULL) /* no filter was described, or none that can be saved */
		return 0;
	if (mode > 0 && bytes.size >= IMAGE_HEADER) {
		bytes_seal(&bytes);
		if (how & 4)
			mend_count(&bytes);
		bytes_seal(&bytes);
	}
	(void)look_at_opened(&bytes, how & 8);
	nidus_status status = nidus_load_buffer(bytes.data, bytes.size, NULL, &filter);
	expect_stream_agrees(&bytes, 1 + how / 8 * 7, status);
	if (status == NIDUS_OK)
		use(filter, &bytes, how / 16);
	else
		expect_refused(status, filter);
	nidus_free(filter);
	bytes_free(&bytes);
	return 0;
}
