/* SPDX-License-Identifier: MIT */
/* The one table of feature names. */

#include "features.h"

#include <stdio.h>

#include "nidus.h"

const struct feature feature_list[FEATURES] = {
	{ NIDUS_DELETE, 'D', "delete" },         { NIDUS_ENUMERATE, 'E', "enumerate" },
	{ NIDUS_MERGE, 'M', "merge" },           { NIDUS_GROW, 'G', "grow" },
	{ NIDUS_CONCURRENT, 'C', "concurrent" }, { NIDUS_FAST, 0, "fast" },
	{ NIDUS_MULTISET, 'K', "multiset" },
};

void feature_letters(uint32_t features, char letters[FEATURES + 1])
{
	for (size_t i = 0; i < FEATURES; i++) {
		if (feature_list[i].letter)
			*letters++ = features & feature_list[i].bit ? feature_list[i].letter : '-';
	}
	*letters = '\0';
}

void feature_names(uint32_t features, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < FEATURES; i++) {
		if (!(features & feature_list[i].bit) || used >= size)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
		                         feature_list[i].name);
	}
	if (features & NIDUS_COMPACT && used < size)
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
		                         COMPACT_NAME);
	if (features & NIDUS_STATIC && used < size)
		snprintf(text + used, size - used, "%s%s", used ? ", " : "", STATIC_NAME);
}
