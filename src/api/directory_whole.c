/* SPDX-License-Identifier: MIT
 *
 * directory_whole: directories as wholes: sizes, life, walks, copies, bulk builds and merges.
 */
#include "api/directory_parts.h"

#include <assert.h>
#include <math.h>

#include "base/reason.h"
#include "base/watch.h"

#define HASH_BITS 64

/* ------------------------------------------------------------------------- sizes -- */

struct blueprint directory_body_plan(const struct blueprint *plan)
{
	struct blueprint body = *plan;
	body.chunks = 1;
	body.growth_bits = body.stride = body.shares = body.segmented = 0;
	body.slices = 0;
	body.fpr = 1; /* what a body takes is a question of its places alone */
	if (body.stash_limit == 0 && family_find(plan->family)->searches)
		body.stash_limit =
			1; /* a leaf that cannot be split keeps what comes in its lists */
	return body;
}

static nidus_status too_many_bits(void)
{
	return fail(NIDUS_E_RANGE, "so many keys at so low a rate need more than a 64-bit hash");
}

nidus_status directory_check(const struct family *inner, const struct blueprint *plan)
{
	if (plan->growth_bits > LEAF_DEPTH_MOST ||
	    plan->chunks < 1 || plan->chunks > UINT64_C(1) << LEAF_DEPTH_MOST || plan->groups < 1 ||
	    plan->groups > UINT64_C(1) << 46 ||
	    log2_floor(plan->chunks) + plan->growth_bits >= LEAF_DEPTH_MOST)
		return fail(NIDUS_E_RANGE, "a directory of %llu segments with %u bits to grow",
		            (unsigned long long)plan->chunks, plan->growth_bits);
	if (log2_floor(plan->chunks) + log2_floor(plan->groups) + plan->growth_bits +
	            plan->core_bits >
	    HASH_BITS - 6)
		return too_many_bits();
	struct blueprint body = directory_body_plan(plan);
	struct segment segment = { .parts = plan->chunks << plan->growth_bits,
		                   .most_bits = plan->growth_bits };
	nidus_status status = inner->check_segment(&body, &segment);
	body.growth_bits = segment.tag_bits = plan->growth_bits;
	return status == NIDUS_OK ? inner->check_segment(&body, &segment) : status;
}

/* Parts that so many keys fill. */
static double parts_for(uint64_t keys, uint64_t of_body)
{
	return (double)keys / (UNEVEN * (double)of_body);
}

#define FIXED_LARGER 4 /* times: bodies of a directory that never grows, where tables can be of any size */

/* The same where all bodies are there from the first: they are larger, and so more even. */
static double parts_of_fixed(const struct family *inner, struct blueprint *plan, uint64_t capacity,
                             uint64_t *keys)
{
	if (inner->fit_segment == NULL || capacity <= *keys)
		return parts_for(capacity, *keys);
	inner->fit_segment(plan, *keys * FIXED_LARGER);
	*keys = inner->segment_keys(plan);
	double even = 1 - (1 - UNEVEN) / sqrt(FIXED_LARGER);
	return (double)capacity / (even * (double)*keys);
}

#define BASE_FEW 3 /* base segments of a small filter whose bodies have one size, at least */

/*
 * How many base segments there are instead of a number that need not be whole. Where bodies can be
 * of any size, a third larger does as well as a quarter smaller.
 */
static uint64_t base_segments(double least, double wanted, bool any_size)
{
	double whole = floor(wanted);
	if (!any_size || whole < 1 || wanted > whole * 4 / 3)
		whole = ceil(wanted);
	return (uint64_t)(whole < least ? least : whole);
}

nidus_status directory_plan(const struct family *inner, const nidus_options *options,
                            struct blueprint *plan)
{
	if (inner->plan_segment == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow", inner->name);
	nidus_options wishes = *options;
	wishes.stash = 0; /* lists are what keeps everything where a leaf cannot be split */
	nidus_status status = inner->plan_segment(&wishes, plan);
	if (status != NIDUS_OK)
		return status;
	uint64_t keys = inner->segment_keys(plan);
	bool fixed = options->capacity == options->max_capacity;
	double first = fixed ? parts_of_fixed(inner, plan, options->capacity, &keys)
	                     : parts_for(options->capacity, keys);
	double last = fixed ? first : parts_for(options->max_capacity, keys);
	/* A list comes first: a few base segments more let tables end where max_capacity does. */
	if (options->capacity <= keys / 2)
		first = inner->fit_segment != NULL ? 1 : fmin(last, BASE_FEW);
	plan->growth_bits = 0;
	while (ldexp(first, (int)plan->growth_bits + 1) <= last * (1 + 1e-9))
		plan->growth_bits++;
	plan->chunks = base_segments(ceil(first), ldexp(last, -(int)plan->growth_bits),
	                             inner->fit_segment != NULL);
	double parts = ldexp((double)plan->chunks, (int)plan->growth_bits);
	if (inner->fit_segment != NULL)
		inner->fit_segment(plan, (uint64_t)ceil((double)keys * last / parts));
	plan->segmented = 1;
	plan->capacity = options->capacity;
	plan->max_capacity = options->max_capacity;
	return directory_check(inner, plan);
}

/* The bodies that so many keys have, were they quite even. */
struct bodies {
	uint64_t all;
	unsigned in_leaf, tag_bits;
};

static struct bodies bodies_for(const struct blueprint *plan, uint64_t of_body, uint64_t keys)
{
	double wanted = parts_for(keys, of_body) / (double)plan->chunks;
	unsigned depth = 0;
	if (wanted <= 1 || plan->growth_bits == 0)
		return (struct bodies){ plan->chunks, 1, plan->growth_bits };
	/* Two bodies of a leaf, three, then two of each half. */
	while (depth + 1 < plan->growth_bits && ldexp(3, (int)depth) < wanted)
		depth++;
	unsigned tag_bits = plan->growth_bits - depth - 1;
	unsigned in_leaf = ldexp(2, (int)depth) < wanted && tag_bits > 0 ? 3 : 2;
	return (struct bodies){ (plan->chunks << depth) * in_leaf, in_leaf, tag_bits };
}

#define LEAF_BYTES (sizeof(struct leaf) + MEMORY_LINE) /* with what is lost where it begins */

/* Bytes of bodies and of what leads to them. */
static uint64_t bytes_of_bodies(const struct family *inner, const struct bodies *bodies,
                                const struct blueprint *body)
{
	uint64_t block = directory_block_bytes(inner, body, bodies->tag_bits);
	uint64_t leaf = LEAF_BYTES +
	                sizeof(void *) * (bodies->in_leaf < LEAF_BODIES ? bodies->in_leaf : CELLS);
	return bodies->all * block + bodies->all / bodies->in_leaf * leaf;
}

/*
 * The rate of n entries is n times that of one. Where lookups compare tags that is the same however
 * many bodies there are; otherwise an entry answers for all parts that its body holds.
 */
static double rate_of(const struct family *inner, const struct blueprint *plan,
                      const struct blueprint *body, uint64_t bodies, uint64_t keys)
{
	struct blueprint untagged = *body;
	untagged.growth_bits = 0;
	double one = inner->forecast(&untagged, 1).fpr;
	bool compared = body->growth_bits == 0 || inner->forecast(body, 1).fpr < one;
	double parts = ldexp((double)plan->chunks, (int)plan->growth_bits);
	return one * (double)keys / (compared || parts < (double)bodies ? parts : (double)bodies);
}

struct forecast directory_forecast(const struct family *inner, const struct blueprint *plan,
                                   uint64_t keys)
{
	struct blueprint body = directory_body_plan(plan);
	uint64_t of_body = inner->segment_keys(&body);
	struct bodies bodies = bodies_for(plan, of_body, keys);
	body.growth_bits = bodies.tag_bits;
	struct forecast forecast = inner->forecast(&body, keys / bodies.all);
	unsigned bits = directory_list_bits(inner, plan);
	bool few = keys <= directory_list_most(plan, of_body, bits,
	                                       plan->features & NIDUS_CONCURRENT);
	forecast.bytes = few ? few_size(bits, plan->value_bits, keys)
	                     : bytes_of_bodies(inner, &bodies, &body);
	forecast.total_slots *= bodies.all;
	forecast.load = (double)keys / (double)forecast.total_slots;
	forecast.fpr = rate_of(inner, plan, &body, few ? UINT64_MAX : bodies.all, keys);
	return forecast;
}

uint64_t directory_slots(const struct family *inner, const struct blueprint *plan)
{
	struct blueprint body = directory_body_plan(plan);
	double parts = ldexp((double)plan->chunks, (int)plan->growth_bits);
	double slots = (double)inner->forecast(&body, 0).total_slots * parts;
	return slots < 0x1p63 ? (uint64_t)slots : UINT64_C(1) << 63;
}

/* -------------------------------------------------------------------------- life -- */

void directory_move(struct directory *directory, const struct ground *ground)
{
	directory->ground = ground;
}

void directory_create(struct directory *directory, const struct family *inner,
                      const struct ground *ground, bool shared, bool mapped)
{
	const struct blueprint *plan = &ground->plan;
	struct blueprint body = directory_body_plan(plan);
	unsigned bits = directory_list_bits(inner, plan);
	*directory = (struct directory){
		.inner = inner,
		.ground = ground,
		.parts = plan->chunks << plan->growth_bits,
		.few = { .bits = (uint8_t)bits, .value_bits = (uint8_t)plan->value_bits },
		.few_most = (uint16_t)directory_list_most(plan, inner->segment_keys(&body), bits,
		                                          shared),
		.shared = shared,
		.mapped = mapped,
	};
}

void directory_free(struct directory *directory)
{
	directory_uproot(directory);
	few_free(&directory->few, &directory->ground->allocator);
}

nidus_status directory_begin(struct directory *directory, uint64_t capacity)
{
	nidus_status status = NIDUS_OK;
	if (directory->shared)
		status = directory_plant(directory);
	return status == NIDUS_OK ? directory_grow(directory, capacity, true) : status;
}

void directory_clear(struct directory *directory)
{
	directory_uproot(directory);
	few_clear(&directory->few, &directory->ground->allocator);
}

/* ---------------------------------------------------------------------- contents -- */

uint64_t directory_count(const struct directory *directory)
{
	uint64_t count = few_entries(&directory->few), index = 0;
	for (const struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;)
		count += directory_leaf_count(directory, leaf);
	return count;
}

/* Adds a body to what a directory has. */
static void add_fill(struct fill *all, const struct fill *body)
{
	all->count += body->count;
	all->stashed += body->stashed;
	all->listed += body->listed;
	all->bytes += body->bytes;
	all->bodies++;
}

/* Bytes of a body's table, which is in its block; 0 if it is a file's. */
static uint64_t room_of_body(const struct directory *directory, const void *body)
{
	struct blueprint plan = directory->trunk->plan;
	plan.growth_bits = body_tag_bits(body);
	return directory->mapped ? 0 : directory->inner->segment_room(&plan);
}

/* Adds the bodies of a leaf, but for their blocks. */
static void fill_of_leaf(const struct directory *directory, const struct leaf *leaf,
                         struct fill *all)
{
	struct fill here = { 0 };
	for (unsigned i = 0; i < leaf->bodies; i++) {
		struct fill body = directory->inner->fill(leaf->body[i]);
		body.bytes -= room_of_body(directory, leaf->body[i]);
		add_fill(&here, &body);
		add_fill(all, &body);
	}
	all->bytes += LEAF_BYTES;
	uint64_t places = here.count - (here.stashed - here.listed);
	double left = 1 - (double)places / (double)directory_leaf_keys(directory, leaf->bodies);
	all->headroom = left < all->headroom ? left : all->headroom;
}

/* Bytes of bodies, and of what leads to them but for the leaves. */
static uint64_t bytes_of_trunk(const struct directory *directory)
{
	const struct trunk *trunk = directory->trunk;
	return trunk == NULL ? 0
	                     : trunk->index_memory.size + trunk->model_memory.size +
	                               trunk->memory.size + directory_slab_bytes(directory);
}

struct fill directory_fill(const struct directory *directory)
{
	const struct few *few = &directory->few;
	struct fill fill = { .count = few_entries(few),
		             .stashed = few_overflow(few)->entries,
		             .listed = few_overflow(few)->nodes,
		             .bytes = few_memory(few) + bytes_of_trunk(directory),
		             .headroom = 1 };
	uint64_t index = 0;
	if (directory->index == NULL && few->count > 0)
		fill.headroom -= (double)few->count / (double)directory->few_most;
	for (const struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;)
		fill_of_leaf(directory, leaf, &fill);
	if (directory->trunk != NULL)
		fill.slots = fill.bodies *
		             directory->inner->forecast(&directory->trunk->plan, 0).total_slots;
	if (fill.slots > 0)
		fill.load = (double)(fill.count - fill.stashed) / (double)fill.slots;
	fill.headroom = fill.headroom > 0 ? fill.headroom : 0;
	return fill;
}

/* ------------------------------------------------------------------------- walks -- */

uint64_t directory_part_of_entry(const struct directory *directory, const void *body,
                                 const nidus_entry *entry)
{
	return body_head(body)->first +
	       (entry->fingerprint >> directory->inner->tag_at(&directory->ground->plan));
}

/* An entry of a body as one of the filter. */
static nidus_entry entry_outside(const struct directory *directory, const nidus_entry *entry,
                                 uint64_t part)
{
	unsigned at = directory->inner->tag_at(&directory->ground->plan);
	uint64_t growth = part & bits_low(directory->ground->plan.growth_bits);
	return (nidus_entry){
		.home = (part >> directory->ground->plan.growth_bits) *
		                directory->ground->plan.groups +
		        entry->home,
		.fingerprint = (entry->fingerprint & bits_low(at)) | growth << at,
		.value = entry->value,
	};
}

/* Room for what identities need of a body. */
struct sketch {
	_Alignas(MEMORY_LINE) unsigned char room[FAMILY_SKETCH];
};

/* The model, or a sketch of one: a list has none. */
static const void *model_of(const struct directory *directory, struct sketch *sketch)
{
	if (directory->trunk != NULL)
		return directory->trunk->model;
	const struct ground *ground = directory->ground;
	struct segment segment = { .parts = directory->parts,
		                   .tag_bits = directory->ground->plan.growth_bits,
		                   .most_bits = directory->ground->plan.growth_bits };
	return directory->inner->sketch(sketch->room, &ground->plan, &segment,
	                                hash_partner_key(&ground->key));
}

nidus_entry directory_identity(const struct directory *directory, uint64_t hash)
{
	struct sketch sketch;
	nidus_entry entry = directory->inner->identity(model_of(directory, &sketch), hash);
	return entry_outside(directory, &entry, multiply_high(hash, directory->parts));
}

static bool next_of_few(const struct directory *directory, nidus_cursor *cursor, nidus_entry *entry)
{
	const struct few *few = &directory->few;
	uint64_t *at = &cursor->position[0], *copy = &cursor->position[1];
	struct few_place place = { *at & UINT32_MAX, *at >> 32 };
	struct few_record record;
	if (!few_next(few, &place, &record))
		return false;
	*entry = directory_listed_entry(directory, record);
	if (++*copy >= few_copies_of(few, record)) {
		*at = place.head << 32 | place.index;
		*copy = 0;
	}
	return true;
}

/* A cursor inside of a body is kept in one number. */
#define INNER_BITS 44

static nidus_cursor unpack(uint64_t packed)
{
	return (nidus_cursor){ { packed >> INNER_BITS, packed & bits_low(INNER_BITS) } };
}

static uint64_t pack(const nidus_cursor *cursor)
{
	return cursor->position[0] << INNER_BITS | cursor->position[1];
}

bool directory_next(const struct directory *directory, nidus_cursor *cursor, nidus_entry *entry)
{
	uint64_t *place = &cursor->position[0], entries = directory_entries(directory);
	if (directory->index == NULL)
		return next_of_few(directory, cursor, entry);
	while (*place < entries) {
		uint64_t behind = *place;
		const void *body = directory_next_body(directory, &behind);
		nidus_cursor inner = unpack(cursor->position[1]);
		if (directory->inner->next(body, &inner, entry)) {
			cursor->position[1] = pack(&inner);
			*entry = entry_outside(directory, entry,
			                       directory_part_of_entry(directory, body, entry));
			return true;
		}
		*place = behind;
		cursor->position[1] = 0;
	}
	return false;
}

nidus_status directory_entry_hash(const struct directory *directory, const nidus_entry *entry,
                                  uint64_t *hash)
{
	const struct family *inner = directory->inner;
	uint64_t groups = directory->ground->plan.groups, ignored;
	uint64_t growth = entry->fingerprint >> inner->tag_at(&directory->ground->plan);
	if (entry->home / groups >= directory_base(directory) ||
	    growth > bits_low(directory->ground->plan.growth_bits))
		return fail(NIDUS_E_RANGE,
		            "this entry cannot come from a filter of the same geometry");
	nidus_entry inside = { entry->home % groups, entry->fingerprint, entry->value };
	struct sketch sketch;
	const void *model = model_of(directory, &sketch);
	nidus_status status = inner->entry_hash(model, &inside, &ignored);
	if (status != NIDUS_OK)
		return status;
	uint64_t part = entry->home / groups << directory->ground->plan.growth_bits | growth;
	*hash = inner->body_hash(model, &inside, part);
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------ verify -- */

/* Whether a lookup of an entry comes to its body, where borrowed bits have a say in that. */
static bool borrowed_in_place(const struct directory *directory, const void *body,
                              const nidus_entry *entry, uint64_t part)
{
	nidus_entry outside = entry_outside(directory, entry, part);
	uint64_t hash;
	return directory_entry_hash(directory, &outside, &hash) == NIDUS_OK &&
	       directory_body(directory, hash) == body;
}

static nidus_status verify_body(const struct directory *directory, const void *body)
{
	const struct body_head *head = body_head(body);
	const struct leaf *leaf = head->leaf;
	uint64_t parts = head->last - head->first + 1;
	bool borrows = directory_index_depth(leaf->depth, leaf->bodies) >
	               directory->ground->plan.growth_bits;
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	nidus_status status = directory->inner->verify(body);
	if (!borrows && (parts & (parts - 1)) == 0)
		return status; /* every tag is one of the body's parts */
	while (status == NIDUS_OK && directory->inner->next(body, &cursor, &entry)) {
		uint64_t part = directory_part_of_entry(directory, body, &entry);
		if (part > head->last ||
		    (borrows && !borrowed_in_place(directory, body, &entry, part)))
			return fail(NIDUS_E_CORRUPT,
			            "an entry lies in a segment that is not its own");
	}
	return status;
}

nidus_status directory_verify(const struct directory *directory)
{
	uint64_t index = 0;
	nidus_status status = NIDUS_OK;
	if (!directory_list_valid(directory))
		return fail(NIDUS_E_CORRUPT, "the list of a small filter is not in order");
	for (const void *body;
	     status == NIDUS_OK && (body = directory_next_body(directory, &index));)
		status = verify_body(directory, body);
	return status;
}

/* ------------------------------------------------------------------------ copies -- */

/* Copies a body into an empty one. Of a mapped one nothing is believed. Errors: E_CORRUPT. */
static nidus_status copy_body(const struct directory *directory, void *to, const void *from,
                              bool mapped)
{
	const struct family *inner = directory->inner;
	uint64_t size;
	struct block stash;
	if (!mapped)
		return inner->copy(to, from);
	struct fill fill = inner->fill(from);
	const unsigned char *table = inner->table(from, &size);
	memcpy(inner->table(to, &size), table, (size_t)size);
	nidus_status status =
		memory_take(&directory->ground->allocator, fill.listed * OVERFLOW_ENTRY, &stash);
	if (status != NIDUS_OK)
		return status;
	inner->export_stash(from, stash.bytes);
	status = inner->import(to, stash.bytes, fill.listed, fill.count);
	memory_give(&directory->ground->allocator, &stash);
	return status;
}

static nidus_status copy_leaf(struct directory *to, const struct leaf *leaf, bool mapped)
{
	struct leaf *copy;
	nidus_status status =
		directory_make_leaf(to, leaf->number, leaf->depth, leaf->bodies, NULL, &copy);
	if (status != NIDUS_OK)
		return status;
	to->ops = to->inner->ops(copy->body[0]);
	for (unsigned i = 0; i < leaf->bodies && status == NIDUS_OK; i++) {
		status = copy_body(to, copy->body[i], leaf->body[i], mapped);
		body_head(copy->body[i])->swept_and_tag = body_head(leaf->body[i])->swept_and_tag;
	}
	directory_enter(to, copy);
	copy->room = leaf->room;
	copy->last = leaf->last;
	return status;
}

nidus_status directory_copy(struct directory *to, const struct directory *from)
{
	uint64_t index = 0;
	nidus_status status = few_copy(&to->few, &from->few, &to->ground->allocator);
	if (status != NIDUS_OK)
		return status;
	if (from->index == NULL)
		return NIDUS_OK;
	status = directory_prepare(to, from->depth, directory_slab_bytes(from));
	for (const struct leaf *leaf;
	     status == NIDUS_OK && (leaf = directory_next_leaf(from, &index)) != NULL;)
		status = copy_leaf(to, leaf, from->mapped);
	if (status != NIDUS_OK)
		directory_uproot(to);
	else if (from->mapped)
		directory_recount(to);
	return status;
}

/* ------------------------------------------------------------------- bulk builds -- */

/* Hashes of one leaf, in ascending order, on their way to its bodies. */
struct leaf_hashes {
	uint64_t *hashes, *values; /* values: NULL if there are none */
	size_t n;
};

/* The first of the hashes whose part is not below `part`. */
static size_t hashes_before_part(const struct directory *directory, const uint64_t *hashes,
                                 size_t n, uint64_t part)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (multiply_high(hashes[middle], directory->parts) < part)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static nidus_status fill_body(const struct directory *directory, void *body,
                              const struct leaf_hashes *some)
{
	size_t done;
	if (some->n == 0)
		return NIDUS_OK;
	if (directory->inner->build != NULL)
		return directory->inner->build(body, some->hashes, some->values, some->n, 1);
	return directory->ops->insert_batch(body, some->hashes, some->values, some->n, &done);
}

/* Fills an empty body with those of some hashes that are its own; `room` has place for all. */
static nidus_status fill_body_from(const struct directory *directory, void *body,
                                   const uint64_t *hashes, const uint64_t *values, size_t n,
                                   struct leaf_hashes room)
{
	const struct body_head *head = body_head(body);
	size_t from = hashes_before_part(directory, hashes, n, head->first);
	size_t to = hashes_before_part(directory, hashes, n, head->last + 1);
	room.n = 0;
	for (size_t i = from; i < to; i++) {
		room.hashes[room.n] = hashes[i];
		if (values != NULL)
			room.values[room.n] = values[i];
		room.n += directory->borrowed == 0 || directory_body(directory, hashes[i]) == body;
	}
	if (values == NULL)
		room.values = NULL;
	return fill_body(directory, body, &room);
}

static nidus_status fill_leaf(const struct directory *directory, struct leaf *leaf,
                              const uint64_t *hashes, const uint64_t *values, size_t n)
{
	struct block memory;
	const struct body_head *last = body_head(leaf->body[leaf->bodies - 1]);
	size_t from = hashes_before_part(directory, hashes, n, body_head(leaf->body[0])->first);
	size_t to = hashes_before_part(directory, hashes, n, last->last + 1);
	if (to == from)
		return NIDUS_OK;
	nidus_status status = memory_take(&directory->ground->allocator, 16 * (to - from), &memory);
	if (status != NIDUS_OK)
		return status;
	struct leaf_hashes room = { .hashes = (uint64_t *)(void *)memory.bytes };
	room.values = room.hashes + (to - from);
	for (unsigned i = 0; i < leaf->bodies && status == NIDUS_OK; i++)
		status = fill_body_from(directory, leaf->body[i], hashes + from,
		                        values_from(values, from), to - from, room);
	leaf->room = 0;
	memory_give(&directory->ground->allocator, &memory);
	return status;
}

#define OVERFULL 32 /* a share of what is promised that may come beyond it */

/* Whether there are so many keys that bodies would keep most of them in their lists, which get slow. */
static bool are_too_many(const struct directory *directory, const uint64_t *hashes, size_t n)
{
	uint64_t most = directory_most(directory), different = 0;
	most += most / OVERFULL;
	for (size_t i = 0; i < n && n > most; i++)
		different += i == 0 || hashes[i] != hashes[i - 1];
	return different > most;
}

nidus_status directory_build(struct directory *directory, const uint64_t *hashes,
                             const uint64_t *values, size_t n)
{
	uint64_t index = 0;
	if (are_too_many(directory, hashes, n))
		return fail(NIDUS_FULL, "there are more keys than the filter has room for");
	nidus_status status = directory_grow(directory, n, false);
	for (size_t i = 0; i < n && directory->index == NULL && status == NIDUS_OK; i++)
		status = directory_ops.insert_value(directory, hashes[i],
		                                    values != NULL ? values[i] : 0);
	for (struct leaf *leaf; status == NIDUS_OK && !watch_stopped() &&
	                        (leaf = directory_next_leaf(directory, &index)) != NULL;)
		status = fill_leaf(directory, leaf, hashes, values, n);
	if (status == NIDUS_OK)
		directory_look_after(directory);
	return status;
}

/* ------------------------------------------------------------------------ merges -- */

struct spread_target directory_target(const struct directory *directory, uint64_t part,
                                      uint64_t borrowed)
{
	uint64_t entry = part_above(directory, part, borrowed, directory->depth);
	void *body = directory->index[entry];
	return (struct spread_target){ body, part - body_head(body)->first };
}

/* Entries on their way from a body to those of another directory. */
struct absorption {
	const struct directory *to;
	uint64_t first, last; /* parts of the body */
};

static struct spread_target choose_in(const void *context, uint64_t tag, uint64_t borrowed)
{
	const struct absorption *absorption = context;
	if (tag > absorption->last - absorption->first)
		return (struct spread_target){ NULL, 0 };
	return directory_target(absorption->to, absorption->first + tag, borrowed);
}

/* Puts the entries of leaves into a directory that is a list, and may stay one. */
static nidus_status list_entries(struct directory *to, const struct directory *from)
{
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	uint64_t hash;
	while (status == NIDUS_OK && directory_next(from, &cursor, &entry)) {
		status = directory_entry_hash(to, &entry, &hash);
		if (status == NIDUS_OK)
			status = directory_ops.insert_value(to, hash, entry.value);
	}
	return status;
}

nidus_status directory_take_all(struct directory *to, const struct directory *from)
{
	bool listed = to->index == NULL && from->index != NULL;
	return listed ? list_entries(to, from) : directory_absorb(to, from);
}

nidus_status directory_absorb(struct directory *to, const struct directory *from)
{
	nidus_status status = directory_put_list(to, from);
	uint64_t index = 0;
	for (const void *body;
	     status == NIDUS_OK && (body = directory_next_body(from, &index)) != NULL;) {
		const struct body_head *head = body_head(body);
		struct absorption absorption = { to, head->first, head->last };
		struct spread spread = { .choose = choose_in,
			                 .context = &absorption,
			                 .borrows = to->borrowed > 0 };
		status = to->inner->spread(body, &spread);
	}
	return status;
}
