/* SPDX-License-Identifier: MIT
 *
 * isa: which tier of kernels is in use.
 *
 * Scalar is the definition. A tier is listed here once its kernels exist and
 * are tested against it; so far every kernel is scalar (and works on whole
 * words of slots at a time, see table/nest_ops.h).
 */
#ifndef NIDUS_SIMD_ISA_H
#define NIDUS_SIMD_ISA_H

#include "nidus.h"

const char *isa_name(void);

/* Errors: E_ARG, E_UNSUPPORTED. */
nidus_status isa_set(const char *name);

#endif
