/* SPDX-License-Identifier: MIT
 *
 * feed: from bytes to numbers and options.
 */
#include "feed.h"

#include <math.h>
#include <string.h>

#include "api/filter.h"
#include "base/os.h"
#include "support/check.h"

unsigned feed_byte(struct feed *feed)
{
	if (feed->left == 0)
		return 0;
	feed->left--;
	return *feed->next++;
}

uint64_t feed_number(struct feed *feed, unsigned bytes)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)feed_byte(feed) << (8 * i);
	return number;
}

uint64_t feed_below(struct feed *feed, uint64_t below)
{
	unsigned bytes = 1;
	while (bytes < 8 && below - 1 >= UINT64_C(1) << (8 * bytes))
		bytes++;
	return feed_number(feed, bytes) % below;
}

/* -------------------------------------------------------------------- options -- */

static nidus_options wild_options(struct feed *feed)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	uint64_t rate = feed_number(feed, 8);
	memcpy(&options.fpr, &rate, sizeof rate);
	options.family = (nidus_family)(feed_byte(feed) % 16);
	options.capacity = feed_number(feed, 8);
	options.seed = 1 + feed_number(feed, 8) / 2;
	options.max_capacity = feed_number(feed, 8);
	options.slots = (unsigned)feed_number(feed, 4);
	options.features = (uint32_t)feed_number(feed, 4);
	options.max_steps = (unsigned)feed_number(feed, 4);
	options.reserve = (unsigned)feed_number(feed, 4);
	options.value_bits = feed_byte(feed) % 40;
	options.stash = (unsigned)feed_number(feed, 4);
	unsigned slices = feed_byte(feed);
	options.slices = slices < 192 ? 0 : slices;
	return options;
}

/* The number-th of the families that this library has, counted round and round. */
static nidus_family family_number(unsigned number)
{
	unsigned family = 0;
	for (unsigned i = 0; i <= number % 32; i++) {
		do {
			family = family % NIDUS_BLOCKED_BLOOM + 1;
		} while (nidus_family_features((nidus_family)family) == 0);
	}
	return (nidus_family)family;
}

#define ODD 0x80u /* in the first byte: options that hardly anybody sets are set */
#define WILD 0xffu

/* Up to 50, and now and then up to 900: small filters fill with few bytes and little work. */
static uint64_t feed_capacity(struct feed *feed)
{
	unsigned byte = feed_byte(feed);
	return byte < 250 ? 1 + byte / 5 : (byte - 249) * 150;
}

/* Mostly values; else a filter that forgets, of a family that can. */
static void feed_values_or_slices(struct feed *feed, nidus_options *options)
{
	unsigned byte = feed_byte(feed);
	if (byte < 240) {
		options->value_bits = byte % 16;
		return;
	}
	options->slices = 2 + byte % 16;
	options->family = (nidus_family)(NIDUS_BUCKETED + options->family % 3);
	options->slots = 0;
	options->features &= NIDUS_CONCURRENT;
	if (options->family == NIDUS_BUCKETED && byte % 2 == 0)
		options->features |= NIDUS_COMPACT;
	if (options->max_capacity == NIDUS_UNLIMITED)
		options->max_capacity = 0;
}

nidus_options feed_options(struct feed *feed)
{
	unsigned shape = feed_byte(feed);
	if (shape == WILD && feed_byte(feed) == WILD) /* hardly ever more than a refusal */
		return wild_options(feed);
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family_number(shape & 31);
	options.fpr = ldexp(1, -(int)(4 + feed_byte(feed) % 21));
	options.capacity = feed_capacity(feed);
	options.seed = 1 + feed_byte(feed);
	unsigned grows = feed_byte(feed);
	if (grows > 0)
		options.max_capacity = (options.capacity << grows % 5) + grows / 8;
	if (grows % 16 == 15) { /* without a size; half of them may be of any family */
		options.max_capacity = NIDUS_UNLIMITED;
		options.capacity *= grows / 32 % 2;
		options.features = grows < 128 ? NIDUS_NO_DELETE : 0;
	}
	options.max_steps = 20; /* short searches: small filters are often full */
	if (shape & ODD) {
		options.slots = feed_byte(feed) % 64;
		options.max_steps = (unsigned)feed_below(feed, 256);
		options.reserve = feed_byte(feed) % 4;
		options.stash = feed_byte(feed);
		if (options.stash == 255)
			options.stash = NIDUS_STASH_OFF;
		options.features |=
			feed_byte(feed) & (nidus_family_features(options.family) | NIDUS_FAST);
		feed_values_or_slices(feed, &options);
	}
	return options;
}

/* --------------------------------------------------------------------- memory -- */

static struct os_calls real;
static size_t largest;

static void *allocate_little(size_t size)
{
	return size <= largest ? real.allocate(size) : NULL;
}

static void *map_nothing(size_t size)
{
	(void)size; /* only blocks above the limit are mapped */
	return NULL;
}

/* Always the same bytes, so that an input does the same each time. */
static int same_random(void *bytes, size_t size)
{
	memset(bytes, 42, size);
	return 0;
}

void feed_tame_system(size_t largest_block)
{
	largest = largest_block;
	os.random = same_random;
	if (os.allocate == allocate_little)
		return;
	real = os;
	os.allocate = allocate_little;
	os.map_zeroed = map_nothing;
}

bool feed_can_save(const nidus_filter *filter)
{
	unsigned char none;
	nidus_status status = nidus_save_buffer(filter, &none, 0, NULL);
	expect(status == NIDUS_E_BUFFER || status == NIDUS_E_NOMEM);
	return status == NIDUS_E_BUFFER;
}
