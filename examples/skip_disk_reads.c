/* SPDX-License-Identifier: MIT */
/*
 * Skips disk reads: a filter in memory in front of a store on disk.
 *
 * The store is a file of sorted records, searched by halves, so that each lookup costs some
 * twenty reads. The filter says for most absent keys that they are not there, and then nothing
 * is read at all. The keys that are there cost what they cost without it.
 */
#define _XOPEN_SOURCE 700

#include <nidus.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDS 100000

struct store {
	int file;
	nidus_filter *filter;
	uint64_t reads;
};

static uint64_t read_record(struct store *store, uint64_t i)
{
	uint64_t key = 0;
	store->reads++;
	if (pread(store->file, &key, sizeof key, (off_t)(i * sizeof key)) != sizeof key)
		abort();
	return key;
}

static bool search(struct store *store, uint64_t key)
{
	uint64_t from = 0, to = RECORDS;
	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		if (read_record(store, middle) < key)
			from = middle + 1;
		else
			to = middle;
	}
	return from < RECORDS && read_record(store, from) == key;
}

static bool get(struct store *store, uint64_t key)
{
	if (store->filter != NULL && !nidus_contains_u64(store->filter, key))
		return false; /* certainly not there */
	return search(store, key);
}

/* Writes the records, which are the even numbers, and fills the filter on the way. */
static bool fill(struct store *store)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = RECORDS;
	options.fpr = 0.01;
	bool done = nidus_create(&options, &store->filter) == NIDUS_OK;
	for (uint64_t i = 0; done && i < RECORDS; i++) {
		uint64_t key = 2 * i;
		done = write(store->file, &key, sizeof key) == sizeof key &&
		       nidus_insert_u64(store->filter, key) == NIDUS_OK;
	}
	return done;
}

static uint64_t reads_of(struct store *store, uint64_t first)
{
	store->reads = 0;
	for (uint64_t key = first; key < 2 * RECORDS; key += 2)
		if (get(store, key) != (first == 0))
			abort();
	return store->reads;
}

int main(void)
{
	char path[] = "store-XXXXXX";
	struct store store = { mkstemp(path), NULL, 0 };
	unlink(path);
	if (store.file < 0 || !fill(&store)) {
		perror("store");
		return 1;
	}
	nidus_filter *filter = store.filter;
	uint64_t there = reads_of(&store, 0), absent = reads_of(&store, 1);
	store.filter = NULL;
	uint64_t there_without = reads_of(&store, 0), absent_without = reads_of(&store, 1);

	printf("keys that are there: %s\n", there == there_without ? "as many reads" : "?");
	printf("keys that are not:   %s\n",
	       absent < absent_without / 50 ? "less than 2 % of the reads" : "?");
	nidus_free(filter);
	close(store.file);
	return 0;
}
