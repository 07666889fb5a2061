/* SPDX-License-Identifier: MIT
 *
 * folder: a clean temporary folder per test, and small files in it.
 */
#ifndef NIDUS_TESTS_SUPPORT_FOLDER_H
#define NIDUS_TESTS_SUPPORT_FOLDER_H

#include "support/filters.h"

/* For cmocka: makes the folder, and takes it away with all that is in it. */
int folder_setup(void **state);
int folder_teardown(void **state);

/* The path of a name in it. One of eight buffers in turn. */
const char *folder_path(const char *name);

/* How many entries it has. */
unsigned folder_entries(void);

struct bytes folder_read(const char *name);
/* A new file of that name, instead of what had it before. */
void folder_write(const char *name, const void *data, size_t size);

#endif
