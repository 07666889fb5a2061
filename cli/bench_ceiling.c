/* SPDX-License-Identifier: MIT */
/*
 * The ceilings. Lines are visited in groups of `depth`: first all of a group
 * are prefetched, then all are used, which is what a batch call of a filter
 * does with its keys, but without anything to compute.
 */

#include "bench_ceiling.h"

#include <string.h>
#include <sys/mman.h>

#include "bench_crew.h"
#include "machine.h"

/* The array: larger than any cache, unless there are few keys anyway. */
#define LARGE_ARRAY ((size_t)1 << 30)
#define SMALL_ARRAY ((size_t)1 << 21)
#define FEW_KEYS 1000000

#define LINE_BYTES 64
#define LINE_WORDS (LINE_BYTES / sizeof(uint64_t))
#define DEEPEST 128

static const unsigned depths[CEILING_DEPTHS] = { 16, 32, 64, DEEPEST };

#if defined(__GNUC__)
#define PREFETCH_READ(address) __builtin_prefetch(address, 0)
#define PREFETCH_WRITE(address) __builtin_prefetch(address, 1)
#else
#define PREFETCH_READ(address) ((void)(address))
#define PREFETCH_WRITE(address) ((void)(address))
#endif

/* One member's walk: `state` makes the lines, `shift` cuts them to the array. */
struct walk {
	uint64_t *array;
	uint64_t state;
	unsigned shift;
	unsigned depth;
	uint64_t visits;
};

static uint64_t *next_line(struct walk *walk)
{
	uint64_t mixed;

	walk->state += UINT64_C(0x9e3779b97f4a7c15);
	mixed = (walk->state ^ walk->state >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return walk->array + (mixed >> walk->shift) * LINE_WORDS;
}

static uint64_t walk_one(struct walk *walk)
{
	const uint64_t *line[DEEPEST];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < walk->visits; i += walk->depth) {
		for (unsigned j = 0; j < walk->depth; j++) {
			line[j] = next_line(walk);
			PREFETCH_READ(line[j]);
		}
		for (unsigned j = 0; j < walk->depth; j++)
			sum += *line[j];
	}
	return sum;
}

static uint64_t walk_two(struct walk *walk)
{
	const uint64_t *first[DEEPEST], *second[DEEPEST];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < walk->visits; i += walk->depth) {
		for (unsigned j = 0; j < walk->depth; j++) {
			first[j] = next_line(walk);
			second[j] = next_line(walk);
			PREFETCH_READ(first[j]);
			PREFETCH_READ(second[j]);
		}
		for (unsigned j = 0; j < walk->depth; j++)
			sum += *first[j] ^ *second[j];
	}
	return sum;
}

static uint64_t walk_write(struct walk *walk)
{
	uint64_t *line[DEEPEST];

	for (uint64_t i = 0; i < walk->visits; i += walk->depth) {
		for (unsigned j = 0; j < walk->depth; j++) {
			line[j] = next_line(walk);
			PREFETCH_WRITE(line[j]);
		}
		for (unsigned j = 0; j < walk->depth; j++)
			++*line[j];
	}
	return 0;
}

static const struct {
	const char *name;
	uint64_t (*walk)(struct walk *walk);
} kinds[CEILINGS] = {
	[CEILING_ONE] = { "C1", walk_one },
	[CEILING_TWO] = { "C2", walk_two },
	[CEILING_WRITE] = { "CW", walk_write },
};

const char *ceiling_name(enum ceiling ceiling)
{
	return kinds[ceiling].name;
}

/* What all members of a crew are told; each takes a part of the array when it writes. */
struct task {
	const struct ceilings *ceilings;
	enum ceiling ceiling;
	unsigned depth;
	unsigned threads;
};

static unsigned log2_of(uint64_t number)
{
	unsigned log = 0;

	while (number >>= 1)
		log++;
	return log;
}

/* Writers must not share words: each has its own part, the largest power of two that fits. */
static void walk_task(void *context, unsigned member)
{
	const struct task *task = context;
	size_t bytes = task->ceilings->bytes >> log2_of(2 * (uint64_t)task->threads - 1);
	struct walk walk = {
		.array = task->ceilings->array + member * (bytes / sizeof(uint64_t)),
		.state = (uint64_t)member << 40,
		.shift = 64 - log2_of(bytes / LINE_BYTES),
		.depth = task->depth,
		.visits = task->ceilings->visits,
	};
	volatile uint64_t kept = kinds[task->ceiling].walk(&walk);

	(void)kept;
}

static bool measure(struct ceilings *ceilings, unsigned threads,
                    struct samples samples[CEILINGS][CEILING_DEPTHS])
{
	for (unsigned ceiling = 0; ceiling < CEILINGS; ceiling++) {
		for (unsigned i = 0; i < CEILING_DEPTHS; i++) {
			struct task task = { ceilings, (enum ceiling)ceiling, depths[i], threads };
			double seconds = crew_run(threads, walk_task, &task);

			if (seconds < 0)
				return false;
			samples_add(&samples[ceiling][i],
			            (double)ceilings->visits * (double)threads, seconds);
		}
	}
	return true;
}

void ceilings_measure(struct ceilings *ceilings)
{
	double began = machine_seconds(), worked = machine_worked();

	measure(ceilings, 1, ceilings->one);
	ceilings->seconds += machine_seconds() - began;
	ceilings->worked += machine_worked() - worked;
}

double ceilings_share(const struct ceilings *ceilings)
{
	double share = ceilings->seconds > 0 ? ceilings->worked / ceilings->seconds : 1;

	return share < 1 ? share : 1;
}

bool ceilings_measure_crew(struct ceilings *ceilings)
{
	return measure(ceilings, ceilings->threads, ceilings->crew);
}

struct ceiling_best ceilings_best(const struct ceilings *ceilings, enum ceiling ceiling, bool crew)
{
	const struct samples *samples = crew ? ceilings->crew[ceiling] : ceilings->one[ceiling];
	struct ceiling_best best = { 0 };

	for (unsigned i = 0; i < CEILING_DEPTHS; i++) {
		struct summary summary = samples_summary(&samples[i]);

		if (summary.median > best.summary.median)
			best = (struct ceiling_best){ depths[i], summary };
	}
	return best;
}

size_t ceilings_size(uint64_t keys)
{
	return keys < FEW_KEYS ? SMALL_ARRAY : LARGE_ARRAY;
}

bool ceilings_open(struct ceilings *ceilings, size_t bytes, uint64_t visits, unsigned threads)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
#ifdef MADV_HUGEPAGE
	madvise(memory, bytes, MADV_HUGEPAGE);
#endif
	ceilings->array = memory;
	ceilings->bytes = bytes;
	ceilings->huge = machine_huge_bytes();
	memset(memory, 1, bytes); /* pages that were never written are all one page of zeros */
	ceilings->huge = machine_huge_bytes() - ceilings->huge;
	ceilings->visits = (visits + DEEPEST - 1) / DEEPEST * DEEPEST;
	ceilings->threads = threads;
	return true;
}

void ceilings_close(struct ceilings *ceilings)
{
	if (ceilings->array)
		munmap(ceilings->array, ceilings->bytes);
}
