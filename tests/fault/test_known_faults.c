/* SPDX-License-Identifier: MIT
 *
 * Faults that were mended, and that nothing else in the first part of the tests notices if they
 * come back: fuzzing found them, with inputs that mean something else today.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

/* ---------------------------------------------------------- inserts that are refused -- */

#define ROUNDS 800

static bool same_promises(const nidus_info *a, const nidus_info *b)
{
	return a->capacity == b->capacity && a->max_capacity == b->max_capacity &&
	       a->fpr_target == b->fpr_target && a->count == b->count && a->bytes == b->bytes;
}

/* Whether a key went in. One that did not must have changed nothing that a filter promises. */
static bool put(nidus_filter *filter, uint64_t key)
{
	nidus_info before = info_of(filter);
	if (nidus_insert_u64(filter, key) == NIDUS_OK)
		return true;
	nidus_info after = info_of(filter);
	check_note("capacity %llu of at most %llu, then %llu", (unsigned long long)before.capacity,
	           (unsigned long long)before.max_capacity, (unsigned long long)after.capacity);
	expect(same_promises(&before, &after));
	return false;
}

/* Copies of a few keys, which let no filter grow: then it holds more than it promises. */
static void put_copies(nidus_filter *filter, uint64_t most, struct chance *chance)
{
	uint64_t keys = 1 + chance_below(chance, 8), n = 1 + chance_below(chance, 2 * most);
	for (uint64_t i = 0; i < n && put(filter, i % keys); i++) {
	}
}

/* Other keys until some were refused, or there are more of them than a filter could want. */
static unsigned put_others(nidus_filter *filter, uint64_t most, struct chance *chance)
{
	unsigned refused = 0;
	uint64_t n = chance_below(chance, 2) ? 1 + chance_below(chance, most) : 8 * most;
	for (uint64_t i = 0; i < n && refused < 5; i++)
		refused += !put(filter, UINT64_C(1) << 40 | chance_next(chance) >> 30);
	return refused;
}

static void overfill(const struct shape *shape, void *context)
{
	struct chance chance = { chance_seed() };
	unsigned *refused = context;
	static const unsigned stashes[] = { 0, 0, 1, 2, 3, NIDUS_STASH_OFF };
	if (!(shape->family->features & NIDUS_GROW))
		return;
	for (unsigned round = 0; round < (check_small() ? ROUNDS / 10 : ROUNDS); round++) {
		nidus_options options = shape_options(shape, 1 + chance_below(&chance, 50), 5);
		uint64_t most = options.capacity + 1;
		most += chance_below(&chance, options.capacity * 20);
		options.max_capacity = most;
		options.stash = stashes[chance_below(&chance, sizeof stashes / sizeof *stashes)];
		nidus_filter *filter;
		if (nidus_create(&options, &filter) != NIDUS_OK)
			continue; /* without a stash not every family grows */
		for (unsigned act = 0; act < 5; act++) {
			if (chance_below(&chance, 2))
				put_copies(filter, most, &chance);
			else
				*refused += put_others(filter, most, &chance);
		}
		nidus_free(filter);
	}
}

/* A filter that held more than it promised once promised more when it refused a key. */
static void a_refused_insert_raises_no_promise(void **state)
{
	(void)state;
	unsigned refused = 0;
	each_layout(8, 8, overfill, &refused);
	expect(refused > 0);
}

/* --------------------------------------------------------------- files that are forged -- */

#define AT_MAX_CAPACITY 40 /* in the header, see docs/format.md */

static void expect_forged(struct bytes *bytes, uint64_t max_capacity)
{
	nidus_filter *filter;
	store64(bytes->data + AT_MAX_CAPACITY, max_capacity);
	bytes_seal(bytes);
	check_note("max capacity %llu", (unsigned long long)max_capacity);
	expect_status(nidus_load_buffer(bytes->data, bytes->size, NULL, &filter), NIDUS_E_FORMAT);
	expect_status(nidus_open_buffer(bytes->data, bytes->size, 0, &filter), NIDUS_E_FORMAT);
}

/* A filter that was made with a fixed size has no bits to grow by, whatever its file says. */
static void a_forged_max_capacity_is_refused(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_options options = filter_options(2000, 0.001, 7);
		options.family = (*family)->id;
		nidus_filter *filter = filter_of_keys(&options, 0, 1500);
		struct bytes bytes = bytes_save(filter);
		for (uint64_t max_capacity = 8000; max_capacity < UINT64_C(1) << 62;
		     max_capacity *= 9)
			expect_forged(&bytes, max_capacity);
		expect_forged(&bytes, UINT64_MAX);
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_insert_raises_no_promise),
		cmocka_unit_test(a_forged_max_capacity_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
