/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_FEATURES_H
#define NIDUS_CLI_FEATURES_H

/** @file features.h  The features of a family: their names and letters. */

#include <stddef.h>
#include <stdint.h>

struct feature {
	uint32_t bit;
	char letter;      /* in the table of nidus plan; 0: a wish, which no family lacks */
	const char *name; /* in nidus info, in JSON, and as --name of nidus plan */
};

/* Of a filter alone, no family's: it was made so. */
#define COMPACT_NAME "compact"
#define STATIC_NAME "static"

#define FEATURES ((size_t)7)
extern const struct feature feature_list[FEATURES];

/** "DEMG--": one letter per feature, '-' for those that are missing. */
void feature_letters(uint32_t features, char letters[FEATURES + 1]);

/** "delete, enumerate, merge". */
void feature_names(uint32_t features, char *text, size_t size);

#endif
