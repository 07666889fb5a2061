/* SPDX-License-Identifier: MIT
 *
 * Tests of yard/yard: the map from front buckets to backyard lines, the prefix
 * invariant under churn, entries that move aside, and identities.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/model.h"
#include "support/yards.h"

/* ------------------------------------------------------------------------ the map -- */

#define FRONTS_MOST 5000

static void expect_good_map(uint64_t fronts)
{
	struct yard yard = { .fronts = fronts };
	unsigned sharing[2 * FRONTS_MOST] = { 0 };
	yard_lay_back(&yard);
	for (uint64_t f = 0; f < fronts; f++) {
		for (unsigned half = 0; half < 2; half++) {
			uint64_t line = yard_line_number(&yard, f, half);
			if (line >= 2 * yard.half || line % 2 != half ||
			    yard_front_of(&yard, line, yard_crumb(f)) != f ||
			    ++sharing[line] > 16) {
				check_note("front bucket %llu of %llu, half %u",
				           (unsigned long long)f, (unsigned long long)fronts, half);
				expect(!"a crumb leads home");
			}
		}
	}
}

/* That a line and a crumb lead back to f for every f is that no two f share both. */
static void crumbs_lead_home_for_every_number_of_front_buckets(void **state)
{
	(void)state;
	for (uint64_t fronts = 1; fronts <= FRONTS_MOST; fronts++)
		expect_good_map(fronts);
}

/* The line that stands for all lines known to be connected with this one. */
static uint64_t find_root(uint64_t *above, uint64_t line)
{
	while (above[line] != line)
		line = above[line] = above[above[line]];
	return line;
}

/* How many parts the backyard has between which no entry can ever move. */
static uint64_t count_parts(uint64_t fronts)
{
	struct yard yard = { .fronts = fronts };
	yard_lay_back(&yard);
	uint64_t parts = 2 * yard.half, *above = check_alloc(parts * sizeof *above);
	for (uint64_t line = 0; line < parts; line++)
		above[line] = line;
	for (uint64_t f = 0; f < fronts; f++) {
		uint64_t even = find_root(above, yard_line_number(&yard, f, 0));
		uint64_t odd = find_root(above, yard_line_number(&yard, f, 1));
		above[even] = odd;
		parts -= even != odd;
	}
	free(above);
	return parts;
}

static void expect_connected(uint64_t fronts)
{
	check_note("%llu front buckets", (unsigned long long)fronts);
	expect_equal(count_parts(fronts), 1);
}

/* All H to 3,000, with all front buckets; and those of filters twice and twice as large. */
static void the_backyard_is_connected_for_every_number_of_lines(void **state)
{
	(void)state;
	for (uint64_t half = 1; half <= (check_small() ? 600 : 3000); half++)
		expect_connected(16 * half);
	for (uint64_t base = 1; base <= 200; base += 7) {
		for (unsigned level = 0; level <= (check_small() ? 8 : 11); level++)
			expect_connected(base << level);
	}
}

/* Odd sizes lack some front buckets of the last even line; the others are consistent. */
static void the_backyard_is_connected_for_every_number_of_front_buckets(void **state)
{
	(void)state;
	for (uint64_t fronts = 1; fronts <= (check_small() ? 500 : FRONTS_MOST); fronts++)
		expect_connected(fronts);
}

/* Two even lines share one odd line at most, as soon as the hops are that far from H. */
static void neighbours_in_one_half_are_strangers_in_the_other(void **state)
{
	(void)state;
	for (uint64_t half = 825; half < 845; half++) {
		struct yard yard = { .fronts = 16 * half };
		yard_lay_back(&yard);
		unsigned met[845] = { 0 };
		for (uint64_t f = 0; f < 16; f++) {
			uint64_t odd = yard_line_number(&yard, f, 1);
			for (unsigned crumb = 0; crumb < 16; crumb++)
				met[yard_front_of(&yard, odd, crumb) / 16]++;
		}
		expect_equal(met[0], 16);
		for (uint64_t even = 1; even < half; even++)
			expect(met[even] <= 1);
	}
}

static void the_backyard_is_an_eighth_of_the_front_yard(void **state)
{
	(void)state;
	for (uint64_t fronts = 1; fronts <= FRONTS_MOST; fronts++)
		expect_equal(yard_lines(fronts), fronts + 2 * ((fronts + 15) / 16));
}

/* -------------------------------------------------------------------------- churn -- */

struct churn {
	nidus_filter *filter;
	struct model model;
	struct chance chance;
	uint64_t fulls;
};

static void insert_any(struct churn *churn)
{
	/* A few keys more often than the others: copies spill and return too. */
	uint64_t below = chance_percent(&churn->chance, 5) ? 4 : churn->model.keys;
	uint64_t key = chance_below(&churn->chance, below);
	struct bytes before = bytes_save(churn->filter);
	nidus_status status = spelled_insert(churn->filter, key);
	if (status == NIDUS_OK) {
		model_add(&churn->model, key);
		expect(spelled_contains(churn->filter, key));
	} else {
		expect_equal(status, NIDUS_FULL);
		expect(bytes_match(&before, churn->filter));
		churn->fulls += status == NIDUS_FULL;
	}
	bytes_free(&before);
}

static void remove_any(struct churn *churn)
{
	uint64_t key;
	if (!model_any(&churn->model, &churn->chance, &key))
		return;
	expect_ok(spelled_remove(churn->filter, key));
	model_drop(&churn->model, key);
}

static void expect_model(const struct churn *churn)
{
	for (uint64_t key = 0; key < churn->model.keys; key++)
		expect(spelled_count(churn->filter, key) >= churn->model.copies[key]);
	expect_equal(info_of(churn->filter).count, churn->model.total);
}

/* At the brim most of the time: every step spills, promotes or is refused. */
static void churn_filter(unsigned slots, uint64_t capacity, unsigned steps, const char *tier)
{
	struct churn churn = { .chance = { chance_seed() + slots + capacity } };
	nidus_options options = yard_options(slots, capacity, 7 + capacity);
	check_note("%u slots, capacity %llu, %s", slots, (unsigned long long)capacity, tier);
	churn.filter = filter_create(&options);
	uint64_t places = info_of(churn.filter).total_slots;
	model_create(&churn.model, 2 * places);
	for (uint64_t i = 0; i < places; i++)
		insert_any(&churn);
	for (unsigned step = 0; step < steps; step++) {
		bool brim = step / 300 % 4 != 3; /* every fourth time the tide goes out */
		if (chance_percent(&churn.chance, brim ? 52 : 20))
			insert_any(&churn);
		else
			remove_any(&churn);
		expect_ok(nidus_verify(churn.filter, NULL));
		if (step % 64 == 0)
			expect_model(&churn);
	}
	for (uint64_t i = 0; i < 4 * places && churn.fulls == 0; i++)
		insert_any(&churn);
	expect_model(&churn);
	expect(churn.fulls > 0);
	model_free(&churn.model);
	nidus_free(churn.filter);
}

static void churn_tier(const char *tier)
{
	static const uint64_t capacities[] = { 1, 60, 200, 700 };
	unsigned steps = check_small() ? 600 : 4000;
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		for (unsigned i = 0; i < sizeof capacities / sizeof *capacities; i++)
			churn_filter(yard_shapes[w], capacities[i], steps, tier);
	}
}

static void invariants_hold_after_every_step_of_churn(void **state)
{
	(void)state;
	each_tier(churn_tier);
}

/* The same on bare yards, with the invariant counted out by the test itself. */
static void prefix_tier(const char *tier)
{
	struct chance chance = { chance_seed() + 9 };
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		struct yard yard;
		uint64_t hashes[3000], n = 0, fronts = 1 + chance_below(&chance, 40);
		yard_make(&yard, yard_shapes[w], fronts);
		check_note("%u slots, %llu fronts, %s", yard_shapes[w], (unsigned long long)fronts,
		           tier);
		for (unsigned step = 0; step < (check_small() ? 2000 : 12000); step++) {
			if (n < 3000 && chance_percent(&chance, step / 3000 % 2 == 0 ? 90 : 40)) {
				hashes[n] = chance_next(&chance);
				n += yard.ops->body.insert(&yard, hashes[n]) == NIDUS_OK;
			} else if (n > 0) {
				uint64_t i = chance_below(&chance, n);
				expect_ok(yard.ops->body.remove(&yard, hashes[i]));
				hashes[i] = hashes[--n];
			}
			expect_prefixes(&yard);
		}
		for (uint64_t i = 0; i < n; i++)
			expect(yard.ops->body.contains(&yard, hashes[i]));
		expect_equal(yard.count, n);
		yard_free(&yard);
	}
}

static void front_lines_hold_prefixes_whatever_happens(void **state)
{
	(void)state;
	each_tier(prefix_tier);
}

/* ---------------------------------------------------------------------- make room -- */

/* Entry number i of a front bucket; all are different. */
static struct yard_key entry_number(const struct yard *yard, uint64_t bucket, unsigned i)
{
	return (struct yard_key){ bucket, i % yard->buckets, i / yard->buckets, 0 };
}

static nidus_status put_number(struct yard *yard, uint64_t bucket, unsigned i)
{
	return yard->ops->put(yard, entry_number(yard, bucket, i));
}

/* Refused, and not a byte is different. */
static void expect_full(struct yard *yard, uint64_t bucket, unsigned i)
{
	unsigned char *before = check_alloc(yard->memory.size);
	uint64_t count = yard->count;
	memcpy(before, yard->memory.bytes, yard->memory.size);
	expect_status(put_number(yard, bucket, i), NIDUS_FULL);
	expect(memcmp(before, yard->memory.bytes, yard->memory.size) == 0);
	expect_equal(yard->count, count);
	free(before);
}

/*
 * Front buckets 0 and 1 of 48 share their even line but not their odd ones. Bucket
 * 1 spills 10 entries, then 0 spills until both its lines are full; from then on
 * entries of 1 must leave the shared line for their own odd one.
 */
static void make_room_tier(const char *tier)
{
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		struct yard yard;
		uint64_t count;
		yard_make(&yard, yard_shapes[w], 48);
		check_note("%u slots, %s", yard_shapes[w], tier);
		unsigned front = yard.ops->shape.front.slots, back = yard.ops->shape.back.slots;
		uint64_t shared = yard_line_number(&yard, 0, 0);
		uint64_t odd = yard_line_number(&yard, 1, 1);
		expect_equal(yard_line_number(&yard, 1, 0), shared);
		expect(yard_line_number(&yard, 0, 1) != odd);
		for (unsigned i = 0; i < front + 10; i++)
			expect_ok(put_number(&yard, 1, i));
		expect_equal(yard_line_count(&yard, odd), 5);
		for (unsigned i = 0; i < front + 2 * back; i++) {
			unsigned spilled = i + 1 > front ? i + 1 - front : 0;
			expect_ok(put_number(&yard, 0, i));
			/* The first five beyond the free places push bucket 1's entries out. */
			unsigned pushed = spilled > 2 * back - 5 ? spilled - (2 * back - 5) : 0;
			expect_equal(yard_line_count(&yard, odd), 5 + pushed);
			expect_ok(yard_verify(&yard, &count));
			expect_prefixes(&yard);
		}
		expect_equal(yard_line_count(&yard, shared), back);
		expect_equal(yard_line_count(&yard, odd), 10);
		expect_full(&yard, 0, front + 2 * back);
		expect_equal(yard.count, 2 * front + 2 * back + 10);
		yard_free(&yard);
	}
}

static void entries_move_aside_before_a_filter_is_full(void **state)
{
	(void)state;
	each_tier(make_room_tier);
}

/* Spills entries of a front bucket, `spilled` of them beyond its line. */
static void spill(struct yard *yard, uint64_t bucket, unsigned spilled)
{
	for (unsigned i = 0; i < yard->ops->shape.front.slots + spilled; i++)
		expect_ok(put_number(yard, bucket, i));
}

/*
 * Bucket 0 of 48 shares its even line with bucket 1, whose odd line is that of bucket
 * `third`, whose even line is another. First that of `third` and the odd line fill up but for
 * two places each; then entries of 1 go to the shared line, and 0 fills that and its
 * odd one. Two more fit when entries of 1 return to their odd line, two more when
 * entries of `third` leave it, and then no more.
 */
static void make_room_further_away_tier(const char *tier)
{
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		struct yard yard;
		uint64_t count, third = 16;
		yard_make(&yard, yard_shapes[w], 48);
		check_note("%u slots, %s", yard_shapes[w], tier);
		unsigned front = yard.ops->shape.front.slots, back = yard.ops->shape.back.slots;
		while (yard_line_number(&yard, third, 1) != yard_line_number(&yard, 1, 1))
			third++;
		expect(third < 48 && third / 16 > 0);
		spill(&yard, third, 2 * back - 4);
		spill(&yard, 1, 10);
		expect_equal(yard_line_count(&yard, yard_line_number(&yard, 1, 0)), 10);
		spill(&yard, 0, 2 * back - 10 + 2);
		expect_equal(yard_line_count(&yard, yard_line_number(&yard, 1, 1)), back);
		expect_equal(yard_line_count(&yard, yard_line_number(&yard, third, 0)), back - 2);
		for (unsigned i = 0; i < 2; i++)
			expect_ok(put_number(&yard, 0, front + 2 * back - 8 + i));
		expect_equal(yard_line_count(&yard, yard_line_number(&yard, third, 0)), back);
		expect_ok(yard_verify(&yard, &count));
		expect_prefixes(&yard);
		expect_full(&yard, 0, front + 2 * back - 6);
		yard_free(&yard);
	}
}

static void an_entry_two_lines_away_makes_room_too(void **state)
{
	(void)state;
	each_tier(make_room_further_away_tier);
}

/* A line is full, and so are those within so many steps of it. */
static void expect_full_around(const struct yard *yard, uint64_t number, unsigned steps)
{
	struct mini_shape back = yard->ops->shape.back;
	expect_equal(yard_line_count(yard, number), back.slots);
	for (unsigned slot = 0; slot < back.slots && steps > 0; slot++) {
		unsigned crumb = mini_crumb(back, yard_line(yard, number), slot);
		uint64_t owner = yard_front_of(yard, number, crumb);
		expect_full_around(yard, yard_line_number(yard, owner, number % 2 == 0), steps - 1);
	}
}

/* FULL is honest: both lines are full, and so is where their entries could go in two steps. */
static void expect_honest_full(const struct yard *yard, uint64_t bucket)
{
	for (unsigned half = 0; half < 2; half++)
		expect_full_around(yard, yard_line_number(yard, bucket, half), 2);
}

static void full_tier(const char *tier)
{
	static const uint64_t fronts[] = { 1, 2, 15, 16, 17, 31, 32, 33, 48, 100 };
	struct chance chance = { chance_seed() + 5 };
	for (unsigned i = 0; i < YARD_SHAPES * 10; i++) {
		struct yard yard;
		unsigned slots = yard_shapes[i / 10], next[100] = { 0 };
		uint64_t bucket, count;
		yard_make(&yard, slots, fronts[i % 10]);
		check_note("%u slots, %llu fronts, %s", slots, (unsigned long long)fronts[i % 10],
		           tier);
		do {
			bucket = chance_below(&chance, yard.fronts);
		} while (put_number(&yard, bucket, next[bucket]++) == NIDUS_OK);
		next[bucket]--;
		expect_full(&yard, bucket, next[bucket]);
		expect_honest_full(&yard, bucket);
		expect_ok(yard_verify(&yard, &count));
		expect_prefixes(&yard);
		for (uint64_t f = 0; f < yard.fronts; f++)
			count -= next[f];
		expect_equal(count, 0);
		yard_free(&yard);
	}
}

static void full_is_answered_only_when_nothing_can_move(void **state)
{
	(void)state;
	each_tier(full_tier);
}

/* --------------------------------------------------------------------- identities -- */

static nidus_entry only_entry(const struct yard *yard)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry, more;
	expect(yard_next(yard, &cursor, &entry));
	expect(!yard_next(yard, &cursor, &more));
	return entry;
}

static void expect_identity(struct yard *yard, struct yard *other, uint64_t hash)
{
	uint64_t again;
	expect_ok(yard->ops->body.insert(yard, hash));
	nidus_entry entry = only_entry(yard);
	expect_ok(yard_entry_hash(yard, &entry, &again));
	expect_ok(other->ops->body.insert(other, again));
	expect(other->ops->body.contains(other, hash));
	nidus_entry back = only_entry(other);
	expect(back.home == entry.home && back.fingerprint == entry.fingerprint);
	expect_ok(other->ops->body.remove(other, hash));
	expect_ok(yard->ops->body.remove(yard, hash));
}

static void the_hash_of_an_entry_leads_to_the_same_entry(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 6 };
	for (unsigned i = 0; i < YARD_SHAPES * 50; i++) {
		struct yard a, b;
		uint64_t fronts = 1 + chance_below(&chance, 50);
		check_note("%u slots, %llu fronts", yard_shapes[i / 50],
		           (unsigned long long)fronts);
		yard_make(&a, yard_shapes[i / 50], fronts);
		yard_make(&b, yard_shapes[i / 50], fronts);
		for (unsigned n = 0; n < 30; n++)
			expect_identity(&a, &b, chance_next(&chance));
		expect_identity(&a, &b, 0);
		expect_identity(&a, &b, UINT64_MAX);
		yard_free(&a);
		yard_free(&b);
	}
}

/* ------------------------------------------------------------------------ lookups -- */

#define LOOKUPS 200

/* Hashes of two kinds: any, and two thirds of what a line takes for one mini-bucket. */
static uint64_t uneven_hash(struct chance *chance, uint64_t fronts, uint64_t number)
{
	uint64_t hash = chance_next(chance), half = UINT64_MAX / 2 - UINT64_MAX / 8 / fronts;
	return number * 2 % (3 * fronts) < 2 ? half + (hash >> 8) / fronts : hash;
}

static void expect_same_answers(const struct yard *yard, const uint64_t *hashes, size_t n)
{
	uint8_t yes[LOOKUPS + 1];
	memset(yes, 0xa5, sizeof yes);
	yard->ops->body.contains_batch(yard, hashes, n, yes);
	for (size_t i = 0; i < n; i++) {
		bool there = yard->ops->body.count(yard, hashes[i]) > 0;
		check_note("hash %zu of %zu", i, n);
		expect_equal(yard->ops->body.contains(yard, hashes[i]), there);
		expect_equal(yes[i], there);
	}
	expect_equal(yes[n], 0xa5);
}

static void lookups_in_tier(const char *tier)
{
	static const uint64_t fronts[] = { 1, 2, 3, 20 };
	struct chance chance = { chance_seed() + 11 };
	for (unsigned i = 0; i < YARD_SHAPES * 4; i++) {
		struct yard yard;
		uint64_t hashes[LOOKUPS], number = 0, inside = 0;
		check_note("%u slots, %s", yard_shapes[i / 4], tier);
		yard_make(&yard, yard_shapes[i / 4], fronts[i % 4]);
		/* The last hashes that go in, then as many that do not. */
		while (yard.count < yard_slots(&yard) * 4 / 5) {
			uint64_t hash = uneven_hash(&chance, yard.fronts, number++);
			nidus_status status = yard.ops->body.insert(&yard, hash);
			if (status == NIDUS_FULL)
				break;
			if (status == NIDUS_OK)
				hashes[inside++ % (LOOKUPS / 2)] = hash;
		}
		for (size_t at = inside < LOOKUPS / 2 ? inside : LOOKUPS / 2; at < LOOKUPS; at++)
			hashes[at] = uneven_hash(&chance, yard.fronts, number++);
		for (size_t n = 0; n <= LOOKUPS; n++)
			expect_same_answers(&yard, hashes + (LOOKUPS - n) / 2, n);
		yard_free(&yard);
	}
}

/* A mini-bucket may be so full that a lookup finds it only by the way for such ones. */
static void single_and_batch_lookups_find_what_is_counted(void **state)
{
	(void)state;
	each_tier(lookups_in_tier);
}

/* ----------------------------------------------------------------------- building -- */

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Ascending hashes, some of them several times, of which a yard spills a few. */
static uint64_t *hashes_for(const struct yard *yard, struct chance *chance, size_t *n)
{
	*n = yard->fronts * yard->ops->shape.front.slots * 17 / 20;
	uint64_t *hashes = check_alloc(*n * sizeof *hashes);
	for (size_t i = 0; i < *n; i++)
		hashes[i] = i > 0 && chance_percent(chance, 10) ? hashes[i - 1] /* never 17 times */
		                                                : chance_next(chance);
	qsort(hashes, *n, sizeof *hashes, ascending);
	return hashes;
}

/* find_batch against find, for keys that are there and for others. */
static void expect_found_alike(const struct yard *yard, const uint64_t *hashes, size_t n)
{
	uint64_t *asked = check_alloc(2 * n * sizeof *asked), value;
	uint64_t *first = check_alloc(2 * n * sizeof *first);
	uint32_t *found = check_alloc(2 * n * sizeof *found);
	for (size_t i = 0; i < 2 * n; i++)
		asked[i] =
			i % 2 == 0 ? hashes[i / 2] : hashes[i / 2] * UINT64_C(0x9e3779b97f4a7c15);
	yard->ops->body.find_batch(yard, asked, 2 * n, first, found);
	for (size_t i = 0; i < 2 * n; i++) {
		value = 0;
		expect_equal(found[i], yard->ops->body.find(yard, asked[i], &value, 1));
		expect_equal(first[i], value);
		expect(found[i] > 0 || i % 2 == 1);
	}
	free(asked);
	free(first);
	free(found);
}

/* Takes everything out, and nothing stays behind, values neither. */
static void expect_emptied(struct yard *yard, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_ok(yard->ops->body.remove(yard, hashes[i]));
	unsigned char *left = check_alloc(yard->memory.size);
	memcpy(left, yard->memory.bytes, yard->memory.size);
	yard_clear(yard);
	expect(memcmp(left, yard->memory.bytes, yard->memory.size) == 0);
	free(left);
}

static void build_tier(const char *tier)
{
	static const uint64_t fronts[] = { 1, 2, 17, 100, 1000 };
	static const unsigned bits[] = { 0, 8, 1, 8, 13, 16, 8, 32, 8 };
	struct chance chance = { chance_seed() + 9 };
	for (unsigned i = 0; i < YARD_SHAPES * 5; i++) {
		struct yard one_by_one, built;
		size_t n, done;
		unsigned value_bits = bits[i % (sizeof bits / sizeof *bits)];
		yard_make_for_values(&one_by_one, yard_shapes[i / 5], fronts[i % 5], value_bits);
		uint64_t *hashes = hashes_for(&one_by_one, &chance, &n);
		uint64_t *values = check_alloc(n * sizeof *values);
		for (size_t at = 0; at < n; at++)
			values[at] = chance_next(&chance) & bits_low(value_bits);
		check_note("%u slots, %llu fronts, %u value bits, %s", yard_shapes[i / 5],
		           (unsigned long long)fronts[i % 5], value_bits, tier);
		expect_ok(one_by_one.ops->body.insert_batch(&one_by_one, hashes, values, n, &done));
		for (unsigned parts = 1; parts <= 5; parts++) {
			yard_make_for_values(&built, yard_shapes[i / 5], fronts[i % 5], value_bits);
			const uint64_t *with = value_bits > 0 ? values : NULL;
			for (unsigned part = parts; part-- > 0;) /* in any order */
				expect_ok(yard_build_fronts(&built, hashes, with, n, part, parts));
			for (unsigned part = 0; part < parts; part++)
				expect_ok(yard_build_back(&built, hashes, with, n, part, parts));
			expect_equal(built.count, n);
			expect(memcmp(built.memory.bytes, one_by_one.memory.bytes,
			              built.memory.size) == 0);
			yard_free(&built);
		}
		if (value_bits > 0)
			expect_found_alike(&one_by_one, hashes, n);
		expect_emptied(&one_by_one, hashes, n);
		yard_free(&one_by_one);
		free(hashes);
		free(values);
	}
}

static void building_leaves_the_bytes_of_single_inserts(void **state)
{
	(void)state;
	each_tier(build_tier);
}

/* Lines hold 16 copies of a key and not 17, wherever they lie; yard_build then goes one by one. */
static void building_lines_refuses_too_many_copies(void **state)
{
	(void)state;
	for (unsigned before = 0; before < 80; before++) {
		uint64_t hashes[80 + 17];
		for (unsigned i = 0; i < before; i++)
			hashes[i] = i * (UINT64_C(1) << 56) / 4; /* in the first quarter */
		for (unsigned i = 0; i < 17; i++)
			hashes[before + i] = UINT64_C(1) << 63;
		for (unsigned copies = 16; copies <= 17; copies++) {
			struct yard yard;
			yard_make(&yard, 51, 1);
			nidus_status status =
				yard_build_fronts(&yard, hashes, NULL, before + copies, 0, 1);
			if (status == NIDUS_OK)
				status =
					yard_build_back(&yard, hashes, NULL, before + copies, 0, 1);
			expect_equal(status, copies == 16 ? NIDUS_OK : NIDUS_COPIES);
			yard_free(&yard);
		}
	}
}

/* -------------------------------------------------------------------------- transferring -- */

/* Fills a yard so far that lines spill, and no further. */
static void fill_yard(struct yard *yard, struct chance *chance)
{
	uint64_t most = yard->fronts * yard->ops->shape.front.slots * 4 / 5;
	while (yard->count < most)
		expect_ok(yard->ops->body.insert(yard, chance_next(chance)));
}

/* Home and fingerprint of all entries of up to two yards, sorted. */
static uint64_t *identities(const struct yard *a, const struct yard *b, size_t *n)
{
	uint64_t *all = check_alloc((a->count + (b != NULL ? b->count : 0) + 1) * sizeof *all);
	*n = 0;
	for (const struct yard *yard = a; yard != NULL; yard = yard == a ? b : NULL) {
		nidus_cursor cursor = { 0 };
		nidus_entry entry;
		while (yard_next(yard, &cursor, &entry))
			all[(*n)++] = entry.home << 32 | entry.fingerprint;
	}
	qsort(all, *n, sizeof *all, ascending);
	return all;
}

static void expect_union(const struct yard *both, const struct yard *a, const struct yard *b)
{
	size_t n, m;
	uint64_t count, *want = identities(a, b, &n), *have = identities(both, NULL, &m);
	expect_ok(yard_verify(both, &count));
	expect_prefixes(both);
	expect_equal(count, n);
	expect_equal(both->count, n);
	expect_equal(m, n);
	expect(memcmp(want, have, n * sizeof *want) == 0);
	free(want);
	free(have);
}

/* One yard into an empty one, by the definition of what a transfer keeps. */
static void transfer_one(unsigned slots, uint64_t fronts, uint64_t seed, struct yard *to)
{
	struct chance chance = { seed };
	struct yard from;
	yard_make(&from, slots, fronts);
	yard_make(to, slots, fronts);
	fill_yard(&from, &chance);
	expect_ok(yard_transfer(to, &from));
	expect_union(to, &from, NULL);
	yard_free(&from);
}

static void transferring_keeps_every_entry(void **state)
{
	(void)state;
	static const uint64_t fronts[] = { 1, 2, 9, 16, 40, 200 };
	uint64_t seed = chance_seed() + 8;
	const char *first = nidus_isa();
	for (unsigned i = 0; i < YARD_SHAPES * 6; i++) {
		unsigned slots = yard_shapes[i / 6];
		struct yard one, two;
		check_note("%u slots, %llu fronts", slots, (unsigned long long)fronts[i % 6]);
		transfer_one(slots, fronts[i % 6], seed, &one);
		expect_ok(nidus_set_isa("scalar"));
		transfer_one(slots, fronts[i % 6], seed, &two);
		expect_ok(nidus_set_isa(first));
		expect(memcmp(one.memory.bytes, two.memory.bytes, one.memory.size) == 0);
		yard_free(&one);
		yard_free(&two);
	}
}

/* Full yards: what does not fit in front spills, old or new. */
static void transferring_into_a_yard_keeps_what_is_there(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 10 };
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		struct yard a, b, both;
		check_note("%u slots", yard_shapes[w]);
		yard_make(&a, yard_shapes[w], 100);
		yard_make(&b, yard_shapes[w], 100);
		yard_make(&both, yard_shapes[w], 100);
		uint64_t each = a.fronts * a.ops->shape.front.slots * 17 / 40;
		while (a.count < each)
			expect_ok(a.ops->body.insert(&a, chance_next(&chance)));
		while (b.count < each)
			expect_ok(b.ops->body.insert(&b, chance_next(&chance)));
		expect_ok(yard_transfer(&both, &a));
		expect_ok(yard_transfer(&both, &b));
		expect_union(&both, &a, &b);
		yard_free(&a);
		yard_free(&b);
		yard_free(&both);
	}
}

/* Lines hold 16 copies of a key; others are listed, and come along. */
static void transferring_counts_copies_together(void **state)
{
	(void)state;
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		for (unsigned others = 0; others < 30; others++) {
			struct yard a, both;
			yard_make(&a, yard_shapes[w], 1);
			yard_make(&both, yard_shapes[w], 1);
			struct yard_key key = { 0, a.buckets / 2, 1, 0 };
			check_note("%u slots, %u others", yard_shapes[w], others);
			for (unsigned i = 0; i < others; i++)
				expect_ok(put_number(&both, 0, i * 2 % a.buckets));
			for (unsigned i = 0; i < 8; i++)
				expect_ok(a.ops->put(&a, key));
			expect_ok(yard_transfer(&both, &a));
			expect_ok(yard_transfer(&both, &a));
			expect_equal(both.list.nodes, 0);
			expect_ok(yard_transfer(&both, &a));
			expect_equal(both.list.entries, 8);
			expect_equal(both.count, others + 24);
			yard_clear(&a);
			expect_ok(yard_transfer(&a, &both));
			expect_equal(a.list.entries, 8);
			expect_equal(a.count, others + 24);
			yard_free(&a);
			yard_free(&both);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crumbs_lead_home_for_every_number_of_front_buckets),
		cmocka_unit_test(the_backyard_is_connected_for_every_number_of_lines),
		cmocka_unit_test(the_backyard_is_connected_for_every_number_of_front_buckets),
		cmocka_unit_test(neighbours_in_one_half_are_strangers_in_the_other),
		cmocka_unit_test(the_backyard_is_an_eighth_of_the_front_yard),
		cmocka_unit_test(invariants_hold_after_every_step_of_churn),
		cmocka_unit_test(front_lines_hold_prefixes_whatever_happens),
		cmocka_unit_test(entries_move_aside_before_a_filter_is_full),
		cmocka_unit_test(an_entry_two_lines_away_makes_room_too),
		cmocka_unit_test(full_is_answered_only_when_nothing_can_move),
		cmocka_unit_test(the_hash_of_an_entry_leads_to_the_same_entry),
		cmocka_unit_test(single_and_batch_lookups_find_what_is_counted),
		cmocka_unit_test(building_leaves_the_bytes_of_single_inserts),
		cmocka_unit_test(building_lines_refuses_too_many_copies),
		cmocka_unit_test(transferring_keeps_every_entry),
		cmocka_unit_test(transferring_into_a_yard_keeps_what_is_there),
		cmocka_unit_test(transferring_counts_copies_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
