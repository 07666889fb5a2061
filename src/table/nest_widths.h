/* SPDX-License-Identifier: MIT
 *
 * nest_widths: nest_ops.h, or another template, for every width that is worth its code.
 *
 * A template: no include guard. Whoever includes it defines NEST_KIND, NEST_L,
 * NEST_SELECT (a name) and, unless they are nest_ops.h and struct body_ops, NEST_TEMPLATE
 * (a header) and NEST_OPS (what it makes), and gets
 *
 *     const NEST_OPS *NEST_SELECT(unsigned width);
 *
 * Widths 6 to 32 are those of filters with a fixed size at every rate that the
 * options accept. The others, which growth bits make, share one instance that
 * reads the width from the nest. With NEST_NARROW defined those above 17 do, too.
 * With NIDUS_FEW_WIDTHS, which sanitized builds define, all but 8, 12 and 13 do: the
 * sanitizers then see the same arithmetic in a third of the compiler's time.
 */
#include "simd/select.h"
#include "table/nest.h"
#include "table/nest_instances.h"
#include "table/search.h"

#ifndef NEST_TEMPLATE
#define NEST_TEMPLATE "table/nest_ops.h"
#define NEST_OPS struct body_ops
#endif

#define NEST_AHEAD 16 /* keys on their way: enough to hide memory's latency, */
#define NEST_NEAR 16  /* or that of a cache and of what comes before a load */

#ifndef NIDUS_FEW_WIDTHS
#define NEST_W 6
#define NEST_ID(name) name##_6
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 7
#define NEST_ID(name) name##_7
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#endif
#define NEST_W 8
#define NEST_ID(name) name##_8
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#ifndef NIDUS_FEW_WIDTHS
#define NEST_W 9
#define NEST_ID(name) name##_9
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 10
#define NEST_ID(name) name##_10
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 11
#define NEST_ID(name) name##_11
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#endif
#define NEST_W 12
#define NEST_ID(name) name##_12
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 13
#define NEST_ID(name) name##_13
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#ifndef NIDUS_FEW_WIDTHS
#define NEST_W 14
#define NEST_ID(name) name##_14
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 15
#define NEST_ID(name) name##_15
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 16
#define NEST_ID(name) name##_16
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 17
#define NEST_ID(name) name##_17
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#ifndef NEST_NARROW
#define NEST_W 18
#define NEST_ID(name) name##_18
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 19
#define NEST_ID(name) name##_19
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 20
#define NEST_ID(name) name##_20
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 21
#define NEST_ID(name) name##_21
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 22
#define NEST_ID(name) name##_22
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 23
#define NEST_ID(name) name##_23
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 24
#define NEST_ID(name) name##_24
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 25
#define NEST_ID(name) name##_25
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 26
#define NEST_ID(name) name##_26
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 27
#define NEST_ID(name) name##_27
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 28
#define NEST_ID(name) name##_28
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 29
#define NEST_ID(name) name##_29
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 30
#define NEST_ID(name) name##_30
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 31
#define NEST_ID(name) name##_31
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#define NEST_W 32
#define NEST_ID(name) name##_32
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

#endif
#endif
#define NEST_W nest->width
#define NEST_ID(name) name##_any
#include NEST_TEMPLATE
#undef NEST_W
#undef NEST_ID

const NEST_OPS *NEST_SELECT(unsigned width)
{
	switch (width) {
#ifndef NIDUS_FEW_WIDTHS
	case 6:
		return &ops_6;
	case 7:
		return &ops_7;
#endif
	case 8:
		return &ops_8;
#ifndef NIDUS_FEW_WIDTHS
	case 9:
		return &ops_9;
	case 10:
		return &ops_10;
	case 11:
		return &ops_11;
#endif
	case 12:
		return &ops_12;
	case 13:
		return &ops_13;
#ifndef NIDUS_FEW_WIDTHS
	case 14:
		return &ops_14;
	case 15:
		return &ops_15;
	case 16:
		return &ops_16;
	case 17:
		return &ops_17;
#ifndef NEST_NARROW
	case 18:
		return &ops_18;
	case 19:
		return &ops_19;
	case 20:
		return &ops_20;
	case 21:
		return &ops_21;
	case 22:
		return &ops_22;
	case 23:
		return &ops_23;
	case 24:
		return &ops_24;
	case 25:
		return &ops_25;
	case 26:
		return &ops_26;
	case 27:
		return &ops_27;
	case 28:
		return &ops_28;
	case 29:
		return &ops_29;
	case 30:
		return &ops_30;
	case 31:
		return &ops_31;
	case 32:
		return &ops_32;
#endif
#endif
	default:
		return &ops_any;
	}
}
