/* SPDX-License-Identifier: MIT */
/* A radix sort by the upper half of the hashes: what is equal there is on the same page anyway. */

#include "sorted.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "report.h"

#define MEMORY_MOST ((uint64_t)1 << 30) /* for the keys, whatever memory there is */
#define MEMORY_UNKNOWN ((uint64_t)256 << 20)
#define TEXT_SHARE 4 /* of it, for their bytes */

#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)
#define PASSES 3

/* Where a key is in a set, and which one it is. */
struct place {
	uint64_t hash;
	size_t key;
};

/* A quarter of memory is left for everything else that wants to be in it. */
bool sorted_is_worth_it(const char *path)
{
	uint64_t memory = memory_there_is();
	struct stat status;

	return memory > 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size > memory / 4 * 3;
}

int sorted_begin(struct sorted *sorted, size_t sets, bool text)
{
	uint64_t memory = memory_there_is() / 2;
	size_t each = 2 * sizeof(*sorted->at) + sets * (sizeof(*sorted->hash) + 1);

	if (memory == 0)
		memory = MEMORY_UNKNOWN;
	memory = memory < MEMORY_MOST ? memory : MEMORY_MOST;
	*sorted = (struct sorted){ .sets = sets, .text = text };
	if (text) {
		sorted->bytes_most = (size_t)(memory / TEXT_SHARE);
		memory -= sorted->bytes_most;
		each += sizeof(*sorted->end);
	}
	sorted->most = (size_t)(memory / each);
	if (sorted->most < KEYS_BATCH)
		sorted->most = KEYS_BATCH;
	sorted->hash = calloc(sorted->most * sets, sizeof(*sorted->hash));
	sorted->yes = calloc(sorted->most * sets, sizeof(*sorted->yes));
	sorted->at = calloc(2 * sorted->most, sizeof(*sorted->at));
	sorted->end = text ? calloc(sorted->most, sizeof(*sorted->end)) : NULL;
	if (!sorted->hash || !sorted->yes || !sorted->at || (text && !sorted->end))
		return report_memory("sorting keys by their places");
	return EXIT_OK;
}

void sorted_end(struct sorted *sorted)
{
	free(sorted->bytes);
	free(sorted->end);
	free(sorted->hash);
	free(sorted->yes);
	free(sorted->at);
	*sorted = (struct sorted){ 0 };
}

bool sorted_has_room(const struct sorted *sorted)
{
	return sorted->most - sorted->n >= KEYS_BATCH &&
	       (!sorted->text || sorted->used < sorted->bytes_most);
}

/* A batch of very long keys may need more room than is usual. */
static int keep_text(struct sorted *sorted, const struct keys *keys, size_t n)
{
	size_t more = 0, size = sorted->size;
	char *larger;

	for (size_t i = 0; i < n; i++)
		more += keys->length[i];
	while (size - sorted->used < more)
		size = 2 * size + KEYS_BATCH;
	larger = size > sorted->size ? realloc(sorted->bytes, size) : sorted->bytes;
	if (!larger && size > 0)
		return report_memory("keeping keys until they are looked up");
	sorted->bytes = larger;
	sorted->size = size;
	for (size_t i = 0; i < n; i++) {
		if (keys->length[i] > 0)
			memcpy(sorted->bytes + sorted->used, keys->key[i], keys->length[i]);
		sorted->used += keys->length[i];
		sorted->end[sorted->n + i] = sorted->used;
	}
	return EXIT_OK;
}

int sorted_keep(struct sorted *sorted, const struct keys *keys, size_t n,
                nidus_filter *const *filter)
{
	int code = sorted->text ? keep_text(sorted, keys, n) : EXIT_OK;

	if (code != EXIT_OK)
		return code;
	for (size_t set = 0; set < sorted->sets; set++)
		keys_hash(keys, filter[set], n, sorted->hash + set * sorted->most + sorted->n);
	sorted->n += n;
	return EXIT_OK;
}

static void sort_by(const struct place *from, struct place *to, size_t n, unsigned shift)
{
	size_t next[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		next[from[i].hash >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = next[digit];

		next[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[next[from[i].hash >> shift & (DIGITS - 1)]++] = from[i];
}

/* The places in order: in the second half of the array, after an odd number of passes. */
static const struct place *sort_places(struct sorted *sorted)
{
	struct place *from = sorted->at, *to = sorted->at + sorted->most;

	for (unsigned pass = 0; pass < PASSES; pass++) {
		struct place *other = from;

		sort_by(from, to, sorted->n, 64 - (PASSES - pass) * DIGIT_BITS);
		from = to;
		to = other;
	}
	return from;
}

uint64_t sorted_ask(struct sorted *sorted, size_t set, const nidus_filter *filter)
{
	const uint64_t *hash = sorted->hash + set * sorted->most;
	uint8_t *yes = sorted->yes + set * sorted->most, answer[KEYS_BATCH];
	uint64_t batch[KEYS_BATCH], found = 0;
	const struct place *at;

	for (size_t i = 0; i < sorted->n; i++)
		sorted->at[i] = (struct place){ hash[i], i };
	at = sort_places(sorted);
	for (size_t from = 0; from < sorted->n; from += KEYS_BATCH) {
		size_t n = sorted->n - from < KEYS_BATCH ? sorted->n - from : KEYS_BATCH;

		for (size_t i = 0; i < n; i++)
			batch[i] = at[from + i].hash;
		nidus_contains_batch(filter, batch, n, answer);
		for (size_t i = 0; i < n; i++) {
			yes[at[from + i].key] = answer[i];
			found += answer[i];
		}
	}
	return found;
}

const char *sorted_key(const struct sorted *sorted, size_t i, size_t *length)
{
	size_t start = i > 0 ? sorted->end[i - 1] : 0;

	*length = sorted->end[i] - start;
	return *length > 0 ? sorted->bytes + start : "";
}

void sorted_forget(struct sorted *sorted)
{
	sorted->n = sorted->used = 0;
}
