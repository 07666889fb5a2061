/* SPDX-License-Identifier: MIT
 *
 * nest_xor_2: NEST_XOR with 2 slots per bucket.
 */
#define NEST_KIND NEST_XOR
#define NEST_L 2
#define NEST_SELECT nest_xor_2
#include "table/nest_widths.h"
