/* SPDX-License-Identifier: MIT
 *
 * search: the parts that are compiled once, for every shape: searches that have become
 * long, and those of nests at leisure.
 */
#include "nest/search.h"

bool search_long(struct search *search, unsigned *at, uint64_t *empty)
{
	struct nest_shape shape = nest_shape_of(search->nest);
	memset(search->record, 0, sizeof search->record);
	return search_walk(search, shape, true, at, empty);
}

bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key, uint64_t *slot)
{
	(void)kind;
	struct nest_shape shape = nest_shape_of(nest);
	struct search search;
	unsigned at;
	uint64_t empty;
	shape.shared = false;
	search_begin(&search, nest, shape, key);
	bool found = search_walk(&search, shape, false, &at, &empty) ||
	             search_long(&search, &at, &empty);
	if (found)
		*slot = search_move(&search, shape, at, empty);
	return search_end(&search, found);
}
