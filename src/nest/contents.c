/* SPDX-License-Identifier: MIT
 *
 * contents: what is in a nest as a whole: checking it, taking it from a file, going through its
 * entries and putting them into another nest of the same geometry.
 */
#include "nest/nest.h"

#include "base/reason.h"
#include "nest/change.h"

static bool core_possible(const struct nest *nest, uint64_t core)
{
	return core != 0 &&
	       (nest->layout->kind != NEST_DIRECT || (core & (nest->layout->groups - 1)) != 0);
}

bool nest_slot_possible(const struct nest *nest, uint64_t slot, uint64_t value)
{
	if (!core_possible(nest, value & nest->layout->core_values))
		return false;
	uint64_t offset = (value >> (nest->layout->core_bits + 1)) & (nest->layout->slots - 1);
	return nest->layout->kind != NEST_WINDOWS ||
	       (offset <= slot && slot - offset < nest->layout->groups);
}

/* Whether a stashed entry is one of its chunk, and all slots of its home are taken. */
static bool stashed_rightly(const struct nest *nest, uint64_t chunk, const nidus_entry *entry)
{
	struct nest_key key = nest_key_of_identity(nest, nest->layout->kind, chunk, *entry);
	nidus_entry again = nest_identity(nest, nest->layout->kind, &key);
	return again.home == entry->home && again.fingerprint == entry->fingerprint &&
	       again.value == entry->value && !nest_home_open(nest, nest->layout->kind, &key);
}

static nidus_status verify_stash(const struct nest *nest, uint64_t chunk)
{
	const struct overflow *stash = &nest->chunk[chunk].stash;
	uint64_t number = 0;
	if (!overflow_valid(stash) || (stash->nodes > 0 && nest->layout->stash_limit == 0))
		return fail(NIDUS_E_CORRUPT, "the stash of chunk %llu contradicts itself",
		            (unsigned long long)chunk);
	const struct overflow_node *node = overflow_next(stash, NULL);
	for (; node != NULL; node = overflow_next(stash, &node->entry), number++) {
		if (!stashed_rightly(nest, chunk, &node->entry))
			return fail(NIDUS_E_CORRUPT,
			            "entry %llu in the stash of chunk %llu does not belong there",
			            (unsigned long long)number, (unsigned long long)chunk);
	}
	return NIDUS_OK;
}

/* Checks the slots of a chunk and counts the taken ones. */
static nidus_status verify_slots(const struct nest *nest, uint64_t chunk, uint64_t *taken)
{
	const unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t slots = nest_chunk_slots(nest->layout);
	*taken = 0;
	for (uint64_t slot = 0; slot < slots; slot++) {
		if (nest_coded(nest->layout->kind) && slot % nest->layout->slots == 0 &&
		    !coded_valid(bits, nest->layout->width, slot / nest->layout->slots))
			return fail(NIDUS_E_CORRUPT,
			            "bucket %llu of chunk %llu is not coded properly",
			            (unsigned long long)(slot / nest->layout->slots),
			            (unsigned long long)chunk);
		uint64_t value = nest_get(nest, nest->layout->kind, bits, slot);
		if (value == 0)
			continue;
		if (!nest_slot_possible(nest, slot, value))
			return fail(NIDUS_E_CORRUPT,
			            "slot %llu of chunk %llu holds no possible entry",
			            (unsigned long long)slot, (unsigned long long)chunk);
		++*taken;
	}
	/* Bits behind the last slot are zero: one spelling per contents. */
	uint64_t end =
		nest->layout->groups *
		nest_group_bits(nest->layout->kind, nest->layout->slots, nest->layout->width);
	if (nest->layout->kind == NEST_WINDOWS)
		end = slots * nest->layout->width;
	for (uint64_t bit = end; bit < nest->layout->stride * 8; bit++) {
		if (bits[bit >> 3] >> (bit & 7) & 1)
			return fail(NIDUS_E_CORRUPT,
			            "bits behind the last slot of chunk %llu are set",
			            (unsigned long long)chunk);
	}
	return NIDUS_OK;
}

/* Checks all of a chunk and counts its taken slots and different stashed entries. */
static nidus_status verify_chunk(const struct nest *nest, uint64_t chunk, uint64_t *used)
{
	nidus_status status = verify_slots(nest, chunk, used);
	if (status == NIDUS_OK)
		status = verify_stash(nest, chunk);
	*used += nest->chunk[chunk].stash.nodes;
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
	uint64_t stashed = 0, entries = 0, count = 0;
	for (uint64_t i = 0; i < nest->layout->chunks; i++) {
		uint64_t used;
		nidus_status status = verify_chunk(nest, i, &used);
		if (status != NIDUS_OK)
			return status;
		stashed += nest->chunk[i].stash.nodes;
		entries += nest->chunk[i].stash.entries;
		count += used;
		if (!nest->mapped && nest_used_in(nest, i) != used)
			return fail(NIDUS_E_CORRUPT,
			            "chunk %llu holds another number of entries than it says",
			            (unsigned long long)i);
	}
	if (stashed != nest->stashed || entries != nest->stashed + nest->surplus)
		return fail(NIDUS_E_CORRUPT,
		            "the stashes hold another number of entries than they say");
	return nest->mapped ? check_count(count + nest->surplus, nest->mapped_count) : NIDUS_OK;
}

void nest_export_stash(const struct nest *nest, unsigned char *bytes)
{
	for (uint64_t i = 0; i < nest->layout->chunks; i++)
		bytes = overflow_export(&nest->chunk[i].stash, i * nest->layout->groups, bytes);
}

/* Whether (home over all chunks, fingerprint) can be an identity here at all. */
static bool identity_possible(const struct nest *nest, uint64_t home, uint64_t fingerprint)
{
	return home < nest->layout->chunks * nest->layout->groups &&
	       core_possible(nest, fingerprint & nest->layout->core_values) &&
	       fingerprint <= nest->layout->fingerprints;
}

/*
 * Takes an entry of the stash from outside; false if it cannot be one, or has more copies than
 * there are entries. Errors: E_NOMEM.
 */
static bool import_entry(struct nest *nest, const nidus_entry *entry, uint64_t copies,
                         nidus_status *status)
{
	uint64_t others = nest->mapped_count - nest->stashed - nest->surplus;
	if (copies < 1 || copies > others || nest->layout->stash_limit == 0 ||
	    entry->value > bits_low(nest->layout->payload_bits) ||
	    !identity_possible(nest, entry->home, entry->fingerprint))
		return false;
	struct overflow *stash = &nest->chunk[entry->home / nest->layout->groups].stash;
	const nidus_entry own = { entry->home % nest->layout->groups, entry->fingerprint,
		                  entry->value };
	*status = overflow_add(stash, nest->allocator, &own, copies);
	nest->stashed += *status == NIDUS_OK;
	nest->surplus += *status == NIDUS_OK ? copies - 1 : 0;
	return true;
}

/* Takes the stash from outside; of the table it looks at nothing. */
static nidus_status import_stash(struct nest *nest, const unsigned char *stash, uint64_t stashed)
{
	nidus_entry last = { 0 };
	nidus_status status = NIDUS_OK;
	for (uint64_t i = 0; i < stashed && status == NIDUS_OK; i++, stash += OVERFLOW_ENTRY) {
		uint64_t copies;
		nidus_entry entry = overflow_decode(stash, &copies);
		if ((i > 0 && !overflow_in_order(&last, &entry)) ||
		    !import_entry(nest, &entry, copies, &status))
			return fail(NIDUS_E_CORRUPT,
			            "entry %llu of the stash is out of range or order",
			            (unsigned long long)i);
		last = entry;
	}
	return status;
}

/* Checks all of the table and counts what is in it. */
static nidus_status import_table(struct nest *nest)
{
	for (uint64_t i = 0; i < nest->layout->chunks; i++) {
		nidus_status status = verify_chunk(nest, i, &nest->chunk[i].used);
		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

nidus_status nest_import(struct nest *nest, const unsigned char *stash, uint64_t stashed,
                         uint64_t count)
{
	nest->mapped_count = count;
	nidus_status status = import_stash(nest, stash, stashed);
	if (status != NIDUS_OK)
		return status;
	uint64_t in_slots = count - nest->stashed - nest->surplus;
	if (in_slots > nest->layout->chunks * nest_chunk_slots(nest->layout))
		return fail(NIDUS_E_CORRUPT, "%llu entries are more than there are slots",
		            (unsigned long long)in_slots);
	if (nest->mapped)
		return NIDUS_OK;
	status = import_table(nest);
	return status == NIDUS_OK ? check_count(nest_count(nest), count) : status;
}

/* ---------------------------------------------------------------------- walks -- */

nidus_entry nest_entry(const struct nest *nest, uint64_t chunk, nidus_entry identity)
{
	identity.home += chunk * nest->layout->groups;
	return identity;
}

static inline bool is_wanted(const struct nest *nest, const uint8_t *wanted, uint64_t value)
{
	return value != 0 && (wanted == NULL || wanted[value >> nest->layout->payload_at]);
}

/*
 * The identity of the first taken slot of a chunk from *slot on, which then is the next. `wanted` says which
 * payloads count; NULL: all.
 */
static bool next_in_slots(const struct nest *nest, uint64_t chunk, const uint8_t *wanted,
                          uint64_t *slot, nidus_entry *identity)
{
	const unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t slots = nest_chunk_slots(nest->layout), value = 0;
	while (*slot < slots &&
	       !is_wanted(nest, wanted,
	                  value = nest_get(nest, nest->layout->kind, bits, *slot)))
		++*slot;
	if (*slot >= slots)
		return false;
	struct nest_key key = nest_key_in(nest, nest->layout->kind, chunk, *slot, value);
	*identity = nest_identity(nest, nest->layout->kind, &key);
	++*slot;
	return true;
}

/* Chunk by chunk: its slots, then its stash, where copies of an entry are told one by one. */
bool nest_next(const struct nest *nest, nidus_cursor *cursor, nidus_entry *entry)
{
	return nest_next_wanted(nest, NULL, cursor, entry);
}

bool nest_next_wanted(const struct nest *nest, const uint8_t *wanted, nidus_cursor *cursor,
                      nidus_entry *entry)
{
	uint64_t slots = nest_chunk_slots(nest->layout);
	uint64_t *chunk = &cursor->position[0], *at = &cursor->position[1];
	for (; *chunk < nest->layout->chunks; ++*chunk, *at = 0) {
		const struct overflow_node *node;
		nidus_entry identity;
		if (!next_in_slots(nest, *chunk, wanted, at, &identity)) {
			do
				node = overflow_at(&nest->chunk[*chunk].stash, (*at)++ - slots);
			while (node != NULL && wanted != NULL && !wanted[node->entry.value]);
			if (node == NULL)
				continue;
			identity = node->entry;
		}
		*entry = nest_entry(nest, *chunk, identity);
		return true;
	}
	return false;
}

nidus_status nest_transfer(struct nest *to, const struct nest *from)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t i = 0; i < from->layout->chunks && status == NIDUS_OK; i++) {
		const struct overflow *stash = &from->chunk[i].stash;
		const struct overflow_node *node = overflow_next(stash, NULL);
		nidus_entry identity;
		uint64_t slot = 0;
		while (status == NIDUS_OK && next_in_slots(from, i, NULL, &slot, &identity)) {
			nidus_entry entry = nest_entry(from, i, identity);
			status = nest_insert_entry(to, &entry); /* a mapped table may be anything */
		}
		for (; node != NULL && status == NIDUS_OK;
		     node = overflow_next(stash, &node->entry)) {
			struct nest_key key =
				nest_key_of_identity(to, to->layout->kind, i, node->entry);
			uint64_t left = node->copies;
			status = nest_insert_copies(to, &key, &left);
		}
	}
	return status;
}

/* The key of an entry from outside. Errors: E_RANGE. */
static nidus_status key_of_entry(const struct nest *nest, const nidus_entry *entry,
                                 struct nest_key *key)
{
	if (entry->value > bits_low(nest->layout->payload_bits) ||
	    !identity_possible(nest, entry->home, entry->fingerprint))
		return fail(NIDUS_E_RANGE,
		            "this entry cannot come from a filter of the same geometry");
	uint64_t chunk = entry->home / nest->layout->groups;
	const nidus_entry identity = { entry->home % nest->layout->groups, entry->fingerprint,
		                       entry->value };
	*key = nest_key_of_identity(nest, nest->layout->kind, chunk, identity);
	if (nest_identity(nest, nest->layout->kind, key).home != identity.home)
		return fail(NIDUS_E_RANGE, "an entry's home is the lower of its two buckets");
	return NIDUS_OK;
}

/* What is left of a hash behind its group, by the core. */
static uint64_t rest_of_core(const struct nest *nest, uint64_t core)
{
	if (nest->layout->kind != NEST_DIRECT)
		return divide_wide_up(core - 1, 0, nest->layout->core_values);
	uint64_t rest = divide_wide_up(core / nest->layout->groups, 0, nest->layout->direct_values);
	return divide_wide_up(core % nest->layout->groups - 1, rest, nest->layout->groups - 1);
}

uint64_t nest_part_hash(const struct nest *nest, const nidus_entry *entry, uint64_t part)
{
	uint64_t rest = rest_of_core(nest, entry->fingerprint & nest->layout->core_values);
	rest = divide_wide_up(entry->home, rest, nest->layout->groups);
	return divide_wide_up(part, rest, nest->layout->parts);
}

nidus_status nest_entry_hash(const struct nest *nest, const nidus_entry *entry, uint64_t *hash)
{
	struct nest_key key;
	nidus_status status = key_of_entry(nest, entry, &key);
	if (status != NIDUS_OK)
		return status;
	/* The choices of nest_locate, from the last to the first. */
	uint64_t rest = rest_of_core(nest, entry->fingerprint & nest->layout->core_values);
	rest = divide_wide_up(entry->home % nest->layout->groups, rest, nest->layout->groups);
	*hash = divide_wide_up(key.chunk, rest, nest->layout->chunks);
	return NIDUS_OK;
}

nidus_status nest_insert_key(struct nest *nest, const struct nest_key *key)
{
	unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, nest->layout->kind, key->group[choice]);
		for (unsigned at = 0; at < nest->layout->slots; at++) {
			if (nest_get(nest, nest->layout->kind, bits, first + at) != 0)
				continue;
			nest_set(nest, nest->layout->kind, bits, first + at,
			         nest_encode(nest, nest->layout->kind, key->value, choice, at));
			nest->chunk[key->chunk].used++;
			return NIDUS_OK;
		}
	}
	if (nest_is_stashed(nest, nest->layout->kind, key))
		return nest_stash_key(nest, nest->layout->kind, key, 1);
	return nest_insert_crowded(nest, nest->layout->kind, key, true, NULL);
}

nidus_status nest_insert_copies(struct nest *nest, const struct nest_key *key, uint64_t *left)
{
	nidus_status status = NIDUS_OK;
	while (*left > 0 && status == NIDUS_OK) {
		uint64_t entries = nest->chunk[key->chunk].stash.entries;
		status = nest_insert_key(nest, key);
		*left -= status == NIDUS_OK;
		/* What is stashed once takes the others there, too. */
		if (*left == 0 || nest->chunk[key->chunk].stash.entries == entries)
			continue;
		status = nest_stash_key(nest, nest->layout->kind, key, *left);
		if (status == NIDUS_OK)
			*left = 0;
	}
	return status;
}

nidus_status nest_insert_entry(struct nest *nest, const nidus_entry *entry)
{
	struct nest_key key;
	nidus_status status = key_of_entry(nest, entry, &key);
	return status == NIDUS_OK ? nest_insert_key(nest, &key) : status;
}
