/* SPDX-License-Identifier: MIT
 *
 * yard_tiers: where the operations on yards are, one file per tier.
 */
#ifndef NIDUS_YARD_TIERS_H
#define NIDUS_YARD_TIERS_H

#include "yard/yard.h"

/* For lines with so many slots in front; NULL if there are none. */
const struct yard_ops *yard_scalar(unsigned slots);
const struct yard_ops *yard_avx2(unsigned slots); /* where isa.h says so */

#endif
