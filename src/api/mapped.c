/* SPDX-License-Identifier: MIT
 *
 * mapped: the contents of an opened filter are checked before they are handed on.
 */
#include "api/moving.h"

static nidus_status check_table(const nidus_filter *opened, const unsigned char *table,
                                uint64_t size)
{
	if (hash_checksum(table, size) != opened->checksum)
		return fail(NIDUS_E_CORRUPT, "the table of the opened file is damaged");
	return NIDUS_OK;
}

nidus_status filter_check_mapped(const nidus_filter *filter)
{
	uint64_t size;
	if (!filter->readonly || filter->checked)
		return NIDUS_OK;
	const unsigned char *table = filter->family->table(filter->body, &size);
	nidus_status status = check_table(filter, table, size);
	if (status == NIDUS_OK)
		status = filter->family->verify(filter->body);
	if (status == NIDUS_OK && moving(filter))
		status = filter_check_mapped(filter->moving.old);
	return status == NIDUS_OK ? moving_verify(filter) : status;
}

nidus_status filter_copy_mapped(nidus_filter *to, const nidus_filter *from)
{
	uint64_t size;
	struct block stash;
	struct fill fill = from->family->fill(from->body);
	const unsigned char *table = from->family->table(from->body, &size);
	unsigned char *copy = to->family->table(to->body, &size);
	memcpy(copy, table, (size_t)size);
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
