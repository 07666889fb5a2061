/* SPDX-License-Identifier: MIT
 *
 * effort: three numbers per thread.
 */
#include "base/effort.h"

static _Thread_local struct effort effort;

struct effort *effort_of_thread(void)
{
	return &effort;
}
