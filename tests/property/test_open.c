/* SPDX-License-Identifier: MIT
 *
 * Filters that are mapped from files: they answer like loaded ones, take no
 * changes, and stay inside their file whatever its bits are.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/directory_files.h"
#include "api/filter.h"
#include "api/options.h"
#include "base/bits.h"
#include "store/image.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/folder.h"
#include "support/yards.h"

/* Some keys, and as many copies of a few as there is room for: a stash where there can be one. */
static void crowd(nidus_filter *filter, uint64_t keys)
{
	for (uint64_t key = 0; key < 2; key++) {
		for (unsigned i = 0; i < 100 && nidus_insert_u64(filter, key) == NIDUS_OK; i++)
			continue;
	}
	for (uint64_t key = 2; key < keys; key++)
		(void)nidus_insert_u64(filter, key);
}

static nidus_filter *crowded(const struct shape *shape, uint64_t capacity, uint64_t seed)
{
	nidus_filter *filter = shape_create(shape, capacity, seed);
	crowd(filter, capacity * 3 / 4);
	return filter;
}

static nidus_filter *open_file(const char *name, unsigned flags)
{
	nidus_filter *filter;
	expect_ok(nidus_open(folder_path(name), flags, &filter));
	return filter;
}

/* ---------------------------------------------------------------- the same answers -- */

static void expect_same_walk(const nidus_filter *a, const nidus_filter *b)
{
	nidus_cursor at = { 0 }, bt = { 0 };
	nidus_entry ae, be;
	while (nidus_next(a, &at, &ae)) {
		expect(nidus_next(b, &bt, &be));
		expect_equal(ae.home, be.home);
		expect_equal(ae.fingerprint, be.fingerprint);
	}
	expect(!nidus_next(b, &bt, &be));
}

static void expect_same_answers(const nidus_filter *a, const nidus_filter *b)
{
	uint64_t hashes[500];
	uint8_t yes[500];
	for (uint64_t key = 0; key < 500; key++) {
		hashes[key] = nidus_hash_u64(a, key);
		expect_equal(nidus_contains_u64(a, key), nidus_contains_u64(b, key));
		expect_equal(nidus_count_key_u64(a, key), nidus_count_key_u64(b, key));
	}
	nidus_contains_batch(b, hashes, 500, yes);
	for (uint64_t key = 0; key < 500; key++)
		expect_equal(yes[key], nidus_contains_u64(a, key));
	expect_same_walk(a, b);
}

static void compare_opened(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	static const uint64_t capacities[] = { 1, 60, 3000 };
	for (unsigned i = 0; i < 3; i++) {
		nidus_filter *filter = crowded(shape, capacities[i], chance_next(chance) | 1);
		nidus_filter *copy;
		expect_ok(nidus_save(filter, folder_path("filter")));
		for (unsigned flags = 0; flags <= NIDUS_OPEN_VERIFY; flags++) {
			nidus_filter *opened = open_file("filter", flags);
			nidus_info was = info_of(filter), is = info_of(opened);
			expect_same_answers(filter, opened);
			expect_equal(is.count, was.count);
			expect_equal(is.stashed, was.stashed);
			if (is.features & NIDUS_ENUMERATE) /* others would have to count bits */
				expect(is.load == was.load && is.fpr_now == was.fpr_now);
			expect(is.readonly && !was.readonly);
			expect_ok(nidus_verify(opened, NULL));
			expect(filters_equal(filter, opened));
			expect_ok(nidus_clone(opened, &copy));
			nidus_free(opened);
			expect(filters_equal(filter, copy) && !info_of(copy).readonly);
			expect(nidus_contains_u64(copy, 0));
			expect_status(nidus_insert_new_u64(copy, 0), NIDUS_PRESENT);
			nidus_free(copy);
		}
		nidus_free(filter);
	}
}

static void an_opened_filter_answers_like_the_saved_one(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 4, compare_opened, &chance);
	each_layout(9, 9, compare_opened, &chance);
	each_layout(20, 20, compare_opened, &chance);
}

static void refuse_changes(const struct shape *shape, void *context)
{
	(void)context;
	nidus_filter *filter = crowded(shape, 100, 5);
	expect_ok(nidus_save(filter, folder_path("filter")));
	nidus_free(filter);
	filter = open_file("filter", 0);
	struct bytes before = folder_read("filter");
	uint64_t hash = nidus_hash_u64(filter, 1);
	nidus_entry entry = { 0 };
	size_t done = 7;
	expect_status(nidus_insert_u64(filter, 1), NIDUS_E_READONLY);
	expect_status(nidus_insert(filter, "x", 1), NIDUS_E_READONLY);
	expect_status(nidus_insert_new_u64(filter, 1), NIDUS_E_READONLY);
	expect_status(nidus_remove_u64(filter, 1), NIDUS_E_READONLY);
	expect_status(nidus_insert_batch(filter, &hash, 1, &done), NIDUS_E_READONLY);
	expect_equal(done, 0);
	expect_status(nidus_remove_batch(filter, &hash, 1, &done), NIDUS_E_READONLY);
	expect_status(nidus_insert_entry(filter, &entry), NIDUS_E_READONLY);
	expect_status(nidus_grow(filter, 1000), NIDUS_E_READONLY);
	expect_status(nidus_grow_relaxed(filter, 1000), NIDUS_E_READONLY);
	expect_status(nidus_shrink(filter, 10), NIDUS_E_READONLY);
	expect_status(nidus_clear(filter), NIDUS_E_READONLY);
	nidus_free(filter);
	struct bytes after = folder_read("filter");
	expect(after.size == before.size && memcmp(after.data, before.data, after.size) == 0);
	bytes_free(&before);
	bytes_free(&after);
}

static void changes_answer_readonly(void **state)
{
	(void)state;
	each_layout(8, 8, refuse_changes, NULL);
}

/* How many pieces of memory an open takes. */
static uint64_t pieces_of_an_open(void)
{
	struct ledger system = { 0 };
	ledger_watch_system(&system);
	nidus_filter *opened = open_file("filter", 0);
	uint64_t pieces = system.requests;
	nidus_free(opened);
	faults_restore();
	return pieces;
}

/* Threads that only read need no locks, and a read-only file has none. */
static void open_shared(const struct shape *shape, void *context)
{
	(void)context;
	if (!(shape->family->features & NIDUS_CONCURRENT))
		return;
	nidus_filter *filter = crowded(shape, 500, 6), *opened, *copy;
	expect_ok(nidus_save(filter, folder_path("filter")));
	uint64_t pieces = pieces_of_an_open();
	nidus_free(filter);
	nidus_options options = shape_options(shape, 500, 6);
	options.features |= NIDUS_CONCURRENT;
	filter = filter_create(&options);
	crowd(filter, 375);
	expect_ok(nidus_save(filter, folder_path("filter")));
	expect_equal(pieces_of_an_open(), pieces);
	opened = open_file("filter", 0);
	expect(opened->gate == NULL);
	expect_same_answers(filter, opened);
	expect_ok(nidus_clone(opened, &copy));
	expect(copy->gate != NULL && filters_equal(filter, copy));
	nidus_free(copy);
	nidus_free(opened);
	nidus_free(filter);
}

static void an_opened_filter_has_no_locks(void **state)
{
	(void)state;
	each_layout(8, 8, open_shared, NULL);
}

static void merge_opened(const struct shape *shape, void *context)
{
	(void)context;
	if (!(shape->family->features & NIDUS_MERGE))
		return;
	nidus_filter *a = shape_create(shape, 400, 9), *b = shape_create(shape, 400, 9), *merged;
	for (uint64_t key = 0; key < 300; key++) {
		expect_ok(nidus_insert_u64(a, key));
		expect_ok(nidus_insert_u64(b, 1000 + key));
	}
	expect_ok(nidus_save(a, folder_path("a")));
	expect_ok(nidus_save(b, folder_path("b")));
	nidus_free(a);
	nidus_free(b);
	a = open_file("a", 0);
	b = open_file("b", NIDUS_OPEN_VERIFY);
	expect_ok(nidus_merge(a, b, &merged));
	nidus_free(a);
	nidus_free(b);
	for (uint64_t key = 0; key < 300; key++)
		expect(nidus_contains_u64(merged, key) && nidus_contains_u64(merged, 1000 + key));
	expect_ok(nidus_insert_u64(merged, 5000));
	nidus_free(merged);
}

static void opened_filters_merge(void **state)
{
	(void)state;
	each_layout(8, 8, merge_opened, NULL);
}

/* -------------------------------------------------------------- what happens to files -- */

static void a_replaced_file_stays_what_it_was_to_those_who_opened_it(void **state)
{
	(void)state;
	nidus_options options = filter_options(20000, 0.01, 3);
	nidus_filter *old = filter_create(&options), *new, *opened;
	for (uint64_t key = 0; key < 20000; key++)
		expect_ok(nidus_insert_u64(old, key));
	expect_ok(nidus_save(old, folder_path("filter")));
	opened = open_file("filter", 0);
	options.capacity = 10; /* smaller: no page of the old one could be in it */
	new = filter_create(&options);
	expect_ok(nidus_save(new, folder_path("filter")));
	expect_same_answers(old, opened);
	expect_ok(nidus_verify(opened, NULL));
	/* Also when it was saved over itself, and when nothing is left of its name. */
	nidus_filter *second = open_file("filter", NIDUS_OPEN_VERIFY);
	expect_ok(nidus_save(opened, folder_path("filter")));
	expect(unlink(folder_path("filter")) == 0);
	expect(filters_equal(opened, old));
	expect(filters_equal(second, new));
	nidus_free(second);
	nidus_free(opened);
	nidus_free(new);
	nidus_free(old);
}

/* What becomes of a process that has this file open, when it is cut and asked for all keys. */
static int end_after_cut(nidus_filter *opened, uint64_t keys)
{
	pid_t child = fork();
	int status = 0;
	expect(child >= 0);
	if (child == 0) {
		signal(SIGBUS, SIG_DFL);
		if (truncate(folder_path("filter"), 0) != 0)
			_exit(2);
		for (uint64_t key = 0; key < keys; key++) {
			if (!nidus_contains_u64(opened, key))
				_exit(1);
		}
		_exit(0);
	}
	expect(waitpid(child, &status, 0) == child);
	return status;
}

/* As nidus_open and SECURITY.md tell: SIGBUS to who mapped the file, nothing to who loaded it. */
static void a_file_that_is_cut_in_place_ends_who_opened_it(void **state)
{
	(void)state;
	nidus_options options = filter_options(20000, 0.01, 3);
	nidus_filter *filter = filter_create(&options), *loaded;
	for (uint64_t key = 0; key < 20000; key++)
		expect_ok(nidus_insert_u64(filter, key));
	expect_ok(nidus_save(filter, folder_path("filter")));
	expect_ok(nidus_load(folder_path("filter"), &loaded));
	int status = end_after_cut(loaded, 20000);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	expect_ok(nidus_save(filter, folder_path("filter")));
	nidus_filter *opened = open_file("filter", NIDUS_OPEN_VERIFY);
	status = end_after_cut(opened, 20000);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	nidus_free(opened);
	nidus_free(loaded);
	nidus_free(filter);
}

static void what_is_no_filter_is_refused(void **state)
{
	(void)state;
	nidus_filter *filter;
	errno = 0;
	expect_status(nidus_open(folder_path("missing"), 0, &filter), NIDUS_E_IO);
	expect_equal(errno, ENOENT);
	expect(filter == NULL);
	expect(mkdir(folder_path("sub"), 0700) == 0);
	errno = 0;
	expect_status(nidus_open(folder_path("sub"), 0, &filter), NIDUS_E_IO);
	expect_equal(errno, EISDIR);
	folder_write("file", "", 0);
	expect_status(nidus_open(folder_path("file"), 0, &filter), NIDUS_E_TRUNCATED);
	folder_write("file", "\x89nid", 4);
	expect_status(nidus_open(folder_path("file"), 0, &filter), NIDUS_E_TRUNCATED);
	folder_write("file", "something else altogether", 25);
	expect_status(nidus_open(folder_path("file"), 0, &filter), NIDUS_E_FORMAT);
	expect_status(nidus_open("/dev/null", 0, &filter), NIDUS_E_UNSUPPORTED);
	expect(filter == NULL);
}

static void cut_and_flip(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	nidus_filter *filter = crowded(shape, 200, 11), *opened;
	struct bytes bytes = bytes_save(filter);
	for (unsigned i = 0; i < 12; i++) {
		size_t size = i < 2 ? bytes.size - 1 - i : chance_below(chance, bytes.size);
		folder_write("cut", bytes.data, size);
		expect_status(nidus_open(folder_path("cut"), 0, &opened), NIDUS_E_TRUNCATED);
	}
	for (unsigned bit = 0; bit < IMAGE_HEADER * 8;
	     bit += 1 + (unsigned)chance_below(chance, 9)) {
		bytes.data[bit / 8] ^= 1u << bit % 8;
		folder_write("cut", bytes.data, bytes.size);
		bytes.data[bit / 8] ^= 1u << bit % 8;
		check_note("%s, header bit %u", shape->family->name, bit);
		expect(nidus_open(folder_path("cut"), 0, &opened) >= NIDUS_E_FORMAT);
		expect(opened == NULL);
	}
	/* A bit of the table: unseen by a plain open, and by nothing else. */
	uint64_t at = load64(bytes.data + 136), size = load64(bytes.data + 144);
	bytes.data[at + chance_below(chance, size)] ^= 1u << chance_below(chance, 8);
	folder_write("cut", bytes.data, bytes.size);
	expect_status(nidus_open(folder_path("cut"), NIDUS_OPEN_VERIFY, &opened), NIDUS_E_CORRUPT);
	expect(opened == NULL);
	opened = open_file("cut", 0);
	nidus_filter *copy;
	expect_status(nidus_clone(opened, &copy), NIDUS_E_CORRUPT);
	expect(copy == NULL);
	if (shape->family->features & NIDUS_MERGE) {
		expect_status(nidus_merge(filter, opened, &copy), NIDUS_E_CORRUPT);
		expect_status(nidus_merge(opened, filter, &copy), NIDUS_E_CORRUPT);
	}
	folder_write("old", "old", 3);
	expect_status(nidus_save(opened, folder_path("old")), NIDUS_E_CORRUPT);
	struct bytes old = folder_read("old");
	expect(old.size == 3);
	bytes_free(&old);
	nidus_free(opened);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void damage_is_found_where_it_is_looked_for(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(8, 8, cut_and_flip, &chance);
}

/* ------------------------------------------------------------------- each call fails -- */

static void each_failing_call_of_an_open_is_told(void **state)
{
	(void)state;
	struct shape shape = { families[0], 0, 8, 0 };
	nidus_filter *filter = crowded(&shape, 60, 2), *opened;
	expect_ok(nidus_save(filter, folder_path("filter")));
	bool mapped = false;
	for (uint64_t at = 1;; at++) {
		faults_in_files(at, EIO);
		errno = 0;
		nidus_status status = nidus_open(folder_path("filter"), 0, &opened);
		int errno_after = errno;
		bool happened = faults_happened(), closing = strcmp(faults_name(), "close") == 0;
		mapped = mapped || strcmp(faults_name(), "map_file") == 0;
		faults_restore();
		check_note("call %llu, %s", (unsigned long long)at, faults_name());
		if (!happened || closing) {
			expect_ok(status);
			expect_same_answers(filter, opened);
			nidus_free(opened);
			if (!happened)
				break;
			continue;
		}
		expect_status(status, NIDUS_E_IO);
		expect_equal(errno_after, EIO);
		expect(opened == NULL);
	}
	expect(mapped);
	nidus_free(filter);
}

static void fail_open(const struct shape *shape, void *context)
{
	(void)context;
	nidus_filter *filter = crowded(shape, 60, 2), *opened;
	expect_ok(nidus_save(filter, folder_path("filter")));
	nidus_free(filter);
	for (unsigned flags = 0; flags <= NIDUS_OPEN_VERIFY; flags++) {
		struct ledger system = { 0 };
		uint64_t failures = 0;
		ledger_watch_system(&system);
		for (;; failures++) {
			system.requests = 0;
			system.fail_at = failures + 1;
			nidus_status status = nidus_open(folder_path("filter"), flags, &opened);
			if (status == NIDUS_OK)
				break;
			expect_status(status, NIDUS_E_NOMEM);
			expect(opened == NULL);
			expect_equal(system.blocks, 0);
		}
		nidus_free(opened);
		faults_restore();
		expect(failures > 1);
		expect_equal(system.blocks, 0);
	}
}

static void an_open_without_memory_keeps_nothing(void **state)
{
	(void)state;
	each_layout(8, 8, fail_open, NULL);
}

/* --------------------------------------------------------------------- hostile tables -- */

/*
 * Files in memory whose last byte is followed by a guard page:
 * one byte too far ends the test. They can be written to, to play a file that
 * somebody else changes.
 */
static struct {
	unsigned char *start;
	size_t size; /* of all pages */
} guarded;

static size_t pages_of(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return divide_up(size, page) * page;
}

static void *map_guarded(int file, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	guarded.size = pages_of(size) + 2 * page;
	guarded.start = mmap(NULL, guarded.size, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(guarded.start != MAP_FAILED);
	unsigned char *bytes = guarded.start + guarded.size - page - size;
	expect_equal(pread(file, bytes, size, 0), size);
	expect(mprotect(guarded.start, page, PROT_NONE) == 0);
	expect(mprotect(guarded.start + guarded.size - page, page, PROT_NONE) == 0);
	return bytes;
}

static struct os_calls real;

static void unmap_guarded(void *memory, size_t size)
{
	unsigned char *bytes = memory;
	if (bytes >= guarded.start && bytes < guarded.start + guarded.size)
		munmap(guarded.start, guarded.size);
	else
		real.unmap(memory, size);
}

static nidus_filter *open_guarded(const char *name, unsigned flags)
{
	real = os;
	os.map_file = map_guarded;
	os.unmap = unmap_guarded;
	return open_file(name, flags);
}

static void close_guarded(nidus_filter *filter)
{
	nidus_free(filter);
	os = real;
}

/* Damage of many kinds, in all of a table or in a part of it. */
static void scribble(struct chance *chance, unsigned char *table, uint64_t size)
{
	uint64_t from = chance_below(chance, size), n = 1 + chance_below(chance, size - from);
	unsigned kind = (unsigned)chance_below(chance, 5);
	if (chance_percent(chance, 60)) {
		from = 0;
		n = size;
	}
	for (uint64_t i = from; i < from + n; i++) {
		uint64_t random = chance_next(chance);
		if (kind == 0)
			table[i] = (unsigned char)random;
		else if (kind == 1)
			table[i] = 0xff;
		else if (kind == 2)
			table[i] = 0;
		else if (kind == 3 && random % 16 == 0)
			table[i] ^= 1u << (random >> 8) % 8; /* a bit here and there */
		else if (kind == 4)
			table[i] = random % 4 == 0 ? 0xff
			                           : (unsigned char)(random >> 8 & random >> 16);
	}
}

static void expect_sane(nidus_status status)
{
	expect(status == NIDUS_OK || status == NIDUS_E_CORRUPT);
}

/* A sink that looks at every byte. */
static int touch_all(void *context, const void *data, size_t size)
{
	uint64_t *sum = context;
	for (size_t i = 0; i < size; i++)
		*sum += ((const unsigned char *)data)[i];
	return 0;
}

/* Whatever it answers: it comes back, and touches nothing outside. */
static void use(nidus_filter *filter, nidus_filter *friend, struct chance *chance)
{
	uint64_t hashes[600], found = 0, seen = 0;
	uint8_t yes[600];
	for (unsigned i = 0; i < 600; i++)
		hashes[i] = i < 300 ? nidus_hash_u64(filter, i) : chance_next(chance);
	hashes[0] = 0;
	hashes[1] = UINT64_MAX;
	nidus_contains_batch(filter, hashes, 600, yes);
	for (unsigned i = 0; i < 600; i++) {
		found += nidus_count_key_hash(filter, hashes[i]) > 0;
		expect_equal(yes[i], nidus_contains_hash(filter, hashes[i]));
	}
	expect(found <= 600);
	nidus_info info = info_of(filter);
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	while (nidus_next(filter, &cursor, &entry))
		expect(++seen <= info.total_slots + info.stashed + info.count + 64);
	expect_sane(nidus_verify(filter, NULL));
	nidus_filter *made;
	nidus_status status = nidus_clone(filter, &made);
	expect_sane(status);
	if (status == NIDUS_OK)
		expect_ok(nidus_verify(made, NULL));
	nidus_free(made);
	expect_sane(nidus_write(filter, touch_all, &found));
	if (!(info.features & NIDUS_MERGE))
		return;
	/* Entries that cannot be, or too many of a kind: refused, or merged into a sound filter. */
	status = nidus_merge(friend, filter, &made);
	if (status == NIDUS_OK && info.features & NIDUS_ENUMERATE)
		expect_ok(nidus_verify(made, NULL));
	nidus_free(made);
}

/* Opens the saved file, with damage before or after, sealed or not, and uses it. */
static void attack_file(const nidus_filter *filter, struct chance *chance, const char *what)
{
	struct bytes bytes = bytes_save(filter);
	nidus_filter *friend;
	expect_ok(nidus_clone(filter, &friend));
	uint64_t at = load64(bytes.data + 136), size = load64(bytes.data + 144), head = 0;
	if (filter_directory(filter) != NULL) /* what leads to bodies is looked at, and refused */
		head = DIRECTORY_HEAD * (1 + load64(bytes.data + at));
	for (unsigned i = 0; i < (check_small() ? 6 : 20); i++) {
		bool later = chance_percent(chance, 40), sealed = chance_percent(chance, 50);
		later = later || head == DIRECTORY_HEAD; /* of a list the copies are looked at */
		struct bytes bad = { check_alloc(bytes.size), bytes.size };
		check_note("%s, round %u%s%s", what, i, later ? ", later" : "",
		           sealed ? ", sealed" : "");
		memcpy(bad.data, bytes.data, bytes.size);
		if (!later)
			scribble(chance, bad.data + at + head, size - head);
		if (!later && sealed)
			bytes_seal(&bad);
		folder_write("bad", bad.data, bad.size);
		nidus_filter *opened = open_guarded("bad", later ? NIDUS_OPEN_VERIFY : 0);
		if (later) {
			expect_equal(filter_opened(opened)->table_size, size);
			scribble(chance, (unsigned char *)(uintptr_t)filter_opened(opened)->table,
			         size);
		}
		use(opened, friend, chance);
		close_guarded(opened);
		bytes_free(&bad);
	}
	nidus_free(friend);
	bytes_free(&bytes);
}

static void attack_shape(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	static const uint64_t capacities[] = { 1, 100, 5000 };
	for (unsigned i = 0; i < 3; i++) {
		nidus_filter *filter = crowded(shape, capacities[i], chance_next(chance) | 1);
		attack_file(filter, chance, shape->family->name);
		nidus_free(filter);
	}
}

static void attack_all(const char *tier)
{
	struct chance chance = { chance_seed() };
	(void)tier;
	each_layout(4, 4, attack_shape, &chance);
	each_layout(9, 9, attack_shape, &chance);
	each_layout(17, 17, attack_shape, &chance);
}

static void lookups_in_damaged_tables_stay_inside(void **state)
{
	(void)state;
	each_tier(attack_all);
}

/* Filters with growth bits in use, and with borrowed ones. */
static void attack_grown(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	if (!(shape->family->features & NIDUS_GROW))
		return;
	nidus_options options = shape_options(shape, 100, 21);
	options.max_capacity = 1600;
	nidus_filter *filter = filter_create(&options), *merged;
	for (uint64_t key = 0; key < 700; key++)
		expect_ok(nidus_insert_u64(filter, key));
	attack_file(filter, chance, shape->family->name);
	nidus_free(filter);
	filter = shape_create(shape, 300, 21);
	for (uint64_t key = 0; key < 250; key++)
		expect_ok(nidus_insert_u64(filter, key));
	if (nidus_merge(filter, filter, &merged) == NIDUS_OK)
		attack_file(merged, chance, shape->family->name);
	nidus_free(merged);
	nidus_free(filter);
}

static void damaged_tables_that_have_grown_are_harmless_too(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(8, 8, attack_grown, &chance);
}

/* ----------------------------------------------------------------------- huge files -- */

/* Writes a header for a plan whose table is all hole. False if there is no room even for that. */
static bool write_sparse(const struct family *family, const struct blueprint *plan)
{
	nidus_options options = filter_options(10, 0.01, plan->seed);
	options.family = family->id;
	nidus_filter *small = filter_create(&options);
	struct bytes bytes = bytes_save(small);
	unsigned char *header = bytes.data;
	uint64_t start = family->features & NIDUS_STATIC ? IMAGE_HEADER : 4096;
	uint64_t size = family->forecast(plan, 0).bytes, end = start + divide_up(size, 64) * 64;
	/* As drawn in store/image.c. */
	store64(header + 32, plan->capacity);
	store64(header + 40, plan->max_capacity);
	store64(header + 48, load64((const unsigned char *)&plan->fpr));
	store32(header + 56, plan->slots);
	store32(header + 60, plan->core_bits);
	store64(header + 72, plan->chunks);
	store64(header + 80, plan->groups);
	store32(header + 88, plan->reserve);
	store32(header + 92, plan->max_steps);
	store32(header + 96, plan->stash_limit);
	store64(header + 104, 0);
	store64(header + 136, start);
	store64(header + 144, size);
	store64(header + 168, end);
	bytes_seal(&bytes);
	folder_write("huge", header, IMAGE_HEADER);
	bytes_free(&bytes);
	nidus_free(small);
	return truncate(folder_path("huge"), (off_t)end) == 0;
}

/*
 * Nobody could read, or even map with memory behind it, what is opened here. Few keys
 * say as much as many: for each page of a hole the system may read ahead megabytes of
 * nothing.
 */
static void a_file_larger_than_memory_is_opened_at_once(void **state)
{
	(void)state;
	unsigned opened = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_options options = filter_options(UINT64_C(1) << 37, 0x1p-8, 99);
		struct blueprint plan;
		const struct family *planned;
		options.family = (*family)->id;
		check_note("%s", (*family)->name);
		expect_ok(options_plan(&options, &planned, &plan));
		if (!write_sparse(planned, &plan))
			continue;
		nidus_filter *filter;
		nidus_status status = nidus_open(folder_path("huge"), 0, &filter);
		if (status == NIDUS_E_NOMEM || status == NIDUS_E_IO)
			continue; /* address space is limited here */
		expect_ok(status);
		expect_equal(info_of(filter).count, 0);
		expect(info_of(filter).total_slots > UINT64_C(1) << 36);
		for (uint64_t key = 0; key < 12; key++) {
			expect(!nidus_contains_u64(filter, key));
			expect_equal(nidus_count_key_u64(filter, key), 0);
		}
		nidus_free(filter);
		opened++;
	}
	if (opened == 0)
		skip();
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_opened_filter_answers_like_the_saved_one),
		in_folder(changes_answer_readonly),
		in_folder(an_opened_filter_has_no_locks),
		in_folder(opened_filters_merge),
		in_folder(a_replaced_file_stays_what_it_was_to_those_who_opened_it),
		in_folder(a_file_that_is_cut_in_place_ends_who_opened_it),
		in_folder(what_is_no_filter_is_refused),
		in_folder(damage_is_found_where_it_is_looked_for),
		in_folder(each_failing_call_of_an_open_is_told),
		in_folder(an_open_without_memory_keeps_nothing),
		in_folder(lookups_in_damaged_tables_stay_inside),
		in_folder(damaged_tables_that_have_grown_are_harmless_too),
		in_folder(a_file_larger_than_memory_is_opened_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
