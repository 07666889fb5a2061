/* SPDX-License-Identifier: MIT
 *
 * claims: whether what a blueprint from outside promises can be kept.
 */
#ifndef NIDUS_API_CLAIMS_H
#define NIDUS_API_CLAIMS_H

#include "family/family.h"

/*
 * Whether this library could have made the plan: it can be laid out, and its table
 * gives the capacity and the rate that it claims. Sizes follow from these when the
 * filter grows or is merged, so a forged one must not get through.
 * Errors: E_FORMAT.
 */
nidus_status claims_check(const struct family *family, const struct blueprint *plan);

#endif
