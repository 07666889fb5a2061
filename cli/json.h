/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_JSON_H
#define NIDUS_CLI_JSON_H

/** @file json.h  JSON on stdout, one value after the other; commas come by themselves. */

#include <stdbool.h>
#include <stdint.h>

/*
 * `name` is the member's name inside an object, NULL inside an array and at the
 * top. A value at the top ends with a newline.
 */
void json_open(const char *name, char bracket);
void json_close(char bracket);
void json_text(const char *name, const char *text);
void json_count(const char *name, uint64_t number);
void json_real(const char *name, double number);
void json_bool(const char *name, bool value);
void json_null(const char *name);

/** 64 bits as "0x..." text: most JSON readers keep only 53 bits of a number. */
void json_bits(const char *name, uint64_t bits);

/** The names of a set of NIDUS_DELETE and its like, as an array. */
void json_features(const char *name, uint32_t features);

#endif
