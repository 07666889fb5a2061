/* SPDX-License-Identifier: MIT
 *
 * copies: which family holds keys that come several times, and how large it must be.
 *
 * Copies of a key all have the same few places, so they crowd: families differ in how
 * much larger a table must be for many keys with copies. What finds no place all the same is
 * listed, exactly, but not in so little space. Each family that will do makes an offer; the best one is tried, and
 * where it proves too small it is made larger and offered again.
 */
#ifndef NIDUS_API_COPIES_H
#define NIDUS_API_COPIES_H

#include "family/family.h"

#define OFFERS_MOST (2 * FAMILIES) /* with the slots asked for, and with eight */

struct offer {
	const struct family *family; /* NULL: withdrawn */
	unsigned slots;              /* as in nidus_options */
	uint64_t capacity;
	double fpr;     /* lower than asked for where twins have too many copies together */
	uint64_t list;  /* bytes of lists beside the table, about */
	uint64_t bytes; /* of both */
};

struct offers {
	const nidus_options *options;
	uint64_t n;    /* keys, copies counted */
	unsigned last; /* the one tried last */
	struct offer offer[OFFERS_MOST];
};

/*
 * The offers for n ascending hashes, by the options' family or by all.
 * Errors: COPIES (a key has more copies than any filter holds), and what the only
 * family answers to the options.
 */
nidus_status offers_make(struct offers *offers, const nidus_options *options,
                         const uint64_t *hashes, size_t n);

/* Options that take the best offer; false if there is none left. */
bool offers_take(struct offers *offers, nidus_options *options);

/* The bytes that the offer taken last promises. */
uint64_t offers_bytes(const struct offers *offers);

/* The offer that was taken answered FULL or COPIES: makes it larger, or withdraws it. */
void offers_refuse(struct offers *offers, nidus_status status);

/* Places that ascending hashes take at most: copies of one entry beyond a few are only counted. */
uint64_t copies_places(const struct family *family, const struct blueprint *plan,
                       const uint64_t *hashes, const uint64_t *values, size_t n);

#endif
