/* SPDX-License-Identifier: MIT
 *
 * Yards that are bodies of a growing filter: entries with tags against a model, identities and the
 * hashes that lead back to them, batches of keys of several bodies, and bodies that are split.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/yards.h"
#include "yard/list.h"

#include <stdlib.h>

#define FRONTS 3
#define IDENTITIES 150
#define PARTS 4   /* that keys of a body are of, out of all that it could hold */
#define VALUES 3  /* different ones */
#define FOUND 600 /* copies of a key at most */

struct body {
	struct yard yard;
	unsigned value_bits;
	uint64_t part[PARTS];
	nidus_entry identity[IDENTITIES]; /* tag 0 */
	unsigned model[IDENTITIES][PARTS][VALUES];
};

/* Below a capacity like this no key is refused: what lines have no place for is listed. */
#define LISTED (UINT64_C(1) << 40)

static struct blueprint plan_of(unsigned slots, uint64_t fronts, unsigned value_bits, bool shared)
{
	const struct mini_shape *front = &yard_find(slots)->shape.front;
	return (struct blueprint){
		.features = shared ? NIDUS_CONCURRENT : 0,
		.capacity = 1,
		.max_capacity = 1,
		.fpr = 0.01,
		.slots = front->slots,
		.core_bits = front->width,
		.growth_bits = 7, /* of the filter; not of the lines */
		.chunks = 1,
		.groups = fronts,
		.value_bits = value_bits,
	};
}

static void make_body(struct yard *yard, unsigned slots, uint64_t fronts, unsigned value_bits,
                      struct segment segment, bool shared, uint64_t capacity)
{
	const nidus_allocator system = { 0 };
	struct blueprint plan = plan_of(slots, fronts, value_bits, shared);
	plan.capacity = plan.max_capacity = capacity;
	expect_ok(yard_check_segment(&plan, &segment));
	expect_ok(yard_create(yard, &plan, &segment, &system, NULL));
}

static void choose_parts(struct body *body, const struct segment *segment, struct chance *chance)
{
	for (unsigned i = 0; i < PARTS; i++)
		body->part[i] =
			segment->first + (chance_next(chance) & bits_low(segment->tag_bits));
}

static void choose_identities(struct body *body, struct chance *chance)
{
	const struct yard *yard = &body->yard;
	const unsigned rounds =
		(IDENTITIES >> yard->width) + 1; /* through all remainders, at most 3 */
	for (unsigned i = 0; i < IDENTITIES; i++) {
		/* In a few mini-buckets, so that runs are long, and all different. */
		unsigned few = (unsigned)chance_below(chance, 6 / rounds) * rounds;
		struct yard_key key = {
			.bucket = chance_below(chance, FRONTS),
			.m = (few + (i >> yard->width)) * (yard->buckets - 1) / 5,
			.remainder = i & bits_low(yard->width),
		};
		body->identity[i] = yard_identity(yard, key);
	}
}

static uint64_t tag_of(const struct body *body, unsigned part)
{
	return body->part[part] - body->yard.first_part;
}

static uint64_t hash_of(const struct body *body, unsigned identity, unsigned part)
{
	return yard_body_hash(&body->yard, &body->identity[identity], body->part[part]);
}

/* Parts of one tag are one to the body: the first of those. */
static unsigned same_tag(const struct body *body, unsigned part)
{
	unsigned first = 0;
	while (tag_of(body, first) != tag_of(body, part))
		first++;
	return first;
}

static uint64_t value_number(const struct body *body, unsigned number)
{
	uint64_t most = bits_low(body->value_bits);
	return number == VALUES - 1 ? most : most / 2 * number;
}

/* The entries of the body as a walk tells them. */
static void walk(const struct body *body, unsigned seen[IDENTITIES][PARTS][VALUES])
{
	const struct yard *yard = &body->yard;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t count = 0;
	memset(seen, 0, sizeof body->model);
	for (; yard_next(yard, &cursor, &entry); count++) {
		uint64_t plain = entry.fingerprint & bits_low(yard->width + YARD_BUCKET_BITS);
		uint64_t i = plain & bits_low(yard->width);
		uint64_t tag = entry.fingerprint >> (yard->width + YARD_BUCKET_BITS);
		unsigned part = 0, value = 0;
		while (i < IDENTITIES && (body->identity[i].home != entry.home ||
		                          body->identity[i].fingerprint != plain))
			i += UINT64_C(1) << yard->width;
		expect(i < IDENTITIES);
		while (part < PARTS && tag_of(body, part) != tag)
			part++;
		while (value < VALUES && value_number(body, value) != entry.value)
			value++;
		expect(part < PARTS && value < VALUES);
		seen[i][part][value]++;
		nidus_entry same = yard_identity(
			yard, yard_locate_tagged(yard, hash_of(body, (unsigned)i, part)));
		expect_equal(same.home, entry.home);
		expect_equal(same.fingerprint, entry.fingerprint);
	}
	expect_equal(count, yard_count(yard));
}

/* Copies that a key has, and those of all keys that look the same to a lookup. */
static unsigned copies_of(const struct body *body, unsigned identity, unsigned part)
{
	const unsigned *model = body->model[identity][same_tag(body, part)];
	return model[0] + model[1] + model[2];
}

static unsigned twins_of(const struct body *body, unsigned identity)
{
	unsigned copies = 0;
	for (unsigned part = 0; part < PARTS; part++)
		copies += same_tag(body, part) == part ? copies_of(body, identity, part) : 0;
	return copies;
}

static void expect_model(const struct body *body)
{
	static unsigned seen[IDENTITIES][PARTS][VALUES];
	uint64_t count;
	walk(body, seen);
	expect(memcmp(seen, body->model, sizeof seen) == 0);
	expect_ok(yard_verify(&body->yard, &count));
	expect_prefixes(&body->yard);
}

/* The values of a key's copies are those of the model. */
static void expect_values(const struct body *body, unsigned i, unsigned part,
                          const uint64_t *values, unsigned copies)
{
	const unsigned *model = body->model[i][same_tag(body, part)];
	unsigned numbers[VALUES] = { 0 };
	for (unsigned copy = 0; copy < copies; copy++) {
		for (unsigned value = 0; value < VALUES; value++)
			numbers[value] += values[copy] == value_number(body, value);
	}
	for (unsigned value = 0; value < VALUES && body->value_bits > 0; value++)
		expect_equal(numbers[value], model[value]);
}

/* Lookups answer for all parts, by what lies in the lines; what counts or finds does not. */
static void expect_answers(const struct body *body, unsigned shift)
{
	const struct yard *yard = &body->yard;
	const struct body_ops *ops = yard_body_ops(yard);
	uint64_t hashes[IDENTITIES], first[IDENTITIES], values[FOUND];
	uint32_t found[IDENTITIES];
	uint8_t yes[IDENTITIES];
	for (unsigned i = 0; i < IDENTITIES; i++)
		hashes[i] = hash_of(body, i, (i + shift) % PARTS);
	ops->contains_batch(yard, hashes, IDENTITIES, yes);
	if (yard->values != NULL)
		ops->find_batch(yard, hashes, IDENTITIES, first, found);
	for (unsigned i = 0; i < IDENTITIES; i++) {
		unsigned copies = copies_of(body, i, (i + shift) % PARTS);
		expect_equal(ops->contains(yard, hashes[i]), twins_of(body, i) > 0);
		expect_equal(yes[i], twins_of(body, i) > 0);
		expect_equal(ops->count(yard, hashes[i]), copies);
		expect_equal(ops->find(yard, hashes[i], values, FOUND), copies);
		expect_values(body, i, (i + shift) % PARTS, values, copies);
		if (yard->values != NULL) {
			expect_equal(found[i], copies);
			expect_equal(first[i], copies > 0 ? values[0] : 0);
		}
	}
}

static void insert_one(struct body *body, unsigned i, unsigned part, unsigned value)
{
	const struct body_ops *ops = yard_body_ops(&body->yard);
	nidus_status status =
		body_insert(ops, &body->yard, hash_of(body, i, part), value_number(body, value));
	expect(status == NIDUS_OK || (status == NIDUS_FULL && body->yard.capacity < LISTED));
	body->model[i][same_tag(body, part)][body->value_bits > 0 ? value : 0] +=
		status == NIDUS_OK;
}

/* A twin's of another part does not count: when the body is split, that is elsewhere. */
static void insert_new(struct body *body, unsigned i, unsigned part)
{
	const struct body_ops *ops = yard_body_ops(&body->yard);
	bool there = copies_of(body, i, part) > 0;
	nidus_status status = ops->insert_new(&body->yard, hash_of(body, i, part));
	if (there)
		expect_equal(status, NIDUS_PRESENT);
	else
		expect(status == NIDUS_OK ||
		       (status == NIDUS_FULL && body->yard.capacity < LISTED));
	body->model[i][same_tag(body, part)][0] += status == NIDUS_OK;
}

/* Whatever its value is, but never a twin's of another part. */
static void remove_one(struct body *body, unsigned i, unsigned part)
{
	static unsigned seen[IDENTITIES][PARTS][VALUES];
	unsigned *model = body->model[i][same_tag(body, part)], gone = 0;
	bool there = model[0] + model[1] + model[2] > 0;
	expect_equal(yard_body_ops(&body->yard)->remove(&body->yard, hash_of(body, i, part)),
	             there ? NIDUS_OK : NIDUS_NOT_FOUND);
	walk(body, seen);
	for (unsigned value = 0; value < VALUES; value++) {
		bool fewer = seen[i][same_tag(body, part)][value] + 1 == model[value];
		model[value] -= fewer;
		gone += fewer;
	}
	expect_equal(gone, there);
}

static void change_one(struct body *body, unsigned i, unsigned part, unsigned old, unsigned fresh,
                       bool replace)
{
	unsigned *model = body->model[i][same_tag(body, part)];
	struct value_change change = { .what = replace ? VALUE_REPLACE : VALUE_REMOVE,
		                       .old = value_number(body, old),
		                       .fresh = value_number(body, fresh) };
	bool there = model[old] > 0;
	expect_equal(
		yard_body_ops(&body->yard)->change(&body->yard, hash_of(body, i, part), change),
		there ? NIDUS_OK : NIDUS_NOT_FOUND);
	model[old] -= there;
	model[fresh] += there && replace;
}

/* The highest value, as a saturating sum gives it, whatever was there. */
static void add_one(struct body *body, unsigned i, unsigned part)
{
	const struct body_ops *ops = yard_body_ops(&body->yard);
	static unsigned seen[IDENTITIES][PARTS][VALUES];
	uint64_t hash = hash_of(body, i, part), most = bits_low(body->value_bits);
	unsigned *model = body->model[i][same_tag(body, part)];
	bool there = model[0] + model[1] + model[2] > 0;
	struct value_change change = { .what = VALUE_ADD, .fresh = most };
	nidus_status status = ops->add != NULL ? ops->add(&body->yard, hash, most)
	                                       : ops->change(&body->yard, hash, change);
	if (ops->add == NULL && status == NIDUS_NOT_FOUND)
		status = ops->insert_value(&body->yard, hash, most);
	if (there)
		expect_ok(status);
	walk(body, seen);
	memcpy(model, seen[i][same_tag(body, part)], sizeof *seen[i]);
	if (status == NIDUS_OK)
		expect(model[VALUES - 1] > 0);
}

static void churn(struct body *body, struct chance *chance, unsigned steps)
{
	for (unsigned step = 0; step < steps; step++) {
		/* Some come again and again. */
		unsigned few = chance_percent(chance, 30) ? 3 : IDENTITIES;
		unsigned i = (unsigned)chance_below(chance, few);
		unsigned part = (unsigned)chance_below(chance, PARTS);
		unsigned value = (unsigned)chance_below(chance, VALUES);
		bool tide = step / 256 % 3 == 2;
		if (yard_shared(&body->yard) && chance_percent(chance, 10))
			insert_new(body, i, part);
		else if (chance_percent(chance, tide ? 30 : 70))
			insert_one(body, i, part, value);
		else if (body->value_bits == 0 || chance_percent(chance, 40))
			remove_one(body, i, part);
		else if (chance_percent(chance, 80))
			change_one(body, i, part, value, (unsigned)chance_below(chance, VALUES),
			           chance_percent(chance, 50));
		else
			add_one(body, i, part);
		if (step % 32 == 0)
			expect_model(body);
		if (step % 128 == 0)
			expect_answers(body, step / 128);
	}
	expect_model(body);
	expect_answers(body, 0);
}

/* Takes all out, in any order; the list is empty before the lines are. */
static void empty(struct body *body, struct chance *chance)
{
	unsigned from = (unsigned)chance_below(chance, IDENTITIES);
	for (unsigned n = 0; n < IDENTITIES; n++) {
		unsigned i = (from + n * 7) % IDENTITIES;
		for (unsigned part = 0; part < PARTS; part++) {
			while (body->model[i][part][0] + body->model[i][part][1] +
			               body->model[i][part][2] >
			       0)
				remove_one(body, i, part);
		}
		if (n % 16 == 0)
			expect_model(body);
	}
	expect_equal(yard_count(&body->yard), 0);
	expect_equal(body->yard.list.nodes, 0);
}

static uint64_t listed; /* at the end of churns, in all */

static void model_of(unsigned slots, unsigned tag_bits, unsigned value_bits, bool shared,
                     uint64_t capacity)
{
	struct chance chance = { chance_seed() + slots * 64 + tag_bits };
	static struct body body;
	struct segment segment = { .parts = (UINT64_C(3) << tag_bits) * 5, .tag_bits = tag_bits };
	segment.first = chance_below(&chance, segment.parts - bits_low(tag_bits));
	memset(&body, 0, sizeof body);
	check_note("%u slots, %u tag bits, %u value bits, shared %d", slots, tag_bits, value_bits,
	           shared);
	body.value_bits = value_bits;
	make_body(&body.yard, slots, FRONTS, value_bits, segment, shared, capacity);
	choose_parts(&body, &segment, &chance);
	choose_identities(&body, &chance);
	churn(&body, &chance, check_small() ? 300 : 700);
	listed += body.yard.list.nodes;
	empty(&body, &chance);
	yard_free(&body.yard);
}

static void model_in_tier(const char *tier)
{
	static const unsigned bits[] = { 0, 4, 8, 32 };
	check_note("%s", tier);
	for (unsigned tag_bits = 0; tag_bits <= 20; tag_bits += tag_bits < 4 ? 1 : 3) {
		for (unsigned i = 0; i < 2 * YARD_SHAPES; i++) {
			unsigned w = i / 2;
			model_of(yard_shapes[w], tag_bits, bits[(tag_bits + i) % 4],
			         (tag_bits + w / 2 + i) % 2, (tag_bits + i) % 3 == 0 ? 1 : LISTED);
		}
	}
}

static void a_body_keeps_what_it_was_given_and_takes_no_twins(void **state)
{
	(void)state;
	each_tier(model_in_tier);
	expect(listed > 100);
}

/* ------------------------------------------------------------------------ hashes -- */

static void hashes_lead_to_their_identities_and_back(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 3 };
	for (unsigned round = 0; round < 2000; round++) {
		struct yard yard;
		unsigned w = round % YARD_SHAPES, tag_bits = (unsigned)chance_below(&chance, 21);
		uint64_t fronts = 1 + chance_below(&chance, 300);
		unsigned spare = 64 - 7 - yard_find(yard_shapes[w])->shape.front.width - 9;
		struct segment segment = { .tag_bits = tag_bits };
		segment.parts =
			1 + (chance_next(&chance) >> (64 - chance_below(&chance, spare) - 1));
		make_body(&yard, yard_shapes[w], fronts, 0, segment, false, 1);
		uint64_t hash = chance_next(&chance), part = multiply_high(hash, segment.parts);
		uint64_t before = chance_next(&chance) & bits_low(tag_bits);
		yard.first_part = part - (before < part ? before : part);
		nidus_entry entry = yard_identity(&yard, yard_locate_tagged(&yard, hash));
		uint64_t back = yard_body_hash(&yard, &entry, part);
		nidus_entry again = yard_identity(&yard, yard_locate_tagged(&yard, back));
		expect_equal(multiply_high(back, segment.parts), part);
		expect_equal(again.home, entry.home);
		expect_equal(again.fingerprint, entry.fingerprint);
		expect_equal(entry.fingerprint >> (yard.width + YARD_BUCKET_BITS),
		             part - yard.first_part);
		expect_equal(yard_borrow(&yard, back), yard_borrow(&yard, hash));
		/* The same in another part. */
		uint64_t other = chance_below(&chance, segment.parts);
		uint64_t twin = yard_body_hash(&yard, &entry, other);
		expect_equal(multiply_high(twin, segment.parts), other);
		expect_equal(yard_borrow(&yard, twin), yard_borrow(&yard, hash));
		yard_free(&yard);
	}
}

/* A segment splits by borrowed bits only if they are even. */
static void borrowed_bits_are_even(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 4 };
	struct yard yard;
	unsigned ones[64] = { 0 }, n = 20000;
	make_body(&yard, 51, 100, 0, (struct segment){ .parts = 64 }, false, 1);
	for (unsigned i = 0; i < n; i++) {
		uint64_t bits = yard_borrow(&yard, chance_next(&chance));
		for (unsigned bit = 0; bit < 64; bit++)
			ones[bit] += bits >> bit & 1;
	}
	for (unsigned bit = 0; bit < 64; bit++) /* six deviations */
		expect(ones[bit] > n / 2 - 424 && ones[bit] < n / 2 + 424);
	yard_free(&yard);
}

static void plans_of_bodies_are_checked(void **state)
{
	(void)state;
	struct blueprint plan = plan_of(51, 1000, 32, false);
	expect_ok(yard_check_segment(&plan, &(struct segment){ .parts = 1 }));
	expect_ok(yard_check_segment(&plan, &(struct segment){ .parts = UINT64_C(1) << 40,
	                                                       .tag_bits = 24 }));
	expect_equal(yard_check_segment(&plan, &(struct segment){ .parts = 0 }), NIDUS_E_RANGE);
	expect_equal(yard_check_segment(&plan, &(struct segment){ .parts = UINT64_C(1) << 41 }),
	             NIDUS_E_RANGE);
	expect_equal(yard_check_segment(&plan, &(struct segment){ .parts = UINT64_MAX }),
	             NIDUS_E_RANGE);
	expect_equal(yard_check_segment(&plan, &(struct segment){ .parts = 64, .tag_bits = 25 }),
	             NIDUS_E_RANGE);
	plan.core_bits = 7;
	expect_equal(yard_check_segment(&plan, &(struct segment){ .parts = 64 }), NIDUS_E_RANGE);
}

/* ---------------------------------------------------------------- keys of several -- */

#define BODIES 5
#define KEYS 1500

struct several {
	struct yard one[BODIES], other[BODIES]; /* singles, and each-calls */
	uint64_t hashes[KEYS], values[KEYS];
	void *to[KEYS];           /* of `other` */
	struct yard *alone[KEYS]; /* of `one` */
};

static void expect_same_bodies(const struct several *several)
{
	for (unsigned b = 0; b < BODIES; b++) {
		const struct yard *one = &several->one[b], *other = &several->other[b];
		expect_equal(yard_count(one), yard_count(other));
		expect(memcmp(one->memory.bytes, other->memory.bytes, one->memory.size) == 0);
	}
}

static void expect_same_lookups(const struct several *several, size_t n)
{
	static uint8_t yes[KEYS + 1];
	memset(yes, 0xa5, sizeof yes);
	yard_body_ops(several->to[0])
		->contains_each((const void *const *)several->to, several->hashes, n, yes);
	for (size_t i = 0; i < n; i++)
		expect_equal(yes[i], yard_body_ops(several->alone[i])
		                             ->contains(several->alone[i], several->hashes[i]));
	expect_equal(yes[n], 0xa5);
}

/* One by one up to the first failure. */
static size_t insert_alone(struct several *several, size_t n, nidus_status *status)
{
	*status = NIDUS_OK;
	for (size_t i = 0; i < n; i++) {
		struct yard *yard = several->alone[i];
		*status = body_insert(yard_body_ops(yard), yard, several->hashes[i],
		                      several->values[i]);
		if (*status != NIDUS_OK)
			return i;
	}
	return n;
}

static size_t remove_alone(struct several *several, size_t n, nidus_status *status)
{
	*status = NIDUS_OK;
	for (size_t i = 0; i < n; i++) {
		struct yard *yard = several->alone[i];
		*status = yard_body_ops(yard)->remove(yard, several->hashes[i]);
		if (*status != NIDUS_OK)
			return i;
	}
	return n;
}

/* A key of some body; often one of those before it, or a twin in another part of the same body. */
static void choose_key(struct several *several, size_t i, struct chance *chance,
                       unsigned value_bits)
{
	uint64_t b = chance_below(chance, BODIES), rest = chance_next(chance);
	if (i > 0 && chance_percent(chance, 30)) {
		size_t before = chance_below(chance, i);
		b = (uint64_t)(several->alone[before] - several->one);
		rest = several->hashes[before] * several->one[0].parts;
	}
	struct yard *yard = &several->one[b];
	uint64_t part = yard->first_part + (chance_next(chance) & bits_low(yard->tag_bits));
	several->to[i] = &several->other[b];
	several->alone[i] = yard;
	several->hashes[i] = divide_wide_up(part, rest, yard->parts);
	several->values[i] = chance_next(chance) & bits_low(value_bits);
}

static void compare_several(struct several *several, struct chance *chance, unsigned value_bits)
{
	const struct body_ops *ops = yard_body_ops(&several->other[0]);
	unsigned full = 0;
	for (unsigned round = 0; round < 60; round++) {
		size_t n = round < 5 ? round : chance_below(chance, KEYS), done, same;
		nidus_status status, alone;
		for (size_t i = 0; i < n + (n == 0); i++)
			choose_key(several, i, chance, value_bits);
		status = ops->insert_each(several->to, several->hashes,
		                          value_bits > 0 ? several->values : NULL, n, &done);
		same = insert_alone(several, n, &alone);
		expect_equal(status, alone);
		expect_equal(done, same);
		full += status == NIDUS_FULL;
		expect_same_bodies(several);
		expect_same_lookups(several, n);
		if (round % 3 == 0)
			continue;
		done = 77;
		status = ops->remove_each(several->to, several->hashes, n, &done);
		same = remove_alone(several, n, &alone);
		expect_equal(status, alone);
		expect_equal(done, same);
		expect_same_bodies(several);
	}
	expect(full > 0);
}

static void several_in_tier(const char *tier)
{
	struct chance chance = { chance_seed() + 5 };
	static struct several several;
	for (unsigned i = 0; i < YARD_SHAPES * 6; i++) {
		unsigned slots = yard_shapes[i % YARD_SHAPES], kind = i / YARD_SHAPES;
		unsigned value_bits = kind % 3 == 2 ? 8 : 0;
		struct segment segment = { .parts = 320, .tag_bits = kind % 3 == 0 ? 0 : 5 };
		check_note("%u slots, kind %u, %s", slots, kind, tier);
		for (unsigned b = 0; b < BODIES; b++) {
			segment.first = (uint64_t)b * 50 + 3;
			make_body(&several.one[b], slots, 7, value_bits, segment, false, 1);
			make_body(&several.other[b], slots, 7, value_bits, segment, kind >= 3, 1);
		}
		compare_several(&several, &chance, value_bits);
		for (unsigned b = 0; b < BODIES; b++) {
			yard_free(&several.one[b]);
			yard_free(&several.other[b]);
		}
	}
}

static void keys_of_several_bodies_fare_as_they_do_one_by_one(void **state)
{
	(void)state;
	each_tier(several_in_tier);
}

/* ------------------------------------------------------------------------ splits -- */

#define INTO 3
#define SPLIT_PARTS 24 /* of the body that is split, out of those of 2^5 tags */
#define HOT 40         /* copies of some keys */

struct split {
	struct yard from, to[INTO];
	uint64_t bound[INTO]; /* parts behind those of to[i] */
	uint64_t hashes[2000], values[2000];
	size_t n;
};

/* By parts; of the last two bodies, which have the same ones, by a borrowed bit. */
static struct spread_target choose(const void *context, uint64_t tag, uint64_t borrowed)
{
	const struct split *split = context;
	uint64_t part = split->from.first_part + tag;
	unsigned i = 0;
	while (part >= split->bound[i])
		i++;
	i += i == 1 && (borrowed & 1);
	const struct yard *to = &split->to[i];
	expect(part >= to->first_part && part - to->first_part <= bits_low(to->tag_bits));
	return (struct spread_target){ (void *)(uintptr_t)to, part - to->first_part };
}

static struct yard *body_of(struct split *split, uint64_t hash)
{
	uint64_t part = multiply_high(hash, split->from.parts);
	struct spread_target target =
		choose(split, part - split->from.first_part, yard_borrow(&split->from, hash));
	return target.body;
}

static void make_split(struct split *split, unsigned slots, uint64_t fronts, unsigned value_bits,
                       bool shared)
{
	struct segment segment = { .parts = 320, .first = 100, .tag_bits = 5 };
	static const unsigned first[INTO] = { 0, 16, 16 }, bits[INTO] = { 4, 3, 3 };
	make_body(&split->from, slots, fronts, value_bits, segment, shared, LISTED);
	for (unsigned i = 0; i < INTO; i++) {
		segment.first = 100 + first[i];
		segment.tag_bits = bits[i];
		make_body(&split->to[i], slots, fronts, value_bits, segment, shared, LISTED);
	}
	split->bound[0] = 116;
	split->bound[1] = split->bound[2] = 100 + SPLIT_PARTS;
}

static void free_split(struct split *split)
{
	yard_free(&split->from);
	for (unsigned i = 0; i < INTO; i++)
		yard_free(&split->to[i]);
}

/* Keys so many that lines are full, twins in other parts, and many copies of a few. */
static void fill_split(struct split *split, struct chance *chance)
{
	struct yard *yard = &split->from;
	const struct body_ops *ops = yard_body_ops(yard);
	uint64_t most = yard_slots(yard) * 9 / 10, rest = 0;
	for (split->n = 0; split->n < most && split->n < 2000; split->n++) {
		size_t i = split->n;
		uint64_t part = yard->first_part + chance_below(chance, SPLIT_PARTS);
		if (!chance_percent(chance, 20))
			rest = chance_next(chance);
		split->hashes[i] = divide_wide_up(part, rest, yard->parts);
		if (i % HOT > 1 && i / HOT % 3 == 0)
			split->hashes[i] = split->hashes[i - 1];
		split->values[i] = chance_next(chance) & bits_low(yard->value_bits) & 3;
		expect_ok(body_insert(ops, yard, split->hashes[i], split->values[i]));
	}
}

/* Every key is in its body as often as in the one that was split, with its values. */
static void expect_spread(struct split *split, unsigned times)
{
	static uint64_t there[2000], values[4000];
	uint64_t count = 0, verified;
	for (size_t i = 0; i < split->n; i++) {
		struct yard *to = body_of(split, split->hashes[i]);
		size_t n = split->from.ops->body.find(&split->from, split->hashes[i], there, 2000);
		expect_equal(to->ops->body.find(to, split->hashes[i], values, 4000), times * n);
		uint64_t sum = 0;
		for (size_t v = 0; v < n; v++)
			sum += times * there[v];
		for (size_t v = 0; v < times * n; v++)
			sum -= values[v];
		expect_equal(sum, 0);
		expect(to->ops->body.contains(to, split->hashes[i]));
	}
	for (unsigned i = 0; i < INTO; i++) {
		expect_ok(yard_verify(&split->to[i], &verified));
		expect_equal(verified, yard_count(&split->to[i]));
		expect_prefixes(&split->to[i]);
		count += verified;
	}
	expect_equal(count, times * split->n);
}

/* Each key can be taken out as often as it came, and no other is touched. */
static void expect_removed(struct split *split, unsigned times)
{
	for (size_t i = 0; i < times * split->n; i++) {
		uint64_t hash = split->hashes[i % split->n];
		struct yard *to = body_of(split, hash);
		expect_ok(yard_body_ops(to)->remove(to, hash));
	}
	for (unsigned i = 0; i < INTO; i++) {
		expect_equal(yard_count(&split->to[i]), 0);
		expect_equal(split->to[i].list.nodes, 0);
	}
}

static uint64_t spread_listed; /* entries of lists that were split */

static void split_in_tier(const char *tier)
{
	static const uint64_t fronts[] = { 1, 3, 16, 40 };
	static const unsigned bits[] = { 0, 8, 5 };
	struct chance chance = { chance_seed() + 6 };
	for (unsigned i = 0; i < YARD_SHAPES * 12; i++) {
		static struct split split;
		unsigned slots = yard_shapes[i % YARD_SHAPES], value_bits = bits[i % 3];
		check_note("%u slots, %u value bits, %s", slots, value_bits, tier);
		make_split(&split, slots, fronts[i / YARD_SHAPES % 4], value_bits, i / 2 % 2);
		struct spread spread = { .choose = choose, .context = &split, .borrows = true };
		fill_split(&split, &chance);
		spread_listed += split.from.list.entries;
		expect_ok(yard_spread(&split.from, &spread));
		expect_spread(&split, 1);
		/* Once more: into bodies that are not empty, as merges do it; from a file. */
		split.from.mapped = i % 4 == 0;
		expect_ok(yard_spread(&split.from, &spread));
		expect_spread(&split, 2);
		expect_removed(&split, 2);
		free_split(&split);
	}
}

static void a_body_is_split_with_its_tags_values_and_list(void **state)
{
	(void)state;
	each_tier(split_in_tier);
	expect(spread_listed > 1000);
}

/* What one tier makes of a split is what the other makes. */
static void splits_leave_the_same_bytes_in_every_tier(void **state)
{
	(void)state;
	const char *before = nidus_isa();
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		static struct split one, other;
		struct split *both[] = { &one, &other };
		for (unsigned i = 0; i < 2; i++) {
			struct chance chance = { chance_seed() + 7 };
			expect_ok(nidus_set_isa(i == 0 ? before : "scalar"));
			make_split(both[i], yard_shapes[w], 17, 8, false);
			fill_split(both[i], &chance);
			struct spread spread = { .choose = choose,
				                 .context = both[i],
				                 .borrows = true };
			expect_ok(yard_spread(&both[i]->from, &spread));
		}
		expect_ok(nidus_set_isa(before));
		for (unsigned i = 0; i < INTO; i++)
			expect(memcmp(one.to[i].memory.bytes, other.to[i].memory.bytes,
			              one.to[i].memory.size) == 0);
		free_split(&one);
		free_split(&other);
	}
}

/* ------------------------------------------------------------- splits in two ranges -- */

struct halving {
	struct yard from[2], to[2];
	struct spread spread;
};

/* Random keys, some of them twins or copies, up to some share of the slots. */
static void fill_some(struct yard *yard, unsigned percent, struct chance *chance)
{
	uint64_t hash = 0, rest = 0;
	for (uint64_t i = 0; i < yard_slots(yard) * percent / 100; i++) {
		if (!chance_percent(chance, 10))
			rest = chance_next(chance);
		uint64_t tag = chance_next(chance) & bits_low(yard->tag_bits);
		if (!chance_percent(chance, percent / 3) || i == 0)
			hash = divide_wide_up(yard->first_part + tag, rest, yard->parts);
		expect_ok(yard->ops->body.insert(yard, hash));
	}
}

/* Two bodies of the same parts, and two that these go to. All follows from the chance. */
static void make_halving(struct halving *halving, struct chance *chance)
{
	unsigned tag_bits = (unsigned)chance_below(chance, 10);
	uint64_t fronts = 1 + chance_below(chance, 40),
		 limit = chance_below(chance, 1u << tag_bits);
	uint64_t last = bits_low(tag_bits) - limit;
	struct segment segment = { .parts = 4096, .first = 100, .tag_bits = tag_bits };
	for (unsigned i = 0; i < 2; i++) {
		make_body(&halving->from[i], 51, fronts, 0, segment, false, LISTED);
		fill_some(&halving->from[i], 20 + (unsigned)chance_below(chance, 75), chance);
	}
	make_body(&halving->to[0], 51, fronts, 0, segment, false, LISTED);
	segment.first += limit;
	segment.tag_bits = last > 0 ? log2_floor(last) + 1 : 0;
	make_body(&halving->to[1], 51, fronts, 0, segment, false, LISTED);
	halving->spread = (struct spread){
		.range = { { &halving->to[0], 0 }, { &halving->to[1], 0 - limit } },
		.limit = limit,
		.borrows = chance_percent(chance, 50),
	};
	if (halving->spread.borrows)
		halving->spread.borrowed = chance_next(chance) | 1;
}

static void free_halving(struct halving *halving)
{
	for (unsigned i = 0; i < 2; i++) {
		yard_free(&halving->from[i]);
		yard_free(&halving->to[i]);
	}
}

static void expect_same_list(const struct yard *one, const struct yard *other)
{
	unsigned char *lists[2];
	const struct yard *both[2] = { one, other };
	uint64_t size = one->list.nodes * OVERFLOW_ENTRY;
	expect_equal(one->list.nodes, other->list.nodes);
	for (unsigned i = 0; i < 2; i++) {
		lists[i] = malloc(size + 1);
		expect(lists[i] != NULL);
		yard_list_export(both[i], lists[i]);
	}
	expect(memcmp(lists[0], lists[1], size) == 0);
	free(lists[0]);
	free(lists[1]);
}

/* Whole lines at once, where a tier has that, are what entries one by one are. */
static void bodies_in_two_ranges_leave_the_same_bytes_in_every_tier(void **state)
{
	(void)state;
	const char *before = nidus_isa();
	for (unsigned turn = 0; turn < 400; turn++) {
		static struct halving one, other;
		struct halving *both[] = { &one, &other };
		for (unsigned i = 0; i < 2; i++) {
			struct chance chance = { chance_seed() + 100 + turn };
			expect_ok(nidus_set_isa(i == 0 ? before : "scalar"));
			make_halving(both[i], &chance);
			for (unsigned from = 0; from < 2; from++)
				expect_ok(yard_spread(&both[i]->from[from], &both[i]->spread));
		}
		expect_ok(nidus_set_isa(before));
		uint64_t count = 0;
		for (unsigned i = 0; i < 2; i++) {
			uint64_t verified;
			expect_ok(yard_verify(&one.to[i], &verified));
			expect_equal(verified, yard_count(&one.to[i]));
			expect_equal(verified, yard_count(&other.to[i]));
			expect(memcmp(one.to[i].memory.bytes, other.to[i].memory.bytes,
			              one.to[i].memory.size) == 0);
			expect_same_list(&one.to[i], &other.to[i]);
			count += verified;
		}
		expect_equal(count, yard_count(&one.from[0]) + yard_count(&one.from[1]));
		free_halving(&one);
		free_halving(&other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_keeps_what_it_was_given_and_takes_no_twins),
		cmocka_unit_test(hashes_lead_to_their_identities_and_back),
		cmocka_unit_test(borrowed_bits_are_even),
		cmocka_unit_test(plans_of_bodies_are_checked),
		cmocka_unit_test(keys_of_several_bodies_fare_as_they_do_one_by_one),
		cmocka_unit_test(a_body_is_split_with_its_tags_values_and_list),
		cmocka_unit_test(splits_leave_the_same_bytes_in_every_tier),
		cmocka_unit_test(bodies_in_two_ranges_leave_the_same_bytes_in_every_tier),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
