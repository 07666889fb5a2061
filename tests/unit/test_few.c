/* SPDX-License-Identifier: MIT
 *
 * Tests of base/few against a sorted array.
 */
#include "base/few.h"

#include "base/bits.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"

#define MOST 700

static const nidus_allocator system_memory = { 0 };

/* What is in a list: distinct records in order, with their copies. */
struct model {
	struct few_record record[MOST];
	uint64_t copies[MOST];
	size_t n;
};

static bool is_below(struct few_record a, struct few_record b)
{
	return a.number < b.number || (a.number == b.number && a.value < b.value);
}

static size_t place_of(const struct model *model, struct few_record record, bool *there)
{
	size_t i = 0;
	while (i < model->n && is_below(model->record[i], record))
		i++;
	*there = i < model->n && !is_below(record, model->record[i]);
	return i;
}

static void model_insert(struct model *model, struct few_record record, uint64_t copies)
{
	bool there;
	size_t i = place_of(model, record, &there);
	if (!there) {
		memmove(model->record + i + 1, model->record + i,
		        (model->n - i) * sizeof *model->record);
		memmove(model->copies + i + 1, model->copies + i,
		        (model->n - i) * sizeof *model->copies);
		model->record[i] = record;
		model->copies[i] = 0;
		model->n++;
	}
	model->copies[i] += copies;
}

static void model_remove(struct model *model, size_t i)
{
	if (--model->copies[i] > 0)
		return;
	model->n--;
	memmove(model->record + i, model->record + i + 1, (model->n - i) * sizeof *model->record);
	memmove(model->copies + i, model->copies + i + 1, (model->n - i) * sizeof *model->copies);
}

static void expect_as_modelled(const struct few *few, const struct model *model)
{
	struct few_place place = { 0, 0 };
	struct few_record record;
	expect_equal(few->count, model->n);
	expect(few_in_order(few));
	expect_equal(few_bytes(few), few_size(few->bits, few->value_bits, few->count));
	expect(few_bytes(few) <= few->size);
	for (size_t i = 0; i < model->n; i++) {
		struct few_place found = few_find(few, model->record[i]);
		expect(few_next(few, &place, &record));
		expect(record.number == model->record[i].number &&
		       record.value == model->record[i].value);
		expect_equal(found.index, i);
		expect_equal(few_copies_of(few, record), model->copies[i]);
	}
	expect(!few_next(few, &place, &record));
	for (uint64_t i = few_bytes(few); i < few->size; i++)
		expect_equal(few->bytes[i], 0);
}

/* The same records, put in from the last to the first, make the same bytes. */
static void expect_one_spelling(const struct few *few, const struct model *model)
{
	struct few again = { .bits = few->bits, .value_bits = few->value_bits };
	for (size_t i = model->n; i-- > 0;)
		expect_ok(few_insert(&again, model->record[i], model->copies[i], &system_memory));
	expect_equal(again.count, few->count);
	expect(model->n == 0 || memcmp(again.bytes, few->bytes, (size_t)few_bytes(few)) == 0);
	few_free(&again, &system_memory);
}

/* Numbers at random, or close to each other, so that some heads have most records. */
static struct few_record any_record(struct chance *chance, const struct few *few, bool close)
{
	uint64_t number = chance_next(chance) & bits_low(few->bits);
	if (close)
		number &= bits_low(few->bits / 2 + 1) | UINT64_C(1) << (few->bits - 1);
	return (struct few_record){ number, chance_next(chance) & bits_low(few->value_bits) };
}

static void run_history(struct chance *chance, struct few *few, struct model *model)
{
	unsigned steps = 1 + (unsigned)chance_below(chance, 2 * MOST);
	uint64_t rise = 2 + chance_below(chance, 7); /* of 10 steps */
	bool close = chance_below(chance, 3) == 0;
	for (unsigned step = 0; step < steps; step++) {
		if (model->n < MOST && (model->n == 0 || chance_below(chance, 10) < rise)) {
			struct few_record record = any_record(chance, few, close);
			uint64_t copies = 1 + (chance_below(chance, 8) == 0 ? 2 : 0);
			if (chance_below(chance, 9) == 0 && model->n > 0)
				record = model->record[chance_below(chance, model->n)];
			expect_ok(few_insert(few, record, copies, &system_memory));
			model_insert(model, record, copies);
		} else if (model->n > 0) {
			size_t i = (size_t)chance_below(chance, model->n);
			few_remove(few, model->record[i]);
			model_remove(model, i);
		}
	}
}

static void a_list_is_a_sorted_array(void **state)
{
	(void)state;
	static struct model model;
	struct chance chance = { chance_seed() };
	for (unsigned round = 0; round < 300; round++) {
		struct few few = { .bits = (uint8_t)(1 + chance_below(&chance, 64)) };
		if (chance_below(&chance, 2) == 0)
			few.value_bits = (uint8_t)chance_below(&chance, 33);
		model.n = 0;
		for (unsigned part = 0; part < 3; part++) {
			run_history(&chance, &few, &model);
			expect_as_modelled(&few, &model);
		}
		expect_one_spelling(&few, &model);
		while (model.n > 0) {
			few_remove(&few, model.record[model.n / 2]);
			model_remove(&model, model.n / 2);
		}
		expect_as_modelled(&few, &model);
		few_free(&few, &system_memory);
	}
}

/* Twelve thousand records of 33 bits: what inserts and removes leave in all that are left. */
static void long_lists_are_in_order(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	struct few few = { .bits = 33, .value_bits = 3 };
	for (unsigned i = 0; i < 12288; i++)
		expect_ok(few_insert(&few, any_record(&chance, &few, false), 1, &system_memory));
	expect(few_in_order(&few));
	expect(few.count > 12200 && few_bytes(&few) * 8 < few.count * UINT64_C(33 + 3 - 13 + 3));
	while (few.count > 0) {
		struct few_record record = any_record(&chance, &few, false);
		struct few_place place = few_find(&few, record);
		if (few_next(&few, &place, &record))
			few_remove(&few, record);
		expect(few.count % 1000 != 0 || few_in_order(&few));
	}
	few_free(&few, &system_memory);
}

/* The worked example of base/few.h. */
static void the_example_is_true(void **state)
{
	(void)state;
	static const unsigned char numbers[] = { 3, 40, 41, 200, 230, 255 };
	static const unsigned char rests[] = { 3, 8, 9, 8, 6, 31 };
	static const char heads[] = "10110000010110";
	struct few few = { .bits = 8 };
	for (unsigned i = 0; i < sizeof numbers; i++)
		expect_ok(
			few_insert(&few, (struct few_record){ numbers[i], 0 }, 1, &system_memory));
	expect_equal(few_bytes(&few), 8);
	uint64_t word = load64(few.bytes);
	for (unsigned i = 0; i < sizeof rests; i++, word >>= 5)
		expect_equal(word & 31, rests[i]);
	for (unsigned i = 0; i < sizeof heads - 1; i++, word >>= 1)
		expect_equal(word & 1, heads[i] - '0');
	expect_equal(word, 0);
	few_free(&few, &system_memory);
}

/* Whatever a mapped file has: no call reads beside it (a sanitizer tells), and none takes long. */
static void any_bits_can_be_asked(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned round = 0; round < 2000; round++) {
		struct few few = { .bits = (uint8_t)(4 + chance_below(&chance, 61)),
			           .count = (uint16_t)(1 + chance_below(&chance, 400)) };
		few.value_bits = (uint8_t)chance_below(&chance, 33);
		size_t size = (size_t)few_bytes(&few), asked = 0;
		unsigned char *bytes = malloc(size);
		assert_non_null(bytes);
		unsigned kind = (unsigned)chance_below(&chance, 3);
		for (size_t i = 0; i < size; i++)
			bytes[i] = kind == 0   ? (unsigned char)chance_next(&chance)
			           : kind == 1 ? 0
			                       : 255;
		few.bytes = bytes;
		struct few_place place = { 0, 0 };
		struct few_record record;
		while (few_next(&few, &place, &record)) {
			expect(record.number <= bits_low(few.bits));
			asked++;
		}
		expect(asked <= few.count);
		for (unsigned i = 0; i < 20; i++)
			(void)few_copies(&few, any_record(&chance, &few, i % 2).number);
		place = (struct few_place){ chance_next(&chance), chance_next(&chance) };
		(void)few_next(&few, &place, &record);
		(void)few_in_order(&few);
		free(bytes);
	}
}

/* Every single bit of a list that is turned over is found out, or makes another list in order. */
static void turned_bits_are_found_out(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	struct few few = { .bits = 12 };
	while (few.count < 300)
		expect_ok(few_insert(&few, any_record(&chance, &few, false), 1, &system_memory));
	uint64_t rests = few.count * UINT64_C(12 - 9);
	for (uint64_t bit = 0; bit < 8 * few_bytes(&few); bit++) {
		few.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		expect(bit < rests || !few_in_order(&few));
		few.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	expect(few_in_order(&few));
	few_free(&few, &system_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_a_sorted_array),
		cmocka_unit_test(long_lists_are_in_order),
		cmocka_unit_test(the_example_is_true),
		cmocka_unit_test(any_bits_can_be_asked),
		cmocka_unit_test(turned_bits_are_found_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
