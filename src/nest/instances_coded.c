/* SPDX-License-Identifier: MIT
 *
 * nest_coded: nests of sorted, coded buckets.
 */
#include "nest/instances.h"

NEST_SEARCHES(search_coded_xor, NEST_CODED_XOR, 4, NEST_ONE)
NEST_SEARCHES(search_coded_buckets, NEST_CODED_BUCKETS, 4, NEST_ONE)

static const struct nest_searches *searches_xor(const struct nest *nest)
{
	(void)nest;
	return &search_coded_xor;
}

static const struct nest_searches *searches_buckets(const struct nest *nest)
{
	(void)nest;
	return &search_coded_buckets;
}

NEST_INSTANCE(coded_xor, NEST_CODED_XOR, 4, NEST_ONE, searches_xor)
NEST_VARIANT(coded_xor_short, NEST_CODED_XOR, 4, NEST_ONE, NEST_SHORT_PATH, coded_xor)
NEST_INSTANCE(coded_buckets, NEST_CODED_BUCKETS, 4, NEST_ONE, searches_buckets)

const struct body_ops *nest_ops_coded(const struct nest *nest)
{
	enum nest_table table = nest_table(nest);
	if (nest->layout->in_words != NEST_ONE)
		return nest_ops_any(nest);
	if (nest->layout->kind == NEST_CODED_BUCKETS)
		return &coded_buckets[table];
	return table == NEST_WHOLE_TABLE && nest_takes_short_path(nest) ? &coded_xor_short
	                                                                : &coded_xor[table];
}
