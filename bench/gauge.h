/* SPDX-License-Identifier: MIT
 *
 * gauge: how fast one filter is, and how often it is wrong, through the public header.
 *
 * Speeds are million keys per second of the time that a processor worked for the thread,
 * so that other programs disturb less; of several threads, of the clock on the wall. Keys
 * are those of cli/bench_keys.h, prepared outside of that time; hashing them is inside. Whatever should not happen (a filter
 * that cannot be made, a key that is not found) ends the program.
 */
#ifndef NIDUS_BENCH_GAUGE_H
#define NIDUS_BENCH_GAUGE_H

#include <nidus.h>

/* Options with seed 1. */
nidus_options gauge_options(nidus_family family, unsigned slots, uint64_t capacity, double fpr);

/* A program's end: "bench_paper: what: the library's reason". */
_Noreturn void gauge_fail(const char *what);

/* Memory for n things, all zero. */
void *gauge_take(size_t n, size_t size);

nidus_filter *gauge_make(const nidus_options *options);
nidus_info gauge_look(const nidus_filter *filter);

/* A filter that is full to its capacity. */
nidus_filter *gauge_full(const nidus_options *options);

/* ------------------------------------------------------------------ speeds -- */

enum gauge_call { GAUGE_BATCH, GAUGE_SINGLE };

/* A stretch of work: how many keys, and how fast. */
struct gauge_speed {
	uint64_t keys;
	double seconds;
};

/* In million keys per second; not a number if nothing was done. */
double gauge_rate(struct gauge_speed speed);

/* Puts keys `from` up to `to` in, until one is refused. */
struct gauge_speed gauge_insert(nidus_filter *filter, uint64_t from, uint64_t to,
                                enum gauge_call call);

/* Puts keys 0 to n in that the filter does not know yet, as batches; how many those were. */
uint64_t gauge_insert_new(nidus_filter *filter, uint64_t n);

/* Takes keys `from` up to `to` out, which are in it. */
struct gauge_speed gauge_remove(nidus_filter *filter, uint64_t from, uint64_t to,
                                enum gauge_call call);

/* Looks up so many keys, of which `hits` (a share) are among the first n. */
struct gauge_speed gauge_lookup(const nidus_filter *filter, uint64_t n, double hits,
                                uint64_t lookups, enum gauge_call call);

/* Merges two full filters of these options; both filters' keys count. */
struct gauge_speed gauge_merge(const nidus_options *options);

/* ------------------------------------------------------------- load by load -- */

#define GAUGE_STEPS 16

/* What happens between one load and the next, and at that load. */
struct gauge_step {
	double load;       /* keys over slots; of a Bloom filter: over its capacity */
	double efficiency; /* n log2(1 / fpr) over bits, with the rate expected now */
	double bits;       /* per key */
	double insert, remove;
	double present, mixed, absent; /* lookups; mixed: half of each */
	double nanoseconds;            /* per key of the whole fill up to here */
};

/*
 * Fills a filter step by step, and empties it again. The last step ends where the
 * filter refuses a key, if that is before the last load. Returns how many steps there
 * are. `remove` is not a number in families that cannot.
 */
unsigned gauge_sweep(const nidus_options *options, const double *loads, unsigned n,
                     uint64_t lookups, enum gauge_call call, struct gauge_step *steps);

/* ------------------------------------------------------------------- chance -- */

/* The share of `trials` foreign keys that the filter knows. */
double gauge_foreign(const nidus_filter *filter, uint64_t trials);

/* n log2(1 / fpr) over the filter's bits, with the rate that is expected now. */
double gauge_efficiency(const nidus_info *info);

/* The share of slots in use when the first key was refused; frees the filter. */
double gauge_load_at_full(nidus_filter *filter);

/*
 * Takes a random key out and puts a new one in, up to `most` times the slots; how many
 * times the slots it took until a key was refused. The first n keys are in the filter.
 */
double gauge_churn(nidus_filter *filter, uint64_t n, double most);

/* ------------------------------------------------------------------ threads -- */

enum gauge_work { GAUGE_INSERTS, GAUGE_LOOKUPS, GAUGE_MIXED, GAUGE_WORKS };

/*
 * Threads that share one filter: fill it, look up its keys, then 30 % inserts, 40 %
 * lookups and 30 % removes. Not a number where the system gives no threads.
 */
void gauge_threads(const nidus_options *options, unsigned threads, double speed[GAUGE_WORKS]);

/* Looks up keys 0 to n, or as many absent ones, from several threads; by the clock. */
struct gauge_speed gauge_lookups_by(const nidus_filter *filter, uint64_t n, bool present,
                                    unsigned threads);

/* nidus_build_u64 of keys 0 to capacity, each thread in chunks of its own; by the clock. */
struct gauge_speed gauge_build(const nidus_options *options, unsigned threads,
                               nidus_filter **filter);

/* ------------------------------------------------------------------ latency -- */

/* Quantiles (50 and 99.9 %) of single calls in nanoseconds, the clock's own time taken off. */
struct gauge_latency {
	double median, p999;
};

/* Of keys `from` up to `to`, the last 2^20 of them. */
struct gauge_latency gauge_insert_latency(nidus_filter *filter, uint64_t from, uint64_t to);

#endif
