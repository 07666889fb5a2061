/* SPDX-License-Identifier: MIT
 *
 * soak_threads: a great many operations of several threads on shared filters.
 *
 *     soak_threads [OPERATIONS [THREADS]]     10^9 and 4 if left out
 *
 * The operations are divided among the families that threads can share. Each
 * gets filters of fixed size (filled to the brim and churned) and filters that
 * grow, small ones where threads collide all the time and larger ones. Exit 1
 * if a key was missed, an answer was wrong, or a filter is not sound afterwards.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/crowd.h"

static nidus_filter *make(nidus_family family, uint64_t capacity, bool grows, unsigned k)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.capacity = grows ? capacity / 64 + 1 : capacity;
	options.max_capacity = grows ? capacity : 0;
	options.fpr = 1.0 / (double)(UINT64_C(1) << k);
	options.features = NIDUS_CONCURRENT;
	nidus_filter *filter;
	expect_ok(nidus_create(&options, &filter));
	return filter;
}

/* Operations done; exits at the first fault. */
static uint64_t run(nidus_family family, uint64_t capacity, bool grows, unsigned k,
                    unsigned threads)
{
	nidus_filter *filter = make(family, capacity, grows, k);
	struct crowd_plan plan = {
		.workers = threads,
		.rounds = 60,
		.share = grows ? capacity / 64 / threads : (capacity - 50) / threads,
		.last_share = (capacity - 50) / threads,
		.fixed = 50,
		.whole = capacity <= 20000,
	};
	struct crowd_result result = crowd_run(filter, &plan);
	nidus_info info = NIDUS_INFO_INIT;
	expect_ok(nidus_get_info(filter, &info));
	bool sound = result.misses == 0 && result.wrong == 0 && result.snapshot_faults == 0 &&
	             info.count == result.held && nidus_verify(filter, NULL) == NIDUS_OK;
	if (!sound) {
		printf("%s, %llu keys%s, rate 2^-%u: %llu missed, %llu wrong, %llu bad snapshots, "
		       "count %llu of %llu\n",
		       nidus_family_name(family), (unsigned long long)capacity,
		       grows ? " by growth" : "", k, (unsigned long long)result.misses,
		       (unsigned long long)result.wrong, (unsigned long long)result.snapshot_faults,
		       (unsigned long long)info.count, (unsigned long long)result.held);
		exit(1);
	}
	nidus_free(filter);
	return result.operations;
}

int main(int argc, char **argv)
{
	static const uint64_t sizes[] = { 300, 4000, 20000, 300000 };
	double wanted = argc > 1 ? strtod(argv[1], NULL) : 1e9;
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 4;
	if (!(wanted >= 1) || threads < 1 || threads > 64) {
		fprintf(stderr, "usage: soak_threads [OPERATIONS [THREADS]]\n");
		return 2;
	}
	unsigned families = 0;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++)
		families += (nidus_family_features(family) & NIDUS_CONCURRENT) != 0;
	uint64_t total = 0;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		uint32_t features = nidus_family_features(family);
		if (!(features & NIDUS_CONCURRENT))
			continue;
		double done = 0;
		for (unsigned turn = 0; done < wanted / families; turn++) {
			bool grows = (features & NIDUS_GROW) && turn % 2 == 1;
			uint64_t size = sizes[turn / 2 % (sizeof sizes / sizeof *sizes)];
			done += (double)run(family, size, grows, 5 + turn % 10, threads);
		}
		printf("%-14s %14.0f operations, nothing lost\n", nidus_family_name(family), done);
		fflush(stdout);
		total += (uint64_t)done;
	}
	printf("%-14s %14llu operations of %u threads\n", "all", (unsigned long long)total,
	       threads);
	return 0;
}
