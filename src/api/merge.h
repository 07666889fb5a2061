/* SPDX-License-Identifier: MIT
 *
 * merge: what else than merges needs to know of filters that fit together.
 */
#ifndef NIDUS_API_MERGE_H
#define NIDUS_API_MERGE_H

#include "base/blueprint.h"
#include "nidus.h"

/* Whether two filters could hold each other's entries. Errors: E_MISMATCH. */
nidus_status merge_check_match(const struct blueprint *a, const struct blueprint *b);

#endif
