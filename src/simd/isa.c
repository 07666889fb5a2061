/* SPDX-License-Identifier: MIT
 *
 * isa: the choice of a tier.
 */
#include "simd/isa.h"

#include "base/reason.h"

#include <string.h>

static const char *const known[] = {"scalar", "avx2", "neon"};

const char *isa_name(void)
{
	return known[0];
}

nidus_status isa_set(const char *name)
{
	if (strcmp(name, known[0]) == 0)
		return NIDUS_OK;
	for (size_t i = 1; i < sizeof known / sizeof *known; i++) {
		if (strcmp(name, known[i]) == 0)
			return fail(NIDUS_E_UNSUPPORTED, "this version has no kernels for %s", name);
	}
	return fail(NIDUS_E_ARG, "no instruction set is called %.40s: try scalar, avx2 or neon", name);
}
