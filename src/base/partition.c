/* SPDX-License-Identifier: MIT
 *
 * partition: count, then move, whole cache lines at a time.
 *
 * The source is cut into one stretch per thread. Each thread counts how many of
 * its hashes fall into each part; from all counts follows where each thread's
 * share of each part begins; then each thread reads its stretch once more and
 * moves the hashes there. No thread writes where another does, and the result
 * is the same for any number of threads.
 *
 * A write per hash to one of 2^bits places would miss the cache and the TLB each
 * time. So every part has a buffer of one cache line, which is written out when
 * the line is complete:
 *
 *     to:    ... | . . a b c d e f | g h i . . . . . | ...
 *                      ^first        ^ this line is still in the buffer
 *
 * partition_scatter does not count: hashes are spread so evenly that shares with a few places
 * to spare have room for all. Whether they do is only checked when a line is written.
 */
#include "base/partition.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/thread.h"
#include "base/watch.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LINE 8    /* hashes in a cache line */
#define BLOCK 512 /* hashes that are read at a time: they stay in the first-level cache */

/* All arrays are [threads][parts]. `next` is touched for every hash, `first` rarely. */
struct partition {
	const struct hash_source *source;
	unsigned bits, threads;
	uint64_t (*lines)[LINE];
	size_t *next;  /* the next place of a thread's share of a part */
	size_t *first; /* where it begins */
	uint64_t *to;
};

static size_t parts_of(const struct partition *partition)
{
	return (size_t)1 << partition->bits;
}

/* Shifting by 64 means nothing in C; one part takes all. */
static inline size_t part_of(uint64_t hash, unsigned bits)
{
	return bits == 0 ? 0 : hash >> (64 - bits);
}

static size_t stretch_start(const struct partition *partition, unsigned share)
{
	uint64_t n = partition->source->n;
	return (size_t)(n / partition->threads * share +
	                n % partition->threads * share / partition->threads);
}

static void count_stretch(void *context, unsigned share)
{
	const struct partition *partition = context;
	size_t *counts = partition->next + share * parts_of(partition);
	size_t end = stretch_start(partition, share + 1);
	unsigned bits = partition->bits;
	uint64_t hashes[BLOCK];
	for (size_t from = stretch_start(partition, share); from < end && !watch_step(BLOCK);
	     from += BLOCK) {
		size_t some = end - from < BLOCK ? end - from : BLOCK;
		partition->source->read(partition->source->context, from, some, hashes);
		for (size_t i = 0; i < some; i++)
			counts[part_of(hashes[i], bits)]++;
	}
}

/* From counts to places: part by part, and within a part thread by thread. */
static void place_shares(const struct partition *partition, size_t *end)
{
	size_t sum = 0, parts = parts_of(partition);
	for (size_t part = 0; part < parts; part++) {
		for (unsigned share = 0; share < partition->threads; share++) {
			size_t at = share * parts + part, count = partition->next[at];
			partition->first[at] = partition->next[at] = sum;
			sum += count;
		}
		end[part] = sum;
	}
}

/* Writes out a whole buffer, past the caches where possible: it is not read soon. */
static inline void write_line(const uint64_t *line, uint64_t *to)
{
#ifdef __SSE2__
	const __m128i *from = (const __m128i *)(const void *)line;
	__m128i *at = (__m128i *)(void *)to;
	for (unsigned i = 0; i < LINE / 2; i++)
		_mm_stream_si128(at + i, _mm_load_si128(from + i));
#else
	memcpy(to, line, LINE * sizeof *to);
#endif
}

/* Other threads see all lines that were written before. */
static inline void lines_written(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

/* Writes out a buffer up to `next`, from where the share begins or the line does. */
static void write_rest(size_t first, size_t next, const uint64_t *line, uint64_t *to)
{
	size_t start = (next - 1) / LINE * LINE;
	size_t from = start > first ? start : first;
	memcpy(to + from, line + (from - start), (next - from) * sizeof *to);
}

static void move_stretch(void *context, unsigned share)
{
	const struct partition *partition = context;
	size_t parts = parts_of(partition), end = stretch_start(partition, share + 1);
	size_t *next = partition->next + share * parts;
	const size_t *first = partition->first + share * parts;
	uint64_t(*lines)[LINE] = partition->lines + share * parts;
	unsigned bits = partition->bits;
	uint64_t hashes[BLOCK], *to = partition->to;
	const uint64_t *values = partition->source->values;
	/* What was not counted because of a stop is not moved: then all are stopped by now. */
	for (size_t from = stretch_start(partition, share); from < end && !watch_step(BLOCK);
	     from += BLOCK) {
		size_t some = end - from < BLOCK ? end - from : BLOCK;
		partition->source->read(partition->source->context, from, some, hashes);
		for (size_t i = 0; i < some; i++) {
			size_t part = part_of(hashes[i], bits);
			size_t at = next[part]++;
			lines[part][at % LINE] =
				values != NULL ? hashes[i] << bits | values[from + i] : hashes[i];
			if (at % LINE != LINE - 1)
				continue;
			if (LIKELY(at + 1 - LINE >= first[part]))
				write_line(lines[part], to + (at + 1 - LINE));
			else
				write_rest(first[part], at + 1, lines[part], to);
		}
	}
	for (size_t part = 0; part < parts; part++) {
		if (next[part] > first[part] && next[part] % LINE != 0)
			write_rest(first[part], next[part], lines[part], to);
	}
	lines_written();
}

size_t partition_spacing(size_t n, unsigned bits, unsigned threads)
{
	/* Six standard deviations, which are the root of the mean, and at times half more. */
	size_t mean = (n / threads + 1) >> bits;
	unsigned log = log2_floor(mean | 1);
	size_t spare = log % 2 == 0 ? (size_t)9 << log / 2 : (size_t)6 << (log + 1) / 2;
	return (mean + spare) / LINE * LINE + LINE;
}

struct scatter {
	struct partition partition; /* its `next` is [threads][parts], too */
	size_t spacing;
	atomic_bool crowded; /* a share of a part has no room for all */
};

/* Moves the hashes of a stretch that was read; false if a share is full. */
static bool scatter_some(const struct scatter *scatter, const uint64_t *hashes, size_t n,
                         unsigned share, uint64_t (*lines)[LINE], size_t *next)
{
	const unsigned bits = scatter->partition.bits, threads = scatter->partition.threads;
	uint64_t *to = scatter->partition.to;
	for (size_t i = 0; i < n; i++) {
		size_t part = part_of(hashes[i], bits);
		size_t at = next[part]++;
		lines[part][at % LINE] = hashes[i];
		if (at % LINE != LINE - 1)
			continue;
		if (UNLIKELY(at >= (part * threads + share + 1) * scatter->spacing))
			return false;
		write_line(lines[part], to + (at + 1 - LINE));
	}
	return true;
}

/* Writes what is left in the buffers of a share; false if there is no room for it. */
static bool scatter_rest(const struct scatter *scatter, unsigned share, uint64_t (*lines)[LINE],
                         const size_t *next)
{
	for (size_t part = 0; part < parts_of(&scatter->partition); part++) {
		size_t first = (part * scatter->partition.threads + share) * scatter->spacing;
		if (next[part] > first + scatter->spacing)
			return false;
		if (next[part] % LINE != 0)
			write_rest(first, next[part], lines[part], scatter->partition.to);
	}
	lines_written();
	return true;
}

static void scatter_stretch(void *context, unsigned share)
{
	struct scatter *scatter = context;
	const struct partition *partition = &scatter->partition;
	size_t parts = parts_of(partition), end = stretch_start(partition, share + 1);
	size_t *next = partition->next + share * parts;
	uint64_t(*lines)[LINE] = partition->lines + share * parts;
	uint64_t hashes[BLOCK];
	bool room = true;
	for (size_t part = 0; part < parts; part++)
		next[part] = (part * partition->threads + share) * scatter->spacing;
	for (size_t from = stretch_start(partition, share);
	     from < end && room && !watch_step(BLOCK); from += BLOCK) {
		size_t some = end - from < BLOCK ? end - from : BLOCK;
		partition->source->read(partition->source->context, from, some, hashes);
		room = scatter_some(scatter, hashes, some, share, lines, next);
	}
	if (!room || !scatter_rest(scatter, share, lines, next))
		atomic_store(&scatter->crowded, true);
}

bool partition_scatter(const struct hash_source *source, unsigned bits, unsigned threads,
                       size_t spacing, unsigned char *work, uint64_t *to, size_t *end)
{
	struct scatter scatter = { .spacing = spacing };
	scatter.partition = (struct partition){ .source = source,
		                                .bits = bits,
		                                .threads = threads,
		                                .lines = (uint64_t(*)[LINE])(void *)work,
		                                .next = end,
		                                .to = to };
	atomic_init(&scatter.crowded, false);
	threads_run(threads, scatter_stretch, &scatter);
	return !atomic_load(&scatter.crowded);
}

size_t partition_work_size(unsigned bits, unsigned threads)
{
	return (2 * sizeof(size_t) + LINE * sizeof(uint64_t)) * threads << bits;
}

void partition_spread(const struct hash_source *source, unsigned bits, unsigned threads,
                      unsigned char *work, uint64_t *to, size_t *end)
{
	struct partition partition = {
		.source = source, .bits = bits, .threads = threads, .to = to
	};
	size_t shares = (size_t)threads << bits;
	partition.lines = (uint64_t(*)[LINE])(void *)work;
	partition.next = (size_t *)(void *)(work + shares * sizeof *partition.lines);
	partition.first = partition.next + shares;
	memset(partition.next, 0, shares * sizeof *partition.next);
	threads_run(threads, count_stretch, &partition);
	place_shares(&partition, end);
	threads_run(threads, move_stretch, &partition);
}
