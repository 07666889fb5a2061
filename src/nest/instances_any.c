/* SPDX-License-Identifier: MIT
 *
 * nest_any: nests of shapes that are too rare for code of their own.
 *
 * Very wide slots and buckets of eight. Kind and slots are read from the nest.
 */
#include "nest/instances.h"

ALWAYS_INLINE struct nest_shape any_shape(const struct nest *nest, bool shared)
{
	struct nest_shape shape = nest_shape_of(nest);
	shape.words = NEST_MANY;
	shape.shared = shared;
	return shape;
}

NEST_SEARCHES_OF(search_any, any_shape(nest, false), any_shape(nest, true))

static const struct nest_searches *searches(const struct nest *nest)
{
	(void)nest;
	return &search_any;
}

NEST_PLAIN_PARTS(any_plain, any_shape(nest, false), searches)
NEST_LOOKUP(any_plain, any_shape(nest, false))
NEST_LOOKUP_BATCH(any_plain, any_shape(nest, false))
NEST_LOOKUP_EACH(any_plain, any_shape(nest, false))
NEST_REMOVE(any_plain, any_shape(nest, false))
NEST_CHANGE_BATCHES_OR_EACH(any_plain, any_shape(nest, false), insert_rest_any_plain)
NEST_SHARED_PARTS(any_shared, any_shape(nest, true), searches)

#define ANY_PLAIN                                                                          \
	{                                                                                  \
		NEST_TABLE(any_plain, any_plain, any_plain, any_plain),                    \
			NEST_EACH(any_plain, any_plain), .insert_near = insert_near_any_plain \
	}

static const struct body_ops any[NEST_TABLES] = {
	[NEST_WHOLE_TABLE] = ANY_PLAIN,
	[NEST_PART_TABLE] = ANY_PLAIN,
	NEST_SHARED_TABLE_OF(any_shared, any_shared)
};

const struct body_ops *nest_ops_any(const struct nest *nest)
{
	return &any[nest_table(nest)];
}
