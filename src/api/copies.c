/* SPDX-License-Identifier: MIT
 *
 * copies: estimates of room, from builds with every key 1 to 16 times.
 *
 * The estimates only decide what is tried first. They are for the smallest size that
 * holds the keys; if they are wrong, another try follows.
 */
#include "api/copies.h"

#include "api/options.h"
#include "base/reason.h"

#define COUNTED 64       /* keys with more copies are counted together */
#define LARGER 6         /* an offer that is too small is made larger by a sixth, */
#define CAPACITY_MOST 32 /* up to so many times the keys */

/* How many keys have how many copies. */
struct tally {
	uint64_t keys[COUNTED + 1]; /* the last: as often or more */
	uint64_t most;
};

static struct tally tally_copies(const uint64_t *hashes, size_t n)
{
	struct tally tally = { .most = 1 };
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && hashes[end] == hashes[i];)
			end++;
		uint64_t copies = end - i;
		tally.keys[copies < COUNTED ? copies : COUNTED]++;
		tally.most = copies > tally.most ? copies : tally.most;
	}
	return tally;
}

/*
 * Two groups of b slots: places that a key with m copies takes for each of them, by m / b in
 * quarters, and how many such keys are listed beside their slots then. With less room more are, which
 * takes more space and a search for each. Above 2 all are: more room would help little.
 */
static const struct {
	double places, listed;
} crowding[] = { { 1, 0 },      { 1, 0 },     { 1.15, 0 }, { 1.5, 0 },  { 1.8, 0 },
	         { 2.2, 0.25 }, { 2.2, 0.5 }, { 2, 0.6 },  { 1.8, 0.7 } };

#define NODE_BYTES 64 /* of a listed key */
#define LINES_HOLD 16 /* copies of a key in the lines of a yard */

/* The capacity that a nest needs, and the bytes of its lists. */
static double nest_capacity(const struct tally *tally, unsigned slots, double *list)
{
	double capacity = 0;
	*list = 0;
	for (unsigned copies = 1; copies <= COUNTED; copies++) {
		double keys = (double)tally->keys[copies];
		unsigned quarters = (4 * copies + slots - 1) / slots;
		if (copies > 2 * slots) {
			capacity += keys * (2 * slots + 1);
			*list += keys * NODE_BYTES;
		} else {
			capacity += keys * copies * crowding[quarters].places;
			*list += keys * crowding[quarters].listed * NODE_BYTES;
		}
	}
	return capacity;
}

/*
 * Lines of so many slots overflow the more unevenly the larger the clumps are. They hold
 * LINES_HOLD copies of a key; others are listed.
 */
static double yard_capacity(const struct tally *tally, unsigned slots, double *list)
{
	double places = 0, squares = 0;
	*list = 0;
	for (unsigned copies = 1; copies <= COUNTED; copies++) {
		double keys = (double)tally->keys[copies];
		unsigned held = copies < LINES_HOLD ? copies : LINES_HOLD;
		places += keys * held;
		squares += keys * held * held;
		*list += copies > LINES_HOLD ? keys * NODE_BYTES : 0;
	}
	double clumps = places > 0 ? squares / places / slots : 0;
	return places * (clumps > 0.05 ? 1 + 4.5 * (clumps - 0.05) : 1);
}

uint64_t copies_places(const struct family *family, const struct blueprint *plan,
                       const uint64_t *hashes, const uint64_t *values, size_t n)
{
	uint64_t places = 0, most = family->searches ? 2 * plan->slots : LINES_HOLD;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && hashes[end] == hashes[i] &&
		                  (values == NULL || values[end] == values[i]);)
			end++;
		places += end - i < most ? end - i : most;
	}
	return places;
}

static bool plan_offer(const nidus_options *options, struct offer *offer, struct blueprint *plan)
{
	nidus_options wanted = *options;
	options_size_for(&wanted, offer->capacity);
	wanted.fpr = offer->fpr;
	wanted.slots = offer->slots;
	if (options_plan_family(&wanted, offer->family, plan) != NIDUS_OK)
		return false;
	offer->bytes = offer->family->forecast(plan, wanted.capacity).bytes + offer->list;
	return true;
}

/* A family's offer; withdrawn if it cannot hold the copies. */
static struct offer make_offer(const nidus_options *options, const struct family *family,
                               unsigned slots, const struct tally *tally, uint64_t n,
                               unsigned *copies_most)
{
	struct offer offer = {
		.family = family, .slots = slots, .capacity = n, .fpr = options->fpr
	};
	struct blueprint plan;
	if (family->copies == NULL || !plan_offer(options, &offer, &plan))
		return (struct offer){ 0 };
	unsigned most = family->copies(&plan);
	*copies_most = most > *copies_most ? most : *copies_most;
	double list = 0, capacity = family->searches ? nest_capacity(tally, plan.slots, &list)
	                                             : yard_capacity(tally, plan.slots, &list);
	if (tally->most > most)
		return (struct offer){ 0 };
	offer.capacity = (uint64_t)capacity;
	offer.list = (uint64_t)list;
	return plan_offer(options, &offer, &plan) ? offer : (struct offer){ 0 };
}

nidus_status offers_make(struct offers *offers, const nidus_options *options,
                         const uint64_t *hashes, size_t n)
{
	struct tally tally = tally_copies(hashes, n);
	unsigned most = 0, i = 0;
	*offers = (struct offers){ .options = options, .n = n };
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (options->family != NIDUS_AUTO && options->family != (*family)->id)
			continue;
		offers->offer[i++] = make_offer(options, *family, options->slots, &tally, n, &most);
		/* More slots per bucket hold more copies, for a bit per key or so. */
		if (options->slots == 0 && (*family)->searches)
			offers->offer[i++] = make_offer(options, *family, 8, &tally, n, &most);
	}
	if (most > 0 && tally.most > most)
		return fail(NIDUS_COPIES,
		            "a key comes %llu times; %s holds more than %u copies of one",
		            (unsigned long long)tally.most,
		            options->family == NIDUS_AUTO ? "no filter with these options"
		                                          : "no filter of this family",
		            most);
	return NIDUS_OK;
}

/* Whether `a` is the better offer. */
static bool better(const struct offers *offers, uint64_t least, const struct offer *a,
                   const struct offer *b)
{
	if (b->family == NULL || a->family == NULL)
		return a->family != NULL;
	return options_prefer(offers->options, least, a->family, a->bytes, b->family, b->bytes);
}

static uint64_t least_bytes(const struct offers *offers)
{
	uint64_t least = UINT64_MAX;
	for (unsigned i = 0; i < OFFERS_MOST; i++) {
		const struct offer *offer = &offers->offer[i];
		least = offer->family != NULL && offer->bytes < least ? offer->bytes : least;
	}
	return least;
}

bool offers_take(struct offers *offers, nidus_options *options)
{
	uint64_t least = least_bytes(offers);
	unsigned best = 0;
	for (unsigned i = 1; i < OFFERS_MOST; i++) {
		if (better(offers, least, &offers->offer[i], &offers->offer[best]))
			best = i;
	}
	const struct offer *offer = &offers->offer[best];
	offers->last = best;
	if (offer->family == NULL)
		return false;
	*options = *offers->options;
	options->family = offer->family->id;
	options->fpr = offer->fpr;
	options->slots = offer->slots;
	options_size_for(options, offer->capacity);
	return true;
}

uint64_t offers_bytes(const struct offers *offers)
{
	return offers->offer[offers->last].bytes;
}

/* Makes an offer larger, so that its table is; false if that is too much or impossible. */
static bool enlarge(const struct offers *offers, struct offer *offer)
{
	struct blueprint plan;
	uint64_t bytes = offer->bytes;
	while (offer->bytes == bytes) {
		offer->capacity += offer->capacity / LARGER + 1;
		if (offer->capacity / CAPACITY_MOST > offers->n ||
		    !plan_offer(offers->options, offer, &plan))
			return false;
	}
	return true;
}

/* Copies of twins add up: with longer fingerprints there are fewer. False as above. */
static bool separate(const struct offers *offers, struct offer *offer)
{
	struct blueprint plan;
	offer->fpr /= 16;
	return offer->fpr >= OPTIONS_FPR_LEAST && plan_offer(offers->options, offer, &plan);
}

void offers_refuse(struct offers *offers, nidus_status status)
{
	struct offer *offer = &offers->offer[offers->last];
	bool goes_on = status == NIDUS_FULL ? enlarge(offers, offer) : separate(offers, offer);
	if (!goes_on)
		offer->family = NULL;
}
