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

NEST_PLAIN_PARTS(any_plain, any_shape(nest, false))
NEST_CALLS(any_plain, any_shape(nest, false), insert_rest_any_plain)
NEST_LOOKUP_BATCH(any_plain, any_shape(nest, false))
NEST_EACH(any_plain, any_shape(nest, false), insert_rest_any_plain)
static const struct body_ops any_plain = {
	NEST_CALL_LIST(any_plain, any_plain, any_plain, any_plain),
	.insert_near = insert_near_any_plain, NEST_EACH_LIST(any_plain)
};
NEST_SHARED_INSTANCE(any_shared, any_shape(nest, true))

const struct body_ops *nest_ops_any(const struct nest *nest)
{
#ifndef NIDUS_ONE_THREAD
	if (nest->shared != NULL)
		return &any_shared;
#endif
	(void)nest;
	return &any_plain;
}
