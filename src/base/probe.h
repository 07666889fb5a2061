/* SPDX-License-Identifier: MIT
 *
 * probe: a lookup in two steps, and what the first leaves for the second.
 *
 * A probe has the hash, numbers that say where in a body to look, and the version of that body. A
 * body gets a version when it is laid out, one that no other body ever had, and keeps its layout
 * as long as it lives: filters grow, are packed or merged by making others. So numbers of a probe
 * hold good for exactly the bodies that have its version; any other one is asked by the hash.
 */
#ifndef NIDUS_BASE_PROBE_H
#define NIDUS_BASE_PROBE_H

#include "base/bits.h"
#include "nidus.h"

#define PROBE_ANY 0 /* the version of no body: a probe that has a hash alone */

/* A version for a new body. */
uint64_t probe_version(void);

/* A probe with a hash alone. */
static inline void probe_by_hash(nidus_probe *probe, uint64_t hash)
{
	probe->hash = hash;
	probe->version = PROBE_ANY;
}

#endif
