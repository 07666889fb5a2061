/* SPDX-License-Identifier: MIT
 *
 * yard_scalar: the definition.
 */
#define YARD_SELECT yard_scalar
#include "yard/widths.h"
