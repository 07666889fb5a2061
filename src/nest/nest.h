/* SPDX-License-Identifier: MIT
 *
 * nest: the table of the cuckoo families, and how a key finds its slots.
 *
 * A nest is a number of chunks; a chunk is a number of groups; a group is 2, 4
 * or 8 neighbouring slots. Groups are buckets (disjoint) or windows (one starts
 * at every slot, so they overlap). A key belongs to one chunk for ever and has
 * two groups in it; its fingerprint lies in any slot of either.
 *
 *   hash --x chunks--> chunk --x groups--> first group --x (2^c - 1)--> core
 *
 * Each step multiplies what is left of the hash, read as a fraction, by the
 * number of choices: the whole part is the choice, the fraction goes on. No
 * division, no power of two, no bit of the hash used twice; and hashes in
 * ascending order are chunks and groups in ascending order.
 *
 * Kinds of nests differ in the second group and in what a slot keeps:
 *
 *   NEST_XOR      buckets; second = first XOR H(core). A slot cannot tell which
 *                 of the two it is in, and need not: the relation is symmetric.
 *   NEST_DIRECT   the same with the lowest bits of the core itself for H(core);
 *                 they are as many as a group's number has, and never all zero.
 *   NEST_BUCKETS  buckets; second = first + H(core), modulo the groups; one
 *                 choice bit says which one this is.
 *   NEST_WINDOWS  windows; the same, and offset bits say where in the window.
 *
 * NEST_CODED_XOR and NEST_CODED_BUCKETS are NEST_XOR and NEST_BUCKETS with the slots of a
 * bucket kept sorted and coded, one bit per slot less (see coded.h). Slots have no lasting
 * place there.
 *
 *   slot, low bits first:   | core | choice | offset | tag | payload |
 *
 * An empty slot is all zero. Core bits are never all zero, and only they are hashed for the
 * second group. The payload is the value that a user keeps beside a key; it goes wherever its
 * entry goes, and is not compared.
 *
 * A nest is a whole filter, or a body of one that grows (base/segment.h). A body is one chunk; in
 * place of that its hashes choose a part of the filter, and slots keep the tag: how far the part
 * of an entry is behind the body's first one. It is compared as the core is, and by it the entry
 * finds its body when this one is split. Group and core stay the same for ever.
 *
 * Identity of an entry = (home, fingerprint): home is its first group, counted over all chunks
 * (for XOR kinds the lower of the two), the fingerprint is the core and above it the tag. Every
 * slot tells its identity; lookup, delete, walk, merge and growth need no more.
 *
 * What finds no slot goes to its chunk's stash, an exact list (overflow.h) that has one entry
 * for all copies of an identity with the same payload, and counts them. So one key may be put
 * in any number of times. How long a stash may become: an entry that is in it already is
 * always counted. A new one is refused (FULL) only if the stash has stash_limit different
 * entries or more, its chunk holds its share of the capacity, and the nest all of it; taken
 * slots and different stashed entries count, further copies do not. So what hot keys leave no
 * room for is refused no sooner than any other key is. Without a limit there is no stash.
 *
 * Invariants (nest_verify checks them):
 *  - a slot is all zero or has core bits that are not all zero;
 *  - a window entry's window lies inside the chunk;
 *  - all slots of the group that is a stashed entry's home are taken (nest_home_group):
 *    a lookup that meets an empty one there need not ask the stash;
 *  - chunk[i].used (and what shared stripes add to it) is the number of taken slots plus
 *    different stashed entries.
 *
 * Not here: the hot loops (shape.h, lookup.h, change.h), making room
 * (search.h), threads (shared.h), sizing (the families).
 */
#ifndef NIDUS_NEST_NEST_H
#define NIDUS_NEST_NEST_H

#include "base/blueprint.h"
#include "base/hash.h"
#include "base/lender.h"
#include "base/memory.h"
#include "base/ops.h"
#include "base/overflow.h"
#include "base/segment.h"
#include "base/slots.h"
#include "nest/coded.h"
#include "simd/select.h"

#include <assert.h>

enum nest_kind {
	NEST_XOR,
	NEST_DIRECT,
	NEST_CODED_XOR,
	NEST_BUCKETS,
	NEST_CODED_BUCKETS,
	NEST_WINDOWS
};

/* The XOR kinds, where each candidate leads to the other in the same way. */
static inline bool nest_symmetric(enum nest_kind kind)
{
	return kind == NEST_XOR || kind == NEST_DIRECT || kind == NEST_CODED_XOR;
}

/* The kinds whose second bucket lies at a distance, and which have a choice bit alone. */
static inline bool nest_choosing(enum nest_kind kind)
{
	return kind == NEST_BUCKETS || kind == NEST_CODED_BUCKETS;
}

/* Those whose buckets are kept sorted and coded, whatever leads from one to the other. */
static inline bool nest_coded(enum nest_kind kind)
{
	return kind == NEST_CODED_XOR || kind == NEST_CODED_BUCKETS;
}

#define NEST_SLOTS_MAX 8 /* per group */

/* From here on a table or a chunk does not stay in a core's own cache. */
#define NEST_REMOTE_FROM (UINT64_C(1) << 20)

/* And from here on it may not stay in one that all cores share. */
#define NEST_FAR_FROM (UINT64_C(1) << 24)

struct nest_chunk {
	uint64_t used; /* taken slots, different stashed entries; shared: see nest_shared_used */
	struct overflow stash;
};

/* What making room has cost so far, for benchmarks. */
struct nest_effort {
	uint64_t relocations; /* inserts that found both groups full */
	uint64_t moves;       /* entries moved for them */
	uint64_t checks;      /* slots looked at for them */
};

/* How a hash leads to its groups. */
enum nest_path {
	NEST_SHORT_PATH, /* it begins with the group: of a filter of one chunk, not NEST_DIRECT */
	NEST_WHOLE_PATH, /* it begins with the chunk of a whole filter */
	NEST_PART_PATH,  /* it begins with a part of a growing filter (base/segment.h) */
	NEST_ANY_PATH    /* the nest tells */
};

/*
 * Hops depend on so many of the lowest bits of a core: 4096 partners of a group are as good as
 * more, and all hops fit into 16 KiB, half of a first-level cache.
 */
#define NEST_HOP_BITS 12

/*
 * How the slots of a group lie in words of 64 bits. In each word all slots are compared
 * at once, so they are as many as fit: a power of two.
 */
enum nest_words {
	NEST_PAIRED, /* as NEST_ONE, and one word has room for both groups: for lookups only */
	NEST_BYTES,  /* as NEST_ONE, and every group begins with a byte; not if threads share it */
	NEST_ONE,    /* a group is in one word: eight bytes from the one it begins in */
	NEST_TWO,    /* half a group is in a word, with a few bits to spare */
	NEST_MANY,   /* less is; nest->layout->words says how many there are */
};

/* Bits of a slot that say where in its groups an entry is. */
static inline unsigned nest_extra_bits(enum nest_kind kind, unsigned slots)
{
	if (nest_symmetric(kind))
		return 0;
	return kind == NEST_WINDOWS ? 1 + log2_floor(slots) : 1;
}

/*
 * What follows from a plan: all numbers that stay as they are. Bodies of a growing filter whose
 * tags are equally wide have one together, a whole filter has its own.
 */
struct nest_layout {
	/* What lookups read comes first. */
	enum nest_kind kind;
	uint64_t chunks, stride_bits;
	uint64_t parts;       /* of the growing filter that the nest is a body of; 0: of none */
	uint64_t groups;      /* per chunk */
	uint64_t round;       /* the same: read once more from memory, it takes no register */
	uint64_t core_values; /* 2^core_bits - 1 */
	const uint32_t *hops; /* nest_hop by the lowest NEST_HOP_BITS of a core; or NULL */
	uint64_t group_bits;  /* from one group to the next */
	/*
	 * Of the fields of a word: their lowest bits, their highest that is compared, and all
	 * below that. What a slot may keep above is not compared and costs nothing.
	 */
	uint64_t ones, highs, lows;
	uint64_t most;                                         /* ones - 1 */
	uint64_t ones_of_both, highs_of_both, pattern_of_both; /* of NEST_PAIRED */
	/* ones, highs, patterns and open of a group's word, by the bit of a byte it begins at. */
	uint64_t ones_at[8], highs_at[8], pattern_at[2][8], open_at[8];
	/* ones, highs and patterns for the words of both groups, each as two_pair loads them. */
	uint64_t both_ones[2], both_highs[2], both_patterns[2];
	unsigned behind; /* bits from the highest compared one of a slot to the next slot */
	/* Choice and offset bits of all slots of a group, word by word. */
	uint64_t pattern[2][NEST_SLOTS_MAX];
	uint64_t open[NEST_SLOTS_MAX]; /* highs of a first group's slots not held back */
	struct coded_masks coding;     /* of coded buckets in a word */
	uint64_t coded_choices;        /* their choice bits, as rests lie */
	uint64_t slot_mask;            /* all bits of a slot */
	uint64_t payload_behind;       /* mask of a payload that begins behind bit 0 */
	uint64_t extra_mask;           /* its choice and offset bits */
	unsigned tag_at, tag_bits; /* of a slot: the number of a tag's first bit, and how many */
	uint64_t direct_values;    /* NEST_DIRECT: values of a core above its lowest bits */
	uint64_t partner_key;      /* the seed's share in H */
	uint64_t stride;
	unsigned high;                  /* which bit of a field is its highest that is compared */
	unsigned words;                 /* of a group */
	unsigned fields;                /* slots in a word */
	unsigned word_bits;             /* that they take */
	unsigned half_bytes, half_bits; /* NEST_TWO: that is so much */
	unsigned load_bits;             /* that are loaded for a word */
	uint64_t span;                  /* bits of a group's slots, side by side */
	uint64_t near;                  /* of windows 2 * span + 1: see nest_near */
	unsigned last_byte;             /* that is loaded for a group, counted from the first */
	unsigned slots;                 /* per group */
	unsigned width, core_bits, extra_bits;
	unsigned payload_bits, payload_at; /* of a slot: how many, and the first one's number */
	uint64_t fingerprints;             /* the highest number of core and tag bits */
	unsigned max_steps, short_steps, stash_limit, reserve;
	uint64_t step_most; /* see search_step_most */
	enum nest_words in_words; /* NEST_ONE where lookups or more may be of another kind, too: */
	enum nest_words also_in;  /* NEST_PAIRED or NEST_BYTES; otherwise the same */
	struct block memory,
		hop_memory; /* of this struct, and of the hops unless they are another's */
	nidus_allocator allocator;
};

/* A table, its stashes, and what is counted. */
struct nest {
	unsigned char *bits; /* the slots; chunk c starts at c * stride */
	const struct nest_layout *layout;
	uint64_t stashed;    /* different entries in all stashes */
	uint64_t version;    /* of probes (base/probe.h) */
	uint64_t first_part; /* of a body: from which tags are counted (segment.h) */
	struct nest_chunk *chunk;
	struct nest_shared *shared; /* locks, if threads share the nest (shared.h) */
	bool remote;                /* too large for a core's caches: prefetch */
	bool far;                   /* and for that of all cores */
	bool owns_layout;
	/* The slots are a file's: any bits, and what chunks hold was not counted. */
	bool mapped;
	uint64_t mapped_count; /* then: entries as the file says, stashed ones included */
	uint64_t surplus;      /* copies in all stashes beyond the first of each entry */
	uint64_t capacity;     /* the plan's: see nest_stash_full */
	/* In bulk builds: what finished chunks hold, of all threads; otherwise NULL. */
	const uint64_t *built;
	struct block bits_memory, chunk_memory;
	const nidus_allocator *allocator; /* the layout's; in bulk builds, that of all threads */
	struct nest_effort effort;
};

/* A nest without a table: enough of one for identities, and for hashes of entries. */
struct nest_sketch {
	struct nest nest;
	struct nest_layout layout;
};

/* Bodies of growing filters are small, and there are many of them. */
_Static_assert(sizeof(struct nest) + sizeof(struct nest_chunk) - sizeof(struct overflow) <= 200,
               "a body costs little beyond its slots and its stash");

/*
 * Where a key may be. `value` is its slot with choice and offset bits zero; that of a key
 * which is only looked for has no payload.
 */
struct nest_key {
	uint64_t chunk;
	uint64_t group[2];
	uint64_t value;
};

/* One step of the multiplications drawn above. */
static inline uint64_t take_choice(uint64_t *fraction, uint64_t choices)
{
	return multiply_wide(*fraction, choices, fraction);
}

static inline uint64_t nest_partner_hash(const struct nest *nest, uint64_t core)
{
	uint64_t x = (core ^ nest->layout->partner_key) * UINT64_C(0x9fb21c651e98df25);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* The hash that hops are made of. */
static inline uint64_t nest_hop_hash(const struct nest *nest, uint64_t core)
{
	return nest_partner_hash(nest, core & bits_low(NEST_HOP_BITS));
}

/* XOR kinds: what turns one candidate into the other. Never 0. */
static inline uint64_t nest_mask(const struct nest *nest, uint64_t core)
{
	if (nest->layout->kind == NEST_DIRECT)
		return core & (nest->layout->groups - 1);
	return 1 + multiply_high(nest_hop_hash(nest, core), nest->layout->groups - 1);
}

/* Offset kinds: how far the second group is behind the first, 1 to groups - 1. */
static inline uint64_t nest_distance(const struct nest *nest, uint64_t core)
{
	return 1 + multiply_high(nest_hop_hash(nest, core), nest->layout->groups - 1);
}

/*
 * What leads from the first group to the second: a mask or a distance. To read it from a table
 * takes 15 instructions less than to work it out.
 */
ALWAYS_INLINE uint64_t nest_hop(const struct nest *nest, enum nest_kind kind, uint64_t core)
{
	if (LIKELY(nest->layout->hops != NULL))
		return nest->layout->hops[core & bits_low(NEST_HOP_BITS)];
	return nest_symmetric(kind) ? nest_mask(nest, core) : nest_distance(nest, core);
}

static inline uint64_t nest_forward(const struct nest *nest, uint64_t group, uint64_t distance)
{
	return less_if_not_below(group + distance, nest->layout->round);
}

static inline uint64_t nest_backward(const struct nest *nest, uint64_t group, uint64_t distance)
{
	return group >= distance ? group - distance : group + nest->layout->groups - distance;
}

/*
 * The group in which an entry could lie instead of `own`, by its core and what is above
 * that in its slot; of it only the choice bit counts.
 */
ALWAYS_INLINE uint64_t nest_other_group_as(const struct nest *nest, enum nest_kind kind,
                                           uint64_t own, uint64_t core, uint64_t extra)
{
	if (nest_symmetric(kind))
		return own ^ nest_hop(nest, kind, core);
	/* Backward is forward by the rest of the round; no branch, as it is unpredictable. */
	uint64_t there = nest_hop(nest, kind, core), back = nest->layout->groups - there;
	return nest_forward(nest, own, there ^ ((there ^ back) & (0 - (extra & 1))));
}

/* The same by the whole slot; bits above it may be anything. */
static inline uint64_t nest_other_group(const struct nest *nest, enum nest_kind kind, uint64_t own,
                                        uint64_t slot)
{
	return nest_other_group_as(nest, kind, own, slot & nest->layout->core_values,
	                           slot >> nest->layout->core_bits);
}

/* Takes a core from what is left of a hash. */
ALWAYS_INLINE uint64_t nest_take_core(const struct nest *nest, bool direct, uint64_t rest)
{
	if (!direct)
		return 1 + take_choice(&rest, nest->layout->core_values);
	uint64_t low = 1 + take_choice(&rest, nest->layout->groups - 1);
	return low + nest->layout->groups * take_choice(&rest, nest->layout->direct_values);
}

/* What is left of a hash, behind the choice of a chunk, to a key. */
ALWAYS_INLINE void nest_locate_in(const struct nest *nest, enum nest_kind kind, enum nest_path path,
                                  uint64_t rest, struct nest_key *key)
{
	uint64_t first = take_choice(&rest, nest->layout->groups);
	bool direct = (kind == NEST_XOR || kind == NEST_DIRECT) && path != NEST_SHORT_PATH &&
	              UNLIKELY(nest->layout->kind == NEST_DIRECT);
	uint64_t core = nest_take_core(nest, direct, rest);
	uint64_t hop = direct ? core & (nest->layout->groups - 1) : nest_hop(nest, kind, core);
	key->group[0] = first;
	key->group[1] = nest_symmetric(kind) ? first ^ hop : nest_forward(nest, first, hop);
	key->value = core;
	/* A key has two groups, and its core bits are not all zero. */
	assert(first < nest->layout->groups && key->group[1] < nest->layout->groups);
	assert(first != key->group[1] && core != 0 && core <= nest->layout->core_values);
}

/* Whether a nest is a body of a growing filter; where it is known the compiler knows, too. */
ALWAYS_INLINE bool nest_is_part(const struct nest *nest, enum nest_path path)
{
	return path == NEST_ANY_PATH ? nest->layout->parts != 0 : path == NEST_PART_PATH;
}

/* Takes the chunk from a hash, or its part; of that slots keep the tag, as it lies in them. */
ALWAYS_INLINE uint64_t nest_take_chunk(const struct nest *nest, enum nest_path path, uint64_t *hash,
                                       uint64_t *tag)
{
	*tag = 0;
	assert(path != NEST_SHORT_PATH ||
	       (nest->layout->chunks == 1 && nest->layout->kind != NEST_DIRECT));
	assert(path == NEST_ANY_PATH || (path == NEST_PART_PATH) == (nest->layout->parts != 0));
	if (path == NEST_SHORT_PATH)
		return 0;
	if (!nest_is_part(nest, path))
		return take_choice(hash, nest->layout->chunks);
	uint64_t part = take_choice(hash, nest->layout->parts);
	*tag = (part - nest->first_part) << nest->layout->tag_at;
	return 0;
}

/* Where the key of a hash may be. */
ALWAYS_INLINE struct nest_key nest_locate_as(const struct nest *nest, enum nest_kind kind,
                                             enum nest_path path, uint64_t hash)
{
	struct nest_key key;
	uint64_t tag;
	key.chunk = nest_take_chunk(nest, path, &hash, &tag);
	nest_locate_in(nest, kind, path, hash, &key);
	key.value |= tag;
	return key;
}

/* The same where speed does not count. */
struct nest_key nest_locate(const struct nest *nest, enum nest_kind kind, uint64_t hash);

static inline unsigned char *nest_chunk_bits(const struct nest *nest, uint64_t chunk)
{
	return nest->bits + chunk * nest->layout->stride;
}

/* Slots of a chunk. */
static inline uint64_t nest_chunk_slots(const struct nest_layout *layout)
{
	return layout->kind == NEST_WINDOWS ? layout->groups + layout->slots - 1
	                                    : layout->groups * layout->slots;
}

static inline uint64_t nest_get(const struct nest *nest, enum nest_kind kind,
                                const unsigned char *chunk_bits, uint64_t slot)
{
	return nest_coded(kind) ? coded_get(chunk_bits, nest->layout->width, slot)
	                        : slot_get(chunk_bits, nest->layout->width, slot);
}

static inline void nest_set(const struct nest *nest, enum nest_kind kind, unsigned char *chunk_bits,
                            uint64_t slot, uint64_t value)
{
	assert(!nest->mapped && slot < nest_chunk_slots(nest->layout));
	assert((value & ~nest->layout->slot_mask) == 0);
	if (!nest_coded(kind)) {
		slot_set(chunk_bits, nest->layout->width, slot, value);
		return;
	}
	uint64_t bit = slot / CODED_SLOTS * nest->layout->group_bits;
	if (nest->layout->in_words == NEST_ONE)
		coded_store(&nest->layout->coding, chunk_bits, bit,
		            coded_changed(&nest->layout->coding, coded_load(chunk_bits, bit),
		                          slot % CODED_SLOTS, value));
	else
		coded_set_at(chunk_bits, nest->layout->width, bit, slot % CODED_SLOTS, value);
}

/* Bits from one group to the next. */
static inline uint64_t nest_group_bits(enum nest_kind kind, unsigned slots, unsigned width)
{
	if (nest_coded(kind))
		return CODED_BITS(width);
	return kind == NEST_WINDOWS ? width : (uint64_t)slots * width;
}

/* The first slot of a group, within its chunk. */
static inline uint64_t nest_first_slot(const struct nest *nest, enum nest_kind kind, uint64_t group)
{
	return kind == NEST_WINDOWS ? group : group * nest->layout->slots;
}

/* Bytes of the slots of all chunks. */
static inline uint64_t nest_slots_bytes(const struct nest_layout *layout)
{
	return layout->chunks * layout->stride;
}

/* What slot number `at` of candidate `choice` holds for a key of this value. */
static inline uint64_t nest_encode(const struct nest *nest, enum nest_kind kind, uint64_t value,
                                   unsigned choice, uint64_t at)
{
	assert(choice < 2);
	if (nest_symmetric(kind))
		return value;
	uint64_t extra = kind == NEST_WINDOWS ? choice | at << 1 : choice;
	return value | extra << nest->layout->core_bits;
}

/* What a slot of a key holds, with another payload. */
static inline uint64_t nest_with_payload(const struct nest *nest, uint64_t value, uint64_t payload)
{
	assert(payload <= bits_low(nest->layout->payload_bits));
	return (value & bits_low(nest->layout->payload_at)) | payload << nest->layout->payload_at;
}

/* Whether two slots hold the same but for their payloads. */
static inline bool nest_same(const struct nest *nest, uint64_t a, uint64_t b)
{
	return ((a ^ b) & bits_low(nest->layout->payload_at)) == 0;
}

/* The key that a taken slot belongs to, its first group first. */
static inline struct nest_key nest_key_in(const struct nest *nest, enum nest_kind kind,
                                          uint64_t chunk, uint64_t slot, uint64_t value)
{
	uint64_t core = value & nest->layout->core_values;
	uint64_t extra = (value >> nest->layout->core_bits) & bits_low(nest->layout->extra_bits);
	struct nest_key key = { .chunk = chunk };
	key.value = value & ~(bits_low(nest->layout->extra_bits) << nest->layout->core_bits);
	uint64_t group = kind == NEST_WINDOWS ? slot - (extra >> 1)
	                                      : slot >> log2_floor(nest->layout->slots);
	if (nest_symmetric(kind)) {
		key.group[0] = group;
		key.group[1] = group ^ nest_hop(nest, kind, core);
		return key;
	}
	uint64_t distance = nest_hop(nest, kind, core);
	key.group[0] = extra & 1 ? nest_backward(nest, group, distance) : group;
	key.group[1] = nest_forward(nest, key.group[0], distance);
	return key;
}

/* Its identity and its payload, home counted within the chunk. */
nidus_entry nest_identity(const struct nest *nest, enum nest_kind kind, const struct nest_key *key);

/* The same as an entry of a filter, home counted over all chunks. */
nidus_entry nest_entry(const struct nest *nest, uint64_t chunk, nidus_entry identity);

/* The key of an identity in a chunk. */
struct nest_key nest_key_of_identity(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                                     nidus_entry entry);

/* The group by which a key is known: its first, or the lower one where that cannot be told. */
static inline uint64_t nest_home_group(enum nest_kind kind, const struct nest_key *key)
{
	bool lower = nest_symmetric(kind) && key->group[1] < key->group[0];
	return key->group[lower];
}

/* How many slots the key has: fewer than two groups' where windows overlap. */
unsigned nest_places(const struct nest *nest, enum nest_kind kind, const struct nest_key *key);

/* Whether `slot` is one of the key's; sets what it would hold there. */
bool nest_encode_at(const struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                    uint64_t slot, uint64_t *value);

/* ------------------------------------------------------------- whole nests -- */

/*
 * Whether a nest of this kind can be laid out from a plan: every number in
 * range, nothing overflows. Errors: E_RANGE.
 */
nidus_status nest_check(const struct blueprint *plan, enum nest_kind kind);

/* Bytes of the table, without chunk records. The plan was checked. */
uint64_t nest_table_bytes(const struct blueprint *plan, enum nest_kind kind);

/* Slots of the table, and the width of one. The plan was checked. */
uint64_t nest_total_slots(const struct blueprint *plan, enum nest_kind kind);
unsigned nest_slot_width(const struct blueprint *plan, enum nest_kind kind);

/*
 * Makes the layout of nests of a checked plan; with a `segment`, of bodies of a growing filter: the
 * plan's growth bits are those of a tag then. `model` is NULL or a body of the filter that lives
 * longer, and lends its hops. Errors: E_NOMEM.
 */
nidus_status nest_lay_out(const struct blueprint *plan, enum nest_kind kind,
                          const struct segment *segment, const struct nest *model,
                          const nidus_allocator *allocator, struct nest_layout **made);
void nest_free_layout(struct nest_layout *layout);

/*
 * Makes a sketch of the bodies of a growing filter, whose tags have all growth bits. It takes no memory, and
 * `partner_key` is the seed's (base/hash.h).
 */
void nest_sketch(struct nest_sketch *sketch, const struct blueprint *plan, enum nest_kind kind,
                 const struct segment *segment, uint64_t partner_key);

/* Bytes of segment->room of a body of a plan; and the same room is elsewhere now. */
uint64_t nest_segment_room(const struct blueprint *plan, enum nest_kind kind);
void nest_moved(struct nest *nest, unsigned char *room);

/*
 * Makes a nest of a checked plan: an empty one, or, where `table` is not NULL,
 * one over those slots, which are never written to. With a `segment` it is a body of a growing
 * filter, of the segment's layout if that has one; a layout of its own otherwise. Errors: E_NOMEM.
 */
nidus_status nest_create(struct nest *nest, const struct blueprint *plan, enum nest_kind kind,
                         const struct segment *segment, const nidus_allocator *allocator,
                         unsigned char *table);
void nest_free(struct nest *nest);
void nest_clear(struct nest *nest);

/*
 * Puts all entries of `from` into a nest of the same geometry.
 * Errors: FULL, COPIES, E_NOMEM.
 */
nidus_status nest_transfer(struct nest *to, const struct nest *from);

/* Copies all entries into an empty nest of the same plan. Errors: E_NOMEM. */
nidus_status nest_copy(struct nest *to, const struct nest *from);

uint64_t nest_count(const struct nest *nest);

/* Taken slots and different stashed entries of a chunk. */
uint64_t nest_used_in(const struct nest *nest, uint64_t chunk);

uint64_t nest_bytes(const struct nest *nest);

/* Share of places left in the fullest chunk; of a mapped nest, in the average one. */
double nest_headroom(const struct nest *nest);

/* Whether a taken slot's bits can have come from an insert. */
bool nest_slot_possible(const struct nest *nest, uint64_t slot, uint64_t value);

/* Checks all invariants. Errors: E_CORRUPT with a reason. */
nidus_status nest_verify(const struct nest *nest);

/* The stashes as one array of overflow entries, home counted over all chunks, for files. */
void nest_export_stash(const struct nest *nest, unsigned char *bytes);

/*
 * Takes table bits (already in nest->bits), `stashed` different entries and a count as they came
 * from outside: counts, distributes, and verifies. Of a mapped nest only the
 * stash is looked at, and the count is believed if it is possible at all.
 * Errors: E_CORRUPT, E_NOMEM; the nest is to be freed then.
 */
nidus_status nest_import(struct nest *nest, const unsigned char *stash, uint64_t stashed,
                         uint64_t count);

bool nest_next(const struct nest *nest, nidus_cursor *cursor, nidus_entry *entry);

/* The same for those entries whose payload has a 1 in `wanted`. */
bool nest_next_wanted(const struct nest *nest, const uint8_t *wanted, nidus_cursor *cursor,
                      nidus_entry *entry);
nidus_status nest_insert_entry(struct nest *nest, const nidus_entry *entry);

/* Puts a key in, with the value that is in key->value. Errors: FULL, COPIES, E_NOMEM. */
nidus_status nest_insert_key(struct nest *nest, const struct nest_key *key);

/* The same for *left copies; after a failure *left is how many are not in. */
nidus_status nest_insert_copies(struct nest *nest, const struct nest_key *key, uint64_t *left);

/* A hash whose key has the entry's identity. Errors: E_RANGE (there is none). */
nidus_status nest_entry_hash(const struct nest *nest, const nidus_entry *entry, uint64_t *hash);

/* Puts all entries into bodies of a growing filter (family/family.h). Errors: E_NOMEM. */
struct spread;
nidus_status nest_spread(const struct nest *from, const struct spread *spread);

/* Writes down the hops that bodies share with their model. Errors: E_NOMEM. */
nidus_status nest_prepare(struct nest *model);

/* The hash of an entry of a body of a growing filter, by the part that the entry is of. */
uint64_t nest_part_hash(const struct nest *nest, const nidus_entry *entry, uint64_t part);

/* Bits that follow from home and core of a hash, where an address needs more than there are. */
uint64_t nest_borrowed_bits(const struct nest *nest, uint64_t hash);
struct lender nest_lender(const struct nest *nest);

/* -------------------------------------------------- parts of the operations -- */

/* How many slots of the key's two groups are empty, and how many hold the key. */
void nest_tally(const struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                unsigned *empty, unsigned *copies);

/* contains, where the stash has to be asked or others were at work. */
bool nest_look_again(const struct nest *nest, uint64_t hash);

/* Copies of a key, for any nest. */
uint64_t nest_count_copies(const void *nest, uint64_t hash);

/* The same with their payloads: see struct body_ops. */
size_t nest_find_values(const void *nest, uint64_t hash, uint64_t *values, size_t cap);

/* nest_find_values with one value, for find_batch. */
void nest_find_again(const struct nest *nest, uint64_t hash, uint64_t *first, uint32_t *found);

/* Adds what the stash has of a key to what nest_find_values found, `found` of them. */
size_t nest_find_stashed(const struct nest *nest, const struct nest_key *key, uint64_t *values,
                         size_t cap, size_t found);

/* Changes an entry of a key, for any nest: see struct body_ops. */
nidus_status nest_change_value(void *nest, uint64_t hash, struct value_change change);

/* How an instance makes room for a key: search_room, or the same for its shape. */
typedef bool nest_room(struct nest *nest, const struct nest_key *key, uint64_t *slot);

/* Whether the group that is a key's home has an empty slot: no stash has the key then. */
bool nest_home_open(const struct nest *nest, enum nest_kind kind, const struct nest_key *key);

/*
 * Whether the stash has the key, whatever its payload is: then it takes further copies, and no
 * search is made for them.
 */
bool nest_is_stashed(const struct nest *nest, enum nest_kind kind, const struct nest_key *key);

/* Whether a stash takes no entry that it does not have; the caller has its lock, if there is one. */
bool nest_stash_full(const struct nest *nest, uint64_t chunk);

/* After a change of a stash that had so many nodes and entries before: counts them. */
void nest_stash_changed(struct nest *nest, uint64_t chunk, uint64_t nodes, uint64_t entries);

/* Puts copies of a key into the stash. Errors: FULL, COPIES, E_NOMEM. */
nidus_status nest_stash_key(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                            uint64_t copies);

/* The first stashed entry whose home has the slot, and what it would be there; NULL: none. */
const struct overflow_node *nest_stashed_for(const struct nest *nest, uint64_t chunk, uint64_t slot,
                                             uint64_t *value);

/* The answer where all slots of a key hold it and there is no stash: COPIES. */
nidus_status nest_no_stash(void);

/* Takes copies of an entry out of a stash, which has as many; `entry` may be a node's. */
void nest_stash_take(struct nest *nest, uint64_t chunk, const nidus_entry *entry, uint64_t copies);

/*
 * insert, after both groups were found full and the stash does not have the key; `copies` if one
 * of their slots holds this very identity; `room` is NULL for any nest. Errors: FULL, COPIES,
 * E_NOMEM.
 */
nidus_status nest_insert_crowded(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                                 bool copies, nest_room *room);

/* remove, where the stash matters or, in a shared nest, one lock is not enough. */
nidus_status nest_remove_slow(struct nest *nest, uint64_t hash);

/* After a slot was emptied: a stashed entry that has its home there comes home, one copy of it. */
void nest_bring_home(struct nest *nest, uint64_t chunk, uint64_t slot);

/*
 * The first step of a lookup in two (base/probe.h): asks for the lines of both groups of a hash. The
 * first two are for whole filters, the last is for nests that threads share.
 */
void nest_prepare_xor(const struct nest *nest, uint64_t hash, nidus_probe *probe);
void nest_prepare_offset(const struct nest *nest, uint64_t hash, nidus_probe *probe);
void nest_prepare_any(const struct nest *nest, uint64_t hash, nidus_probe *probe);
void nest_prepare_shared(const struct nest *nest, uint64_t hash, nidus_probe *probe);

/* The second step, where the first is not known to be of this nest. */
bool nest_ask_by_hash(const struct nest *nest, uint64_t hash);

/* The operations compiled for a nest's shape (shape.h). */
const struct body_ops *nest_ops(const struct nest *nest);

#endif
