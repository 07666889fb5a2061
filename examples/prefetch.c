/* SPDX-License-Identifier: MIT */
/*
 * Handles requests one by one at nearly the speed of batches: each is prepared when it comes in,
 * and answered when AHEAD others have come.
 *
 * This is for programs that cannot gather batches, because other work lies between the keys. The
 * ring keeps the lookups that are under way; their cache lines arrive meanwhile. Keys may come and
 * go in between, and the filter may grow: an answer is right at the moment when it is asked for.
 */
#include <nidus.h>
#include <stdio.h>

#define KEYS 200000
#define AHEAD 32

struct ring {
	const nidus_filter *filter;
	nidus_probe probe[AHEAD];
	uint64_t taken, answered;
	uint64_t found;
};

static void answer(struct ring *ring)
{
	ring->found += nidus_ask(ring->filter, &ring->probe[ring->answered++ % AHEAD]);
}

static void take(struct ring *ring, uint64_t key)
{
	if (ring->taken - ring->answered == AHEAD)
		answer(ring);
	nidus_prepare_u64(ring->filter, key, &ring->probe[ring->taken++ % AHEAD]);
}

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = KEYS;
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	for (uint64_t key = 0; key < KEYS; key++)
		nidus_insert_u64(filter, key);

	struct ring ring = { .filter = filter };
	for (uint64_t key = 0; key < KEYS; key++)
		take(&ring, key);
	while (ring.answered < ring.taken)
		answer(&ring);
	printf("%llu of %d keys found\n", (unsigned long long)ring.found, KEYS);
	nidus_free(filter);
	return ring.found == KEYS ? 0 : 1;
}
