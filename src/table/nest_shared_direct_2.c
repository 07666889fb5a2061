/* SPDX-License-Identifier: MIT
 *
 * nest_shared_direct_2: lookups in a shared NEST_DIRECT with 2 slots per bucket.
 */
#define NEST_KIND NEST_DIRECT
#define NEST_L 2
#define NEST_SELECT nest_shared_direct_2
#define NEST_TEMPLATE "table/nest_shared_look.h"
#include "table/nest_widths.h"
