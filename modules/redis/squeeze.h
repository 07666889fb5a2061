/* SPDX-License-Identifier: MIT
 *
 * squeeze: the image of a small filter with few bytes, for snapshots.
 *
 * Most of the header of an image is zero, or known from the header before it (dump.h). So
 * what is kept is where the image differs from a guess, in which all is zero but
 *
 *     magic, version, header size, the two sections with the offset of the first
 *     family, capacity, max_capacity, fpr    those of the recipe
 *     count, records of the list             the items
 *     offset of the stash                    the size of the image
 *     checksum of the stash                  that of no bytes
 *     segmented                              1
 *
 * The difference (XOR) is a row of tokens: a byte whose high four bits say how many zeros come, and
 * whose low four bits how many bytes follow it. 15 stands for 15 or more; the rest is a number behind the
 * token, seven bits to a byte as in dump.h, that of the zeros first. Any image can be kept like that: if a guess
 * is wrong it takes more bytes.
 */
#ifndef NIDUS_REDIS_SQUEEZE_H
#define NIDUS_REDIS_SQUEEZE_H

#include "recipe.h"

#define SQUEEZE_MOST ((size_t)16 << 10)                      /* bytes of an image */
#define SQUEEZED_MOST (SQUEEZE_MOST + SQUEEZE_MOST / 4 + 16) /* bytes that one may take */

/* Squeezes an image of at most SQUEEZE_MOST bytes; gives how many there are then. */
size_t squeeze(const struct recipe *recipe, uint64_t items, unsigned char *image, size_t size,
               unsigned char *squeezed);

/* The way back, of bytes that may be anything. False: they are no image of this size. */
bool unsqueeze(const struct recipe *recipe, uint64_t items, const unsigned char *squeezed,
               size_t squeezed_size, unsigned char *image, size_t size);

#endif
