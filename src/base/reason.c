/* SPDX-License-Identifier: MIT
 *
 * reason: one buffer per thread.
 */
#include "base/reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[256];

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
