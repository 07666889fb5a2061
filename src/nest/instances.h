/* SPDX-License-Identifier: MIT
 *
 * nest_instances: the operations of nests, compiled for their shapes.
 *
 * One file per kind so that they compile side by side. Each lists its shapes:
 *
 *     NEST_INSTANCES(NAME, KIND, SLOTS, WORDS)
 *     NEST_XOR_INSTANCES(NAME, SLOTS, WORDS)
 *
 * make tables of operations: NAME_plain, one for each of the most frequent ways from a hash to
 * its groups, and NAME_shared. Shapes without an instance of their own have NEST_MANY words and
 * share one that reads kind and slots from the nest (instances_any.c).
 */
#ifndef NIDUS_NEST_INSTANCES_H
#define NIDUS_NEST_INSTANCES_H

#include "nest/change.h"

const struct body_ops *nest_ops_xor(const struct nest *nest);
const struct body_ops *nest_ops_coded(const struct nest *nest);
const struct body_ops *nest_ops_buckets(const struct nest *nest);
const struct body_ops *nest_ops_windows(const struct nest *nest);
const struct body_ops *nest_ops_any(const struct nest *nest);

/* Lookups of one key. */
#define NEST_LOOKUP(name, shape)                                     \
	static bool contains_##name(const void *nest, uint64_t hash) \
	{                                                            \
		return nest_contains(nest, shape, hash);             \
	}

/* The calls on one key. */
#define NEST_CALLS(name, shape, rest)                                \
	NEST_LOOKUP(name, shape)                                     \
	static nidus_status insert_##name(void *nest, uint64_t hash) \
	{                                                            \
		return nest_insert(nest, shape, hash, rest);         \
	}                                                            \
	static nidus_status remove_##name(void *nest, uint64_t hash) \
	{                                                            \
		return nest_remove(nest, shape, hash);               \
	}

/* Calls on values: one for all ways. */
#define NEST_VALUE_CALLS(name, shape, rest)                                                \
	static nidus_status insert_value_##name(void *nest, uint64_t hash, uint64_t value) \
	{                                                                                  \
		return nest_insert_value(nest, shape, hash, value, rest);                  \
	}                                                                                  \
	static void find_batch_##name(const void *nest, const uint64_t *hashes, size_t n,  \
	                              uint64_t *first, uint32_t *found)                    \
	{                                                                                  \
		nest_find_batch(nest, shape, hashes, n, first, found);                     \
	}

/* Lookups of many. */
#define NEST_LOOKUP_BATCH(name, shape)                                                        \
	static void contains_batch_##name(const void *nest, const uint64_t *hashes, size_t n, \
	                                  uint8_t *yes)                                       \
	{                                                                                     \
		nest_contains_batch(nest, shape, hashes, n, yes);                             \
	}

/* Changes of many. */
#define NEST_CHANGE_BATCHES(name, shape, rest)                                                  \
	static nidus_status insert_batch_##name(void *nest, const uint64_t *hashes,             \
	                                        const uint64_t *values, size_t n, size_t *done) \
	{                                                                                       \
		return nest_change_batch(nest, NULL, shape, hashes, values, n, done, rest);     \
	}                                                                                       \
	static nidus_status remove_batch_##name(void *nest, const uint64_t *hashes, size_t n,   \
	                                        size_t *done)                                   \
	{                                                                                       \
		return nest_change_batch(nest, NULL, shape, hashes, NULL, n, done, NULL);       \
	}

/* Lookups and changes of one key, lookups of many, and what there is only one of in an instance. */
#define NEST_CALL_LIST(look, name, batch_name, instance)                                  \
	.contains = contains_##look, .count = nest_count_copies, .insert = insert_##name, \
	.remove = remove_##name, .contains_batch = contains_batch_##batch_name,           \
	.insert_batch = insert_batch_##instance, .remove_batch = remove_batch_##instance, \
	.find = nest_find_values, .change = nest_change_value,                            \
	.insert_value = insert_value_##instance, .find_batch = find_batch_##instance

/* Calls on one key or more of different bodies of a growing filter, all of the same shape. */
#define NEST_EACH(name, shape, rest)                                                           \
	static void contains_each_##name(const void *const *nests, const uint64_t *hashes,     \
	                                 size_t n, uint8_t *yes)                               \
	{                                                                                      \
		const struct nest *nest = nests[0];                                            \
		(void)nest;                                                                    \
		nest_contains_each(nests, shape, hashes, n, yes);                              \
	}                                                                                      \
	static nidus_status insert_each_##name(void *const *nests, const uint64_t *hashes,     \
	                                       const uint64_t *values, size_t n, size_t *done) \
	{                                                                                      \
		struct nest *nest = nests[0];                                                  \
		return nest_change_batch(nest, nests, shape, hashes, values, n, done, rest);   \
	}                                                                                      \
	static nidus_status remove_each_##name(void *const *nests, const uint64_t *hashes,     \
	                                       size_t n, size_t *done)                         \
	{                                                                                      \
		struct nest *nest = nests[0];                                                  \
		return nest_change_batch(nest, nests, shape, hashes, NULL, n, done, NULL);     \
	}

#define NEST_EACH_LIST(name)                                                      \
	.contains_each = contains_each_##name, .insert_each = insert_each_##name, \
	.remove_each = remove_each_##name

/* Ways from a hash to its groups that have code of their own, see nest_way. */
enum {
	NEST_WAY_SHORT,
	NEST_WAY_CHUNKS,
	NEST_WAY_HASHED,
	NEST_WAY_PART,
	NEST_WAY_DIRECT,
	NEST_WAY_DIRECT_PART,
	NEST_WAY_ANY,
	NEST_WAYS
};

#define NEST_PLAIN_PARTS(name, shape)                                                              \
	static bool room_##name(struct nest *nest, const struct nest_key *key, uint64_t *slot)     \
	{                                                                                          \
		return nest_make_room(nest, shape, key, slot);                                     \
	}                                                                                          \
	NEVER_INLINE nidus_status insert_rest_##name(struct nest *nest, uint64_t hash,             \
	                                             uint64_t payload, enum nest_settled settled)  \
	{                                                                                          \
		(void)settled; /* no other thread interferes */                                    \
		return nest_insert_full(nest, shape, hash, payload, room_##name);                  \
	}                                                                                          \
	static nidus_status insert_near_##name(void *nest, const uint64_t *hashes,                 \
	                                       const uint64_t *values, size_t n, size_t step)      \
	{                                                                                          \
		return nest_insert_near(nest, shape, hashes, values, n, step, insert_rest_##name); \
	}                                                                                          \
	NEST_VALUE_CALLS(name, shape, insert_rest_##name)                                          \
	NEST_CHANGE_BATCHES(name, shape, insert_rest_##name)

/* The calls by way; `direct` and `direct_part` are those for NEST_TAKEN, if the kind has that. */
#define NEST_PLAIN_WAYS(name, kind, slots, words, direct, direct_part)                                           \
	static const struct nest_shape name##_short = { kind, slots, words, false, 0 };            \
	static const struct nest_shape name##_chunks = { kind, slots, words, false, NEST_CHUNKS }; \
	static const struct nest_shape name##_hashed = { kind, slots, words, false,                \
		                                         NEST_CHUNKS | NEST_HASHED };              \
	static const struct nest_shape name##_part = { kind, slots, words, false, NEST_PART };     \
	static const struct nest_shape name##_any = { kind, slots, words, false, NEST_ANY_WAY };   \
	NEST_CALLS(name##_short, name##_short, insert_rest_##name)                                 \
	NEST_CALLS(name##_chunks, name##_chunks, insert_rest_##name)                               \
	NEST_CALLS(name##_hashed, name##_hashed, insert_rest_##name)                               \
	NEST_CALLS(name##_part, name##_part, insert_rest_##name)                                   \
	NEST_CALLS(name##_any, name##_any, insert_rest_##name)                                     \
	NEST_LOOKUP_BATCH(name##_chunks, name##_chunks)                                            \
	NEST_LOOKUP_BATCH(name##_hashed, name##_hashed)                                            \
	NEST_LOOKUP_BATCH(name##_any, name##_any)                                                  \
	NEST_EACH(name##_part, name##_part, insert_rest_##name)                                    \
	NEST_EACH(name##_any, name##_any, insert_rest_##name)                                      \
	static const struct body_ops name[NEST_WAYS] =                                             \
		NEST_WAY_TABLE(name##_short, name##_chunks, name, direct, direct_part);

/* `few` and `chunks` are calls for the most frequent ways, `name` are all others. */
#define NEST_WAY_TABLE(few, chunks, name, direct, direct_part)                                                  \
	{                                                                                         \
		[NEST_WAY_SHORT] = { NEST_CALL_LIST(few, few, chunks, name),                      \
			             .insert_near = insert_near_##name },                         \
		[NEST_WAY_CHUNKS] = { NEST_CALL_LIST(chunks, chunks, chunks, name),               \
			              .insert_near = insert_near_##name },                        \
		[NEST_WAY_HASHED] = { NEST_CALL_LIST(name##_hashed, name##_hashed, name##_hashed, \
			                             name),                                       \
			              .insert_near = insert_near_##name },                        \
		[NEST_WAY_PART] = { NEST_CALL_LIST(name##_part, name##_part, name##_any, name),   \
			            .insert_near = insert_near_##name,                            \
			            NEST_EACH_LIST(name##_part) },                                \
		[NEST_WAY_DIRECT] = { NEST_CALL_LIST(direct, direct, direct, name),               \
			              .insert_near = insert_near_##name },                        \
		[NEST_WAY_DIRECT_PART] = { NEST_CALL_LIST(direct_part, direct_part, name##_any,   \
			                                  name),                                  \
			                   .insert_near = insert_near_##name,                     \
			                   NEST_EACH_LIST(direct_part) },                         \
		[NEST_WAY_ANY] = { NEST_CALL_LIST(name##_any, name##_any, name##_any, name),      \
			           .insert_near = insert_near_##name,                             \
			           NEST_EACH_LIST(name##_any) },                                  \
	}

/*
 * NEST_BYTES: the calls on one key and lookups have code of their own, the rest is that of `one`,
 * the instance for NEST_ONE.
 */
#define NEST_BYTES_INSTANCE(name, kind, slots, one, direct, direct_part)                                   \
	static const struct nest_shape name##_short = { kind, slots, NEST_BYTES, false, 0 }; \
	static const struct nest_shape name##_chunks = { kind, slots, NEST_BYTES, false,     \
		                                         NEST_CHUNKS };                      \
	NEST_CALLS(name##_short, name##_short, insert_rest_##one)                            \
	NEST_CALLS(name##_chunks, name##_chunks, insert_rest_##one)                          \
	NEST_LOOKUP_BATCH(name##_chunks, name##_chunks)                                      \
	static const struct body_ops name[NEST_WAYS] =                                       \
		NEST_WAY_TABLE(name##_short, name##_chunks, one, direct, direct_part);

#define NEST_SHARED_INSTANCE(name, shape)                                                         \
	static bool walk_##name(struct search *search, struct nest *nest,                         \
	                        const struct nest_key *key)                                       \
	{                                                                                         \
		search_begin(search, nest, shape, key);                                           \
		return search_walk(search, shape, 0);                                             \
	}                                                                                         \
	NEVER_INLINE nidus_status insert_rest_##name(struct nest *nest, uint64_t hash,            \
	                                             uint64_t payload, enum nest_settled settled) \
	{                                                                                         \
		bool crowded = settled == NEST_CROWDED && !nest_seems_there(nest, shape, hash);   \
		return nest_shared_insert(nest, hash, payload, crowded, walk_##name);             \
	}                                                                                         \
	static nidus_status add_##name(void *nest, uint64_t hash, uint64_t value)                 \
	{                                                                                         \
		return nest_shared_add(nest, hash, value, walk_##name);                           \
	}                                                                                         \
	static nidus_status insert_new_##name(void *nest, uint64_t hash)                          \
	{                                                                                         \
		return nest_shared_insert_new(nest, hash, walk_##name);                           \
	}                                                                                         \
	NEST_CALLS(name, shape, insert_rest_##name)                                               \
	NEST_VALUE_CALLS(name, shape, insert_rest_##name)                                         \
	NEST_LOOKUP_BATCH(name, shape)                                                            \
	NEST_CHANGE_BATCHES(name, shape, insert_rest_##name)                                      \
	NEST_EACH(name, shape, insert_rest_##name)                                                \
	static const struct body_ops name = { NEST_CALL_LIST(name, name, name, name),             \
		                              NEST_EACH_LIST(name),                               \
		                              .insert_new = insert_new_##name,                    \
		                              .add = add_##name };

#ifdef NIDUS_ONE_THREAD /* no nest is shared, and half of the code can be spared */
#undef NEST_SHARED_INSTANCE
#define NEST_SHARED_INSTANCE(name, shape)
#define NEST_SHARED_INSTANCES(name, kind, slots, words)
#else
#define NEST_SHARED_INSTANCES(name, kind, slots, words)                                           \
	static const struct nest_shape name##_shape = { kind, slots, words, true, NEST_ANY_WAY }; \
	NEST_SHARED_INSTANCE(name, name##_shape)
#endif

#define NEST_INSTANCES(name, kind, slots, words)                                                   \
	static const struct nest_shape name##_shape = { kind, slots, words, false, NEST_ANY_WAY }; \
	NEST_PLAIN_PARTS(name##_plain, name##_shape)                                               \
	NEST_PLAIN_WAYS(name##_plain, kind, slots, words, name##_plain_any, name##_plain_any)      \
	NEST_SHARED_INSTANCES(name##_shared, kind, slots, words)

/* With code of their own for the way `special` and those that have less. */
#define NEST_FEW_INSTANCES(name, kind, slots, words, special)                                      \
	static const struct nest_shape name##_shape = { kind, slots, words, false, NEST_ANY_WAY }; \
	NEST_PLAIN_PARTS(name##_plain, name##_shape)                                               \
	NEST_CALLS(name##_plain, name##_shape, insert_rest_##name##_plain)                         \
	NEST_LOOKUP_BATCH(name##_plain, name##_shape)                                              \
	static const struct nest_shape name##_own_shape = { kind, slots, words, false, special };  \
	NEST_CALLS(name##_own, name##_own_shape, insert_rest_##name##_plain)                       \
	NEST_LOOKUP_BATCH(name##_own, name##_own_shape)                                            \
	static const struct nest_shape name##_part_shape = { kind, slots, words, false,            \
		                                             NEST_PART };                          \
	NEST_CALLS(name##_part, name##_part_shape, insert_rest_##name##_plain)                     \
	NEST_EACH(name##_part, name##_part_shape, insert_rest_##name##_plain)                      \
	static const struct body_ops name##_own = { NEST_CALL_LIST(name##_own, name##_own,         \
		                                                   name##_own, name##_plain),      \
		                                    .insert_near = insert_near_##name##_plain };   \
	static const struct body_ops name##_part = {                                               \
		NEST_CALL_LIST(name##_part, name##_part, name##_plain, name##_plain),              \
		.insert_near = insert_near_##name##_plain, NEST_EACH_LIST(name##_part)             \
	};                                                                                         \
	static const struct body_ops name##_plain = { NEST_CALL_LIST(name##_plain, name##_plain,   \
		                                                     name##_plain, name##_plain),  \
		                                      .insert_near = insert_near_##name##_plain }; \
	NEST_SHARED_INSTANCES(name##_shared, kind, slots, words)

/* For a kind that has NEST_TAKEN. */
#define NEST_XOR_INSTANCES(name, slots, words)                                                \
	static const struct nest_shape name##_shape = { NEST_XOR, slots, words, false,        \
		                                        NEST_ANY_WAY };                       \
	static const struct nest_shape name##_plain_direct = { NEST_XOR, slots, words, false, \
		                                               NEST_CHUNKS | NEST_TAKEN };    \
	static const struct nest_shape name##_plain_direct_part = {                           \
		NEST_XOR, slots, words, false, NEST_PART | NEST_TAKEN                         \
	};                                                                                    \
	NEST_PLAIN_PARTS(name##_plain, name##_shape)                                          \
	NEST_CALLS(name##_plain_direct, name##_plain_direct, insert_rest_##name##_plain)      \
	NEST_LOOKUP_BATCH(name##_plain_direct, name##_plain_direct)                           \
	NEST_CALLS(name##_plain_direct_part, name##_plain_direct_part,                        \
	           insert_rest_##name##_plain)                                                \
	NEST_EACH(name##_plain_direct_part, name##_plain_direct_part,                         \
	          insert_rest_##name##_plain)                                                 \
	NEST_PLAIN_WAYS(name##_plain, NEST_XOR, slots, words, name##_plain_direct,            \
	                name##_plain_direct_part)                                             \
	NEST_SHARED_INSTANCES(name##_shared, NEST_XOR, slots, words)

/* A nest that is one chunk may take the code for many. */
static inline unsigned nest_way(const struct nest *nest)
{
	switch (nest->layout->special) {
	case 0:
		return NEST_WAY_SHORT;
	case NEST_CHUNKS:
		return NEST_WAY_CHUNKS;
	case NEST_HASHED:
	case NEST_CHUNKS | NEST_HASHED:
		return NEST_WAY_HASHED;
	case NEST_PART:
		return NEST_WAY_PART;
	case NEST_TAKEN:
	case NEST_CHUNKS | NEST_TAKEN:
		return NEST_WAY_DIRECT;
	case NEST_PART | NEST_TAKEN:
		return NEST_WAY_DIRECT_PART;
	default:
		return NEST_WAY_ANY;
	}
}

/* The table of a shape: the shared one for nests that threads share. */
#ifdef NIDUS_ONE_THREAD
#define NEST_OPS_OF(nest, name) (&name##_plain[nest_way(nest)])
#define NEST_OPS_OF_FEW(nest, name)                                                  \
	((nest)->layout->special == NEST_PART                         ? &name##_part \
	 : ((nest)->layout->special & ~name##_own_shape.special) == 0 ? &name##_own  \
	                                                              : &name##_plain)
#else
#define NEST_OPS_OF_FEW(nest, name)                                                    \
	((nest)->shared != NULL                                       ? &name##_shared \
	 : (nest)->layout->special == NEST_PART                       ? &name##_part   \
	 : ((nest)->layout->special & ~name##_own_shape.special) == 0 ? &name##_own    \
	                                                              : &name##_plain)
#define NEST_OPS_OF(nest, name) \
	((nest)->shared == NULL ? &name##_plain[nest_way(nest)] : &name##_shared)
#endif

#endif
