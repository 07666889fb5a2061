/* SPDX-License-Identifier: MIT
 *
 * builder: what a nidus_builder is.
 *
 * Keys are hashed as they come, and the hashes kept in a spill (base/spill.h): in memory, or in a
 * temporary file. When all have come, a filter is put together from them range by range
 * (api/assembly.h). Its bytes are those that nidus_build_hashes gives with the same options.
 */
#ifndef NIDUS_API_BUILDER_H
#define NIDUS_API_BUILDER_H

#include "api/assembly.h"

struct nidus_builder {
	nidus_options options; /* checked; the seed is one */
	bool counts;           /* no capacity was given: keys are counted first */
	bool hashes;           /* a seed was given, so that callers can know hashes */
	uint64_t seed;
	struct hash_key key;
	struct workshop workshop;
	struct spill spill;
	uint64_t written, read; /* bytes of temporary files, of spills that are gone */
	struct block memory;    /* this very struct, and the folder's name */
};

#endif
