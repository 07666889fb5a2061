/* SPDX-License-Identifier: MIT
 *
 * filter: the life of a filter, and what it tells of itself.
 */
#include "api/filter.h"

#include "api/options.h"
#include "api/shared.h"

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

nidus_status filter_make(const struct family *family, const struct blueprint *plan,
                         const nidus_allocator *allocator, unsigned char *table,
                         nidus_filter **filter)
{
	struct block memory;
	*filter = NULL;
	family = family_of_plan(family_find(family->id), plan);
	/* A filter of fixed size may become a directory when it is merged or grown beyond it. */
	uint64_t size = sizeof(struct directory) > family->body_size ? sizeof(struct directory)
	                                                             : family->body_size;
	nidus_status status =
		memory_take(allocator, sizeof(struct nidus_filter) + size, &memory);
	if (status != NIDUS_OK)
		return status;
	nidus_filter *made = (nidus_filter *)(void *)memory.bytes;
	made->family = family;
	made->key = hash_key_of(plan->seed);
	made->plan = *plan;
	made->memory = memory;
	made->allocator = *allocator;
	made->readonly = table != NULL;
	made->keeps_all = plan->features & NIDUS_NO_DELETE;
	made->value_bits = (uint8_t)plan->value_bits;
	struct blueprint body = *plan;
	if (made->readonly || FILTER_ALONE) /* there is nothing to lock */
		body.features &= ~(uint32_t)NIDUS_CONCURRENT;
	status = family->create(made->body, &body, NULL, allocator, table);
	if (status != NIDUS_OK) {
		memory_give(allocator, &memory);
		return status;
	}
	made->ops = family->ops(made->body);
	if (body.features & NIDUS_CONCURRENT)
		status = shared_make(made);
	filter_choose_calls(made);
	if (status == NIDUS_OK)
		*filter = made;
	else
		nidus_free(made);
	return status;
}

void filter_take_body(nidus_filter *to, nidus_filter *from)
{
	struct block memory = from->memory;
	to->family->free(to->body);
	memcpy(to->body, from->body, from->family->body_size);
	to->family = from->family;
	to->plan = from->plan;
	to->ops = from->ops;
	filter_choose_calls(to);
	shared_unmake(from);
	memory_give(&to->allocator, &memory);
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
	filter->family->free(filter->body);
	file_unmap(&filter->map);
	nidus_allocator allocator = filter->allocator;
	struct block memory = filter->memory;
	memory_give(&allocator, &memory);
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
	                          : filter->family->copy(made->body, filter->body);
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
	filter->family->clear(filter->body);
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
	nidus_status status = filter->family->verify(filter->body);
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
	return filter->gate != NULL ? shared_size(filter) : filter->family->count(filter->body);
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
	struct fill fill = filter->family->fill(filter->body);
	/* An entry of a list is one to lookups, however many copies it counts. */
	uint64_t counted = fill.stashed > fill.listed ? fill.stashed - fill.listed : 0;
	struct forecast forecast = filter->family->forecast(plan, fill.count - counted);
	/* That of a Bloom filter reads the whole table. */
	if (filter->family->rate_now != NULL && (!filter->readonly || directory))
		forecast.fpr = filter->family->rate_now(filter->body, fill.load);
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
		.value_bits = plan->value_bits,
		.judged = plan->judged,
	};
	shared_go_on(filter);
	memcpy(info, &full, size);
	return NIDUS_OK;
}
