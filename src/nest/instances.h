/* SPDX-License-Identifier: MIT
 *
 * nest_instances: the operations of nests, compiled for their shapes.
 *
 * They stand in a few files so that they compile side by side:
 *
 *     NEST_SEARCHES(NAME, KIND, SLOTS, WORDS)                 inserts that have to make room
 *     NEST_INSTANCE(NAME, KIND, SLOTS, WORDS, SEARCHES)       a table for each enum nest_table
 *     NEST_LOOKUPS(NAME, KIND, SLOTS, WORDS, INSTANCE)        the same, with lookups of its own
 *     NEST_VARIANT(NAME, KIND, SLOTS, WORDS, PATH, INSTANCE)  one table for whole filters, with
 *                                                             its own small calls
 *
 * SEARCHES(nest) are those of a nest of the instance, where slots are 0 if several numbers share
 * it. What has no instance has NEST_MANY words and shares one that reads kind and slots from the
 * nest (instances_any.c).
 */
#ifndef NIDUS_NEST_INSTANCES_H
#define NIDUS_NEST_INSTANCES_H

#include "nest/change.h"

/* The tables of an instance. */
enum nest_table {
	NEST_WHOLE_TABLE,  /* whole filters */
	NEST_PART_TABLE,   /* bodies of growing filters */
	NEST_SHARED_TABLE, /* both, if threads share them */
	NEST_TABLES
};

static inline enum nest_table nest_table(const struct nest *nest)
{
	if (nest->shared != NULL)
		return NEST_SHARED_TABLE;
	return nest->layout->parts == 0 ? NEST_WHOLE_TABLE : NEST_PART_TABLE;
}

/* Whether hashes of a whole filter take NEST_SHORT_PATH. */
static inline bool nest_takes_short_path(const struct nest *nest)
{
	return nest->layout->chunks == 1 && nest->layout->kind != NEST_DIRECT;
}

const struct body_ops *nest_ops_xor(const struct nest *nest);
const struct body_ops *nest_ops_coded(const struct nest *nest);
const struct body_ops *nest_ops_windows(const struct nest *nest);
const struct body_ops *nest_ops_any(const struct nest *nest);

/* Inserts that have to make room. Nests of an instance search by kind and slots. */
struct nest_searches {
	nidus_status (*insert_full)(struct nest *nest, uint64_t hash, uint64_t payload);
	nest_walk *walk; /* if threads share the nest */
};

/* Lookups and removes of one key. */
#define NEST_LOOKUP(name, shape)                                                        \
	static bool contains_##name(const void *nest, uint64_t hash)                    \
	{                                                                               \
		return nest_contains(nest, shape, hash);                                \
	}                                                                               \
	static void prepare_##name(const void *nest, uint64_t hash, nidus_probe *probe) \
	{                                                                               \
		nest_prepare_probe(nest, shape, hash, probe);                           \
	}                                                                               \
	static bool ask_##name(const void *nest, const nidus_probe *probe)              \
	{                                                                               \
		return nest_ask(nest, shape, probe);                                    \
	}
#define NEST_REMOVE(name, shape)                                     \
	static nidus_status remove_##name(void *nest, uint64_t hash) \
	{                                                            \
		return nest_remove(nest, shape, hash);               \
	}

/* Batches of keys of one nest. */
#define NEST_LOOKUP_BATCH(name, shape)                                                        \
	static void contains_batch_##name(const void *nest, const uint64_t *hashes, size_t n, \
	                                  uint8_t *yes)                                       \
	{                                                                                     \
		nest_contains_batch(nest, shape, hashes, n, yes);                             \
	}
#define NEST_CHANGE_BATCHES(name, shape, rest)                                                  \
	static nidus_status insert_batch_##name(void *nest, const uint64_t *hashes,             \
	                                        const uint64_t *values, size_t n, size_t *done) \
	{                                                                                       \
		return nest_change_all(&nest, false, shape, hashes, values, n, done, rest);     \
	}                                                                                       \
	static nidus_status remove_batch_##name(void *nest, const uint64_t *hashes, size_t n,   \
	                                        size_t *done)                                   \
	{                                                                                       \
		return nest_change_all(&nest, false, shape, hashes, NULL, n, done, NULL);       \
	}

/* Batches of keys of different nests, all of the same shape. */
#define NEST_LOOKUP_EACH(name, shape)                                                      \
	static void contains_each_##name(const void *const *nests, const uint64_t *hashes, \
	                                 size_t n, uint8_t *yes)                           \
	{                                                                                  \
		const struct nest *nest = nests[0];                                        \
		(void)nest;                                                                \
		nest_contains_each(nests, shape, hashes, n, yes);                          \
	}
#define NEST_CHANGE_EACH(name, shape, rest)                                                    \
	static nidus_status insert_each_##name(void *const *nests, const uint64_t *hashes,     \
	                                       const uint64_t *values, size_t n, size_t *done) \
	{                                                                                      \
		const struct nest *nest = nests[0];                                            \
		(void)nest;                                                                    \
		return nest_change_all(nests, true, shape, hashes, values, n, done, rest);     \
	}                                                                                      \
	static nidus_status remove_each_##name(void *const *nests, const uint64_t *hashes,     \
	                                       size_t n, size_t *done)                         \
	{                                                                                      \
		const struct nest *nest = nests[0];                                            \
		(void)nest;                                                                    \
		return nest_change_all(nests, true, shape, hashes, NULL, n, done, NULL);       \
	}

/* Both: nests that threads share have one text for them, which costs batches 1 to 5 %. */
#define NEST_CHANGE_BATCHES_OR_EACH(name, shape, rest)                                          \
	NEVER_INLINE nidus_status put_##name(void *const *nests, bool each,                     \
	                                     const uint64_t *hashes, const uint64_t *values,    \
	                                     size_t n, size_t *done)                            \
	{                                                                                       \
		const struct nest *nest = nests[0];                                             \
		(void)nest;                                                                     \
		return nest_change_all(nests, each, shape, hashes, values, n, done, rest);      \
	}                                                                                       \
	NEVER_INLINE nidus_status take_##name(void *const *nests, bool each,                    \
	                                      const uint64_t *hashes, size_t n, size_t *done)   \
	{                                                                                       \
		const struct nest *nest = nests[0];                                             \
		(void)nest;                                                                     \
		return nest_change_all(nests, each, shape, hashes, NULL, n, done, NULL);        \
	}                                                                                       \
	static nidus_status insert_batch_##name(void *nest, const uint64_t *hashes,             \
	                                        const uint64_t *values, size_t n, size_t *done) \
	{                                                                                       \
		return put_##name(&nest, false, hashes, values, n, done);                       \
	}                                                                                       \
	static nidus_status remove_batch_##name(void *nest, const uint64_t *hashes, size_t n,   \
	                                        size_t *done)                                   \
	{                                                                                       \
		return take_##name(&nest, false, hashes, n, done);                              \
	}                                                                                       \
	static nidus_status insert_each_##name(void *const *nests, const uint64_t *hashes,      \
	                                       const uint64_t *values, size_t n, size_t *done)  \
	{                                                                                       \
		return put_##name(nests, true, hashes, values, n, done);                        \
	}                                                                                       \
	static nidus_status remove_each_##name(void *const *nests, const uint64_t *hashes,      \
	                                       size_t n, size_t *done)                          \
	{                                                                                       \
		return take_##name(nests, true, hashes, n, done);                               \
	}

/* Calls with values, which inserts without one are, too. */
#define NEST_VALUE_CALLS(name, shape, rest)                                                      \
	NEVER_INLINE nidus_status insert_value_##name(void *nest, uint64_t hash, uint64_t value) \
	{                                                                                        \
		return nest_insert(nest, shape, hash, value, rest);                              \
	}                                                                                        \
	static nidus_status insert_##name(void *nest, uint64_t hash)                             \
	{                                                                                        \
		return insert_value_##name(nest, hash, 0);                                       \
	}                                                                                        \
	static void find_batch_##name(const void *nest, const uint64_t *hashes, size_t n,        \
	                              uint64_t *first, uint32_t *found)                          \
	{                                                                                        \
		nest_find_batch(nest, shape, hashes, n, first, found);                           \
	}                                                                                        \
	static void find_each_##name(const void *const *nests, const uint64_t *hashes, size_t n, \
	                             uint64_t *first, uint32_t *found)                           \
	{                                                                                        \
		const struct nest *nest = nests[0];                                              \
		(void)nest;                                                                      \
		nest_find_each(nests, shape, hashes, n, first, found);                           \
	}

/* A table: lookups, other calls on one key, batches, and what there is only one of. */
#define NEST_TABLE(look, name, batch, any)                                                    \
	.contains = contains_##look, .prepare = prepare_##look, .ask = ask_##look,            \
	.count = nest_count_copies, .find = nest_find_values,                                 \
	.insert = insert_##name, .insert_value = insert_value_##any, .remove = remove_##name, \
	.change = nest_change_value, .contains_batch = contains_batch_##look,                 \
	.find_batch = find_batch_##any, .find_each = find_each_##any,                         \
	.insert_batch = insert_batch_##batch, .remove_batch = remove_batch_##batch

#define NEST_EACH(look, name)                                                     \
	.contains_each = contains_each_##look, .insert_each = insert_each_##name, \
	.remove_each = remove_each_##name

/* What nests that no threads share have, whole filters and bodies. */
#define NEST_PLAIN_PARTS(name, shape, searches)                                                    \
	NEVER_INLINE nidus_status insert_rest_##name(struct nest *nest, uint64_t hash,             \
	                                             uint64_t payload, enum nest_settled settled)  \
	{                                                                                          \
		(void)settled; /* no other thread interferes */                                    \
		return searches(nest)->insert_full(nest, hash, payload);                           \
	}                                                                                          \
	static nidus_status insert_near_##name(void *nest, const uint64_t *hashes,                 \
	                                       const uint64_t *values, size_t n, size_t step)      \
	{                                                                                          \
		return nest_insert_near(nest, shape, hashes, values, n, step, insert_rest_##name); \
	}                                                                                          \
	NEST_VALUE_CALLS(name, shape, insert_rest_##name)

/* Calls on one key, and lookups of many. */
#define NEST_SMALL_PARTS(name, shape, plain)                                   \
	NEST_LOOKUP(name, shape)                                               \
	NEST_LOOKUP_BATCH(name, shape)                                         \
	NEST_REMOVE(name, shape)                                               \
	static nidus_status insert_##name(void *nest, uint64_t hash)           \
	{                                                                      \
		return nest_insert(nest, shape, hash, 0, insert_rest_##plain); \
	}

#define NEST_WHOLE_PARTS(name, shape, plain) \
	NEST_SMALL_PARTS(name, shape, plain) \
	NEST_CHANGE_BATCHES(name, shape, insert_rest_##plain)

#define NEST_BODY_PARTS(name, shape, plain)                                                     \
	NEST_LOOKUP(name, shape)                                                                \
	NEST_LOOKUP_EACH(name, shape)                                                           \
	NEST_REMOVE(name, shape)                                                                \
	NEST_CHANGE_EACH(name, shape, insert_rest_##plain)                                      \
	static nidus_status insert_batch_##name(void *nest, const uint64_t *hashes,             \
	                                        const uint64_t *values, size_t n, size_t *done) \
	{                                                                                       \
		return nest_insert_one_by_one(nest, hashes, values, n, done,                    \
		                              insert_value_##plain);                            \
	}

#ifdef NIDUS_ONE_THREAD /* no nest is shared, and half of the code can be spared */
#define NEST_SHARED_PARTS(name, shape, searches)
#define NEST_SHARED_LOOKUPS(name, shape)
#define NEST_SHARED_TABLE_OF(look, name)
#define NEST_SHARED_WALK(name, shape)
#define NEST_WALK(name) NULL
#else
#define NEST_SHARED_LOOKUPS(name, shape) \
	NEST_LOOKUP(name, shape)         \
	NEST_LOOKUP_BATCH(name, shape)   \
	NEST_LOOKUP_EACH(name, shape)
#define NEST_SHARED_PARTS(name, shape, searches)                                                  \
	NEVER_INLINE nidus_status insert_rest_##name(struct nest *nest, uint64_t hash,            \
	                                             uint64_t payload, enum nest_settled settled) \
	{                                                                                         \
		bool crowded = settled == NEST_CROWDED && !nest_seems_there(nest, shape, hash);   \
		return nest_shared_insert(nest, hash, payload, crowded, searches(nest)->walk);    \
	}                                                                                         \
	static nidus_status add_##name(void *nest, uint64_t hash, uint64_t value)                 \
	{                                                                                         \
		return nest_shared_add(nest, hash, value, searches(nest)->walk);                  \
	}                                                                                         \
	static nidus_status insert_new_##name(void *nest, uint64_t hash)                          \
	{                                                                                         \
		return nest_shared_insert_new(nest, hash, searches(nest)->walk);                  \
	}                                                                                         \
	NEST_SHARED_LOOKUPS(name, shape)                                                          \
	NEST_REMOVE(name, shape)                                                                  \
	NEST_VALUE_CALLS(name, shape, insert_rest_##name)                                         \
	NEST_CHANGE_BATCHES_OR_EACH(name, shape, insert_rest_##name)
#define NEST_SHARED_TABLE_OF(look, name)                                                   \
	[NEST_SHARED_TABLE] = { NEST_TABLE(look, name, name, name), NEST_EACH(look, name), \
		                .insert_new = insert_new_##name, .add = add_##name },
#define NEST_SHARED_WALK(name, shape)                                     \
	static bool walk_##name(struct search *search, struct nest *nest, \
	                        const struct nest_key *key)               \
	{                                                                 \
		search_begin(search, nest, shape, key);                   \
		return search_walk(search, shape, 0);                     \
	}
#define NEST_WALK(name) walk_##name
#endif

/* For shapes that may be read from `nest`. */
#define NEST_SEARCHES_OF(name, shape, shared_shape)                                                \
	static bool room_##name(struct nest *nest, const struct nest_key *key, uint64_t *slot)     \
	{                                                                                          \
		return nest_make_room(nest, shape, key, slot);                                     \
	}                                                                                          \
	static nidus_status insert_full_##name(struct nest *nest, uint64_t hash, uint64_t payload) \
	{                                                                                          \
		return nest_insert_full(nest, shape, hash, payload, room_##name);                  \
	}                                                                                          \
	NEST_SHARED_WALK(name, shared_shape)                                                       \
	static const struct nest_searches name = { insert_full_##name, NEST_WALK(name) };

#define NEST_SHAPE(kind, slots, words, shared, path) \
	((struct nest_shape){ kind, slots, words, shared, path })

#define NEST_SEARCHES(name, kind, slots, words)                                      \
	NEST_SEARCHES_OF(name, NEST_SHAPE(kind, slots, words, false, NEST_ANY_PATH), \
	                 NEST_SHAPE(kind, slots, words, true, NEST_ANY_PATH))

/* The tables of an instance `of`, with lookups by these names. */
#define NEST_TABLES_OF(name, look_whole, look_shared, of)                                          \
	static const struct body_ops name[NEST_TABLES] = {                                         \
		[NEST_WHOLE_TABLE] = { NEST_TABLE(look_whole, of##_whole, of##_whole, of##_plain), \
			               .insert_near = insert_near_##of##_plain },                  \
		[NEST_PART_TABLE] = { .contains = contains_##of##_part,                            \
			              .prepare = prepare_##of##_part,                              \
			              .ask = ask_##of##_part,                                      \
			              .count = nest_count_copies,                                  \
			              .find = nest_find_values,                                    \
			              .insert = insert_##of##_plain,                               \
			              .insert_value = insert_value_##of##_plain,                   \
			              .remove = remove_##of##_part,                                \
			              .change = nest_change_value,                                 \
			              .find_batch = find_batch_##of##_plain,                       \
			              .find_each = find_each_##of##_plain,                         \
			              .insert_batch = insert_batch_##of##_part,                    \
			              NEST_EACH(of##_part, of##_part),                             \
			              .insert_near = insert_near_##of##_plain },                   \
		NEST_SHARED_TABLE_OF(look_shared, of##_shared)                                     \
	};

#define NEST_INSTANCE(name, kind, slots, words, searches)                                      \
	NEST_PLAIN_PARTS(name##_plain, NEST_SHAPE(kind, slots, words, false, NEST_ANY_PATH),   \
	                 searches)                                                             \
	NEST_WHOLE_PARTS(name##_whole, NEST_SHAPE(kind, slots, words, false, NEST_WHOLE_PATH), \
	                 name##_plain)                                                         \
	NEST_BODY_PARTS(name##_part, NEST_SHAPE(kind, slots, words, false, NEST_PART_PATH),    \
	                name##_plain)                                                          \
	NEST_SHARED_PARTS(name##_shared, NEST_SHAPE(kind, slots, words, true, NEST_ANY_PATH),  \
	                  searches)                                                            \
	NEST_TABLES_OF(name, name##_whole, name##_shared, name)

#define NEST_VARIANT(name, kind, slots, words, path, of)                                      \
	NEST_SMALL_PARTS(name, NEST_SHAPE(kind, slots, words, false, path), of##_plain)       \
	static const struct body_ops name = { NEST_TABLE(name, name, of##_whole, of##_plain), \
		                              .insert_near = insert_near_##of##_plain };

#define NEST_LOOKUPS(name, kind, slots, words, of)                                              \
	NEST_LOOKUP(name##_whole, NEST_SHAPE(kind, slots, words, false, NEST_WHOLE_PATH))       \
	NEST_LOOKUP_BATCH(name##_whole, NEST_SHAPE(kind, slots, words, false, NEST_WHOLE_PATH)) \
	NEST_SHARED_LOOKUPS(name##_shared, NEST_SHAPE(kind, slots, words, true, NEST_ANY_PATH)) \
	NEST_TABLES_OF(name, name##_whole, name##_shared, of)

#endif
