/* SPDX-License-Identifier: MIT
 *
 * filter: the life of a filter, and what it tells of itself.
 */
#include "api/filter.h"

#include "api/options.h"
#include "api/recent.h"
#include "api/shared.h"

#include <assert.h>

nidus_status filter_null(const char *argument)
{
	return fail(NIDUS_E_ARG, "%s is NULL", argument);
}

nidus_status filter_check_writable(const nidus_filter *filter)
{
	if (UNLIKELY(filter == NULL))
		return filter_null("filter");
	if (UNLIKELY(filter->readonly))
		return fail(NIDUS_E_READONLY,
		            "a filter that was opened cannot be changed; load it instead");
	return NIDUS_OK;
}

nidus_status filter_check_removable(const nidus_filter *filter)
{
	nidus_status status = filter_check_writable(filter);
	if (status == NIDUS_OK && filter->plan.slices > 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a filter that forgets removes nothing: keys that look the same share "
		            "an entry, which goes when none of them is refreshed any more");
	if (status == NIDUS_OK && !(filter->family->features & NIDUS_DELETE))
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot remove",
		            filter->family->name);
	if (status == NIDUS_OK && filter->keeps_all)
		return fail(
			NIDUS_E_UNSUPPORTED,
			"nothing can be removed: the filter was made with NIDUS_NO_DELETE, or by a "
			"merge that kept equal entries once (NIDUS_MERGE_COPIES keeps all)");
	return status;
}

nidus_status filter_no_key(void)
{
	return fail(NIDUS_E_ARG, "key is NULL but its length is not 0");
}

/* A build for one thread has no locks: whatever a filter was made for, it is not shared. */
#ifdef NIDUS_ONE_THREAD
#define FILTER_ALONE true
#else
#define FILTER_ALONE false
#endif

/* Whether threads are to share a filter. In an opened one there is nothing to lock. */
static bool has_locks(const nidus_filter *filter)
{
	return filter->plan.features & NIDUS_CONCURRENT && !filter->readonly && !FILTER_ALONE;
}

/* Bytes of the body of a filter. */
static size_t body_size(const struct family *family, const struct blueprint *plan)
{
	return plan->slices > 0 ? recent_size(plan) : family->body_size;
}

/* Bytes behind a filter: any of fixed size may become a directory. */
static size_t body_room(const struct family *family, const struct blueprint *plan)
{
	size_t size = body_size(family, plan);
	size_t most = size > sizeof(struct directory) ? size : sizeof(struct directory);
	return divide_up(most, sizeof(void *)) * sizeof(void *);
}

_Static_assert(sizeof(struct apart) <= sizeof(struct directory), "it fits behind any filter");

/*
 * Takes memory for a filter. A body of fixed size begins with a line, others anywhere.
 * Errors: E_NOMEM.
 */
static nidus_status take_memory(const struct family *family, const struct blueprint *plan,
                                const nidus_allocator *allocator, bool opened,
                                nidus_filter **filter)
{
	size_t before = MEMORY_LINE - offsetof(struct nidus_filter, body) % MEMORY_LINE;
	size_t size = sizeof(struct nidus_filter) + body_room(family, plan) +
	              (opened ? sizeof(struct opened) : 0);
	struct block memory;
	bool lists = family->grows || family->unlimited;
	if (lists)
		before = 0;
	nidus_status status = lists ? memory_take_anywhere(allocator, size, &memory)
	                                    : memory_take(allocator, before + size, &memory);
	if (status != NIDUS_OK)
		return status;
	*filter = (nidus_filter *)(void *)(memory.bytes + before);
	(*filter)->whole_size = (uint32_t)memory.whole_size;
	(*filter)->skipped = (uint8_t)((unsigned char *)*filter - (unsigned char *)memory.whole);
	return NIDUS_OK;
}

/* The memory of a filter. */
static struct block memory_of(const nidus_filter *filter)
{
	unsigned char *whole = (unsigned char *)(uintptr_t)filter - filter->skipped;
	return (struct block){ whole, filter->whole_size, whole, filter->whole_size };
}

static void give_memory(nidus_filter *filter)
{
	const nidus_allocator allocator = filter->allocator;
	struct block memory = memory_of(filter);
	memory_give(&allocator, &memory);
}

struct opened *filter_opened(const nidus_filter *filter)
{
	return (struct opened *)(void *)((uintptr_t)filter->body +
	                                 body_room(filter->family, &filter->plan));
}

/* Makes the body of a filter that has all the rest. Errors: E_NOMEM. */
static nidus_status make_body(nidus_filter *filter, unsigned char *table)
{
	struct blueprint plan = filter->plan;
	if (filter->family->grows) {
		directory_create((struct directory *)(void *)filter->body,
		                 family_find(filter->family->id), &filter->ground,
		                 has_locks(filter), filter->readonly);
		return NIDUS_OK;
	}
	if (filter->family->unlimited) {
		generations_create((struct generations *)(void *)filter->body,
		                   family_find(filter->family->id), &filter->ground,
		                   has_locks(filter), filter->readonly);
		return NIDUS_OK;
	}
	if (!has_locks(filter))
		plan.features &= ~(uint32_t)NIDUS_CONCURRENT;
	return filter->family->create(filter->body, &plan, NULL, &filter->allocator, table);
}

nidus_status filter_make(const struct family *family, const struct blueprint *plan,
                         const nidus_allocator *allocator, unsigned char *table,
                         nidus_filter **filter)
{
	nidus_filter *made;
	assert(plan->family == family->id && plan->capacity > 0);
	assert((plan->features & ~(family->features | NIDUS_COMPACT | NIDUS_NO_DELETE |
	                           NIDUS_STATIC | NIDUS_FAST)) == 0);
	*filter = NULL;
	family = family_of_plan(family_find(family->id), plan);
	nidus_status status = take_memory(family, plan, allocator, table != NULL, &made);
	if (status != NIDUS_OK)
		return status;
	made->family = family;
	made->key = hash_key_of(plan->seed);
	made->plan = *plan;
	made->allocator = *allocator;
	made->readonly = table != NULL;
	made->keeps_all = plan->features & NIDUS_NO_DELETE;
	made->value_bits = plan->slices > 0 ? 0 : plan->value_bits; /* stamps are no values */
	status = make_body(made, table);
	if (status != NIDUS_OK) {
		give_memory(made);
		return status;
	}
	made->ops = family->ops(made->body);
	if (has_locks(made))
		status = shared_make(made);
	filter_choose_front(made);
	if (status == NIDUS_OK)
		*filter = made;
	else
		nidus_free(made);
	return status;
}

/* Frees the body of a filter, wherever it is. */
static void free_body(nidus_filter *filter)
{
	filter->family->free(filter_body(filter));
	if (filter->apart)
		memory_give(&filter->allocator, &((struct apart *)(void *)filter->body)->memory);
	filter->apart = false;
}

/* Whether the body of another filter fits behind a filter. */
static bool has_room(const nidus_filter *filter, const nidus_filter *other)
{
	size_t before = filter->skipped + offsetof(struct nidus_filter, body);
	return body_size(other->family, &other->plan) <= filter->whole_size - before;
}

void filter_take_body(nidus_filter *to, nidus_filter *from)
{
	const size_t seed = sizeof to->plan.seed;
	assert(to != from && !to->readonly && to->plan.seed == from->plan.seed);
	bool stays = !from->apart && !has_room(to, from);
	struct apart apart = { .body = from->body, .memory = memory_of(from) };
	shared_unmake(from);
	free_body(to);
	if (stays)
		memcpy(to->body, &apart, sizeof apart);
	else
		memcpy(to->body, from->body, from->apart ? sizeof apart : body_size(from->family, &from->plan));
	to->apart = stays || from->apart;
	to->family = from->family;
	/* Other threads may read the seed, which is the same, to hash a key. */
	memcpy((unsigned char *)&to->plan + seed, (unsigned char *)&from->plan + seed,
	       sizeof to->plan - seed);
	to->ops = from->ops;
	if (filter_directory(to) != NULL)
		directory_move(filter_directory(to), &to->ground);
	if (filter_generations(to) != NULL)
		generations_move(filter_generations(to), &to->ground);
	filter_choose_front(to);
	if (!stays)
		give_memory(from);
}

nidus_status nidus_create(const nidus_options *options, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	nidus_options checked;
	struct blueprint plan;
	const struct family *family;
	nidus_status status = options_read(options, &checked);
	if (status == NIDUS_OK)
		status = options_check(&checked);
	if (status == NIDUS_OK)
		status = options_seed(&checked);
	if (status == NIDUS_OK)
		status = options_plan(&checked, &family, &plan);
	if (status != NIDUS_OK)
		return status;
	status = filter_make(family, &plan, &checked.allocator, NULL, filter);
	return status == NIDUS_OK ? filter_begin(filter) : status;
}

nidus_status filter_begin(nidus_filter **filter)
{
	struct directory *directory = filter_directory(*filter);
	struct generations *generations = filter_generations(*filter);
	nidus_status status = NIDUS_OK;
	if (directory != NULL)
		status = directory_begin(directory, (*filter)->plan.capacity);
	if (generations != NULL)
		status = generations_begin(generations, (*filter)->plan.capacity);
	if (status != NIDUS_OK) {
		nidus_free(*filter);
		*filter = NULL;
	}
	return status;
}

void nidus_free(nidus_filter *filter)
{
	if (filter == NULL)
		return;
	shared_unmake(filter);
	free_body(filter);
	if (filter->readonly)
		file_unmap(&filter_opened(filter)->map);
	give_memory(filter);
}

nidus_status filter_clone(const nidus_filter *filter, nidus_filter **copy)
{
	nidus_filter *made;
	*copy = NULL;
	nidus_status status =
		filter_make(filter->family, &filter->plan, &filter->allocator, NULL, &made);
	if (status != NIDUS_OK)
		return status;
	status = filter->readonly ? filter_copy_mapped(made, filter)
	                          : filter->family->copy(filter_body(made), filter_body(filter));
	if (status != NIDUS_OK) {
		nidus_free(made);
		return status;
	}
	*copy = made;
	return NIDUS_OK;
}

nidus_status nidus_clone(const nidus_filter *filter, nidus_filter **copy)
{
	if (copy == NULL)
		return filter_null("copy");
	*copy = NULL;
	if (filter == NULL)
		return filter_null("filter");
	shared_stop(filter, false);
	nidus_status status = filter_clone(filter, copy);
	shared_go_on(filter);
	return status;
}

nidus_status nidus_clear(nidus_filter *filter)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK)
		return status;
	struct directory *directory = filter_directory(filter);
	struct generations *generations = filter_generations(filter);
	shared_stop(filter, true);
	filter->family->clear(filter_body(filter));
	if (directory != NULL) /* without memory it stays small for now */
		(void)directory_begin(directory, filter->plan.capacity);
	if (generations != NULL)
		(void)generations_begin(generations, filter->plan.capacity);
	shared_go_on(filter);
	return NIDUS_OK;
}

static nidus_status verify(const nidus_filter *filter)
{
	shared_stop(filter, false);
	nidus_status status = filter->family->verify(filter_body(filter));
	shared_go_on(filter);
	return status;
}

nidus_status nidus_verify(const nidus_filter *filter, const char **why)
{
	nidus_status status = filter == NULL ? filter_null("filter") : verify(filter);
	if (why != NULL)
		*why = status == NIDUS_OK ? "" : reason_text();
	return status;
}

uint64_t nidus_size(const nidus_filter *filter)
{
	if (filter == NULL)
		return 0;
	return filter->gate != NULL ? shared_size(filter)
	                            : filter->family->count(filter_body(filter));
}

/* What a filter can do, and how it is made where that was a choice. */
static uint32_t features_now(const nidus_filter *filter)
{
	uint32_t asked = filter->plan.features, features = filter->family->features;
	if (asked & NIDUS_NO_DELETE)
		features &= ~(uint32_t)NIDUS_DELETE;
	return features | (asked & NIDUS_COMPACT);
}

uint64_t filter_capacity(const nidus_filter *filter)
{
	const struct directory *directory = filter_directory(filter);
	const struct generations *generations = filter_generations(filter);
	const struct blueprint *plan = &filter->plan;
	if (directory == NULL && generations == NULL)
		return plan->capacity;
	uint64_t room = generations != NULL ? generations_capacity(generations)
	                                    : directory_capacity(directory);
	room = room < plan->max_capacity ? room : plan->max_capacity;
	return room > plan->capacity ? room : plan->capacity;
}

nidus_status nidus_get_info(const nidus_filter *filter, nidus_info *info)
{
	if (filter == NULL)
		return filter_null("filter");
	if (info == NULL)
		return filter_null("info");
	if (info->struct_size < sizeof info->struct_size)
		return fail(NIDUS_E_ARG, "info.struct_size is not set: start from NIDUS_INFO_INIT");
	shared_stop(filter, false);
	const struct blueprint *plan = &filter->plan;
	bool directory = plan->segmented != PLAN_WHOLE;
	struct fill fill = filter->family->fill(filter_body(filter));
	/* An entry of a list is one to lookups, however many copies it counts. */
	uint64_t counted = fill.stashed > fill.listed ? fill.stashed - fill.listed : 0;
	struct forecast forecast = filter->family->forecast(plan, fill.count - counted);
	/* That of a Bloom filter reads the whole table. */
	if (filter->family->rate_now != NULL && (!filter->readonly || directory))
		forecast.fpr = filter->family->rate_now(filter_body(filter), fill.load);
	size_t size = info->struct_size < sizeof *info ? info->struct_size : sizeof *info;
	nidus_info full = {
		.struct_size = info->struct_size,
		.family = filter->family->id,
		.count = fill.count,
		.capacity = filter_capacity(filter),
		.max_capacity = plan->max_capacity,
		.bytes = fill.bytes,
		.seed = plan->seed,
		.load = fill.load,
		.headroom = fill.headroom,
		.bits_per_key = fill.count > 0 ? 8.0 * (double)fill.bytes / (double)fill.count : 0,
		.fpr_target = plan->fpr,
		.fpr_now = forecast.fpr,
		.slots = plan->slots,
		.fingerprint_bits = plan->core_bits + plan->growth_bits,
		.slot_bits = forecast.slot_bits,
		.growth_bits = plan->growth_bits,
		.total_slots = directory ? fill.slots : forecast.total_slots,
		.chunks = directory ? fill.bodies : plan->chunks,
		.stashed = fill.stashed,
		.features = features_now(filter),
		.readonly = filter->readonly,
		.concurrent = plan->features & NIDUS_CONCURRENT && !filter->readonly,
		.value_bits = filter->value_bits,
		.judged = plan->judged,
		.slices = plan->slices,
	};
	shared_go_on(filter);
	memcpy(info, &full, size);
	return NIDUS_OK;
}
