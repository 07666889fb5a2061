/* SPDX-License-Identifier: MIT
 *
 * yard: layout, life, walks, and yards that go into others.
 */
#include "yard/yard.h"

#include "base/effort.h"
#include "base/probe.h"
#include "base/reason.h"
#include "simd/isa.h"
#include "yard/list.h"
#include "yard/tiers.h"

#define FRONTS_MOST (UINT64_C(1) << 40)

const struct yard_ops *yard_find(unsigned slots)
{
#ifdef NIDUS_HAVE_AVX2
	if (isa_tier() == ISA_AVX2)
		return yard_avx2(slots);
#endif
	return yard_scalar(slots);
}

/*
 * How far odd lines are from even ones, per crumb. All 120 differences are different; the
 * residues are different mod 16, and as even as can be mod most smaller numbers.
 */
static const uint16_t hops[YARD_FAN] = { 0,   8,   18,  31,  45,  164, 183, 186,
	                                 235, 275, 277, 334, 377, 401, 406, 412 };

static uint64_t half_lines(uint64_t fronts)
{
	return divide_up(fronts, YARD_FAN);
}

uint64_t yard_lines(uint64_t fronts)
{
	return fronts + 2 * half_lines(fronts);
}

void yard_lay_back(struct yard *yard)
{
	yard->half = half_lines(yard->fronts);
	for (unsigned crumb = 0; crumb < YARD_FAN; crumb++)
		yard->hop[crumb] = (uint16_t)(hops[crumb] % yard->half);
}

/* Bytes of the values of all lines. */
static uint64_t values_bytes(const struct yard_shape *shape, uint64_t fronts, unsigned bits)
{
	return fronts * yard_values_size(shape->front.slots, bits) +
	       2 * half_lines(fronts) * yard_values_size(shape->back.slots, bits);
}

uint64_t yard_table_bytes(const struct blueprint *plan, unsigned tag_bits)
{
	const struct yard_shape *shape = &yard_find(plan->slots)->shape;
	return yard_lines(plan->groups) * mini_line(shape->front) +
	       values_bytes(shape, plan->groups, tag_bits + plan->value_bits);
}

/* What is cut from a hash leads back to one: the product of all choices fits. */
static nidus_status check_choices(const struct mini_shape *front, uint64_t parts, uint64_t fronts)
{
	uint64_t choices;
	if (parts < 1 || multiply_overflows(parts, fronts, &choices) ||
	    multiply_overflows(choices, front->buckets, &choices) ||
	    choices > UINT64_C(1) << (64 - front->width))
		return fail(NIDUS_E_RANGE,
		            "so many keys at so low a rate need more than a 64-bit hash");
	return NIDUS_OK;
}

nidus_status yard_check(const struct blueprint *plan)
{
	const struct yard_ops *ops = yard_find(plan->slots);
	if (ops == NULL)
		return fail(NIDUS_E_RANGE, "no line has %u slots", plan->slots);
	if (plan->core_bits != ops->shape.front.width)
		return fail(NIDUS_E_RANGE, "fingerprints of %u bits in lines for remainders of %u",
		            plan->core_bits, ops->shape.front.width);
	if (plan->growth_bits != 0)
		return fail(NIDUS_E_RANGE, "yards of a fixed size with %u bits to grow",
		            plan->growth_bits);
	if (plan->value_bits > VALUE_BITS_MOST)
		return fail(NIDUS_E_RANGE, "values of %u bits; at most %d are possible",
		            plan->value_bits, VALUE_BITS_MOST);
	if (plan->chunks != 1 || plan->groups < 1 || plan->groups > FRONTS_MOST)
		return fail(NIDUS_E_RANGE, "so many front buckets are not possible");
	return check_choices(&ops->shape.front, 1, plan->groups);
}

nidus_status yard_check_segment(const struct blueprint *plan, const struct segment *segment)
{
	struct blueprint whole = *plan;
	whole.growth_bits = 0;
	nidus_status status = yard_check(&whole);
	if (status != NIDUS_OK)
		return status;
	if (segment->tag_bits > YARD_TAG_BITS_MOST)
		return fail(NIDUS_E_RANGE, "entries cannot keep %u bits of their part",
		            segment->tag_bits);
	return check_choices(&yard_find(plan->slots)->shape.front, segment->parts, plan->groups);
}

void yard_moved(struct yard *yard, unsigned char *room)
{
	unsigned line = mini_line(yard->ops->shape.front);
	yard->memory.bytes = room;
	yard->front = room;
	yard->back = room + yard->fronts * line;
	if (yard->beside_bits > 0)
		yard->values = room + yard_lines(yard->fronts) * line;
}

void yard_sketch(struct yard *yard, const struct blueprint *plan, const struct segment *segment)
{
	const struct yard_ops *ops = yard_find(plan->slots);
	*yard = (struct yard){
		.parts = segment->parts,
		.first_part = segment->first,
		.fronts = plan->groups,
		.width = (uint8_t)ops->shape.front.width,
		.buckets = (uint8_t)ops->shape.front.buckets,
		.tag_bits = (uint8_t)segment->tag_bits,
		.value_bits = (uint8_t)plan->value_bits,
		.beside_bits = (uint8_t)(segment->tag_bits + plan->value_bits),
		.capacity = plan->capacity,
		.ops = ops,
	};
}

nidus_status yard_create(struct yard *yard, const struct blueprint *plan,
                         const struct segment *segment, const nidus_allocator *allocator,
                         unsigned char *table)
{
	const struct segment whole = { .parts = 1 };
	if (segment == NULL)
		segment = &whole;
	yard_sketch(yard, plan, segment);
	yard->version = probe_version();
	yard->mapped = table != NULL;
	yard->allocator = *allocator;
	yard_lay_back(yard);
	uint64_t bytes = yard_table_bytes(plan, segment->tag_bits);
	unsigned char *lent = table != NULL ? table : segment->room;
	nidus_status status = NIDUS_OK;
	if (lent == NULL)
		status = memory_take(allocator, bytes, &yard->memory);
	else
		yard->memory = memory_lent(lent, bytes);
	if (status != NIDUS_OK)
		return status;
	yard_moved(yard, yard->memory.bytes);
	yard->careful = yard->values != NULL;
	if (table == NULL && plan->features & NIDUS_CONCURRENT)
		status = stripes_make(&yard->stripes, 1,
		                      yard_lines(yard->fronts) * mini_line(yard->ops->shape.front),
		                      allocator);
	if (status != NIDUS_OK)
		yard_free(yard);
	return status;
}

uint64_t yard_slots(const struct yard *yard)
{
	const struct yard_shape *shape = &yard->ops->shape;
	return yard->fronts * shape->front.slots + 2 * yard->half * shape->back.slots;
}

void yard_free(struct yard *yard)
{
	yard_list_free(yard);
	stripes_unmake(&yard->stripes, &yard->allocator);
	memory_give(&yard->allocator, &yard->memory);
}

uint64_t yard_bytes(const struct yard *yard)
{
	return yard->memory.size + yard->stripes.memory.size + yard_list_bytes(yard);
}

const struct body_ops *yard_body_ops(const struct yard *yard)
{
	return yard_shared(yard) ? &yard->ops->shared : &yard->ops->body;
}

void yard_clear(struct yard *yard)
{
	memset(yard->memory.bytes, 0, yard->memory.size);
	effort_of_thread()->cleared += yard->memory.size;
	yard_list_free(yard);
	yard->count = 0;
	stripes_forget(&yard->stripes);
}

/* -------------------------------------------------------------------- verify -- */

static nidus_status bad_line(const char *yard, uint64_t line)
{
	return fail(NIDUS_E_CORRUPT, "line %llu of the %s holds what no insert leaves",
	            (unsigned long long)line, yard);
}

/* Whether an entry of a backyard line has a right to be there. */
static bool belongs(const struct yard *yard, uint64_t line, unsigned slot)
{
	struct mini_shape front = yard->ops->shape.front, back = yard->ops->shape.back;
	const unsigned char *bytes = yard->back + line * mini_line(back);
	uint64_t owner = yard_front_of(yard, line, mini_crumb(back, bytes, slot));
	if (owner >= yard->fronts)
		return false;
	const unsigned char *owned = yard->front + owner * mini_line(front);
	return mini_full(front, owned) &&
	       mini_bucket_of(back, mini_sizes_of(back, bytes), slot) >=
	               mini_last_bucket(front, mini_sizes_of(front, owned));
}

nidus_status yard_verify(const struct yard *yard, uint64_t *count)
{
	struct mini_shape front = yard->ops->shape.front, back = yard->ops->shape.back;
	*count = 0;
	for (uint64_t i = 0; i < yard->fronts; i++) {
		const unsigned char *line = yard->front + i * mini_line(front);
		if (!mini_valid(front, line))
			return bad_line("front yard", i);
		unsigned here = mini_count(front, mini_sizes_of(front, line));
		if (yard->values != NULL && !yard_values_end(yard_front_values(yard, i), here))
			return bad_line("front yard", i);
		*count += here;
	}
	for (uint64_t i = 0; i < 2 * yard->half; i++) {
		const unsigned char *line = yard->back + i * mini_line(back);
		if (!mini_valid(back, line))
			return bad_line("backyard", i);
		unsigned here = mini_count(back, mini_sizes_of(back, line));
		for (unsigned slot = 0; slot < here; slot++) {
			if (!belongs(yard, i, slot))
				return bad_line("backyard", i);
		}
		if (yard->values != NULL && !yard_values_end(yard_back_values(yard, i), here))
			return bad_line("backyard", i);
		*count += here;
	}
	*count += yard->list.entries;
	return yard_list_verify(yard);
}

/* --------------------------------------------------------------------- walks -- */

/* Places of a front bucket are numbered: its own slots, then its even and its odd line's. */
bool yard_next_in(const struct yard *yard, uint64_t bucket, uint64_t *at, struct yard_key *key)
{
	struct mini_shape front = yard->ops->shape.front, back = yard->ops->shape.back;
	const unsigned char *line = yard->front + bucket * mini_line(front);
	struct mini_sizes sizes = mini_sizes_of(front, line);
	key->bucket = bucket;
	if (*at < mini_count(front, sizes)) {
		key->m = mini_bucket_of(front, sizes, (unsigned)*at);
		key->remainder = mini_remainder(front, line, (unsigned)*at);
		key->beside = yard_value(yard_front_values(yard, bucket), (unsigned)*at);
		++*at;
		return true;
	}
	if (!mini_full(front, line))
		return false; /* nothing of it is in the backyard */
	while (*at < front.slots + 2 * back.slots) {
		unsigned half = *at >= front.slots + back.slots;
		unsigned slot = (unsigned)*at - front.slots - half * back.slots;
		line = yard_back_line(yard, bucket, half);
		sizes = mini_sizes_of(back, line);
		++*at;
		if (slot >= mini_count(back, sizes))
			*at = front.slots + (half + 1) * back.slots;
		else if (mini_crumb(back, line, slot) == yard_crumb(bucket)) {
			key->m = mini_bucket_of(back, sizes, slot);
			key->remainder = mini_remainder(back, line, slot);
			key->beside = yard_value(
				yard_back_values(yard, yard_line_in(yard, bucket, half) * 2 + half),
				slot);
			return true;
		}
	}
	return false;
}

nidus_entry yard_identity(const struct yard *yard, struct yard_key key)
{
	uint64_t tag = key.beside & bits_low(yard->tag_bits);
	uint64_t above = tag << YARD_BUCKET_BITS | (key.m + 1);
	return (nidus_entry){
		.home = key.bucket,
		.fingerprint = above << yard->width | key.remainder,
		.value = key.beside >> yard->tag_bits,
	};
}

bool yard_next(const struct yard *yard, nidus_cursor *cursor, nidus_entry *entry)
{
	uint64_t *bucket = &cursor->position[0], *at = &cursor->position[1];
	for (; *bucket < yard->fronts; ++*bucket, *at = 0) {
		struct yard_key key;
		if (!yard_next_in(yard, *bucket, at, &key))
			continue;
		*entry = yard_identity(yard, key);
		return true;
	}
	/* Behind all front buckets: the list, copy by copy. */
	const struct overflow_node *node = overflow_at(&yard->list, *at);
	if (node == NULL)
		return false;
	*entry = yard_identity(yard, yard_list_key(yard, &node->entry));
	++*at;
	return true;
}

/* What is left of a hash of an entry behind its part: the choices of yard_locate, backwards. */
static uint64_t entry_rest(const struct yard *yard, const nidus_entry *entry)
{
	uint64_t m = (entry->fingerprint >> yard->width & bits_low(YARD_BUCKET_BITS)) - 1;
	uint64_t rest = entry->fingerprint << (64 - yard->width);
	rest = divide_wide_up(m, rest, yard->buckets);
	return divide_wide_up(entry->home, rest, yard->fronts);
}

nidus_status yard_entry_hash(const struct yard *yard, const nidus_entry *entry, uint64_t *hash)
{
	uint64_t above = entry->fingerprint >> yard->width; /* mini-bucket + 1, and the tag */
	uint64_t tag = above >> YARD_BUCKET_BITS & bits_low(yard->tag_bits);
	above ^= tag << YARD_BUCKET_BITS;
	if (entry->value > bits_low(yard->value_bits) || entry->home >= yard->fronts || above < 1 ||
	    above > yard->buckets)
		return fail(NIDUS_E_RANGE,
		            "this entry cannot come from a filter of the same geometry");
	*hash = entry_rest(yard, entry);
	return NIDUS_OK;
}

uint64_t yard_body_hash(const struct yard *yard, const nidus_entry *entry, uint64_t part)
{
	assert(entry->home < yard->fronts && part < yard->parts);
	return divide_wide_up(part, entry_rest(yard, entry), yard->parts);
}

uint64_t yard_borrowed(const struct yard *yard, struct yard_key key)
{
	uint64_t line = key.bucket * yard->buckets + key.m;
	return lender_spread(line << yard->width | key.remainder);
}

uint64_t yard_borrow(const struct yard *yard, uint64_t hash)
{
	return yard_borrowed(yard, yard_locate(yard, hash));
}

struct lender yard_lender(const struct yard *yard)
{
	struct lender lender = { .identities = 0 };
	if (multiply_overflows(yard->fronts, (uint64_t)yard->buckets << yard->width,
	                       &lender.identities))
		lender.identities = 0;
	return lender;
}

nidus_status yard_spread(const struct yard *from, const struct spread *spread)
{
	return from->ops->spread(from, spread);
}

/* ------------------------------------------------------------------- finding -- */

#define BLOCK 64 /* keys that are looked up, so that their lines are there, and then found */

/* Strangers touch no values, and others come one by one. */
void yard_find_one_by_one(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                          uint32_t *found)
{
	const struct yard *yard = body;
	const struct body_ops *ops = yard_body_ops(yard);
	uint8_t yes[BLOCK];
	for (size_t from = 0; from < n; from += BLOCK) {
		size_t some = n - from < BLOCK ? n - from : BLOCK;
		ops->contains_batch(yard, hashes + from, some, yes);
		for (size_t i = 0; i < some; i++) {
			uint64_t bucket = yard_locate(yard, hashes[from + i]).bucket;
			if (yes[i])
				PREFETCH(yard_front_values(yard, bucket).bytes);
		}
		for (size_t i = from; i < from + some; i++) {
			first[i] = 0;
			size_t all = yes[i - from] ? ops->find(yard, hashes[i], &first[i], 1) : 0;
			found[i] = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
		}
	}
}

/* ------------------------------------------------------------------ building -- */

/* Where part `index` of `parts` begins among n; the n are fewer than 2^40. */
static uint64_t share(uint64_t n, unsigned index, unsigned parts)
{
	return n / parts * index + n % parts * index / parts;
}

/* How many of the hashes belong to front buckets before this one. */
static size_t hashes_before(const struct yard *yard, const uint64_t *hashes, size_t n,
                            uint64_t bucket)
{
	size_t from = 0;
	while (n > 0) {
		size_t half = n / 2;
		if (yard_locate(yard, hashes[from + half]).bucket < bucket) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

/* A part of the front buckets, and of the hashes. */
struct stretch {
	uint64_t bucket, end;
	size_t from, to;
};

static struct stretch stretch(const struct yard *yard, const uint64_t *hashes, size_t n,
                              unsigned index, unsigned parts)
{
	assert(yard->parts == 1 && yard->tag_bits == 0 && index < parts);
	struct stretch stretch = { .bucket = share(yard->fronts, index, parts),
		                   .end = share(yard->fronts, index + 1, parts) };
	stretch.from = hashes_before(yard, hashes, n, stretch.bucket);
	stretch.to = hashes_before(yard, hashes, n, stretch.end);
	return stretch;
}

nidus_status yard_build_fronts(struct yard *yard, const uint64_t *hashes, const uint64_t *values,
                               size_t n, unsigned index, unsigned parts)
{
	struct stretch part = stretch(yard, hashes, n, index, parts);
	/* Without any keys there is no array either. */
	if (part.to > part.from &&
	    !yard->ops->fill_fronts(yard, hashes + part.from, values_from(values, part.from),
	                            part.to - part.from))
		return NIDUS_COPIES; /* the caller does it another way */
	return NIDUS_OK;
}

nidus_status yard_build_back(struct yard *yard, const uint64_t *hashes, const uint64_t *values,
                             size_t n, unsigned index, unsigned parts)
{
	struct stretch part = stretch(yard, hashes, n, index, parts);
	if (part.to == part.from)
		return NIDUS_OK;
	return yard->ops->fill_back(yard, hashes + part.from, values_from(values, part.from),
	                            part.to - part.from, part.bucket, part.end);
}

/* ------------------------------------------------------------------- transferring -- */

/* Entry by entry: values, and lines of a file, which may change even after a check. */
static nidus_status transfer_entries(struct yard *to, const struct yard *from)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	while (yard_next(from, &cursor, &entry)) {
		uint64_t hash = 0;
		if (cursor.position[0] >= from->fronts)
			break; /* the list comes as a whole */
		nidus_status status = yard_entry_hash(to, &entry, &hash);
		if (status == NIDUS_OK)
			status = to->ops->body.insert_value(to, hash, entry.value);
		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

static nidus_status transfer_list(struct yard *to, const struct yard *from)
{
	nidus_status status = NIDUS_OK;
	const struct overflow_node *node = overflow_next(&from->list, NULL);
	for (; node != NULL && status == NIDUS_OK; node = overflow_next(&from->list, &node->entry))
		status = yard_put_copies(to, yard_list_key(from, &node->entry), node->copies);
	return status;
}

nidus_status yard_transfer(struct yard *to, const struct yard *from)
{
	assert(to->fronts == from->fronts && to->value_bits == from->value_bits);
	assert(to->parts == 1 && from->parts == 1 && to->tag_bits + from->tag_bits == 0);
	nidus_status status = from->mapped || from->beside_bits > 0 ? transfer_entries(to, from)
	                                                            : to->ops->transfer(to, from);
	return status == NIDUS_OK ? transfer_list(to, from) : status;
}
