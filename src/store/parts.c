/* SPDX-License-Identifier: MIT
 *
 * parts: the fields of the record.
 *
 *       0  position, u64             40  returned: home, u64
 *       8  places per turn, u64      48  returned: fingerprint, u64
 *      16  inserts to a turn, u32    56  inserts to a count, i64
 *      20  uncounted inserts, u32    64  entries of the overflow list, u64
 *      24  old body follows, u32     72  checksum of the overflow list, u64
 *      28  returning, u32            80  zero
 *      32  returned: value, u64     120  checksum of bytes 0 to 119, u64
 */
#include "store/parts.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/reason.h"

#define CHECKSUM_AT 120

_Static_assert(CHECKSUM_AT + 8 == PARTS_RECORD, "the checksum ends the record");

void parts_encode(const struct parts *parts, unsigned char record[PARTS_RECORD])
{
	memset(record, 0, PARTS_RECORD);
	store64(record, parts->position);
	store64(record + 8, parts->places);
	store32(record + 16, parts->inserts);
	store32(record + 20, parts->uncounted);
	store32(record + 24, parts->old);
	store32(record + 28, parts->returning);
	store64(record + 32, parts->returned.value);
	store64(record + 40, parts->returned.home);
	store64(record + 48, parts->returned.fingerprint);
	store64(record + 56, (uint64_t)parts->left);
	store64(record + 64, parts->overflowed);
	store64(record + 72, parts->checksum);
	store64(record + CHECKSUM_AT, hash_checksum(record, CHECKSUM_AT));
}

nidus_status parts_decode(struct parts *parts, const unsigned char record[PARTS_RECORD])
{
	unsigned char again[PARTS_RECORD];
	if (load64(record + CHECKSUM_AT) != hash_checksum(record, CHECKSUM_AT))
		return fail(NIDUS_E_CORRUPT, "the checksum of the growth record does not match");
	*parts = (struct parts){
		.position = load64(record),
		.places = load64(record + 8),
		.inserts = load32(record + 16),
		.uncounted = load32(record + 20),
		.old = load32(record + 24) != 0,
		.returning = load32(record + 28) != 0,
		.returned = { load64(record + 40), load64(record + 48), load64(record + 32) },
		.left = (int64_t)load64(record + 56),
		.overflowed = load64(record + 64),
		.checksum = load64(record + 72),
	};
	parts_encode(parts, again);
	if (memcmp(record, again, PARTS_RECORD) != 0)
		return fail(NIDUS_E_FORMAT, "the growth record's unused bytes are not zero");
	return NIDUS_OK;
}
