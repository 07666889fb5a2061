/* SPDX-License-Identifier: MIT
 *
 * nest_direct_4: NEST_DIRECT with 4 slots per bucket.
 */
#define NEST_KIND NEST_DIRECT
#define NEST_L 4
#define NEST_SELECT nest_direct_4
#include "table/nest_widths.h"
