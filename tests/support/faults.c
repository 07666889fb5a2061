/* SPDX-License-Identifier: MIT
 *
 * faults: wrappers around the real calls.
 */
#include "support/faults.h"

#include <errno.h>

#include "support/check.h"

/* -------------------------------------------------------------------- memory -- */

static bool refused(struct ledger *ledger)
{
	return ++ledger->requests == ledger->fail_at;
}

static void *ledger_alloc(void *context, size_t size)
{
	struct ledger *ledger = context;
	if (refused(ledger))
		return NULL;
	/* The size in front, so that free can compare; 16 bytes keep malloc's alignment. */
	unsigned char *memory = malloc(size + 16);
	if (memory == NULL)
		return NULL;
	memcpy(memory, &size, sizeof size);
	memset(memory + 16, 0xa5, size);
	ledger->blocks++;
	ledger->bytes += size;
	if (ledger->bytes > ledger->most)
		ledger->most = ledger->bytes;
	return memory + 16;
}

static void ledger_free(void *context, void *memory, size_t size)
{
	struct ledger *ledger = context;
	size_t given;
	expect(memory != NULL);
	memcpy(&given, (unsigned char *)memory - 16, sizeof given);
	expect_equal(given, size);
	ledger->blocks--;
	ledger->bytes -= size;
	free((unsigned char *)memory - 16);
}

nidus_allocator ledger_allocator(struct ledger *ledger)
{
	return (nidus_allocator){ .alloc = ledger_alloc, .free = ledger_free, .context = ledger };
}

static struct os_calls real_calls;
static bool replaced;
static struct ledger *watching;

static void remember(void)
{
	if (!replaced)
		real_calls = os;
	replaced = true;
}

static void *watched_allocate(size_t size)
{
	void *memory = refused(watching) ? NULL : real_calls.allocate(size);
	watching->blocks += memory != NULL;
	return memory;
}

static void watched_release(void *memory)
{
	watching->blocks -= memory != NULL;
	real_calls.release(memory);
}

static void *watched_map(size_t size)
{
	void *memory = refused(watching) ? NULL : real_calls.map_zeroed(size);
	watching->blocks += memory != NULL;
	return memory;
}

static void *watched_map_file(int file, size_t size)
{
	void *memory = NULL;
	errno = ENOMEM;
	if (!refused(watching))
		memory = real_calls.map_file(file, size);
	watching->blocks += memory != NULL;
	return memory;
}

static void watched_unmap(void *memory, size_t size)
{
	watching->blocks--;
	real_calls.unmap(memory, size);
}

void ledger_watch_system(struct ledger *ledger)
{
	remember();
	watching = ledger;
	os.allocate = watched_allocate;
	os.release = watched_release;
	os.map_zeroed = watched_map;
	os.map_file = watched_map_file;
	os.unmap = watched_unmap;
}

/* --------------------------------------------------------------------- files -- */

static struct {
	uint64_t calls, fail_at;
	int error;
	const char *name;
	bool renamed;
	size_t most;
} plan;

static bool fails(const char *name)
{
	if (++plan.calls != plan.fail_at)
		return false;
	plan.name = name;
	errno = plan.error;
	return true;
}

static int faulty_random(void *bytes, size_t size)
{
	return fails("random") ? -1 : real_calls.random(bytes, size);
}

static int faulty_open_read(const char *path)
{
	return fails("open_read") ? -1 : real_calls.open_read(path);
}

static int faulty_open_new(const char *path, mode_t mode)
{
	return fails("open_new") ? -1 : real_calls.open_new(path, mode);
}

static int faulty_open_unnamed(const char *folder, mode_t mode)
{
	return fails("open_unnamed") ? -1 : real_calls.open_unnamed(folder, mode);
}

static int faulty_give_name(int file, const char *path)
{
	return fails("give_name") ? -1 : real_calls.give_name(file, path);
}

static ssize_t faulty_read_at(int file, void *bytes, size_t size, off_t at)
{
	return fails("read_at")
	               ? -1
	               : real_calls.read_at(file, bytes, size < plan.most ? size : plan.most, at);
}

static ssize_t faulty_write_at(int file, const void *bytes, size_t size, off_t at)
{
	return fails("write_at")
	               ? -1
	               : real_calls.write_at(file, bytes, size < plan.most ? size : plan.most, at);
}

static int faulty_write_back(int file, off_t from, off_t size)
{
	return fails("write_back") ? -1 : real_calls.write_back(file, from, size);
}

static int faulty_forget(int file, off_t from, off_t size)
{
	return fails("forget") ? -1 : real_calls.forget(file, from, size);
}

static int faulty_truncate(int file, off_t size)
{
	return fails("truncate") ? -1 : real_calls.truncate(file, size);
}

static int faulty_open_write(const char *path)
{
	return fails("open_write") ? -1 : real_calls.open_write(path);
}

static int faulty_open_folder(const char *path)
{
	return fails("open_folder") ? -1 : real_calls.open_folder(path);
}

static ssize_t faulty_read(int file, void *bytes, size_t size)
{
	return fails("read") ? -1
	                     : real_calls.read(file, bytes, size < plan.most ? size : plan.most);
}

static ssize_t faulty_write(int file, const void *bytes, size_t size)
{
	return fails("write") ? -1
	                      : real_calls.write(file, bytes, size < plan.most ? size : plan.most);
}

static void *faulty_map_file(int file, size_t size)
{
	return fails("map_file") ? NULL : real_calls.map_file(file, size);
}

static int faulty_change_mode(int file, mode_t mode)
{
	return fails("change_mode") ? -1 : real_calls.change_mode(file, mode);
}

static int faulty_sync(int file)
{
	return fails("sync") ? -1 : real_calls.sync(file);
}

static int faulty_close(int file)
{
	/* A close that fails has closed the file all the same. */
	bool bad = fails("close");
	int error = errno;
	int closed = real_calls.close(file);
	if (bad)
		errno = error;
	return bad ? -1 : closed;
}

static int faulty_rename(const char *from, const char *to)
{
	if (fails("rename"))
		return -1;
	int answer = real_calls.rename(from, to);
	plan.renamed = answer == 0;
	return answer;
}

static int faulty_file_status(int file, struct stat *status)
{
	return fails("file_status") ? -1 : real_calls.file_status(file, status);
}

static int faulty_path_status(const char *path, struct stat *status)
{
	return fails("path_status") ? -1 : real_calls.path_status(path, status);
}

static ssize_t faulty_read_link(const char *path, char *target, size_t size)
{
	return fails("read_link") ? -1 : real_calls.read_link(path, target, size);
}

/* free may change errno on many systems: what a call reports must survive it. */
static void spoiling_release(void *memory)
{
	real_calls.release(memory);
	errno = ECHILD;
}

void faults_in_files(uint64_t fail_at, int error)
{
	remember();
	plan.calls = 0;
	plan.fail_at = fail_at;
	plan.error = error;
	plan.name = NULL;
	plan.renamed = false;
	plan.most = SIZE_MAX;
	os.random = faulty_random;
	os.open_read = faulty_open_read;
	os.open_new = faulty_open_new;
	os.open_unnamed = faulty_open_unnamed;
	os.give_name = faulty_give_name;
	os.read_at = faulty_read_at;
	os.write_at = faulty_write_at;
	os.write_back = faulty_write_back;
	os.forget = faulty_forget;
	os.truncate = faulty_truncate;
	os.open_write = faulty_open_write;
	os.open_folder = faulty_open_folder;
	os.read = faulty_read;
	os.map_file = faulty_map_file;
	os.write = faulty_write;
	os.change_mode = faulty_change_mode;
	os.sync = faulty_sync;
	os.close = faulty_close;
	os.rename = faulty_rename;
	os.file_status = faulty_file_status;
	os.path_status = faulty_path_status;
	os.read_link = faulty_read_link;
	os.release = spoiling_release;
}

bool faults_happened(void)
{
	return plan.name != NULL;
}

const char *faults_name(void)
{
	return plan.name != NULL ? plan.name : "none";
}

bool faults_after_rename(void)
{
	return plan.renamed;
}

void faults_short_transfers(size_t most)
{
	faults_in_files(0, 0);
	plan.most = most;
}

void faults_restore(void)
{
	if (replaced)
		os = real_calls;
	replaced = false;
}

static int no_unnamed(const char *folder, mode_t mode)
{
	(void)folder, (void)mode;
	errno = ENOTSUP;
	return -1;
}

void faults_only_named_files(void)
{
	remember();
	os.open_unnamed = no_unnamed;
}
