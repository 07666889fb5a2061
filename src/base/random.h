/* SPDX-License-Identifier: MIT
 *
 * random: seeds that cannot be guessed.
 */
#ifndef NIDUS_BASE_RANDOM_H
#define NIDUS_BASE_RANDOM_H

#include "nidus.h"

/* A seed from the system's randomness, never 0. Errors: E_IO. */
nidus_status random_seed(uint64_t *seed);

#endif
