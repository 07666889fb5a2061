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

void outcome_keep(struct outcome *outcome, nidus_status status)
{
	outcome->status = status;
	snprintf(outcome->reason, sizeof outcome->reason, "%s", status == NIDUS_OK ? "" : text);
}

nidus_status outcome_tell(const struct outcome *outcomes, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (outcomes[i].status != NIDUS_OK)
			return fail(outcomes[i].status, "%s", outcomes[i].reason);
	}
	return NIDUS_OK;
}
