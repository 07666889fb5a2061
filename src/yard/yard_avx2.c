/* SPDX-License-Identifier: MIT
 *
 * yard_avx2: for x86-64 with AVX2 and BMI2; compiled with those switched on and
 * called only where the processor has them.
 */
#if defined(__AVX2__) && defined(__BMI2__)

#include "yard/instances.h"

YARD_INSTANCES(avx2)

#else
typedef int nidus_yard_avx2_is_for_other_processors;
#endif
