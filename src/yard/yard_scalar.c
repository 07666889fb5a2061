/* SPDX-License-Identifier: MIT
 *
 * yard_scalar: the definition.
 */
#include "yard/instances.h"

YARD_INSTANCES(scalar)
