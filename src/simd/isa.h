/* SPDX-License-Identifier: MIT
 *
 * isa: which tier of kernels is in use.
 *
 * Scalar is the definition; every other tier gives the same bytes. A tier is
 * listed here once its kernels exist and are tested against scalar. So far
 * breadcrumb, blocked-bloom, ribbon, hashing and the splits of growing cuckoo filters have an avx2
 * tier; lookups of the cuckoo families compare whole words of slots at a time in plain C (nest/shape.h).
 */
#ifndef NIDUS_SIMD_ISA_H
#define NIDUS_SIMD_ISA_H

#include "nidus.h"

enum isa { ISA_SCALAR, ISA_AVX2 };

/* The tier for filters that are made from now on. */
enum isa isa_tier(void);

const char *isa_name(void);

/* Errors: E_ARG, E_UNSUPPORTED. */
nidus_status isa_set(const char *name);

#endif
