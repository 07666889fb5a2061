/* SPDX-License-Identifier: MIT
 *
 * nest_windows: nests of windows.
 */
#include "nest/instances.h"

NEST_INSTANCES(windows_2_paired, NEST_WINDOWS, 2, NEST_PAIRED)
NEST_INSTANCES(windows_2_one, NEST_WINDOWS, 2, NEST_ONE)
NEST_INSTANCES(windows_4_one, NEST_WINDOWS, 4, NEST_ONE)
NEST_INSTANCES(windows_4_whole, NEST_WINDOWS, 4, NEST_WHOLE)
NEST_INSTANCES(windows_4_two, NEST_WINDOWS, 4, NEST_TWO)

const struct body_ops *nest_ops_windows(const struct nest *nest)
{
	switch (nest->layout->slots * 8 + nest->layout->in_words) {
	case 2 * 8 + NEST_PAIRED:
		return NEST_OPS_OF(nest, windows_2_paired);
	case 2 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, windows_2_one);
	case 4 * 8 + NEST_ONE:
		return NEST_OPS_OF(nest, windows_4_one);
	case 4 * 8 + NEST_WHOLE:
		return NEST_OPS_OF(nest, windows_4_whole);
	case 4 * 8 + NEST_TWO:
		return NEST_OPS_OF(nest, windows_4_two);
	default:
		return nest_ops_any(nest);
	}
}
