/* SPDX-License-Identifier: MIT
 *
 * lender: the borrowed bits of a key (api/directory.h), straight from its hash.
 *
 * They follow from the number of its identity among those of a part: home times the number of
 * cores, and the core (of a breadcrumb filter, front bucket, mini-bucket and remainder). Where
 * each of these is cut from what is left of a hash (nest/nest.h), all together are one product.
 */
#ifndef NIDUS_BASE_LENDER_H
#define NIDUS_BASE_LENDER_H

#include "base/bits.h"

/* Multiples of the golden ratio lie evenly, and neighbours far apart. */
#define LENDER_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct lender {
	uint64_t identities; /* of a part; 0: none of this, the family's borrow() is to be asked */
	/*
	 * Home is the lower of two groups, and not the first. What leads from one to the other is one
	 * of the hops, by the core, or without them the lowest bits of the core itself.
	 */
	bool lower;
	const uint32_t *hops;
	uint64_t hop_mask, groups, cores;
	uint64_t direct; /* values of a core above these bits */
};

/* The borrowed bits of an identity by its number, the highest first. */
static inline uint64_t lender_spread(uint64_t identity)
{
	return identity * LENDER_FACTOR;
}

/* The same by what is left of a hash behind its part. */
ALWAYS_INLINE uint64_t lender_bits(const struct lender *lender, uint64_t rest)
{
	if (LIKELY(!lender->lower))
		return lender_spread(multiply_high(rest, lender->identities));
	uint64_t first = multiply_wide(rest, lender->groups, &rest), core, hop;
	if (LIKELY(lender->hops != NULL)) {
		core = 1 + multiply_high(rest, lender->cores);
		hop = lender->hops[core & lender->hop_mask];
	} else {
		hop = 1 + multiply_wide(rest, lender->groups - 1, &rest);
		core = hop + lender->groups * multiply_high(rest, lender->direct);
	}
	uint64_t second = first ^ hop;
	return lender_spread((first < second ? first : second) * lender->cores + core - 1);
}

#endif
