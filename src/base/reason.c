/* SPDX-License-Identifier: MIT
 *
 * reason: one buffer per thread.
 */
#include "base/reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[REASON_SIZE];

nidus_status fail(nidus_status status, const char *format, ...)
{
	int kept = errno;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	errno = kept;
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
