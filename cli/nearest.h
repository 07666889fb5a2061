/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_NEAREST_H
#define NIDUS_CLI_NEAREST_H

/** @file nearest.h  Finds what a mistyped word was probably meant to be. */

#include <stddef.h>

struct nearest {
	const char *word;
	size_t length; /* of word: it need not end with a NUL there */
	const char *best;
	size_t distance;
};

#define NEAREST_TO(text, size)                                                \
	{                                                                     \
		.word = (text), .length = (size), .best = NULL, .distance = 0 \
	}

/** Looks at one word that would have been right. */
void nearest_offer(struct nearest *nearest, const char *candidate);

/** The best one that was offered, or NULL if none is near. */
const char *nearest_found(const struct nearest *nearest);

#endif
