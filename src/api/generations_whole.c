/* SPDX-License-Identifier: MIT
 *
 * generations_whole: generations as wholes: sizes, life, walks, copies, bulk builds and merges.
 */
#include "api/generations_parts.h"

#include <math.h>

#include "api/copies.h"
#include "base/reason.h"

unsigned generation_bits = 6, generation_bits_first = 3;

/* ------------------------------------------------------------------------- sizes -- */

bool generations_nest(const struct family *inner)
{
	return inner->pack != NULL; /* the first group of an entry is known */
}

/* What the first generation may have of the target. */
static double first_share(const struct family *inner)
{
	return inner->searches ? 0.5 : 1.0 / GENERATIONS_MOST;
}

/* The plan's shares, where lookups compare tags: so a bit more of them halves the rate. */
static uint8_t shares_of(const struct family *inner, const struct blueprint *plan)
{
	struct blueprint first;
	if (!inner->searches || !generations_plan_of(inner, plan, 0, &first))
		return 0;
	double rate = directory_forecast(inner, &first, first.max_capacity).fpr;
	double shares = GENERATION_SHARE * plan->fpr / rate;
	return (uint8_t)(shares < UINT8_MAX ? shares : UINT8_MAX);
}

/* Bits that a generation has so that it takes half of what the older ones left, at most. */
static unsigned bits_of_share(const struct blueprint *plan, unsigned number)
{
	unsigned left = (unsigned)plan->shares << 16, share = GENERATION_SHARE << 16, bits = 0;
	for (unsigned i = 0; i <= number && plan->shares > 0; i++) {
		while (share >> bits > left / 2)
			bits++;
		left -= share >> bits;
	}
	return bits;
}

/* Bits of a part behind the base segments. */
static unsigned part_bits(const struct blueprint *plan, unsigned number)
{
	return plan->growth_bits + plan->stride * number + bits_of_share(plan, number);
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
	unsigned bits = part_bits(plan, number), more = plan->stride * number;
	uint64_t keys = first_keys(inner, plan);
	*made = *plan;
	made->segmented = PLAN_DIRECTORY;
	made->stride = made->shares = 0;
	if (number >= GENERATIONS_MOST ||
	    (number > 0 && keys > FAMILY_CAPACITY_MOST >> (more - plan->stride)))
		return false;
	made->max_capacity =
		keys > FAMILY_CAPACITY_MOST >> more ? FAMILY_CAPACITY_MOST : keys << more;
	made->capacity = number == 0 ? plan->capacity : 1;
	made->growth_bits = (uint8_t)bits;
	reason_set_aside();
	nidus_status status = directory_check(inner, made);
	/* Where slots have no room for such tags there are more base segments instead. */
	while (status != NIDUS_OK && number > 0 && made->growth_bits > 0) {
		made->growth_bits--;
		made->chunks *= 2;
		status = directory_check(inner, made);
	}
	(void)reason_decide(NIDUS_OK);
	return status == NIDUS_OK;
}

nidus_status generations_check(const struct family *inner, const struct blueprint *plan)
{
	struct blueprint first = *plan, second;
	if (plan->max_capacity != NIDUS_UNLIMITED || plan->growth_bits > GENERATION_BITS_MOST ||
	    plan->stride < 1 || plan->stride > GENERATION_BITS_MOST)
		return fail(NIDUS_E_RANGE, "generations with %u bits to grow, and %u more each",
		            plan->growth_bits, plan->stride);
	if (!generations_nest(inner) &&
	    (!(plan->features & NIDUS_NO_DELETE) || plan->value_bits > 0))
		return fail(NIDUS_E_RANGE, "generations of the %s family keep all, and no values",
		            inner->name);
	if (inner->searches ? plan->shares < 2 * GENERATION_SHARE : plan->shares != 0)
		return fail(NIDUS_E_RANGE, "generations with %u shares of the rate", plan->shares);
	first.segmented = PLAN_DIRECTORY;
	nidus_status status = directory_check(inner, &first);
	if (status != NIDUS_OK)
		return status;
	uint64_t keys = first_keys(inner, plan);
	if (keys < 1 || keys > FAMILY_CAPACITY_MOST || plan->capacity > keys)
		return fail(NIDUS_E_RANGE, "a first generation of %llu keys is not possible",
		            (unsigned long long)plan->capacity);
	if (!generations_plan_of(inner, plan, 1, &second))
		return fail(NIDUS_E_RANGE, "so low a rate leaves no bits of a 64-bit hash to grow "
		                           "beyond %llu keys: set max_capacity",
		            (unsigned long long)keys);
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
	plan->fpr = target * first_share(inner);
	status = inner->plan_segment(&wishes, plan);
	plan->fpr = target;
	if (status != NIDUS_OK)
		return status;
	plan->growth_bits = (uint8_t)generation_bits_first;
	plan->stride = (uint8_t)generation_bits;
	plan->chunks = 1;
	plan->segmented = PLAN_GENERATIONS;
	plan->capacity = options->capacity;
	plan->max_capacity = NIDUS_UNLIMITED;
	uint64_t keys = first_keys(inner, plan);
	plan->chunks = divide_up(options->capacity, keys > 0 ? keys : 1);
	while (first_keys(inner, plan) < options->capacity)
		plan->chunks++;
	plan->shares = shares_of(inner, plan);
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

/* The plan of a generation that is there, or of the next one; false if none can follow. */
static bool plan_of(const struct generations *generations, unsigned number, struct blueprint *plan)
{
	const struct directory *first = &generations->first;
	return generations_plan_of(first->inner, &first->ground->plan, number, plan);
}

double generations_rate(const struct generations *generations)
{
	double rate = 0;
	for (unsigned i = 0; i < generations_n(generations); i++) {
		struct blueprint plan;
		uint64_t used = directory_used(generations_at(generations, i));
		if (used > 0 &&
		    plan_of(generations, i, &plan))
			rate += directory_forecast(generations->first.inner, &plan, used).fpr;
	}
	return rate;
}

uint64_t generations_most(const struct generations *generations)
{
	const struct directory *first = &generations->first;
	return generations->younger == NULL
	               ? first_keys(first->inner, &first->ground->plan)
	               : generations_youngest(generations)->ground->plan.max_capacity;
}

uint64_t generations_capacity(const struct generations *generations)
{
	const struct directory *youngest = generations_youngest(generations);
	uint64_t room = directory_capacity(youngest);
	room = room < generations_most(generations) ? room : generations_most(generations);
	for (unsigned i = 0; i + 1 < generations_n(generations); i++)
		room += directory_used(generations_at(generations, i));
	return room;
}

/* -------------------------------------------------------------------------- life -- */

/* Only the last generation that there can be refuses keys: others hand over before. */
static void refuse_beyond(struct generations *generations)
{
	struct blueprint next;
	bool last = !plan_of(generations, generations_n(generations), &next);
	generations_youngest(generations)->unbounded = !last;
}

void generations_create(struct generations *generations, const struct family *inner,
                        const struct ground *ground, bool shared, bool mapped)
{
	*generations = (struct generations){ .younger = NULL };
	directory_create(&generations->first, inner, ground, shared, mapped);
	generations->first.unbounded = true; /* a second one is possible */
	generations_recount(generations);
}

void generations_move(struct generations *generations, const struct ground *ground)
{
	directory_move(&generations->first, ground);
}

/* Where the younger generations are to be known. Errors: E_NOMEM. */
static nidus_status take_younger(struct generations *generations)
{
	struct block memory;
	if (generations->younger != NULL)
		return NIDUS_OK;
	nidus_status status = memory_take_anywhere(&generations->first.ground->allocator,
	                                           sizeof(struct younger), &memory);
	if (status != NIDUS_OK)
		return status;
	generations->younger = (struct younger *)(void *)memory.bytes;
	generations->younger->memory = memory;
	return NIDUS_OK;
}

/* Gives that back if there is none. */
static void give_younger(struct generations *generations)
{
	struct younger *younger = generations->younger;
	if (younger == NULL || younger->n > 0)
		return;
	struct block memory = younger->memory;
	generations->younger = NULL;
	memory_give(&generations->first.ground->allocator, &memory);
}

/* A generation of a plan. Errors: E_NOMEM. */
static nidus_status make_generation(const struct directory *first, const struct blueprint *plan,
                                    struct generation **made)
{
	struct block memory;
	const nidus_allocator *allocator = &first->ground->allocator;
	nidus_status status = memory_take_anywhere(allocator, sizeof(struct generation), &memory);
	if (status != NIDUS_OK)
		return status;
	struct generation *generation = (struct generation *)(void *)memory.bytes;
	generation->ground = (struct ground){ .key = first->ground->key,
		                              .plan = *plan,
		                              .allocator = *allocator };
	generation->memory = memory;
	directory_create(&generation->directory, first->inner, &generation->ground, first->shared,
	                 first->mapped);
	*made = generation;
	return NIDUS_OK;
}

nidus_status generations_make_next(struct generations *generations)
{
	struct blueprint plan;
	struct generation *made;
	if (!plan_of(generations, generations_n(generations), &plan))
		return fail(NIDUS_E_RANGE, "no generation can follow: more keys at this rate would "
		                           "need more than a 64-bit hash");
	nidus_status status = take_younger(generations);
	if (status == NIDUS_OK)
		status = make_generation(&generations->first, &plan, &made);
	if (status != NIDUS_OK) {
		give_younger(generations);
		return status;
	}
	made->directory.spare =
		bits_of_share(&generations->first.ground->plan, generations_n(generations)) & 31;
	generations->younger->of[generations->younger->n++] = made;
	refuse_beyond(generations);
	return NIDUS_OK;
}

void generations_drop(struct generations *generations)
{
	struct generation *last = generations->younger->of[--generations->younger->n];
	struct block memory = last->memory;
	directory_free(&last->directory);
	memory_give(&generations->first.ground->allocator, &memory);
	give_younger(generations);
}

/* It has leaves from the start: lookups ask all generations, and a list is slow. */
nidus_status generations_add(struct generations *generations)
{
	nidus_status status = generations_make_next(generations);
	if (status != NIDUS_OK)
		return status;
	status = directory_plant(generations_youngest(generations));
	if (status != NIDUS_OK)
		generations_drop(generations);
	else
		generations_recount(generations);
	return status;
}

nidus_status generations_begin(struct generations *generations, uint64_t capacity)
{
	return directory_begin(generations_at(generations, 0), capacity);
}

void generations_free(struct generations *generations)
{
	while (generations->younger != NULL)
		generations_drop(generations);
	directory_free(&generations->first);
}

void generations_clear(struct generations *generations)
{
	while (generations->younger != NULL)
		generations_drop(generations);
	directory_clear(generations_at(generations, 0));
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
	for (unsigned i = 0; i + 1 < generations_n(generations); i++) {
		uint64_t old = directory_used(generations_at(generations, i));
		capacity -= old < capacity ? old : capacity;
	}
	uint64_t most = generations_most(generations);
	return directory_grow(youngest, capacity < most ? capacity : most, true);
}

/* ---------------------------------------------------------------------- contents -- */

uint64_t generations_count(const struct generations *generations)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < generations_n(generations); i++)
		count += directory_count(generations_at(generations, i));
	return count;
}

struct fill generations_fill(const struct generations *generations)
{
	const struct younger *younger = generations->younger;
	struct fill all = { .bytes = 0 };
	if (younger != NULL)
		all.bytes = sizeof *younger + younger->n * sizeof(struct generation);
	for (unsigned i = 0; i < generations_n(generations); i++) {
		struct fill fill = directory_fill(generations_at(generations, i));
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
	for (unsigned i = 0; i < generations_n(generations) && status == NIDUS_OK; i++)
		status = directory_verify(generations_at(generations, i));
	return status == NIDUS_OK ? generations_verify_room(generations) : status;
}

/* The place of a walk has the number of a generation in its highest bits. */
bool generations_next(const struct generations *generations, nidus_cursor *cursor,
                      nidus_entry *entry)
{
	uint64_t number = cursor->position[0] >> GENERATION_AT;
	for (; number < generations_n(generations); number++) {
		nidus_cursor inner = { { cursor->position[0] & bits_low(GENERATION_AT),
			                 cursor->position[1] } };
		bool found = directory_next(generations_at(generations, number), &inner, entry);
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
	if (number >= generations_n(generations))
		return fail(NIDUS_E_RANGE, "the filter has no generation %llu",
		            (unsigned long long)number);
	return directory_entry_hash(generations_at(generations, number), &inside, hash);
}

nidus_entry generations_identity(const struct generations *generations, uint64_t hash)
{
	nidus_entry entry = directory_identity(generations_youngest(generations), hash);
	entry.home |= (uint64_t)(generations_n(generations) - 1) << GENERATION_AT;
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
	directory = generations_at(generations, entry->home >> GENERATION_AT);
	status = directory_ops.insert_value(directory, hash, entry->value);
	if (status == NIDUS_OK && generations->first.shared)
		directory_look_after(directory);
	if (directory == generations_youngest(generations))
		generations->room -= status == NIDUS_OK;
	return status;
}

nidus_status generations_insert_entry(void *body, const nidus_entry *entry)
{
	struct generations *generations = body;
	unsigned before = generations_n(generations);
	int64_t room = generations->room;
	uint64_t number = entry->home >> GENERATION_AT;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && generations_n(generations) <= number)
		status = generations_add(generations);
	if (status == NIDUS_OK)
		status = put_entry(generations, entry);
	if (status == NIDUS_OK)
		return status;
	while (generations_n(generations) > before)
		generations_drop(generations);
	generations->room = room;
	return status;
}

/* ------------------------------------------------------ copies, builds and merges -- */

nidus_status generations_copy(struct generations *to, const struct generations *from)
{
	nidus_status status = NIDUS_OK;
	while (generations_n(to) < generations_n(from) && status == NIDUS_OK)
		status = generations_make_next(to);
	for (unsigned i = 0; i < generations_n(from) && status == NIDUS_OK; i++)
		status = directory_copy(generations_at(to, i), generations_at(from, i));
	to->room = from->room;
	return status;
}

nidus_status generations_build(struct generations *generations, const uint64_t *hashes,
                               const uint64_t *values, size_t n)
{
	uint64_t places = n;
	nidus_status status = NIDUS_OK;
	if (n > generations_most(generations))
		places = copies_places(generations->first.inner,
		                       &generations->first.ground->plan, hashes, values, n);
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
