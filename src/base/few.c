/* SPDX-License-Identifier: MIT
 *
 * few: records in order, as Elias and Fano do it.
 */
#include "base/few.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/reason.h"

#define FEW_FIRST 2   /* records that the first block has room for */
#define FEW_GROWTH 32 /* this share of them more for the next one; inserts move most anyway */

#define WORD 64
#define MARK_LOG 6 /* log2 of the heads from one mark to the next */
#define MARK 16    /* bits */

/* --------------------------------------------------------------------------- bits -- */

static uint64_t word_at(const unsigned char *bytes, uint64_t index)
{
	return load64(bytes + 8 * index);
}

/* 0 to 64 bits. Nothing behind the words that they are in is read. */
static uint64_t get(const unsigned char *bytes, uint64_t at, unsigned width)
{
	if (width == 0)
		return 0;
	unsigned shift = at % WORD;
	uint64_t word = word_at(bytes, at / WORD) >> shift;
	if (shift + width > WORD)
		word |= word_at(bytes, at / WORD + 1) << (WORD - shift);
	return word & bits_low(width);
}

static void put(unsigned char *bytes, uint64_t at, unsigned width, uint64_t value)
{
	unsigned shift = at % WORD;
	unsigned char *word = bytes + 8 * (at / WORD);
	assert(width <= WORD && value <= bits_low(width));
	if (width == 0)
		return;
	store64(word, (load64(word) & ~(bits_low(width) << shift)) | value << shift);
	if (shift + width > WORD) {
		unsigned done = WORD - shift;
		store64(word + 8, (load64(word + 8) & ~bits_low(width - done)) | value >> done);
	}
}

/* Some bits instead of the ones of a word from `from` on. */
static void put_above(unsigned char *bytes, uint64_t index, unsigned from, uint64_t word)
{
	uint64_t kept = bits_low(from);
	store64(bytes + 8 * index, (word_at(bytes, index) & kept) | (word & ~kept));
}

/* The word of the bits that are `by` below those of word number `index`; zeros below the first. */
static uint64_t word_below(const unsigned char *bytes, uint64_t index, uint64_t by)
{
	uint64_t at = index * WORD;
	return at >= by         ? get(bytes, at - by, WORD)
	       : by - at < WORD ? word_at(bytes, 0) << (by - at)
	                        : 0;
}

/* Moves the bits from `at` to `end` up, so that there is a gap; behind them are zeros. */
static void open_gap(unsigned char *bytes, uint64_t at, uint64_t end, unsigned by)
{
	const uint64_t first = (at + by) / WORD, words = by / WORD;
	const unsigned bits = by % WORD;
	if (end == at)
		return;
	uint64_t i = (end + by - 1) / WORD, above = word_at(bytes, i - words);
	for (; i > first; i--) {
		uint64_t below = word_at(bytes, i - words - 1);
		store64(bytes + 8 * i, above << bits | below >> 1 >> (WORD - 1 - bits));
		above = below;
	}
	put_above(bytes, first, (at + by) % WORD, word_below(bytes, first, by));
}

/* 64 bits of those before `end`; zeros behind them. */
static uint64_t word_before(const unsigned char *bytes, uint64_t at, uint64_t end)
{
	return at >= end ? 0 : get(bytes, at, end - at < WORD ? (unsigned)(end - at) : WORD);
}

/* The way back: the gap at `at` is closed, and zeros come to the end. */
static void close_gap(unsigned char *bytes, uint64_t at, uint64_t end, unsigned by)
{
	uint64_t i = at / WORD;
	put_above(bytes, i, at % WORD, word_before(bytes, i * WORD + by, end));
	while (++i * WORD < end)
		store64(bytes + 8 * i, word_before(bytes, i * WORD + by, end));
}

/* -------------------------------------------------------------------------- shape -- */

/* Where things are, in bits. */
struct shape {
	unsigned head, rest, record; /* widths */
	uint64_t heads;              /* 2^head, */
	uint64_t marks;              /* and how many marks they have */
	uint64_t heads_at, marks_at, end;
};

static unsigned head_bits(const struct few *few, uint64_t count)
{
	unsigned needed = count > 1 ? log2_floor(count - 1) + 1 : 0;
	return needed < few->bits ? needed : few->bits;
}

static struct shape shape_with(const struct few *few, uint64_t count, unsigned head)
{
	struct shape shape = { .head = head, .rest = few->bits - head };
	shape.record = shape.rest + few->value_bits;
	shape.heads = UINT64_C(1) << head;
	shape.marks = (shape.heads - 1) >> MARK_LOG;
	shape.heads_at = count * shape.record;
	shape.marks_at = shape.heads_at + count + shape.heads;
	shape.end = shape.marks_at + MARK * shape.marks;
	return shape;
}

static struct shape shape_of(const struct few *few)
{
	return shape_with(few, few->count, head_bits(few, few->count));
}

uint64_t few_size(unsigned bits, unsigned value_bits, uint64_t count)
{
	const struct few few = { .bits = (uint8_t)bits, .value_bits = (uint8_t)value_bits };
	const struct shape shape = shape_with(&few, count, head_bits(&few, count));
	return count > 0 ? 8 * divide_up(shape.end, WORD) : 0;
}

uint64_t few_bytes(const struct few *few)
{
	return few_size(few->bits, few->value_bits, few->count);
}

const struct overflow *few_overflow(const struct few *few)
{
	static const struct overflow none;
	return few->copies != NULL ? few->copies : &none;
}

uint64_t few_memory(const struct few *few)
{
	uint64_t copies = few->copies != NULL ? sizeof *few->copies + few->copies->bytes : 0;
	return (few->size > 0 ? few->size : few_bytes(few)) + copies;
}

static struct few_record get_record(const struct few *few, const struct shape *shape,
                                    uint64_t index, uint64_t head)
{
	const unsigned char *bytes = few->bytes;
	uint64_t at = index * shape->record;
	return (struct few_record){
		.number = (shape->rest < WORD ? head << shape->rest : 0) |
		          get(bytes, at, shape->rest),
		.value = get(bytes, at + shape->rest, few->value_bits),
	};
}

static void put_record(struct few *few, const struct shape *shape, uint64_t index,
                       struct few_record record)
{
	unsigned char *bytes = few->bytes;
	uint64_t at = index * shape->record;
	put(bytes, at, shape->rest, record.number & bits_low(shape->rest));
	put(bytes, at + shape->rest, few->value_bits, record.value);
}

static uint64_t head_of(const struct shape *shape, struct few_record record)
{
	return shape->rest < WORD ? record.number >> shape->rest : 0;
}

static bool is_below(struct few_record a, struct few_record b)
{
	return a.number < b.number || (a.number == b.number && a.value < b.value);
}

/* ------------------------------------------------------------------------ finding -- */

/* Of the heads, the first bit from `at` on that is a one, or a zero; their end if there is none. */
static uint64_t next_bit(const struct few *few, const struct shape *shape, uint64_t at, bool one)
{
	uint64_t size = few->count + shape->heads;
	for (unsigned width; at < size; at += width) {
		width = size - at < WORD ? (unsigned)(size - at) : WORD;
		uint64_t bits = get(few->bytes, shape->heads_at + at, width);
		bits = one ? bits : ~bits & bits_low(width);
		if (bits != 0)
			return at + (unsigned)__builtin_ctzll(bits);
	}
	return size;
}

/* Of the heads, where the records of one begin. */
static uint64_t begin_of_head(const struct few *few, const struct shape *shape, uint64_t head)
{
	uint64_t mark = head >> MARK_LOG, zeros = head & bits_low(MARK_LOG), at = mark << MARK_LOG;
	uint64_t size = few->count + shape->heads;
	if (mark > 0)
		at += get(few->bytes, shape->marks_at + (mark - 1) * MARK, MARK);
	while (zeros > 0 && at < size) {
		unsigned width = size - at < WORD ? (unsigned)(size - at) : WORD;
		uint64_t bits = ~get(few->bytes, shape->heads_at + at, width) & bits_low(width);
		uint64_t here = (uint64_t)__builtin_popcountll(bits);
		at += width;
		if (here >= zeros) {
			while (--zeros > 0)
				bits &= bits - 1;
			return at - width + (unsigned)__builtin_ctzll(bits) + 1;
		}
		zeros -= here;
	}
	return at;
}

struct few_place few_find(const struct few *few, struct few_record from)
{
	const struct shape shape = shape_of(few);
	const uint64_t head = head_of(&shape, from);
	if (few->count == 0)
		return (struct few_place){ 0, 0 };
	uint64_t begin = begin_of_head(few, &shape, head);
	uint64_t high = next_bit(few, &shape, begin, false);
	/* Bits of a mapped file may be anything. */
	if (begin < head || high - head > few->count)
		return (struct few_place){ few->count, head };
	uint64_t low = begin - head;
	high -= head;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (is_below(get_record(few, &shape, middle, head), from))
			low = middle + 1;
		else
			high = middle;
	}
	return (struct few_place){ low, head };
}

bool few_next(const struct few *few, struct few_place *place, struct few_record *record)
{
	const struct shape shape = shape_of(few);
	if (place->index >= few->count || place->head >= shape.heads)
		return false;
	uint64_t at = next_bit(few, &shape, place->index + place->head, true);
	place->head = at - place->index;
	if (at >= few->count + shape.heads || place->head >= shape.heads)
		return false;
	*record = get_record(few, &shape, place->index, place->head);
	place->index++;
	return true;
}

/* Whether the record at a place is this one. */
static bool is_at(const struct few *few, struct few_place place, struct few_record record)
{
	struct few_record there;
	return few_next(few, &place, &there) && there.number == record.number &&
	       there.value == record.value;
}

/* What stands for a record in the list of further copies. */
static nidus_entry entry_of(struct few_record record)
{
	return (nidus_entry){ .home = record.number, .value = record.value };
}

uint64_t few_copies_of(const struct few *few, struct few_record record)
{
	const nidus_entry entry = entry_of(record);
	return 1 + (few->copies != NULL ? overflow_count(few->copies, &entry) : 0);
}

uint64_t few_copies(const struct few *few, uint64_t number)
{
	struct few_record record = { number, 0 };
	struct few_place place = few_find(few, record);
	uint64_t copies = 0;
	while (few_next(few, &place, &record) && record.number == number)
		copies += few_copies_of(few, record);
	return copies;
}

/* ----------------------------------------------------------------------- changing -- */

/* The block that the records are in, for memory_give. */
static struct block memory_of(const struct few *few)
{
	if (few->size == 0)
		return (struct block){ 0 };
	return (struct block){ few->bytes, few->size, few->bytes, few->size };
}

nidus_status few_reserve(struct few *few, uint64_t count, const nidus_allocator *allocator)
{
	struct block memory, old = memory_of(few);
	uint64_t size = few_size(few->bits, few->value_bits, count);
	assert(size <= UINT32_MAX);
	if (size <= few->size)
		return NIDUS_OK;
	nidus_status status = memory_take_anywhere(allocator, size, &memory);
	if (status != NIDUS_OK)
		return status;
	if (few->count > 0)
		memcpy(memory.bytes, few->bytes, (size_t)few_bytes(few));
	memory_give(allocator, &old);
	few->bytes = memory.bytes;
	few->size = (uint32_t)size;
	return NIDUS_OK;
}

/* Makes a list of copies, if there is none yet. Errors: E_NOMEM. */
static nidus_status begin_copies(struct few *few, const nidus_allocator *allocator)
{
	struct block memory;
	if (few->copies != NULL)
		return NIDUS_OK;
	nidus_status status = memory_take_anywhere(allocator, sizeof *few->copies, &memory);
	few->copies = (struct overflow *)(void *)memory.bytes;
	return status;
}

static nidus_status add_copies(struct few *few, const nidus_entry *entry, uint64_t copies,
                               const nidus_allocator *allocator)
{
	nidus_status status = begin_copies(few, allocator);
	return status == NIDUS_OK ? overflow_add(few->copies, allocator, entry, copies) : status;
}

static void free_copies(struct few *few, const nidus_allocator *allocator)
{
	unsigned char *bytes = (unsigned char *)few->copies;
	struct block memory = { bytes, sizeof *few->copies, bytes, sizeof *few->copies };
	if (few->copies == NULL)
		return;
	overflow_free(few->copies, allocator);
	memory_give(allocator, &memory);
	few->copies = NULL;
}

/* Heads on their way to another width: as many bits as they can have. */
struct heads {
	unsigned char bytes[2 * FEW_MOST / 8];
};

static void save_heads(const struct few *few, const struct shape *shape, struct heads *heads)
{
	uint64_t size = few->count + shape->heads;
	for (uint64_t at = 0; at < size; at += WORD)
		store64(heads->bytes + at / 8,
		        word_before(few->bytes, shape->heads_at + at, shape->marks_at));
}

/* Writes heads and their marks, and zeros up to where the old ones ended. */
static void restore_heads(struct few *few, const struct shape *shape, const struct heads *heads,
                          uint64_t old_end)
{
	unsigned char *bytes = few->bytes;
	uint64_t size = few->count + shape->heads,
		 end = shape->end > old_end ? shape->end : old_end;
	for (uint64_t at = 0; at < size; at += WORD) {
		unsigned width = size - at < WORD ? (unsigned)(size - at) : WORD;
		put(bytes, shape->heads_at + at, width, get(heads->bytes, at, width));
	}
	for (uint64_t at = shape->marks_at; at < end; at += WORD)
		put(bytes, at, end - at < WORD ? (unsigned)(end - at) : WORD, 0);
	for (uint64_t mark = 1, at = 0; mark <= shape->marks; mark++) {
		for (unsigned zeros = 1u << MARK_LOG; zeros > 0; zeros--)
			at = next_bit(few, shape, at, false) + 1;
		put(bytes, shape->marks_at + (mark - 1) * MARK, MARK, at - (mark << MARK_LOG));
	}
}

/*
 * Gives heads another width, in place and without more memory, so that a remove cannot fail. Records become
 * narrower from the first to the last, and wider from the last to the first.
 */
static void reshape(struct few *few, const struct shape *old, const struct shape *new)
{
	struct heads before, after = { { 0 } };
	bool wider = new->rest > old->rest;
	uint64_t at = wider ? few->count + old->heads - 1 : 0;
	save_heads(few, old, &before);
	for (uint64_t i = 0; i < few->count; i++) {
		uint64_t index = wider ? few->count - 1 - i : i;
		while (get(before.bytes, at, 1) == 0)
			at += wider ? UINT64_MAX : 1;
		struct few_record record = get_record(few, old, index, at - index);
		put_record(few, new, index, record);
		put(after.bytes, head_of(new, record) + index, 1, 1);
		at += wider ? UINT64_MAX : 1;
	}
	restore_heads(few, new, &after, old->end);
}

/* Makes heads as wide as those of so many records are. */
static void fit_heads(struct few *few, uint64_t count)
{
	const struct shape old = shape_of(few);
	const struct shape new = shape_with(few, few->count, head_bits(few, count));
	if (few->count > 0 && new.head != old.head)
		reshape(few, &old, &new);
}

/* Adds to the marks behind a head. */
static void count_in_marks(struct few *few, uint64_t marks_at, uint64_t marks, uint64_t head,
                           uint64_t more)
{
	for (uint64_t mark = head >> MARK_LOG; mark < marks; mark++) {
		uint64_t at = marks_at + mark * MARK;
		uint64_t before = get(few->bytes, at, MARK);
		put(few->bytes, at, MARK, (before + more) & bits_low(MARK));
	}
}

/* Puts a record in, for which there is room. */
static void insert_record(struct few *few, uint64_t index, struct few_record record)
{
	unsigned char *bytes = few->bytes;
	unsigned wide = head_bits(few, few->count + 1);
	fit_heads(few, few->count + 1);
	const struct shape old = shape_with(few, few->count, wide);
	const struct shape new = shape_with(few, few->count + 1, wide);
	const uint64_t head = head_of(&new, record);
	uint64_t end = few->count > 0 ? old.end : 0;
	open_gap(bytes, index * new.record, end, new.record);
	put_record(few, &new, index, record);
	open_gap(bytes, new.heads_at + head + index, end + new.record, 1);
	put(bytes, new.heads_at + head + index, 1, 1);
	count_in_marks(few, new.marks_at, new.marks, head, 1);
	few->count++;
}

/* Records to make room for: some more, but not beyond a power of two, where heads become more. */
static uint64_t room_for_more(uint64_t count)
{
	uint64_t more = count + count / FEW_GROWTH + FEW_FIRST;
	uint64_t power = count > 0 ? UINT64_C(2) << log2_floor(count) : FEW_FIRST;
	return more < power ? more : power;
}

nidus_status few_insert(struct few *few, struct few_record record, uint64_t copies,
                        const nidus_allocator *allocator)
{
	const nidus_entry entry = entry_of(record);
	nidus_status status = NIDUS_OK;
	struct few_place place = few_find(few, record);
	bool there = is_at(few, place, record);
	assert(few->count < FEW_MOST && record.number <= bits_low(few->bits));
	if (!there && few_size(few->bits, few->value_bits, few->count + 1) > few->size)
		status = few_reserve(few, room_for_more(few->count), allocator);
	if (status == NIDUS_OK && copies > !there)
		status = add_copies(few, &entry, copies - !there, allocator);
	if (status == NIDUS_OK && !there)
		insert_record(few, place.index, record);
	return status;
}

void few_remove(struct few *few, struct few_record record)
{
	const nidus_entry entry = entry_of(record);
	if (few->copies != NULL && overflow_remove(few->copies, &entry))
		return;
	const struct few_place place = few_find(few, record);
	const struct shape shape = shape_of(few);
	assert(is_at(few, place, record));
	unsigned char *bytes = few->bytes;
	count_in_marks(few, shape.marks_at, shape.marks, place.head, UINT64_MAX);
	close_gap(bytes, shape.heads_at + place.head + place.index, shape.end, 1);
	close_gap(bytes, place.index * shape.record, shape.end - 1, shape.record);
	unsigned head = shape.head;
	few->count--;
	const struct shape left = shape_with(few, few->count, head);
	const struct shape now = shape_of(few);
	if (few->count > 0 && now.head != head)
		reshape(few, &left, &now);
}

void few_clear(struct few *few, const nidus_allocator *allocator)
{
	if (few->count > 0)
		memset(few->bytes, 0, (size_t)few_bytes(few));
	few->count = 0;
	free_copies(few, allocator);
}

void few_free(struct few *few, const nidus_allocator *allocator)
{
	struct block memory = memory_of(few);
	free_copies(few, allocator);
	memory_give(allocator, &memory);
	few->bytes = NULL;
	few->size = few->count = 0;
}

nidus_status few_copy(struct few *to, const struct few *from, const nidus_allocator *allocator)
{
	nidus_status status = few_reserve(to, from->count, allocator);
	if (status == NIDUS_OK && from->copies != NULL)
		status = begin_copies(to, allocator);
	if (status == NIDUS_OK && from->copies != NULL)
		status = overflow_copy(to->copies, from->copies, allocator);
	if (status != NIDUS_OK)
		return status;
	to->count = from->count;
	if (from->count > 0)
		memcpy(to->bytes, from->bytes, (size_t)few_bytes(from));
	return NIDUS_OK;
}

nidus_status few_import_copies(struct few *few, const unsigned char *bytes, uint64_t n,
                               const nidus_allocator *allocator)
{
	nidus_entry last = { 0 };
	nidus_status status = NIDUS_OK;
	for (uint64_t i = 0; i < n && status == NIDUS_OK; i++, bytes += OVERFLOW_ENTRY) {
		uint64_t copies;
		const nidus_entry entry = overflow_decode(bytes, &copies);
		const struct few_record record = { entry.home, entry.value };
		if (entry.fingerprint != 0 || copies == 0 || entry.home > bits_low(few->bits) ||
		    !is_at(few, few_find(few, record), record) ||
		    (i > 0 && !overflow_in_order(&last, &entry)))
			return fail(NIDUS_E_CORRUPT, "the copies of a small filter make no sense");
		status = add_copies(few, &entry, copies, allocator);
		last = entry;
	}
	return status;
}

/* Whether the marks up to one are right, before the record at a place. */
static bool marks_match(const struct few *few, const struct shape *shape, struct few_place place,
                        uint64_t *mark)
{
	for (; *mark < shape->marks && place.head >> MARK_LOG > *mark; ++*mark) {
		if (get(few->bytes, shape->marks_at + *mark * MARK, MARK) != place.index)
			return false;
	}
	return true;
}

bool few_in_order(const struct few *few)
{
	const struct shape shape = shape_of(few);
	struct few_record record, last = { 0, 0 };
	struct few_place place = { 0, 0 }, end = { few->count, shape.heads };
	uint64_t mark = 0;
	if (few->count == 0)
		return true;
	while (few_next(few, &place, &record)) {
		struct few_place here = { place.index - 1, place.head };
		if ((here.index > 0 && !is_below(last, record)) ||
		    !marks_match(few, &shape, here, &mark))
			return false;
		last = record;
	}
	uint64_t words = WORD * divide_up(shape.end, WORD);
	return place.index == few->count &&
	       next_bit(few, &shape, place.index + place.head, true) == few->count + shape.heads &&
	       marks_match(few, &shape, end, &mark) &&
	       get(few->bytes, shape.end, (unsigned)(words - shape.end)) == 0;
}
