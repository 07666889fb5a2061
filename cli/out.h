/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_OUT_H
#define NIDUS_CLI_OUT_H

/** @file out.h  Data on stdout: buffered, and no failed write goes unnoticed. */

#include <stdbool.h>
#include <stddef.h>

#include "report.h"

void out_write(const void *data, size_t size);
void out_byte(char byte);
void out_text(const char *text);
void out_format(const char *format, ...) REPORT_PRINTF(1, 2);

/**
 * Shows what is there if a person watches, or `now` because waiting begins: a program that reads
 * it may wait for that very line.
 */
void out_show(bool now);

/** True once a write failed: there is no sense in producing more. */
bool out_failed(void);

/**
 * Writes the rest. Says what failed, if something did, and returns EXIT_FILE;
 * otherwise EXIT_OK. A reader that went away is no news and gets no message.
 */
int out_finish(void);

#endif
