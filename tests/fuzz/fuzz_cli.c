/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the nidus command with any arguments and any input.
 *
 *     lines: the arguments, one on each; an empty line ends them
 *     the rest: standard input
 *
 * Every run starts in a folder with the sets one.nidus and two.nidus, the file `keys`,
 * and nothing else: what the run before changed is put right. Arguments lose their slashes, so
 * that nothing outside is reached. The answer must be one of the documented exit
 * codes; only names that end in .nidus or stood in the arguments may be there
 * afterwards.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "feed.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"

#define BLOCK_MOST ((size_t)1 << 18)
#define ARGUMENTS 12
#define ARGUMENT_MOST 200
#define CODE_MOST 7 /* the highest exit code of the manual */

/* cli/main.c, compiled with another name for its main. */
int nidus_main(int argc, char **argv);

static int no_sync(int file)
{
	(void)file;
	return 0;
}

/* --------------------------------------------------------------------- arguments -- */

struct line {
	int argc;
	char *argv[ARGUMENTS + 2]; /* the command may move and drop them */
	char text[ARGUMENTS][ARGUMENT_MOST + 1];
};

/* One line of the feed without slashes and NULs; false if it is empty. */
static bool read_argument(struct feed *feed, char *text)
{
	size_t length = 0;
	unsigned byte;
	while (feed->left > 0 && (byte = feed_byte(feed)) != '\n') {
		if (byte != '/' && byte != '\0' && length < ARGUMENT_MOST)
			text[length++] = (char)byte;
	}
	text[length] = '\0';
	return length > 0;
}

static void read_line(struct feed *feed, struct line *line)
{
	static char name[] = "nidus";
	line->argv[0] = name;
	line->argc = 1;
	while (line->argc <= ARGUMENTS && read_argument(feed, line->text[line->argc - 1])) {
		line->argv[line->argc] = line->text[line->argc - 1];
		line->argc++;
	}
	line->argv[line->argc] = NULL;
}

static bool was_argument(const struct line *line, const char *name)
{
	for (int i = 0; i < line->argc - 1; i++) {
		if (strstr(line->text[i], name) != NULL)
			return true;
	}
	return false;
}

/* -------------------------------------------------------------------- the folder -- */

/* A file that is there at the start of every run. */
struct fixture {
	const char *name;
	struct bytes bytes;
	struct stat as_written;
};

static struct fixture fixtures[] = { { .name = "one.nidus" },
	                             { .name = "two.nidus" },
	                             { .name = "keys" } };

#define FIXTURES (sizeof fixtures / sizeof *fixtures)

static struct bytes set_of_50(uint64_t from)
{
	nidus_options options = filter_options(100, 0.01, 1);
	nidus_filter *filter = filter_create(&options);
	for (uint64_t i = from; i < from + 50; i++) {
		char key[24];
		int length = snprintf(key, sizeof key, "%llu", (unsigned long long)i);
		expect_ok(nidus_insert(filter, key, (size_t)length));
	}
	struct bytes bytes = bytes_save(filter);
	nidus_free(filter);
	return bytes;
}

static bool is_fixture(const char *name)
{
	for (size_t i = 0; i < FIXTURES; i++) {
		if (strcmp(name, fixtures[i].name) == 0)
			return true;
	}
	return false;
}

static bool untouched(const struct fixture *fixture)
{
	const struct stat *then = &fixture->as_written;
	struct stat now;
	return lstat(fixture->name, &now) == 0 && now.st_ino == then->st_ino &&
	       now.st_size == then->st_size && now.st_mode == then->st_mode &&
	       now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

static void put_right(struct fixture *fixture)
{
	if (untouched(fixture))
		return;
	folder_write(fixture->name, fixture->bytes.data, fixture->bytes.size);
	expect(lstat(fixture->name, &fixture->as_written) == 0);
}

/* Where this program was started: its own files may be named from there. */
static int start = -1, input = -1;

static void take_folder_away(void)
{
	(void)folder_teardown(NULL);
}

static void make_folder(void)
{
	static char keys[] = "1\n2\n77\n";
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0); /* files that never see a disk */
	start = open(".", O_RDONLY | O_DIRECTORY);
	expect(start >= 0 && folder_setup(NULL) == 0);
	fixtures[0].bytes = set_of_50(0);
	fixtures[1].bytes = set_of_50(40);
	fixtures[2].bytes = (struct bytes){ (unsigned char *)keys, sizeof keys - 1 };
	input = open(folder_path("input"), O_RDWR | O_CREAT | O_EXCL, 0600);
	expect(input >= 0 && unlink(folder_path("input")) == 0);
	expect(atexit(take_folder_away) == 0);
}

static void enter_folder(void)
{
	if (start < 0)
		make_folder();
	expect(chdir(folder_path(".")) == 0);
	for (size_t i = 0; i < FIXTURES; i++)
		put_right(&fixtures[i]);
}

/* No temporary file is left, and nobody wrote what was not asked for. Takes away the rest. */
static void check_folder(const struct line *line)
{
	DIR *dir = opendir(".");
	expect(dir != NULL);
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		const char *name = entry->d_name;
		check_note("the file %s", name);
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_fixture(name))
			continue;
		expect(was_argument(line, name));
		expect(unlink(name) == 0 || rmdir(name) == 0);
	}
	closedir(dir);
}

static void leave_folder(void)
{
	expect(fchdir(start) == 0);
}

/* ------------------------------------------------------------------------ the run -- */

/* Standard input becomes a file with the rest of the feed, always the same one. */
static void give_input(const struct feed *feed)
{
	expect(ftruncate(input, 0) == 0 && lseek(input, 0, SEEK_SET) == 0);
	expect(pwrite(input, feed->next, feed->left, 0) == (ssize_t)feed->left);
	expect(dup2(input, STDIN_FILENO) == STDIN_FILENO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, size };
	struct line line;
	os.sync = no_sync;
	feed_tame_system(BLOCK_MOST);
	read_line(&feed, &line);
	/* Benchmarks take their time, whatever the arguments. */
	if (line.argc > 1 && strcmp(line.argv[1], "bench") == 0)
		return 0;
	enter_folder();
	give_input(&feed);
	int code = nidus_main(line.argc, line.argv);
	expect(code >= 0 && code <= CODE_MOST);
	check_folder(&line);
	leave_folder();
	return 0;
}
