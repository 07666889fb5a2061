/* SPDX-License-Identifier: MIT */
/*
 * Merges the filters of many workers into one.
 *
 * Filters can be merged if they have the same family, seed and shape. So one place chooses the
 * options, with a seed, and all workers use them. Each keeps a filter of its own, without locks,
 * and could as well be another process that sends what nidus_save_buffer writes.
 */
#include <nidus.h>
#include <pthread.h>
#include <stdio.h>

#define WORKERS 4
#define KEYS 25000 /* of each */

struct worker {
	pthread_t thread;
	const nidus_options *options;
	uint64_t first;
	nidus_filter *filter;
};

static void *work(void *context)
{
	struct worker *worker = context;
	if (nidus_create(worker->options, &worker->filter) == NIDUS_OK)
		for (uint64_t key = 0; key < KEYS; key++)
			nidus_insert_u64(worker->filter, worker->first + key);
	return NULL;
}

/* A seed that cannot be guessed: one that the library has drawn. */
static uint64_t random_seed(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_filter *filter;
	options.capacity = 1;
	if (nidus_create(&options, &filter) == NIDUS_OK)
		nidus_get_info(filter, &info);
	nidus_free(filter);
	return info.seed;
}

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = KEYS;
	options.fpr = 0.001;
	options.features = NIDUS_MERGE;
	options.seed = random_seed();

	struct worker workers[WORKERS];
	const nidus_filter *parts[WORKERS];
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .options = &options, .first = (uint64_t)i * KEYS };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		parts[i] = workers[i].filter;
	}

	nidus_filter *all;
	if (nidus_merge_many(parts, WORKERS, NIDUS_MERGE_COPIES, &all) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	uint64_t found = 0;
	for (uint64_t key = 0; key < WORKERS * KEYS; key++)
		found += nidus_contains_u64(all, key);
	printf("%d workers, %llu keys in one filter\n", WORKERS, (unsigned long long)found);
	for (int i = 0; i < WORKERS; i++)
		nidus_free(workers[i].filter);
	nidus_free(all);
	return found == WORKERS * KEYS ? 0 : 1;
}
