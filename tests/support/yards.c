/* SPDX-License-Identifier: MIT
 *
 * yards: plans by hand, and the prefix invariant counted out.
 */
#include "support/yards.h"

#include "support/check.h"
#include "support/filters.h"

const unsigned yard_shapes[YARD_SHAPES] = { 51, 36, 28, 19, 63, 56, 46, 42, 39, 34, 32, 30, 25 };

nidus_options yard_options(unsigned slots, uint64_t capacity, uint64_t seed)
{
	nidus_options options = filter_options(capacity, 0.0625, seed);
	options.family = NIDUS_BREADCRUMB;
	options.slots = slots;
	return options;
}

void yard_make(struct yard *yard, unsigned slots, uint64_t fronts)
{
	yard_make_for_values(yard, slots, fronts, 0);
}

void yard_make_for_values(struct yard *yard, unsigned slots, uint64_t fronts, unsigned value_bits)
{
	const nidus_allocator system = { 0 };
	struct mini_shape shape = yard_find(slots)->shape.front;
	struct blueprint plan = {
		.seed = 42,
		.capacity = 1,
		.max_capacity = 1,
		.fpr = 0.01,
		.slots = shape.slots,
		.core_bits = shape.width,
		.chunks = 1,
		.groups = fronts,
		.value_bits = value_bits,
	};
	expect_ok(yard_check(&plan));
	expect_ok(yard_create(yard, &plan, NULL, &system, NULL));
}

void each_tier(void (*test)(const char *tier))
{
	static const char *const names[] = { "scalar", "avx2" };
	const char *before = nidus_isa();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (nidus_set_isa(names[i]) == NIDUS_OK)
			test(names[i]);
	}
	expect_ok(nidus_set_isa(before));
}

uint64_t yard_line_number(const struct yard *yard, uint64_t bucket, unsigned half)
{
	return yard_line_in(yard, bucket, half) * 2 + half;
}

const unsigned char *yard_line(const struct yard *yard, uint64_t line)
{
	return yard->back + line * mini_line(yard->ops->shape.back);
}

unsigned yard_line_count(const struct yard *yard, uint64_t line)
{
	struct mini_shape back = yard->ops->shape.back;
	return mini_count(back, mini_sizes_of(back, yard_line(yard, line)));
}

/* Entries of backyard lines per owner, and the lowest mini-bucket among them. */
struct owned {
	unsigned count, lowest;
};

static void look_at_line(const struct yard *yard, uint64_t number, struct owned *owned)
{
	struct mini_shape back = yard->ops->shape.back;
	const unsigned char *line = yard_line(yard, number);
	struct mini_sizes sizes = mini_sizes_of(back, line);
	for (unsigned slot = 0; slot < mini_count(back, sizes); slot++) {
		uint64_t owner = yard_front_of(yard, number, mini_crumb(back, line, slot));
		unsigned m = mini_bucket_of(back, sizes, slot);
		expect(owner < yard->fronts);
		if (owned[owner].count++ == 0 || m < owned[owner].lowest)
			owned[owner].lowest = m;
	}
}

void expect_prefixes(const struct yard *yard)
{
	struct mini_shape front = yard->ops->shape.front;
	struct owned *owned = check_alloc(yard->fronts * sizeof *owned);
	uint64_t total = 0;
	memset(owned, 0, yard->fronts * sizeof *owned);
	for (uint64_t line = 0; line < 2 * yard->half; line++)
		look_at_line(yard, line, owned);
	for (uint64_t f = 0; f < yard->fronts; f++) {
		struct mini_sizes sizes = mini_sizes_of(front, yard->front + f * mini_line(front));
		unsigned here = mini_count(front, sizes);
		total += here + owned[f].count;
		if (owned[f].count == 0)
			continue;
		expect_equal(here, front.slots);
		expect(mini_bucket_of(front, sizes, here - 1) <= owned[f].lowest);
	}
	expect_equal(total + yard->list.entries, yard_count(yard));
	free(owned);
}
