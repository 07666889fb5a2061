/* SPDX-License-Identifier: MIT
 *
 * same: whether two filters hold the same entries, wherever these lie.
 *
 * The same keys put in in another order, or into a table that has grown further, are other bytes
 * but the same multiset of entries. Sorting both would take memory for all of them; instead each
 * entry is hashed to 128 bits, and the sums over all entries are compared. Multisets that differ
 * have the same sum with odds of about 2^-128.
 */
#include "api/merge.h"
#include "api/shared.h"

struct digest {
	uint64_t count, sums[2];
};

static struct digest digest_of(const nidus_filter *filter)
{
	const uint64_t seeds[2] = { UINT64_C(0x6e6964757320736d), UINT64_C(0x73616d6520736574) };
	struct digest digest = { 0 };
	nidus_cursor cursor = { { 0 } };
	nidus_entry entry;
	while (filter->family->next(filter_body(filter), &cursor, &entry)) {
		const uint64_t words[] = { entry.home, entry.fingerprint, entry.value };
		digest.count++;
		for (unsigned i = 0; i < 2; i++)
			digest.sums[i] += hash_bytes(seeds[i], words, sizeof words);
	}
	return digest;
}

static bool same_entries(const nidus_filter *a, const nidus_filter *b)
{
	struct digest one = digest_of(a), other = digest_of(b);
	return one.count == other.count && one.sums[0] == other.sums[0] &&
	       one.sums[1] == other.sums[1];
}

/* Of families that have no entries to walk through. */
static bool same_table(const nidus_filter *a, const nidus_filter *b)
{
	uint64_t one, other;
	const unsigned char *first = a->family->table(filter_body(a), &one);
	const unsigned char *second = b->family->table(filter_body(b), &other);
	return one == other && memcmp(first, second, one) == 0;
}

static bool same_contents(const nidus_filter *a, const nidus_filter *b)
{
	uint64_t count = a->family->count(filter_body(a)), other = b->family->count(filter_body(b));
	bool walks = a->family->next != NULL;
	if (count == 0 || (walks && count != other))
		return count == other;
	reason_set_aside();
	nidus_status status = merge_check_match(&a->plan, &b->plan);
	(void)reason_decide(NIDUS_OK); /* that they differ is no failure */
	if (status != NIDUS_OK)
		return false;
	return walks ? same_entries(a, b) : same_table(a, b);
}

bool nidus_same(const nidus_filter *a, const nidus_filter *b)
{
	if (a == NULL || b == NULL || a == b)
		return a == b && a != NULL;
	/* Those who stop both do so in the same order. */
	const nidus_filter *first = (uintptr_t)a < (uintptr_t)b ? a : b,
			   *second = first == a ? b : a;
	shared_stop(first, false);
	shared_stop(second, false);
	bool same = same_contents(a, b);
	shared_go_on(second);
	shared_go_on(first);
	return same;
}
