/* SPDX-License-Identifier: MIT
 *
 * registry: one line per family.
 */
#include "family/registry.h"

#include "family/family.h"

#include <assert.h>

const struct family *const families[FAMILIES + 1] = {
	&family_cuckoo,
	&family_semisort,
	&family_simplified,
	&family_chunked,
	&family_bucketed,
	&family_windowed,
	&family_breadcrumb,
	&family_bloom,
	&family_blocked_bloom,
	&family_ribbon,
	NULL,
};

const struct family *family_find(nidus_family id)
{
	unsigned at = (unsigned)id - 1; /* NIDUS_AUTO is 0 */
	if (at >= FAMILIES)
		return NULL;
	assert(families[at]->id == id);
	return families[at];
}

unsigned family_segment_slots = 4096;
