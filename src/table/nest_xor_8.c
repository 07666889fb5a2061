/* SPDX-License-Identifier: MIT
 *
 * nest_xor_8: NEST_XOR with 8 slots per bucket.
 */
#define NEST_KIND NEST_XOR
#define NEST_L 8
#define NEST_SELECT nest_xor_8
#include "table/nest_widths.h"
