/* SPDX-License-Identifier: MIT
 *
 * model: an array of counts, and the three spellings.
 */
#include "support/model.h"

#include "support/check.h"

void model_create(struct model *model, uint64_t keys)
{
	*model = (struct model){ .keys = keys };
	model->copies = check_alloc(keys * sizeof *model->copies);
	model_clear(model);
}

void model_free(struct model *model)
{
	free(model->copies);
	*model = (struct model){ 0 };
}

void model_clear(struct model *model)
{
	memset(model->copies, 0, model->keys * sizeof *model->copies);
	model->total = 0;
}

void model_add(struct model *model, uint64_t key)
{
	model->copies[key]++;
	model->total++;
}

void model_drop(struct model *model, uint64_t key)
{
	expect(model->copies[key] > 0);
	model->copies[key]--;
	model->total--;
}

bool model_any(const struct model *model, struct chance *chance, uint64_t *key)
{
	if (model->total == 0)
		return false;
	*key = chance_below(chance, model->keys);
	while (model->copies[*key] == 0)
		*key = (*key + 1) % model->keys;
	return true;
}

/* ----------------------------------------------------------------- spellings -- */

enum spelling { AS_BYTES, AS_NUMBER, AS_HASH };

static enum spelling spelling_of(uint64_t key)
{
	return (enum spelling)(key % 3);
}

/*
 * Key 0 is the empty key; the others are the bytes of the number up to its highest,
 * and up to six zero bytes behind them, so that there are several lengths.
 */
static size_t bytes_of(uint64_t key, char text[16])
{
	size_t length = 0;
	memset(text, 0, 16);
	for (uint64_t rest = key; rest > 0; rest >>= 8)
		text[length++] = (char)(rest & 0xff);
	return key == 0 ? 0 : length + key % 7;
}

uint64_t spelled_hash(const nidus_filter *filter, uint64_t key)
{
	char text[16];
	if (spelling_of(key) == AS_BYTES)
		return nidus_hash(filter, text, bytes_of(key, text));
	return nidus_hash_u64(filter, key);
}

nidus_status spelled_insert(nidus_filter *filter, uint64_t key)
{
	char text[16];
	switch (spelling_of(key)) {
	case AS_BYTES:
		return nidus_insert(filter, text, bytes_of(key, text));
	case AS_NUMBER:
		return nidus_insert_u64(filter, key);
	default:
		return nidus_insert_hash(filter, nidus_hash_u64(filter, key));
	}
}

nidus_status spelled_insert_new(nidus_filter *filter, uint64_t key)
{
	char text[16];
	switch (spelling_of(key)) {
	case AS_BYTES:
		return nidus_insert_new(filter, text, bytes_of(key, text));
	case AS_NUMBER:
		return nidus_insert_new_u64(filter, key);
	default:
		return nidus_insert_new_hash(filter, nidus_hash_u64(filter, key));
	}
}

nidus_status spelled_remove(nidus_filter *filter, uint64_t key)
{
	char text[16];
	switch (spelling_of(key)) {
	case AS_BYTES:
		return nidus_remove(filter, text, bytes_of(key, text));
	case AS_NUMBER:
		return nidus_remove_u64(filter, key);
	default:
		return nidus_remove_hash(filter, nidus_hash_u64(filter, key));
	}
}

bool spelled_contains(const nidus_filter *filter, uint64_t key)
{
	char text[16];
	switch (spelling_of(key)) {
	case AS_BYTES:
		return nidus_contains(filter, text, bytes_of(key, text));
	case AS_NUMBER:
		return nidus_contains_u64(filter, key);
	default:
		if (key % 2 == 0)
			return nidus_contains_hash(filter, nidus_hash_u64(filter, key));
		nidus_probe probe;
		nidus_prepare_u64(filter, key, &probe);
		return nidus_ask(filter, &probe);
	}
}

uint64_t spelled_count(const nidus_filter *filter, uint64_t key)
{
	char text[16];
	switch (spelling_of(key)) {
	case AS_BYTES:
		return nidus_count_key(filter, text, bytes_of(key, text));
	case AS_NUMBER:
		return nidus_count_key_u64(filter, key);
	default:
		return nidus_count_key_hash(filter, nidus_hash_u64(filter, key));
	}
}

/* A call with more arguments than the key, in the key's spelling. */
#define SPELL(call, ...)                                                              \
	do {                                                                          \
		char text[16];                                                        \
		if (spelling_of(key) == AS_BYTES)                                     \
			return call(filter, text, bytes_of(key, text), __VA_ARGS__);  \
		if (spelling_of(key) == AS_NUMBER)                                    \
			return call##_u64(filter, key, __VA_ARGS__);                  \
		return call##_hash(filter, nidus_hash_u64(filter, key), __VA_ARGS__); \
	} while (0)

nidus_status spelled_insert_value(nidus_filter *filter, uint64_t key, uint64_t value)
{
	SPELL(nidus_insert_value, value);
}

nidus_status spelled_remove_value(nidus_filter *filter, uint64_t key, uint64_t value)
{
	SPELL(nidus_remove_value, value);
}

nidus_status spelled_replace_value(nidus_filter *filter, uint64_t key, uint64_t old, uint64_t fresh)
{
	SPELL(nidus_replace_value, old, fresh);
}

nidus_status spelled_add_count(nidus_filter *filter, uint64_t key, uint64_t delta)
{
	SPELL(nidus_add_count, delta);
}

size_t spelled_find(const nidus_filter *filter, uint64_t key, uint64_t *values, size_t cap)
{
	SPELL(nidus_find, values, cap);
}
