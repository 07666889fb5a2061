/* SPDX-License-Identifier: MIT
 *
 * soak_beyond: filters beyond 4 GiB and beyond 2^32 slots, for real.
 *
 *     soak_beyond [FOLDER]     for the file; the temporary folder if left out
 *
 * Each filter is made, gets keys all over its table, must find them all, hold
 * exactly as many entries, keep its rate for absent keys, lose what is removed, and
 * be the same after it was saved and opened. Takes 8 GiB of memory and of disk (it
 * goes without the file where there is no room). Exit 1 if anything failed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nidus.h"

#define KEYS (UINT64_C(1) << 24)
#define FIRST_ABSENT (UINT64_C(1) << 50)
#define BATCH 4096
#define SLOTS_BEYOND (UINT64_C(1) << 32)
#define BYTES_BEYOND (UINT64_C(1) << 32)

static bool failed;

static void complain(const char *what)
{
	printf("  FAILED: %s (%s)\n", what, nidus_reason());
	failed = true;
}

static nidus_info info_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	return info;
}

/* Hashes of keys that no two batches share. */
static void hash_some(const nidus_filter *filter, uint64_t first, uint64_t *hashes)
{
	uint64_t keys[BATCH];
	for (unsigned i = 0; i < BATCH; i++)
		keys[i] = first + i;
	nidus_hash_u64_batch(filter, keys, BATCH, hashes);
}

static uint64_t count_found(const nidus_filter *filter, uint64_t first, uint64_t n)
{
	uint64_t hashes[BATCH], found = 0;
	uint8_t yes[BATCH];
	for (uint64_t at = 0; at < n; at += BATCH) {
		hash_some(filter, first + at, hashes);
		nidus_contains_batch(filter, hashes, BATCH, yes);
		for (unsigned i = 0; i < BATCH; i++)
			found += yes[i];
	}
	return found;
}

static void insert_all(nidus_filter *filter)
{
	uint64_t hashes[BATCH];
	size_t done;
	for (uint64_t at = 0; at < KEYS; at += BATCH) {
		hash_some(filter, at, hashes);
		if (nidus_insert_batch(filter, hashes, BATCH, &done) != NIDUS_OK) {
			complain("an insert failed");
			return;
		}
	}
}

/* The walk's entries, and how far apart the outermost ones are. */
static void walk(const nidus_filter *filter, uint64_t count)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t seen = 0, least = UINT64_MAX, most = 0;
	while (nidus_next(filter, &cursor, &entry)) {
		seen++;
		least = entry.home < least ? entry.home : least;
		most = entry.home > most ? entry.home : most;
	}
	printf("  walked %llu entries, homes %llu to %llu\n", (unsigned long long)seen,
	       (unsigned long long)least, (unsigned long long)most);
	if (seen != count)
		complain("the walk yields another number of entries");
}

static void look(const nidus_filter *filter, uint64_t first, uint64_t n, uint64_t count)
{
	nidus_info info = info_of(filter);
	uint64_t absent = count_found(filter, FIRST_ABSENT, KEYS);
	if (info.count != count)
		complain("the count is wrong");
	if (count_found(filter, first, n) != n)
		complain("a key is missing");
	printf("  absent keys found: %.3g of all; the target is %.3g when full\n",
	       (double)absent / (double)KEYS, info.fpr_target);
	if ((double)absent > info.fpr_target * (double)KEYS)
		complain("too many absent keys are found");
}

static void save_and_open(const nidus_filter *filter, const char *path, uint64_t first, uint64_t n,
                          uint64_t count)
{
	nidus_filter *opened;
	errno = 0;
	if (nidus_save(filter, path) != NIDUS_OK) {
		if (errno == ENOSPC)
			printf("  not saved: %s\n", nidus_reason());
		else
			complain("it cannot be saved");
		return;
	}
	if (nidus_open(path, NIDUS_OPEN_VERIFY, &opened) != NIDUS_OK)
		complain("it cannot be opened");
	else
		look(opened, first, n, count);
	nidus_free(opened);
	printf("  saved, opened and verified\n");
	unlink(path);
}

static void one(nidus_family family, uint64_t capacity, double fpr, const char *path)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	uint64_t hashes[BATCH], first = 0, count = KEYS;
	size_t done;
	options.family = family;
	options.capacity = capacity;
	options.fpr = fpr;
	options.seed = 2026;
	printf("%s for %llu keys\n", nidus_family_name(family), (unsigned long long)capacity);
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		complain("no filter");
		return;
	}
	nidus_info info = info_of(filter);
	printf("  %.2f GiB, %llu slots\n", (double)info.bytes / (double)(1 << 30),
	       (unsigned long long)info.total_slots);
	if (info.bytes <= BYTES_BEYOND && info.total_slots <= SLOTS_BEYOND)
		complain("it is not big");
	insert_all(filter);
	look(filter, first, KEYS, count);
	if (info.features & NIDUS_DELETE) {
		hash_some(filter, 0, hashes);
		if (nidus_remove_batch(filter, hashes, BATCH, &done) != NIDUS_OK)
			complain("a remove failed");
		first = BATCH;
		count -= BATCH;
	}
	if (info.features & NIDUS_ENUMERATE)
		walk(filter, count);
	if (nidus_verify(filter, NULL) != NIDUS_OK)
		complain("it does not verify");
	fflush(stdout);
	save_and_open(filter, path, first, KEYS - first, count);
	nidus_free(filter);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : getenv("TMPDIR");
	char path[1024];
	snprintf(path, sizeof path, "%s/nidus-beyond-%ld.nidus", folder != NULL ? folder : "/tmp",
	         (long)getpid());
	one(NIDUS_WINDOWED, UINT64_C(2300000000), 0x1p-14, path); /* bytes */
	one(NIDUS_WINDOWED, UINT64_C(4300000000), 0x1p-4, path);  /* slots */
	one(NIDUS_CHUNKED, UINT64_C(4300000000), 0x1p-6, path);
	one(NIDUS_BREADCRUMB, UINT64_C(4300000000), 0x1p-8, path); /* both */
	one(NIDUS_BLOCKED_BLOOM, UINT64_C(3000000000), 0x1p-8, path);
	return failed ? 1 : 0;
}
