/* SPDX-License-Identifier: MIT
 *
 * yard_scalar: the definition.
 */
#define YARD_SELECT yard_scalar
#include "table/yard_widths.h"
