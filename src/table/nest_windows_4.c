/* SPDX-License-Identifier: MIT
 *
 * nest_windows_4: NEST_WINDOWS with 4 slots per window.
 */
#define NEST_KIND NEST_WINDOWS
#define NEST_L 4
#define NEST_SELECT nest_windows_4
#include "table/nest_widths.h"
