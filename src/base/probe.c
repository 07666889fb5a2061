/* SPDX-License-Identifier: MIT
 *
 * probe: versions of bodies.
 */
#include "base/probe.h"

uint64_t probe_version(void)
{
	static uint64_t last = PROBE_ANY;
	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
