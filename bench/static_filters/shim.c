/* SPDX-License-Identifier: MIT */
/* A build of nidus for main.rs, which need not know nidus_options then. */
#include <math.h>
#include <nidus.h>

nidus_filter *bench_build(const char *family, double bits, const uint64_t *keys, size_t n)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter = NULL;
	if (nidus_family_by_name(family, &options.family) != NIDUS_OK)
		return NULL;
	options.fpr = exp2(-bits);
	options.seed = 1;
	return nidus_build_u64(&options, keys, n, 1, &filter) == NIDUS_OK ? filter : NULL;
}
