/* SPDX-License-Identifier: MIT
 *
 * ribbon lookup: looking keys up, and back substitution, once per tier.
 *
 * A template: a tier defines columns8 and LOOKUP_TIER, and includes this. columns8(a, b, low,
 * high) gives eight bits, one for each of eight columns that begin at `a` in a block and at `b`
 * in the next: the parity of what the masks pick in both words. Words behind a block's last
 * column may be read, too: the table ends with RIBBON_SLACK bytes for that.
 */
#include "ribbon/ribbon.h"

#define AHEAD 32 /* keys of a batch that are fetched at a time */

/* The two blocks of a window, and the parts of the mask for each. */
struct place {
	const unsigned char *first, *second;
	uint64_t low, high;
	bool longer; /* both blocks have the column more */
};

ALWAYS_INLINE struct place place_of(const struct ribbon_matrix *matrix,
                                    const struct ribbon_layer *layer, uint64_t window,
                                    uint64_t mask)
{
	uint64_t block = ribbon_block(window);
	unsigned shift = window % RIBBON_WIDTH;
	struct place place = {
		.first = layer->blocks + 8 * ribbon_words(layer, matrix->columns, block),
		.low = mask << shift,
		.high = mask >> 1 >> (RIBBON_WIDTH - 1 - shift),
		.longer = block + 1 < layer->split,
	};
	place.second = place.first + 8 * (matrix->columns + (block < layer->split));
	return place;
}

ALWAYS_INLINE unsigned eight_at(const struct place *place, unsigned column)
{
	return columns8(place->first + 8 * column, place->second + 8 * column, place->low,
	                place->high);
}

ALWAYS_INLINE unsigned one_at(const struct place *place, unsigned column)
{
	uint64_t picked = (load64(place->first + 8 * column) & place->low) ^
	                  (load64(place->second + 8 * column) & place->high);
	return (unsigned)__builtin_parityll(picked);
}

/* Whether the fingerprint of a key stands at its place. */
ALWAYS_INLINE bool has_print(const struct ribbon *ribbon, const struct place *place, uint64_t print)
{
	unsigned bits = ribbon->print_bits;
	uint64_t rest = print;
	if (((eight_at(place, 0) ^ rest) & bits_low(bits < 8 ? bits : 8)) != 0)
		return false;
	for (unsigned column = 8; column < bits; column += 8) {
		rest >>= 8;
		unsigned left = bits - column < 8 ? bits - column : 8;
		if (((eight_at(place, column) ^ rest) & bits_low(left)) != 0)
			return false;
	}
	return !place->longer || one_at(place, ribbon->keys.columns) == (print >> bits & 1);
}

ALWAYS_INLINE uint64_t value_at(const struct ribbon *ribbon, const struct place *place)
{
	uint64_t value = 0;
	for (unsigned bit = 0; bit < ribbon->value_bits; bit += 8)
		value |= (uint64_t)eight_at(place, ribbon->print_bits + bit) << bit;
	return value & bits_low(ribbon->value_bits);
}

/* What the second matrix says of a key that the first has let pass. */
static bool judge(const struct ribbon *ribbon, uint64_t hash)
{
	uint64_t window, there = hash;
	const struct ribbon_layer *layer = ribbon_layer_of(&ribbon->verdict, &there, &window);
	if (layer == NULL) {
		const struct ribbon_entry *entry = ribbon_listed(ribbon, hash);
		return entry != NULL && entry->value != 0;
	}
	struct place place = place_of(&ribbon->verdict, layer, window, ribbon_mask(there) | 1);
	return one_at(&place, 0);
}

/* A key that layer 0 has bumped; its value, unless that is NULL. */
NEVER_INLINE bool find_bumped(const struct ribbon *ribbon, uint64_t hash, uint64_t *value)
{
	uint64_t window, there = hash;
	const struct ribbon_layer *layer = ribbon_layer_of(&ribbon->keys, &there, &window);
	if (layer == NULL) {
		const struct ribbon_entry *entry = ribbon_listed(ribbon, hash);
		bool found = entry != NULL && (ribbon->verdict.layers == 0 || entry->value != 0);
		if (found && value != NULL)
			*value = entry->value;
		return found;
	}
	uint64_t mask = ribbon_mask(there);
	struct place place = place_of(&ribbon->keys, layer, window, mask | 1);
	if (!has_print(ribbon, &place, ribbon_print(mask)))
		return false;
	if (value != NULL)
		*value = value_at(ribbon, &place);
	return ribbon->verdict.layers == 0 || judge(ribbon, hash);
}

/* A key that belongs to layer 0, and its mask. */
ALWAYS_INLINE bool find_by(const struct ribbon *ribbon, uint64_t hash, uint64_t window,
                           uint64_t mask, uint64_t *value)
{
	struct place place = place_of(&ribbon->keys, &ribbon->keys.layer[0], window, mask | 1);
	if (!has_print(ribbon, &place, ribbon_print(mask)))
		return false;
	if (value != NULL)
		*value = value_at(ribbon, &place);
	return LIKELY(ribbon->verdict.layers == 0) || judge(ribbon, hash);
}

ALWAYS_INLINE bool find_at(const struct ribbon *ribbon, uint64_t hash, uint64_t window,
                           uint64_t *value)
{
	return find_by(ribbon, hash, window, ribbon_mask(hash), value);
}

ALWAYS_INLINE bool find(const struct ribbon *ribbon, uint64_t hash, uint64_t *value)
{
	uint64_t window = ribbon_window(&ribbon->keys.layer[0], hash);
	if (UNLIKELY(ribbon->count == 0))
		return false;
	return UNLIKELY(ribbon_bumped(&ribbon->keys.layer[0], window))
	               ? find_bumped(ribbon, hash, value)
	               : find_at(ribbon, hash, window, value);
}

static bool contains(const void *body, uint64_t hash)
{
	return find(body, hash, NULL);
}

static uint64_t count(const void *body, uint64_t hash)
{
	return find(body, hash, NULL);
}

static size_t find_values(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	uint64_t value;
	if (!find(body, hash, &value))
		return 0;
	if (cap > 0)
		values[0] = value;
	return 1;
}

/* Asks for the lines of a window that a lookup begins with. */
ALWAYS_INLINE void fetch(const struct ribbon *ribbon, uint64_t window)
{
	struct place place = place_of(&ribbon->keys, &ribbon->keys.layer[0], window, 1);
	unsigned bits = ribbon->print_bits < 8 ? ribbon->print_bits : 8;
	PREFETCH(place.first);
	PREFETCH(place.second);
	PREFETCH(place.second + 8 * bits - 1);
}

/* What the numbers of a probe are (base/probe.h). */
enum { PROBE_WINDOW, PROBE_MASK };

static void prepare(const void *body, uint64_t hash, nidus_probe *probe)
{
	const struct ribbon *ribbon = body;
	uint64_t window = ribbon_window(&ribbon->keys.layer[0], hash);
	fetch(ribbon, window);
	probe->hash = hash;
	probe->version = ribbon->version;
	probe->number[PROBE_WINDOW] = window;
	probe->number[PROBE_MASK] = ribbon_mask(hash);
}

static bool ask(const void *body, const nidus_probe *probe)
{
	const struct ribbon *ribbon = body;
	uint64_t window = probe->number[PROBE_WINDOW];
	if (UNLIKELY(probe->version != ribbon->version))
		return contains(ribbon, probe->hash);
	if (UNLIKELY(ribbon->count == 0))
		return false;
	return UNLIKELY(ribbon_bumped(&ribbon->keys.layer[0], window))
	               ? find_bumped(ribbon, probe->hash, NULL)
	               : find_by(ribbon, probe->hash, window, probe->number[PROBE_MASK], NULL);
}

/* Finds up to AHEAD keys; values[i] is 0 for those that are not there, unless it is NULL. */
ALWAYS_INLINE void find_some(const struct ribbon *ribbon, const uint64_t *hashes, size_t n,
                             uint8_t *yes, uint64_t *values)
{
	uint64_t window[AHEAD];
	for (size_t i = 0; i < n; i++) {
		window[i] = ribbon_window(&ribbon->keys.layer[0], hashes[i]);
		fetch(ribbon, window[i]);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t *value = values != NULL ? &values[i] : NULL;
		if (value != NULL)
			*value = 0;
		yes[i] = UNLIKELY(ribbon_bumped(&ribbon->keys.layer[0], window[i]))
		                 ? find_bumped(ribbon, hashes[i], value)
		                 : find_at(ribbon, hashes[i], window[i], value);
		if (value != NULL && !yes[i])
			*value = 0;
	}
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const struct ribbon *ribbon = body;
	if (ribbon->count == 0) {
		memset(yes, 0, n);
		return;
	}
	for (size_t i = 0; i < n; i += AHEAD)
		find_some(ribbon, hashes + i, n - i < AHEAD ? n - i : AHEAD, yes + i, NULL);
}

static void find_batch(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                       uint32_t *found)
{
	const struct ribbon *ribbon = body;
	for (size_t i = 0; i < n; i += AHEAD) {
		uint8_t yes[AHEAD] = { 0 };
		size_t some = n - i < AHEAD ? n - i : AHEAD;
		if (ribbon->count == 0)
			memset(first + i, 0, some * sizeof *first);
		else
			find_some(ribbon, hashes + i, some, yes, first + i);
		for (size_t j = 0; j < some; j++)
			found[i + j] = yes[j];
	}
}

/* ---------------------------------------------------------------- back substitution -- */

/*
 * Eight columns at a time, from the last row up: state[j] is column j of the 64 rows from this
 * one on, which the equation's mask picks from, and of whole blocks it is a word of the table.
 */
static void solve8(const uint64_t *equations, uint64_t rows, unsigned first, unsigned wanted,
                   unsigned columns, uint64_t split, unsigned char *blocks)
{
	uint64_t state[8] = { 0 };
	for (uint64_t row = rows; row-- > 0;) {
		uint64_t mask = equations[2 * row] >> 1, right = equations[2 * row + 1] >> first;
#pragma GCC unroll 8
		for (unsigned j = 0; j < 8; j++) {
			unsigned parity = (unsigned)__builtin_parityll(state[j] & mask);
			state[j] = state[j] << 1 | ((parity ^ right >> j) & 1);
		}
		if (row % RIBBON_WIDTH != 0)
			continue;
		uint64_t block = row / RIBBON_WIDTH;
		unsigned width = columns + (block < split);
		unsigned char *words =
			blocks + 8 * (block * columns + (block < split ? block : split));
		for (unsigned j = 0; j < wanted && first + j < width; j++)
			store64(words + 8 * (first + j), state[j]);
	}
}

static void solve(const uint64_t *equations, uint64_t rows, unsigned columns, uint64_t split,
                  unsigned char *blocks)
{
	unsigned all = columns + (split > 0);
	for (unsigned first = 0; first < all; first += 8)
		solve8(equations, rows, first, all - first < 8 ? all - first : 8, columns, split,
		       blocks);
}

/* --------------------------------------------------------------------- the tier -- */

const struct ribbon_ops LOOKUP_TIER = {
	.body = {
		.contains = contains,
		.prepare = prepare,
		.ask = ask,
		.count = count,
		.find = find_values,
		.insert = ribbon_refuse_insert,
		.insert_value = ribbon_refuse_value,
		.insert_new = ribbon_refuse_insert,
		.change = ribbon_refuse_change,
		.contains_batch = contains_batch,
		.find_batch = find_batch,
		.insert_batch = ribbon_refuse_batch,
	},
	.solve = solve,
};

#undef AHEAD
#undef LOOKUP_TIER
