/* SPDX-License-Identifier: MIT
 *
 * entries: walks, and putting back what they yield.
 */
#include "api/filter.h"
#include "api/shared.h"

bool nidus_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry)
{
	if (filter == NULL || cursor == NULL || entry == NULL || filter->family->next == NULL)
		return false;
	shared_stop(filter, false);
	bool found = filter->family->next(filter_body(filter), cursor, entry);
	shared_go_on(filter);
	return found;
}

nidus_status nidus_insert_entry(nidus_filter *filter, const nidus_entry *entry)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK)
		return status;
	if (entry == NULL)
		return filter_null("entry");
	if (filter->family->entry_hash == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family has no entries",
		            filter->family->name);
	uint64_t hash;
	if (filter->family->insert_entry != NULL) {
		shared_stop(filter, true);
		status = filter->family->insert_entry(filter_body(filter), entry);
		shared_go_on(filter);
		return status;
	}
	shared_stop(filter, false);
	status = filter->family->entry_hash(filter_body(filter), entry, &hash);
	shared_go_on(filter);
	if (status != NIDUS_OK || entry->value == 0)
		return status == NIDUS_OK ? nidus_insert_hash(filter, hash) : status;
	return nidus_insert_value_hash(filter, hash, entry->value);
}
