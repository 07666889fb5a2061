/* SPDX-License-Identifier: MIT
 *
 * nest_buckets_4: NEST_BUCKETS with 4 slots per bucket.
 */
#define NEST_KIND NEST_BUCKETS
#define NEST_L 4
#define NEST_SELECT nest_buckets_4
#include "table/nest_widths.h"
