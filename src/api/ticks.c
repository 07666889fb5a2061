/* SPDX-License-Identifier: MIT
 *
 * ticks: the calls of filters that forget.
 */
#include "api/recent.h"
#include "api/shared.h"

static struct recent *recent_body(const nidus_filter *filter)
{
	return filter != NULL && filter->plan.slices > 0 ? filter_body(filter) : NULL;
}

nidus_status nidus_tick(nidus_filter *filter)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK)
		return status;
	if (recent_body(filter) == NULL)
		return fail(NIDUS_E_UNSUPPORTED,
		            "the filter forgets nothing: make it with options.slices");
	shared_stop(filter, false);
	recent_tick(recent_body(filter));
	shared_go_on(filter);
	return NIDUS_OK;
}

int nidus_age_hash(const nidus_filter *filter, uint64_t hash)
{
	const struct recent *recent = recent_body(filter);
	struct gate_pass pass;
	if (recent == NULL)
		return -1;
	if (filter->gate == NULL)
		return recent_age(recent, hash);
	pass = gate_enter(filter->gate, GATE_VISITORS);
	int age = recent_age(recent, hash);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return age;
}

int nidus_age(const nidus_filter *filter, const void *key, size_t len)
{
	return filter_key_given(key, len) ? nidus_age_hash(filter, nidus_hash(filter, key, len))
	                                  : -1;
}

int nidus_age_u64(const nidus_filter *filter, uint64_t key)
{
	return nidus_age_hash(filter, nidus_hash_u64(filter, key));
}

uint64_t nidus_slice_count(const nidus_filter *filter, unsigned age)
{
	const struct recent *recent = recent_body(filter);
	if (recent == NULL)
		return 0;
	shared_stop(filter, false);
	uint64_t count = recent_of_age(recent, age);
	shared_go_on(filter);
	return count;
}
