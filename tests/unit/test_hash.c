/* SPDX-License-Identifier: MIT
 *
 * Tests of base/hash: known answers, and whether structure in keys survives.
 *
 * The statistical tests are held to odds of a false alarm below 1e-6 for each
 * of them; where one makes many comparisons, each has its share.
 */
#include "base/hash.h"
#include "base/sort.h"
#include "simd/hashes.h"
#include "simd/isa.h"
#include "support/chance.h"
#include "support/check.h"

/* Computed apart from the library, from the description in base/hash.h. */
static void integers_hash_to_known_answers(void **state)
{
	(void)state;
	static const struct {
		uint64_t seed, key, hash;
	} known[] = {
		{ UINT64_C(0x1), UINT64_C(0x0), UINT64_C(0x1bd02513a0b0ba4e) },
		{ UINT64_C(0x1), UINT64_C(0x1), UINT64_C(0xbdaf94de364f258c) },
		{ UINT64_C(0x1), UINT64_C(0x8000000000000000), UINT64_C(0x0d17c835840bddd8) },
		{ UINT64_C(0x2), UINT64_C(0x1), UINT64_C(0x7fc1323fc11ea290) },
		{ UINT64_C(0xdeadbeefcafef00d), UINT64_C(0x100000000),
		  UINT64_C(0xc943c0b8f6829533) },
		{ UINT64_MAX, UINT64_MAX, UINT64_C(0x10733994865ac1d2) },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct hash_key key = hash_key_of(known[i].seed);
		check_note("known answer %zu", i);
		expect_equal(hash_u64(&key, known[i].key), known[i].hash);
	}
	const struct hash_key one = hash_key_of(1);
	expect_equal(hash_partner_key(&one), UINT64_C(0xb511ee5afb3da531));
}

/* In every tier, for every length of a tail, in place, and of keys anywhere in memory. */
static void many_integers_hash_like_one(void **state)
{
	(void)state;
	static const char *const tiers[] = { "scalar", "avx2" };
	enum { MOST = 67 };
	struct chance chance = { chance_seed() + 3 };
	struct hash_key key = hash_key_of(chance_next(&chance));
	uint64_t keys[MOST], hashes[MOST + 1];
	for (size_t tier = 0; tier < sizeof tiers / sizeof *tiers; tier++) {
		if (isa_set(tiers[tier]) != NIDUS_OK)
			continue; /* not this processor's */
		for (size_t n = 0; n <= MOST; n++) {
			check_note("%s, %zu keys", tiers[tier], n);
			for (size_t i = 0; i < MOST; i++)
				keys[i] = i % 3 == 0 ? UINT64_C(0) - i : chance_next(&chance);
			hashes[n] = 42;
			hashes_of_u64(&key, keys, n, hashes);
			for (size_t i = 0; i < n; i++)
				expect_equal(hashes[i], hash_u64(&key, keys[i]));
			expect_equal(hashes[n], 42);
			hashes_of_u64(&key, keys, n, keys);
			expect(memcmp(keys, hashes, n * sizeof *keys) == 0);
		}
	}
}

static void bytes_hash_to_known_answers(void **state)
{
	(void)state;
	const uint64_t one = 1, other = UINT64_C(0xdeadbeefcafef00d);
	unsigned char bytes[300];
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	/* The first is XXH3's published answer for nothing; each length takes another way through it. */
	expect_equal(hash_checksum("", 0), UINT64_C(0x2d06800538d394c2));
	expect_equal(hash_checksum("heron", 5), UINT64_C(0xd0b744747effe2ad));
	expect_equal(hash_bytes(one, NULL, 0), UINT64_C(0x4dc5b0cc826f6703));
	expect_equal(hash_bytes(one, "heron", 5), UINT64_C(0xf128b3c3d3f1773c));
	expect_equal(hash_bytes(other, "heron", 5), UINT64_C(0x88ef814699111a49));
	expect_equal(hash_bytes(one, bytes, 100), UINT64_C(0xceb0d9bdf606efa6));
	expect_equal(hash_bytes(other, bytes, 300), UINT64_C(0x01c5c81dbae3d7b6));
}

/* Seeds whose numbers had to be passed over are among so many. */
static void multipliers_are_odd_and_share_no_factor_with_2_128_less_1(void **state)
{
	(void)state;
	static const uint64_t primes[] = { 2,   3,     5,       17,     257,
		                           641, 65537, 6700417, 274177, UINT64_C(67280421310721) };
	struct chance chance = { chance_seed() + 4 };
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t seed = chance_next(&chance);
		struct hash_key key = hash_key_of(seed);
		check_note("seed %llu", (unsigned long long)seed);
		for (size_t j = 0; j < sizeof primes / sizeof *primes; j++) {
			expect(key.first % primes[j] != 0);
			expect(key.second % primes[j] != 0);
		}
	}
}

/*
 * Half a million regular keys: by chance two of them share a hash with odds of
 * 2^37 / 2^64, below 1e-6.
 */
static void different_integers_hardly_ever_share_a_hash(void **state)
{
	(void)state;
	enum { KEYS = 1 << 17 };
	struct hash_key key = hash_key_of(chance_seed());
	uint64_t *hashes = check_alloc(4 * KEYS * sizeof *hashes);
	static const uint64_t strides[] = { 1, UINT64_C(1) << 32, UINT64_C(1) << 47,
		                            UINT64_C(0x0001000000010001) };
	size_t n = 0;
	for (unsigned i = 0; i < 4; i++) {
		for (uint64_t j = 1; j <= KEYS; j++)
			hashes[n++] = j * strides[i];
	}
	/* The sets of keys overlap: as many hashes as keys is the claim. */
	sort_u64(hashes, n);
	n = sort_unique_u64(hashes, n);
	for (size_t i = 0; i < n; i++)
		hashes[i] = hash_u64(&key, hashes[i]);
	sort_u64(hashes, n);
	expect_equal(sort_unique_u64(hashes, n), n);
	free(hashes);
}

static void each_input_bit_flips_half_of_the_output_bits(void **state)
{
	(void)state;
	enum { KEYS = 8192 };
	static uint32_t flips[64][64];
	struct chance chance = { chance_seed() };
	struct hash_key key = hash_key_of(chance_next(&chance));
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t x = chance_next(&chance), hash = hash_u64(&key, x);
		for (unsigned in = 0; in < 64; in++) {
			uint64_t changed = hash ^ hash_u64(&key, x ^ UINT64_C(1) << in);
			for (unsigned out = 0; out < 64; out++)
				flips[in][out] += changed >> out & 1;
		}
	}
	/*
	 * No bit of a filter's address needs better than this: a tenth off a half.
	 * Chance alone goes so far with odds of 2 exp(-2 * 8192 * 0.05^2) < 1e-17.
	 */
	for (unsigned in = 0; in < 64; in++) {
		for (unsigned out = 0; out < 64; out++) {
			check_note("input bit %u, output bit %u: %u of %u", in, out, flips[in][out],
			           KEYS);
			expect(flips[in][out] > KEYS * 45 / 100 &&
			       flips[in][out] < KEYS * 55 / 100);
		}
	}
}

/* ------------------------------------------------------------ spread over buckets -- */

#define KEYS (1u << 19)
#define SEEDS 16 /* a weakness may show with few of them only */

/* Spreads hashes as a nest does: first over buckets, then what is left over fingerprints. */
static void expect_even(const char *keys, uint64_t (*nth)(uint64_t), uint64_t seed)
{
	static uint32_t buckets[4093], fingerprints[4095];
	struct hash_key key = hash_key_of(seed);
	memset(buckets, 0, sizeof buckets);
	memset(fingerprints, 0, sizeof fingerprints);
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t rest;
		buckets[multiply_wide(hash_u64(&key, nth(i)), 4093, &rest)]++;
		fingerprints[multiply_high(rest, 4095)]++;
	}
	double most_buckets = chance_chi_square_most(4092, 1e-9);
	double most_fingerprints = chance_chi_square_most(4094, 1e-9);
	check_note("%s, seed %llu: chi-square %.0f of %.0f and %.0f of %.0f", keys,
	           (unsigned long long)seed, chance_chi_square(buckets, 4093), most_buckets,
	           chance_chi_square(fingerprints, 4095), most_fingerprints);
	expect(chance_chi_square(buckets, 4093) < most_buckets);
	expect(chance_chi_square(fingerprints, 4095) < most_fingerprints);
}

static uint64_t ascending(uint64_t i)
{
	return i;
}

static uint64_t even_numbers(uint64_t i)
{
	return 2 * i;
}

static uint64_t pages(uint64_t i)
{
	return i << 12;
}

static uint64_t multiples_of_2_32(uint64_t i)
{
	return i << 32;
}

static uint64_t top_bits(uint64_t i)
{
	return i << 44;
}

static uint64_t both_halves(uint64_t i)
{
	return i << 32 | i;
}

static uint64_t descending(uint64_t i)
{
	return UINT64_MAX - i;
}

static uint64_t gray_code(uint64_t i)
{
	return (i ^ i >> 1) << 21;
}

static uint64_t floating_point(uint64_t i)
{
	double number = (double)i;
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	return bits;
}

static void regular_keys_spread_evenly(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint64_t (*nth)(uint64_t);
	} kinds[] = {
		{ "ascending", ascending },
		{ "even numbers", even_numbers },
		{ "multiples of 2^12", pages },
		{ "multiples of 2^32", multiples_of_2_32 },
		{ "multiples of 2^44", top_bits },
		{ "both halves the same", both_halves },
		{ "descending from 2^64 - 1", descending },
		{ "one bit different from the last", gray_code },
		{ "bits of floating-point numbers", floating_point },
	};
	struct chance chance = { chance_seed() };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			expect_even(kinds[i].name, kinds[i].nth, seed);
			expect_even(kinds[i].name, kinds[i].nth, chance_next(&chance));
		}
	}
}

static void neighbouring_seeds_give_unrelated_hashes(void **state)
{
	(void)state;
	enum { PAIRS = 1 << 16 };
	static uint32_t differences[256];
	struct chance chance = { chance_seed() };
	memset(differences, 0, sizeof differences);
	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t seed = chance_next(&chance), x = chance_next(&chance);
		struct hash_key one = hash_key_of(seed), two = hash_key_of(seed + 1);
		differences[(hash_u64(&one, x) ^ hash_u64(&two, x)) >> 56]++;
	}
	double most = chance_chi_square_most(255, 1e-7);
	check_note("chi-square %.0f of %.0f", chance_chi_square(differences, 256), most);
	expect(chance_chi_square(differences, 256) < most);
}

/* Keys that one seed sends to one bucket: another seed must scatter them. */
static void keys_prepared_for_one_seed_scatter_under_another(void **state)
{
	(void)state;
	enum { BUCKETS = 256, PREPARED = 1 << 14 };
	static uint32_t counts[BUCKETS];
	struct chance chance = { chance_seed() };
	struct hash_key known = hash_key_of(1), other = hash_key_of(chance_next(&chance));
	unsigned found = 0;
	memset(counts, 0, sizeof counts);
	for (uint64_t i = 0; found < PREPARED; i++) {
		if (multiply_high(hash_u64(&known, i), BUCKETS) != 7)
			continue;
		counts[multiply_high(hash_u64(&other, i), BUCKETS)]++;
		found++;
	}
	double most = chance_chi_square_most(BUCKETS - 1, 1e-7);
	check_note("chi-square %.0f of %.0f", chance_chi_square(counts, BUCKETS), most);
	expect(chance_chi_square(counts, BUCKETS) < most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_hash_to_known_answers),
		cmocka_unit_test(many_integers_hash_like_one),
		cmocka_unit_test(bytes_hash_to_known_answers),
		cmocka_unit_test(multipliers_are_odd_and_share_no_factor_with_2_128_less_1),
		cmocka_unit_test(different_integers_hardly_ever_share_a_hash),
		cmocka_unit_test(each_input_bit_flips_half_of_the_output_bits),
		cmocka_unit_test(regular_keys_spread_evenly),
		cmocka_unit_test(neighbouring_seeds_give_unrelated_hashes),
		cmocka_unit_test(keys_prepared_for_one_seed_scatter_under_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
