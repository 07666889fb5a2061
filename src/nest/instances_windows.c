/* SPDX-License-Identifier: MIT
 *
 * nest_windows: nests of windows, and of buckets with a choice bit.
 *
 * They differ in searches. Otherwise a bucket is a window that no other overlaps.
 */
#include "nest/instances.h"

NEST_SEARCHES(search_buckets_2_one, NEST_BUCKETS, 2, NEST_ONE)
NEST_SEARCHES(search_buckets_4_one, NEST_BUCKETS, 4, NEST_ONE)
NEST_SEARCHES(search_buckets_4_two, NEST_BUCKETS, 4, NEST_TWO)
NEST_SEARCHES(search_windows_2_one, NEST_WINDOWS, 2, NEST_ONE)
NEST_SEARCHES(search_windows_4_one, NEST_WINDOWS, 4, NEST_ONE)
NEST_SEARCHES(search_windows_4_two, NEST_WINDOWS, 4, NEST_TWO)

static const struct nest_searches *searches_one(const struct nest *nest)
{
	if (nest->layout->kind == NEST_BUCKETS)
		return nest->layout->slots == 2 ? &search_buckets_2_one : &search_buckets_4_one;
	return nest->layout->slots == 2 ? &search_windows_2_one : &search_windows_4_one;
}

static const struct nest_searches *searches_two(const struct nest *nest)
{
	return nest->layout->kind == NEST_BUCKETS ? &search_buckets_4_two : &search_windows_4_two;
}

NEST_INSTANCE(windows_one, NEST_WINDOWS, 0, NEST_ONE, searches_one)
NEST_VARIANT(windows_bytes, NEST_WINDOWS, 0, NEST_BYTES, NEST_WHOLE_PATH, windows_one)
NEST_LOOKUPS(windows_paired, NEST_WINDOWS, 0, NEST_PAIRED, windows_one)
NEST_INSTANCE(windows_two, NEST_WINDOWS, 0, NEST_TWO, searches_two)

static const struct body_ops *ops_one(const struct nest *nest)
{
	enum nest_table table = nest_table(nest);
	if (nest->layout->also_in == NEST_PAIRED)
		return &windows_paired[table];
	if (nest->layout->also_in == NEST_BYTES && table == NEST_WHOLE_TABLE)
		return &windows_bytes;
	return &windows_one[table];
}

const struct body_ops *nest_ops_windows(const struct nest *nest)
{
	switch (nest->layout->in_words) {
	case NEST_ONE:
		return ops_one(nest);
	case NEST_TWO:
		return &windows_two[nest_table(nest)];
	default:
		return nest_ops_any(nest);
	}
}
