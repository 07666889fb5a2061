/* SPDX-License-Identifier: MIT
 *
 * yard_widths: ops.h for every width of remainders.
 *
 * A template: no include guard. The including file defines YARD_SELECT (a
 * name) and gets
 *
 *     const struct yard_ops *YARD_SELECT(unsigned width);
 *
 * The shapes fill a line of 512 bits: sizes and remainders in front
 * (mini-buckets + 9, 13, 17 or 25 bits per slot), and 4 bits of crumb more per
 * slot in the backyard. One shape fills half a line, for speed.
 *
 *      width   mini-buckets   front slots   backyard slots
 *          8             53            51               35
 *         12             44            36               27
 *         16             36            28               22
 *         24             37            19               16
 *    8 short             31            25               17    (32 bytes)
 */
#include "base/reason.h"
#include "base/slots.h"
#include "yard/instances.h"
#include "yard/shared.h"
#include "yard/yard.h"

#define YARD_INSERTS 32 /* keys whose backyard lines are fetched together */
#define YARD_REMOVES 16
#define YARD_AHEAD 32 /* keys between the fetch of a line and the look at it */
#define YARD_BLOCK 64 /* lookups between a visit to the backyard and the next */
#define YARD_SPREAD_BITS 2
#define YARD_SPREAD (1 << YARD_SPREAD_BITS) /* buckets that one is shared out to at once */
#define YARD_MOST (3 * MINI_SLOTS_MOST)     /* entries of a front bucket, and an end */
#ifndef YARD_TOUCH
#define YARD_TOUCH(line) ((void)(line))
#endif

#define YARD_FRONT ((struct mini_shape)YARD_FRONT_INIT)
#define YARD_BACK ((struct mini_shape)YARD_BACK_INIT)

#define YARD_FRONT_INIT                                                 \
	{                                                               \
		.buckets = 53, .slots = 51, .width = 8, .crumbs = false \
	}
#define YARD_BACK_INIT                                                 \
	{                                                              \
		.buckets = 53, .slots = 35, .width = 8, .crumbs = true \
	}
#define YARD_ID(name) name##_8
#include "yard/ops.h"
#undef YARD_FRONT_INIT
#undef YARD_BACK_INIT
#undef YARD_ID

#define YARD_FRONT_INIT                                                  \
	{                                                                \
		.buckets = 44, .slots = 36, .width = 12, .crumbs = false \
	}
#define YARD_BACK_INIT                                                  \
	{                                                               \
		.buckets = 44, .slots = 27, .width = 12, .crumbs = true \
	}
#define YARD_ID(name) name##_12
#include "yard/ops.h"
#undef YARD_FRONT_INIT
#undef YARD_BACK_INIT
#undef YARD_ID

#define YARD_FRONT_INIT                                                  \
	{                                                                \
		.buckets = 36, .slots = 28, .width = 16, .crumbs = false \
	}
#define YARD_BACK_INIT                                                  \
	{                                                               \
		.buckets = 36, .slots = 22, .width = 16, .crumbs = true \
	}
#define YARD_ID(name) name##_16
#include "yard/ops.h"
#undef YARD_FRONT_INIT
#undef YARD_BACK_INIT
#undef YARD_ID

#define YARD_FRONT_INIT                                                  \
	{                                                                \
		.buckets = 37, .slots = 19, .width = 24, .crumbs = false \
	}
#define YARD_BACK_INIT                                                  \
	{                                                               \
		.buckets = 37, .slots = 16, .width = 24, .crumbs = true \
	}
#define YARD_ID(name) name##_24
#include "yard/ops.h"
#undef YARD_FRONT_INIT
#undef YARD_BACK_INIT
#undef YARD_ID

#define YARD_FRONT_INIT                                                               \
	{                                                                             \
		.buckets = 31, .slots = 25, .width = 8, .crumbs = false, .half = true \
	}
#define YARD_BACK_INIT                                                               \
	{                                                                            \
		.buckets = 31, .slots = 17, .width = 8, .crumbs = true, .half = true \
	}
#define YARD_ID(name) name##_short
#include "yard/ops.h"
#undef YARD_FRONT_INIT
#undef YARD_BACK_INIT
#undef YARD_ID

const struct yard_ops *YARD_SELECT(unsigned width)
{
	switch (width) {
	case YARD_SHORT:
		return &ops_short;
	case 8:
		return &ops_8;
	case 12:
		return &ops_12;
	case 16:
		return &ops_16;
	case 24:
		return &ops_24;
	default:
		return NULL;
	}
}
