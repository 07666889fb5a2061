/* SPDX-License-Identifier: MIT
 *
 * nest_direct_2: NEST_DIRECT with 2 slots per bucket.
 */
#define NEST_KIND NEST_DIRECT
#define NEST_L 2
#define NEST_SELECT nest_direct_2
#include "table/nest_widths.h"
