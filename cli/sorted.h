/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_SORTED_H
#define NIDUS_CLI_SORTED_H

/**
 * @file sorted.h  Lookups in the order of the table, for sets that are larger than memory.
 *
 * Keys are kept until there are many. Then their hashes are looked up in ascending order, which is
 * that of their places in a set: so the disk is read in order, and each of its pages once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key_reader.h"
#include "nidus.h"

struct sorted {
	size_t most, n;    /* keys that there is room for, and that there are */
	size_t sets;       /* that are asked */
	bool text;         /* keys are printed later */
	char *bytes;       /* of all keys */
	size_t used, size; /* of them, and the room; no more than `bytes_most` */
	size_t bytes_most;
	size_t *end;      /* where each key ends in `bytes` */
	uint64_t *hash;   /* [sets][most] */
	uint8_t *yes;     /* [sets][most]: the answers */
	struct place *at; /* [2][most] */
};

/** Whether a set file is so large that memory does not hold it. */
bool sorted_is_worth_it(const char *path);

/** Room for as many keys as memory allows. EXIT_OK, or an exit code after a message. */
int sorted_begin(struct sorted *sorted, size_t sets, bool text);
void sorted_end(struct sorted *sorted);

/** Whether there is room for another batch. */
bool sorted_has_room(const struct sorted *sorted);

/** Keeps a batch of n keys; the hashes are those under each set's seed. EXIT_OK or an exit code. */
int sorted_keep(struct sorted *sorted, const struct keys *keys, size_t n,
                nidus_filter *const *filter);

/** Looks all of them up in one of the sets; sorted->yes has the answers. Gives how many are in. */
uint64_t sorted_ask(struct sorted *sorted, size_t set, const nidus_filter *filter);

/** Key number i. */
const char *sorted_key(const struct sorted *sorted, size_t i, size_t *length);

/** Forgets all keys. */
void sorted_forget(struct sorted *sorted);

#endif
