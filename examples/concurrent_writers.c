/* SPDX-License-Identifier: MIT */
/*
 * Several threads share one filter: NIDUS_CONCURRENT in options.features is all it takes.
 *
 * Every thread takes words as they come; exactly one of them gets OK for a new word and owns the
 * work that comes with it. No locks of our own are needed.
 */
#include <nidus.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS 4
#define WORDS 50000

static nidus_filter *seen;
static atomic_uint taken;

/* All threads go through the same words. */
static void *work(void *context)
{
	(void)context;
	for (uint64_t word = 0; word < WORDS; word++)
		if (nidus_insert_new_u64(seen, word) == NIDUS_OK)
			atomic_fetch_add(&taken, 1);
	return NULL;
}

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 1000;
	options.max_capacity = WORDS; /* it grows while all of them work */
	options.fpr = 1.0 / (1 << 24);
	options.features = NIDUS_CONCURRENT;
	if (nidus_create(&options, &seen) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* A word may be taken for another one, at the rate: ten of them never are. */
	printf("each word was taken once: %s\n",
	       taken == nidus_size(seen) && taken > WORDS - 10 && taken <= WORDS ? "yes" : "no");
	nidus_free(seen);
	return 0;
}
