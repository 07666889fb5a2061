/* SPDX-License-Identifier: MIT */
/* What fits into a set for certain. */

#include "room.h"

#include <inttypes.h>

#include "report.h"

static nidus_info info_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(filter, &info);
	return info;
}

uint64_t room_of(const nidus_info *info)
{
	return info->max_capacity > info->capacity ? info->max_capacity : info->capacity;
}

uint64_t room_in(const nidus_filter *filter)
{
	nidus_info info = info_of(filter);

	if (!(info.features & NIDUS_ENUMERATE)) /* bits and no entries: never full */
		return UINT64_MAX;
	return room_of(&info);
}

uint64_t room_used(const nidus_filter *filter)
{
	nidus_info info = info_of(filter);

	return info.count - info.stashed;
}

uint64_t room_left(const nidus_filter *filter)
{
	uint64_t room = room_in(filter), size = room_used(filter);

	return size < room ? room - size : 0;
}

void room_warn(const char *name, const nidus_filter *filter)
{
	nidus_info info = info_of(filter);

	if (info.count - info.stashed <= info.capacity || info.fpr_now < 1.005 * info.fpr_target)
		return;
	report_warning("%s%s%" PRIu64 " keys are more than the capacity of %" PRIu64
	               ": the fpr is now %.3g instead of %.3g",
	               name ? name : "", name ? ": " : "", info.count, info.capacity, info.fpr_now,
	               info.fpr_target);
}
