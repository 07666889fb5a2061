/* SPDX-License-Identifier: MIT
 *
 * nest_xor: nests whose two buckets are found by XOR, NEST_DIRECT ones too.
 */
#include "nest/instances.h"

NEST_SEARCHES(search_xor_2_one, NEST_XOR, 2, NEST_ONE)
NEST_SEARCHES(search_xor_4_one, NEST_XOR, 4, NEST_ONE)
NEST_SEARCHES(search_xor_4_two, NEST_XOR, 4, NEST_TWO)

static const struct nest_searches *searches_one(const struct nest *nest)
{
	return nest->layout->slots == 2 ? &search_xor_2_one : &search_xor_4_one;
}

static const struct nest_searches *searches_two(const struct nest *nest)
{
	(void)nest; /* two words have four slots */
	return &search_xor_4_two;
}

NEST_INSTANCE(xor_one, NEST_XOR, 0, NEST_ONE, searches_one)
NEST_VARIANT(xor_one_short, NEST_XOR, 0, NEST_ONE, NEST_SHORT_PATH, xor_one)
NEST_VARIANT(xor_bytes, NEST_XOR, 0, NEST_BYTES, NEST_WHOLE_PATH, xor_one)
NEST_VARIANT(xor_bytes_short, NEST_XOR, 0, NEST_BYTES, NEST_SHORT_PATH, xor_one)
NEST_INSTANCE(xor_two, NEST_XOR, 0, NEST_TWO, searches_two)

static const struct body_ops *ops_one(const struct nest *nest)
{
	enum nest_table table = nest_table(nest);
	bool bytes = nest->layout->also_in == NEST_BYTES;
	if (table != NEST_WHOLE_TABLE)
		return &xor_one[table];
	if (nest_takes_short_path(nest))
		return bytes ? &xor_bytes_short : &xor_one_short;
	return bytes ? &xor_bytes : &xor_one[table];
}

const struct body_ops *nest_ops_xor(const struct nest *nest)
{
	switch (nest->layout->in_words) {
	case NEST_ONE:
		return ops_one(nest);
	case NEST_TWO:
		return &xor_two[nest_table(nest)];
	default:
		return nest_ops_any(nest);
	}
}
