/* SPDX-License-Identifier: MIT
 *
 * isa: the choice of a tier, once: by NIDUS_ISA, or by what the processor has.
 */
#include "simd/isa.h"

#include "base/reason.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { [ISA_SCALAR] = "scalar", [ISA_AVX2] = "avx2" };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int chosen = ISA_SCALAR;

static bool has_avx2(void)
{
#ifdef NIDUS_HAVE_AVX2
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
#else
	return false;
#endif
}

static void choose(void)
{
	const char *wish = getenv("NIDUS_ISA");
	bool scalar = wish != NULL && strcmp(wish, names[ISA_SCALAR]) == 0;
	atomic_store(&chosen, has_avx2() && !scalar ? ISA_AVX2 : ISA_SCALAR);
}

enum isa isa_tier(void)
{
	(void)pthread_once(&once, choose);
	return (enum isa)atomic_load(&chosen);
}

const char *isa_name(void)
{
	return names[isa_tier()];
}

nidus_status isa_set(const char *name)
{
	(void)pthread_once(&once, choose);
	if (strcmp(name, names[ISA_SCALAR]) == 0) {
		atomic_store(&chosen, ISA_SCALAR);
		return NIDUS_OK;
	}
	if (strcmp(name, names[ISA_AVX2]) == 0 && has_avx2()) {
		atomic_store(&chosen, ISA_AVX2);
		return NIDUS_OK;
	}
	if (strcmp(name, names[ISA_AVX2]) == 0)
		return fail(NIDUS_E_UNSUPPORTED, "this processor or build has no %s kernels", name);
	return fail(NIDUS_E_ARG, "no instruction set is called %.40s: try scalar or avx2", name);
}
