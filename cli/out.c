/* SPDX-License-Identifier: MIT */
/* A buffer in front of stdout that remembers the first error. */

#define _POSIX_C_SOURCE 200809L

#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char buffer[1 << 16];
static size_t used;
static int failure;

static void push(const char *data, size_t size)
{
	while (size > 0 && failure == 0) {
		ssize_t written = write(STDOUT_FILENO, data, size);

		if (written < 0) {
			if (errno != EINTR)
				failure = errno;
			continue;
		}
		data += written;
		size -= (size_t)written;
	}
}

static void flush(void)
{
	push(buffer, used);
	used = 0;
}

void out_write(const void *data, size_t size)
{
	if (size > sizeof(buffer) - used)
		flush();
	if (size > sizeof(buffer)) {
		push(data, size);
		return;
	}
	memcpy(buffer + used, data, size);
	used += size;
}

void out_byte(char byte)
{
	if (used == sizeof(buffer))
		flush();
	buffer[used++] = byte;
}

void out_text(const char *text)
{
	out_write(text, strlen(text));
}

void out_format(const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length > 0)
		out_write(text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

void out_show(bool now)
{
	static int terminal = -1;

	if (terminal < 0)
		terminal = isatty(STDOUT_FILENO);
	if (terminal || now)
		flush();
}

bool out_failed(void)
{
	return failure != 0;
}

int out_finish(void)
{
	flush();
	if (failure == 0)
		return EXIT_OK;
	if (failure != EPIPE)
		report_system("standard output", failure);
	return EXIT_FILE;
}
