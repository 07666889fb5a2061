/* SPDX-License-Identifier: MIT
 *
 * directory_parts: what the files of the directory share.
 */
#ifndef NIDUS_API_DIRECTORY_PARTS_H
#define NIDUS_API_DIRECTORY_PARTS_H

#include <string.h>

#include "api/directory.h"

/* The bodies of a leaf are never quite even: so much of what they could take together. */
#define UNEVEN 0.975

#define PART_BITS_MOST 52 /* of a part, borrowed ones counted */

extern const struct body_ops directory_ops, directory_shared_ops;

struct leaf *directory_leaf(const struct directory *directory, uint64_t hash);
void *directory_body(const struct directory *directory, uint64_t hash);
void directory_prefetch(const void *body, uint64_t hash);

/* Makes a body: an empty one or one over a table. Errors: E_NOMEM. */
nidus_status directory_make_body(const struct directory *directory, unsigned part_bits, bool third,
                                 unsigned char *table, void **body);
void directory_free_body(const struct directory *directory, void *body);

/* Makes a leaf, its bodies empty or over tables. Errors: E_NOMEM. */
nidus_status directory_make_leaf(const struct directory *directory, uint64_t first, unsigned depth,
                                 unsigned bodies, unsigned char *const *tables, struct leaf **made);
void directory_free_leaf(const struct directory *directory, struct leaf *leaf);

/* Parts of either half that are the third body's where so many bits are left; 0: none can be. */
uint64_t directory_third(const struct directory *directory, unsigned part_bits);

/* Bytes of the table of a body of such a leaf. */
uint64_t directory_table_bytes(const struct directory *directory, unsigned depth, unsigned bodies);

/* Makes an index of a depth, at least the present one, with the leaves that there are. */
nidus_status directory_make_index(struct directory *directory, unsigned depth);

/* Makes a leaf part of the directory, whose index is deep enough. */
void directory_enter(struct directory *directory, struct leaf *leaf);

/* Entries of a leaf, and how many it takes. */
uint64_t directory_leaf_count(const struct directory *directory, const struct leaf *leaf);
uint64_t directory_leaf_keys(const struct directory *directory, const struct leaf *leaf);

/* The lowest hash, from one on, that has no bits but those that count. */
uint64_t directory_round(const struct directory *directory, uint64_t hash);

/* Makes leaves of a list; frees all leaves. */
nidus_status directory_plant(struct directory *directory);
void directory_uproot(struct directory *directory);

/* The next leaf from an entry of the index on; NULL behind the last. */
struct leaf *directory_next_leaf(const struct directory *directory, uint64_t *index);

/* What a struct family has for bodies, on directories. */
nidus_status directory_check(const struct family *inner, const struct blueprint *plan);
struct forecast directory_forecast(const struct family *inner, const struct blueprint *plan,
                                   uint64_t keys);
nidus_status directory_create(struct directory *directory, const struct family *inner,
                              const struct blueprint *plan, const nidus_allocator *allocator);
void directory_free(struct directory *directory);
void directory_clear(struct directory *directory);
nidus_status directory_copy(struct directory *to, const struct directory *from);
nidus_status directory_build(struct directory *directory, const uint64_t *hashes,
                             const uint64_t *values, size_t n);
uint64_t directory_count(const struct directory *directory);
struct fill directory_fill(const struct directory *directory);
nidus_status directory_verify(const struct directory *directory);
bool directory_next(const struct directory *directory, nidus_cursor *cursor, nidus_entry *entry);
nidus_status directory_entry_hash(const struct directory *directory, const nidus_entry *entry,
                                  uint64_t *hash);

/* Puts an entry into its leaf, by a hash without bits that do not count. */
nidus_status directory_put(struct directory *directory, uint64_t hash, uint64_t value);

#endif
