/* SPDX-License-Identifier: MIT
 *
 * ribbon: the layout, the life of a table, its list, and what can be checked of it.
 */
#include "ribbon/ribbon.h"

#include "base/probe.h"
#include "base/reason.h"
#include "simd/isa.h"

#define LINE 64

/* ------------------------------------------------------------------------- layout -- */

/*
 * A layer gets windows for 39/40 of its keys: a band that is full to the last row leaves a
 * fortieth of them to the next one, which is less than the rows that would stay free
 * otherwise (docs/algorithms/ribbon.md has the measurement). The last layer is small, and has
 * room to spare, since an entry in the list costs more than a row.
 */
#define LAST_LAYER 2048

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return divide_up(n, to) * to;
}

static uint64_t windows_for(uint64_t keys)
{
	uint64_t windows = keys > LAST_LAYER ? keys - keys / 40 : keys + keys / 32;
	return windows > 0 ? round_up(windows, RIBBON_WIDTH) : RIBBON_WIDTH;
}

/* Keys that a layer bumps, or a few more. */
static uint64_t bumped_of(uint64_t keys)
{
	return keys > LAST_LAYER ? keys / 36 : 0;
}

/* Windows whose blocks both lie before a block. */
static uint64_t windows_before(const struct ribbon_layer *layer, uint64_t split)
{
	const uint64_t blocks = RIBBON_SHARD / RIBBON_WIDTH + 1;
	if (split == 0)
		return 0;
	uint64_t shards = split / blocks, rest = split % blocks;
	uint64_t windows = shards * RIBBON_SHARD + (rest > 0 ? rest - 1 : 0) * RIBBON_WIDTH;
	return windows < layer->windows ? windows : layer->windows;
}

uint64_t ribbon_windows_before(const struct ribbon_layer *layer)
{
	return windows_before(layer, layer->split);
}

/* The fewest blocks with which at least share * 2^-16 of the windows have a bit more. */
static uint64_t split_for(const struct ribbon_layer *layer, unsigned share)
{
	uint64_t low = 0, high = ribbon_blocks(layer);
	uint64_t wanted = (layer->windows >> RIBBON_SHARE_LOG) * share +
	                  divide_up((layer->windows & bits_low(RIBBON_SHARE_LOG)) * share,
	                            UINT64_C(1) << RIBBON_SHARE_LOG);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (windows_before(layer, middle) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ribbon_lay_out(struct ribbon_matrix *matrix, uint64_t keys, unsigned columns, unsigned share)
{
	*matrix = (struct ribbon_matrix){ .columns = columns };
	do {
		struct ribbon_layer *layer = &matrix->layer[matrix->layers++];
		layer->windows = windows_for(keys);
		layer->split = share > 0 ? split_for(layer, share) : 0;
		keys = bumped_of(keys);
	} while (keys > 0);
}

uint64_t ribbon_rows(const struct ribbon_matrix *matrix)
{
	uint64_t rows = 0;
	for (unsigned i = 0; i < matrix->layers; i++)
		rows += ribbon_blocks(&matrix->layer[i]) * RIBBON_WIDTH;
	return rows;
}

/* Bytes of the blocks of a layer, and of its marks. */
static uint64_t block_bytes(const struct ribbon_matrix *matrix, const struct ribbon_layer *layer)
{
	uint64_t words = ribbon_words(layer, matrix->columns, ribbon_blocks(layer));
	return round_up(8 * words, LINE);
}

static uint64_t mark_bytes(const struct ribbon_layer *layer)
{
	return divide_up(layer->windows, (uint64_t)RIBBON_BUCKET * 4);
}

/* Puts the parts of a matrix into a table, from a place on; gives where it ends. */
static uint64_t place_blocks(struct ribbon_matrix *matrix, unsigned char *table, uint64_t at)
{
	for (unsigned i = 0; i < matrix->layers; i++) {
		struct ribbon_layer *layer = &matrix->layer[i];
		if (table != NULL)
			layer->blocks = table + at;
		at += block_bytes(matrix, layer);
	}
	return at;
}

static uint64_t place_marks(struct ribbon_matrix *matrix, unsigned char *table, uint64_t at)
{
	for (unsigned i = 0; i < matrix->layers; i++) {
		struct ribbon_layer *layer = &matrix->layer[i];
		if (table != NULL)
			layer->marks = table + at;
		at += mark_bytes(layer);
	}
	return at;
}

/* Gives the bytes of the whole, and puts the parts there unless `table` is NULL. */
static uint64_t place_all(struct ribbon_matrix *keys, struct ribbon_matrix *verdict,
                          unsigned char *table)
{
	uint64_t blocks = place_blocks(keys, table, 0);
	blocks = place_blocks(verdict, table, blocks);
	uint64_t end = place_marks(keys, table, blocks);
	end = place_marks(verdict, table, end);
	return round_up(end < blocks + RIBBON_SLACK ? blocks + RIBBON_SLACK : end, 8);
}

uint64_t ribbon_bytes(const struct ribbon_matrix *keys, const struct ribbon_matrix *verdict)
{
	struct ribbon_matrix a = *keys, b = *verdict;
	return place_all(&a, &b, NULL);
}

void ribbon_plan(const struct blueprint *plan, struct ribbon_matrix *keys,
                 struct ribbon_matrix *verdict)
{
	ribbon_lay_out(keys, plan->capacity, plan->core_bits + plan->value_bits, plan->reserve);
	*verdict = (struct ribbon_matrix){ 0 };
	if (plan->judged > 0)
		ribbon_lay_out(verdict, plan->judged, 1, 0);
}

/* --------------------------------------------------------------------------- life -- */

nidus_status ribbon_create(struct ribbon *ribbon, const struct blueprint *plan,
                           const nidus_allocator *allocator, unsigned char *table)
{
	*ribbon = (struct ribbon){
		.print_bits = plan->core_bits,
		.value_bits = plan->value_bits,
		.mapped = table != NULL,
		.capacity = plan->capacity,
		.judged = plan->judged,
		.version = probe_version(),
		.allocator = *allocator,
	};
	ribbon_plan(plan, &ribbon->keys, &ribbon->verdict);
	uint64_t bytes = ribbon_bytes(&ribbon->keys, &ribbon->verdict);
	nidus_status status = NIDUS_OK;
	if (table == NULL)
		status = memory_take(allocator, bytes, &ribbon->memory);
	else
		ribbon->memory = memory_lent(table, bytes);
	if (status != NIDUS_OK)
		return status;
	place_all(&ribbon->keys, &ribbon->verdict, ribbon->memory.bytes);
	ribbon->ops = &ribbon_scalar;
#ifdef NIDUS_HAVE_AVX2
	if (isa_tier() == ISA_AVX2)
		ribbon->ops = &ribbon_avx2;
#endif
	return NIDUS_OK;
}

void ribbon_free(struct ribbon *ribbon)
{
	memory_give(&ribbon->allocator, &ribbon->list_memory);
	memory_give(&ribbon->allocator, &ribbon->memory);
}

void ribbon_clear(struct ribbon *ribbon)
{
	memset(ribbon->memory.bytes, 0, ribbon->memory.size);
	memory_give(&ribbon->allocator, &ribbon->list_memory);
	ribbon->list = NULL;
	ribbon->listed = ribbon->count = 0;
}

nidus_status ribbon_take_list(struct ribbon *ribbon, uint64_t listed)
{
	struct block memory;
	uint64_t size;
	if (multiply_overflows(listed, sizeof *ribbon->list, &size))
		return fail(NIDUS_E_NOMEM, "no memory for a list of %llu keys",
		            (unsigned long long)listed);
	nidus_status status = memory_take(&ribbon->allocator, size, &memory);
	if (status != NIDUS_OK)
		return status;
	memory_give(&ribbon->allocator, &ribbon->list_memory);
	ribbon->list_memory = memory;
	ribbon->list = (struct ribbon_entry *)(void *)memory.bytes;
	ribbon->listed = listed;
	return NIDUS_OK;
}

nidus_status ribbon_copy(struct ribbon *to, const struct ribbon *from)
{
	nidus_status status = ribbon_take_list(to, from->listed);
	if (status != NIDUS_OK)
		return status;
	memcpy(to->memory.bytes, from->memory.bytes, from->memory.size);
	if (from->listed > 0)
		memcpy(to->list, from->list, from->listed * sizeof *from->list);
	to->count = from->count;
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------ lookups -- */

const struct ribbon_entry *ribbon_listed(const struct ribbon *ribbon, uint64_t hash)
{
	uint64_t low = 0, high = ribbon->listed;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (ribbon->list[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ribbon->listed && ribbon->list[low].hash == hash ? &ribbon->list[low] : NULL;
}

const struct ribbon_layer *ribbon_layer_of(const struct ribbon_matrix *matrix, uint64_t *hash,
                                           uint64_t *window)
{
	for (unsigned i = 0; i < matrix->layers; i++) {
		const struct ribbon_layer *layer = &matrix->layer[i];
		*window = ribbon_window(layer, *hash);
		if (!ribbon_bumped(layer, *window))
			return layer;
		*hash = ribbon_next(*hash);
	}
	return NULL;
}

static nidus_status refuse(void)
{
	return fail(NIDUS_E_UNSUPPORTED, "a ribbon filter never changes: build a new one from all "
	                                 "keys, or take another family");
}

nidus_status ribbon_refuse_insert(void *body, uint64_t hash)
{
	(void)body, (void)hash;
	return refuse();
}

nidus_status ribbon_refuse_value(void *body, uint64_t hash, uint64_t value)
{
	(void)body, (void)hash, (void)value;
	return refuse();
}

nidus_status ribbon_refuse_change(void *body, uint64_t hash, struct value_change change)
{
	(void)body, (void)hash, (void)change;
	return refuse();
}

nidus_status ribbon_refuse_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	(void)body, (void)hashes, (void)values;
	*done = 0;
	return n > 0 ? refuse() : NIDUS_OK;
}

/* -------------------------------------------------------------------------- files -- */

void ribbon_export(const struct ribbon *ribbon, unsigned char *list)
{
	for (uint64_t i = 0; i < ribbon->listed; i++, list += RIBBON_LIST_ENTRY) {
		store64(list, ribbon->list[i].hash);
		store64(list + 8, ribbon->list[i].value);
	}
}

static bool bumped_by_all(const struct ribbon_matrix *matrix, uint64_t hash)
{
	uint64_t window;
	return ribbon_layer_of(matrix, &hash, &window) == NULL;
}

/* Whether an entry of the list can stand there: its value fits, and lookups come to it. */
static bool belongs(const struct ribbon *ribbon, const struct ribbon_entry *entry)
{
	if (ribbon->verdict.layers == 0)
		return entry->value <= bits_low(ribbon->value_bits) &&
		       bumped_by_all(&ribbon->keys, entry->hash);
	return entry->value <= 1 &&
	       ((entry->value == 1 && bumped_by_all(&ribbon->keys, entry->hash)) ||
	        bumped_by_all(&ribbon->verdict, entry->hash));
}

static nidus_status check_list(const struct ribbon *ribbon, bool table)
{
	for (uint64_t i = 0; i < ribbon->listed; i++) {
		const struct ribbon_entry *entry = &ribbon->list[i];
		if (i > 0 && entry[-1].hash >= entry->hash)
			return fail(NIDUS_E_CORRUPT, "the list of bumped keys is not in order");
		if (entry->value > bits_low(ribbon->verdict.layers > 0 ? 1 : ribbon->value_bits))
			return fail(NIDUS_E_CORRUPT, "a listed key has a value that is too large");
		if (table && !belongs(ribbon, entry))
			return fail(NIDUS_E_CORRUPT, "a key is listed that no layer has bumped");
	}
	return NIDUS_OK;
}

static bool all_zero(const unsigned char *from, const unsigned char *to)
{
	while (from < to && *from == 0)
		from++;
	return from == to;
}

/* Bits of the last byte of marks that stand for no bucket. */
static bool marks_end_clean(const struct ribbon_layer *layer)
{
	uint64_t buckets = divide_up(layer->windows, RIBBON_BUCKET);
	return buckets % 4 == 0 || layer->marks[buckets / 4] >> 2 * (buckets % 4) == 0;
}

/* Where the words of a layer end, and the zeros up to the next line begin. */
static const unsigned char *words_end(const struct ribbon_matrix *matrix,
                                      const struct ribbon_layer *layer)
{
	return layer->blocks + 8 * ribbon_words(layer, matrix->columns, ribbon_blocks(layer));
}

/* What stands for nothing is zero: a filter has one spelling. */
static bool matrix_is_clean(const struct ribbon_matrix *matrix)
{
	for (unsigned i = 0; i < matrix->layers; i++) {
		const struct ribbon_layer *layer = &matrix->layer[i];
		if (!marks_end_clean(layer) ||
		    !all_zero(words_end(matrix, layer), layer->blocks + block_bytes(matrix, layer)))
			return false;
	}
	return true;
}

nidus_status ribbon_verify(const struct ribbon *ribbon)
{
	const struct ribbon_matrix *last =
		ribbon->verdict.layers > 0 ? &ribbon->verdict : &ribbon->keys;
	const struct ribbon_layer *layer = &last->layer[last->layers - 1];
	const unsigned char *table = ribbon->memory.bytes, *end = table + ribbon->memory.size;
	if (!matrix_is_clean(&ribbon->keys) || !matrix_is_clean(&ribbon->verdict) ||
	    !all_zero(layer->marks + mark_bytes(layer), end))
		return fail(NIDUS_E_CORRUPT, "the padding inside the table is not zero");
	if (ribbon->count == 0 && (ribbon->listed > 0 || !all_zero(table, end)))
		return fail(NIDUS_E_CORRUPT, "the table of a filter without keys is not zero");
	return check_list(ribbon, true);
}

nidus_status ribbon_import(struct ribbon *ribbon, const unsigned char *list, uint64_t listed,
                           uint64_t count)
{
	if (count > ribbon->capacity)
		return fail(NIDUS_E_CORRUPT, "%llu keys are more than the capacity",
		            (unsigned long long)count);
	nidus_status status = ribbon_take_list(ribbon, listed);
	if (status != NIDUS_OK)
		return status;
	for (uint64_t i = 0; i < listed; i++, list += RIBBON_LIST_ENTRY)
		ribbon->list[i] = (struct ribbon_entry){ load64(list), load64(list + 8) };
	ribbon->count = count;
	return ribbon->mapped ? check_list(ribbon, false) : ribbon_verify(ribbon);
}
