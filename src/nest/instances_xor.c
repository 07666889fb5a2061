/* SPDX-License-Identifier: MIT
 *
 * nest_xor: nests whose two buckets are found by XOR, NEST_DIRECT ones too.
 */
#include "nest/instances.h"

NEST_XOR_INSTANCES(xor_2_paired, 2, NEST_PAIRED)
NEST_XOR_INSTANCES(xor_2_one, 2, NEST_ONE)
NEST_XOR_INSTANCES(xor_4_one, 4, NEST_ONE)
NEST_BYTES_INSTANCE(xor_4_bytes_plain, NEST_XOR, 4, xor_4_one_plain, xor_4_one_plain_direct,
                    xor_4_one_plain_direct_part)
NEST_XOR_INSTANCES(xor_4_whole, 4, NEST_WHOLE)
NEST_XOR_INSTANCES(xor_4_two, 4, NEST_TWO)

const struct body_ops *nest_ops_xor(const struct nest *nest)
{
	switch (nest->layout->slots * 8 + nest->layout->in_words) {
	case 2 * 8 + NEST_PAIRED:
		return NEST_OPS_OF(nest, xor_2_paired);
	case 2 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, xor_2_one);
	case 4 * 8 + NEST_BYTES:
		return &xor_4_bytes_plain[nest_way(nest)];
	case 4 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, xor_4_one);
	case 4 * 8 + NEST_WHOLE:
		return NEST_OPS_OF(nest, xor_4_whole);
	case 4 * 8 + NEST_TWO:
		return NEST_OPS_OF(nest, xor_4_two);
	default:
		return nest_ops_any(nest);
	}
}
