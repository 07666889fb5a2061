/* SPDX-License-Identifier: MIT
 *
 * pack: the smallest table of fixed size for the entries that are there.
 *
 * Part, group and core are cut from a hash one after the other by multiplication, and nothing is
 * rounded on the way. So an entry stands for all hashes h, as fractions of 2^64, of one number
 *
 *     floor(h * parts * groups * cores)
 *
 * (in a yard mini-buckets and remainders instead of cores; a filter of fixed size has chunks for
 * parts). A table of fixed size asks of a hash
 *
 *     floor(h * chunks' * groups' * cores)
 *
 * and if chunks' * groups' divides parts * groups the first number tells the second: all
 * hashes of an entry have one place there. Any of them will do, and the result is a filter as any
 * other of fixed size. The table is the smallest of those that has room and keeps the rate;
 * families choose the groups of segments so that there are many (family_divisible).
 *
 * Where the two groups of an entry cannot be told apart (XOR kinds) only one half of its hashes
 * could be known: those families are not packed.
 */
#include "api/filter.h"
#include "api/shared.h"

/* The smallest divisor of a number from `least` on; 0: there is none. */
static uint64_t divisor_from(uint64_t number, uint64_t least)
{
	uint64_t divisor = least > 0 ? least : 1;
	if (divisor > number)
		return 0;
	for (; divisor <= number / divisor; divisor++) {
		if (number % divisor == 0)
			return divisor;
	}
	/* It is large: its cofactor is small. */
	uint64_t cofactor = number / divisor;
	while (number % cofactor != 0)
		cofactor--;
	return number / cofactor;
}

/* All first groups that a filter can tell apart. */
static uint64_t places_of(const struct blueprint *plan)
{
	return (plan->chunks << plan->growth_bits) * plan->groups;
}

/* The smallest table for so many keys. False: there is none. */
static bool choose_table(const nidus_filter *filter, uint64_t keys, struct blueprint *plan)
{
	uint64_t places = places_of(&filter->plan);
	uint64_t groups = keys / (2 * (uint64_t)filter->plan.slots);
	while ((groups = divisor_from(places, groups)) != 0) {
		*plan = filter->plan;
		plan->growth_bits = plan->segmented = 0;
		if (filter->family->pack(plan, groups, keys))
			return true;
		groups++;
	}
	return false;
}

/* ------------------------------------------------------------------------- entries -- */

static nidus_status put(nidus_filter *to, const nidus_filter *from, const nidus_entry *entry,
                        uint64_t copies)
{
	uint64_t hash;
	nidus_status status = from->family->entry_hash(filter_body(from), entry, &hash);
	if (status != NIDUS_OK || copies == 0)
		return status;
	if (copies == 1)
		return body_insert(to->ops, filter_body(to), hash, entry->value);
	return to->family->insert_copies(filter_body(to), hash, entry->value, copies);
}

static bool same(const nidus_entry *a, const nidus_entry *b)
{
	return a->home == b->home && a->fingerprint == b->fingerprint && a->value == b->value;
}

/* Puts all entries in; those that are listed come one copy after the other. Errors: FULL, E_NOMEM. */
static nidus_status put_all(nidus_filter *to, const nidus_filter *from)
{
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry, last = { 0 };
	nidus_status status = NIDUS_OK;
	uint64_t copies = 0;
	while (status == NIDUS_OK && from->family->next(filter_body(from), &cursor, &entry)) {
		if (copies > 0 && !same(&entry, &last)) {
			status = put(to, from, &last, copies);
			copies = 0;
		}
		last = entry;
		copies++;
	}
	return status == NIDUS_OK && copies > 0 ? put(to, from, &last, copies) : status;
}

/* A filter of a plan with the entries of another. Errors: FULL, COPIES, E_NOMEM. */
static nidus_status make_packed(const nidus_filter *filter, const struct blueprint *plan,
                                nidus_filter **packed)
{
	const struct family *inner = family_find(filter->family->id);
	nidus_status status = filter_make(inner, plan, &filter->allocator, NULL, packed);
	if (status != NIDUS_OK)
		return status;
	status = put_all(*packed, filter);
	if (status != NIDUS_OK) {
		nidus_free(*packed);
		*packed = NULL;
	}
	return status;
}

/* The same, but for one that is no smaller, with its lists: that has no room either. */
static nidus_status make_smaller(const nidus_filter *filter, const struct blueprint *plan,
                                 nidus_filter **packed)
{
	uint64_t bytes = filter->family->fill(filter_body(filter)).bytes;
	nidus_status status = make_packed(filter, plan, packed);
	if (status != NIDUS_OK || (*packed)->family->fill(filter_body(*packed)).bytes < bytes)
		return status;
	nidus_free(*packed);
	*packed = NULL;
	return NIDUS_FULL;
}

/* ------------------------------------------------------------------------- the call -- */

static nidus_status pack(nidus_filter *filter)
{
	const struct family *inner = family_find(filter->family->id);
	struct fill fill = filter->family->fill(filter_body(filter));
	uint64_t bytes = fill.bytes;
	if (filter_directory(filter) == NULL) /* without locks, which both have */
		bytes = inner->forecast(&filter->plan, 0).bytes;
	uint64_t keys = fill.count - (fill.stashed - fill.listed);
	nidus_filter *packed;
	struct blueprint plan;
	nidus_status status = NIDUS_FULL;
	keys = keys > 0 ? keys : 1;
	while (overflow_helps(
		status)) { /* copies take more room than was thought, or it is bad luck */
		if (!choose_table(filter, keys, &plan) || inner->forecast(&plan, 0).bytes >= bytes)
			return NIDUS_OK; /* it has no smaller size */
		status = make_smaller(filter, &plan, &packed);
		keys += keys / 8 + 1;
	}
	if (status == NIDUS_OK)
		filter_take_body(filter, packed);
	return status;
}

static nidus_status check_packable(const nidus_filter *filter)
{
	const struct family *family = filter != NULL ? filter->family : NULL;
	nidus_status status = filter_check_writable(filter);
	if (status == NIDUS_OK && family->unlimited)
		return fail(
			NIDUS_E_UNSUPPORTED,
			"a filter of unlimited size has generations of entries, which no table of "
			"fixed size holds together: make it with a max_capacity to pack it");
	if (status == NIDUS_OK && filter->plan.slices > 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a filter that forgets cannot be packed: its entries come and go");
	if (status != NIDUS_OK || family->pack != NULL)
		return status;
	if (family->features & NIDUS_STATIC)
		return fail(NIDUS_E_UNSUPPORTED, "a %s filter is as small as it can be already",
		            family->name);
	if (!(family->features & NIDUS_ENUMERATE))
		return fail(NIDUS_E_UNSUPPORTED,
		            "a %s filter has bits, and no entries that could go to a smaller table",
		            family->name);
	return fail(
		NIDUS_E_UNSUPPORTED,
		"entries of the %s family do not tell which of their two buckets comes first, as a "
		"smaller table would ask: take bucketed, windowed or breadcrumb",
		family->name);
}

nidus_status nidus_pack(nidus_filter *filter)
{
	nidus_status status = check_packable(filter);
	if (status != NIDUS_OK)
		return status;
	shared_stop(filter, true);
	status = pack(filter);
	shared_go_on(filter);
	return status;
}
