/* SPDX-License-Identifier: MIT
 *
 * nest_shared_xor_8: lookups in a shared NEST_XOR with 8 slots per bucket.
 */
#define NEST_KIND NEST_XOR
#define NEST_L 8
#define NEST_SELECT nest_shared_xor_8
#define NEST_NARROW /* rates down to 2^-13 or so */
#define NEST_TEMPLATE "table/nest_shared_look.h"
#include "table/nest_widths.h"
