/* SPDX-License-Identifier: MIT
 *
 * registry: one line per family.
 */
#include "family/registry.h"

#include "family/family.h"

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
	for (const struct family *const *family = families; *family != NULL; family++) {
		if ((*family)->id == id)
			return *family;
	}
	return NULL;
}

unsigned family_segment_slots = 4096;
