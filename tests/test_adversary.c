/* SPDX-License-Identifier: MIT
 *
 * An adversary who knows one filter's seed: what is prepared against it must be
 * harmless to a filter with another.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define TWINS 64

/* Finds keys that a filter with one key in it takes for that key. */
static void prepare(const nidus_filter *victim, uint64_t *keys)
{
	unsigned found = 0;
	for (uint64_t key = 2; found < TWINS; key++) {
		if (nidus_contains_u64(victim, key))
			keys[found++] = key;
	}
}

static unsigned how_many_fit(const struct shape *shape, uint64_t seed, const uint64_t *keys)
{
	nidus_filter *filter = shape_create(shape, TWINS, seed);
	unsigned fit = 0;
	while (fit < TWINS && nidus_insert_u64(filter, keys[fit]) == NIDUS_OK)
		fit++;
	nidus_free(filter);
	return fit;
}

/* How many of the others are taken for the first one. */
static uint64_t strangers_found(const struct shape *shape, uint64_t seed, const uint64_t *keys)
{
	nidus_filter *filter = shape_create(shape, TWINS, seed);
	uint64_t found = 0;
	expect_ok(nidus_insert_u64(filter, keys[0]));
	for (unsigned i = 1; i < TWINS; i++)
		found += nidus_contains_u64(filter, keys[i]);
	nidus_free(filter);
	return found;
}

static void attack(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t keys[TWINS], known = 1 + chance_next(chance) / 2, secret = known + 1;
	if (!(nidus_family_features(shape->family->id) & NIDUS_DELETE))
		return;
	nidus_filter *victim = shape_create(shape, TWINS, known);
	expect_ok(nidus_insert_u64(victim, 1));
	prepare(victim, keys);
	nidus_free(victim);
	/* Where the seed is known they are all one key: the filter takes few, and says so. */
	expect_equal(strangers_found(shape, known, keys), TWINS - 1);
	expect(how_many_fit(shape, known, keys) < 48);
	/* With the next seed they are keys like any: one in fifteen at most takes another's place. */
	expect_equal(how_many_fit(shape, secret, keys), TWINS);
	expect(strangers_found(shape, secret, keys) <= chance_most(TWINS, 0x1p-4, 1e-9));
}

static void keys_that_collide_under_one_seed_do_not_under_another(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 6, attack, &chance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_collide_under_one_seed_do_not_under_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
