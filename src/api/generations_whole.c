/* SPDX-License-Identifier: MIT
 *
 * generations_whole: generations as wholes: sizes, life, walks, copies, bulk builds and merges.
 */
#include "api/generations_parts.h"

#include <math.h>

#include "api/copies.h"
#include "base/reason.h"

unsigned generation_bits = 6;

/* ------------------------------------------------------------------------- sizes -- */

bool generations_nest(const struct family *inner)
{
	return inner->pack != NULL; /* the first group of an entry is known */
}

/* Whether lookups compare tags, so that a bit more of them halves the rate. */
static bool compares_tags(const struct family *inner, const struct blueprint *plan)
{
	struct blueprint body = directory_body_plan(plan);
	double one = inner->forecast(&body, 1).fpr;
	body.growth_bits = 1;
	return inner->forecast(&body, 1).fpr < one;
}

#define SHARES_FULL 3 /* generations that have a quarter of the target; then an eighth, and so on */

/* What a generation of fresh fingerprints may have of the target, if it is one of the first. */
static double first_share(bool compares)
{
	return compares ? 1.0 / (SHARES_FULL + 1) : 1.0 / GENERATIONS_MOST;
}

/* Bits of a part behind the base segments. */
static unsigned part_bits(const struct family *inner, const struct blueprint *plan, unsigned number)
{
	unsigned more =
		number >= SHARES_FULL && compares_tags(inner, plan) ? number - SHARES_FULL + 1 : 0;
	return plan->growth_bits * (number + 1) + more;
}

/* Keys that the first generation takes. */
static uint64_t first_keys(const struct family *inner, const struct blueprint *plan)
{
	struct blueprint body = directory_body_plan(plan);
	double parts = ldexp((double)plan->chunks, (int)plan->growth_bits);
	return (uint64_t)(UNEVEN * (double)inner->segment_keys(&body) * parts);
}

bool generations_plan_of(const struct family *inner, const struct blueprint *plan, unsigned number,
                         struct blueprint *made)
{
	unsigned bits = part_bits(inner, plan, number), more = plan->growth_bits * number;
	uint64_t keys = first_keys(inner, plan);
	*made = *plan;
	made->segmented = PLAN_DIRECTORY;
	if (number >= GENERATIONS_MOST || keys > FAMILY_CAPACITY_MOST >> more)
		return false;
	made->max_capacity = keys << more;
	made->capacity = number == 0 ? plan->capacity : 1;
	made->growth_bits = bits;
	reason_set_aside();
	nidus_status status = directory_check(inner, made);
	/* Where slots have no room for such tags there are more base segments instead. */
	while (status != NIDUS_OK && number > 0 && made->growth_bits > plan->growth_bits) {
		made->growth_bits--;
		made->chunks *= 2;
		status = directory_check(inner, made);
	}
	(void)reason_decide(NIDUS_OK);
	return status == NIDUS_OK;
}

nidus_status generations_check(const struct family *inner, const struct blueprint *plan)
{
	struct blueprint first = *plan;
	if (plan->max_capacity != NIDUS_UNLIMITED || plan->growth_bits < 1 ||
	    plan->growth_bits > GENERATION_BITS_MOST)
		return fail(NIDUS_E_RANGE, "generations with %u bits to grow", plan->growth_bits);
	if (!generations_nest(inner) &&
	    (!(plan->features & NIDUS_NO_DELETE) || plan->value_bits > 0))
		return fail(NIDUS_E_RANGE, "generations of the %s family keep all, and no values",
		            inner->name);
	first.segmented = PLAN_DIRECTORY;
	nidus_status status = directory_check(inner, &first);
	if (status != NIDUS_OK)
		return status;
	uint64_t keys = first_keys(inner, plan);
	if (keys < 1 || keys > FAMILY_CAPACITY_MOST || plan->capacity > keys)
		return fail(NIDUS_E_RANGE, "a first generation of %llu keys is not possible",
		            (unsigned long long)plan->capacity);
	return NIDUS_OK;
}

/* Why a family cannot have generations with these options, if it cannot. Errors: E_UNSUPPORTED. */
static nidus_status check_family(const struct family *inner, const nidus_options *options)
{
	if (inner->plan_segment == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow", inner->name);
	if (generations_nest(inner))
		return NIDUS_OK;
	if (!(options->features & NIDUS_NO_DELETE))
		return fail(
			NIDUS_E_UNSUPPORTED,
			"a %s filter of unlimited size cannot remove, as its entries do not tell "
			"which of their two buckets comes first: set NIDUS_NO_DELETE, or take "
			"bucketed, windowed or breadcrumb",
			inner->name);
	if (options->value_bits > 0)
		return fail(
			NIDUS_E_UNSUPPORTED,
			"a %s filter of unlimited size keeps no values: take bucketed, windowed or "
			"breadcrumb",
			inner->name);
	return NIDUS_OK;
}

nidus_status generations_plan(const struct family *inner, const nidus_options *options,
                              struct blueprint *plan)
{
	nidus_options wishes = *options;
	double target = plan->fpr;
	nidus_status status = check_family(inner, options);
	if (status != NIDUS_OK)
		return status;
	wishes.stash = 0;
	wishes.max_capacity = FAMILY_CAPACITY_MOST;
	plan->fpr = target * first_share(inner->searches);
	status = inner->plan_segment(&wishes, plan);
	plan->fpr = target;
	if (status != NIDUS_OK)
		return status;
	plan->growth_bits = generation_bits;
	plan->chunks = 1;
	plan->segmented = PLAN_GENERATIONS;
	plan->capacity = options->capacity;
	plan->max_capacity = NIDUS_UNLIMITED;
	uint64_t keys = first_keys(inner, plan);
	plan->chunks = divide_up(options->capacity, keys > 0 ? keys : 1);
	while (first_keys(inner, plan) < options->capacity)
		plan->chunks++;
	return generations_check(inner, plan);
}

struct forecast generations_forecast(const struct family *inner, const struct blueprint *plan,
                                     uint64_t keys)
{
	struct forecast all = { 0 };
	struct blueprint generation, next;
	bool more = generations_plan_of(inner, plan, 0, &generation);
	uint64_t left = keys;
	for (unsigned i = 1; more; i++) {
		more = generations_plan_of(inner, plan, i, &next) && left > generation.max_capacity;
		uint64_t here = more ? generation.max_capacity : left;
		struct forecast forecast = directory_forecast(inner, &generation, here);
		all.bytes += forecast.bytes;
		all.total_slots += forecast.total_slots;
		all.slot_bits = forecast.slot_bits;
		all.fpr += forecast.fpr;
		all.lines += forecast.lines;
		left -= here;
		generation = next;
	}
	all.load = (double)keys / (double)all.total_slots;
	return all;
}

double generations_rate(const struct generations *generations)
{
	double rate = 0;
	for (unsigned i = 0; i < generations->n; i++) {
		struct blueprint plan;
		uint64_t used = directory_used(generations->of[i]);
		if (used > 0 &&
		    generations_plan_of(generations->inner, &generations->plan, i, &plan))
			rate += directory_forecast(generations->inner, &plan, used).fpr;
	}
	return rate;
}

uint64_t generations_capacity(const struct generations *generations)
{
	const struct directory *youngest = generations_youngest(generations);
	uint64_t room = directory_capacity(youngest);
	room = room < generations_most(generations) ? room : generations_most(generations);
	for (unsigned i = 0; i + 1 < generations->n; i++)
		room += directory_used(generations->of[i]);
	return room;
}

/* -------------------------------------------------------------------------- life -- */

/* Only the last generation that there can be refuses keys: others hand over before. */
static void refuse_beyond(struct generations *generations)
{
	struct blueprint next;
	bool last =
		!generations_plan_of(generations->inner, &generations->plan, generations->n, &next);
	generations_youngest(generations)->unbounded = !last;
}

/* A generation, and what it is made of. */
struct generation {
	struct directory directory;
	struct ground ground;
};

nidus_status generations_make_next(struct generations *generations)
{
	struct blueprint plan;
	unsigned number = generations->n;
	if (!generations_plan_of(generations->inner, &generations->plan, number, &plan))
		return fail(NIDUS_E_RANGE, "no generation can follow: more keys at this rate would "
		                           "need more than a 64-bit hash");
	struct block *memory = &generations->memory[number];
	nidus_status status =
		memory_take(&generations->allocator, sizeof(struct generation), memory);
	if (status != NIDUS_OK)
		return status;
	struct generation *made = (struct generation *)(void *)memory->bytes;
	made->ground = (struct ground){ hash_key_of(plan.seed), plan, generations->allocator };
	directory_create(&made->directory, generations->inner, &made->ground, generations->shared,
	                 generations->mapped);
	generations->of[number] = &made->directory;
	generations->most[number] = plan.max_capacity;
	generations->n++;
	refuse_beyond(generations);
	return NIDUS_OK;
}

nidus_status generations_create(struct generations *generations, const struct family *inner,
                                const struct blueprint *plan, const nidus_allocator *allocator,
                                bool mapped)
{
	*generations = (struct generations){
		.inner = inner,
		.plan = *plan,
		.shared = plan->features & NIDUS_CONCURRENT,
		.mapped = mapped,
		.allocator = *allocator,
	};
	nidus_status status = generations_make_next(generations);
	if (status == NIDUS_OK)
		generations_recount(generations);
	return status;
}

void generations_drop(struct generations *generations)
{
	unsigned last = --generations->n;
	directory_free(generations->of[last]);
	memory_give(&generations->allocator, &generations->memory[last]);
	generations->of[last] = NULL;
}

nidus_status generations_add(struct generations *generations)
{
	nidus_status status = generations_make_next(generations);
	if (status != NIDUS_OK)
		return status;
	if (generations->shared)
		status = directory_plant(generations_youngest(generations));
	if (status != NIDUS_OK)
		generations_drop(generations);
	else
		generations_recount(generations);
	return status;
}

nidus_status generations_begin(struct generations *generations, uint64_t capacity)
{
	return directory_begin(generations->of[0], capacity);
}

void generations_free(struct generations *generations)
{
	while (generations->n > 0)
		generations_drop(generations);
}

void generations_clear(struct generations *generations)
{
	while (generations->n > 1)
		generations_drop(generations);
	directory_clear(generations->of[0]);
	generations_recount(generations);
}

/* Inserts that the youngest has room for. */
static uint64_t room_left(const struct generations *generations)
{
	const struct directory *youngest = generations_youngest(generations);
	uint64_t used = directory_used(youngest);
	uint64_t most = generations_most(generations);
	return used < most ? most - used : 0;
}

void generations_recount(struct generations *generations)
{
	uint64_t left = room_left(generations);
	bool full = left <= generations_most(generations) / GENERATION_LEFT;
	generations->room = full ? 0 : (int64_t)left;
}

nidus_status generations_grow(struct generations *generations, uint64_t capacity)
{
	struct directory *youngest = generations_youngest(generations);
	for (unsigned i = 0; i + 1 < generations->n; i++) {
		uint64_t old = directory_used(generations->of[i]);
		capacity -= old < capacity ? old : capacity;
	}
	uint64_t most = generations_most(generations);
	return directory_grow(youngest, capacity < most ? capacity : most, true);
}

/* ---------------------------------------------------------------------- contents -- */

uint64_t generations_count(const struct generations *generations)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < generations->n; i++)
		count += directory_count(generations->of[i]);
	return count;
}

struct fill generations_fill(const struct generations *generations)
{
	struct fill all = { .bytes = (generations->n - 1) * sizeof(struct directory) };
	for (unsigned i = 0; i < generations->n; i++) {
		struct fill fill = directory_fill(generations->of[i]);
		all.count += fill.count;
		all.stashed += fill.stashed;
		all.listed += fill.listed;
		all.bytes += fill.bytes;
		all.bodies += fill.bodies;
		all.slots += fill.slots;
		all.load += fill.load * (double)fill.slots;
		all.headroom = fill.headroom; /* of the youngest in the end */
	}
	all.load = all.slots > 0 ? all.load / (double)all.slots : 0;
	return all;
}

nidus_status generations_verify_room(const struct generations *generations)
{
	/* Less may be left: copies that a list only counted have places in the leaves made of it. */
	if (generations->room > 0 && (uint64_t)generations->room > generations_most(generations))
		return fail(NIDUS_E_CORRUPT,
		            "the youngest generation promises more room than it has");
	return NIDUS_OK;
}

nidus_status generations_verify(const struct generations *generations)
{
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < generations->n && status == NIDUS_OK; i++)
		status = directory_verify(generations->of[i]);
	return status == NIDUS_OK ? generations_verify_room(generations) : status;
}

/* The place of a walk has the number of a generation in its highest bits. */
bool generations_next(const struct generations *generations, nidus_cursor *cursor,
                      nidus_entry *entry)
{
	uint64_t number = cursor->position[0] >> GENERATION_AT;
	for (; number < generations->n; number++) {
		nidus_cursor inner = { { cursor->position[0] & bits_low(GENERATION_AT),
			                 cursor->position[1] } };
		bool found = directory_next(generations->of[number], &inner, entry);
		cursor->position[0] = found ? inner.position[0] | number << GENERATION_AT
		                            : (number + 1) << GENERATION_AT;
		cursor->position[1] = found ? inner.position[1] : 0;
		if (found) {
			entry->home |= number << GENERATION_AT;
			return true;
		}
	}
	return false;
}

nidus_status generations_entry_hash(const struct generations *generations, const nidus_entry *entry,
                                    uint64_t *hash)
{
	uint64_t number = entry->home >> GENERATION_AT;
	nidus_entry inside = *entry;
	inside.home &= bits_low(GENERATION_AT);
	if (number >= generations->n)
		return fail(NIDUS_E_RANGE, "the filter has no generation %llu",
		            (unsigned long long)number);
	return directory_entry_hash(generations->of[number], &inside, hash);
}

nidus_entry generations_identity(const struct generations *generations, uint64_t hash)
{
	nidus_entry entry = directory_identity(generations_youngest(generations), hash);
	entry.home |= (uint64_t)(generations->n - 1) << GENERATION_AT;
	return entry;
}

/* Puts an entry into its generation, which is there. */
static nidus_status put_entry(struct generations *generations, const nidus_entry *entry)
{
	struct directory *directory;
	uint64_t hash;
	nidus_status status = generations_entry_hash(generations, entry, &hash);
	if (status != NIDUS_OK)
		return status;
	directory = generations->of[entry->home >> GENERATION_AT];
	status = directory_ops.insert_value(directory, hash, entry->value);
	if (status == NIDUS_OK && generations->shared)
		directory_look_after(directory);
	if (directory == generations_youngest(generations))
		generations->room -= status == NIDUS_OK;
	return status;
}

nidus_status generations_insert_entry(void *body, const nidus_entry *entry)
{
	struct generations *generations = body;
	unsigned before = generations->n;
	int64_t room = generations->room;
	uint64_t number = entry->home >> GENERATION_AT;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && generations->n <= number)
		status = generations_add(generations);
	if (status == NIDUS_OK)
		status = put_entry(generations, entry);
	if (status == NIDUS_OK)
		return status;
	while (generations->n > before)
		generations_drop(generations);
	generations->room = room;
	return status;
}

/* ------------------------------------------------------ copies, builds and merges -- */

nidus_status generations_copy(struct generations *to, const struct generations *from)
{
	nidus_status status = NIDUS_OK;
	while (to->n < from->n && status == NIDUS_OK)
		status = generations_make_next(to);
	for (unsigned i = 0; i < from->n && status == NIDUS_OK; i++)
		status = directory_copy(to->of[i], from->of[i]);
	to->room = from->room;
	return status;
}

nidus_status generations_build(struct generations *generations, const uint64_t *hashes,
                               const uint64_t *values, size_t n)
{
	uint64_t places = n;
	nidus_status status = NIDUS_OK;
	if (n > generations->most[0])
		places = copies_places(generations->inner, &generations->plan, hashes, values, n);
	/* All go to the first generation that has room for them; those before stay empty. */
	while (places > generations_most(generations) && status == NIDUS_OK)
		status = generations_add(generations);
	if (status == NIDUS_OK)
		status = directory_build(generations_youngest(generations), hashes, values, n);
	generations_recount(generations);
	return status;
}

nidus_status generations_expect(struct generations *generations, uint64_t keys)
{
	struct directory *youngest = generations_youngest(generations);
	nidus_status status = NIDUS_OK;
	youngest->unbounded = true;
	if (youngest->shared && youngest->index == NULL)
		status = directory_plant(youngest);
	return status == NIDUS_OK ? directory_grow(youngest, keys, true) : status;
}

void generations_settle(struct generations *generations)
{
	struct directory *youngest = generations_youngest(generations);
	refuse_beyond(generations);
	directory_recount(youngest);
	directory_look_after(youngest);
	generations_recount(generations);
}
