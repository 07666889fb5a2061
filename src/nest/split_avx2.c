/* SPDX-License-Identifier: MIT
 *
 * split_avx2: blocks of a body that is split (split.c), each at once: eight slots of up to 25 bits
 * that have no values, or a coded bucket.
 *
 * Eight slots of w bits are w bytes, whatever w is: where a slot lies in a block, as a byte and
 * a bit of it, is the same for all blocks of a body. So a block becomes eight numbers of
 * 32 bits, and eight numbers a block, by shuffles and shifts that are set once:
 *
 *     slots, from any bit on    ->  bytes that hold each, shuffled  ->  shifted down, masked
 *     numbers                   ->  pairs in 64 bits                ->  four of them in 128 bits
 *
 * Of coded buckets pdep makes fields; of those that go to a body, and of their bits that stay, pext
 * makes nibbles and rests without a gap.
 */
#if defined(__AVX2__)

#include "nest/split.h"

#include <immintrin.h>
#include <string.h>

#define WIDTH_MOST 25 /* bits that four bytes hold, wherever in the first of them they begin */
#define REACH 32      /* bytes that are read or written from the beginning of a block on */

/* ------------------------------------------------------------------------- blocks -- */

/* How a block lies in memory, as two halves of 16 bytes that begin in its first byte and in `half`. */
struct block_shape {
	unsigned width, half;
	__m256i take, down, mask; /* from bytes to numbers */
	__m256i up, place;        /* from pairs to bytes: how far up, and where the second goes */
	__m128i carry;            /* the byte in which both halves meet, if there is one */
	__m128i pair;             /* how far a number in the upper 32 bits goes down */
};

static struct block_shape shape_of(unsigned width)
{
	uint8_t take[32], place[32], carry[16];
	uint32_t down[8];
	uint64_t up[4];
	const unsigned half = width / 2,
		       rest = width % 2 * 4; /* bits of a byte before the upper half */
	memset(place, 0x80, sizeof place);
	memset(carry, 0x80, sizeof carry);
	for (unsigned i = 0; i < 8; i++) {
		unsigned bit = i % 4 * width + (i < 4 ? 0 : rest);
		down[i] = bit % 8;
		for (unsigned byte = 0; byte < 4; byte++)
			take[4 * i + byte] = (uint8_t)(bit / 8 + byte);
	}
	for (unsigned i = 0; i < 4; i++) {
		unsigned bit = i % 2 * 2 * width + (i < 2 ? 0 : rest);
		up[i] = bit % 8;
		for (unsigned byte = 0; i % 2 == 1 && byte < 8 && bit / 8 + byte < 16; byte++)
			place[i / 2 * 16 + bit / 8 + byte] = (uint8_t)(8 + byte);
	}
	if (rest > 0)
		carry[0] = (uint8_t)half;
	return (struct block_shape){
		.width = width,
		.half = half,
		.take = _mm256_loadu_si256((const __m256i *)(const void *)take),
		.down = _mm256_loadu_si256((const __m256i *)(const void *)down),
		.mask = _mm256_set1_epi32((int)bits_low(width)),
		.up = _mm256_loadu_si256((const __m256i *)(const void *)up),
		.place = _mm256_loadu_si256((const __m256i *)(const void *)place),
		.carry = _mm_loadu_si128((const __m128i *)(const void *)carry),
		.pair = _mm_cvtsi32_si128((int)(32 - width)),
	};
}

/* The slots of a block as numbers. */
ALWAYS_INLINE __m256i block_read(const struct block_shape *shape, const unsigned char *at)
{
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)at);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)(at + shape->half));
	__m256i bytes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), shape->take);
	return _mm256_and_si256(_mm256_srlv_epi32(bytes, shape->down), shape->mask);
}

/* Writes numbers to a block of which only their slots' bits and what is behind them may be set. */
ALWAYS_INLINE void block_write(const struct block_shape *shape, unsigned char *at, __m256i numbers,
                               bool fresh)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i odd = _mm256_srl_epi64(_mm256_blend_epi32(zero, numbers, 0xaa), shape->pair);
	__m256i pairs = _mm256_or_si256(_mm256_blend_epi32(numbers, zero, 0xaa), odd);
	pairs = _mm256_sllv_epi64(pairs, shape->up);
	__m256i fours = _mm256_or_si256(_mm256_unpacklo_epi64(pairs, zero),
	                                _mm256_shuffle_epi8(pairs, shape->place));
	__m128i low = _mm256_castsi256_si128(fours), high = _mm256_extracti128_si256(fours, 1);
	__m128i *low_at = (__m128i *)(void *)at, *high_at = (__m128i *)(void *)(at + shape->half);
	high = _mm_or_si128(high, _mm_shuffle_epi8(low, shape->carry));
	if (!fresh) {
		low = _mm_or_si128(low, _mm_loadu_si128(low_at));
		high = _mm_or_si128(high, _mm_loadu_si128(high_at));
	}
	_mm_storeu_si128(low_at, low);
	_mm_storeu_si128(high_at, high);
}

/* ---------------------------------------------------------------------- splitting -- */

/* Which of eight numbers these are, as a bit of each; and the way back. */
static inline unsigned bits_of(__m256i which)
{
	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(which));
}

static inline __m256i of_bits(unsigned bits)
{
	const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), own), own);
}

/* A body that entries go to. */
struct block_lane {
	struct nest *to;
	struct block_shape shape;
	__m256i added;
	bool fresh; /* no slot was taken before */
};

static struct block_lane lane_of(const struct nest *from, const struct spread_range *range)
{
	struct nest *to = range->body;
	return (struct block_lane){
		.to = to,
		.shape = shape_of(to->layout->width),
		.added = _mm256_set1_epi32((int)(uint32_t)(range->added << from->layout->tag_at)),
		.fresh = to->chunk[0].used == 0,
	};
}

/* Numbers whose slots are taken go elsewhere. */
NEVER_INLINE nidus_status put_late(struct block_lane *lane, uint64_t slot, __m256i numbers,
                                   unsigned which)
{
	struct split_late late = { .count = 0 };
	uint32_t value[SPLIT_BLOCK];
	_mm256_storeu_si256((__m256i *)(void *)value, numbers);
	for (; which != 0; which &= which - 1, late.count++) {
		unsigned i = (unsigned)__builtin_ctz(which);
		late.slot[late.count] = slot + i;
		late.value[late.count] = value[i];
	}
	return split_put_late(lane->to, &late);
}

/* Puts those of eight numbers into a lane that go there. */
ALWAYS_INLINE nidus_status put_block(struct block_lane *lane, uint64_t slot, __m256i numbers,
                                     __m256i which)
{
	unsigned char *at = lane->to->bits + slot / SPLIT_BLOCK * lane->shape.width;
	unsigned late = 0;
	numbers = _mm256_and_si256(_mm256_add_epi32(numbers, lane->added), which);
	__m256i now = numbers;
	if (!lane->fresh) {
		__m256i there = block_read(&lane->shape, at);
		__m256i open = _mm256_cmpeq_epi32(there, _mm256_setzero_si256());
		now = _mm256_and_si256(numbers, open);
		late = bits_of(_mm256_andnot_si256(open, which));
	}
	lane->to->chunk[0].used += (unsigned)__builtin_popcount(bits_of(which) & ~late);
	block_write(&lane->shape, at, now, lane->fresh);
	return late == 0 ? NIDUS_OK : put_late(lane, slot, numbers, late);
}

/* Those of eight numbers that have the limit's tag and are of the first range nevertheless. */
NEVER_INLINE __m256i borrowed_below(const struct nest *from, const struct spread *spread,
                                    uint64_t slot, __m256i numbers, unsigned which)
{
	uint32_t value[SPLIT_BLOCK];
	unsigned below = 0;
	_mm256_storeu_si256((__m256i *)(void *)value, numbers);
	for (; which != 0; which &= which - 1) {
		unsigned i = (unsigned)__builtin_ctz(which);
		if (split_borrowed(from, slot + i, value[i]) < spread->borrowed)
			below |= 1u << i;
	}
	return of_bits(below);
}

/* How many blocks of a body are read and written without a byte behind its slots. */
static uint64_t blocks_of(const struct nest *nest)
{
	uint64_t bytes = nest_chunk_slots(nest->layout) * nest->layout->width / 8;
	return bytes < REACH ? 0 : (bytes - REACH) / nest->layout->width + 1;
}

nidus_status split_blocks_avx2(const struct nest *from, const struct spread *spread, uint64_t *done)
{
	const struct nest_layout *layout = from->layout;
	*done = 0;
	if (layout->width > WIDTH_MOST || layout->payload_bits > 0)
		return NIDUS_OK;
	const bool two = spread->range[0].body != spread->range[1].body;
	const struct block_shape shape = shape_of(layout->width);
	const __m256i limit = _mm256_set1_epi32((int)(spread->limit << layout->tag_at)),
		      before = _mm256_sub_epi32(limit, _mm256_set1_epi32(1)),
		      tag = _mm256_set1_epi32((int)(bits_low(layout->tag_bits) << layout->tag_at));
	struct block_lane first = lane_of(from, &spread->range[0]),
			  second = lane_of(from, &spread->range[1]);
	uint64_t blocks = blocks_of(from), slot = 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t there = blocks_of(spread->range[i].body);
		blocks = there < blocks ? there : blocks;
	}
	nidus_status status = NIDUS_OK;
	for (; slot < blocks * SPLIT_BLOCK && status == NIDUS_OK; slot += SPLIT_BLOCK) {
		__m256i numbers = block_read(&shape, from->bits + slot / SPLIT_BLOCK * shape.width);
		__m256i here = _mm256_cmpgt_epi32(numbers, _mm256_setzero_si256());
		if (two) {
			__m256i there = _mm256_and_si256(_mm256_cmpgt_epi32(numbers, before), here);
			if (spread->borrows) {
				__m256i equal =
					_mm256_cmpeq_epi32(_mm256_and_si256(numbers, tag), limit);
				unsigned unsure = bits_of(_mm256_and_si256(equal, here));
				there = _mm256_andnot_si256(
					borrowed_below(from, spread, slot, numbers, unsure), there);
			}
			here = _mm256_andnot_si256(there, here);
			status = put_block(&second, slot, numbers, there);
		}
		if (status == NIDUS_OK)
			status = put_block(&first, slot, numbers, here);
	}
	*done = slot;
	return status;
}

/* ------------------------------------------------------------------ coded buckets -- */

/* A body that entries of coded buckets go to. Bits of fields as they come, which stay: */
struct bucket_lane {
	struct nest *to;
	uint64_t added; /* to a slot: what its tag becomes more */
	uint64_t kept;  /* of a slot, */
	uint64_t rest;  /* without its nibble, */
	uint64_t row;   /* and of all four */
};

static struct bucket_lane bucket_lane_of(const struct nest *from, const struct spread_range *range)
{
	const struct nest_layout *layout = from->layout;
	struct nest *to = range->body;
	struct bucket_lane lane = { .to = to, .added = range->added << layout->tag_at };
	lane.kept = bits_low(to->layout->payload_at) |
	            bits_low(layout->payload_bits) << layout->payload_at;
	lane.rest = lane.kept & ~UINT64_C(15);
	lane.row = lane.kept * fields_ones(layout->width, CODED_SLOTS);
	return lane;
}

/* Puts the entries of fields, whose lowest bits are `own`, into a bucket. */
ALWAYS_INLINE nidus_status put_into_bucket(const struct bucket_lane *lane, uint64_t bucket,
                                           uint64_t fields, uint64_t own)
{
	struct nest *to = lane->to;
	const struct coded_masks *masks = &to->layout->coding;
	const unsigned count = (unsigned)POPCOUNT64(own), empty = CODED_SLOTS - count;
	const uint64_t bit = bucket * to->layout->group_bits;
	fields += own * lane->added;
	if ((coded_load(to->bits, bit) & masks->all) != 0)
		return split_join_bucket(to, bucket, _pext_u64(fields, lane->row));
	struct coded_parts parts = { _pext_u64(fields, own * 15) << 4 * empty,
		                     _pext_u64(fields, own * lane->rest)
		                             << masks->rest_bits * empty };
	coded_store(masks, to->bits, bit, coded_bits_of(parts));
	to->chunk[0].used += count;
	return NIDUS_OK;
}

/* Entries of a bucket are in order and stay so: what comes to an empty one need not be sorted. */
nidus_status split_buckets_avx2(const struct nest *from, const struct spread *spread)
{
	const struct nest_layout *layout = from->layout;
	const bool two = spread->range[0].body != spread->range[1].body;
	const struct row row = row_of(layout, CODED_SLOTS);
	const struct row_limit limit = row_limit_of(layout, CODED_SLOTS, spread->limit);
	const uint64_t nibbles = row.ones * 15, rests = row.all & ~nibbles;
	const struct bucket_lane first = bucket_lane_of(from, &spread->range[0]),
				 second = bucket_lane_of(from, &spread->range[1]);
	nidus_status status = NIDUS_OK;
	for (uint64_t bucket = 0; bucket < layout->groups && status == NIDUS_OK; bucket++) {
		uint64_t bits = coded_load(from->bits, bucket * layout->group_bits);
		struct coded_parts parts = coded_parts_in(&layout->coding, bits);
		uint64_t fields = _pdep_u64(parts.nibbles, nibbles) | _pdep_u64(parts.rests, rests);
		uint64_t here = row_taken(&row, fields), there = 0;
		if (two) {
			there = row_from(&limit, fields);
			if (spread->borrows)
				there = split_by_borrowed(from, spread, CODED_SLOTS,
				                          bucket * CODED_SLOTS, fields, there);
			there &= here;
			here ^= there;
		}
		if (there != 0)
			status = put_into_bucket(&second, bucket, fields & there * layout->slot_mask,
			                         there);
		if (here != 0 && status == NIDUS_OK)
			status = put_into_bucket(&first, bucket, fields & here * layout->slot_mask,
			                         here);
	}
	return status;
}

#else
typedef int nidus_split_avx2_is_for_other_processors;
#endif
