/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the nidus command with any arguments and any input.
 *
 *     lines: the arguments, one on each; an empty line ends them
 *     the rest: standard input
 *
 * Every run starts in a folder of its own, made anew, with the sets one.nidus and
 * two.nidus, the file `keys`, and nothing else. Arguments lose their slashes, so
 * that nothing outside is reached. The answer must be one of the documented exit
 * codes; only names that end in .nidus or stood in the arguments may be there
 * afterwards.
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/os.h"
#include "feed.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"

#define BLOCK_MOST ((size_t)1 << 18)
#define ARGUMENTS 12
#define ARGUMENT_MOST 200
#define CODE_MOST 6 /* the highest exit code of the manual */

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
	char *argv[ARGUMENTS + 2];
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
	for (int i = 1; i < line->argc; i++) {
		if (strstr(line->argv[i], name) != NULL)
			return true;
	}
	return false;
}

/* -------------------------------------------------------------------- the folder -- */

static void save_set(const char *name, uint64_t from)
{
	nidus_options options = filter_options(100, 0.01, 1);
	nidus_filter *filter = filter_create(&options);
	for (uint64_t i = from; i < from + 50; i++) {
		char key[24];
		int length = snprintf(key, sizeof key, "%llu", (unsigned long long)i);
		expect_ok(nidus_insert(filter, key, (size_t)length));
	}
	expect_ok(nidus_save(filter, folder_path(name)));
	nidus_free(filter);
}

/* Where this program was started: its own files may be named from there. */
static int start = -1;

static void make_folder(void)
{
	if (start < 0)
		start = open(".", O_RDONLY | O_DIRECTORY);
	expect(start >= 0 && folder_setup(NULL) == 0);
	expect(chdir(folder_path(".")) == 0);
	save_set("one.nidus", 0);
	save_set("two.nidus", 40);
	folder_write("keys", "1\n2\n77\n", 7);
}

/* No temporary file is left, and nobody wrote what was not asked for. */
static void check_folder(const struct line *line)
{
	DIR *dir = opendir(".");
	expect(dir != NULL);
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		const char *name = entry->d_name;
		check_note("the file %s", name);
		expect(strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		       strcmp(name, "one.nidus") == 0 || strcmp(name, "two.nidus") == 0 ||
		       strcmp(name, "keys") == 0 || was_argument(line, name));
	}
	closedir(dir);
}

static void leave_folder(void)
{
	expect(fchdir(start) == 0);
	(void)folder_teardown(NULL);
}

/* ------------------------------------------------------------------------ the run -- */

/* Standard input becomes a file with the rest of the feed. */
static void give_input(const struct feed *feed)
{
	folder_write("input", feed->next, feed->left);
	int file = open(folder_path("input"), O_RDONLY);
	expect(file >= 0 && dup2(file, STDIN_FILENO) == STDIN_FILENO);
	close(file);
	expect(unlink(folder_path("input")) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, size };
	struct line line;
	os.sync = no_sync;
	feed_limit_memory(BLOCK_MOST);
	read_line(&feed, &line);
	/* Benchmarks take their time, whatever the arguments. */
	if (line.argc > 1 && strcmp(line.argv[1], "bench") == 0)
		return 0;
	make_folder();
	give_input(&feed);
	int code = nidus_main(line.argc, line.argv);
	expect(code >= 0 && code <= CODE_MOST);
	check_folder(&line);
	leave_folder();
	return 0;
}
