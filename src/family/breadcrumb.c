/* SPDX-License-Identifier: MIT
 *
 * breadcrumb: about one cache line per operation, with everything.
 *
 * Paper: A. Krapivin, A. Rangarajan, A. Conway, M. Farach-Colton, R. Johnson,
 * P. Pandey, "Breadcrumb Filters: Fast Fully Featured Filters" (SIGMOD 2026).
 *
 * A front yard of 64-byte mini-filters, one per key; a backyard an eighth of
 * that size for what does not fit, with crumbs that lead back. yard/mini.h
 * draws a line, yard/yard.h the two yards and how entries move between them.
 *
 *     front yard   [line 0][line 1][line 2] ... [line F-1]     51 slots each
 *                      |  full: the highest mini-bucket spills
 *     backyard     [even 0][odd 0][even 1] ...  about F/8      35 slots each
 *
 * Worked example (8-bit remainders): F = 1000, so a half of the backyard has
 * ceil(1000/16) = 63 lines. A key of front bucket 700 has the crumb 700 mod 16 = 12.
 * If it has to leave, it may go to even line 700/16 = 43, or, as the hop of crumb
 * 12 is 377, to odd line (43 + 377) mod 63 = 42. Found in odd line 42 with crumb 12:
 * (42 - 377) mod 63 = 43, and 43 * 16 + 12 = 700.
 *
 * The rate: an absent key shares its front bucket and mini-bucket with
 * keys / (F * mini-buckets) entries on average, and a remainder of r bits
 * matches with 2^-r. There are lines for 2^-6, 2^-7 and so on to 2^-16, and for 24 bits; the first
 * that reaches a rate is taken. With NIDUS_FAST and 8 bits, lines have 32 bytes: a tenth larger in
 * all, and about half the work of a lookup in cache.
 *
 * The load: keys per front bucket on average, `densities` below, is where neither
 * filling in any order nor long churn finds the backyard full; with NIDUS_NO_DELETE
 * there is no churn, and lines are filled further. See docs/results/breadcrumb.md.
 *
 * Growth: a directory of bodies of SEGMENT_SLOTS slots each (api/directory.h). Their lines have
 * their final width from the start, and bits of a part that are left lie beside them. A body is
 * filled further than a filter of its size would be: what finds no place is listed, and the few
 * entries that are take less room than emptier lines would.
 */
#include "base/reason.h"
#include "family/breadcrumb_ranges.h"
#include "family/family.h"
#include "family/registry.h"
#include "yard/build.h"
#include "yard/list.h"

#include <math.h>

#define FRONTS_MOST (UINT64_C(1) << 40) /* as yard_check has it */

/* Lines of 32 bytes hold 8-bit remainders only and waste more, but work is quicker. */
#define SHORT_SLOTS 25

/* How densely front buckets can be filled. */
struct filling {
	double keys_per_line; /* average per front bucket, in a large filter */
	double slack;         /* keys less, per root of the front buckets */
	double most;          /* keys per front bucket, up to `large` of them */
	uint64_t large;       /* from so many on each doubling costs PER_DOUBLING */
};

/* The odds that a line overflows fall by 4.5 decades per key; twice the lines, twice the odds. */
#define PER_DOUBLING (1 / 15.0)

/* What a shape of lines holds while keys come and go, and if none is ever removed. */
struct density {
	unsigned width, slots; /* of remainders; of a front line */
	struct filling any, no_delete;
	double in_segment; /* keys per front bucket of a growing filter's bodies, on average */
};

/* Front buckets at which the odds of the fillings below reach one in a million. */
#define LARGE (1u << 24)
#define LARGE_NO_DELETE (1u << 19)

/* From the highest rate that lines are for to the lowest; the short ones last. */
static const struct density densities[] = {
	{ 6, 63, { 63.3, 52, 63.3, LARGE }, { 63.6, 42, 63.6, LARGE_NO_DELETE }, 63.6 },
	{ 7, 56, { 56.1, 48, 56.1, LARGE }, { 56.5, 38, 56.5, LARGE_NO_DELETE }, 56.5 },
	{ 8, 51, { 51.15, 44, 51.15, LARGE }, { 51.75, 40, 51.45, LARGE_NO_DELETE }, 51.6 },
	{ 9, 46, { 45.9, 43, 45.9, LARGE }, { 46.3, 34, 46.3, LARGE_NO_DELETE }, 46.3 },
	{ 10, 42, { 41.55, 41, 41.55, LARGE }, { 41.95, 32, 41.95, LARGE_NO_DELETE }, 42.0 },
	{ 11, 39, { 38.45, 40, 38.45, LARGE }, { 38.85, 30, 38.85, LARGE_NO_DELETE }, 38.9 },
	{ 12, 36, { 35.2, 38, 35.2, LARGE }, { 35.6, 26, 35.6, LARGE_NO_DELETE }, 35.6 },
	{ 12, 34, { 33.15, 40, 33.15, LARGE }, { 33.55, 28, 33.55, LARGE_NO_DELETE }, 33.6 },
	{ 14, 32, { 30.85, 38, 30.85, LARGE }, { 31.25, 27, 31.25, LARGE_NO_DELETE }, 31.3 },
	{ 14, 30, { 28.75, 37, 28.75, LARGE }, { 28.95, 26, 28.95, LARGE_NO_DELETE }, 28.95 },
	{ 16, 28, { 26.5, 32, 26.5, LARGE }, { 27.0, 24, 27.0, LARGE_NO_DELETE }, 27.1 },
	{ 24, 19, { 17.1, 24, 17.1, LARGE }, { 17.6, 20, 17.6, LARGE_NO_DELETE }, 17.8 },
	{ 8, SHORT_SLOTS, { 22.2, 28, 22.2, LARGE }, { 22.7, 20, 22.7, LARGE_NO_DELETE }, 23.0 },
};

#define DENSITIES (sizeof densities / sizeof *densities)

/* Slots of the front lines of a segment, about; keys that it takes, on top of an even share. */
#define SEGMENT_SLOTS (2 * family_segment_slots)
#define SEGMENT_OVER 1.025

/* ------------------------------------------------------------------- sizing -- */

static const struct density *density_of(unsigned slots)
{
	for (size_t i = 0; i < DENSITIES; i++) {
		if (densities[i].slots == slots)
			return &densities[i];
	}
	return NULL;
}

static double expected_rate(const struct blueprint *plan, double keys)
{
	const struct yard_ops *ops = yard_find(plan->slots);
	double fronts = (double)plan->groups, bits = (double)(UINT64_C(1) << plan->core_bits);
	return keys / (fronts * ops->shape.front.buckets * bits);
}

/* How densely a filter with these features is filled. */
static struct filling filling_of(const struct density *density, uint32_t features)
{
	return features & NIDUS_NO_DELETE ? density->no_delete : density->any;
}

/* Doublings from `from` to `to`, as a broken line: the same on every machine. */
static double octaves(uint64_t from, uint64_t to)
{
	if (to <= from)
		return 0;
	unsigned whole = log2_floor(to / from);
	return whole + (double)to / ((double)from * (double)(UINT64_C(1) << whole)) - 1;
}

/* Keys that so many front buckets hold. */
static uint64_t keys_that_fit(struct filling filling, uint64_t fronts)
{
	double keys = filling.keys_per_line * (double)fronts;
	keys -= filling.slack * sqrt((double)fronts);
	double most = filling.most - PER_DOUBLING * octaves(filling.large, fronts);
	keys = fmin(keys, most * (double)fronts);
	return keys > 1 ? (uint64_t)keys : 1;
}

/* Front buckets for so many keys. */
static uint64_t fronts_for(struct filling filling, uint64_t keys)
{
	uint64_t fronts = (uint64_t)((double)keys / filling.keys_per_line);
	if (fronts < 1)
		fronts = 1;
	while (keys_that_fit(filling, fronts) < keys)
		fronts += 1 + fronts / 65536;
	return fronts;
}

/* Whether options ask for lines of a shape, or leave them to the family. */
static bool is_wanted(const nidus_options *options, const struct density *density)
{
	if (options->slots != 0)
		return density->slots == options->slots;
	return density->slots != SHORT_SLOTS || (options->features & NIDUS_FAST) != 0;
}

/* Plans lines of a shape for so many front buckets; false if `keys` make the rate too high. */
static bool plan_lines(const struct density *density, uint64_t fronts, double keys,
                       struct blueprint *plan)
{
	plan->core_bits = density->width;
	plan->chunks = 1;
	plan->groups = fronts;
	plan->slots = density->slots;
	return expected_rate(plan, keys) <= plan->fpr;
}

/* Shape number i in the order of preference: with NIDUS_FAST the last one, short lines, comes first. */
static const struct density *preferred(const nidus_options *options, size_t i)
{
	return &densities[options->features & NIDUS_FAST ? (i + DENSITIES - 1) % DENSITIES : i];
}

static nidus_status check_options(const nidus_options *options)
{
	if (options->slots != 0 && density_of(options->slots) == NULL)
		return fail(
			NIDUS_E_RANGE,
			"a breadcrumb line has 63, 56, 51, 46, 42, 39, 36, 34, 32, 30, 28, 19 or "
			"(short) 25 slots, not %u",
			options->slots);
	if (options->max_steps != 0)
		return fail(NIDUS_E_RANGE,
		            "the breadcrumb family does not search: leave max_steps 0");
	if (family_must_reserve(options))
		return fail(NIDUS_E_UNSUPPORTED, "only the chunked family reserves slots");
	return NIDUS_OK;
}

static nidus_status too_few_bits(const nidus_options *options)
{
	if (options->slots != 0)
		return fail(
			NIDUS_E_RANGE,
			"breadcrumb lines of %u slots hold %u bits per key, too few for this rate",
			options->slots, density_of(options->slots)->width);
	return fail(NIDUS_E_RANGE,
	            "breadcrumb lines hold at most 24 bits per key, too few for this rate");
}

static nidus_status breadcrumb_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = check_options(options);
	if (status != NIDUS_OK)
		return status;
	for (size_t i = 0; i < DENSITIES; i++) {
		const struct density *density = preferred(options, i);
		uint64_t fronts =
			fronts_for(filling_of(density, options->features), options->capacity);
		if (!is_wanted(options, density) ||
		    !plan_lines(density, fronts, (double)options->capacity, plan))
			continue;
		if (plan->groups > FRONTS_MOST)
			return fail(NIDUS_E_RANGE, "the table would be too large for this library");
		plan->capacity = plan->max_capacity = options->capacity;
		return NIDUS_OK;
	}
	return too_few_bits(options);
}

/* ----------------------------------------------------------------- segments -- */

/* Front buckets of a segment: those that share a line of the backyard are 16, so none is lacking. */
static uint64_t segment_fronts(unsigned slots)
{
	uint64_t fronts = SEGMENT_SLOTS / slots;
	if (fronts >= YARD_FAN)
		return fronts / YARD_FAN * YARD_FAN;
	return fronts > 0 ? fronts : 1;
}

/* Keys of a body when all of the filter's are as full as they are to be, on average. */
static double segment_mean(const struct density *density, uint64_t fronts)
{
	return density->in_segment * (double)fronts;
}

static nidus_status breadcrumb_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = check_options(options);
	if (status != NIDUS_OK)
		return status;
	for (size_t i = 0; i < DENSITIES; i++) {
		const struct density *density = preferred(options, i);
		uint64_t fronts = segment_fronts(density->slots);
		if (is_wanted(options, density) &&
		    plan_lines(density, fronts, segment_mean(density, fronts), plan))
			return NIDUS_OK;
	}
	return too_few_bits(options);
}

static uint64_t breadcrumb_segment_keys(const struct blueprint *plan)
{
	const struct density *density = density_of(plan->slots);
	return (uint64_t)(segment_mean(density, plan->groups) * SEGMENT_OVER) + 1;
}

static void breadcrumb_fit_segment(struct blueprint *plan, uint64_t keys)
{
	double each = density_of(plan->slots)->in_segment * SEGMENT_OVER;
	plan->groups = family_divisible(plan, (uint64_t)ceil((double)keys / each));
}

static bool breadcrumb_pack(struct blueprint *plan, uint64_t groups, uint64_t keys)
{
	struct filling filling = filling_of(density_of(plan->slots), plan->features);
	plan->chunks = 1;
	plan->groups = groups;
	double at_rate = plan->fpr / expected_rate(plan, 1);
	plan->capacity = keys_that_fit(filling, groups);
	if ((double)plan->capacity > at_rate)
		plan->capacity = (uint64_t)at_rate;
	plan->max_capacity = plan->capacity;
	return plan->capacity >= keys;
}

static struct forecast breadcrumb_forecast(const struct blueprint *plan, uint64_t keys)
{
	const struct yard_shape *shape = &yard_find(plan->slots)->shape;
	uint64_t fronts = plan->groups, back = yard_lines(fronts) - fronts;
	struct forecast forecast = {
		.bytes = yard_table_bytes(plan, plan->growth_bits),
		.total_slots = fronts * shape->front.slots + back * shape->back.slots,
		.slot_bits = plan->core_bits + plan->growth_bits + plan->value_bits,
		.fpr = expected_rate(plan, (double)keys),
	};
	forecast.load = (double)keys / (double)forecast.total_slots;
	/* Measured: docs/results/breadcrumb.md. Lines that are not full cost nothing more. */
	double fill = (double)keys / (double)(fronts * shape->front.slots);
	forecast.lines = 1 + 0.12 * pow(fill < 1.02 ? fill : 1.02, 8);
	return forecast;
}

/* ----------------------------------------------------------------- adapters -- */

/* Fields of a plan that mean nothing here. */
static nidus_status check_unused(const struct blueprint *plan)
{
	if (plan->reserve != 0 || plan->max_steps != 0 || plan->stash_limit != 0)
		return fail(NIDUS_E_RANGE,
		            "a breadcrumb filter neither searches nor holds back");
	return NIDUS_OK;
}

static nidus_status breadcrumb_check(const struct blueprint *plan)
{
	nidus_status status = check_unused(plan);
	return status == NIDUS_OK ? yard_check(plan) : status;
}

static nidus_status breadcrumb_check_segment(const struct blueprint *plan,
                                             const struct segment *segment)
{
	nidus_status status = check_unused(plan);
	return status == NIDUS_OK ? yard_check_segment(plan, segment) : status;
}

static uint64_t breadcrumb_body_hash(const void *body, const nidus_entry *entry, uint64_t part)
{
	return yard_body_hash(body, entry, part);
}

static nidus_status breadcrumb_spread(const void *from, const struct spread *spread)
{
	return yard_spread(from, spread);
}

static uint64_t breadcrumb_segment_room(const struct blueprint *plan)
{
	return yard_table_bytes(plan, plan->growth_bits);
}

static void breadcrumb_moved(void *body, unsigned char *room)
{
	yard_moved(body, room);
}

static unsigned breadcrumb_tag_at(const struct blueprint *plan)
{
	return plan->core_bits + YARD_BUCKET_BITS;
}

static struct lender breadcrumb_lender(const void *body)
{
	return yard_lender(body);
}

static uint64_t breadcrumb_borrow(const void *body, uint64_t hash)
{
	return yard_borrow(body, hash);
}

_Static_assert(sizeof(struct yard) <= FAMILY_SKETCH, "a sketch has room");

static const void *breadcrumb_sketch(void *room, const struct blueprint *plan,
                                     const struct segment *segment, uint64_t partner_key)
{
	(void)partner_key; /* a yard has no use for it */
	yard_sketch(room, plan, segment);
	return room;
}

static uint64_t breadcrumb_count(const void *body)
{
	return yard_count(body);
}

static unsigned breadcrumb_copies(const struct blueprint *plan)
{
	(void)plan;
	return OVERFLOW_COPIES_MOST;
}

static uint64_t breadcrumb_surplus(const void *body)
{
	return yard_list_surplus(body);
}

static void breadcrumb_promise(void *body, uint64_t capacity)
{
	struct yard *yard = body;
	yard->capacity = capacity;
}

static nidus_status breadcrumb_create(void *body, const struct blueprint *plan,
                                      const struct segment *segment,
                                      const nidus_allocator *allocator, unsigned char *table)
{
	return yard_create(body, plan, segment, allocator, table);
}

static void breadcrumb_free(void *body)
{
	yard_free(body);
}

static void breadcrumb_clear(void *body)
{
	yard_clear(body);
}

static nidus_status breadcrumb_copy(void *to, const void *from)
{
	struct yard *yard = to;
	const struct yard *other = from;
	memcpy(yard->memory.bytes, other->memory.bytes, other->memory.size);
	yard->count = yard_count(other);
	return yard_list_copy(yard, other);
}

static nidus_status breadcrumb_build(void *body, const uint64_t *hashes, const uint64_t *values,
                                     size_t n, unsigned threads)
{
	return yard_build(body, hashes, values, n, threads);
}

static const struct body_ops *breadcrumb_ops(const void *body)
{
	return yard_body_ops(body);
}

static struct fill breadcrumb_fill(const void *body)
{
	const struct yard *yard = body;
	uint64_t count = yard_count(yard), stashed = yard_list_entries(yard);
	double load = (double)(count - stashed) / (double)yard_slots(yard);
	return (struct fill){
		.count = count,
		.stashed = stashed,
		.listed = stashed - yard_list_surplus(yard),
		.bytes = yard_bytes(yard),
		.load = load,
		.headroom = 1 - load,
	};
}

static nidus_status breadcrumb_verify(const void *body)
{
	const struct yard *yard = body;
	uint64_t count;
	nidus_status status = yard_verify(yard, &count);
	if (status == NIDUS_OK && count != yard_count(yard))
		return fail(NIDUS_E_CORRUPT,
		            "the yards hold another number of entries than they say");
	return status;
}

static bool breadcrumb_next(const void *body, nidus_cursor *cursor, nidus_entry *entry)
{
	return yard_next(body, cursor, entry);
}

static nidus_status breadcrumb_entry_hash(const void *body, const nidus_entry *entry,
                                          uint64_t *hash)
{
	return yard_entry_hash(body, entry, hash);
}

static nidus_status breadcrumb_transfer(void *to, const void *from)
{
	return yard_transfer(to, from);
}

static nidus_entry breadcrumb_identity(const void *body, uint64_t hash)
{
	/* Without a tag: it may be of any part. */
	return yard_identity(body, yard_locate(body, hash));
}

static unsigned char *breadcrumb_table(const void *body, uint64_t *size)
{
	const struct yard *yard = body;
	*size = yard->memory.size;
	return yard->memory.bytes;
}

static void breadcrumb_export_stash(const void *body, unsigned char *bytes)
{
	yard_list_export(body, bytes);
}

static nidus_status breadcrumb_import(void *body, const unsigned char *stash, uint64_t stashed,
                                      uint64_t count)
{
	struct yard *yard = body;
	nidus_status status = yard_list_import(yard, stash, stashed);
	if (status != NIDUS_OK)
		return status;
	if (count < yard->list.entries || count - yard->list.entries > yard_slots(yard))
		return fail(
			NIDUS_E_CORRUPT,
			"%llu entries are more than there are slots, or fewer than in the stash",
			(unsigned long long)count);
	yard->count = count;
	return yard->mapped ? NIDUS_OK : breadcrumb_verify(yard);
}

static nidus_status insert_copies(void *body, uint64_t hash, uint64_t value, uint64_t copies)
{
	struct yard *yard = body;
	struct yard_key key = yard_locate(yard, hash);
	key.beside = yard_beside(yard, hash, value);
	return yard_put_copies(yard, key, copies);
}

const struct family family_breadcrumb = {
	.id = NIDUS_BREADCRUMB,
	.name = "breadcrumb",
	.features = NIDUS_DELETE | NIDUS_ENUMERATE | NIDUS_MERGE | NIDUS_GROW | NIDUS_MULTISET |
	            NIDUS_CONCURRENT,
	.body_size = sizeof(struct yard),
	.copies = breadcrumb_copies,
	.plan = breadcrumb_plan,
	.check = breadcrumb_check,
	.forecast = breadcrumb_forecast,
	.create = breadcrumb_create,
	.build = breadcrumb_build,
	.ranges = &breadcrumb_ranges,
	.free = breadcrumb_free,
	.clear = breadcrumb_clear,
	.copy = breadcrumb_copy,
	.ops = breadcrumb_ops,
	.count = breadcrumb_count,
	.surplus = breadcrumb_surplus,
	.promise = breadcrumb_promise,
	.stash_entry = OVERFLOW_ENTRY,
	.fill = breadcrumb_fill,
	.verify = breadcrumb_verify,
	.next = breadcrumb_next,
	.entry_hash = breadcrumb_entry_hash,
	.plan_segment = breadcrumb_plan_segment,
	.segment_keys = breadcrumb_segment_keys,
	.fit_segment = breadcrumb_fit_segment,
	.pack = breadcrumb_pack,
	.spread = breadcrumb_spread,
	.segment_room = breadcrumb_segment_room,
	.moved = breadcrumb_moved,
	.insert_copies = insert_copies,
	.tag_at = breadcrumb_tag_at,
	.transfer = breadcrumb_transfer,
	.identity = breadcrumb_identity,
	.check_segment = breadcrumb_check_segment,
	.body_hash = breadcrumb_body_hash,
	.borrow = breadcrumb_borrow,
	.lender = breadcrumb_lender,
	.sketch = breadcrumb_sketch,
	.pace = 1,
	.speed = NIDUS_SPEED_FAST,
	.table = breadcrumb_table,
	.export_stash = breadcrumb_export_stash,
	.import = breadcrumb_import,
};
