/* SPDX-License-Identifier: MIT
 *
 * contents: what is in a nest as a whole: checking it, taking it from a file, going through its
 * entries and putting them into another nest.
 */
#include "nest/nest.h"

#include "base/reason.h"
#include "nest/change.h"

static bool core_possible(const struct nest *nest, uint64_t core)
{
	return core != 0 && (nest->kind != NEST_DIRECT || (core & (nest->base_groups - 1)) != 0);
}

/* Whether a lookup of the slot's identity comes to the slot: its borrowed bits are right. */
static bool reachable(const struct nest *nest, uint64_t slot, uint64_t value)
{
	struct nest_key key = nest_key_in(nest, nest->kind, 0, slot, value);
	struct stash_entry identity = nest_identity(nest, nest->kind, &key);
	struct nest_key again = nest_key_of_identity(nest, nest->kind, 0, identity);
	uint64_t expected = 0;
	return nest_encode_at(nest, nest->kind, &again, slot, &expected) && expected == value;
}

/* Whether a taken slot's bits can have come from an insert. */
static bool slot_possible(const struct nest *nest, uint64_t slot, uint64_t value)
{
	if (!core_possible(nest, value & nest->core_values))
		return false;
	uint64_t offset = (value >> (nest->core_bits + 1)) & (nest->slots - 1);
	if (nest->kind == NEST_WINDOWS && (offset > slot || slot - offset >= nest->groups))
		return false;
	return nest->borrowed == 0 || reachable(nest, slot, value);
}

static nidus_status verify_stash(const struct nest *nest, uint64_t chunk)
{
	const struct stash *stash = &nest->chunk[chunk].stash;
	if (stash->count > nest->stash_limit || !stash_sorted(stash))
		return fail(NIDUS_E_CORRUPT, "the stash of chunk %llu is too long or not in order",
		            (unsigned long long)chunk);
	for (uint32_t i = 0; i < stash->count; i++) {
		struct stash_entry entry = stash_entries(stash)[i];
		struct nest_key key = nest_key_of_identity(nest, nest->kind, chunk, entry);
		struct stash_entry again = nest_identity(nest, nest->kind, &key);
		unsigned empty, copies;
		nest_tally(nest, nest->kind, &key, &empty, &copies);
		if (again.home != entry.home || again.fingerprint != entry.fingerprint ||
		    stash_count(stash, entry, nest->fingerprints) > STASH_COPIES || empty > 0)
			return fail(NIDUS_E_CORRUPT,
			            "entry %u in the stash of chunk %llu does not belong there", i,
			            (unsigned long long)chunk);
	}
	return NIDUS_OK;
}

/* Checks the slots of a chunk and counts the taken ones. */
static nidus_status verify_slots(const struct nest *nest, uint64_t chunk, uint64_t *taken)
{
	const unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t slots = nest_chunk_slots(nest);
	*taken = 0;
	for (uint64_t slot = 0; slot < slots; slot++) {
		if (nest_coded(nest->kind) && slot % nest->slots == 0 &&
		    !coded_valid(bits, nest->width, slot / nest->slots))
			return fail(NIDUS_E_CORRUPT,
			            "bucket %llu of chunk %llu is not coded properly",
			            (unsigned long long)(slot / nest->slots),
			            (unsigned long long)chunk);
		uint64_t value = nest_get(nest, nest->kind, bits, slot);
		if (value == 0)
			continue;
		if (!slot_possible(nest, slot, value))
			return fail(NIDUS_E_CORRUPT,
			            "slot %llu of chunk %llu holds no possible entry",
			            (unsigned long long)slot, (unsigned long long)chunk);
		++*taken;
	}
	/* Bits behind the last slot are zero: one spelling per contents. */
	uint64_t end = nest->groups * nest_group_bits(nest->kind, nest->slots, nest->width);
	if (nest->kind == NEST_WINDOWS)
		end = slots * nest->width;
	for (uint64_t bit = end; bit < nest->stride * 8; bit++) {
		if (bits[bit >> 3] >> (bit & 7) & 1)
			return fail(NIDUS_E_CORRUPT,
			            "bits behind the last slot of chunk %llu are set",
			            (unsigned long long)chunk);
	}
	return NIDUS_OK;
}

/* Checks all of a chunk and counts its entries. */
static nidus_status verify_chunk(const struct nest *nest, uint64_t chunk, uint64_t *entries)
{
	nidus_status status = verify_slots(nest, chunk, entries);
	if (status == NIDUS_OK)
		status = verify_stash(nest, chunk);
	*entries += nest->chunk[chunk].stash.count;
	return status;
}

static nidus_status check_count(uint64_t counted, uint64_t said)
{
	if (counted != said)
		return fail(NIDUS_E_CORRUPT, "the table holds %llu entries; its header says %llu",
		            (unsigned long long)counted, (unsigned long long)said);
	return NIDUS_OK;
}

nidus_status nest_verify(const struct nest *nest)
{
	uint64_t stashed = 0, count = 0;
	for (uint64_t i = 0; i < nest->chunks; i++) {
		uint64_t entries;
		nidus_status status = verify_chunk(nest, i, &entries);
		if (status != NIDUS_OK)
			return status;
		stashed += nest->chunk[i].stash.count;
		count += entries;
		if (!nest->mapped && nest_used_in(nest, i) != entries)
			return fail(NIDUS_E_CORRUPT,
			            "chunk %llu holds another number of entries than it says",
			            (unsigned long long)i);
	}
	if (stashed != nest->stashed)
		return fail(NIDUS_E_CORRUPT,
		            "the stashes hold another number of entries than they say");
	return nest->mapped ? check_count(count, nest->mapped_count) : NIDUS_OK;
}

void nest_export_stash(const struct nest *nest, unsigned char *bytes)
{
	for (uint64_t i = 0; i < nest->chunks; i++) {
		const struct stash *stash = &nest->chunk[i].stash;
		for (uint32_t j = 0; j < stash->count; j++, bytes += STASH_ENTRY) {
			store64(bytes, i * nest->base_groups + stash_entries(stash)[j].home);
			store64(bytes + 8, stash_entries(stash)[j].fingerprint);
		}
	}
}

/* Whether (home over all chunks, fingerprint) can be an identity here at all. */
static bool identity_possible(const struct nest *nest, uint64_t home, uint64_t fingerprint)
{
	return home < nest->chunks * nest->base_groups &&
	       core_possible(nest, fingerprint & nest->core_values) &&
	       fingerprint <= nest->fingerprints;
}

/* Takes the stash from outside; of the table it looks at nothing. */
static nidus_status import_stash(struct nest *nest, const unsigned char *stash, uint64_t stashed)
{
	uint64_t last_home = 0, last_fingerprint = 0;
	for (uint64_t i = 0; i < stashed; i++, stash += STASH_ENTRY) {
		uint64_t home = load64(stash), fingerprint = load64(stash + 8);
		bool behind =
			home > last_home || (home == last_home && fingerprint >= last_fingerprint);
		if (!behind ||
		    fingerprint >> nest->fingerprint_bits > bits_low(nest->payload_bits) ||
		    !identity_possible(nest, home, fingerprint & nest->fingerprints))
			return fail(NIDUS_E_CORRUPT,
			            "entry %llu of the stash is out of range or order",
			            (unsigned long long)i);
		last_home = home;
		last_fingerprint = fingerprint;
		struct nest_chunk *chunk = &nest->chunk[home / nest->base_groups];
		struct stash_entry entry = { home % nest->base_groups, fingerprint };
		if (chunk->stash.count >= nest->stash_limit)
			return fail(NIDUS_E_CORRUPT, "a stash is longer than the filter allows");
		nidus_status status = stash_insert(&chunk->stash, entry, &nest->allocator);
		if (status != NIDUS_OK)
			return status;
		nest->stashed++;
	}
	return NIDUS_OK;
}

/* Checks all of the table and counts what is in it. */
static nidus_status import_table(struct nest *nest)
{
	for (uint64_t i = 0; i < nest->chunks; i++) {
		nidus_status status = verify_chunk(nest, i, &nest->chunk[i].used);
		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

nidus_status nest_import(struct nest *nest, const unsigned char *stash, uint64_t stashed,
                         uint64_t count)
{
	if (count < stashed || count - stashed > nest->chunks * nest_chunk_slots(nest))
		return fail(NIDUS_E_CORRUPT, "%llu entries are more than there are slots",
		            (unsigned long long)count);
	nest->mapped_count = count;
	nidus_status status = import_stash(nest, stash, stashed);
	if (status != NIDUS_OK || nest->mapped)
		return status;
	status = import_table(nest);
	return status == NIDUS_OK ? check_count(nest_count(nest), count) : status;
}

nidus_status nest_transfer(struct nest *to, const struct nest *from)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	while (nest_next(from, &cursor, &entry)) {
		nidus_status status = nest_insert_entry(to, &entry);
		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

nidus_entry nest_entry(const struct nest *nest, uint64_t chunk, struct stash_entry identity)
{
	return (nidus_entry){
		.home = chunk * nest->base_groups + identity.home,
		.fingerprint = identity.fingerprint & nest->fingerprints,
		.value = identity.fingerprint >> nest->fingerprint_bits,
	};
}

bool nest_next(const struct nest *nest, nidus_cursor *cursor, nidus_entry *entry)
{
	uint64_t slots = nest_chunk_slots(nest);
	uint64_t *chunk = &cursor->position[0], *at = &cursor->position[1];
	for (; *chunk < nest->chunks; ++*chunk, *at = 0) {
		const unsigned char *bits = nest_chunk_bits(nest, *chunk);
		const struct stash *stash = &nest->chunk[*chunk].stash;
		struct stash_entry found;
		uint64_t value = 0;
		while (*at < slots && (value = nest_get(nest, nest->kind, bits, *at)) == 0)
			++*at;
		if (*at < slots) {
			struct nest_key key = nest_key_in(nest, nest->kind, *chunk, *at, value);
			found = nest_identity(nest, nest->kind, &key);
		} else if (*at - slots < stash->count) {
			found = stash_entries(stash)[*at - slots];
		} else {
			continue;
		}
		++*at;
		*entry = nest_entry(nest, *chunk, found);
		return true;
	}
	return false;
}

/* The key of an entry from outside. Errors: E_RANGE. */
static nidus_status key_of_entry(const struct nest *nest, const nidus_entry *entry,
                                 struct nest_key *key)
{
	if (entry->value > bits_low(nest->payload_bits) ||
	    !identity_possible(nest, entry->home, entry->fingerprint))
		return fail(NIDUS_E_RANGE,
		            "this entry cannot come from a filter of the same geometry");
	uint64_t chunk = entry->home / nest->base_groups;
	struct stash_entry identity = { entry->home % nest->base_groups,
		                        entry->fingerprint | entry->value
		                                                     << nest->fingerprint_bits };
	*key = nest_key_of_identity(nest, nest->kind, chunk, identity);
	if (nest_identity(nest, nest->kind, key).home != identity.home)
		return fail(NIDUS_E_RANGE, "an entry's home is the lower of its two buckets");
	return NIDUS_OK;
}

nidus_status nest_entry_hash(const struct nest *nest, const nidus_entry *entry, uint64_t *hash)
{
	struct nest_key key;
	nidus_status status = key_of_entry(nest, entry, &key);
	if (status != NIDUS_OK)
		return status;
	uint64_t core = entry->fingerprint & nest->core_values, rest = 0;
	uint64_t growth = entry->fingerprint >> nest->core_bits;
	/* The choices of nest_locate, from the last to the first. */
	if (nest->kind == NEST_DIRECT) {
		rest = divide_wide_up(core / nest->base_groups, rest, nest->direct_values);
		rest = divide_wide_up(core % nest->base_groups - 1, rest, nest->base_groups - 1);
	} else {
		rest = divide_wide_up(core - 1, rest, nest->core_values);
	}
	rest = divide_wide_up(growth, rest, nest->growth_values);
	rest = divide_wide_up(entry->home % nest->base_groups, rest, nest->base_groups);
	*hash = divide_wide_up(key.chunk, rest, nest->chunks);
	return NIDUS_OK;
}

nidus_status nest_insert_key(struct nest *nest, const struct nest_key *key)
{
	unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, nest->kind, key->group[choice]);
		for (unsigned at = 0; at < nest->slots; at++) {
			if (nest_get(nest, nest->kind, bits, first + at) != 0)
				continue;
			nest_set(nest, nest->kind, bits, first + at,
			         nest_encode(nest, nest->kind, key->value, choice, at));
			nest->chunk[key->chunk].used++;
			return NIDUS_OK;
		}
	}
	return nest_insert_crowded(nest, nest->kind, key, true, NULL);
}

nidus_status nest_insert_entry(struct nest *nest, const nidus_entry *entry)
{
	struct nest_key key;
	nidus_status status = key_of_entry(nest, entry, &key);
	return status == NIDUS_OK ? nest_insert_key(nest, &key) : status;
}
