/* SPDX-License-Identifier: MIT
 *
 * nest_xor_4: NEST_XOR with 4 slots per bucket.
 */
#define NEST_KIND NEST_XOR
#define NEST_L 4
#define NEST_SELECT nest_xor_4
#include "table/nest_widths.h"
