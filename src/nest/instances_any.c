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

NEST_PLAIN_PARTS(plain, any_shape(nest, false))
NEST_CALLS(plain, any_shape(nest, false), insert_rest_plain)
NEST_LOOKUP_BATCH(plain, any_shape(nest, false))
NEST_EACH(plain, any_shape(nest, false), insert_rest_plain)
static const struct body_ops plain = { NEST_CALL_LIST(plain, plain, plain, plain),
	                               .insert_near = insert_near_plain, NEST_EACH_LIST(plain) };
NEST_SHARED_INSTANCE(shared, any_shape(nest, true))

const struct body_ops *nest_ops_any(const struct nest *nest)
{
#ifndef NIDUS_ONE_THREAD
	if (nest->shared != NULL)
		return &shared;
#endif
	(void)nest;
	return &plain;
}
