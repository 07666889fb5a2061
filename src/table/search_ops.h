/* SPDX-License-Identifier: MIT
 *
 * search_ops: the search of search.h with kind, slots and width as constants.
 *
 * A template: no include guard. nest_ops.h includes it, for nests without growth
 * bits, and nest_shared_hot.h, whose words are atomic (NEST_SHARED: others may be
 * writing them, so anything may be read). They get NEST_ID(chain). It looks at the
 * same slots in the same order as search_go_on, which takes over when a search has
 * become long: below, no slot is noted and no limit asked for, as SEARCH_RECORD_FROM
 * nodes are within both.
 *
 * Windows: the entry of a node may also shift within its own window. New there are
 * the slots that are not in the window in which the node was met; that one is full.
 *
 *     met in      [a b c d]             own, later        [. . . .]
 *     own, before     |                 new, met last first   y x
 *       [. . . .]     |
 *        y x          node
 */

/* The groups of the entry that a node's slot holds. */
ALWAYS_INLINE struct search_aim NEST_ID(aim)(const struct nest *nest, const unsigned char *bits,
                                             uint64_t node)
{
	uint64_t slot = search_slot(node), value = NEST_ID(slot_in)(nest, bits, slot);
	uint64_t own = slot / NEST_L;
	if (NEST_KIND == NEST_WINDOWS)
		own = slot - (value >> (NEST_CORE + 1) & (NEST_L - 1));
	if (NEST_KIND == NEST_WINDOWS && NEST_SHARED && UNLIKELY(own >= nest->groups))
		own = slot - search_at(node);
	return (struct search_aim){ own,
		                    nest_other_group_in(nest, NEST_KIND, NEST_CORE, own, value) };
}

/* Not 0 if a slot of a group is empty. */
ALWAYS_INLINE uint64_t NEST_ID(gaps)(const struct nest *nest, const unsigned char *bits,
                                     uint64_t group)
{
	uint64_t gaps = 0;
	for (unsigned word = 0; word < NEST_WORDS; word++) {
		uint64_t fields = NEST_ID(word_in)(nest, bits, group * NEST_STEP, word);
		gaps |= (fields - NEST_ONES) & ~fields; /* see fields_any_zero */
	}
	return gaps & NEST_ONES << ((NEST_W)-1);
}

/* The last empty slot of a group that has one: inserts leave room there last. */
ALWAYS_INLINE unsigned NEST_ID(last_gap)(const struct nest *nest, const unsigned char *bits,
                                         uint64_t group)
{
	for (unsigned word = NEST_WORDS; word-- > 0;) {
		uint64_t gaps = fields_zero(NEST_ID(word_in)(nest, bits, group * NEST_STEP, word),
		                            NEST_W, NEST_ONES);
		if (gaps != 0)
			return word * NEST_FIELDS + log2_floor(gaps) / (NEST_W);
	}
	return 0;
}

/*
 * The new slots of a node's own window become nodes: `apart` is how far that begins
 * behind the window in which the node was met. No branch, as nobody can predict it.
 */
ALWAYS_INLINE uint64_t *NEST_ID(push_own)(uint64_t *end, uint64_t own, uint64_t apart, unsigned i)
{
	uint64_t before = 0 - (apart >> 63); /* all bits, or none */
	OPAQUE64(before);
	uint64_t at = NEST_L - 1 + ((0 - apart - NEST_L) & before);
	uint64_t last = SEARCH_NODE(own + at, at, i);
	for (unsigned behind = 0; behind < NEST_L - 1; behind++)
		end[behind] = last - behind * SEARCH_NODE_STEP;
	return end + ((apart ^ before) - before);
}

/* All slots of a group become nodes, from the last on. */
ALWAYS_INLINE uint64_t *NEST_ID(push)(uint64_t *end, uint64_t group, unsigned i)
{
	uint64_t first = NEST_KIND == NEST_WINDOWS ? group : group * NEST_L;
	uint64_t last = SEARCH_NODE(first + NEST_L - 1, NEST_L - 1, i);
	for (unsigned behind = 0; behind < NEST_L; behind++)
		end[behind] = last - behind * SEARCH_NODE_STEP;
	return end + NEST_L;
}

/* Asks the memory for where the entry of a node could go. */
ALWAYS_INLINE void NEST_ID(ask)(const struct search *search, unsigned i)
{
	const struct nest *nest = search->nest;
	struct search_aim aim = NEST_ID(aim)(nest, search->bits, search->node[i]);
	PREFETCH(search->bits + (aim.other * NEST_STEP >> 3));
}

/*
 * Begins a search. True: the entry of node *at can go to *empty. False: it became long,
 * and is to go on with that node.
 */
ALWAYS_INLINE bool NEST_ID(chain)(struct search *search, struct nest *nest,
                                  const struct nest_key *key, unsigned *at, uint64_t *empty)
{
	const unsigned looks = NEST_KIND == NEST_WINDOWS ? 2 * NEST_L : NEST_L;
	const unsigned limit =
		nest->max_steps < SEARCH_RECORD_FROM ? nest->max_steps : SEARCH_RECORD_FROM;
	search_begin(search, nest, NEST_KIND, NEST_L, key);
	const unsigned char *bits = search->bits;
	uint64_t *end = search->node + search->nodes, *stop = search->node + limit;
	unsigned i = 0;
	while (nest->remote && i < 2 * NEST_L)
		NEST_ID(ask)(search, i++);
	for (i = 0; end < stop; i++) {
		uint64_t node = search->node[i], from = search_slot(node);
		struct search_aim aim = NEST_ID(aim)(nest, bits, node);
		uint64_t gaps = NEST_ID(gaps)(nest, bits, aim.other), own_gaps = 0;
		if (NEST_KIND == NEST_WINDOWS)
			own_gaps = NEST_ID(gaps)(nest, bits, aim.own);
		if (UNLIKELY((gaps | own_gaps) != 0)) {
			bool own = own_gaps != 0;
			uint64_t group = own ? aim.own : aim.other;
			uint64_t first = NEST_KIND == NEST_WINDOWS ? group : group * NEST_L;
			unsigned gap = NEST_ID(last_gap)(nest, bits, group);
			search->checks =
				i * looks + (NEST_KIND == NEST_WINDOWS && !own ? NEST_L : 0);
			search->checks += NEST_L - gap;
			*at = i;
			*empty = first + gap;
			return true;
		}
		if (NEST_KIND == NEST_WINDOWS)
			end = NEST_ID(push_own)(end, aim.own, aim.own - from + search_at(node), i);
		end = NEST_ID(push)(end, aim.other, i);
		if (UNLIKELY(nest->remote))
			NEST_ID(ask)(search, i + 2 * NEST_L);
	}
	search->nodes = (unsigned)(end - search->node);
	search->checks = i * looks;
	*at = i;
	return false;
}
