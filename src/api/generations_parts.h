/* SPDX-License-Identifier: MIT
 *
 * generations_parts: what the files of generations share.
 */
#ifndef NIDUS_API_GENERATIONS_PARTS_H
#define NIDUS_API_GENERATIONS_PARTS_H

#include "api/directory_parts.h"
#include "api/generations.h"

extern const struct body_ops generations_ops, generations_shared_ops;


/* A generation is full with so many keys left, a share of all that it takes. */
#define GENERATION_LEFT 64

/* An entry's home outside has the number of its generation in its highest bits. */
#define GENERATION_AT 60

/* Makes an empty directory the next generation, without leaves. Errors: E_NOMEM, E_RANGE. */
nidus_status generations_make_next(struct generations *generations);

/* Whether the youngest can have as much room as it says. Errors: E_CORRUPT. */
nidus_status generations_verify_room(const struct generations *generations);

/* What a struct family has for bodies, on generations. */
nidus_status generations_check(const struct family *inner, const struct blueprint *plan);
struct forecast generations_forecast(const struct family *inner, const struct blueprint *plan,
                                     uint64_t keys);
void generations_free(struct generations *generations);
void generations_clear(struct generations *generations);
nidus_status generations_copy(struct generations *to, const struct generations *from);
nidus_status generations_build(struct generations *generations, const uint64_t *hashes,
                               const uint64_t *values, size_t n);
uint64_t generations_count(const struct generations *generations);
struct fill generations_fill(const struct generations *generations);
nidus_status generations_verify(const struct generations *generations);
bool generations_next(const struct generations *generations, nidus_cursor *cursor,
                      nidus_entry *entry);
nidus_status generations_entry_hash(const struct generations *generations, const nidus_entry *entry,
                                    uint64_t *hash);
nidus_entry generations_identity(const struct generations *generations, uint64_t hash);

#endif
