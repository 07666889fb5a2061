/* SPDX-License-Identifier: MIT
 *
 * model: an exact multiset of the keys 0 to n - 1, what a filter approximates.
 *
 * A key number is spelled in one of the API's three ways, always the same one,
 * so that all of them are exercised and none is mistaken for another.
 */
#ifndef NIDUS_TESTS_SUPPORT_MODEL_H
#define NIDUS_TESTS_SUPPORT_MODEL_H

#include "nidus.h"
#include "support/chance.h"

struct model {
	uint32_t *copies; /* of each key */
	uint64_t keys;
	uint64_t total; /* copies of all keys */
};

void model_create(struct model *model, uint64_t keys);
void model_free(struct model *model);
void model_clear(struct model *model);
void model_add(struct model *model, uint64_t key);
void model_drop(struct model *model, uint64_t key);

/* A key that has copies; false if there is none. */
bool model_any(const struct model *model, struct chance *chance, uint64_t *key);

/* The calls of nidus.h for key number `key`, in its spelling. */
nidus_status spelled_insert(nidus_filter *filter, uint64_t key);
nidus_status spelled_insert_new(nidus_filter *filter, uint64_t key);
nidus_status spelled_remove(nidus_filter *filter, uint64_t key);
bool spelled_contains(const nidus_filter *filter, uint64_t key);
uint64_t spelled_count(const nidus_filter *filter, uint64_t key);
uint64_t spelled_hash(const nidus_filter *filter, uint64_t key);
nidus_status spelled_insert_value(nidus_filter *filter, uint64_t key, uint64_t value);
nidus_status spelled_remove_value(nidus_filter *filter, uint64_t key, uint64_t value);
nidus_status spelled_replace_value(nidus_filter *filter, uint64_t key, uint64_t old,
                                   uint64_t fresh);
nidus_status spelled_add_count(nidus_filter *filter, uint64_t key, uint64_t delta);
size_t spelled_find(const nidus_filter *filter, uint64_t key, uint64_t *values, size_t cap);

#endif
