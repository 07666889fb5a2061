/* SPDX-License-Identifier: MIT
 *
 * yard_instances: the operations on yards, compiled for their shapes, one file per tier.
 *
 * YARD_INSTANCES(TIER) makes
 *
 *     const struct yard_ops *yard_TIER(unsigned slots);
 *
 * for lines by the slots of front lines. The shapes fill a line of 512 bits: sizes (mini-buckets
 * + 1 bit per slot, in whole bytes) and remainders in front, and 4 bits of crumb more per slot in
 * the backyard. One shape fills half a line, for speed.
 *
 *      width   mini-buckets   front slots   backyard slots
 *          8             53            51               35
 *         12             44            36               27
 *         16             36            28               22
 *         24             37            19               16
 *          7             64            56               37
 *         10             46            42               30
 *          8             31            25               17    (32 bytes)
 *
 * These have code of their own. For the others, below, one instance reads the shape from the yard.
 */
#ifndef NIDUS_YARD_INSTANCES_H
#define NIDUS_YARD_INSTANCES_H

#include "yard/bulk.h"
#include "yard/ops.h"
#include "yard/tiers.h"
#ifndef NIDUS_ONE_THREAD
#include "yard/shared_ops.h"
#endif

/* The shapes without code of their own: mini-buckets, slots of both kinds of lines, width. */
#define YARD_OTHERS(each, name, rare)                                               \
	each(name, rare, 64, 63, 40, 6), each(name, rare, 47, 46, 33, 9),           \
		each(name, rare, 41, 39, 29, 11), each(name, rare, 70, 34, 26, 12), \
		each(name, rare, 32, 32, 24, 14), each(name, rare, 58, 30, 23, 14)

#define YARD_INSTANCES(tier)                                                                   \
	YARD_RARE_ONCE(tier)                                                                   \
	YARD_INSTANCE(tier, 51, YARD_MOST_FREQUENT)                                            \
	YARD_INSTANCE(tier, 56, 64, 56, 37, 7, false)                                          \
	YARD_INSTANCE(tier, 42, 46, 42, 30, 10, false)                                         \
	YARD_INSTANCE(tier, 36, 44, 36, 27, 12, false)                                         \
	YARD_INSTANCE(tier, 28, 36, 28, 22, 16, false)                                         \
	YARD_INSTANCE(tier, 19, 37, 19, 16, 24, false)                                         \
	YARD_INSTANCE(tier, 25, 31, 25, 17, 8, true)                                           \
	YARD_ANY_INSTANCE(tier)                                                                \
	const struct yard_ops *yard_##tier(unsigned slots)                                     \
	{                                                                                      \
		static const struct yard_ops *const frequent[] = {                             \
			&yard_ops_##tier##_51, &yard_ops_##tier##_56, &yard_ops_##tier##_42,   \
			&yard_ops_##tier##_36, &yard_ops_##tier##_28, &yard_ops_##tier##_19,   \
			&yard_ops_##tier##_25,                                                 \
		};                                                                             \
		for (size_t i = 0; i < sizeof frequent / sizeof *frequent; i++) {              \
			if (frequent[i]->shape.front.slots == slots)                           \
				return frequent[i];                                            \
		}                                                                              \
		for (size_t i = 0; i < sizeof yard_ops_##tier##_any / sizeof(struct yard_ops); \
		     i++) {                                                                    \
			if (yard_ops_##tier##_any[i].shape.front.slots == slots)               \
				return &yard_ops_##tier##_any[i];                              \
		}                                                                              \
		return NULL;                                                                   \
	}

/* The shape of a yard that is not known at compile time. */
static inline struct yard_shape yard_shape_of(const void *yard)
{
	return ((const struct yard *)yard)->ops->shape;
}

/* The operations of code `name` for a shape. */
#define YARD_OPS(name, rare, buckets, slots, back_slots, width, half)               \
	{                                                                           \
		.body = YARD_BODY_OPS(name, rare), .shared = YARD_SHARED_OPS(name), \
		.shape = YARD_SHAPE(buckets, slots, back_slots, width, half),       \
		.put = put_key_##name, .fill_fronts = fill_fronts_##name,           \
		.fill_back = yard_fill_back, .transfer = yard_transfer_all,         \
		.spread = yard_spread_all,                                          \
	}

#define YARD_SHAPED(name, buckets, slots, back_slots, width, half, rare) \
	static const struct yard_shape shape_##name =                    \
		YARD_SHAPE(buckets, slots, back_slots, width, half);     \
	YARD_RARE_EACH(name, shape_##name)                               \
	YARD_CALLS(name, shape_##name, shape_##name, rare)               \
	YARD_SHARED_CALLS(name, shape_##name, shape_##name, rare)        \
	static const struct yard_ops yard_ops_##name =                   \
		YARD_OPS(name, rare, buckets, slots, back_slots, width, half);

#define YARD_OTHER_OPS(name, rare, buckets, slots, back_slots, width) \
	YARD_OPS(name, rare, buckets, slots, back_slots, width, false)

#define YARD_ANY_SHAPED(name, rare)                                                          \
	YARD_RARE_EACH(name, yard->ops->shape)                                               \
	YARD_CALLS(name, yard_shape_of(yard), yard_shape_of(*bodies), rare)                  \
	YARD_SHARED_CALLS(name, yard_shape_of(yard), yard_shape_of(*bodies), rare)           \
	static const struct yard_ops yard_ops_##name[] = { YARD_OTHERS(YARD_OTHER_OPS, name, \
		                                                       rare) };

/*
 * What a few calls in a hundred come to, changes of full lines, and values: compiled for each
 * shape with AVX2, where it is small, and once for all shapes elsewhere. YARD_OFTEN is what is
 * inlined with AVX2 only.
 */
#define YARD_RARE_CALLS(name, shape)                                                               \
	NEVER_INLINE bool in_any_##name(const struct yard *yard, uint64_t hash)                    \
	{                                                                                          \
		return yard_in_any(yard, shape, hash);                                             \
	}                                                                                          \
	NEVER_INLINE nidus_status put_slow_##name(struct yard *yard, uint64_t bucket, unsigned m,  \
	                                          uint64_t remainder, uint64_t beside)             \
	{                                                                                          \
		return yard_put_slow(yard, shape,                                                  \
		                     (struct yard_key){ bucket, m, remainder, beside });           \
	}                                                                                          \
	NEVER_INLINE nidus_status take_slow_##name(struct yard *yard, const unsigned char *front,  \
	                                           uint64_t m, uint64_t remainder)                 \
	{                                                                                          \
		return yard_take_slow(yard, shape, front, m, remainder);                           \
	}                                                                                          \
	NEVER_INLINE nidus_status bring_back_##name(const struct yard *yard, unsigned char *front) \
	{                                                                                          \
		uint64_t bucket = yard_bucket_of(yard, shape, front);                              \
		struct yard_trio trio = yard_bare_trio(yard, shape, bucket);                       \
		trio.front = front;                                                                \
		yard_bring_back(shape, &trio);                                                     \
		return NIDUS_OK;                                                                   \
	}                                                                                          \
	NEVER_INLINE nidus_status push_value_##name(const struct yard *yard, uint64_t bucket,      \
	                                            unsigned slot, uint64_t beside)                \
	{                                                                                          \
		return yard_push_front(yard, shape, bucket, slot, beside);                         \
	}                                                                                          \
	NEVER_INLINE size_t find_##name(const void *body, uint64_t hash, uint64_t *values,         \
	                                size_t cap)                                                \
	{                                                                                          \
		const struct yard *yard = body;                                                    \
		return yard_find_values(yard, shape, hash, values, cap);                           \
	}                                                                                          \
	NEVER_INLINE uint64_t find_any_##name(const struct yard *yard, uint64_t hash,              \
	                                      uint32_t *found)                                     \
	{                                                                                          \
		return yard_find_any(yard, shape, hash, found);                                    \
	}                                                                                          \
	static void find_batch_##name(const void *body, const uint64_t *hashes, size_t n,          \
	                              uint64_t *first, uint32_t *found)                            \
	{                                                                                          \
		const struct yard *yard = body;                                                    \
		if (UNLIKELY(yard_listed(yard)) || yard->tag_bits > 0)                             \
			yard_find_one_by_one(yard, hashes, n, first, found);                       \
		else                                                                               \
			yard_find_all(yard, shape, hashes, n, first, found, find_any_##name);      \
	}

#ifdef MATCH_LINES
#define YARD_RARE_ONCE(tier)
#define YARD_RARE_EACH(name, shape)  \
	YARD_RARE_CALLS(name, shape) \
	YARD_SHARED_RARE_CALLS(name, shape)
#define YARD_OFTEN ALWAYS_INLINE
#define YARD_INSTANCE(tier, slots, ...) YARD_SHAPED(tier##_##slots, __VA_ARGS__, tier##_##slots)
#define YARD_ANY_INSTANCE(tier) YARD_ANY_SHAPED(tier##_any, tier##_any)
#else
#define YARD_RARE_ONCE(tier)                    \
	YARD_RARE_CALLS(tier, yard->ops->shape) \
	YARD_SHARED_RARE_CALLS(tier, yard->ops->shape)
#define YARD_OFTEN NEVER_INLINE
#define YARD_RARE_EACH(name, shape)
#define YARD_INSTANCE(tier, slots, ...) YARD_SHAPED(tier##_##slots, __VA_ARGS__, tier)
#define YARD_ANY_INSTANCE(tier) YARD_ANY_SHAPED(tier##_any, tier)
#endif

/* Batches for yard_look_all and yard_change_all. */
#define YARD_OF_ONE(body, keys, number) \
	((struct yard_batch){ .yard = (body), .hashes = (keys), .n = (number) })
#define YARD_OF_EACH(those, keys, number) \
	((struct yard_batch){ .bodies = (those), .each = true, .hashes = (keys), .n = (number) })

/* The calls of one thread; `each` is the shape where there are bodies instead of a yard. */
#define YARD_CALLS(name, shape, each, rare)                                                        \
	YARD_OFTEN nidus_status put_##name(struct yard *yard, uint64_t bucket, unsigned m,         \
	                                   uint64_t remainder, uint64_t beside)                    \
	{                                                                                          \
		return yard_put(yard, shape, (struct yard_key){ bucket, m, remainder, beside },    \
		                put_slow_##rare, push_value_##rare);                               \
	}                                                                                          \
	static nidus_status put_key_##name(struct yard *yard, struct yard_key key)                 \
	{                                                                                          \
		return put_##name(yard, key.bucket, key.m, key.remainder, key.beside);             \
	}                                                                                          \
	static bool fill_fronts_##name(struct yard *yard, const uint64_t *hashes,                  \
	                               const uint64_t *values, size_t n)                           \
	{                                                                                          \
		return yard_fill_fronts(yard, shape, hashes, values, n);                           \
	}                                                                                          \
	static bool contains_##name(const void *yard, uint64_t hash)                               \
	{                                                                                          \
		return yard_contains(yard, shape, hash, in_any_##rare);                            \
	}                                                                                          \
	static void prepare_##name(const void *yard, uint64_t hash, nidus_probe *probe)            \
	{                                                                                          \
		yard_prepare(yard, shape, hash, YARD_ALONE, probe);                                \
	}                                                                                          \
	static bool ask_##name(const void *yard, const nidus_probe *probe)                         \
	{                                                                                          \
		return yard_ask(yard, shape, probe, yard_in_front, in_any_##rare);                 \
	}                                                                                          \
	static nidus_status remove_##name(void *yard, uint64_t hash)                               \
	{                                                                                          \
		return yard_take(yard, shape, hash, true, take_slow_##rare, bring_back_##rare);    \
	}                                                                                          \
	NEVER_INLINE nidus_status take_##name(struct yard *yard, uint64_t hash, uint64_t value)    \
	{                                                                                          \
		(void)value;                                                                       \
		return yard_take(yard, shape, hash, false, take_slow_##rare, bring_back_##rare);   \
	}                                                                                          \
	YARD_OFTEN nidus_status push_tag_##name(const struct yard *yard, uint64_t bucket,          \
	                                        unsigned slot, uint64_t beside)                    \
	{                                                                                          \
		return yard_push_tag(yard, shape, bucket, slot, beside);                           \
	}                                                                                          \
	NEVER_INLINE nidus_status insert_tagged_##name(struct yard *yard, uint64_t hash,           \
	                                               uint64_t value)                             \
	{                                                                                          \
		struct yard_key key = yard_locate_hot(yard, shape, hash);                          \
		key.beside = yard_beside(yard, hash, value);                                       \
		return yard_put(yard, shape, key, put_slow_##rare, push_tag_##name);               \
	}                                                                                          \
	ALWAYS_INLINE nidus_status insert_inline_##name(struct yard *yard, uint64_t hash,          \
	                                                uint64_t value)                            \
	{                                                                                          \
		if (UNLIKELY(yard->tag_bits > 0))                                                  \
			return insert_tagged_##name(yard, hash, value);                            \
		struct yard_key key = yard_locate_hot(yard, shape, hash);                          \
		return put_##name(yard, key.bucket, key.m, key.remainder, value);                  \
	}                                                                                          \
	static nidus_status insert_##name(void *body, uint64_t hash)                               \
	{                                                                                          \
		struct yard *yard = body;                                                          \
		if (yard_nearly_full(yard, shape))                                                 \
			yard_approach_back(yard, shape,                                            \
			                   yard_locate_hot(yard, shape, hash).bucket);             \
		return insert_inline_##name(yard, hash, 0);                                        \
	}                                                                                          \
	YARD_BATCHES(batch_##name, shape, yard_in_front, in_any_##rare, insert_inline_##name,      \
	             take_##name, YARD_ALONE, YARD_ALONE)                                          \
	static void contains_each_##name(const void *const *bodies, const uint64_t *hashes,        \
	                                 size_t n, uint8_t *yes)                                   \
	{                                                                                          \
		yard_look_each(bodies, each, hashes, n, yes, in_any_##rare);                       \
	}                                                                                          \
	static nidus_status insert_each_##name(void *const *bodies, const uint64_t *hashes,        \
	                                       const uint64_t *values, size_t n, size_t *done)     \
	{                                                                                          \
		return yard_insert_each(bodies, each, hashes, values, n, done, put_slow_##rare,    \
		                        push_tag_##name);                                          \
	}                                                                                          \
	static nidus_status remove_each_##name(void *const *bodies, const uint64_t *hashes,        \
	                                       size_t n, size_t *done)                             \
	{                                                                                          \
		return yard_change_all(YARD_OF_EACH((const void *const *)bodies, hashes, n), each, \
		                       NULL, bodies, NULL, done, YARD_REMOVES, take_##name,        \
		                       YARD_ALONE);                                                \
	}

/* Batches of keys of one yard. */
#define YARD_BATCHES(name, shape, in_front, in_any, insert, take, read, change)                  \
	static void contains_##name(const void *yard, const uint64_t *hashes, size_t n,          \
	                            uint8_t *yes)                                                \
	{                                                                                        \
		yard_look_all(YARD_OF_ONE(yard, hashes, n), shape, yes, in_front, in_any, read); \
	}                                                                                        \
	static nidus_status insert_##name(void *yard, const uint64_t *hashes,                    \
	                                  const uint64_t *values, size_t n, size_t *done)        \
	{                                                                                        \
		return yard_change_all(YARD_OF_ONE(yard, hashes, n), shape, yard, NULL, values,  \
		                       done, YARD_INSERTS, insert, change);                      \
	}                                                                                        \
	static nidus_status remove_##name(void *yard, const uint64_t *hashes, size_t n,          \
	                                  size_t *done)                                          \
	{                                                                                        \
		return yard_change_all(YARD_OF_ONE(yard, hashes, n), shape, yard, NULL, NULL,    \
		                       done, YARD_REMOVES, take, change);                        \
	}

/* Batches of keys of different yards. */
#define YARD_EACHES(name, shape, in_front, in_any, insert, take, read, change)                   \
	static void contains_##name(const void *const *bodies, const uint64_t *hashes, size_t n, \
	                            uint8_t *yes)                                                \
	{                                                                                        \
		yard_look_all(YARD_OF_EACH(bodies, hashes, n), shape, yes, in_front, in_any,     \
		              read);                                                             \
	}                                                                                        \
	static nidus_status insert_##name(void *const *bodies, const uint64_t *hashes,           \
	                                  const uint64_t *values, size_t n, size_t *done)        \
	{                                                                                        \
		return yard_change_all(YARD_OF_EACH((const void *const *)bodies, hashes, n),     \
		                       shape, NULL, bodies, values, done, YARD_INSERTS, insert,  \
		                       change);                                                  \
	}                                                                                        \
	static nidus_status remove_##name(void *const *bodies, const uint64_t *hashes, size_t n, \
	                                  size_t *done)                                          \
	{                                                                                        \
		return yard_change_all(YARD_OF_EACH((const void *const *)bodies, hashes, n),     \
		                       shape, NULL, bodies, NULL, done, YARD_REMOVES, take,      \
		                       change);                                                  \
	}

#define YARD_BODY_OPS(name, rare)                                                             \
	{                                                                                     \
		.contains = contains_##name, .prepare = prepare_##name, .ask = ask_##name,    \
		.count = yard_count_copies, .find = find_##rare,                              \
		.insert = insert_##name, .insert_value = yard_insert_value,                   \
		.remove = remove_##name, .change = yard_change_value,                         \
		.contains_batch = contains_batch_##name, .find_batch = find_batch_##rare,     \
		.insert_batch = insert_batch_##name, .remove_batch = remove_batch_##name,     \
		.contains_each = contains_each_##name, .insert_each = insert_each_##name,     \
		.remove_each = remove_each_##name,                                            \
	}

#ifdef NIDUS_ONE_THREAD
#define YARD_SHARED_RARE_CALLS(name, shape)
#define YARD_SHARED_CALLS(name, shape, each, rare)
#define YARD_SHARED_OPS(name) \
	{                     \
		0             \
	}
#else

/* The calls of threads that share a yard, and what few of them come to. */
#define YARD_SHARED_RARE_CALLS(name, shape)                                            \
	NEVER_INLINE bool shared_in_any_##name(const struct yard *yard, uint64_t hash) \
	{                                                                              \
		return yard_shared_in_any(yard, shape, hash);                          \
	}

#define YARD_SHARED_CALLS(name, shape, each, rare)                                           \
	YARD_OFTEN nidus_status shared_put_##name(struct yard *yard, uint64_t hash,          \
	                                          uint64_t value)                            \
	{                                                                                    \
		return yard_shared_put(yard, shape, hash, value);                            \
	}                                                                                    \
	YARD_OFTEN nidus_status shared_take_##name(struct yard *yard, uint64_t hash,         \
	                                           uint64_t value)                           \
	{                                                                                    \
		(void)value;                                                                 \
		return yard_shared_take(yard, shape, hash);                                  \
	}                                                                                    \
	static bool shared_contains_##name(const void *yard, uint64_t hash)                  \
	{                                                                                    \
		return yard_shared_contains(yard, shape, hash, shared_in_any_##rare);        \
	}                                                                                    \
	static void shared_prepare_##name(const void *yard, uint64_t hash,                   \
	                                  nidus_probe *probe)                                \
	{                                                                                    \
		yard_prepare(yard, shape, hash, YARD_READ, probe);                           \
	}                                                                                    \
	static bool shared_ask_##name(const void *yard, const nidus_probe *probe)            \
	{                                                                                    \
		return yard_ask(yard, shape, probe, yard_shared_in_front,                    \
		                shared_in_any_##rare);                                       \
	}                                                                                    \
	static nidus_status shared_insert_##name(void *yard, uint64_t hash)                  \
	{                                                                                    \
		return shared_put_##name(yard, hash, 0);                                     \
	}                                                                                    \
	static nidus_status shared_remove_##name(void *yard, uint64_t hash)                  \
	{                                                                                    \
		return shared_take_##name(yard, hash, 0);                                    \
	}                                                                                    \
	YARD_BATCHES(shared_batch_##name, shape, yard_shared_in_front, shared_in_any_##rare, \
	             shared_put_##name, shared_take_##name, YARD_READ, YARD_CHANGE)          \
	YARD_EACHES(shared_each_##name, each, yard_shared_in_front, shared_in_any_##rare,    \
	            shared_put_##name, shared_take_##name, YARD_READ, YARD_CHANGE)

#define YARD_SHARED_OPS(name)                                                                   \
	{                                                                                       \
		.contains = shared_contains_##name, .prepare = shared_prepare_##name,           \
		.ask = shared_ask_##name, .count = yard_shared_count,                           \
		.find = yard_shared_find, .insert = shared_insert_##name,                       \
		.insert_value = yard_shared_insert_value, .insert_new = yard_shared_insert_new, \
		.remove = shared_remove_##name, .change = yard_shared_change,                   \
		.add = yard_shared_add, .contains_batch = contains_shared_batch_##name,         \
		.find_batch = yard_find_one_by_one, .insert_batch = insert_shared_batch_##name, \
		.remove_batch = remove_shared_batch_##name,                                     \
		.contains_each = contains_shared_each_##name,                                   \
		.insert_each = insert_shared_each_##name,                                       \
		.remove_each = remove_shared_each_##name,                                       \
	}
#endif

#endif
