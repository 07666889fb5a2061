/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_NUMBER_H
#define NIDUS_CLI_NUMBER_H

/** @file number.h  Numbers as people write and read them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Room for any text that this file makes. */
#define NUMBER_TEXT 48

/** A whole number from 1 to 2^63 - 1: 1000000, 1e6, 1.5M, 10k, 2G (decimal), 2^20. */
bool number_parse_count(const char *text, uint64_t *count);

/** A rate between 0 and 1, both excluded: 0.001, 1e-3, 0.1%, 2^-8, 1/256. */
bool number_parse_rate(const char *text, double *rate);

/** A seed, 1 or more, decimal or 0x and hexadecimal. */
bool number_parse_seed(const char *text, uint64_t *seed);

/**
 * A 64-bit key: digits, `length` bytes of them, 0 to 2^64 - 1, or a minus and at most 2^63, which is
 * taken modulo 2^64. Nothing else, blanks neither.
 */
bool number_parse_key(const char *text, size_t length, uint64_t *key);

/** "950", "12.3k", "4.56M". */
void number_text_count(uint64_t count, char text[NUMBER_TEXT]);

/** "950 B", "12.3 KiB", "4.56 MiB". */
void number_text_bytes(uint64_t bytes, char text[NUMBER_TEXT]);

/** The shortest decimal text that reads back as the same number. */
void number_text_exact(double number, char text[NUMBER_TEXT]);

#endif
