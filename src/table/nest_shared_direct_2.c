/* SPDX-License-Identifier: MIT
 *
 * nest_shared_direct_2: hot operations of a shared NEST_DIRECT with 2 slots per bucket.
 */
#define NEST_KIND NEST_DIRECT
#define NEST_L 2
#define NEST_SELECT nest_shared_direct_2
#define NEST_NARROW /* rates down to 2^-13 or so */
#define NEST_TEMPLATE "table/nest_shared_hot.h"
#define NEST_OPS struct nest_shared_hot
#include "table/nest_widths.h"
