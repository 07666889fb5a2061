/* SPDX-License-Identifier: MIT
 *
 * mapped: the contents of an opened filter are checked before they are handed on.
 */
#include "api/filter.h"

static nidus_status check_table(const struct opened *opened, const unsigned char *table,
                                uint64_t size)
{
	if (hash_checksum(table, size) != opened->checksum)
		return fail(NIDUS_E_CORRUPT, "the table of the opened file is damaged");
	return NIDUS_OK;
}

void filter_forget_map(const nidus_filter *filter)
{
	if (filter->readonly)
		file_forget_map(&filter_opened(filter)->map);
}

nidus_status filter_check_mapped(const nidus_filter *filter)
{
	const struct opened *opened = filter->readonly ? filter_opened(filter) : NULL;
	if (opened == NULL || opened->checked)
		return NIDUS_OK;
	nidus_status status = check_table(opened, opened->table, opened->table_size);
	return status == NIDUS_OK ? filter->family->verify(filter_body(filter)) : status;
}

nidus_status filter_copy_mapped(nidus_filter *to, const nidus_filter *from)
{
	const struct opened *opened = filter_opened(from);
	uint64_t size;
	struct block stash;
	if (from->plan.segmented != PLAN_WHOLE) { /* bodies check what they are given */
		nidus_status status = check_table(opened, opened->table, opened->table_size);
		if (status == NIDUS_OK)
			status = to->family->copy(filter_body(to), filter_body(from));
		return status == NIDUS_OK ? to->family->verify(filter_body(to)) : status;
	}
	struct fill fill = from->family->fill(filter_body(from));
	unsigned char *copy = to->family->table(filter_body(to), &size);
	memcpy(copy, opened->table, (size_t)size);
	nidus_status status = check_table(opened, copy, size);
	if (status == NIDUS_OK)
		status = memory_take(&to->allocator, to->family->stash_entry * fill.listed, &stash);
	if (status != NIDUS_OK)
		return status;
	from->family->export_stash(filter_body(from), stash.bytes);
	status = to->family->import(filter_body(to), stash.bytes, fill.listed, fill.count);
	memory_give(&to->allocator, &stash);
	return status;
}
