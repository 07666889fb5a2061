/* SPDX-License-Identifier: MIT
 *
 * bench_ab: two builds of the shared library against each other, in one process.
 *
 *     build/bench_ab [-n KEYS] [-r ROUNDS] [-f ROW[,ROW...]] OLD.so NEW.so
 *
 * Both libraries are loaded side by side and do the same work on filters of the same
 * options, in turns of an eighth of the keys each: whatever else the machine does hits
 * both. Processor time is measured, and of every turn the shortest of all rounds counts.
 * Printed is, for every row and operation, how much faster the new library is (old time /
 * new time), then the geometric mean and the lowest.
 * Rows whose names end in "-shared" are of filters with NIDUS_CONCURRENT, used by one
 * thread. `-f cuckoo` takes all rows whose names begin so.
 *
 * Both must have been built from the same public header.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nidus.h>

#include "machine.h"

#define TURNS 8
#define BATCH 1024
#define SIDES 2 /* old, new */

struct row {
	const char *name;
	nidus_family family;
	unsigned slots;
	double bits; /* the rate is 2^-bits */
	uint32_t features;
};

static const struct row rows[] = {
	{ "breadcrumb-k8", NIDUS_BREADCRUMB, 0, 8, 0 },
	{ "windowed-2-k8", NIDUS_WINDOWED, 2, 8, 0 },
	{ "windowed-2-k14", NIDUS_WINDOWED, 2, 14, 0 },
	{ "windowed-4-k8", NIDUS_WINDOWED, 4, 8, 0 },
	{ "windowed-4-k13", NIDUS_WINDOWED, 4, 13, 0 },
	{ "bucketed-2-k8", NIDUS_BUCKETED, 2, 8, 0 },
	{ "bucketed-2-k13", NIDUS_BUCKETED, 2, 13, 0 },
	{ "bucketed-4-k8", NIDUS_BUCKETED, 4, 8, 0 },
	{ "bucketed-4-k13", NIDUS_BUCKETED, 4, 13, 0 },
	{ "bucketed-4-k16", NIDUS_BUCKETED, 4, 16, 0 },
	{ "chunked-k9", NIDUS_CHUNKED, 0, 9, 0 },
	{ "cuckoo-k9", NIDUS_CUCKOO, 4, 9, 0 },
	{ "cuckoo-k13", NIDUS_CUCKOO, 4, 13, 0 },
	{ "semisort-k9", NIDUS_SEMISORT, 0, 9, 0 },
	{ "simplified-k8", NIDUS_SIMPLIFIED, 0, 8, 0 },
	{ "blocked-bloom-k8", NIDUS_BLOCKED_BLOOM, 0, 8, 0 },
	{ "bloom-k8", NIDUS_BLOOM, 0, 8, 0 },
	{ "breadcrumb-k8-shared", NIDUS_BREADCRUMB, 0, 8, NIDUS_CONCURRENT },
	{ "windowed-2-k8-shared", NIDUS_WINDOWED, 2, 8, NIDUS_CONCURRENT },
	{ "windowed-4-k13-shared", NIDUS_WINDOWED, 4, 13, NIDUS_CONCURRENT },
	{ "bucketed-2-k8-shared", NIDUS_BUCKETED, 2, 8, NIDUS_CONCURRENT },
	{ "bucketed-4-k8-shared", NIDUS_BUCKETED, 4, 8, NIDUS_CONCURRENT },
	{ "chunked-k9-shared", NIDUS_CHUNKED, 0, 9, NIDUS_CONCURRENT },
	{ "cuckoo-k9-shared", NIDUS_CUCKOO, 4, 9, NIDUS_CONCURRENT },
	{ "semisort-k9-shared", NIDUS_SEMISORT, 0, 9, NIDUS_CONCURRENT },
	{ "simplified-k8-shared", NIDUS_SIMPLIFIED, 0, 8, NIDUS_CONCURRENT },
};
#define ROWS (sizeof rows / sizeof rows[0])

/* In this order: each finds the filter as the one before left it. */
enum op {
	OP_INSERT_BATCH,
	OP_PRESENT_BATCH,
	OP_ABSENT_BATCH,
	OP_PRESENT,
	OP_ABSENT,
	OP_REMOVE_BATCH,
	OP_INSERT,
	OP_REMOVE,
	OP_BUILD,
	OPS,
};

static const char *const op_names[OPS] = {
	[OP_INSERT_BATCH] = "ins*", [OP_PRESENT_BATCH] = "yes*", [OP_ABSENT_BATCH] = "no*",
	[OP_PRESENT] = "yes",       [OP_ABSENT] = "no",          [OP_REMOVE_BATCH] = "rem*",
	[OP_INSERT] = "ins",        [OP_REMOVE] = "rem",         [OP_BUILD] = "build",
};

/* The calls of one library. */
struct library {
	nidus_status (*create)(const nidus_options *options, nidus_filter **filter);
	void (*free)(nidus_filter *filter);
	nidus_status (*insert)(nidus_filter *filter, uint64_t key);
	bool (*contains)(const nidus_filter *filter, uint64_t key);
	nidus_status (*remove)(nidus_filter *filter, uint64_t key);
	void (*hashes)(const nidus_filter *filter, const uint64_t *keys, size_t n, uint64_t *to);
	nidus_status (*insert_batch)(nidus_filter *filter, const uint64_t *hashes, size_t n,
	                             size_t *done);
	nidus_status (*remove_batch)(nidus_filter *filter, const uint64_t *hashes, size_t n,
	                             size_t *done);
	void (*contains_batch)(const nidus_filter *filter, const uint64_t *hashes, size_t n,
	                       uint8_t *yes);
	nidus_status (*build)(const nidus_options *options, uint64_t *hashes, size_t n,
	                      unsigned threads, nidus_filter **filter);
};

struct side {
	struct library library;
	nidus_filter *filter;
	uint64_t *present, *absent; /* hashes */
	uint64_t *sorted;           /* for builds, which may reorder them */
	uint64_t best[OPS][TURNS];  /* shortest time of a turn, nanoseconds; 0: none yet */
	uint64_t answers;           /* found, to compare */
};

struct settings {
	uint64_t keys;
	unsigned rounds;
	const char *names;
	const char *path[SIDES];
};

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "bench_ab: %s: %s\n", what, why);
	exit(2);
}

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t scatter(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* ------------------------------------------------------------------- libraries -- */

/* Through a copy of the bytes: C has no cast from an object pointer to a function's. */
static void find(void *handle, const char *name, void *to)
{
	void *symbol = dlsym(handle, name);
	if (symbol == NULL)
		give_up(name, dlerror());
	memcpy(to, &symbol, sizeof symbol);
}

static void load(struct library *library, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		give_up(path, dlerror());
	find(handle, "nidus_create", &library->create);
	find(handle, "nidus_free", &library->free);
	find(handle, "nidus_insert_u64", &library->insert);
	find(handle, "nidus_contains_u64", &library->contains);
	find(handle, "nidus_remove_u64", &library->remove);
	find(handle, "nidus_hash_u64_batch", &library->hashes);
	find(handle, "nidus_insert_batch", &library->insert_batch);
	find(handle, "nidus_remove_batch", &library->remove_batch);
	find(handle, "nidus_contains_batch", &library->contains_batch);
	find(handle, "nidus_build_hashes", &library->build);
}

/* ------------------------------------------------------------------ operations -- */

static bool can_remove(const struct row *row)
{
	return row->family != NIDUS_BLOOM && row->family != NIDUS_BLOCKED_BLOOM;
}

/* Present keys are scattered numbers below n, absent ones those from n on. */
static uint64_t key_of(uint64_t i)
{
	return scatter(i + 1);
}

static void look_up(struct side *side, const uint64_t *hashes, size_t n)
{
	uint8_t yes[BATCH];
	for (size_t at = 0; at < n; at += BATCH) {
		size_t some = n - at < BATCH ? n - at : BATCH;
		side->library.contains_batch(side->filter, hashes + at, some, yes);
		for (size_t i = 0; i < some; i++)
			side->answers += yes[i];
	}
}

static void change(struct side *side, const uint64_t *hashes, size_t n, bool insert)
{
	size_t done;
	for (size_t at = 0; at < n; at += BATCH) {
		size_t some = n - at < BATCH ? n - at : BATCH;
		nidus_status status =
			insert ? side->library.insert_batch(side->filter, hashes + at, some, &done)
			       : side->library.remove_batch(side->filter, hashes + at, some, &done);
		if (status != NIDUS_OK)
			give_up("a batch", "failed");
	}
}

static void look_up_single(struct side *side, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		side->answers += side->library.contains(side->filter, key_of(i));
}

static void change_single(struct side *side, uint64_t from, uint64_t to, bool insert)
{
	for (uint64_t i = from; i < to; i++) {
		nidus_status status = insert ? side->library.insert(side->filter, key_of(i))
		                             : side->library.remove(side->filter, key_of(i));
		if (status != NIDUS_OK)
			give_up("a single call", "failed");
	}
}

static void keep(struct side *side, enum op op, unsigned turn, uint64_t time)
{
	uint64_t *best = &side->best[op][turn];
	if (*best == 0 || time < *best)
		*best = time;
}

static uint64_t best_sum(const struct side *side, enum op op)
{
	uint64_t sum = 0;
	for (unsigned turn = 0; turn < TURNS; turn++)
		sum += side->best[op][turn];
	return sum;
}

/* Turn number `turn` of an operation. */
static void run_turn(struct side *side, enum op op, uint64_t n, unsigned turn)
{
	uint64_t from = n * turn / TURNS, to = n * (turn + 1) / TURNS;
	uint64_t start = now();
	switch (op) {
	case OP_INSERT_BATCH:
	case OP_REMOVE_BATCH:
		change(side, side->present + from, to - from, op == OP_INSERT_BATCH);
		break;
	case OP_PRESENT_BATCH:
		look_up(side, side->present + from, to - from);
		break;
	case OP_ABSENT_BATCH:
		look_up(side, side->absent + from, to - from);
		break;
	case OP_PRESENT:
		look_up_single(side, from, to);
		break;
	case OP_ABSENT:
		look_up_single(side, n + from, n + to);
		break;
	default:
		change_single(side, from, to, op == OP_INSERT);
	}
	keep(side, op, turn, now() - start);
}

static void run_build(struct side *side, const nidus_options *options, uint64_t n)
{
	nidus_filter *built;
	memcpy(side->sorted, side->present, n * sizeof *side->sorted);
	uint64_t start = now();
	if (side->library.build(options, side->sorted, n, 1, &built) != NIDUS_OK)
		give_up("a build", "failed");
	keep(side, OP_BUILD, 0, now() - start);
	side->library.free(built);
}

/* ---------------------------------------------------------------------- rounds -- */

static void begin(struct side *side, const nidus_options *options, uint64_t n)
{
	if (side->library.create(options, &side->filter) != NIDUS_OK)
		give_up("create", "failed");
	for (uint64_t i = 0; i < n; i++) {
		side->present[i] = key_of(i);
		side->absent[i] = key_of(n + i);
	}
	side->library.hashes(side->filter, side->present, n, side->present);
	side->library.hashes(side->filter, side->absent, n, side->absent);
}

static void run_round(struct side sides[SIDES], const struct row *row, uint64_t n, unsigned round)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = row->family;
	options.slots = row->slots;
	options.capacity = n;
	options.fpr = exp2(-row->bits);
	options.seed = 1;
	options.features = row->features;
	for (unsigned i = 0; i < SIDES; i++)
		begin(&sides[i], &options, n);
	for (enum op op = 0; op < OP_BUILD; op++) {
		bool removes = op == OP_REMOVE_BATCH || op == OP_REMOVE || op == OP_INSERT;
		for (unsigned turn = 0; turn < TURNS && (can_remove(row) || !removes); turn++) {
			unsigned first = (turn + round) % SIDES;
			run_turn(&sides[first], op, n, turn);
			run_turn(&sides[!first], op, n, turn);
		}
	}
	for (unsigned i = 0; i < SIDES; i++)
		run_build(&sides[(i + round) % SIDES], &options, n);
	for (unsigned i = 0; i < SIDES; i++)
		sides[i].library.free(sides[i].filter);
}

/* Sums up what all figures come to. */
struct total {
	double logs, lowest;
	unsigned figures;
};

static void run_row(struct side sides[SIDES], const struct row *row,
                    const struct settings *settings, struct total *total)
{
	/* A cuckoo filter is a power of two: let it be nearly full. */
	bool power = row->family == NIDUS_CUCKOO || row->family == NIDUS_SEMISORT;
	uint64_t n = settings->keys;
	if (power)
		n = (uint64_t)(0.95 * exp2(floor(log2((double)n / 0.95) + 0.5)));
	for (unsigned i = 0; i < SIDES; i++)
		memset(sides[i].best, 0, sizeof sides[i].best);
	for (unsigned round = 0; round < settings->rounds; round++)
		run_round(sides, row, n, round);
	printf("%-22s", row->name);
	for (enum op op = 0; op < OPS; op++) {
		if (best_sum(&sides[0], op) == 0) {
			printf("      -");
			continue;
		}
		double gain = (double)best_sum(&sides[0], op) / (double)best_sum(&sides[1], op);
		printf(" %6.3f", gain);
		total->logs += log(gain);
		total->lowest = gain < total->lowest ? gain : total->lowest;
		total->figures++;
	}
	printf("\n");
	fflush(stdout);
}

/* Whether a list of beginnings of names, separated by commas, has this one. */
static bool listed(const char *names, const char *name)
{
	for (; names != NULL && *names != '\0'; names += *names == ',') {
		size_t length = strcspn(names, ",");
		if (strncmp(name, names, length) == 0)
			return true;
		names += length;
	}
	return names == NULL;
}

/* ------------------------------------------------------------------------ main -- */

static void usage(void)
{
	fprintf(stderr, "usage: bench_ab [-n KEYS] [-r ROUNDS] [-f ROW,...] OLD.so NEW.so\n");
	exit(2);
}

static struct settings read_settings(int argc, char **argv)
{
	struct settings settings = { .keys = 1000000, .rounds = 5 };
	int i = 1;
	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "-n") == 0)
			settings.keys = (uint64_t)strtod(argv[i + 1], NULL);
		else if (strcmp(argv[i], "-r") == 0)
			settings.rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "-f") == 0)
			settings.names = argv[i + 1];
		else
			usage();
	}
	if (argc - i != SIDES || settings.keys < 1000 || settings.rounds < 1)
		usage();
	settings.path[0] = argv[i];
	settings.path[1] = argv[i + 1];
	return settings;
}

int main(int argc, char **argv)
{
	struct settings settings = read_settings(argc, argv);
	struct side sides[SIDES] = { 0 };
	struct total total = { .lowest = INFINITY };
	for (unsigned i = 0; i < SIDES; i++) {
		struct side *side = &sides[i];
		load(&side->library, settings.path[i]);
		size_t bytes = 2 * settings.keys * sizeof *side->present;
		side->present = malloc(bytes);
		side->absent = malloc(bytes);
		side->sorted = malloc(bytes);
		if (side->present == NULL || side->absent == NULL || side->sorted == NULL)
			give_up("memory", "there is not enough");
	}
	printf("%s, %llu keys, %u rounds; old time / new time, * in batches\n", machine_cpu(),
	       (unsigned long long)settings.keys, settings.rounds);
	printf("%-22s", "");
	for (enum op op = 0; op < OPS; op++)
		printf(" %6s", op_names[op]);
	printf("\n");
	for (size_t i = 0; i < ROWS; i++) {
		if (listed(settings.names, rows[i].name))
			run_row(sides, &rows[i], &settings, &total);
	}
	if (total.figures == 0)
		give_up("-f", "no row has such a name");
	printf("geometric mean %.3f, lowest %.3f, of %u figures\n", exp(total.logs / total.figures),
	       total.lowest, total.figures);
	if (sides[0].answers != sides[1].answers)
		give_up("lookups", "the two libraries answered differently");
	for (unsigned i = 0; i < SIDES; i++) {
		free(sides[i].present);
		free(sides[i].absent);
		free(sides[i].sorted);
	}
	return 0;
}
