/* SPDX-License-Identifier: MIT
 *
 * nest_coded: nests of sorted, coded buckets.
 */
#include "nest/instances.h"

/* Semisort is one table, compact bucketed filters are chunks: other ways are looked up. */
NEST_FEW_INSTANCES(coded_xor, NEST_CODED_XOR, 4, NEST_ONE, 0)
NEST_FEW_INSTANCES(coded_buckets, NEST_CODED_BUCKETS, 4, NEST_ONE, NEST_CHUNKS)

const struct body_ops *nest_ops_coded(const struct nest *nest)
{
	if (nest->layout->in_words != NEST_ONE)
		return nest_ops_any(nest);
	return nest->layout->kind == NEST_CODED_XOR ? NEST_OPS_OF_FEW(nest, coded_xor)
	                                            : NEST_OPS_OF_FEW(nest, coded_buckets);
}
