/* SPDX-License-Identifier: MIT
 *
 * nest_coded_4: NEST_CODED with 4 slots per bucket.
 */
#define NEST_KIND NEST_CODED
#define NEST_L 4
#define NEST_SELECT nest_coded_4
#include "table/nest_widths.h"
