/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_H
#define NIDUS_H

/**
 * @file nidus.h
 * nidus: fingerprint filters, which are small, fast, approximate sets.
 *
 * A filter answers "have I seen this key?". It never says no for a key that is
 * in it, and says yes for a key that is not in it with a probability that you
 * choose (the false-positive rate, fpr). It keeps a few bits per key and never
 * the key itself.
 *
 *     nidus_options options = NIDUS_OPTIONS_INIT;
 *     options.capacity = 1000000;
 *     options.fpr = 0.001;
 *     nidus_filter *filter;
 *     if (nidus_create(&options, &filter) != NIDUS_OK)
 *         puts(nidus_reason());
 *     nidus_insert_new(filter, "heron", 5); // once, however often it comes
 *     nidus_contains(filter, "heron", 5);   // true, always
 *     nidus_contains(filter, "crane", 5);   // false, 999 times out of 1000
 *     nidus_free(filter);
 *
 * ## The promises, for every family
 *
 * 1. No false negatives: a key inserted and not removed is always found.
 * 2. Capacity: a filter made for n keys takes any n distinct keys; the odds
 *    that one filter breaks this are below one in a million. Inserts beyond
 *    the capacity go on until no place is found. A filter need not be sized
 *    at all: see NIDUS_UNLIMITED.
 * 3. Rate: measured at capacity, the fpr is at most the target.
 * 4. Failure changes nothing: after any error the filter, and the file on
 *    disk, are as they were.
 * 5. Delete is exact on what was inserted: one remove undoes one insert of the
 *    same key and never hurts another key.
 * 6. Enumeration is lossless: a walk yields exactly nidus_info.count entries.
 * 7. Same seed and same calls give the same bytes, on every machine.
 * 8. Bad input gets a typed error, never a crash.
 * 9. Copies are counted: a key may be put in any number of times, 2^32 - 1 at least, and
 *    never makes the filter grow. What finds no place in the table is kept in an exact
 *    list: one entry for all copies of a key there that have the same value, 24 bytes in
 *    a file and 56 in memory. Hot keys take no other key's place: no insert gets
 *    NIDUS_FULL while taken slots and different entries of the list are fewer than the
 *    capacity, or max_capacity if there is one. NIDUS_STASH_OFF gives this up: there a
 *    key has as many copies as slots (breadcrumb and filters that can grow do not look at
 *    options.stash).
 * 10. Values are found: the value that a key was put in with is among those that
 *    nidus_find gives, until it is removed or replaced.
 *
 * The two Bloom families keep bits and no entries: 5, 6 and 10 do not apply. They are
 * never full (inserts beyond the capacity succeed, and fpr_now rises), copies of a key
 * take no room, and count is the number of inserts.
 *
 * A ribbon filter is built from all its keys at once (NIDUS_STATIC): 5, 6 and 9 do not
 * apply, and 2 means that it is never full.
 *
 * ## Caveats
 *
 * - Removing a key that was never inserted may remove the copy of another key
 *   that looks the same (a "twin"). Remove only what you inserted, and only if the
 *   insert returned NIDUS_OK: after NIDUS_PRESENT you own no copy.
 * - With values, nidus_remove takes any entry of the key or a twin, whatever its value.
 *   Use nidus_remove_value if keys have different values.
 * - A filter file carries its seed. Anyone who knows the seed can prepare keys
 *   that collide.
 *
 * ## Threads
 *
 * Each declaration has a `Threads:` line. "reads" may run at the same time as
 * other reads of the same filter. "writes" needs the filter for itself.
 * "free" touches no filter and may run at any time.
 *
 * A filter made with NIDUS_CONCURRENT in options.features takes any mix of
 * insert, insert_new, remove, contains, count_key, the calls on values and counts, and
 * their batches from any number of threads: each takes effect at one moment between its
 * start and its end. Other calls may come at any time, too. Changes wait for walks, saves,
 * merges, clones, verify, info, nidus_build_like and nidus_insert_entry; all calls wait for
 * nidus_grow, nidus_shrink, nidus_pack and nidus_clear. Only nidus_free needs the filter for itself.
 * docs/concurrency.md explains how, and what it costs.
 *
 * ## Processes
 *
 * Any number of processes may load and open a file while another one saves it:
 * each gets the old filter or the new one, whole. Processes that load, change and
 * save the same file have to take turns, or a save undoes what the others did since
 * it was loaded. The library locks nothing; the nidus command does. To take turns
 * with it, open(2) the file, flock(2) it with LOCK_EX, and check with fstat and stat
 * that the path still leads to that very file (a save replaces it): if it does not,
 * close it and start again. Then load, change, save, and close it.
 *
 * ## Versions
 *
 * nidus_options and nidus_info carry their size, so a program compiled against
 * an older header keeps working with a newer library. nidus_plan_row does not:
 * before 1.0 a minor version may make it larger.
 *
 * ## Stacks
 *
 * Threads may have small stacks: no call needs more than 24 KiB, not counting what the
 * C library itself needs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NIDUS_VERSION_MAJOR 0
#define NIDUS_VERSION_MINOR 2
#define NIDUS_VERSION_PATCH 0

#if defined(_WIN32) || defined(__CYGWIN__)
#define NIDUS_API
#elif defined(__GNUC__)
#define NIDUS_API __attribute__((visibility("default")))
#else
#define NIDUS_API
#endif

/* ------------------------------------------------------------- statuses -- */

/**
 * What a call answers. Below 10: ordinary answers of a healthy filter.
 * From 10: the caller asked for something wrong. From 20: memory. From 30:
 * files.
 */
typedef enum nidus_status {
	NIDUS_OK = 0,
	NIDUS_FULL,          /**< no place was found; nothing changed */
	NIDUS_NOT_FOUND,     /**< remove: no such key; nothing changed */
	NIDUS_PRESENT,       /**< insert_new: it was there; nothing changed */
	NIDUS_COPIES,        /**< no more copies of this key can be counted; nothing changed */
	NIDUS_STOPPED,       /**< a build: nidus_progress said stop; nothing is kept */
	NIDUS_E_ARG = 10,    /**< a NULL or invalid argument */
	NIDUS_E_RANGE,       /**< a number that is out of range for the family */
	NIDUS_E_UNSUPPORTED, /**< a feature that the family does not have */
	NIDUS_E_READONLY,    /**< a change to a filter that was opened, not loaded */
	NIDUS_E_MISMATCH,    /**< two filters that do not fit together */
	NIDUS_E_NOMEM = 20,  /**< out of memory */
	NIDUS_E_BUFFER,      /**< the caller's buffer is too small */
	NIDUS_E_IO = 30,     /**< the system refused; errno tells why */
	NIDUS_E_FORMAT,      /**< not a nidus file, or its fields contradict each other */
	NIDUS_E_VERSION,     /**< a nidus file of another format version */
	NIDUS_E_TRUNCATED,   /**< the file ends too early */
	NIDUS_E_CORRUPT      /**< a checksum or an invariant does not hold */
} nidus_status;

/**
 * The name of a status in the source ("NIDUS_FULL"), or "NIDUS_UNKNOWN".
 * Static text. Threads: free.
 */
NIDUS_API const char *nidus_status_name(nidus_status status);

/**
 * The status in plain words ("the filter is full"). Static text.
 * Threads: free.
 */
NIDUS_API const char *nidus_status_text(nidus_status status);

/**
 * This thread's last failure in words, with the details that a status cannot
 * carry ("capacity must be at least 1"). Never NULL; "" before the first
 * failure. Ask right after the call that failed: the text stays until this
 * thread's next call that fails, or that tries several families (NIDUS_AUTO).
 * NOT_FOUND and PRESENT need no more words and leave it alone.
 * Threads: free (each thread has its own).
 */
NIDUS_API const char *nidus_reason(void);

/* ------------------------------------------------------------- families -- */

/** The filter designs. The choice is one of space and speed. */
typedef enum nidus_family {
	NIDUS_AUTO = 0,     /**< the smallest that has the features asked for, when it has grown to
	                         max_capacity; one that is less than 3 % larger if it is
	                         clearly faster (nidus_speed) */
	NIDUS_CUCKOO,       /**< two buckets, power-of-two sizes */
	NIDUS_SEMISORT,     /**< cuckoo with coded buckets: one bit per key less */
	NIDUS_SIMPLIFIED,   /**< cuckoo in small subtables with a stash each */
	NIDUS_CHUNKED,      /**< CPCF: chunks of any number, few kick-outs */
	NIDUS_BUCKETED,     /**< any number of buckets */
	NIDUS_WINDOWED,     /**< overlapping windows: the smallest but for NIDUS_COMPACT */
	NIDUS_BREADCRUMB,   /**< about one cache line per operation */
	NIDUS_BLOOM,        /**< no delete; to compare with */
	NIDUS_BLOCKED_BLOOM, /**< no delete; one cache line per operation */
	NIDUS_RIBBON        /**< static: built in bulk and only read; the smallest of all */
} nidus_family;

/** What a family can do, and what NIDUS_AUTO must honour. */
enum {
	NIDUS_DELETE = 1u << 0,     /**< nidus_remove */
	NIDUS_ENUMERATE = 1u << 1,  /**< nidus_next, nidus_insert_entry */
	NIDUS_MERGE = 1u << 2,      /**< nidus_merge_many */
	NIDUS_GROW = 1u << 3,       /**< nidus_grow, nidus_shrink, max_capacity */
	NIDUS_CONCURRENT = 1u << 4, /**< in options: switches the locks on, see Threads */
	NIDUS_FAST = 1u << 5,       /**< in options: the quickest in batches beyond the cache */
	NIDUS_MULTISET = 1u << 6,   /**< in options: bulk builds keep copies */
	NIDUS_NO_DELETE = 1u << 7,  /**< in options: nothing will be removed, see there */
	NIDUS_COMPACT = 1u << 8,    /**< in options: sorted, coded buckets, see there */
	NIDUS_STATIC = 1u << 9      /**< in options: built once and never changed, see there */
};

/**
 * The family's name ("windowed"), or NULL for a number that is no family.
 * Static text. Threads: free.
 */
NIDUS_API const char *nidus_family_name(nidus_family family);

/**
 * The family of a name as nidus_family_name gives it ("auto" too).
 * Errors: E_ARG for NULL or an unknown name; *family is left alone then.
 * Threads: free.
 */
NIDUS_API nidus_status nidus_family_by_name(const char *name, nidus_family *family);

/**
 * The features of a family, an OR of NIDUS_DELETE and the like; 0 for a family
 * that this version of the library does not have (and for NIDUS_AUTO).
 * Threads: free.
 */
NIDUS_API uint32_t nidus_family_features(nidus_family family);

/* -------------------------------------------------------------- options -- */

/**
 * Where a filter's memory comes from. Leave it zero for the system's own (huge
 * pages where they help). `alloc` returns at least `size` bytes with malloc's
 * alignment, or NULL; `free` gets the same size back. They are called from the
 * thread that calls nidus, with `context`. `alloc_zeroed` may be NULL. If it is not, what has
 * to be zero is taken from it and must be: then only segments are cleared, which a filter that
 * grows uses again.
 */
typedef struct nidus_allocator {
	void *(*alloc)(void *context, size_t size);
	void (*free)(void *context, void *memory, size_t size);
	void *(*alloc_zeroed)(void *context, size_t size);
	void *context;
} nidus_allocator;

/**
 * Watches a bulk build, and can stop it. `stop` is called again and again, with `context` and
 * the share of the work that is done: 0 to 1, never less than before; it need not reach 1.
 * It returns false to go on. After true the build ends within milliseconds with
 * NIDUS_STOPPED, and nothing is kept. NULL: nobody watches.
 *
 * Only the thread that called nidus calls it, every 512 keys or so, and also while that
 * thread waits for others. Builds of a few thousand keys may never call it. What takes
 * time (drawing a line, asking an interpreter for signals) should look at the clock first.
 * It may use other filters, but must return: no longjmp, no exception. A database that wants
 * to end a query returns true, and ends it when the build has answered. Batches need no such
 * thing: call them with some ten thousand keys at a time and look around in between.
 */
typedef struct nidus_progress {
	bool (*stop)(void *context, double share);
	void *context;
} nidus_progress;

/*
 * NIDUS_NO_DELETE in options.features promises the library that no key will be removed:
 * nidus_remove and the like answer E_UNSUPPORTED, info.features has no NIDUS_DELETE, and
 * a breadcrumb filter is filled more densely than one in which keys come and go
 * (other families stay as they are). Everything else works, growth, nidus_shrink and
 * nidus_clear included. A merge has the bit if any of its filters has it, or if it keeps
 * equal entries once. Together
 * with NIDUS_DELETE it is E_ARG.
 *
 * NIDUS_COMPACT in options.features makes a bucketed filter whose buckets of four are kept
 * sorted and coded, as those of semisort are: one bit per key less, at the price of some speed.
 * For k = log2(1/fpr) it takes at most 1.045 (k + 2) bits per key from 10^6 keys on, where k is
 * a whole number of 5 to 24: no other filter here that takes any number of keys is as small.
 * Values, growth, merges and NIDUS_CONCURRENT work as without it. NIDUS_AUTO takes
 * bucketed then, every other family answers E_UNSUPPORTED, and slots other than 4 are E_RANGE.
 * info.features has the bit.
 *
 * NIDUS_STATIC in options.features is for sets that are built once, shipped, and never changed.
 * NIDUS_AUTO takes ribbon then, the only family that can make use of it; the others answer
 * E_UNSUPPORTED. A ribbon filter is made by nidus_build_u64 and the like, and is only read
 * afterwards: inserts, removes, growth, merges and walks are E_UNSUPPORTED. For k = log2(1/fpr), a
 * whole number of 8 to 32, it takes at most 1.012 k bits per key from 10^6 keys on; rates
 * between two powers of two take 0.09 bits more. Its rates go from 2^-1 to 2^-32, and values, of 1 to 32
 * bits, cost their bits and 2 %: a static map, with one value per key. nidus_create makes an
 * empty one, which finds nothing: it serves to hash keys with, and for nidus_build_like.
 */

/** options.stash: keep no overflow list at all. */
#define NIDUS_STASH_OFF 0xffffffffu

/**
 * options.max_capacity: the filter need not be sized. It takes memory as keys come and keeps its
 * rate, however many they are. options.capacity may be 0, or say how many keys are expected: the
 * filter then takes less memory and looks up quicker until they are there.
 *
 * The filter is a chain of *generations*, each a filter that can grow. When one has used up its bits for
 * growth, 3 in the first, its entries stay where they are, and new keys go to the next
 * one, which becomes up to 64 times as large. Lookups ask all of them: one up to 60,000
 * keys or so, two up to 4 million, three up to 250 million, unless a capacity says otherwise. Generations share the
 * target, which costs a bit or two per key. The only limit is that of a 64-bit hash (from 10^9 keys on at the
 * lowest rates, 2^42 at 1 %): then inserts answer NIDUS_FULL. An insert does as little work as in any
 * filter that can grow, and an empty filter takes less than 1 KiB.
 *
 * Removes are exact in the bucketed, windowed and breadcrumb families, and NIDUS_AUTO takes one of them.
 * Entries of the cuckoo, semisort, simplified and chunked families do not tell enough: there it
 * takes NIDUS_NO_DELETE, and value_bits 0 (otherwise E_UNSUPPORTED). Everything else works as
 * with any max_capacity, but nidus_pack, builders and nidus_grow beyond the youngest generation.
 */
#define NIDUS_UNLIMITED UINT64_MAX

/** options.reserve: hold no slot back. */
#define NIDUS_RESERVE_NONE 0xffffffffu

/**
 * options.fpr: the loosest target that a filter is made for, 2^-4; a ribbon filter: 2^-1. The lowest is
 * 2^-32 as long as a 64-bit hash is long enough for so many keys (otherwise E_RANGE, and nidus_reason names
 * the most keys), about 2^-25 in breadcrumb, and 2^-24 in the Bloom families and with NIDUS_UNLIMITED.
 */
#define NIDUS_FPR_MOST 0.0625

/**
 * What nidus_create needs to know. Zero means default everywhere, but capacity
 * must be given, or max_capacity NIDUS_UNLIMITED. Start from NIDUS_OPTIONS_INIT.
 */
typedef struct nidus_options {
	size_t struct_size;    /**< set by NIDUS_OPTIONS_INIT */
	nidus_family family;   /**< 0: NIDUS_AUTO */
	uint64_t capacity;     /**< keys promised to fit: 1 to 2^44; with NIDUS_UNLIMITED 0, or
	                            how many are expected */
	double fpr;            /**< target rate, down to 2^-32 (see NIDUS_FPR_MOST); 0: 2^-8; above
	                            NIDUS_FPR_MOST (ribbon: 2^-1): that (info.fpr_target tells) */
	uint64_t seed;         /**< 0: a fresh random one; otherwise used as given */
	uint64_t max_capacity; /**< 0 or capacity: fixed size; larger: grows up to there, see
	                            nidus_grow; NIDUS_UNLIMITED: without an end */
	unsigned slots;        /**< per bucket or window; 0: the family's best */
	uint32_t features;     /**< what the filter must be able to do */
	unsigned max_steps;    /**< entries that one insert may look at to find room; 0: the
	                            family's best */
	unsigned reserve;      /**< CPCF's reserved slots p; 0: the family's best;
	                            NIDUS_RESERVE_NONE: p = 0 */
	unsigned value_bits;   /**< of the value beside each key, 0 to 32: see "values" below */
	unsigned stash;        /**< different entries that a chunk's overflow list takes
	                            beyond the capacity, too; 0: the family's best; no more
	                            than 1024 plus a quarter of the chunk's slots are used;
	                            NIDUS_STASH_OFF: there is no list, and then the
	                            capacity is an expectation, no promise. Filters that
	                            can grow always have lists, and do not look at this */
	nidus_allocator allocator; /**< copied at create */
	nidus_progress progress;   /**< for nidus_build_*; nidus_create does not look at it */
	unsigned slices;       /**< 2 to 254: the filter forgets keys that were not refreshed in
	                            so many slices, see nidus_tick; 0: it forgets nothing */
} nidus_options;

#ifdef __cplusplus
/* Every field zero, without a warning about those that are not named. */
inline nidus_options nidus_options_init()
{
	nidus_options options = nidus_options();
	options.struct_size = sizeof(nidus_options);
	return options;
}
#define NIDUS_OPTIONS_INIT nidus_options_init()
#else
#define NIDUS_OPTIONS_INIT { .struct_size = sizeof(nidus_options) }
#endif

/** What nidus_get_info tells. Start from NIDUS_INFO_INIT. */
typedef struct nidus_info {
	size_t struct_size;        /**< set by NIDUS_INFO_INIT */
	nidus_family family;       /**< the real one, never NIDUS_AUTO */
	uint64_t count;            /**< entries now, copies counted; Bloom: inserts */
	uint64_t capacity;         /**< keys promised: at least what was asked. Of a filter that
	                                can grow: keys that its segments have room for by now,
	                                at most max_capacity; it rises by itself */
	uint64_t max_capacity;     /**< keys it may grow to by itself; NIDUS_UNLIMITED: any number */
	uint64_t bytes;            /**< memory: table, stash and locks, without page rounding; of
	                                a filter that can grow all segments, their records and
	                                the index. Everything else (the filter itself, tables
	                                that save work) takes less than 1 %, or some KiB */
	uint64_t seed;             /**< what hashing is keyed with */
	double load;               /**< used slots / slots */
	double headroom;           /**< share of places left in the fullest chunk; of a filter
	                                that can grow: before its fullest part gets more room */
	double bits_per_key;       /**< 8 * bytes / count; 0 when empty */
	double fpr_target;         /**< the rate promised at capacity */
	double fpr_now;            /**< the rate expected with what is in it now */
	unsigned slots;            /**< per bucket or window; Bloom: 0 */
	unsigned fingerprint_bits; /**< stored per key, without choice and offset bits;
	                                Bloom: bits that a key sets; ribbon: whole bits */
	unsigned slot_bits;        /**< width of a slot; of a filter that can grow: of most, as
	                                segments differ by a few bits */
	unsigned growth_bits;      /**< of the fingerprint, reserved for growth */
	uint64_t total_slots;      /**< slots in the table, or in all segments */
	uint64_t chunks;           /**< independent sub-tables; of a filter that can grow: its
	                                segments by now, 0 while its few keys are a list */
	uint64_t stashed;          /**< entries in the overflow lists, copies counted */
	uint32_t features;         /**< what this filter can do */
	bool readonly;             /**< opened by nidus_open or nidus_open_buffer */
	bool concurrent;           /**< made with NIDUS_CONCURRENT: its locks are on */
	unsigned value_bits;       /**< of the value beside each key; 0: it keeps none */
	uint64_t judged;           /**< of nidus_build_exclude: keys of both lists that its second
	                                table tells apart; otherwise 0 */
	unsigned slices;           /**< options.slices */
} nidus_info;

#ifdef __cplusplus
inline nidus_info nidus_info_init()
{
	nidus_info info = nidus_info();
	info.struct_size = sizeof(nidus_info);
	return info;
}
#define NIDUS_INFO_INIT nidus_info_init()
#else
#define NIDUS_INFO_INIT { .struct_size = sizeof(nidus_info) }
#endif

/** A filter. Opaque: only pointers to it exist outside the library. */
typedef struct nidus_filter nidus_filter;

/* ------------------------------------------------------ life of a filter -- */

/**
 * Makes an empty filter.
 * @param options  what it must be able to do; not kept
 * @param filter   receives it; free with nidus_free
 * Errors: E_ARG (NULL, capacity 0, fpr not a rate, an allocator with only one
 * of its two functions), E_RANGE (a rate or number that is out of range for the
 * family), E_UNSUPPORTED (a feature that the family does not have), E_NOMEM, E_IO
 * (no randomness for a seed). After a failure *filter is NULL and
 * nothing is kept. Threads: free.
 */
NIDUS_API nidus_status nidus_create(const nidus_options *options, nidus_filter **filter);

/** Frees a filter. NULL is fine. Threads: writes. */
NIDUS_API void nidus_free(nidus_filter *filter);

/**
 * Makes an independent copy, same seed, same contents, same allocator. A copy of
 * an opened filter lies in memory and can be changed.
 * Errors: E_ARG, E_NOMEM, E_CORRUPT (an opened file is damaged); *copy is NULL then.
 * Threads: reads `filter`.
 */
NIDUS_API nidus_status nidus_clone(const nidus_filter *filter, nidus_filter **copy);

/**
 * Takes everything out; size and seed stay.
 * Errors: E_ARG, E_READONLY. Threads: writes.
 */
NIDUS_API nidus_status nidus_clear(nidus_filter *filter);

/**
 * Describes a filter and how full it is. `info->struct_size` must be set
 * (NIDUS_INFO_INIT); only that many bytes are written. Cheap, except for the Bloom families,
 * whose table is read to tell load and fpr_now (unless the filter was opened).
 * Errors: E_ARG; *info is left alone then. Threads: reads.
 */
NIDUS_API nidus_status nidus_get_info(const nidus_filter *filter, nidus_info *info);

/**
 * The number of entries, nidus_info.count, from counters and not from the table: cheap,
 * and changes never wait for it. 0 for NULL.
 * Threads: reads, and any time with NIDUS_CONCURRENT: entries that come while it counts
 * may be counted or not.
 */
NIDUS_API uint64_t nidus_size(const nidus_filter *filter);

/**
 * Whether two filters hold the same entries, copies and values included: those of the same keys
 * put in with the same seed, base geometry and rate, in any order, however far each has grown.
 * (Of filters without a size entries are the same only in the same generation, so the order of keys matters
 * from the second one on.) Both then answer the same to every key. Empty filters are all the same; Bloom filters are if
 * their bits are. Features do not matter. Filters of different seeds or sizes are never the same
 * unless both are empty, even if their keys are: entries of one say nothing about the other. Takes
 * time for each entry of both. False for NULL. Threads: reads both.
 */
NIDUS_API bool nidus_same(const nidus_filter *a, const nidus_filter *b);

/**
 * Checks every invariant of the filter in memory, entry by entry.
 * @param why  receives a text that says what is wrong ("" if nothing is); it
 *             stays until this thread's next failing call; may be NULL
 * Errors: E_ARG, E_CORRUPT. Threads: reads.
 */
NIDUS_API nidus_status nidus_verify(const nidus_filter *filter, const char **why);

/* ----------------------------------------------------------- single keys -- */

/*
 * A key is any sequence of bytes (len 0 is a key too, and key may be NULL
 * then), or a 64-bit integer (_u64), or a value that nidus_hash* made (_hash).
 * The three are key spaces of their own: insert_u64(7) is not found by
 * contains("7"), nor by the eight bytes of 7.
 */

/**
 * Puts one copy of a key in.
 * Errors: FULL (no place), COPIES (promise 9; other keys may still fit), E_ARG (key NULL with len > 0, filter NULL), E_READONLY,
 * E_NOMEM. After any of them the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert(nidus_filter *filter, const void *key, size_t len);
NIDUS_API nidus_status nidus_insert_u64(nidus_filter *filter, uint64_t key);
NIDUS_API nidus_status nidus_insert_hash(nidus_filter *filter, uint64_t hash);

/**
 * Puts a key in unless it is there already, or a twin; then NIDUS_PRESENT, and the
 * caller owns no copy and must not remove it. (Of a filter that grows, lookups say yes
 * for a few more keys than those: they are put in.)
 * Errors: PRESENT, and those of nidus_insert. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert_new(nidus_filter *filter, const void *key, size_t len);
NIDUS_API nidus_status nidus_insert_new_u64(nidus_filter *filter, uint64_t key);
NIDUS_API nidus_status nidus_insert_new_hash(nidus_filter *filter, uint64_t hash);

/**
 * Whether the key is in the filter: true for every key that is, and for other
 * keys with the filter's fpr. False for a NULL filter or a NULL key with
 * len > 0. Threads: reads.
 */
NIDUS_API bool nidus_contains(const nidus_filter *filter, const void *key, size_t len);
NIDUS_API bool nidus_contains_u64(const nidus_filter *filter, uint64_t key);
NIDUS_API bool nidus_contains_hash(const nidus_filter *filter, uint64_t hash);

/**
 * Prefetches the cache lines that a call with this hash will need, and returns at once. A
 * program that handles keys one by one gets most of the speed of batches if it knows some of
 * them ahead: hash a key, prefetch it, and use the hash 8 to 32 keys later. Changes nothing
 * and never fails; a filter that fits into the cache does not need it.
 * Threads: reads.
 */
NIDUS_API void nidus_prefetch_hash(const nidus_filter *filter, uint64_t hash);

/** A lookup under way, see nidus_prepare. Owns nothing; the fields are the library's. */
typedef struct nidus_probe {
	uint64_t hash;
	uint64_t version;
	uint64_t number[4];
} nidus_probe;

/**
 * The first half of a lookup: works out where the key may be, prefetches the cache lines there,
 * and returns at once. nidus_ask is the other half. A program that handles keys one by one gets
 * the speed of batches if it prepares some 32 keys ahead, each with a probe of its own (a
 * ring of them); a filter that fits into the cache does not need it. Changes nothing
 * and never fails: a NULL key with len > 0 is taken for the hash 0, as nidus_hash does, and
 * nothing is done for a NULL probe. Threads: reads.
 */
NIDUS_API void nidus_prepare(const nidus_filter *filter, const void *key, size_t len,
                             nidus_probe *probe);
NIDUS_API void nidus_prepare_u64(const nidus_filter *filter, uint64_t key, nidus_probe *probe);
NIDUS_API void nidus_prepare_hash(const nidus_filter *filter, uint64_t hash, nidus_probe *probe);

/**
 * Whether the key that was prepared is in the filter: what nidus_contains_hash answers for its
 * hash now, not at the moment of nidus_prepare. Anything may happen in between: keys come and
 * go, and if the filter has grown since, or is another one, all is worked out again from the
 * hash. False for a NULL filter or a NULL probe. Threads: reads.
 */
NIDUS_API bool nidus_ask(const nidus_filter *filter, const nidus_probe *probe);

/**
 * Takes one copy of a key out. Remove only what nidus_insert answered with
 * NIDUS_OK: removing a key that was never put in may take a twin's copy away.
 * Errors: NOT_FOUND, E_ARG, E_READONLY, E_UNSUPPORTED (Bloom families). After
 * any of them the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_remove(nidus_filter *filter, const void *key, size_t len);
NIDUS_API nidus_status nidus_remove_u64(nidus_filter *filter, uint64_t key);
NIDUS_API nidus_status nidus_remove_hash(nidus_filter *filter, uint64_t hash);

/**
 * How many copies of the key are in the filter; twins count too. Bloom
 * families answer 0 or 1. 0 for a NULL filter or a NULL key with len > 0.
 * Threads: reads.
 */
NIDUS_API uint64_t nidus_count_key(const nidus_filter *filter, const void *key, size_t len);
NIDUS_API uint64_t nidus_count_key_u64(const nidus_filter *filter, uint64_t key);
NIDUS_API uint64_t nidus_count_key_hash(const nidus_filter *filter, uint64_t hash);

/* ------------------------------------------------------ hashes and batches -- */

/**
 * The 64-bit hash of a key under this filter's seed, for the _hash and _batch
 * calls of this filter or of another one with the same seed. 0 for a NULL filter
 * or a NULL key with len > 0. Two different keys, strings or integers,
 * have the same hash with odds of about 2^-63, and among n keys there is such a pair
 * with odds of about n^2 / 2^64; to a filter they are one key. Threads: reads.
 */
NIDUS_API uint64_t nidus_hash(const nidus_filter *filter, const void *key, size_t len);
NIDUS_API uint64_t nidus_hash_u64(const nidus_filter *filter, uint64_t key);

/**
 * nidus_hash of n keys at once; all of them 0 if filter, keys or lens is NULL.
 * Threads: reads.
 */
NIDUS_API void nidus_hash_batch(const nidus_filter *filter, const void *const *keys,
                                const size_t *lens, size_t n, uint64_t *hashes);
NIDUS_API void nidus_hash_u64_batch(const nidus_filter *filter, const uint64_t *keys, size_t n,
                                    uint64_t *hashes);

/**
 * nidus_contains_hash for n hashes at once, faster: yes[i] becomes 1 or 0; all of
 * them 0 if filter or hashes is NULL. Threads: reads.
 */
NIDUS_API void nidus_contains_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                                    uint8_t *yes);

/**
 * nidus_insert_hash for n hashes in their order, up to the first that fails:
 * exactly hashes[0..*done) are in afterwards. `done` may be NULL. It leaves the same
 * bytes as single inserts, also where the filter grows.
 * Errors: those of nidus_insert. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                          size_t *done);

/**
 * nidus_insert_new_hash for n hashes in their order, faster: fresh[i] becomes 1 if the key was
 * put in and 0 if it or a twin was there already (NIDUS_PRESENT: the caller owns no copy).
 * Ends at the first that fails otherwise: exactly hashes[0..*done) were handled then. `fresh`
 * and `done` may be NULL.
 * Errors: those of nidus_insert. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert_new_batch(nidus_filter *filter, const uint64_t *hashes,
                                              size_t n, uint8_t *fresh, size_t *done);

/**
 * nidus_remove_hash for n hashes in their order, up to the first that fails:
 * exactly hashes[0..*done) are out afterwards. `done` may be NULL.
 * Errors: those of nidus_remove. Threads: writes.
 */
NIDUS_API nidus_status nidus_remove_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                          size_t *done);

/* ---------------------------------------------------------------- values -- */

/*
 * A filter made with options.value_bits = v keeps a number of v bits beside each key: where
 * the key is (which file, which shard) or how often it came. It costs v bits per slot.
 * All families but the Bloom ones have values; with a low rate, much growth or wide values
 * a slot may become too wide for some of them (E_RANGE says so).
 *
 * A filter knows fingerprints, not keys: it gives the values of all entries that look like
 * the key. The key's own are always among them; a key that was never put in gets a value
 * with at most the fpr. A key may have as many values as it may have copies (promise 9),
 * each an entry of its own. Calls without a value work as usual: inserts write the value 0,
 * lookups and removes ignore it.
 *
 * A value that needs more than v bits is E_RANGE. On a filter without values the calls that
 * change something answer E_UNSUPPORTED; nidus_find finds zeros.
 */

/**
 * Puts one entry in: a key with a value. Equal pairs are all kept.
 * Errors: E_RANGE (the value), E_UNSUPPORTED, and those of nidus_insert. After any of
 * them the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert_value(nidus_filter *filter, const void *key, size_t len,
                                          uint64_t value);
NIDUS_API nidus_status nidus_insert_value_u64(nidus_filter *filter, uint64_t key, uint64_t value);
NIDUS_API nidus_status nidus_insert_value_hash(nidus_filter *filter, uint64_t hash, uint64_t value);

/**
 * nidus_insert_value_hash for n hashes in their order, up to the first that fails:
 * exactly hashes[0..*done) are in afterwards. `done` may be NULL.
 * Errors: those of nidus_insert_value. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert_value_batch(nidus_filter *filter, const uint64_t *hashes,
                                                const uint64_t *values, size_t n, size_t *done);

/**
 * How many entries look like the key; their values go to values[0..cap), as many as there is
 * room for, in an order of the library's choosing. `values` may be NULL if cap is 0. 0 for a
 * NULL filter or a NULL key with len > 0. Threads: reads.
 */
NIDUS_API size_t nidus_find(const nidus_filter *filter, const void *key, size_t len,
                            uint64_t *values, size_t cap);
NIDUS_API size_t nidus_find_u64(const nidus_filter *filter, uint64_t key, uint64_t *values,
                                size_t cap);
NIDUS_API size_t nidus_find_hash(const nidus_filter *filter, uint64_t hash, uint64_t *values,
                                 size_t cap);

/**
 * nidus_find_hash for n hashes at once, faster: found[i] becomes the number of entries that
 * look like the key, and first[i] the value of one of them, 0 if there are none. Where
 * found[i] is more than 1, nidus_find_hash tells the others. All are 0 if filter or hashes is
 * NULL. Threads: reads.
 */
NIDUS_API void nidus_find_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                                uint64_t *first, uint32_t *found);

/**
 * Takes out one entry of the key that has this value.
 * Errors: NOT_FOUND (no entry of the key has it), E_RANGE (the value), E_UNSUPPORTED, and
 * those of nidus_remove. After any of them the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_remove_value(nidus_filter *filter, const void *key, size_t len,
                                          uint64_t value);
NIDUS_API nidus_status nidus_remove_value_u64(nidus_filter *filter, uint64_t key, uint64_t value);
NIDUS_API nidus_status nidus_remove_value_hash(nidus_filter *filter, uint64_t hash, uint64_t value);

/**
 * Gives one entry of the key that has the value `old` the value `fresh`, in one step.
 * Errors: NOT_FOUND (no entry of the key has it), E_RANGE (a value), E_UNSUPPORTED, E_ARG,
 * E_READONLY, E_NOMEM and COPIES (both only of entries in an overflow list). After any
 * of them the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_replace_value(nidus_filter *filter, const void *key, size_t len,
                                           uint64_t old, uint64_t fresh);
NIDUS_API nidus_status nidus_replace_value_u64(nidus_filter *filter, uint64_t key, uint64_t old,
                                               uint64_t fresh);
NIDUS_API nidus_status nidus_replace_value_hash(nidus_filter *filter, uint64_t hash, uint64_t old,
                                                uint64_t fresh);

/**
 * Counts: adds `delta` to the value of an entry of the key, or puts the key in with the value
 * `delta`. A count that reaches the highest value stays there: that value means "this many or
 * more". Below it a count is never too low. Twins share a count, so it is too high for about
 * as many keys as the fpr says. Threads that count at the same time lose nothing
 * (NIDUS_CONCURRENT).
 * Errors: E_UNSUPPORTED, and those of nidus_insert for a key that is new. After any of them
 * the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_add_count(nidus_filter *filter, const void *key, size_t len,
                                       uint64_t delta);
NIDUS_API nidus_status nidus_add_count_u64(nidus_filter *filter, uint64_t key, uint64_t delta);
NIDUS_API nidus_status nidus_add_count_hash(nidus_filter *filter, uint64_t hash, uint64_t delta);

/**
 * nidus_add_count_hash for n hashes in their order, up to the first that fails: exactly
 * hashes[0..*done) are counted afterwards.
 * @param deltas  one for each hash; NULL: 1 for each
 * @param done    may be NULL
 * Errors: those of nidus_add_count. Threads: writes.
 */
NIDUS_API nidus_status nidus_add_count_batch(nidus_filter *filter, const uint64_t *hashes,
                                             const uint64_t *deltas, size_t n, size_t *done);

/**
 * The count of a key: the sum of the values of all entries that look like it, at most the
 * highest value (and always that for more than 256 entries, which counting does not make). 0 for a
 * key that was never counted, unless it is a false positive, and for a NULL filter or a NULL
 * key with len > 0. Threads: reads.
 */
NIDUS_API uint64_t nidus_get_count(const nidus_filter *filter, const void *key, size_t len);
NIDUS_API uint64_t nidus_get_count_u64(const nidus_filter *filter, uint64_t key);
NIDUS_API uint64_t nidus_get_count_hash(const nidus_filter *filter, uint64_t hash);

/* ------------------------------------------------------------ filters that forget -- */

/*
 * A filter made with options.slices = s forgets: "was this key seen in the last hour, among the last
 * million?". Time is cut into slices, and the caller has the clock: nidus_tick begins the next
 * slice, be it every few minutes or after every so many keys.
 *
 *     options.capacity = 1125000; // different keys in 18 slices, at most
 *     options.slices = 17;
 *     ...
 *     if (nidus_age(filter, key, len) < 0) // not among the last million inserts
 *         handle(key, len);
 *     nidus_insert(filter, key, len);
 *     if (++inserts % 62500 == 0)
 *         nidus_tick(filter);
 *
 * nidus_insert puts a key in or, if it is there, refreshes it: its age is 0 then, and grows by one with each
 * tick. A key whose age is less than s is found, always: that are keys put in or refreshed since the last
 * s - 1 ticks. One that is older is gone, and is found no more often than any key that was never put in. An
 * identity is there once, so copies are not counted, and twins keep each other young. nidus_insert_new leaves
 * a key alone that is there (PRESENT): its age is that of its first insert.
 *
 * A slot costs ceil(log2(s + 2)) bits more. What has expired keeps its slot until its segment is swept,
 * which an insert does that needs the room, or the stamp, which is good for some ticks: the most work of one
 * insert is still a leaf, and a tick takes no time. The capacity is the number of keys that are there at a time, with
 * those that expired in the last slice; with max_capacity the filter grows up to there. In steady traffic its size stays.
 * Of nidus_info, count is the number of keys that are not older than that.
 *
 * For the bucketed (also with NIDUS_COMPACT), windowed and breadcrumb families; NIDUS_AUTO takes one of them, others
 * are E_UNSUPPORTED. So are nidus_remove, which could take a twin's entry, values, NIDUS_DELETE, NIDUS_MULTISET,
 * NIDUS_UNLIMITED, nidus_pack and builders. Files keep ages; no time passes for a filter in a file. A bulk build gives all
 * keys the age 0. A walk yields what is there, each entry with its age as its value, and nidus_insert_entry puts it in with
 * that. A merge of filters with the same number of slices aligns them by now: an entry has the
 * youngest age that it has in any of them, whatever `how` is.
 */

/**
 * Begins a slice: all keys become one slice older. Takes the same short time for every filter, and any number of
 * ticks may follow each other.
 * Errors: E_ARG, E_READONLY, E_UNSUPPORTED (options.slices was 0). Threads: writes; inserts wait for
 * it, lookups do not.
 */
NIDUS_API nidus_status nidus_tick(nidus_filter *filter);

/**
 * How many slices ago a key was put in or refreshed: 0 to slices - 1. -1 if it is not there, for a filter that does
 * not forget or is NULL, and for a NULL key with len > 0. Twins have one age, the youngest.
 * Threads: reads.
 */
NIDUS_API int nidus_age(const nidus_filter *filter, const void *key, size_t len);
NIDUS_API int nidus_age_u64(const nidus_filter *filter, uint64_t key);
NIDUS_API int nidus_age_hash(const nidus_filter *filter, uint64_t hash);

/**
 * The number of keys of an age, 0 to slices - 1; 0 for any other. From counters: cheap.
 * Threads: reads.
 */
NIDUS_API uint64_t nidus_slice_count(const nidus_filter *filter, unsigned age);

/* ------------------------------------------------------------------ bulk builds -- */

/**
 * Makes a filter and fills it with n keys, all or nothing. Equal keys are
 * stored once (they are compared by their 64-bit hashes) unless options->features has
 * NIDUS_MULTISET. A capacity of 0 means: as many as there are keys to store. With
 * NIDUS_MULTISET it also means room for the copies that there are: NIDUS_AUTO takes the
 * family that holds them in the least space, table and lists together; copies that are only
 * counted need no room.
 * @param threads  how many may work, the caller's included; 0 and 1: only that one,
 *                 more than 64: 64. If the system gives fewer, fewer are used. They
 *                 leave signals to the threads of the program
 * The filter depends on the options, the seed and the set of keys alone: not on
 * their order, nor on the number of threads. All threads hash and sort the keys and, in
 * families with chunks, put them in; otherwise one thread puts them in.
 * While it works it takes 8 bytes per key beside the filter (up to an eighth more), and for
 * each thread at most 1 MiB and 8 bytes per thousand keys.
 * The allocator is called by one thread at a time.
 * Errors: those of nidus_create and nidus_insert; COPIES if a key comes more often than the
 * family can count; STOPPED (options->progress said so). *filter is NULL then and nothing is
 * kept. Threads: free.
 */
NIDUS_API nidus_status nidus_build_u64(const nidus_options *options, const uint64_t *keys, size_t n,
                                       unsigned threads, nidus_filter **filter);
NIDUS_API nidus_status nidus_build_bytes(const nidus_options *options, const void *const *keys,
                                         const size_t *lens, size_t n, unsigned threads,
                                         nidus_filter **filter);

/**
 * The same from hashes that nidus_hash* made with a filter whose seed is
 * options->seed: the filter is the one that their keys give. Works in place: afterwards
 * the array has the hashes in another order, with rubbish at its end if some were equal.
 * So it needs no other 8 bytes per key, only 1 MiB and 16 bytes per 256 keys for each
 * thread. After STOPPED the array holds anything.
 * Errors: those above, and E_ARG for a seed of 0. Threads: free.
 */
NIDUS_API nidus_status nidus_build_hashes(const nidus_options *options, uint64_t *hashes,
                                          size_t n, unsigned threads, nidus_filter **filter);

/**
 * The same with family, size and seed of another filter, so that both can be
 * merged; what is in `other` does not matter. More keys than `other` is promised to hold
 * are no error: there is room for them as after nidus_grow_relaxed, and the fpr target rises
 * with them. Copies of an entry need room as keys do, up to 16 of each. So parts of a set, however many keys each turns out to have, are built like one
 * empty filter and always merge. `copies` keeps equal hashes, as NIDUS_MULTISET does. If
 * `other` keeps values there may be a value for each hash, as for nidus_build_values; all are
 * 0 if `values` is NULL. `progress` may be NULL.
 * Errors: E_ARG, E_RANGE and E_UNSUPPORTED as nidus_build_values has them, E_RANGE (the
 * target would be above 0.5), those of nidus_insert, and STOPPED; *filter is NULL then. Threads: reads `other`.
 */
NIDUS_API nidus_status nidus_build_like(const nidus_filter *other, uint64_t *hashes,
                                        uint64_t *values, size_t n, bool copies, unsigned threads,
                                        const nidus_progress *progress, nidus_filter **filter);

/**
 * nidus_build_hashes with a value for each hash; options->value_bits says how wide they are.
 * Pairs that are equal in both are stored once, unless options->features has NIDUS_MULTISET.
 * A capacity of 0 means room for all pairs, even if hashes have several values. Works in
 * place in both arrays, as nidus_build_hashes does, and takes 8 bytes more per key while it
 * sorts, 16 if values have more than 11 bits.
 * A ribbon filter keeps one value per key.
 * Errors: those of nidus_build_hashes, E_RANGE (a value that is too large: the reason says
 * which), E_UNSUPPORTED (value_bits is 0), E_ARG (ribbon: two values for one hash; the reason
 * says which). Threads: free.
 */
NIDUS_API nidus_status nidus_build_values(const nidus_options *options, uint64_t *hashes,
                                          uint64_t *values, size_t n, unsigned threads,
                                          nidus_filter **filter);

/**
 * A static filter that is right about two lists of keys: it finds all of the first and none of
 * the second, as lists of revoked certificates need it. `excluded` has the hashes of keys that
 * must not match, made with the same seed. A key of neither list is found with info.fpr_target,
 * which is at most options->fpr; a fpr of 0 leaves it to the library, which takes what makes
 * the filter smallest: about n (log2(m/n) + 2) bits. To change a list, build anew. Takes 16 bytes for
 * each key of the first list, and for each of the second that the first of two tables lets
 * pass, while it works. Works in place in both arrays: afterwards they hold other hashes, or
 * the same in another order.
 * Errors: those of nidus_build_hashes, E_ARG (a hash is in both lists; the reason says which: a
 * key that is in both or, with odds of n * m / 2^64, two keys that another seed tells apart),
 * E_UNSUPPORTED (a family that is not static; values). Threads: free.
 */
NIDUS_API nidus_status nidus_build_exclude(const nidus_options *options, uint64_t *hashes,
                                           size_t n, uint64_t *excluded, size_t m,
                                           unsigned threads, nidus_filter **filter);

/* ------------------------------------------- walking, merging and growing -- */

/**
 * One stored entry: all that a filter knows of a key. `home` is the first
 * bucket or window (or, where the family cannot know it, the lower of the two)
 * at the size the filter was made with. `value` is 0 in a filter without values. In a filter
 * without a size the highest four bits of `home` are the number of its generation.
 */
typedef struct nidus_entry {
	uint64_t home;
	uint64_t fingerprint;
	uint64_t value;
} nidus_entry;

/** Where a walk is. Start with { 0 }; the fields are the library's. */
typedef struct nidus_cursor {
	uint64_t position[2];
} nidus_cursor;

/**
 * Yields the next entry of a walk; false at the end. A walk yields exactly
 * nidus_info.count entries, in an order of the library's choosing. A walk that goes
 * on after the filter was changed is safe, but may miss or repeat entries. False for
 * NULL, and for families without NIDUS_ENUMERATE. Threads: reads; a cursor belongs to
 * one thread.
 */
NIDUS_API bool nidus_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry);

/**
 * Puts an entry of a walk into a filter of the same family, seed, fingerprint
 * width and base geometry.
 * Errors: E_RANGE (no such entry can be here), E_UNSUPPORTED, and those of
 * nidus_insert. After any of them the filter is as it was. Threads: writes.
 */
NIDUS_API nidus_status nidus_insert_entry(nidus_filter *filter, const nidus_entry *entry);

/** What becomes of equal entries in a merge. */
typedef enum nidus_merge_how {
	NIDUS_MERGE_COPIES = 0, /**< all are kept: a key has the copies that the filters have
	                             together, and a filter merged with itself has all twice */
	/* All others keep an identity once. Keys that look the same (twins) then share one copy,
	   and removing one of them would remove the other, so the result refuses removes as if
	   it had been made with NIDUS_NO_DELETE. */
	NIDUS_MERGE_UNIQUE = 1, /**< the union; with values, once for each value */
	/* The next three make one value of all that an identity has. That value need not be one
	   that a key was put in with. Without values all are UNIQUE. */
	NIDUS_MERGE_SUM = 2, /**< the sum, at most the highest value: for counts */
	NIDUS_MERGE_MAX = 3, /**< the highest */
	NIDUS_MERGE_OR = 4   /**< all bits that are set in any: for sets of up to 32 members */
} nidus_merge_how;

/**
 * Makes a filter that holds the entries of n filters, 1 or more; the same filter may
 * occur several times. All need the same family, seed, fingerprint width and base
 * geometry (made with the same options, or by nidus_build_like); how far each has grown
 * does not matter. The result has the allocator and the features of the first, and
 * NIDUS_NO_DELETE unless all copies are kept.
 *
 * Size and target follow the entries that are in the filters, not the capacities:
 * the result is the smallest size that has room for them; of filters of fixed size it is
 * never smaller than they were made. Its target is the lowest of theirs, unless so many entries
 * have a higher rate; then it is that rate, at most the sum of their targets.
 * Growth bits are used up before the rate rises. A result with growth bits left can
 * grow by itself, up to the sum of all max_capacity if bits and rate allow.
 * So it does not matter whether filters are merged one after another or at once; at
 * once is quicker. It takes time for each slot of the filters and memory for the
 * result alone (with NIDUS_MERGE_UNIQUE sometimes half as much again). Files that were opened
 * are read one after another and leave the memory when they are done.
 *
 * Filters without a size (NIDUS_UNLIMITED) are merged generation by generation, however many each has; the
 * result has no size either. Generations of several filters are fuller than one's, so
 * their rates add up, and the target is the sum of these rates if that is higher.
 *
 * Bloom families: the bits of all, in a table of the same size; `how` makes no
 * difference. Capacity and target stay while the counts add up to no more than the
 * capacity; beyond it the capacity is their sum, and the target the rate of a table
 * with so many keys.
 *
 * Errors: E_ARG, E_MISMATCH (the reason says what differs, and in which filter),
 * E_UNSUPPORTED, E_RANGE (the target would be above 0.5, or as nidus_grow_relaxed),
 * COPIES (promise 9: NIDUS_MERGE_UNIQUE keeps one, or one per value), FULL (only with
 * NIDUS_STASH_OFF), E_NOMEM, E_CORRUPT (of a filter that was opened); *merged is NULL then.
 * Threads: reads all filters.
 */
NIDUS_API nidus_status nidus_merge_many(const nidus_filter *const *filters, size_t n,
                                        nidus_merge_how how, nidus_filter **merged);

/** nidus_merge_many of two with NIDUS_MERGE_COPIES. Threads: reads `a` and `b`. */
NIDUS_API nidus_status nidus_merge(const nidus_filter *a, const nidus_filter *b,
                                   nidus_filter **merged);

/**
 * Makes room for `capacity` keys, keeping the fpr target. A filter made with
 * options.max_capacity does so by itself, up to there, and this call only does the work
 * beforehand: inserts up to `capacity` then split nothing.
 *
 * A filter that can grow is a directory of segments, tables of a few thousand slots. One to
 * three segments that belong together are a leaf. A leaf that has as many keys as it takes gets
 * one segment more; one of three is split into two leaves of two. So the memory follows the
 * keys, leaf by leaf, and there is never a second table. The insert that fills a leaf rewrites
 * it: that is the most work of one insert, at most three segments, whatever the size of the
 * filter. Now and then the index, 8 bytes for each entry and at most 32 entries for each leaf
 * of the deepest level, is copied, too: twice while a filter doubles, which takes 0.1 ms with
 * 10^8 keys and 1 ms with 10^9. If threads share the filter they wait while a leaf is
 * rewritten. If there is no memory the insert succeeds all the same: the leaf stays as it is,
 * further entries go to its exact lists, and later inserts try again. A filter of a few
 * thousand keys is a sorted list; the insert for which that is too long makes segments of
 * it.
 *
 * A filter without a size has room made in its youngest generation, as far as that goes, and the call
 * is OK whatever the capacity.
 *
 * This call takes time for each entry and, while it works, memory for the larger filter beside
 * the old one. info.capacity is afterwards all that fits into the segments, often more than was
 * asked for. A filter that has room for so many keys stays as it is.
 * Errors: E_ARG, E_RANGE (beyond what max_capacity reserved), E_UNSUPPORTED, E_READONLY,
 * E_NOMEM; the filter is as it was then. Threads: writes.
 */
NIDUS_API nidus_status nidus_grow(nidus_filter *filter, uint64_t capacity);

/**
 * nidus_grow that goes on beyond max_capacity, also of a filter of fixed size, which can grow
 * by itself up to `capacity` from then on. Segments are split by bits of what they keep of a
 * key, so that the fpr target rises with the keys: twice the keys, twice the rate
 * (info.fpr_target tells). Errors: as nidus_grow, E_RANGE only if the target would be above
 * 0.5, or if slots and fingerprints of a filter of fixed size need nearly all bits of a hash
 * (more than 2^31 keys at the lowest rates). Threads: writes.
 */
NIDUS_API nidus_status nidus_grow_relaxed(nidus_filter *filter, uint64_t capacity);

/**
 * The reverse of nidus_grow: gives memory back after many removes. A filter that can grow gets
 * as few segments as have room for `capacity` keys (0: for those that are in it), never fewer
 * than its first ones, or becomes a list, and can grow again up to max_capacity. A filter that
 * has no smaller size for them, such as one of fixed size, stays as it is, and that is OK.
 * While it works it takes memory for the smaller filter, too.
 * Errors: E_ARG, E_RANGE (fewer than the entries that are in it), E_UNSUPPORTED, E_READONLY,
 * E_NOMEM; the filter is as it was then. It never takes more memory afterwards than before.
 * Takes time for each entry. Threads: writes.
 */
NIDUS_API nidus_status nidus_shrink(nidus_filter *filter, uint64_t capacity);

/**
 * Makes a filter that is finished as small as it can be: gives up the growth that is left, and
 * puts all entries into the smallest table of fixed size that keeps the rate. For files, SQL
 * values, messages. All answers stay, with copies, values and counts; of keys that were never put
 * in it finds no more than its target. Removes stay exact. It is then a filter of fixed size as any
 * other: info.capacity says how many keys fit, NIDUS_FULL comes behind that, and
 * nidus_grow_relaxed makes it grow again at a higher rate.
 *
 * That is final: the filter it was, and filters made like it, cannot be merged with it (E_MISMATCH). So
 * merge first and pack what came of it. Two packed filters can be merged if they
 * came of filters made alike and have tables of one size.
 *
 * There are tables of certain sizes only: those of which the table at max_capacity is 2, 3, 4, 5 ...
 * times as large. Up to a sixteenth of max_capacity they are a few per cent apart; a filter that is
 * half full or more often has no smaller one. It stays as it is then, can still grow, and that is
 * OK. A filter of fixed size that is nearly empty has fewer sizes, and may stay as it is, too. While it works it takes memory for the packed filter, too.
 * Errors: E_ARG, E_READONLY, E_NOMEM; the filter is as it was then. E_UNSUPPORTED: the cuckoo,
 * semisort, simplified and chunked families, whose entries do not tell which of their two buckets
 * comes first; Bloom filters, which have no entries; ribbon filters, which are as small as they can be;
 * filters without a size, whose generations have entries of different lengths.
 * Takes time for each entry. Threads: writes.
 */
NIDUS_API nidus_status nidus_pack(nidus_filter *filter);

/* ----------------------------------------------------------------- files -- */

/**
 * Writes the filter to a file: first whole to a temporary file beside it, then
 * fsync, then rename, so that `path` is at any moment the old file or the new
 * one. A symbolic link is followed; permissions of an existing file are kept.
 * Devices and pipes are written to directly. A filter that can grow goes on after
 * loading exactly as it would have done itself.
 * Errors: E_ARG, E_NOMEM, E_IO (errno tells why), E_CORRUPT (of a filter that was
 * opened); an existing file is intact then and no temporary file is left. One E_IO is
 * different, and its reason says so: the new file is in place, but its folder could not
 * be synced, so it may not survive a power cut. Threads: reads.
 */
NIDUS_API nidus_status nidus_save(const nidus_filter *filter, const char *path);

/**
 * Reads a filter from a file into memory. Everything is checked before it is
 * trusted: header, sizes, checksums and every entry.
 * Errors: E_ARG, E_IO, E_FORMAT, E_VERSION, E_TRUNCATED, E_CORRUPT, E_NOMEM;
 * *filter is NULL then. Threads: free.
 */
NIDUS_API nidus_status nidus_load(const char *path, nidus_filter **filter);

/** nidus_open: read and check all of the file, as nidus_load does. */
#define NIDUS_OPEN_VERIFY 1u

/**
 * Maps a file: lookups start at once, nothing is copied, processes share the pages, and the
 * file may be larger than the memory. The header, the sizes that follow from it and the stash
 * are checked; the table is not read, so this takes the same short time for every size. Of a
 * filter that can grow the records of all segments are read: that takes time for each segment,
 * of some thousand keys. With NIDUS_OPEN_VERIFY all is read and checked as by nidus_load,
 * checksums and every entry.
 *
 * A file that was not verified may give wrong answers if it is damaged, but no call reads
 * outside of it, whatever its bits are. Calls that hand its contents on (nidus_clone,
 * nidus_merge, nidus_save and the like) check them first and answer E_CORRUPT. nidus_info.count
 * is what the header says, and headroom that of an average chunk. Changes answer E_READONLY.
 *
 * nidus_save to the same path, or any other rename over it, does no harm: the filter keeps the
 * old file's pages until nidus_free. A file that is written to in place changes under the
 * filter. One that is truncated in place, or whose disk fails, ends the process with SIGBUS at
 * the next touch of a missing page; nidus itself never does that to a file. Load files that
 * others may truncate.
 * Errors: those of nidus_load, and E_UNSUPPORTED for what cannot be mapped, such as a pipe:
 * load that. Threads: free.
 */
NIDUS_API nidus_status nidus_open(const char *path, unsigned flags, nidus_filter **filter);

/**
 * nidus_open for a saved filter that is in memory already: a block of a storage
 * engine, a value of a database, a file that the caller mapped. Nothing is copied
 * but the stash. The bytes stay the caller's: keep them, unchanged, until
 * nidus_free. They need no alignment, but lookups are fastest where `buffer` starts
 * at a multiple of 64. Same checks, flags and promises about damaged bytes as
 * nidus_open; bytes after the filter's end are an error (E_FORMAT).
 * Errors: E_ARG, E_FORMAT, E_VERSION, E_TRUNCATED, E_CORRUPT, E_NOMEM; *filter is
 * NULL then. Threads: free.
 */
NIDUS_API nidus_status nidus_open_buffer(const void *buffer, size_t len, unsigned flags,
                                         nidus_filter **filter);

/**
 * How many bytes nidus_save_buffer writes; 0 for NULL, and if memory is short. Threads: reads.
 */
NIDUS_API size_t nidus_saved_size(const nidus_filter *filter);

/**
 * Writes what nidus_save would into memory.
 * @param written  receives the size; may be NULL
 * Errors: E_ARG, E_NOMEM, E_BUFFER (`cap` is less than nidus_saved_size), E_CORRUPT (of a
 * filter that was opened). The buffer's contents are undefined after a failure.
 * Threads: reads.
 */
NIDUS_API nidus_status nidus_save_buffer(const nidus_filter *filter, void *buffer, size_t cap,
                                         size_t *written);

/**
 * Reads a filter from memory. Bytes after its end are an error (E_FORMAT).
 * @param allocator  where its memory comes from, now and later; copied; NULL: the
 *                   system's own
 * Errors: those of nidus_load except E_IO; *filter is NULL then. Threads: free.
 */
NIDUS_API nidus_status nidus_load_buffer(const void *buffer, size_t len,
                                         const nidus_allocator *allocator,
                                         nidus_filter **filter);

/** Takes `size` bytes of a saved filter. Returns 0, or an errno value to stop. */
typedef int (*nidus_sink)(void *context, const void *data, size_t size);

/**
 * Gives up to `size` bytes of a saved filter. Returns how many (fewer is
 * fine), 0 at the end, or a negated errno value.
 */
typedef ptrdiff_t (*nidus_source)(void *context, void *data, size_t size);

/**
 * Streams what nidus_save would write, in pieces, without a second copy.
 * Errors: E_ARG, E_NOMEM, E_IO (errno is what the sink answered), E_CORRUPT (of a filter
 * that was opened; nothing was written then). Threads: reads.
 */
NIDUS_API nidus_status nidus_write(const nidus_filter *filter, nidus_sink sink, void *context);

/**
 * nidus_write without the first `from` bytes; nothing is written if there are no more. For
 * programs that hand a filter on in chunks: checksums are computed only for the chunk that has
 * the header, so that all chunks together take little longer than one nidus_write. A sink that
 * has enough answers with an errno value, ECANCELED for example, and the call with E_IO. The
 * chunks are one filter only if it does not change in between.
 * Errors: those of nidus_write. Threads: reads.
 */
NIDUS_API nidus_status nidus_write_from(const nidus_filter *filter, uint64_t from, nidus_sink sink,
                                        void *context);

/**
 * Reads a filter from a stream, exactly to its end and not beyond.
 * @param allocator  as for nidus_load_buffer
 * Errors: those of nidus_load (E_IO: errno is what the source answered);
 * *filter is NULL then. Threads: free.
 */
NIDUS_API nidus_status nidus_read(nidus_source source, void *context,
                                  const nidus_allocator *allocator, nidus_filter **filter);

/* ------------------------------------------- more keys than memory: builders -- */

/**
 * Builds a filter of more keys than there is memory for their hashes. A builder takes keys in any
 * number of calls; beyond its memory limit their hashes go to a temporary file. At the end the
 * table is built part by part and goes to its file in order:
 *
 *     nidus_builder *builder;
 *     if (nidus_builder_create(&options, 2u << 30, "/var/tmp", 4, &builder) != NIDUS_OK)
 *         puts(nidus_reason());
 *     while (more_keys())
 *         nidus_builder_add(builder, key, len);
 *     nidus_builder_save(builder, "seen.nidus");
 *     nidus_builder_free(builder);
 *
 * The filter is, byte for byte, the one that nidus_build_hashes makes with the same options and
 * seed: equal keys are stored once unless options.features has NIDUS_MULTISET, and a capacity of
 * 0 means as many as there are. Then they are counted first, which reads the temporary file once more;
 * where a key may come several times, with NIDUS_MULTISET or several values, a capacity must be given.
 *
 * For filters of fixed size, of families whose tables consist of parts: simplified, chunked,
 * bucketed, windowed, breadcrumb (which keeps a ninth of the table in memory), blocked-bloom and
 * ribbon. NIDUS_AUTO chooses from these; the others answer E_UNSUPPORTED.
 */
typedef struct nidus_builder nidus_builder;

/** What nidus_builder_get_info tells. Start from NIDUS_BUILDER_INFO_INIT. */
typedef struct nidus_builder_info {
	size_t struct_size; /**< set by NIDUS_BUILDER_INFO_INIT */
	uint64_t keys;      /**< added so far, equal ones counted */
	uint64_t seed;      /**< what hashing is keyed with */
	uint64_t written;   /**< bytes written to temporary files so far */
	uint64_t read;      /**< bytes read from them */
} nidus_builder_info;

#ifdef __cplusplus
inline nidus_builder_info nidus_builder_info_init()
{
	nidus_builder_info info = nidus_builder_info();
	info.struct_size = sizeof(nidus_builder_info);
	return info;
}
#define NIDUS_BUILDER_INFO_INIT nidus_builder_info_init()
#else
#define NIDUS_BUILDER_INFO_INIT { .struct_size = sizeof(nidus_builder_info) }
#endif

/**
 * Makes a builder without keys.
 * @param options  of the filter; not kept. options.progress is asked while it is built at the end
 * @param memory   bytes that the builder may take, 16 MiB at least; 8 MiB for each thread, or fewer
 *                 threads work. The more there are, the fewer parts there are to sort and to read
 * @param folder   for temporary files: 8 bytes for each key, and 4 for its value. NULL: the folder
 *                 that the environment variable TMPDIR names, or /var/tmp. The files have no names:
 *                 they are gone when the process is, whatever ends it
 * @param threads  that may work while keys are sorted and the filter is built, as for
 *                 nidus_build_u64
 * Errors: those of nidus_create, E_RANGE (a lower limit), E_UNSUPPORTED (the family, or growth),
 * E_NOMEM (a part of this filter needs more than the limit); *builder is NULL then.
 * Threads: free.
 */
NIDUS_API nidus_status nidus_builder_create(const nidus_options *options, uint64_t memory,
                                            const char *folder, unsigned threads,
                                            nidus_builder **builder);

/** Frees a builder, and its temporary files. NULL is fine. Threads: writes. */
NIDUS_API void nidus_builder_free(nidus_builder *builder);

/**
 * Adds a key: bytes, an integer, or a hash that nidus_hash* made with a filter whose seed is
 * options.seed. Most calls only keep the hash in memory. One of them may take seconds, when memory
 * is full and goes to a file.
 * Errors: E_ARG (and hashes where options.seed is 0), E_NOMEM, E_IO (errno tells why: ENOSPC,
 * the disk is full). The key was not added then, but all before it are still there: make room and
 * go on, or free the builder. Threads: any number may add at the same time.
 */
NIDUS_API nidus_status nidus_builder_add(nidus_builder *builder, const void *key, size_t len);
NIDUS_API nidus_status nidus_builder_add_u64(nidus_builder *builder, uint64_t key);
NIDUS_API nidus_status nidus_builder_add_hash(nidus_builder *builder, uint64_t hash);

/**
 * The same with a value beside the key; options.value_bits says how wide values are.
 * Errors: those above, E_RANGE (the value), E_UNSUPPORTED (value_bits is 0). Threads: as above.
 */
NIDUS_API nidus_status nidus_builder_add_value(nidus_builder *builder, const void *key, size_t len,
                                               uint64_t value);
NIDUS_API nidus_status nidus_builder_add_value_u64(nidus_builder *builder, uint64_t key,
                                                   uint64_t value);
NIDUS_API nidus_status nidus_builder_add_value_hash(nidus_builder *builder, uint64_t hash,
                                                    uint64_t value);

/**
 * The same for n at once, faster: integer keys, hashes, or hashes with values. `done` receives how
 * many were added, also after a failure; it may be NULL. Errors and threads: as above.
 */
NIDUS_API nidus_status nidus_builder_add_u64_batch(nidus_builder *builder, const uint64_t *keys,
                                                   size_t n, size_t *done);
NIDUS_API nidus_status nidus_builder_add_batch(nidus_builder *builder, const uint64_t *hashes,
                                               size_t n, size_t *done);
NIDUS_API nidus_status nidus_builder_add_value_batch(nidus_builder *builder,
                                                     const uint64_t *hashes,
                                                     const uint64_t *values, size_t n,
                                                     size_t *done);

/**
 * Builds the filter of all keys that were added and writes it to a file, as nidus_save would. Takes
 * no more memory than the limit, and hardly any of the system's cache. The builder
 * keeps its keys: it may build again, to another file say, and take more keys.
 * Errors: E_ARG; FULL (more keys than options.capacity; a Bloom filter is never full); E_IO, E_NOMEM;
 * COPIES; STOPPED (options.progress said so: then the builder can only be freed); E_RANGE and
 * E_UNSUPPORTED, where that depends on the number of keys. An existing file is intact then, and no
 * temporary file is left. Threads: writes.
 */
NIDUS_API nidus_status nidus_builder_save(nidus_builder *builder, const char *path);

/**
 * The same to a sink, as nidus_write has it. The file is first made in the folder for temporary
 * files. Errors: those above. Threads: writes.
 */
NIDUS_API nidus_status nidus_builder_write(nidus_builder *builder, nidus_sink sink, void *context);

/**
 * The same as a filter in memory, whose table takes its memory beside the limit.
 * Errors: those above; *filter is NULL then. Threads: writes.
 */
NIDUS_API nidus_status nidus_builder_finish(nidus_builder *builder, nidus_filter **filter);

/**
 * What a builder has done so far. Errors: E_ARG. Threads: reads; not while others add.
 */
NIDUS_API nidus_status nidus_builder_get_info(const nidus_builder *builder,
                                              nidus_builder_info *info);

/* --------------------------------------------------------------- planning -- */

/**
 * How fast a family is, as measured: lookups, inserts, removes and bulk builds, one by one and
 * in batches. Families of one class are about as fast as each other, none in everything; a
 * class above is clearly faster.
 */
typedef enum nidus_speed {
	NIDUS_SPEED_SLOW = 1,
	NIDUS_SPEED_MEDIUM,
	NIDUS_SPEED_FAST,
	NIDUS_SPEED_FASTEST
} nidus_speed;

/** "slow", "medium", "fast" or "fastest"; NULL for another number. Static text. Threads: free. */
NIDUS_API const char *nidus_speed_name(nidus_speed speed);

/** What one family would need. */
typedef struct nidus_plan_row {
	nidus_family family;
	nidus_status status;       /**< OK, or what nidus_create would answer */
	char why_not[120];         /**< the reason if status is not OK */
	bool chosen;               /**< what NIDUS_AUTO (or options->family) takes */
	uint64_t bytes;            /**< with the asked capacity in it, without lists and locks */
	uint64_t capacity;         /**< keys promised */
	double bits_per_key;       /**< at the capacity that was asked for */
	double overhead;           /**< bits_per_key / log2(1 / fpr) */
	double fpr;                /**< expected with the asked capacity in it */
	double load;               /**< with the asked capacity in it */
	double lines_per_lookup;   /**< cache lines, expected, absent key */
	unsigned slots;            /**< per bucket or window */
	unsigned fingerprint_bits; /**< per key */
	unsigned copies;           /**< of one key (and its twins) at least: 2^32 - 1 where they
	                                are counted in a list; Bloom: 0 */
	unsigned pace;             /**< place in the order of measured speed: NIDUS_FAST takes
	                                the family with the lowest that will do */
	nidus_speed speed;         /**< its class of speed */
	uint64_t bytes_growing;    /**< the most that it takes while it grows to max_capacity,
	                                if keys are even: nidus_info.bytes comes within a
	                                tenth of it. Without max_capacity: bytes; with
	                                NIDUS_UNLIMITED: about, with 2^24 keys in it */
	uint32_t features;         /**< what the family can do */
	char why[120];             /**< of the chosen row: why this one; otherwise "" */
} nidus_plan_row;

/**
 * Says for every family of this library what a filter with these options
 * would take, without making one. options->family only decides which row is
 * `chosen`.
 * @param rows  receives at most `cap` rows; may be NULL if cap is 0
 * @param n     receives how many rows there are; 0 after E_ARG and E_RANGE
 * Errors: E_ARG (NULL, and what is wrong for every family: capacity 0, fpr not
 * a rate), E_RANGE (an fpr below 2^-32, a capacity above 2^44, value_bits above 32),
 * E_BUFFER (`cap` is less than *n but not 0; the first `cap` rows are filled).
 * Threads: free.
 */
NIDUS_API nidus_status nidus_plan(const nidus_options *options, nidus_plan_row *rows, size_t cap,
                                  size_t *n);

/* ---------------------------------------------------------------- library -- */

/**
 * The instruction set in use: "scalar" or "avx2". Chosen once, at the
 * first call that needs it, by what the processor has or by the environment
 * variable NIDUS_ISA ("scalar" is always possible; a tier that is not there is
 * passed over). All give the same results and the same bytes. Threads: free.
 */
NIDUS_API const char *nidus_isa(void);

/**
 * Takes another instruction set for filters that are made from now on.
 * Errors: E_ARG (no such name), E_UNSUPPORTED (this processor or build does
 * not have it); nothing changes then. Threads: while no other call runs.
 */
NIDUS_API nidus_status nidus_set_isa(const char *name);

/** The version of the library in use, "major.minor.patch". Threads: free. */
NIDUS_API const char *nidus_version(void);

#ifdef __cplusplus
}
#endif
#endif
