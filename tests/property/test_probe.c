/* SPDX-License-Identifier: MIT
 *
 * Tests of lookups in two halves: nidus_ask answers as nidus_contains_hash does at the same moment,
 * whatever happened since nidus_prepare.
 */
#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define PROBES 400

/* What a filter may be besides of a family. */
enum { FIXED, GROWING, UNLIMITED, SIZES };

static const char *const size_names[SIZES] = { "fixed", "growing", "unlimited" };

/* The options of a kind of filter; false if the family has none. */
static bool options_of(const struct family *family, unsigned size, uint32_t features,
                       nidus_options *options)
{
	*options = filter_options(size == FIXED ? 3000 : 300, 0.01, 5);
	options->family = family->id;
	options->features = features;
	if (features & ~family->features & ~(uint32_t)(NIDUS_NO_DELETE | NIDUS_COMPACT))
		return false;
	if (features & NIDUS_COMPACT && !family->compact)
		return false;
	if (size != FIXED && !(family->features & NIDUS_GROW))
		return false;
	if (size == GROWING) {
		options->max_capacity = 200000;
		options->value_bits = 3;
	}
	if (size == UNLIMITED) {
		options->max_capacity = NIDUS_UNLIMITED;
		options->capacity = 0;
		if (!generations_nest(family))
			options->features |= NIDUS_NO_DELETE;
	}
	return true;
}

typedef void visitor(const nidus_options *options, const struct family *family);

/* Every family, size and kind of locks; coded buckets, too. */
static void each_kind(visitor *visit)
{
	static const uint32_t features[] = { 0, NIDUS_CONCURRENT, NIDUS_COMPACT,
		                             NIDUS_COMPACT | NIDUS_CONCURRENT };
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned size = 0; size < SIZES; size++) {
			for (unsigned i = 0; i < 4; i++) {
				nidus_options options;
				if (!options_of(*family, size, features[i], &options))
					continue;
				check_note("%s, %s, features %x", (*family)->name,
				           size_names[size], options.features);
				visit(&options, *family);
			}
		}
	}
}

static void expect_as_contains(const nidus_filter *filter, const nidus_probe *probes)
{
	for (unsigned i = 0; i < PROBES; i++)
		expect_equal(nidus_ask(filter, &probes[i]),
		             nidus_contains_hash(filter, probes[i].hash));
}

/* Of keys that are there, of others that may come, and of hashes at the ends of their range. */
static void prepare_some(const nidus_filter *filter, uint64_t first, nidus_probe *probes)
{
	for (unsigned i = 0; i < PROBES - 2; i++)
		nidus_prepare_u64(filter, first + i, &probes[i]);
	nidus_prepare_hash(filter, 0, &probes[PROBES - 2]);
	nidus_prepare_hash(filter, UINT64_MAX, &probes[PROBES - 1]);
}

/* One that was packed may be full before. */
static void insert_until(nidus_filter *filter, uint64_t *next, uint64_t end)
{
	for (; *next < end; ++*next) {
		nidus_status status = nidus_insert_u64(filter, *next);
		expect(status == NIDUS_OK || status == NIDUS_FULL);
		if (status == NIDUS_FULL)
			break;
	}
}

/* Changes a filter in one of many ways; what it cannot do it refuses. */
static void change(nidus_filter *filter, const nidus_options *options, unsigned how, uint64_t *next)
{
	uint64_t size = nidus_size(filter);
	switch (how) {
	case 0: /* it may grow */
		insert_until(filter, next, *next + (options->max_capacity > 0 ? 1500 : 150));
		break;
	case 1:
		for (uint64_t key = *next - 100; key < *next; key++)
			(void)nidus_remove_u64(filter, key);
		break;
	case 2:
		(void)nidus_grow(filter, 2 * size + 1000);
		break;
	case 3:
		(void)nidus_shrink(filter, size);
		break;
	case 4:
		(void)nidus_pack(filter);
		break;
	default:
		expect_ok(nidus_clear(filter));
		*next = 0;
	}
}

static void change_in_between(const nidus_options *options, const struct family *family)
{
	struct chance chance = { chance_seed() };
	bool still = (family->features & NIDUS_STATIC) != 0;
	nidus_probe probes[PROBES];
	uint64_t next = still ? 3000 : 0;
	nidus_filter *filter = still ? filter_of_keys(options, 0, next) : filter_create(options);
	for (unsigned round = 0; round < (still ? 1 : 30); round++) {
		prepare_some(filter, next > 200 ? next - 200 : 0, probes);
		expect_as_contains(filter, probes);
		unsigned how = (unsigned)chance_below(&chance, 10);
		if (!still)
			change(filter, options, how < 6 ? how : 0, &next);
		expect_as_contains(filter, probes);
		if (nidus_size(filter) > 2000 && options->max_capacity == 0 && !still) {
			expect_ok(nidus_clear(filter));
			next = 0;
			expect_as_contains(filter, probes);
		}
	}
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void a_change_in_between_is_seen(void **state)
{
	(void)state;
	each_kind(change_in_between);
}

/* Filters that have grown from a list to segments and on, asked at every size with old probes. */
static void grow_in_between(const nidus_options *options, const struct family *family)
{
	nidus_probe probes[PROBES];
	uint64_t next = 0;
	if (options->max_capacity == 0)
		return;
	(void)family;
	nidus_filter *filter = filter_create(options);
	prepare_some(filter, 0, probes);
	for (uint64_t end = 50; end < 50000; end += end / 2) {
		insert_until(filter, &next, end);
		expect_as_contains(filter, probes);
		if (end % 4 == 0)
			prepare_some(filter, end - 50, probes);
	}
	for (uint64_t key = 0; key < 50; key++) {
		nidus_prepare_u64(filter, key, &probes[0]);
		expect(nidus_ask(filter, &probes[0]));
	}
	nidus_free(filter);
}

static void growth_in_between_is_seen(void **state)
{
	(void)state;
	each_kind(grow_in_between);
}

static void ask_another(const nidus_options *options, const struct family *family)
{
	(void)family;
	nidus_options larger = *options;
	nidus_probe probes[PROBES];
	larger.capacity += 2500;
	nidus_filter *one = filter_of_keys(options, 0, 300);
	nidus_filter *same = filter_of_keys(options, 200, 500);
	nidus_filter *other = filter_of_keys(&larger, 200, 1500);
	prepare_some(one, 0, probes);
	expect_as_contains(same, probes);
	expect_as_contains(other, probes);
	nidus_free(one);
	expect_as_contains(other, probes);
	nidus_free(same);
	nidus_free(other);
}

static void another_filter_answers_for_itself(void **state)
{
	(void)state;
	each_kind(ask_another);
}

/* With another hash in it, an answer by what was prepared is still that of the key. */
static void believe(const nidus_options *options, const struct family *family)
{
	unsigned by_hash = 0, n = 300;
	if (family->id == NIDUS_BLOOM || options->max_capacity > 0)
		return; /* works all out again anyway; some of its probes are of lists */
	nidus_filter *filter = filter_of_keys(options, 0, n);
	for (uint64_t key = 0; key < n; key++) {
		nidus_probe probe;
		nidus_prepare_u64(filter, key, &probe);
		probe.hash = nidus_hash_u64(filter, 1000000 + key);
		by_hash += !nidus_ask(filter, &probe);
	}
	/* Some lookups need more than the numbers: in lists, in the backyard, across stripes. */
	expect(by_hash < n / 3);
	nidus_free(filter);
}

static void what_was_prepared_is_used(void **state)
{
	(void)state;
	each_kind(believe);
}

static void all_spellings_are_prepared(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 1e-6, 3);
	nidus_filter *filter = filter_create(&options);
	nidus_probe probe;
	expect_ok(nidus_insert(filter, "heron", 5));
	expect_ok(nidus_insert_u64(filter, 7));
	nidus_prepare(filter, "heron", 5, &probe);
	expect(nidus_ask(filter, &probe));
	nidus_prepare(filter, "crane", 5, &probe);
	expect(!nidus_ask(filter, &probe));
	nidus_prepare_u64(filter, 7, &probe);
	expect(nidus_ask(filter, &probe));
	nidus_prepare_hash(filter, nidus_hash_u64(filter, 8), &probe);
	expect(!nidus_ask(filter, &probe));
	nidus_free(filter);
}

static void null_is_no_key(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.01, 3);
	nidus_filter *filter = filter_create(&options);
	nidus_probe probe, zero = { 0 };
	nidus_prepare_u64(NULL, 7, &probe);
	expect(!nidus_ask(NULL, &probe));
	expect(!nidus_ask(filter, NULL));
	expect_equal(nidus_ask(filter, &probe), nidus_contains_hash(filter, 0));
	nidus_prepare(filter, NULL, 5, &probe);
	expect_equal(probe.hash, 0);
	nidus_prepare_u64(filter, 7, NULL);
	nidus_prepare_hash(NULL, 7, NULL);
	expect_ok(nidus_insert_hash(filter, 0));
	expect(nidus_ask(filter, &zero));
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_in_between_is_seen),
		cmocka_unit_test(growth_in_between_is_seen),
		cmocka_unit_test(another_filter_answers_for_itself),
		cmocka_unit_test(what_was_prepared_is_used),
		cmocka_unit_test(all_spellings_are_prepared),
		cmocka_unit_test(null_is_no_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
