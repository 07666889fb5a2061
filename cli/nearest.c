/* SPDX-License-Identifier: MIT */
/* Edit distance between short words. */

#include "nearest.h"

#include <string.h>

/* Longer words are no typing mistake of anything that we have. */
#define LONGEST 32

static size_t least(size_t a, size_t b, size_t c)
{
	size_t smaller = a < b ? a : b;

	return smaller < c ? smaller : c;
}

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[LONGEST + 1];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t above = row[j];

			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_length];
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
	size_t length = strlen(candidate);
	size_t distance;

	if (nearest->length > LONGEST || length > LONGEST)
		return;
	/* A beginning ("--multi") is as good as one mistake. */
	if (nearest->length >= 2 && strncmp(nearest->word, candidate, nearest->length) == 0)
		distance = 1;
	else
		distance = edit_distance(nearest->word, nearest->length, candidate, length);
	if (!nearest->best || distance < nearest->distance) {
		nearest->best = candidate;
		nearest->distance = distance;
	}
}

const char *nearest_found(const struct nearest *nearest)
{
	return nearest->best && nearest->distance <= 1 + nearest->length / 4 ? nearest->best : NULL;
}
