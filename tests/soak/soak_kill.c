/* SPDX-License-Identifier: MIT
 *
 * soak_kill: processes that are killed while they write a filter.
 *
 *     soak_kill [KILLS [NIDUS]]     1000, and the command beside this program
 *
 * In turn `nidus build`, `nidus add` and a loop of nidus_save are killed (SIGKILL)
 * at a random moment; one that was done before is not counted. Afterwards the file must be the whole old one or the whole
 * new one, byte for byte, and nothing may lie in the folder but it and the
 * temporary files whose names SECURITY.md tells. Exit 1 if anything failed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nidus.h"
#include "support/chance.h"

#define KEYS 100000
#define PATH_ROOM 512
#define TEMPORARY "set.nidus.tmp-"

static const char *command;
static char folder[PATH_ROOM];

struct bytes {
	char *data;
	size_t size;
};

static void give_up(const char *what)
{
	fprintf(stderr, "soak_kill: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *path_of(const char *name)
{
	static char paths[4][2 * PATH_ROOM];
	static unsigned turn;
	char *path = paths[turn++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static struct bytes read_all(const char *name)
{
	FILE *file = fopen(path_of(name), "rb");
	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		give_up(name);
	struct bytes bytes = { NULL, (size_t)ftell(file) };
	bytes.data = malloc(bytes.size + 1);
	rewind(file);
	if (bytes.data == NULL || fread(bytes.data, 1, bytes.size, file) != bytes.size)
		give_up(name);
	fclose(file);
	return bytes;
}

static void write_all(const char *name, struct bytes bytes)
{
	FILE *file = fopen(path_of(name), "wb");
	if (file == NULL || fwrite(bytes.data, 1, bytes.size, file) != bytes.size ||
	    fclose(file) != 0)
		give_up(name);
}

static void write_keys(const char *name, unsigned from)
{
	FILE *file = fopen(path_of(name), "w");
	if (file == NULL)
		give_up(name);
	for (unsigned key = from; key < from + KEYS / 2; key++)
		fprintf(file, "%u\n", key);
	if (fclose(file) != 0)
		give_up(name);
}

static bool same(struct bytes a, struct bytes b)
{
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* ------------------------------------------------------------------- the victims -- */

static void run_build(void)
{
	execl(command, "nidus", "build", "-q", "--seed", "7", "-n", "100000", "-o",
	      path_of("set.nidus"), path_of("more"), (char *)NULL);
	_exit(127);
}

static void run_add(void)
{
	execl(command, "nidus", "add", "-q", path_of("set.nidus"), path_of("more"), (char *)NULL);
	_exit(127);
}

/* Saves the old and the new one in turn until somebody ends it. */
static void run_saves(void)
{
	nidus_filter *filter[2];
	if (nidus_load(path_of("old"), &filter[0]) != NIDUS_OK ||
	    nidus_load(path_of("added"), &filter[1]) != NIDUS_OK)
		_exit(1);
	for (unsigned i = 1;; i ^= 1) {
		if (nidus_save(filter[i], path_of("set.nidus")) != NIDUS_OK)
			_exit(1);
	}
}

static pid_t start(void (*run)(void))
{
	fflush(stdout);
	pid_t child = fork();
	if (child < 0)
		give_up("fork");
	if (child == 0)
		run();
	return child;
}

/* Runs a victim to its end. Answers how long that took, in microseconds. */
static uint64_t run_whole(void (*run)(void))
{
	struct timespec from, to;
	int status;
	clock_gettime(CLOCK_MONOTONIC, &from);
	pid_t child = start(run);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "soak_kill: %s does not work\n", command);
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (uint64_t)((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000);
}

struct victim {
	const char *name;
	void (*run)(void);
	struct bytes after; /* the file when it is done */
	uint64_t time;      /* microseconds that it takes */
	unsigned kills, old, temporaries;
};

/* --------------------------------------------------------------------- the rounds -- */

/* Removes what a killed save left. Counts it, and -1 stands for anything else. */
static int clean(void)
{
	static const char *const ours[] = { ".", "..", "set.nidus", "old", "added", "more" };
	DIR *entries = opendir(folder);
	struct dirent *entry;
	int found = 0;
	if (entries == NULL)
		give_up(folder);
	while ((entry = readdir(entries)) != NULL) {
		bool known = false;
		for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
			known = known || strcmp(entry->d_name, ours[i]) == 0;
		if (known)
			continue;
		if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0 ||
		    strspn(entry->d_name + strlen(TEMPORARY), "0123456789abcdef") != 16) {
			printf("there is a file %s\n", entry->d_name);
			found = -1;
			break;
		}
		unlink(path_of(entry->d_name));
		found++;
	}
	closedir(entries);
	return found;
}

static bool one_kill(struct victim *victim, struct bytes old, struct chance *chance)
{
	int status;
	write_all("set.nidus", old);
	pid_t child = start(victim->run);
	uint64_t wait = chance_below(chance, victim->time + victim->time / 8 + 1);
	struct timespec pause = { (time_t)(wait / 1000000), (long)(wait % 1000000) * 1000 };
	nanosleep(&pause, NULL);
	kill(child, SIGKILL);
	if (waitpid(child, &status, 0) != child ||
	    (WIFEXITED(status) && WEXITSTATUS(status) != 0)) {
		printf("%s failed by itself\n", victim->name);
		return false;
	}
	victim->kills += WIFSIGNALED(status);
	struct bytes now = read_all("set.nidus");
	bool is_old = same(now, old), whole = is_old || same(now, victim->after);
	victim->old += is_old;
	free(now.data);
	int left = clean();
	victim->temporaries += left > 0;
	if (!whole)
		printf("%s, killed after %llu us: the file is neither the old nor the new one\n",
		       victim->name, (unsigned long long)wait);
	return whole && left >= 0;
}

/* Makes so many kills, in turn. False if one did harm. */
static bool kill_in_turn(struct victim victims[3], unsigned kills, struct bytes old)
{
	struct chance chance = { chance_seed() };
	for (unsigned i = 0; victims[0].kills + victims[1].kills + victims[2].kills < kills; i++) {
		if (!one_kill(&victims[i % 3], old, &chance))
			return false;
	}
	return true;
}

static void find_command(const char *self)
{
	static char beside[PATH_ROOM];
	const char *slash = strrchr(self, '/');
	int length = slash == NULL ? 1 : (int)(slash - self);
	snprintf(beside, sizeof beside, "%.*s/nidus", length, slash == NULL ? "." : self);
	command = beside;
}

/* Two sets and what the victims make of the first one. */
static void prepare(struct victim victims[3], struct bytes *old)
{
	static const char from[] = "/tmp/nidus-kill-XXXXXX";
	memcpy(folder, from, sizeof from);
	if (mkdtemp(folder) == NULL)
		give_up(folder);
	write_keys("more", 0);
	victims[0].time = run_whole(run_build);
	*old = victims[0].after = read_all("set.nidus");
	write_all("old", *old);
	write_keys("more", KEYS / 2);
	victims[0].time = run_whole(run_build);
	victims[0].after = read_all("set.nidus");
	write_all("set.nidus", *old);
	victims[1].time = run_whole(run_add);
	victims[1].after = victims[2].after = read_all("set.nidus");
	write_all("added", victims[2].after);
	victims[2].time = 2 * victims[1].time;
	if (same(*old, victims[0].after) || same(*old, victims[1].after)) {
		fprintf(stderr, "soak_kill: the old and the new set do not differ\n");
		exit(1);
	}
}

static void tidy(void)
{
	static const char *const names[] = { "set.nidus", "old", "added", "more" };
	(void)clean();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(path_of(names[i]));
	rmdir(folder);
}

int main(int argc, char **argv)
{
	struct victim victims[] = {
		{ .name = "nidus build", .run = run_build },
		{ .name = "nidus add", .run = run_add },
		{ .name = "nidus_save", .run = run_saves },
	};
	unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
	struct bytes old;
	find_command(argv[0]);
	if (argc > 2)
		command = argv[2];
	prepare(victims, &old);
	bool fine = kill_in_turn(victims, kills, old);
	for (unsigned i = 0; i < 3; i++)
		printf("%-11s  %4u killed; %4u times the old file was there; %u temporary files\n",
		       victims[i].name, victims[i].kills, victims[i].old, victims[i].temporaries);
	tidy();
	free(old.data);
	free(victims[0].after.data);
	free(victims[1].after.data); /* and the third's */
	return fine ? 0 : 1;
}
