/* SPDX-License-Identifier: MIT
 *
 * blocked_instances: the operations on blocks, one file per tier.
 */
#ifndef NIDUS_BLOOM_BLOCKED_INSTANCES_H
#define NIDUS_BLOOM_BLOCKED_INSTANCES_H

#include "base/ops.h"

struct blocked_ops {
	struct body_ops alone, shared;
};

/* For 4, 8 or 16 bits per key; NULL for another number. */
const struct blocked_ops *blocked_scalar(unsigned probes);
const struct blocked_ops *blocked_avx2(unsigned probes); /* where isa.h says so */

#endif
