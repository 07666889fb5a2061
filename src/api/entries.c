/* SPDX-License-Identifier: MIT
 *
 * entries: walks, and putting back what they yield.
 */
#include "api/growth.h"
#include "api/moving.h"

bool nidus_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry)
{
	if (filter == NULL || cursor == NULL || entry == NULL || filter->family->next == NULL)
		return false;
	return moving_next(filter, cursor, entry);
}

nidus_status nidus_insert_entry(nidus_filter *filter, const nidus_entry *entry)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK)
		return status;
	if (entry == NULL)
		return filter_null("entry");
	if (filter->family->insert_entry == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family has no entries",
		            filter->family->name);
	return growth_insert_entry(filter, entry);
}
