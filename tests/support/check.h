/* SPDX-License-Identifier: MIT
 *
 * check: cmocka, and expectations that say where in a loop they failed.
 *
 * A test that loops over families, widths and sizes names the present one with
 * check_note; every failed expectation prints the note.
 */
#ifndef NIDUS_TESTS_SUPPORT_CHECK_H
#define NIDUS_TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nidus.h"

/* What is being tried; stays until the next note. */
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

void check_failed(const char *what, const char *file, int line) __attribute__((noreturn));
void check_equal(uint64_t a, uint64_t b, const char *a_text, const char *b_text, const char *file,
                 int line);
void check_status(nidus_status got, nidus_status wanted, const char *call, const char *file,
                  int line);

#define expect(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))
#define expect_equal(a, b) check_equal((uint64_t)(a), (uint64_t)(b), #a, #b, __FILE__, __LINE__)
#define expect_status(call, wanted) check_status((call), (wanted), #call, __FILE__, __LINE__)
#define expect_ok(call) expect_status(call, NIDUS_OK)

/* malloc that never answers NULL. */
void *check_alloc(size_t size);

/* Whether the suite runs under a sanitizer or on a slow machine (NIDUS_TEST_SCALE=small). */
bool check_small(void);

#endif
