/* SPDX-License-Identifier: MIT
 *
 * breadcrumb_ranges: breadcrumb filters with memory for their backyard and some front lines.
 */
#ifndef NIDUS_FAMILY_BREADCRUMB_RANGES_H
#define NIDUS_FAMILY_BREADCRUMB_RANGES_H

#include "base/ranges.h"

extern const struct ranges_ops breadcrumb_ranges;

#endif
