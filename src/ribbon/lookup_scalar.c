/* SPDX-License-Identifier: MIT
 *
 * ribbon lookup, scalar: the definition.
 */
#include "ribbon/ribbon.h"

ALWAYS_INLINE unsigned columns8(const unsigned char *first, const unsigned char *second,
                                uint64_t low, uint64_t high)
{
	unsigned bits = 0;
	for (unsigned j = 0; j < 8; j++) {
		uint64_t picked = (load64(first + 8 * j) & low) ^ (load64(second + 8 * j) & high);
		bits |= (unsigned)__builtin_parityll(picked) << j;
	}
	return bits;
}

#define LOOKUP_TIER ribbon_scalar
#include "ribbon/lookup.h"
