/* SPDX-License-Identifier: MIT
 *
 * Tests of store/image: the order of bytes, and that no header byte can change
 * unnoticed.
 */
#include "store/image.h"

#include <errno.h>

#include "base/bits.h"
#include "base/hash.h"
#include "support/check.h"

#define ROOM 200000

struct tape {
	unsigned char bytes[ROOM];
	size_t size, at;
	size_t most; /* per read; 0: all */
	int error;   /* answered for what would go beyond error_at */
	size_t error_at;
};

static struct tape tape;

static int tape_sink(void *context, const void *data, size_t size)
{
	struct tape *to = context;
	if (to->error != 0 && to->size + size > to->error_at)
		return to->error;
	expect(size <= ROOM - to->size);
	memcpy(to->bytes + to->size, data, size);
	to->size += size;
	return 0;
}

static ptrdiff_t tape_source(void *context, void *data, size_t size)
{
	struct tape *from = context;
	if (from->most != 0 && size > from->most)
		size = from->most;
	if (from->error != 0 && from->at + size > from->error_at)
		return -from->error;
	if (size > from->size - from->at)
		size = from->size - from->at;
	memcpy(data, from->bytes + from->at, size);
	from->at += size;
	return (ptrdiff_t)size;
}

static struct image sample(uint64_t table, uint64_t stash)
{
	struct image image = {
		.plan = { .family = 1,
		          .features = 3,
		          .seed = 0x1122334455667788,
		          .capacity = 99,
		          .max_capacity = 100,
		          .fpr = 0.125,
		          .slots = 4,
		          .core_bits = 9,
		          .growth_bits = 3,
		          .shares = 2,
		          .chunks = 5,
		          .groups = 64,
		          .reserve = 7,
		          .max_steps = 11,
		          .stash_limit = 13,
		          .stride = 17,
		          .slices = 19 },
		.count = 42,
		.stashed = 2,
		.tick = 77,
	};
	image.section[IMAGE_TABLE].size = table;
	image.section[IMAGE_STASH].size = stash;
	return image;
}

static void write_sample(struct image *image)
{
	static unsigned char table[ROOM / 2], stash[1000];
	memset(table, 0x5a, sizeof table);
	memset(stash, 0xc3, sizeof stash);
	const void *const bytes[IMAGE_SECTIONS] = { table, stash };
	memset(&tape, 0, sizeof tape);
	expect_ok(image_write(image, bytes, tape_sink, &tape));
	expect_equal(tape.size, image->size);
}

static nidus_status read_all(struct image *image)
{
	static unsigned char bytes[ROOM];
	tape.at = 0;
	nidus_status status = image_read_header(image, tape_source, &tape);
	if (status == NIDUS_OK && image->section[0].size + image->section[1].size > ROOM)
		return NIDUS_E_FORMAT;
	for (int i = 0; i < IMAGE_SECTIONS && status == NIDUS_OK; i++)
		status =
			image_read_section(image, (enum image_section)i, bytes, tape_source, &tape);
	return status;
}

static void what_is_written_is_read_back(void **state)
{
	(void)state;
	static const uint64_t sizes[][2] = {
		{ 0, 0 }, { 1, 16 }, { 64, 0 }, { 1000, 32 }, { 70000, 160 }
	};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct image written = sample(sizes[i][0], sizes[i][1]), got;
		check_note("sections of %llu and %llu bytes", (unsigned long long)sizes[i][0],
		           (unsigned long long)sizes[i][1]);
		write_sample(&written);
		tape.most = 7; /* in small pieces */
		expect_ok(read_all(&got));
		expect_equal(tape.at, tape.size);
		expect(memcmp(&written.plan, &got.plan, sizeof got.plan) == 0);
		expect_equal(got.count, 42);
		expect_equal(got.stashed, 2);
		expect_equal(got.size, written.size);
	}
}

static void the_bytes_lie_as_drawn(void **state)
{
	(void)state;
	struct image image = sample(1000, 32);
	write_sample(&image);
	expect(memcmp(tape.bytes, "\x89nidus\r\n", 8) == 0);
	expect_equal(load32(tape.bytes + 8),
	             1); /* not IMAGE_VERSION: a new version is no accident */
	expect_equal(load32(tape.bytes + 12), IMAGE_HEADER);
	expect_equal(load64(tape.bytes + 24), UINT64_C(0x1122334455667788));
	expect_equal(tape.bytes[24], 0x88); /* little-endian */
	expect_equal(load32(tape.bytes + 60), 9);
	expect_equal(load64(tape.bytes + 104), 42);
	expect_equal(image.section[IMAGE_TABLE].offset % 64, 0);
	expect_equal(image.section[IMAGE_STASH].offset % 64, 0);
	expect(image.section[IMAGE_TABLE].offset >= IMAGE_HEADER);
	expect_equal(tape.bytes[image.section[IMAGE_TABLE].offset], 0x5a);
	expect_equal(tape.bytes[image.section[IMAGE_STASH].offset], 0xc3);
	/* A table of 64 pages or more starts at a page, to be mapped; the stash never needs to. */
	static const uint64_t sizes[] = { 262144, 262145, 700000, UINT64_C(1) << 40 };
	for (unsigned i = 0; i < 4; i++) {
		image = sample(sizes[i], 160000);
		expect_ok(image_lay_out(&image));
		expect_equal(image.section[IMAGE_TABLE].offset, 4096);
		expect(image.section[IMAGE_STASH].offset - 4096 - sizes[i] < 64);
	}
	image = sample(262143, 0);
	expect_ok(image_lay_out(&image));
	expect_equal(image.section[IMAGE_TABLE].offset, IMAGE_HEADER);
}

static bool refusal(nidus_status status)
{
	return status == NIDUS_E_FORMAT || status == NIDUS_E_VERSION || status == NIDUS_E_CORRUPT ||
	       status == NIDUS_E_TRUNCATED;
}

static void no_flipped_bit_passes(void **state)
{
	(void)state;
	struct image image = sample(1000, 32), got;
	write_sample(&image);
	for (size_t bit = 0; bit < tape.size * 8; bit++) {
		tape.bytes[bit >> 3] ^= (unsigned char)(1 << (bit & 7));
		nidus_status status = read_all(&got);
		check_note("bit %zu of byte %zu: %s", bit & 7, bit >> 3, nidus_status_name(status));
		expect(refusal(status));
		if (bit < 64)
			expect_status(status, NIDUS_E_FORMAT);
		else if (bit < 96)
			expect_status(status, NIDUS_E_VERSION);
		tape.bytes[bit >> 3] ^= (unsigned char)(1 << (bit & 7));
	}
	expect_ok(read_all(&got));
}

/* With the checksum made right again, the fields themselves must be in order. */
static void sealed_nonsense_is_refused(void **state)
{
	(void)state;
	static const struct {
		unsigned at;
		uint64_t value;
	} nonsense[] = {
		{ 12, 257 },                    /* header size */
		{ 120, 3 },                     /* sections */
		{ 120, UINT64_C(2) << 32 | 2 }, /* whether there is more */
		{ 128, 1 },                     /* kind of the first section */
		{ 128, UINT64_C(1) << 32 },     /* its unused bytes */
		{ 136, 320 },                   /* its offset */
		{ 136, 255 },
		{ 144, UINT64_MAX }, /* its size */
		{ 144, UINT64_MAX - 300 },
		{ 144, INT64_MAX },
		{ 168, 0 },              /* offset of the second */
		{ 176, UINT64_MAX - 1 }, /* its size */
		{ 220, 1 },              /* behind what is known */
		{ 240, 1 },
	};
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		struct image image = sample(1000, 32), got;
		write_sample(&image);
		if (nonsense[i].at == 12)
			store32(tape.bytes + 12, (uint32_t)nonsense[i].value);
		else
			store64(tape.bytes + nonsense[i].at, nonsense[i].value);
		store64(tape.bytes + 248, hash_checksum(tape.bytes, 248));
		check_note("nonsense %zu", i);
		tape.at = 0;
		expect_status(image_read_header(&got, tape_source, &tape), NIDUS_E_FORMAT);
	}
}

static void every_truncation_is_noticed(void **state)
{
	(void)state;
	struct image image = sample(100, 32), got;
	write_sample(&image);
	for (size_t whole = tape.size; tape.size-- > 0;) {
		check_note("%zu of %zu bytes", tape.size, whole);
		expect_status(read_all(&got), NIDUS_E_TRUNCATED);
	}
}

static void a_failing_source_or_sink_is_an_io_error(void **state)
{
	(void)state;
	struct image image = sample(1000, 32), got;
	write_sample(&image);
	size_t size = tape.size;
	for (size_t at = 0; at < size; at += 50) {
		tape.most = 50;
		tape.error = ETIMEDOUT;
		tape.error_at = at;
		errno = 0;
		expect_status(read_all(&got), NIDUS_E_IO);
		expect_equal(errno, ETIMEDOUT);
	}
	static const unsigned char table[1000], stash[32];
	const void *const bytes[IMAGE_SECTIONS] = { table, stash };
	for (size_t at = 0; at < size; at += 50) {
		memset(&tape, 0, sizeof tape);
		tape.error = ENOSPC;
		tape.error_at = at;
		errno = 0;
		expect_status(image_write(&image, bytes, tape_sink, &tape), NIDUS_E_IO);
		expect_equal(errno, ENOSPC);
	}
}

static void sizes_that_overflow_cannot_be_laid_out(void **state)
{
	(void)state;
	static const uint64_t sizes[][2] = {
		{ UINT64_MAX, 0 },        { UINT64_MAX - 255, 0 },  { 0, UINT64_MAX },
		{ 0, UINT64_MAX - 4096 }, { INT64_MAX, INT64_MAX }, { UINT64_C(1) << 63, 0 },
		{ INT64_MAX, 0 },         { INT64_MAX - 4096, 1 },
	};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct image image = sample(sizes[i][0], sizes[i][1]);
		check_note("sizes %zu", i);
		expect_status(image_lay_out(&image), NIDUS_E_FORMAT);
	}
	struct image image = sample(INT64_MAX - 8192, 0);
	expect_ok(image_lay_out(&image));
	expect(image.size <= INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(the_bytes_lie_as_drawn),
		cmocka_unit_test(no_flipped_bit_passes),
		cmocka_unit_test(sealed_nonsense_is_refused),
		cmocka_unit_test(every_truncation_is_noticed),
		cmocka_unit_test(a_failing_source_or_sink_is_an_io_error),
		cmocka_unit_test(sizes_that_overflow_cannot_be_laid_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
