/* SPDX-License-Identifier: MIT
 *
 * nest_windows_2: NEST_WINDOWS with 2 slots per window.
 */
#define NEST_KIND NEST_WINDOWS
#define NEST_L 2
#define NEST_SELECT nest_windows_2
#include "table/nest_widths.h"
