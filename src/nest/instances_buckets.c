/* SPDX-License-Identifier: MIT
 *
 * nest_buckets: nests of buckets with a choice bit.
 */
#include "nest/instances.h"

NEST_INSTANCES(buckets_2_paired, NEST_BUCKETS, 2, NEST_PAIRED)
NEST_INSTANCES(buckets_2_one, NEST_BUCKETS, 2, NEST_ONE)
NEST_INSTANCES(buckets_4_one, NEST_BUCKETS, 4, NEST_ONE)
NEST_BYTES_INSTANCE(buckets_4_bytes_plain, NEST_BUCKETS, 4, buckets_4_one_plain,
                    buckets_4_one_plain_any, buckets_4_one_plain_any)
NEST_INSTANCES(buckets_4_whole, NEST_BUCKETS, 4, NEST_WHOLE)
NEST_INSTANCES(buckets_4_two, NEST_BUCKETS, 4, NEST_TWO)

const struct body_ops *nest_ops_buckets(const struct nest *nest)
{
	switch (nest->layout->slots * 8 + nest->layout->in_words) {
	case 2 * 8 + NEST_PAIRED:
		return NEST_OPS_OF(nest, buckets_2_paired);
	case 2 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, buckets_2_one);
	case 4 * 8 + NEST_BYTES:
		return &buckets_4_bytes_plain[nest_way(nest)];
	case 4 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, buckets_4_one);
	case 4 * 8 + NEST_WHOLE:
		return NEST_OPS_OF(nest, buckets_4_whole);
	case 4 * 8 + NEST_TWO:
		return NEST_OPS_OF(nest, buckets_4_two);
	default:
		return nest_ops_any(nest);
	}
}
