/* SPDX-License-Identifier: MIT
 *
 * bench_hash: how good and how fast keyed hashes of 64-bit integers are.
 *
 *     bench_hash [--only quality|cost] [--seed N]
 *
 * One row per candidate (candidates.c); "two folds" is what the library uses.
 *
 * quality   avalanche    the share of keys with which an input bit flips an output bit: how far
 *                        it is off one half at most, over all pairs of bits and 8 seeds
 *           small sets   64, 256 and 1,024 keys of every kind in a quarter as many buckets, which
 *                        7 windows of the hash choose: the variance, over 4,096 seeds, of the
 *                        number of pairs in one bucket, as a multiple of what chance gives. Keys
 *                        that keep a structure for some seeds raise it, even where the mean is right.
 *           large sets   2^18 keys of every kind in 4,093 buckets, and the fraction that is left in
 *                        4,095: the largest chi-square, in standard deviations
 *           differences  the top 8 bits of the difference of two hashes, of keys that differ in a
 *                        chosen way, over all seeds: the share of the most frequent value times 256.
 *                        What is far from 1 is known without the seed.
 *           rates        every family at four widths: the excess of the measured rate over the
 *                        target, in standard deviations; consecutive keys in it and asked for
 * cost      loop, AVX2   nanoseconds per key of a batch of 4,096
 *           chain        nanoseconds from key to hash when the next one waits for it
 *           All candidates take turns; the best and the median of many rounds are shown.
 *
 * Exit 1 if "two folds" misses a limit or is not what nidus_hash_u64 computes.
 */
#include <math.h>
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "machine.h"

#define SEEDS 4096
#define LIBRARY "two folds"

/* Chance passes none of them once in a million runs. */
#define AVALANCHE_MOST 0.028
#define SMALL_MOST 1.25
#define LARGE_MOST 7.0
#define DIFFERENCES_MOST 1.6
#define RATES_MOST 6.5

static struct candidate_key keys_of_seeds[SEEDS];

/* splitmix64, which shares nothing with the candidates. */
static uint64_t random_state;

static uint64_t random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* ---------------------------------------------------------------- kinds of keys -- */

static uint64_t floating_point(uint64_t i)
{
	double number = (double)i;
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	return bits;
}

/* Eight decimal digits as text. */
static uint64_t digits(uint64_t i)
{
	uint64_t text = 0;
	for (unsigned at = 0; at < 8; at++, i /= 10)
		text = text << 8 | ('0' + i % 10);
	return text;
}

/* Two bits set, the sparsest keys of which there are many. */
static uint64_t two_bits(uint64_t i)
{
	uint64_t one = i % 64, other = (one + 1 + i / 64 % 63) % 64;
	return UINT64_C(1) << one | UINT64_C(1) << other;
}

static const char *const kind_names[] = {
	"ascending",
	"even",
	"multiples of 2^12",
	"multiples of 2^32",
	"multiples of 2^44",
	"equal halves",
	"descending",
	"Gray code",
	"floating point",
	"bytes swapped",
	"multiples of 1000003",
	"multiples of a factor of 2^64 + 1",
	"three bytes apart",
	"equal bytes",
	"decimal digits",
	"two bits",
	"multiples of 2^64 / golden ratio",
};

enum { KINDS = sizeof kind_names / sizeof *kind_names, TWO_BITS = 15 };

static uint64_t key_of_kind(unsigned kind, uint64_t i)
{
	switch (kind) {
	case 0:
		return i;
	case 1:
		return i << 1;
	case 2:
		return i << 12;
	case 3:
		return i << 32;
	case 4:
		return i << 44;
	case 5:
		return i << 32 | i;
	case 6:
		return UINT64_MAX - i;
	case 7:
		return (i ^ i >> 1) << 21;
	case 8:
		return floating_point(i);
	case 9:
		return __builtin_bswap64(i);
	case 10:
		return i * 1000003;
	case 11:
		return i * UINT64_C(67280421310721);
	case 12:
		return (i & 255) | (i >> 8 & 255) << 24 | i >> 16 << 48;
	case 13:
		return i * UINT64_C(0x0101010101010101);
	case 14:
		return digits(i);
	case TWO_BITS:
		return two_bits(i);
	default:
		return i * UINT64_C(0x9e3779b97f4a7c15);
	}
}

/* --------------------------------------------------------------------- quality -- */

/* A figure, and of which kind of keys (or difference) it is the worst. */
struct worst {
	double figure;
	const char *of;
};

static void note(struct worst *worst, double figure, const char *of)
{
	if (figure > worst->figure)
		*worst = (struct worst){ figure, of };
}

static double avalanche_of(candidate_hash hash, const struct candidate_key *key)
{
	enum { TRIALS = 16384 };
	static uint32_t flips[64][64];
	memset(flips, 0, sizeof flips);
	for (unsigned i = 0; i < TRIALS; i++) {
		uint64_t x = random_next(), h = hash(key, x);
		for (unsigned in = 0; in < 64; in++) {
			uint64_t changed = h ^ hash(key, x ^ UINT64_C(1) << in);
			for (unsigned out = 0; out < 64; out++)
				flips[in][out] += changed >> out & 1;
		}
	}
	double worst = 0;
	for (unsigned in = 0; in < 64; in++) {
		for (unsigned out = 0; out < 64; out++)
			worst = larger(worst, fabs(flips[in][out] / (double)TRIALS - 0.5));
	}
	return worst;
}

static double avalanche(candidate_hash hash)
{
	double worst = 0;
	for (unsigned seed = 0; seed < 8; seed++)
		worst = larger(worst, avalanche_of(hash, &keys_of_seeds[seed]));
	return worst;
}

#define SMALL_SETS_MAX 1024
#define WINDOWS 7
#define WINDOW_STEP 8 /* bits from one window to the next */

/* Pairs of hashes that have the same `bits` bits from `down` below the top on. */
static double equal_pairs(const uint64_t *hashes, unsigned n, unsigned down, unsigned bits)
{
	unsigned char counts[SMALL_SETS_MAX / 4] = { 0 };
	unsigned pairs = 0;
	for (unsigned i = 0; i < n; i++)
		pairs += counts[hashes[i] << down >> (64 - bits)]++;
	return pairs;
}

/* The worst variance of a set of 2^(bits + 2) keys, of all windows. */
static double small_set(candidate_hash hash, unsigned kind, unsigned bits)
{
	unsigned n = 4u << bits;
	double buckets = n / 4.0, mean = n * (n - 1.0) / 2 / buckets;
	double square[WINDOWS] = { 0 }, worst = 0;
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		uint64_t hashes[SMALL_SETS_MAX];
		for (unsigned i = 0; i < n; i++)
			hashes[i] = hash(&keys_of_seeds[seed], key_of_kind(kind, i));
		for (unsigned w = 0; w < WINDOWS; w++) {
			double off = equal_pairs(hashes, n, w * WINDOW_STEP, bits) - mean;
			square[w] += off * off;
		}
	}
	for (unsigned w = 0; w < WINDOWS; w++)
		worst = larger(worst, square[w] / SEEDS / (mean * (1 - 1 / buckets)));
	return worst;
}

static struct worst small_sets(candidate_hash hash)
{
	struct worst worst = { 0, "" };
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned bits = 4; bits <= 8; bits += 2)
			note(&worst, small_set(hash, kind, bits), kind_names[kind]);
	}
	return worst;
}

static double chi_square_excess(const uint32_t *counts, unsigned n, double all)
{
	double sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += (counts[i] - all / n) * (counts[i] - all / n) / (all / n);
	return (sum - (n - 1)) / sqrt(2 * (n - 1.0));
}

/* The whole part of hash * choices / 2^64; the fraction goes on. */
static uint64_t cut(uint64_t *hash, uint64_t choices)
{
	uint64_t low = (uint32_t)*hash * choices, high = (*hash >> 32) * choices + (low >> 32);
	*hash = high << 32 | (uint32_t)low;
	return high >> 32;
}

static double large_set(candidate_hash hash, unsigned kind, const struct candidate_key *key)
{
	enum { KEYS = 1 << 18, BUCKETS = 4093, FINGERPRINTS = 4095 };
	static uint32_t buckets[BUCKETS], fingerprints[FINGERPRINTS];
	memset(buckets, 0, sizeof buckets);
	memset(fingerprints, 0, sizeof fingerprints);
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t h = hash(key, key_of_kind(kind, i));
		buckets[cut(&h, BUCKETS)]++;
		fingerprints[cut(&h, FINGERPRINTS)]++;
	}
	return larger(chi_square_excess(buckets, BUCKETS, KEYS),
	              chi_square_excess(fingerprints, FINGERPRINTS, KEYS));
}

static struct worst large_sets(candidate_hash hash)
{
	struct worst worst = { 0, "" };
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned seed = 0; seed < 4 && kind != TWO_BITS; seed++)
			note(&worst, large_set(hash, kind, &keys_of_seeds[seed]), kind_names[kind]);
	}
	return worst;
}

/* What becomes 2^63 when it and its rotations by 25 and 50 are taken together. */
static uint64_t before_rotations(void)
{
	uint64_t x = UINT64_C(1) << 63;
	for (unsigned i = 0; i < 63; i++) /* the step's 64th power is no change */
		x ^= (x >> 25 | x << 39) ^ (x >> 50 | x << 14);
	return x;
}

struct difference {
	const char *name;
	uint64_t xor, sum;
};

static double difference_known(candidate_hash hash, struct difference difference)
{
	enum { TRIALS = 1 << 17 };
	uint32_t counts[256] = { 0 }, most = 0;
	for (unsigned i = 0; i < TRIALS; i++) {
		const struct candidate_key *key = &keys_of_seeds[i % SEEDS];
		uint64_t x = random_next(), y = (x ^ difference.xor) + difference.sum;
		uint32_t count = ++counts[(hash(key, y) - hash(key, x)) >> 56];
		most = count > most ? count : most;
	}
	return 256.0 * most / TRIALS;
}

static struct worst differences(candidate_hash hash)
{
	struct worst worst = { 0, "" };
	const struct difference chosen[] = {
		{ "all bits", UINT64_MAX, 0 },
		{ "top bit after the rotations", before_rotations(), 0 },
		{ "(2^64 - 1) / 3 added", 0, UINT64_MAX / 3 },
		{ "2^32 + 1 added", 0, (UINT64_C(1) << 32) + 1 },
		{ "1 added", 0, 1 },
	};
	for (unsigned i = 0; i < sizeof chosen / sizeof *chosen; i++)
		note(&worst, difference_known(hash, chosen[i]), chosen[i].name);
	for (unsigned bit = 0; bit < 64; bit++) {
		struct difference one = { "one bit", UINT64_C(1) << bit, 0 };
		note(&worst, difference_known(hash, one), one.name);
	}
	return worst;
}

/* ----------------------------------------------------------------------- rates -- */

#define RATE_KEYS 20000
#define RATE_TRIALS (1 << 19)

static nidus_filter *filter_of(nidus_family family, unsigned k)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.capacity = RATE_KEYS;
	options.fpr = ldexp(1, -(int)k);
	options.seed = 1;
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		fprintf(stderr, "bench_hash: %s: %s\n", nidus_family_name(family), nidus_reason());
		exit(2);
	}
	return filter;
}

/* Standard deviations above the target; infinite if a key is refused. */
static double rate_excess(const struct candidate *candidate, nidus_family family, unsigned k)
{
	enum { BATCH = 4096 };
	static uint64_t keys[BATCH], hashes[BATCH];
	static uint8_t yes[BATCH];
	const struct candidate_key *key = &keys_of_seeds[k];
	nidus_filter *filter = filter_of(family, k);
	nidus_status status = NIDUS_OK;
	for (uint64_t i = 0; i < RATE_KEYS && status == NIDUS_OK; i++)
		status = nidus_insert_hash(filter, candidate->hash(key, i));
	double found = 0, expected = ldexp(RATE_TRIALS, -(int)k);
	for (uint64_t i = 0; i < RATE_TRIALS; i += BATCH) {
		for (unsigned j = 0; j < BATCH; j++)
			keys[j] = RATE_KEYS + i + j;
		candidate->loop(key, keys, BATCH, hashes);
		nidus_contains_batch(filter, hashes, BATCH, yes);
		for (unsigned j = 0; j < BATCH; j++)
			found += yes[j];
	}
	nidus_free(filter);
	return status == NIDUS_OK ? (found - expected) / sqrt(expected) : INFINITY;
}

static struct worst rates(const struct candidate *candidate)
{
	struct worst worst = { -INFINITY, "" };
	for (nidus_family family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		for (unsigned k = 4; k <= 16; k += 4)
			note(&worst, rate_excess(candidate, family, k), nidus_family_name(family));
	}
	return worst;
}

/* ----------------------------------------------------------------- quality table -- */

static void print_worst(struct worst worst, const char *format, double most)
{
	printf(format, worst.figure);
	printf("%c ", worst.figure > most ? '!' : ' ');
	printf("%-33s", worst.figure > most ? worst.of : "");
}

static bool print_quality(const struct candidate *candidate)
{
	double bits = avalanche(candidate->hash);
	struct worst small = small_sets(candidate->hash), large = large_sets(candidate->hash);
	struct worst known = differences(candidate->hash), rate = rates(candidate);
	printf("%-22s %.3f%c ", candidate->name, bits, bits > AVALANCHE_MOST ? '!' : ' ');
	print_worst(small, "%9.2f", SMALL_MOST);
	print_worst(large, "%9.1f", LARGE_MOST);
	print_worst(known, "%6.2f", DIFFERENCES_MOST);
	print_worst(rate, "%6.1f", RATES_MOST);
	puts("");
	fflush(stdout);
	return bits <= AVALANCHE_MOST && small.figure <= SMALL_MOST && large.figure <= LARGE_MOST &&
	       known.figure <= DIFFERENCES_MOST && rate.figure <= RATES_MOST;
}

static bool run_quality(void)
{
	bool passed = true;
	printf("\nquality; ! is above its limit: avalanche %.3f, small sets %.2f, large sets %.1f, "
	       "differences %.1f, rates %.1f\n"
	       "candidate           avalanche small sets                                  large sets "
	       "                                 differences                             rates\n",
	       AVALANCHE_MOST, SMALL_MOST, LARGE_MOST, DIFFERENCES_MOST, RATES_MOST);
	for (size_t i = 0; i < candidates_number; i++) {
		bool good = print_quality(&candidates[i]);
		passed &= good || strcmp(candidates[i].name, LIBRARY) != 0;
	}
	return passed;
}

/* ------------------------------------------------------------------------- cost -- */

#define BATCH 4096
#define ROUNDS 301

enum measured { LOOP, AVX2, CHAIN, MEASURED };

static uint64_t cost_keys[BATCH], cost_hashes[BATCH];

/* Nanoseconds per key of one turn; below 0 if there is nothing to run. */
static double turn(const struct candidate *candidate, enum measured what)
{
	const struct candidate_key *key = &keys_of_seeds[0];
	candidate_batch batch = what == AVX2 ? candidate->avx2 : candidate->loop;
	if (what == AVX2 && (batch == NULL || !candidates_have_avx2()))
		return -1;
	double start = machine_seconds();
	if (what == CHAIN)
		cost_hashes[0] = candidate->chain(key, cost_hashes[0]);
	else
		batch(key, cost_keys, BATCH, cost_hashes);
	return (machine_seconds() - start) * 1e9 / (what == CHAIN ? CANDIDATE_CHAIN : BATCH);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run_cost(void)
{
	enum { MOST = 32 };
	static double taken[MOST][MEASURED][ROUNDS];
	for (unsigned i = 0; i < BATCH; i++)
		cost_keys[i] = random_next();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < candidates_number; i++) {
			for (enum measured what = 0; what < MEASURED; what++)
				taken[i][what][round] = turn(&candidates[i], what);
		}
	}
	printf("\ncost, ns: best and median of %d rounds\n"
	       "candidate                 loop            AVX2            chain\n",
	       ROUNDS);
	for (size_t i = 0; i < candidates_number; i++) {
		printf("%-22s", candidates[i].name);
		for (enum measured what = 0; what < MEASURED; what++) {
			double *all = taken[i][what];
			qsort(all, ROUNDS, sizeof *all, by_size);
			if (all[0] < 0)
				printf("               -");
			else
				printf("   %5.2f (%5.2f)", all[0], all[ROUNDS / 2]);
		}
		printf("   %s\n", candidates[i].what);
	}
}

/* ------------------------------------------------------------------------- main -- */

/* What is measured here as the library's hash must be that. */
static bool library_agrees(void)
{
	nidus_filter *filter = filter_of(NIDUS_CUCKOO, 8);
	struct candidate_key key = candidate_key_of(1);
	const struct candidate *ours = candidates;
	while (strcmp(ours->name, LIBRARY) != 0)
		ours++;
	bool same = true;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t x = random_next();
		same &= ours->hash(&key, x) == nidus_hash_u64(filter, x);
	}
	nidus_free(filter);
	if (!same)
		fprintf(stderr, "bench_hash: nidus_hash_u64 is not \"%s\"\n", LIBRARY);
	return same;
}

static void usage(void)
{
	fprintf(stderr, "usage: bench_hash [--only quality|cost] [--seed N]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	bool quality = true, cost = true;
	uint64_t seed = 1;
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (strcmp(argv[i], "--seed") == 0 && *value != '\0') {
			seed = strtoull(value, NULL, 0);
		} else if (strcmp(argv[i], "--only") == 0 &&
		           (strcmp(value, "quality") == 0 || strcmp(value, "cost") == 0)) {
			quality = *value == 'q';
			cost = !quality;
		} else {
			usage();
		}
	}
	random_state = seed;
	for (unsigned i = 0; i < SEEDS; i++)
		keys_of_seeds[i] = candidate_key_of(random_next());
	printf("cpu       %s\ncompiler  %s\nnidus     %s\nseed      %llu\n", machine_cpu(),
	       machine_compiler(), nidus_version(), (unsigned long long)seed);
	bool passed = library_agrees();
	if (quality)
		passed &= run_quality();
	if (cost)
		run_cost();
	return !passed;
}
