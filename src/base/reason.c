/* SPDX-License-Identifier: MIT
 *
 * reason: one buffer per thread.
 */
#include "base/reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[REASON_SIZE], aside[REASON_SIZE];
static _Thread_local unsigned keeping_aside;

nidus_status fail(nidus_status status, const char *format, ...)
{
	int kept = errno;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(keeping_aside > 0 ? aside : text, REASON_SIZE, format, arguments);
	va_end(arguments);
	errno = kept;
	return status;
}

void reason_set_aside(void)
{
	if (keeping_aside++ == 0)
		aside[0] = '\0';
}

nidus_status reason_decide(nidus_status status)
{
	if (--keeping_aside == 0 && status != NIDUS_OK && aside[0] != '\0')
		memcpy(text, aside, sizeof text);
	return status;
}

const char *reason_text(void)
{
	return text;
}

void reason_copy(char *to, size_t size)
{
	size_t length = strnlen(text, size - 1);
	memcpy(to, text, length);
	to[length] = '\0';
}

void outcome_keep(struct outcome *outcome, unsigned share, nidus_status status)
{
	if (status == NIDUS_OK)
		return;
	pthread_mutex_lock(&outcome->turn);
	if (outcome->status == NIDUS_OK || share < outcome->share) {
		outcome->status = status;
		outcome->share = share;
		memcpy(outcome->reason, text, sizeof text);
	}
	pthread_mutex_unlock(&outcome->turn);
}

nidus_status outcome_tell(const struct outcome *outcome)
{
	if (outcome->status == NIDUS_OK)
		return NIDUS_OK;
	return fail(outcome->status, "%s", outcome->reason);
}
