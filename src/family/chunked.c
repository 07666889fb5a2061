/* SPDX-License-Identifier: MIT
 *
 * chunked: CPCF, the cuckoo filter with flexible chunks and proactive insertion.
 *
 * Paper: W. Hua et al., "CPCF: A Flexible Chunking and Proactive Insertion
 * Cuckoo Filter" (2024).
 *
 * C chunks of B = 2^m buckets each; C is any number, so that the whole fits the
 * keys. A hash chooses chunk and bucket by multiplication; the second bucket is
 * the first XOR H(fingerprint), inside the chunk:
 *
 *     chunk 0          chunk 1          chunk 2
 *     [0 .. B-1]       [0 .. B-1]       [0 .. B-1]
 *                       i <-> i ^ H(f)
 *
 * Proactive insertion: a key takes one of the first b - p slots of its first
 * bucket, else any of its second bucket; the last p slots of the first bucket
 * are held back (p = 1 unless asked otherwise) for entries that have to move
 * there later. Only when the second bucket is full does a key take them itself.
 *
 *     first bucket  [ x | x | x | . ]   <- the last slot waits
 *
 * Relocation: when both buckets are full, the other bucket of each entry in them
 * is looked at from its back, where the slots held back are (the paper's one-step
 * look-ahead), and then theirs in turn: the shortest chain of moves, in full
 * before anything moves (nest/search.c). The paper's walk kicks a random entry
 * after a look-ahead that finds nothing; ours kicks fewer, and none for nothing.
 *
 * The threshold (Eq. 4): an insert gives up after d * b * log C *
 * log_b(B * b - B + 1) kick-outs, log natural. A kick-out of the paper looks at b
 * places, so a search may look at b times as many. log C is 0 for one chunk and
 * would forbid every relocation, and 1 instead of it is measurably too few near
 * full load: one chunk has a limit of its own, ONE_CHUNK_STEPS.
 *
 * Chunking: Algorithm 1 sizes chunks by the bound of Eq. 3 on the fullest one,
 * (n/C) + a * sqrt(2 (n/C) log C), whose odds are not small enough for our
 * promise; nest/chunking.c chooses C and B for that instead. chunked_algorithm_1
 * is the paper's choice, with line 5 read as "SubFilterMaxLoad <= A * c * b":
 * as printed (A * u * b) it does not give the paper's own Table 3.
 *
 * Not here: slots and moves (nest/nest.h, nest/search.h).
 */
#include "family/chunked.h"

#include "base/reason.h"
#include "family/nesting.h"
#include "family/registry.h"
#include "nest/chunking.h"
#include "nest/search.h"

#include <math.h>

#define BEST_SLOTS 4
#define BEST_RESERVE 1
#define LOG_BUCKETS_MOST 16
#define STASH_LEAST 48
#define MAX_LOAD 0.96 /* the paper's A, for b = 4 */
#define ONE_CHUNK_STEPS 2048

/* ---------------------------------------------------------- the paper's sizes -- */

/* Eq. 3 with natural logarithms. */
static double sub_filter_max_load(double keys, double chunks, double a)
{
	return keys / chunks + a * sqrt(2 * keys / chunks * log(chunks));
}

void chunked_algorithm_1(uint64_t n, double load, unsigned slots, double a, uint64_t *chunks,
                         uint64_t *buckets)
{
	double keys = (double)n, number = 1, per_chunk = keys / (slots * load), split;
	do {
		split = 1;
		for (unsigned log = 0; (double)(UINT64_C(1) << log) <= per_chunk; log++) {
			double size = (double)(UINT64_C(1) << log), parts = per_chunk / size;
			if (sub_filter_max_load(keys, parts, a) <= MAX_LOAD * size * slots) {
				keys /= parts;
				number *= parts;
				per_chunk = size;
				split = parts;
				break;
			}
		}
	} while (split >= 2);
	*chunks = (uint64_t)ceil(number);
	*buckets = power_of_two_from((uint64_t)ceil(per_chunk));
}

unsigned chunked_max_kicks(uint64_t chunks, uint64_t buckets, unsigned slots)
{
	double spread = chunks > 1 ? log((double)chunks) : 0;
	double depth = log((double)(buckets * slots - buckets + 1)) / log(slots);
	return (unsigned)ceil(2 * slots * (spread > 1 ? spread : 1) * depth);
}

/* ---------------------------------------------------------------- our own -- */

static nidus_status limits_for(unsigned slots, struct chunking_limits *limits)
{
	*limits = (struct chunking_limits){
		.slots = slots,
		.log_least = 1,
		.log_most = LOG_BUCKETS_MOST,
	};
	switch (slots) {
	case 2:
		limits->mean = 0.86, limits->full = 0.885;
		return NIDUS_OK;
	case 4:
		limits->mean = 0.955, limits->full = 0.975;
		return NIDUS_OK;
	case 8:
		limits->mean = 0.98, limits->full = 0.993;
		return NIDUS_OK;
	default:
		return fail(NIDUS_E_RANGE,
		            "the chunked family has 2, 4 or 8 slots per bucket, not %u", slots);
	}
}

static uint32_t steps_for(const struct blueprint *plan)
{
	if (plan->chunks == 1)
		return ONE_CHUNK_STEPS;
	/* Logarithms differ in the last digit between machines: keep whole powers of two. */
	uint64_t steps = power_of_two_from(
		(uint64_t)chunked_max_kicks(plan->chunks, plan->groups, plan->slots) * plan->slots);
	return steps < SEARCH_STEPS_MAX ? (uint32_t)steps : SEARCH_STEPS_MAX;
}

static bool fits(const struct blueprint *plan, uint64_t keys)
{
	struct chunking_limits limits;
	double slots = (double)plan->groups * plan->slots;
	if (limits_for(plan->slots, &limits) != NIDUS_OK ||
	    !chunking_hold(&limits, keys, plan->chunks, slots))
		return false;
	double load = (double)keys / ((double)plan->chunks * slots);
	return nesting_fpr(plan->core_bits, 2.0 * plan->slots, load) <= plan->fpr;
}

static uint64_t stash(uint64_t chunk_slots)
{
	return STASH_LEAST + (uint64_t)CHUNKING_STASH((double)chunk_slots);
}

static const struct nesting_sizing sizing = { .fits = fits, .stash = stash };

/* Slots per bucket, and how many of them are held back. Errors: E_UNSUPPORTED, E_RANGE. */
static nidus_status choose_slots(const nidus_options *options, struct blueprint *plan)
{
	struct chunking_limits limits;
	nidus_status status = nesting_check_options(options, true);
	plan->slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	if (status == NIDUS_OK)
		status = limits_for(plan->slots, &limits);
	if (status != NIDUS_OK)
		return status;
	unsigned reserve = options->reserve != 0 ? options->reserve : BEST_RESERVE;
	if (options->reserve == NIDUS_RESERVE_NONE)
		reserve = 0;
	if (reserve >= plan->slots)
		return fail(NIDUS_E_RANGE,
		            "of %u slots per bucket at most %u can be held back, not %u",
		            plan->slots, plan->slots - 1, reserve);
	plan->reserve = (uint16_t)reserve;
	return NIDUS_OK;
}

static nidus_status chunked_plan(const nidus_options *options, struct blueprint *plan)
{
	struct chunking_limits limits;
	nidus_status status = choose_slots(options, plan);
	if (status != NIDUS_OK)
		return status;
	(void)limits_for(plan->slots, &limits);
	if (!chunking_choose(&limits, options->capacity, &plan->chunks, &plan->groups))
		return fail(NIDUS_E_RANGE, "no number of chunks holds %llu keys",
		            (unsigned long long)options->capacity);
	double slots = (double)plan->chunks * (double)plan->groups * plan->slots;
	plan->core_bits =
		nesting_core_bits(plan->fpr, 2.0 * plan->slots, (double)options->capacity / slots);
	plan->capacity = options->capacity;
	nesting_complete(options, plan, &sizing, steps_for(plan));
	return NIDUS_OK;
}

static nidus_status chunked_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = choose_slots(options, plan);
	if (status != NIDUS_OK)
		return status;
	plan->core_bits = nesting_core_bits(plan->fpr, 2.0 * plan->slots, NESTING_SEGMENT_LOAD);
	nesting_lay_out_segment(options, plan, &sizing, ONE_CHUNK_STEPS);
	return NIDUS_OK;
}

static uint64_t chunked_segment_keys(const struct blueprint *plan)
{
	return nesting_segment_keys(plan, &sizing);
}

const struct family family_chunked = {
	NESTING_MEMBERS,
	.ranges = &nesting_ranges,
	.id = NIDUS_CHUNKED,
	.name = "chunked",
	.kind = NEST_XOR,
	.pace = 5,
	.speed = NIDUS_SPEED_MEDIUM,
	.plan = chunked_plan,
	.plan_segment = chunked_plan_segment,
	.segment_keys = chunked_segment_keys,
	.check = nesting_check,
	.forecast = nesting_forecast,
};
