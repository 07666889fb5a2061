/* SPDX-License-Identifier: MIT
 *
 * nest_coded: nests of sorted, coded buckets.
 */
#include "nest/instances.h"

NEST_INSTANCES(coded_4_one, NEST_CODED, 4, NEST_ONE)
NEST_WIDE_INSTANCES(coded_4_many, NEST_CODED, 4)

const struct body_ops *nest_ops_coded(const struct nest *nest)
{
	switch (nest->slots * 8 + nest->in_words) {
	case 4 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, coded_4_one);
	default: /* 4 slots, NEST_MANY */
		return NEST_OPS_OF_WIDE(nest, coded_4_many);
	}
}
