/* SPDX-License-Identifier: MIT
 *
 * random: asks the system.
 */
#include "base/random.h"

#include "base/os.h"
#include "base/reason.h"

nidus_status random_seed(uint64_t *seed)
{
	do {
		if (os.random(seed, sizeof *seed) != 0)
			return fail(NIDUS_E_IO,
			            "the system gives no random bytes; set options.seed");
	} while (*seed == 0);
	return NIDUS_OK;
}
