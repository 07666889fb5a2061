/* SPDX-License-Identifier: MIT
 *
 * The filters that a lookup of a running query keeps: copies of the values it has seen,
 * opened, until they take more memory than work_mem; then the one goes that was not used
 * for longest. A value is known again by its pointer into the toast table, without
 * fetching it, or else by its header, which has checksums of the rest.
 *
 *     names     one number per filter, side by side: what a search looks at
 *     filters   the same order: the filter, its copy, and what tells it from a namesake
 */
#include "nidus_pg.h"

#include "access/detoast.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define FILTERS_MOST 1024
/* The first bytes of a value: what stands before the saved filter, and its header. */
#define HEADER (4 + 256)
/* Lookups are fastest in tables that begin with a cache line. */
#define LINE 64

struct kept_filter {
	struct typed_filter typed;
	char *copy; /* of the saved filter */
	size_t size;
	uint64 used;                  /* when it was asked last */
	struct varatt_external toast; /* all zero if the value did not come from there */
	char header[HEADER];          /* if it did not */
};

struct kept {
	MemoryContext context;
	MemoryContextCallback callback;
	struct key_reader reader;
	int count;
	int room;
	int last; /* the one that was asked last */
	uint64 clock;
	size_t bytes; /* of all copies */
	uint64 *names;
	struct kept_filter **filters;
};

/* What a value is known by. */
struct identity {
	uint64 name;
	struct varatt_external toast;
	const char *header; /* NULL if it is known by its toast pointer */
};

static void free_all(void *argument)
{
	struct kept *kept = argument;
	while (kept->count > 0)
		nidus_free(kept->filters[--kept->count]->typed.filter);
}

struct kept *kept_of(FmgrInfo *function)
{
	struct kept *kept = function->fn_extra;
	if (kept == NULL) {
		kept = MemoryContextAllocZero(function->fn_mcxt, sizeof *kept);
		kept->context = function->fn_mcxt;
		kept->callback.func = free_all;
		kept->callback.arg = kept;
		MemoryContextRegisterResetCallback(function->fn_mcxt, &kept->callback);
		function->fn_extra = kept;
	}
	return kept;
}

struct key_reader *kept_reader(struct kept *kept)
{
	return &kept->reader;
}

/* ------------------------------------------------------------- finding one -- */

static struct identity identity_of_toast(struct varlena *value)
{
	struct identity identity = { 0 };
	VARATT_EXTERNAL_GET_POINTER(identity.toast, value);
	identity.name = (uint64)identity.toast.va_toastrelid << 32 | identity.toast.va_valueid;
	return identity;
}

static struct identity identity_of_plain(const struct varlena *plain)
{
	struct identity identity = { 0 };
	identity.header = VARDATA_ANY(plain);
	identity.name = hash_bytes_extended((const unsigned char *)identity.header, HEADER, 0);
	return identity;
}

static bool is(const struct kept_filter *filter, const struct identity *identity)
{
	if (identity->header != NULL)
		return memcmp(filter->header, identity->header, HEADER) == 0;
	return memcmp(&filter->toast, &identity->toast, sizeof identity->toast) == 0;
}

static struct kept_filter *find(struct kept *kept, const struct identity *identity)
{
	int i = kept->last;
	if (i >= kept->count || kept->names[i] != identity->name)
		for (i = 0; i < kept->count && kept->names[i] != identity->name; i++)
			continue;
	if (i == kept->count || !is(kept->filters[i], identity))
		return NULL;
	kept->last = i;
	kept->filters[i]->used = ++kept->clock;
	return kept->filters[i];
}

/* ------------------------------------------------------------- keeping one -- */

static void drop(struct kept *kept, int i)
{
	struct kept_filter *filter = kept->filters[i];
	kept->count--;
	kept->filters[i] = kept->filters[kept->count];
	kept->names[i] = kept->names[kept->count];
	kept->bytes -= filter->size;
	nidus_free(filter->typed.filter);
	pfree(filter->copy);
	pfree(filter);
}

static void drop_oldest(struct kept *kept)
{
	int oldest = 0;
	for (int i = 1; i < kept->count; i++)
		if (kept->filters[i]->used < kept->filters[oldest]->used)
			oldest = i;
	drop(kept, oldest);
}

static void make_room(struct kept *kept, size_t size)
{
	while (kept->count > 0 &&
	       (kept->count == FILTERS_MOST || kept->bytes + size > (size_t)work_mem * 1024))
		drop_oldest(kept);
	if (kept->count < kept->room)
		return;
	if (kept->room == 0) {
		kept->names = MemoryContextAlloc(kept->context, 8 * sizeof *kept->names);
		kept->filters = MemoryContextAlloc(kept->context, 8 * sizeof *kept->filters);
		kept->room = 8;
	} else {
		kept->names = repalloc(kept->names, 2 * kept->room * sizeof *kept->names);
		kept->filters = repalloc(kept->filters, 2 * kept->room * sizeof *kept->filters);
		kept->room *= 2;
	}
}

static struct kept_filter *keep(struct kept *kept, const struct identity *identity,
                                struct value_parts parts)
{
	struct kept_filter *filter;
	char *begin;
	make_room(kept, parts.size);
	filter = MemoryContextAllocZero(kept->context, sizeof *filter);
	filter->copy =
		MemoryContextAllocExtended(kept->context, parts.size + LINE, MCXT_ALLOC_HUGE);
	filter->size = parts.size;
	filter->toast = identity->toast;
	if (identity->header != NULL)
		memcpy(filter->header, identity->header, HEADER);
	filter->typed.kind = parts.kind;
	begin = (char *)TYPEALIGN(LINE, filter->copy);
	memcpy(begin, parts.bytes, parts.size);
	check(nidus_open_buffer(begin, parts.size, 0, &filter->typed.filter));
	filter->used = ++kept->clock;
	kept->names[kept->count] = identity->name;
	kept->filters[kept->count] = filter;
	kept->bytes += parts.size;
	kept->last = kept->count++;
	return filter;
}

struct typed_filter open_value(struct kept *kept, Datum datum)
{
	struct varlena *value = (struct varlena *)DatumGetPointer(datum), *plain;
	bool external = VARATT_IS_EXTERNAL_ONDISK(value);
	struct identity identity;
	struct kept_filter *filter;
	struct value_parts parts;
	if (external) {
		identity = identity_of_toast(value);
		filter = find(kept, &identity);
		if (filter != NULL)
			return filter->typed;
	}
	plain = pg_detoast_datum_packed(value);
	parts = parts_of(plain); /* so there is a header */
	filter = NULL;
	if (!external) {
		identity = identity_of_plain(plain);
		filter = find(kept, &identity);
	}
	if (filter == NULL)
		filter = keep(kept, &identity, parts);
	if (plain != value)
		pfree(plain);
	return filter->typed;
}
