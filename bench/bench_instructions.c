/* SPDX-License-Identifier: MIT
 *
 * bench_instructions: instructions per operation, which no busy machine can change.
 *
 *     build/bench_instructions [-n KEYS] [-g TIMES] [-f ROW[,ROW...]]
 *
 * Runs itself under callgrind and prints a table: for every row of nidus bench speed, the
 * instructions of one operation with its hash, its call and the loop around it. Lookups and
 * removes are counted in a full filter, inserts at half load; one key at a time, and in
 * batches of 1024 keys; lookups also in two halves, with a ring of probes. With -g 16 the filters were made for a sixteenth of the keys, have grown
 * to their number by themselves, and inserts are those amid growth. Needs valgrind. The counts
 * are of the instruction set that NIDUS_ISA says, or the best that valgrind knows.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nidus.h>

#include "bench_keys.h"
#include "bench_rows.h"
#include "machine.h"
#include "report.h"

#define DEFAULT_KEYS 2000000 /* from here on hops are written down, as in larger tables */
#define COUNTED 8192         /* keys of an operation whose instructions are counted */
#define BATCH 1024
#define AHEAD 32 /* keys between the two halves of a lookup */
#define INSIDE "NIDUS_BENCH_UNDER_CALLGRIND" /* in the environment of the run that is counted */

enum column {
	PRESENT,
	ABSENT,
	PRESENT_PROBE,
	ABSENT_PROBE,
	REMOVE,
	INSERT,
	PRESENT_BATCH,
	ABSENT_BATCH,
	REMOVE_BATCH,
	INSERT_BATCH,
	COLUMNS
};

static bool removes(enum column column)
{
	return column == REMOVE || column == REMOVE_BATCH;
}

static bool inserts(enum column column)
{
	return column == INSERT || column == INSERT_BATCH;
}

/* Makes a row one that grows by itself; false if its family cannot. */
static bool let_grow(struct bench_row *row, uint64_t times)
{
	if (times <= 1)
		return true;
	row->options.max_capacity = row->keys;
	row->options.capacity = row->keys / times;
	return nidus_family_features(row->spec.family) & NIDUS_GROW;
}

static bool is_static(const struct bench_row *row)
{
	return nidus_family_features(row->spec.family) & NIDUS_STATIC;
}

static bool can_do(const struct bench_row *row, enum column column)
{
	return removes(column)   ? nidus_family_features(row->spec.family) & NIDUS_DELETE
	       : inserts(column) ? !is_static(row)
	                         : true;
}

/* ------------------------------------------------------------- what is counted -- */

struct work {
	nidus_filter *filter;
	const uint64_t *keys;
	uint64_t hashes[BATCH];
	uint8_t yes[BATCH];
	uint64_t failed;
};

static void contains_singly(struct work *work)
{
	const nidus_filter *filter = work->filter;
	const uint64_t *keys = work->keys;
	uint8_t *yes = work->yes;
	for (size_t done = 0; done < COUNTED; done += BATCH, keys += BATCH) {
		for (size_t i = 0; i < BATCH; i++)
			yes[i] = nidus_contains_u64(filter, keys[i]);
	}
}

static void contains_prepared(struct work *work)
{
	const nidus_filter *filter = work->filter;
	const uint64_t *keys = work->keys;
	uint8_t *yes = work->yes;
	nidus_probe ring[AHEAD];
	for (size_t i = 0; i < AHEAD; i++)
		nidus_prepare_u64(filter, keys[i], &ring[i]);
	for (size_t i = 0; i < COUNTED; i++) {
		nidus_probe *probe = &ring[i % AHEAD];
		yes[i % BATCH] = nidus_ask(filter, probe);
		nidus_prepare_u64(filter, keys[i + AHEAD], probe);
	}
}

static void contains_batch(struct work *work)
{
	for (size_t done = 0; done < COUNTED; done += BATCH) {
		nidus_hash_u64_batch(work->filter, work->keys + done, BATCH, work->hashes);
		nidus_contains_batch(work->filter, work->hashes, BATCH, work->yes);
	}
}

static void remove_singly(struct work *work)
{
	nidus_filter *filter = work->filter;
	const uint64_t *keys = work->keys;
	uint64_t failed = 0;
	for (size_t i = 0; i < COUNTED; i++)
		failed |= nidus_remove_u64(filter, keys[i]);
	work->failed |= failed;
}

static void remove_batch(struct work *work)
{
	for (size_t done = 0; done < COUNTED; done += BATCH) {
		nidus_hash_u64_batch(work->filter, work->keys + done, BATCH, work->hashes);
		work->failed |= nidus_remove_batch(work->filter, work->hashes, BATCH, NULL);
	}
}

static void insert_singly(struct work *work)
{
	nidus_filter *filter = work->filter;
	const uint64_t *keys = work->keys;
	uint64_t failed = 0;
	for (size_t i = 0; i < COUNTED; i++)
		failed |= nidus_insert_u64(filter, keys[i]);
	work->failed |= failed;
}

static void insert_batch(struct work *work)
{
	for (size_t done = 0; done < COUNTED; done += BATCH) {
		nidus_hash_u64_batch(work->filter, work->keys + done, BATCH, work->hashes);
		work->failed |= nidus_insert_batch(work->filter, work->hashes, BATCH, NULL);
	}
}

/* Callgrind counts while this runs and writes a file when it returns, by its name. */
void bench_instructions_counted(void (*call)(struct work *work), struct work *work);
__attribute__((noinline)) void bench_instructions_counted(void (*call)(struct work *work),
                                                          struct work *work)
{
	call(work);
}

/* ------------------------------------------------------------ the counted run -- */

static nidus_status insert_all(nidus_filter *filter, uint64_t from, uint64_t to)
{
	uint64_t keys[BATCH], hashes[BATCH];
	nidus_status status = NIDUS_OK;
	for (uint64_t at = from; status == NIDUS_OK && at < to; at += BATCH) {
		size_t n = to - at < BATCH ? (size_t)(to - at) : BATCH;
		keys_fill(at, keys, n);
		nidus_hash_u64_batch(filter, keys, n, hashes);
		status = nidus_insert_batch(filter, hashes, n, NULL);
	}
	return status;
}

static void count(struct work *work, enum column column, uint64_t first)
{
	static void (*const calls[COLUMNS])(struct work * work) = {
		[PRESENT] = contains_singly,
		[PRESENT_PROBE] = contains_prepared,
		[PRESENT_BATCH] = contains_batch,
		[ABSENT] = contains_singly,
		[ABSENT_PROBE] = contains_prepared,
		[ABSENT_BATCH] = contains_batch,
		[REMOVE] = remove_singly,
		[REMOVE_BATCH] = remove_batch,
		[INSERT] = insert_singly,
		[INSERT_BATCH] = insert_batch,
	};
	uint64_t keys[COUNTED + AHEAD];
	keys_fill(first, keys, COUNTED + AHEAD);
	work->keys = keys;
	bench_instructions_counted(calls[column], work);
}

/* A static filter of all keys. */
static nidus_status build_all(const struct bench_row *row, nidus_filter **filter)
{
	uint64_t *keys = calloc(row->keys, sizeof *keys);
	if (keys == NULL)
		return NIDUS_E_NOMEM;
	keys_fill(0, keys, row->keys);
	nidus_status status = nidus_build_u64(&row->options, keys, row->keys, 1, filter);
	free(keys);
	return status;
}

/* From its first key on, each column has keys of its own. */
static nidus_status count_row(const struct bench_row *row)
{
	struct work work = { 0 };
	uint64_t half = is_static(row) ? row->keys : row->keys / 2;
	nidus_status status = is_static(row) ? build_all(row, &work.filter)
	                                     : nidus_create(&row->options, &work.filter);
	if (status == NIDUS_OK && !is_static(row))
		status = insert_all(work.filter, 0, half);
	for (enum column column = 0; status == NIDUS_OK && column < COLUMNS; column++) {
		if (inserts(column) && can_do(row, column)) {
			count(&work, column, half);
			half += COUNTED;
		}
	}
	if (status == NIDUS_OK)
		status = insert_all(work.filter, half, row->keys);
	if (status == NIDUS_OK && row->options.max_capacity > 0)
		status = nidus_grow(work.filter, row->keys); /* ends a move that is under way */
	for (enum column column = 0; status == NIDUS_OK && column < COLUMNS; column++) {
		bool absent =
			column == ABSENT || column == ABSENT_PROBE || column == ABSENT_BATCH;
		uint64_t first = absent ? KEYS_ABSENT : 0;
		if (!inserts(column) && can_do(row, column))
			count(&work, column, first + (uint64_t)column * COUNTED);
	}
	nidus_free(work.filter);
	if (work.failed != 0)
		report_error("%s: a call that was counted failed", row->spec.name);
	return status != NIDUS_OK ? status : (nidus_status)work.failed;
}

static int count_rows(const struct bench_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		nidus_status status = count_row(rows->row[i]);
		if (status != NIDUS_OK)
			return report_status(rows->row[i]->spec.name, status);
	}
	return EXIT_OK;
}

/* ------------------------------------------------------------- the run outside -- */

/* The instructions in one of callgrind's files, which is deleted; 0 if there is none. */
static uint64_t read_file(const char *folder, unsigned number)
{
	static const char mark[] = "summary: ";
	char path[256], line[512];
	uint64_t sum = 0;
	snprintf(path, sizeof path, "%s/out.%u", folder, number);
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, mark, sizeof mark - 1) == 0) {
			sum = strtoull(line + sizeof mark - 1, NULL, 10);
			break;
		}
	}
	if (file != NULL)
		fclose(file);
	remove(path);
	return sum;
}

static int run_under_callgrind(const char *folder, char **arguments)
{
	char file[256];
	pid_t child = fork();
	if (child == 0) {
		char *command[16] = { (char *)"valgrind",
			              (char *)"--tool=callgrind",
			              (char *)"-q",
			              (char *)"--toggle-collect=bench_instructions_counted",
			              (char *)"--dump-after=bench_instructions_counted",
			              file };
		snprintf(file, sizeof file, "--callgrind-out-file=%s/out", folder);
		for (unsigned i = 0; i < 8 && arguments[i] != NULL; i++)
			command[6 + i] = arguments[i];
		setenv(INSIDE, "yes", 1);
		execvp(command[0], command);
		report_error("valgrind: %s; on Debian: apt-get install valgrind", strerror(errno));
		_exit(EXIT_UNSUPPORTED);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child)
		return report_system("valgrind", errno);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOTHING;
}

static void print_count(double count)
{
	if (count > 0)
		printf(" %4.0f |", count);
	else
		printf("    - |");
}

/* Files are numbered in the order in which count_row counts. */
static bool print_rows(const struct bench_rows *rows, const char *folder)
{
	unsigned file = 0;
	bool complete = true;
	printf("\n| instructions per key     | yes  |  no  | yes\" | no\"  | rem  | ins  | yes* | no*  | rem* | ins* |\n"
	       "|--------------------------|------|------|------|------|------|------|------|------|------|------|\n");
	for (size_t i = 0; i < rows->n; i++) {
		double counts[COLUMNS] = { 0 };
		for (unsigned pass = 0; pass < 2; pass++) {
			for (enum column column = 0; column < COLUMNS; column++) {
				if (inserts(column) != (pass == 0) || !can_do(rows->row[i], column))
					continue;
				counts[column] = (double)read_file(folder, ++file) / COUNTED;
				complete &= counts[column] > 0;
			}
		}
		printf("| %-24s |", rows->row[i]->spec.name);
		for (enum column column = 0; column < COLUMNS; column++)
			print_count(counts[column]);
		printf("\n");
	}
	return complete;
}

static int run_outside(const struct bench_rows *rows, char **arguments)
{
	char folder[] = "/tmp/nidus_instructions_XXXXXX", rest[64];
	if (mkdtemp(folder) == NULL)
		return report_system(folder, errno);
	int code = run_under_callgrind(folder, arguments);
	if (code == EXIT_OK) {
		printf("%s; yes, no: lookups of present and absent keys; \"\": prepared; *: in batches\n",
		       machine_compiler());
		if (!print_rows(rows, folder)) {
			report_error("callgrind left fewer counts than there are columns");
			code = EXIT_NOTHING;
		}
	}
	snprintf(rest, sizeof rest, "%s/out", folder); /* of the run as a whole */
	remove(rest);
	if (rmdir(folder) != 0)
		report_warning("%s was not removed: %s", folder, strerror(errno));
	return code;
}

static bool read_arguments(int argc, char **argv, uint64_t *keys, uint64_t *times,
                           const char **names)
{
	for (int option; (option = getopt(argc, argv, "n:g:f:")) != -1;) {
		char *end = NULL;
		if (option == 'f')
			*names = optarg;
		else if (option == 'n')
			*keys = (uint64_t)strtod(optarg, &end);
		else if (option == 'g')
			*times = (uint64_t)strtod(optarg, &end);
		if (option == '?' || (end != NULL && *end != '\0'))
			return false;
	}
	return optind == argc && *times >= 1 && *times <= 1024 && *keys >= 16 * COUNTED &&
	       *keys <= 100000000;
}

int main(int argc, char **argv)
{
	uint64_t keys = DEFAULT_KEYS, times = 1;
	const char *names = NULL;
	if (!read_arguments(argc, argv, &keys, &times, &names)) {
		report_error("bench_instructions [-n KEYS (131072 to 1e8)] [-g TIMES (1 to 1024)] "
		             "[-f ROW[,ROW...]]");
		return EXIT_USAGE;
	}
	struct bench_rows rows = { 0 };
	int code = rows_select(&rows, names, keys);
	size_t kept = 0;
	for (size_t i = 0; i < rows.n; i++) {
		if (let_grow(rows.row[i], times))
			rows.row[kept++] = rows.row[i];
		else
			free(rows.row[i]);
	}
	rows.n = kept;
	if (code == EXIT_OK)
		code = getenv(INSIDE) != NULL ? count_rows(&rows) : run_outside(&rows, argv);
	rows_free(&rows);
	return code;
}
