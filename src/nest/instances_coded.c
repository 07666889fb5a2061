/* SPDX-License-Identifier: MIT
 *
 * nest_coded: nests of sorted, coded buckets.
 */
#include "nest/instances.h"

NEST_INSTANCES(coded_4_one, NEST_CODED, 4, NEST_ONE)

const struct body_ops *nest_ops_coded(const struct nest *nest)
{
	switch (nest->slots * 8 + nest->in_words) {
	case 4 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, coded_4_one);
	default:
		return nest_ops_any(nest);
	}
}
