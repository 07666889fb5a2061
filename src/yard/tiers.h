/* SPDX-License-Identifier: MIT
 *
 * yard_tiers: where the operations on yards are, one file per tier.
 */
#ifndef NIDUS_YARD_TIERS_H
#define NIDUS_YARD_TIERS_H

#include "yard/yard.h"

/* Instead of a width: remainders of 8 bits in lines of 32 bytes. */
#define YARD_SHORT 108

const struct yard_ops *yard_scalar(unsigned width);
const struct yard_ops *yard_avx2(unsigned width); /* where isa.h says so */

#endif
