/* SPDX-License-Identifier: MIT
 *
 * mapped: the contents of an opened filter are checked before they are handed on.
 */
#include "api/filter.h"

static nidus_status check_table(const nidus_filter *opened, const unsigned char *table,
                                uint64_t size)
{
	if (hash_checksum(table, size) != opened->checksum)
		return fail(NIDUS_E_CORRUPT, "the table of the opened file is damaged");
	return NIDUS_OK;
}

nidus_status filter_check_mapped(const nidus_filter *filter)
{
	if (!filter->readonly || filter->checked)
		return NIDUS_OK;
	nidus_status status = check_table(filter, filter->table, filter->table_size);
	return status == NIDUS_OK ? filter->family->verify(filter->body) : status;
}

nidus_status filter_copy_mapped(nidus_filter *to, const nidus_filter *from)
{
	uint64_t size;
	struct block stash;
	if (from->plan.segmented != PLAN_WHOLE) { /* bodies check what they are given */
		nidus_status status = check_table(from, from->table, from->table_size);
		if (status == NIDUS_OK)
			status = to->family->copy(to->body, from->body);
		return status == NIDUS_OK ? to->family->verify(to->body) : status;
	}
	struct fill fill = from->family->fill(from->body);
	unsigned char *copy = to->family->table(to->body, &size);
	memcpy(copy, from->table, (size_t)size);
	nidus_status status = check_table(from, copy, size);
	if (status == NIDUS_OK)
		status = memory_take(&to->allocator, to->family->stash_entry * fill.listed, &stash);
	if (status != NIDUS_OK)
		return status;
	from->family->export_stash(from->body, stash.bytes);
	status = to->family->import(to->body, stash.bytes, fill.listed, fill.count);
	memory_give(&to->allocator, &stash);
	return status;
}
