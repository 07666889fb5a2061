/* SPDX-License-Identifier: MIT
 *
 * nest_buckets_2: NEST_BUCKETS with 2 slots per bucket.
 */
#define NEST_KIND NEST_BUCKETS
#define NEST_L 2
#define NEST_SELECT nest_buckets_2
#include "table/nest_widths.h"
