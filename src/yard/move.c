/* SPDX-License-Identifier: MIT
 *
 * yard_move: front bucket by front bucket, with what it has in the backyard.
 */
#include "yard/move.h"

#include "base/effort.h"
#include "yard/list.h"
#include "yard/tiers.h"

/* Takes the first `put` entries of a bucket out of `to` again. */
static void take_back(struct yard *to, const struct yard *from, uint64_t bucket, uint64_t put)
{
	struct yard_key key;
	uint64_t at = 0;
	for (; put > 0 && yard_next_in(from, bucket, &at, &key); put--)
		(void)to->ops->change(to, yard_key_at(to, from, key),
		                      (struct value_change){ VALUE_REMOVE, key.beside, 0 });
}

/* How many entries a bucket has from a place on. */
static uint64_t entries_from(const struct yard *yard, uint64_t bucket, uint64_t at)
{
	struct yard_key key;
	uint64_t entries = 0;
	while (yard_next_in(yard, bucket, &at, &key))
		entries++;
	return entries;
}

/* Puts copies of a bucket's entries into `to` one by one: all and true, or none. */
static bool put_bucket(struct yard *to, const struct yard *from, uint64_t bucket,
                       struct overflow *overflow, uint64_t *put)
{
	struct yard_key key;
	uint64_t at = 0;
	bool reserved = false;
	for (*put = 0; yard_next_in(from, bucket, &at, &key); ++*put) {
		if (to->ops->put(to, yard_key_at(to, from, key)) == NIDUS_OK)
			continue;
		uint64_t left = 1 + entries_from(from, bucket, at);
		if (!reserved && overflow_reserve(overflow, &to->allocator, left) != NIDUS_OK) {
			take_back(to, from, bucket, *put);
			return false;
		}
		reserved = true;
		nidus_entry entry = yard_identity(from, key);
		overflow_insert(overflow, &entry, 1);
	}
	return true;
}

/* Moves the listed entries of a bucket; false: some stay, as there is no memory. */
static bool move_list(struct yard *to, struct yard *from, uint64_t bucket,
                      struct overflow *overflow)
{
	struct yard_key key;
	while (yard_list_first(from, bucket, NULL, &key)) {
		nidus_entry listed = yard_list_entry(from, key), entry = yard_identity(from, key);
		uint64_t copies = overflow_count(&from->list, &listed), before = to->count;
		nidus_status status = yard_put_copies(to, yard_key_at(to, from, key), copies);
		uint64_t left = copies - (to->count - before);
		if (status != NIDUS_OK &&
		    overflow_add(overflow, &to->allocator, &entry, left) != NIDUS_OK) {
			/* What came over leaves `from`. */
			copies -= left;
			left = UINT64_MAX;
		}
		if (copies > 0)
			overflow_take(&from->list, &listed, copies);
		from->count -= copies;
		effort_of_thread()->moved++; /* one node */
		if (left == UINT64_MAX)
			return false;
	}
	return true;
}

/* Puts copies of a bucket's entries into `to`, most of them by whole lines: all and true, or none. */
static bool copy_bucket(struct yard *to, const struct yard *from, uint64_t bucket,
                        struct overflow *overflow, uint64_t *put)
{
	*put = to->ops->copy_lines(to, from, bucket);
	return *put != YARD_NOT_BY_LINES || put_bucket(to, from, bucket, overflow, put);
}

void yard_move(struct yard *to, struct yard *from, uint64_t *position, uint64_t places,
               struct overflow *overflow)
{
	if (*position == UINT64_MAX)
		return;
	uint64_t buckets = divide_up(places, from->ops->shape.front.slots), moved;
	for (; buckets > 0 && *position < from->fronts; buckets--, ++*position) {
		if (!move_list(to, from, *position, overflow) ||
		    !copy_bucket(to, from, *position, overflow, &moved))
			return;
		from->ops->empty_bucket(from, *position);
		from->count -= moved;
		effort_of_thread()->moved += moved;
	}
	if (*position >= from->fronts)
		*position = UINT64_MAX;
}
