/* SPDX-License-Identifier: MIT
 *
 * nest_direct_8: NEST_DIRECT with 8 slots per bucket.
 */
#define NEST_KIND NEST_DIRECT
#define NEST_L 8
#define NEST_SELECT nest_direct_8
#include "table/nest_widths.h"
