/* SPDX-License-Identifier: MIT
 *
 * Builders while memory and disks fail: a clear error, nothing left behind, and no key lost.
 */
#define _GNU_SOURCE /* unshare */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#include "api/builder.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/folder.h"

#define SEED 4711
#define MEBIBYTE (UINT64_C(1) << 20)
#define KEYS 30000
#define ROOM 10000 /* hashes in memory: some runs */

static nidus_family families_to_try[] = { NIDUS_SIMPLIFIED, NIDUS_BLOCKED_BLOOM, NIDUS_RIBBON,
	                                  NIDUS_BREADCRUMB };

#define EACH_FAMILY(i) for (size_t i = 0; i < sizeof families_to_try / sizeof *families_to_try; i++)

static nidus_options options_of(size_t i)
{
	nidus_options options = filter_options(0, 0x1p-5, SEED);
	options.family = families_to_try[i];
	options.value_bits =
		options.family == NIDUS_SIMPLIFIED || options.family == NIDUS_BREADCRUMB ? 5 : 0;
	return options;
}

static void squeeze(nidus_builder *builder)
{
	builder->workshop.memory = 4 * MEBIBYTE;
	builder->spill.room = builder->spill.usual_room = ROOM;
}

/* Hashes and values of key number i. */
static uint64_t hash_of(uint64_t i)
{
	struct chance chance = { i };
	return chance_next(&chance);
}

static nidus_status add_key(nidus_builder *builder, const nidus_options *options, uint64_t i)
{
	return options->value_bits > 0 ? nidus_builder_add_value_hash(builder, hash_of(i), i % 32)
	                               : nidus_builder_add_hash(builder, hash_of(i));
}

static nidus_filter *wanted(const nidus_options *options)
{
	nidus_options plain = *options;
	nidus_filter *filter;
	uint64_t *hashes = check_alloc(KEYS * sizeof *hashes);
	uint64_t *values = check_alloc(KEYS * sizeof *values);
	plain.allocator = (nidus_allocator){ 0 };
	for (uint64_t i = 0; i < KEYS; i++)
		hashes[i] = hash_of(i), values[i] = i % 32;
	expect_ok(options->value_bits > 0
	                  ? nidus_build_values(&plain, hashes, values, KEYS, 1, &filter)
	                  : nidus_build_hashes(&plain, hashes, KEYS, 1, &filter));
	free(hashes);
	free(values);
	return filter;
}

static void expect_set(const nidus_filter *filter)
{
	struct bytes now = folder_read("set");
	expect(bytes_match(&now, filter));
	bytes_free(&now);
}

/* Adds all keys; those that are refused once come again. Gives how often. */
static unsigned add_all(nidus_builder *builder, const nidus_options *options, nidus_status error)
{
	unsigned refused = 0;
	for (uint64_t i = 0; i < KEYS; i++) {
		nidus_status status = add_key(builder, options, i);
		if (status == NIDUS_OK)
			continue;
		expect_status(status, error);
		expect_ok(add_key(builder, options, i));
		refused++;
	}
	return refused;
}

/* ------------------------------------------------------------------------------- files -- */

/* Every call of the system fails once, and the same builder goes on. Gives how many did. */
static unsigned fail_each_call(const nidus_options *options, bool named, int error)
{
	nidus_filter *filter = wanted(options);
	unsigned failures = 0;
	bool happened = true;
	for (uint64_t at = 1; happened; at++) {
		nidus_builder *builder;
		expect_ok(nidus_builder_create(options, 16 * MEBIBYTE, folder_path("."), 1,
		                               &builder));
		squeeze(builder);
		faults_in_files(at, error);
		if (named)
			faults_only_named_files();
		unsigned refused = add_all(builder, options, NIDUS_E_IO);
		check_note("family %d, call %llu, %s", (int)options->family, (unsigned long long)at,
		           faults_name());
		nidus_status status = nidus_builder_save(builder, folder_path("set"));
		int errno_after = errno;
		happened = faults_happened();
		bool renamed = faults_after_rename();
		const char *name = faults_name();
		faults_restore();
		expect(refused <= 1 && (refused == 0 || status == NIDUS_OK));
		if (status != NIDUS_OK) {
			check_note("family %d, call %llu, %s", (int)options->family,
			           (unsigned long long)at, name);
			expect_status(status, NIDUS_E_IO);
			expect_equal(errno_after, error);
			expect_equal(folder_entries(), renamed ? 1 : 0);
			expect_ok(nidus_builder_save(builder, folder_path("set")));
		}
		failures += happened;
		expect_set(filter);
		nidus_builder_free(builder);
		expect_equal(folder_entries(), 1);
		expect(unlink(folder_path("set")) == 0);
	}
	nidus_free(filter);
	return failures;
}

static void failing_calls_lose_no_key_and_leave_nothing(void **state)
{
	(void)state;
	EACH_FAMILY(i)
	{
		nidus_options options = options_of(i);
		expect(fail_each_call(&options, false, ENOSPC) > 20);
		expect(fail_each_call(&options, true, EIO) > 20);
	}
}

static void short_transfers_are_continued(void **state)
{
	(void)state;
	EACH_FAMILY(i)
	{
		nidus_options options = options_of(i);
		nidus_filter *filter = wanted(&options);
		nidus_builder *builder;
		expect_ok(nidus_builder_create(&options, 16 * MEBIBYTE, folder_path("."), 1,
		                               &builder));
		squeeze(builder);
		faults_short_transfers(777);
		expect_equal(add_all(builder, &options, NIDUS_OK), 0);
		expect_ok(nidus_builder_save(builder, folder_path("set")));
		faults_restore();
		expect_set(filter);
		nidus_builder_free(builder);
		nidus_free(filter);
	}
}

static void a_folder_that_is_not_there_is_told(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	nidus_builder *builder;
	nidus_status status = NIDUS_OK;
	expect_ok(
		nidus_builder_create(&options, 16 * MEBIBYTE, folder_path("nowhere"), 1, &builder));
	squeeze(builder);
	for (uint64_t i = 0; i < KEYS && status == NIDUS_OK; i++)
		status = add_key(builder, &options, i);
	expect_status(status, NIDUS_E_IO);
	expect_equal(errno, ENOENT);
	expect(strstr(nidus_reason(), "nowhere") != NULL);
	nidus_builder_free(builder);
	expect_equal(folder_entries(), 0);
}

/* ---------------------------------------------------------------------- a small disk -- */

#ifdef __linux__

static bool mount_small_disk(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", folder_path("."), "tmpfs", 0, "size=256k") == 0;
}

static bool unmount_small_disk(void)
{
	return umount2(folder_path("."), MNT_DETACH) == 0;
}

#else

static bool mount_small_disk(void)
{
	return false;
}

static bool unmount_small_disk(void)
{
	return true;
}

#endif

static void a_full_disk_is_told_and_can_be_made_room_on(void **state)
{
	(void)state;
	if (!mount_small_disk())
		skip();
	nidus_options options = options_of(1);
	nidus_filter *filter = wanted(&options);
	nidus_builder *builder;
	int ballast = open(folder_path("ballast"), O_WRONLY | O_CREAT, 0600);
	expect(ballast >= 0 && ftruncate(ballast, 0) == 0);
	static const unsigned char zeros[100 << 10];
	expect(write(ballast, zeros, sizeof zeros) == (ssize_t)sizeof zeros);
	expect_ok(nidus_builder_create(&options, 16 * MEBIBYTE, folder_path("."), 1, &builder));
	squeeze(builder);
	uint64_t i = 0;
	nidus_status status = NIDUS_OK;
	while (i < KEYS && status == NIDUS_OK) {
		status = add_key(builder, &options, i);
		i += status == NIDUS_OK;
	}
	/* 80 KB are written for 10,000 keys, and 156 KB are free. */
	expect_status(status, NIDUS_E_IO);
	expect_equal(errno, ENOSPC);
	expect(strstr(nidus_reason(), strerror(ENOSPC)) != NULL);
	expect_equal(folder_entries(), 1);
	expect(ftruncate(ballast, 0) == 0);
	for (; i < KEYS; i++)
		expect_ok(add_key(builder, &options, i));
	/* There is no room for the set beside the hashes: 240 of 256 KB are taken. */
	expect_status(nidus_builder_save(builder, folder_path("set")), NIDUS_E_IO);
	expect_equal(errno, ENOSPC);
	expect_equal(folder_entries(), 1);
	nidus_filter *made;
	expect_ok(nidus_builder_finish(builder, &made));
	expect(filters_equal(made, filter));
	nidus_free(made);
	nidus_free(filter);
	nidus_builder_free(builder);
	close(ballast);
	expect(unmount_small_disk());
}

/* ------------------------------------------------------------------------------ memory -- */

static nidus_status create_and_build(const nidus_options *options, struct ledger *ledger)
{
	nidus_builder *builder;
	nidus_status status =
		nidus_builder_create(options, 16 * MEBIBYTE, folder_path("."), 1, &builder);
	if (status != NIDUS_OK)
		return status;
	squeeze(builder);
	for (uint64_t i = 0; i < KEYS && status == NIDUS_OK; i++)
		status = add_key(builder, options, i);
	if (status == NIDUS_OK)
		status = nidus_builder_save(builder, folder_path("set"));
	if (status != NIDUS_OK) { /* the same builder goes on */
		expect_equal(folder_entries(), 0);
		ledger->fail_at = 0;
		uint64_t added = builder->spill.added;
		for (uint64_t i = added; i < KEYS; i++)
			expect_ok(add_key(builder, options, i));
		expect_ok(nidus_builder_save(builder, folder_path("set")));
	}
	nidus_builder_free(builder);
	return status;
}

static void failing_memory_changes_nothing(void **state)
{
	(void)state;
	EACH_FAMILY(i)
	{
		nidus_options options = options_of(i);
		nidus_filter *filter = wanted(&options);
		nidus_status status;
		uint64_t at = 1;
		do {
			struct ledger ledger = { .fail_at = at };
			options.allocator = ledger_allocator(&ledger);
			check_note("family %d, request %llu", (int)options.family,
			           (unsigned long long)at);
			status = create_and_build(&options, &ledger);
			expect_equal(ledger.blocks, 0);
			if (at > 1) {
				expect_set(filter);
				expect(unlink(folder_path("set")) == 0);
			}
			if (status != NIDUS_OK)
				expect_status(status, NIDUS_E_NOMEM);
			at++;
		} while (status != NIDUS_OK);
		expect(at > 8);
		nidus_free(filter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(failing_calls_lose_no_key_and_leave_nothing,
		                                folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(short_transfers_are_continued, folder_setup,
		                                folder_teardown),
		cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_told, folder_setup,
		                                folder_teardown),
		cmocka_unit_test_setup_teardown(failing_memory_changes_nothing, folder_setup,
		                                folder_teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_is_told_and_can_be_made_room_on,
		                                folder_setup, folder_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
