/* SPDX-License-Identifier: MIT
 *
 * bench_wiredtiger: filters in front of a storage engine, Table 5 of "Breadcrumb Filters".
 *
 *     nidus bench wiredtiger [-n KEYS] [--seconds S] [--folder PATH] [--full] [--json FILE]
 *                            [--commit ID] [--note TEXT]
 *
 * A table of WiredTiger has n keys of 8 bytes (0.9 * 2^24; --full: 0.9 * 2^26) with values
 * of 24 bytes. Each filter knows its keys; then a part of them is removed from table and
 * filter and put in again. Queries ask the filter first and the table only if it says
 * yes: every tenth of them for a key that is there, every hundredth, and none.
 *
 *  on disk    table cache and filter share 64 MB per 2^24 keys, and files are read past
 *             the system's cache (direct I/O), so that a miss is a read
 *  in memory  a cache that holds everything
 *
 * Times are those of the clock, reads included. Exit 1 if a key that is there is not
 * found, 6 where this program was built without WiredTiger.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nidus.h>

#include "bench_keys.h"
#include "machine.h"
#include "paper.h"

#ifndef NIDUS_HAVE_WIREDTIGER

int main(void)
{
	fprintf(stderr, "bench_wiredtiger: skipped: WiredTiger was not there when this was built "
	                "(Debian: libwiredtiger-dev)\n");
	return 6;
}

#else

#include <wiredtiger.h>

#define VALUE_BYTES 24
#define BUDGET_BITS 32  /* of cache and filter per key: 64 MB per 2^24 keys */
#define LEAST_CACHE 4.0 /* MB that WiredTiger gets in any case */
#define CHURN_PART 100  /* one key of so many is removed and put in again, */
#define CHURN_MOST 5000 /* but no more than this */
#define CHECKED 1024    /* keys that must be found afterwards */
#define AT_A_TIME 64    /* queries between two looks at the clock */

struct settings {
	uint64_t keys;
	double seconds; /* per figure */
	struct paper_scale scale;
	const char *folder, *json, *commit, *note;
};

struct engine {
	WT_CONNECTION *connection;
	WT_SESSION *session;
	WT_CURSOR *cursor;
	char home[4096];
};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "bench_wiredtiger: %s: %s\n", what, why);
	exit(1);
}

static void check(int error, const char *what)
{
	if (error != 0)
		fail(what, wiredtiger_strerror(error));
}

/* ------------------------------------------------------------------------- engine -- */

/* Keys in the order of the table: its bytes are compared, so the highest comes first. */
static void set_key(WT_CURSOR *cursor, uint64_t key, unsigned char bytes[8])
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(key >> (56 - 8 * i));
	WT_ITEM item = { .data = bytes, .size = 8 };
	cursor->set_key(cursor, &item);
}

static void set_value(WT_CURSOR *cursor, uint64_t key, uint64_t value[VALUE_BYTES / 8])
{
	for (unsigned i = 0; i < VALUE_BYTES / 8; i++)
		value[i] = key + i;
	WT_ITEM item = { .data = value, .size = VALUE_BYTES };
	cursor->set_value(cursor, &item);
}

static void engine_open(struct engine *engine, double cache_megabytes, bool direct)
{
	char config[256];
	snprintf(config, sizeof config,
	         "create,cache_size=%.0fKB,checkpoint_sync=false,eviction=(threads_max=1)%s",
	         1024 * fmax(cache_megabytes, LEAST_CACHE), direct ? ",direct_io=[data]" : "");
	int error = wiredtiger_open(engine->home, NULL, config, &engine->connection);
	if (direct && error == EINVAL)
		fail(engine->home, "no direct I/O there; name a folder on a disk with --folder");
	check(error, engine->home);
	check(engine->connection->open_session(engine->connection, NULL, NULL, &engine->session),
	      "session");
	check(engine->session->create(engine->session, "table:keys", "key_format=u,value_format=u"),
	      "table");
	check(engine->session->open_cursor(engine->session, "table:keys", NULL, NULL,
	                                   &engine->cursor),
	      "cursor");
}

static void engine_close(struct engine *engine)
{
	check(engine->connection->close(engine->connection, NULL), "close");
}

static void engine_insert(struct engine *engine, uint64_t key)
{
	unsigned char bytes[8];
	uint64_t value[VALUE_BYTES / 8];
	set_key(engine->cursor, key, bytes);
	set_value(engine->cursor, key, value);
	check(engine->cursor->insert(engine->cursor), "insert");
}

static void engine_remove(struct engine *engine, uint64_t key)
{
	unsigned char bytes[8];
	set_key(engine->cursor, key, bytes);
	check(engine->cursor->remove(engine->cursor), "remove");
}

static bool engine_has(struct engine *engine, uint64_t key)
{
	unsigned char bytes[8];
	set_key(engine->cursor, key, bytes);
	int error = engine->cursor->search(engine->cursor);
	if (error != WT_NOTFOUND)
		check(error, "search");
	return error == 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Loads all keys in order, which is the quick way. */
static void engine_load(struct engine *engine, uint64_t n)
{
	WT_CURSOR *bulk;
	uint64_t *keys = malloc((size_t)n * sizeof *keys), value[VALUE_BYTES / 8];
	unsigned char bytes[8];
	if (keys == NULL)
		fail("load", "no memory for the keys");
	keys_fill(KEYS_INSERTED, keys, (size_t)n);
	qsort(keys, (size_t)n, sizeof *keys, ascending);
	engine_open(engine, 512, false);
	engine->cursor->close(engine->cursor);
	check(engine->session->open_cursor(engine->session, "table:keys", NULL, "bulk", &bulk),
	      "bulk load");
	for (uint64_t i = 0; i < n; i++) {
		set_key(bulk, keys[i], bytes);
		set_value(bulk, keys[i], value);
		check(bulk->insert(bulk), "bulk load");
	}
	check(bulk->close(bulk), "bulk load");
	engine_close(engine);
	free(keys);
}

/* Reads everything once, so that it is in a cache which holds it. */
static void engine_warm(struct engine *engine)
{
	check(engine->cursor->reset(engine->cursor), "reset");
	while (engine->cursor->next(engine->cursor) == 0)
		;
}

/* ------------------------------------------------------------------------ filters -- */

static const struct kind {
	const char *name;
	nidus_family family; /* NIDUS_AUTO: no filter */
	unsigned slots;
	double fpr;
	double disk[3], memory[3]; /* the paper's, in thousand queries per second */
} kinds[] = {
	{ "no filter", NIDUS_AUTO, 0, 0, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "breadcrumb, 8 bits",
	  NIDUS_BREADCRUMB,
	  0,
	  1.0 / 256,
	  { 79, 590, 1921 },
	  { 1911, 8121, 12966 } },
	{ "breadcrumb, 16 bits",
	  NIDUS_BREADCRUMB,
	  0,
	  0.000012,
	  { 82, 781, 16706 },
	  { 2034, 9396, 17385 } },
	{ "cuckoo, 12 bits", NIDUS_CUCKOO, 4, 1.0 / 512, { 83, 695, 3838 }, { 2106, 9883, 18180 } },
	{ "semisort", NIDUS_SEMISORT, 0, 1.0 / 256, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "simplified", NIDUS_SIMPLIFIED, 0, 1.0 / 256, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "chunked", NIDUS_CHUNKED, 0, 1.0 / 256, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "bucketed", NIDUS_BUCKETED, 0, 1.0 / 256, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "windowed", NIDUS_WINDOWED, 0, 1.0 / 256, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "windowed, k = 16",
	  NIDUS_WINDOWED,
	  0,
	  1.0 / 65536,
	  { NAN, NAN, NAN },
	  { NAN, NAN, NAN } },
	{ "bloom", NIDUS_BLOOM, 0, 1.0 / 256, { NAN, NAN, NAN }, { NAN, NAN, NAN } },
	{ "blocked-bloom",
	  NIDUS_BLOCKED_BLOOM,
	  0,
	  1.0 / 256,
	  { NAN, NAN, NAN },
	  { NAN, NAN, NAN } },
};

#define KINDS (sizeof kinds / sizeof *kinds)

static const double shares[3] = { 0.1, 0.01, 0 }; /* of queries that find something */

static nidus_filter *make_filter(const struct kind *kind, uint64_t n)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	if (kind->family == NIDUS_AUTO)
		return NULL;
	options.family = kind->family;
	options.slots = kind->slots;
	options.fpr = kind->fpr;
	options.capacity = n;
	options.seed = 1;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		fail(kind->name, nidus_reason());
	for (uint64_t i = 0; i < n; i++) {
		if (nidus_insert_u64(filter, keys_at(KEYS_INSERTED + i)) != NIDUS_OK)
			fail(kind->name, nidus_reason());
	}
	return filter;
}

static double megabytes_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	return nidus_get_info(filter, &info) == NIDUS_OK ? (double)info.bytes / (1 << 20) : 0;
}

/* A key out of table and filter, and in again. Bloom filters keep it meanwhile. */
static void churn_key(struct engine *engine, nidus_filter *filter, uint64_t key)
{
	engine_remove(engine, key);
	nidus_status status = filter == NULL ? NIDUS_E_UNSUPPORTED : nidus_remove_u64(filter, key);
	if (status != NIDUS_OK && status != NIDUS_E_UNSUPPORTED)
		fail("remove from the filter", nidus_reason());
	engine_insert(engine, key);
	if (status == NIDUS_OK && nidus_insert_u64(filter, key) != NIDUS_OK)
		fail("insert into the filter", nidus_reason());
}

static bool query(struct engine *engine, const nidus_filter *filter, uint64_t key)
{
	return (filter == NULL || nidus_contains_u64(filter, key)) && engine_has(engine, key);
}

static void churn(struct engine *engine, nidus_filter *filter, uint64_t n)
{
	for (uint64_t i = 0; i < n && i < CHURN_MOST * CHURN_PART; i += CHURN_PART)
		churn_key(engine, filter, keys_at(KEYS_INSERTED + i));
	for (uint64_t i = 0; n > 0 && i < CHECKED; i++) {
		uint64_t index = i % 2 == 0 ? i / 2 * CHURN_PART % n : keys_at(i) % n;
		if (!query(engine, filter, keys_at(KEYS_INSERTED + index)))
			fail("query", "a key that is in the table was not found");
	}
}

/* Thousand queries per second. */
static double speed(struct engine *engine, const nidus_filter *filter, uint64_t n, double share,
                    double seconds)
{
	uint64_t done = 0, found = 0, present = 0;
	double start = machine_seconds(), took;
	do {
		for (unsigned i = 0; i < AT_A_TIME; i++, done++) {
			uint64_t chance = keys_at(3 * KEYS_ABSENT + done);
			bool hit = (double)(chance >> 11) < share * 0x1p53;
			uint64_t key = hit ? keys_at(KEYS_INSERTED + chance % n)
			                   : keys_at(KEYS_ABSENT + done);
			present += hit;
			found += query(engine, filter, key);
		}
		took = machine_seconds() - start;
	} while (took < seconds);
	if (found != present)
		fail("query", "answers were wrong");
	return (double)done / took / 1e3;
}

/* --------------------------------------------------------------------- experiments -- */

static void measure_kind(struct paper_run *run, struct engine *engine, const struct kind *kind,
                         const struct settings *settings, bool disk)
{
	nidus_filter *filter = make_filter(kind, settings->keys);
	double budget = (double)settings->keys * BUDGET_BITS / 8 / (1 << 20);
	double everything = (double)settings->keys * 128 / (1 << 20) + 64;
	engine_open(engine, disk ? budget - megabytes_of(filter) : everything, disk);
	churn(engine, filter, settings->keys);
	if (!disk)
		engine_warm(engine);
	for (unsigned i = 0; i < 3; i++)
		paper_add(run, kind->name, 100 * shares[i], disk ? kind->disk[i] : kind->memory[i],
		          speed(engine, filter, settings->keys, shares[i], settings->seconds));
	engine_close(engine);
	nidus_free(filter);
}

static void table_5(struct paper_run *run, struct engine *engine, const struct settings *settings,
                    bool disk)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = disk ? "table-5-disk" : "table-5-memory",
			.keys = (double)settings->keys,
			.place = "Table 5",
			.title = disk ? "queries of WiredTiger on disk by share of hits"
	                              : "queries of WiredTiger in memory by share of hits",
			.x = "hits, %",
			.unit = "thousand queries/s",
			.log_y = true,
			.compare = PAPER_RATIO,
			.reference = "cuckoo, 12 bits",
			.note = "the paper: 0.9 * 2^28 keys, and 9.1, 0.99 and 0 % hits; here 10, 1 "
				"and 0. On disk: cache and filter share 64 MB per 2^24 keys, files are "
				"read by direct I/O" });
	/* A whole round of all filters at a time: what changes with the hour does so for all. */
	while (paper_again(run)) {
		for (size_t i = 0; i < KINDS; i++)
			measure_kind(run, engine, &kinds[i], settings, disk);
	}
	paper_end(run);
}

/* ------------------------------------------------------------------------- options -- */

static _Noreturn void usage(FILE *file, int code)
{
	fprintf(file,
	        "usage: nidus bench wiredtiger [-n KEYS] [--seconds S] [--rounds N] [--folder PATH]\n"
	        "                              [--full] [--hours N] [--retries N] [--json FILE] [--commit ID] [--note TEXT]\n"
	        "\n"
	        "Queries of the storage engine WiredTiger with a filter of each family in front of\n"
	        "it, on disk and in memory.\n"
	        "\n"
	        "  -n KEYS        in the table (0.9 * 2^24; --full: 0.9 * 2^26)\n"
	        "  --seconds S    per figure, up to 3600 (5)\n"
	        "  --rounds N     of all figures, of which the medians count (3)\n"
	        "  --hours N      fewer rounds if so many hours do not suffice\n"
	        "  --retries N    how often a round is made again that other programs disturbed (0)\n"
	        "  --folder PATH  where the table is made, and removed again (TMPDIR or /tmp);\n"
	        "                 36 bytes per key and more, on a disk that allows direct I/O\n"
	        "  --json FILE    write every row there too\n");
	exit(code);
}

static double read_number(const char *name, const char *text, double least, double most)
{
	char *after;
	double number = strtod(text, &after);
	if (*text == '\0' || *after != '\0' || !(number >= least && number <= most)) {
		fprintf(stderr,
		        "bench_wiredtiger: %s: '%s' is not a number between %.0f and %.0f\n", name,
		        text, least, most);
		exit(2);
	}
	return number;
}

static void read_valued(struct settings *settings, const char *name, const char *value)
{
	if (value == NULL) {
		fprintf(stderr, "bench_wiredtiger: %s needs a value; --help tells more\n", name);
		exit(2);
	}
	if (strcmp(name, "-n") == 0)
		settings->keys = (uint64_t)read_number(name, value, 10000, 0x1p32);
	else if (strcmp(name, "--seconds") == 0)
		settings->seconds = read_number(name, value, 0, 3600);
	else if (strcmp(name, "--rounds") == 0)
		settings->scale.rounds = (unsigned)read_number(name, value, 1, PAPER_ROUNDS_MOST);
	else if (strcmp(name, "--hours") == 0)
		settings->scale.seconds = 3600 * read_number(name, value, 0.001, 1000);
	else if (strcmp(name, "--retries") == 0)
		settings->scale.retries = (unsigned)read_number(name, value, 0, 10);
	else if (strcmp(name, "--folder") == 0)
		settings->folder = value;
	else if (strcmp(name, "--json") == 0)
		settings->json = value;
	else if (strcmp(name, "--commit") == 0)
		settings->commit = value;
	else if (strcmp(name, "--note") == 0)
		settings->note = value;
	else {
		fprintf(stderr, "bench_wiredtiger: no option %s; --help tells what there is\n",
		        name);
		exit(2);
	}
}

static struct settings read_arguments(int argc, char **argv)
{
	const char *temporary = getenv("TMPDIR");
	struct settings settings = { .keys = (uint64_t)(0.9 * 0x1p24),
		                     .seconds = 5,
		                     .scale = { .rounds = 3 },
		                     .folder = temporary != NULL ? temporary : "/tmp",
		                     .commit = "",
		                     .note = "" };
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			usage(stdout, 0);
		else if (strcmp(argv[i], "--full") == 0)
			settings.keys = (uint64_t)(0.9 * 0x1p26);
		else {
			const char *name = argv[i++];
			read_valued(&settings, name, argv[i]);
		}
	}
	return settings;
}

/* ---------------------------------------------------------------------------- main -- */

static void make_home(struct engine *engine, const char *folder)
{
	snprintf(engine->home, sizeof engine->home, "%s/nidus-wiredtiger-XXXXXX", folder);
	if (mkdtemp(engine->home) == NULL)
		fail(engine->home, strerror(errno));
}

/* The files that WiredTiger makes, and their folder. */
static void remove_home(const struct engine *engine)
{
	static const char *const files[] = {
		"WiredTiger",    "WiredTiger.lock",    "WiredTiger.turtle",
		"WiredTiger.wt", "WiredTiger.basecfg", "WiredTigerLAS.wt",
		"keys.wt"
	};
	char path[sizeof engine->home + 32];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", engine->home, files[i]);
		(void)unlink(path);
	}
	if (rmdir(engine->home) != 0)
		fprintf(stderr, "bench_wiredtiger: %s could not be removed: %s\n", engine->home,
		        strerror(errno));
}

static struct engine engine; /* for remove_home at any exit */

static void clean_up(void)
{
	if (engine.home[0] != '\0')
		remove_home(&engine);
}

int main(int argc, char **argv)
{
	struct settings settings = read_arguments(argc, argv);
	FILE *json = paper_open_json(settings.json);
	settings.scale.keys = settings.keys;
	struct paper_run *run = paper_run_new(&settings.scale);
	double start = machine_seconds(), worked = machine_worked();
	atexit(clean_up);
	make_home(&engine, settings.folder);
	printf("here: %s, %u processors, %s, nidus %s, %s; %llu keys\n", machine_cpu(),
	       machine_processors(), machine_compiler(), nidus_version(),
	       wiredtiger_version(NULL, NULL, NULL), (unsigned long long)settings.keys);
	engine_load(&engine, settings.keys);
	table_5(run, &engine, &settings, true);
	table_5(run, &engine, &settings, false);
	double seconds = machine_seconds() - start;
	if (json != NULL)
		paper_save_json(
			run, json,
			&(struct paper_words){ .commit = settings.commit,
		                               .note = settings.note,
		                               .seconds = seconds,
		                               .share = (machine_worked() - worked) / seconds });
	paper_run_free(run);
	return 0;
}

#endif
