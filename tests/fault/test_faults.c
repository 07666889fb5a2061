/* SPDX-License-Identifier: MIT
 *
 * Every allocation fails once: NIDUS_E_NOMEM, nothing changed, nothing lost.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/folder.h"

/* Small enough that copies of one key soon reach the stash. */
static nidus_options shape_with(const struct shape *shape, struct ledger *ledger)
{
	nidus_options options = shape_options(shape, 60, 77);
	options.allocator = ledger_allocator(ledger);
	return options;
}

/* Same keys again and again, until the stash has entries of several of them. */
static void crowd(nidus_filter *filter)
{
	for (uint64_t key = 0; key < 4; key++) {
		for (unsigned i = 0; i < 100; i++) {
			nidus_status status = nidus_insert_u64(filter, key);
			if (status == NIDUS_FULL || status == NIDUS_COPIES)
				break;
			expect_ok(status);
		}
	}
}

static nidus_filter *crowded(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	crowd(filter);
	return filter;
}

/* ------------------------------------------------------------------------ create -- */

static void fail_create(const struct shape *shape, void *context)
{
	const uint32_t *features = context;
	struct ledger ledger = { 0 };
	nidus_options options = shape_with(shape, &ledger);
	uint64_t failures = 0;
	if (*features & ~shape->family->features)
		return;
	options.features = *features;
	for (;;) {
		nidus_filter *filter = (nidus_filter *)(void *)&ledger; /* must become NULL */
		ledger.requests = 0;
		ledger.fail_at = failures + 1;
		nidus_status status = nidus_create(&options, &filter);
		if (status == NIDUS_OK) {
			nidus_free(filter);
			break;
		}
		expect_status(status, NIDUS_E_NOMEM);
		expect(filter == NULL);
		expect(nidus_reason()[0] != '\0');
		expect_equal(ledger.blocks, 0);
		failures++;
	}
	expect(failures > 0);
	expect_equal(ledger.blocks, 0);
	expect_equal(ledger.bytes, 0);
}

static void create_without_memory_keeps_nothing(void **state)
{
	(void)state;
	uint32_t features = 0;
	each_layout(4, 24, fail_create, &features);
	features = NIDUS_CONCURRENT; /* locks take memory too */
	each_layout(4, 24, fail_create, &features);
}

/* ------------------------------------------------------------------------ insert -- */

static void fail_insert(const struct shape *shape, void *context)
{
	uint64_t *refusals = context;
	struct ledger ledger = { 0 };
	nidus_options options = shape_with(shape, &ledger);
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0; key < 3; key++) {
		for (unsigned i = 0; i < 100; i++) {
			struct bytes before = bytes_save(filter);
			ledger.fail_at = ledger.requests + 1;
			nidus_status status = nidus_insert_u64(filter, key);
			ledger.fail_at = 0;
			if (status == NIDUS_E_NOMEM) {
				expect(bytes_match(&before, filter));
				expect_ok(nidus_verify(filter, NULL));
				++*refusals;
				status = nidus_insert_u64(filter, key); /* memory is back */
			}
			bytes_free(&before);
			if (status == NIDUS_COPIES || status == NIDUS_FULL)
				break;
			expect_ok(status);
		}
	}
	nidus_free(filter);
	expect_equal(ledger.blocks, 0);
}

static void insert_without_memory_changes_nothing(void **state)
{
	(void)state;
	uint64_t refusals = 0;
	each_layout(4, 24, fail_insert, &refusals);
	expect(refusals > 0);
}

/* ----------------------------------------------------------------- clone and write -- */

static int count_sink(void *context, const void *data, size_t size)
{
	(void)data;
	*(uint64_t *)context += size;
	return 0;
}

static void fail_clone_and_write(const struct shape *shape, void *context)
{
	uint64_t *failures = context;
	struct ledger ledger = { 0 };
	nidus_options options = shape_with(shape, &ledger);
	nidus_filter *filter = crowded(&options), *copy;
	struct bytes before = bytes_save(filter);
	uint64_t blocks = ledger.blocks, written = 0;
	nidus_status status;
	for (uint64_t at = 1;; at++) {
		ledger.fail_at = ledger.requests + at;
		status = nidus_clone(filter, &copy);
		if (status == NIDUS_OK)
			break;
		expect_status(status, NIDUS_E_NOMEM);
		expect(copy == NULL);
		expect_equal(ledger.blocks, blocks);
		++*failures;
	}
	ledger.fail_at = 0;
	expect(bytes_match(&before, copy));
	nidus_free(copy);
	for (uint64_t at = 1;; at++) {
		ledger.fail_at = ledger.requests + at;
		status = nidus_write(filter, count_sink, &written);
		if (status == NIDUS_OK)
			break;
		expect_status(status, NIDUS_E_NOMEM);
		expect_equal(ledger.blocks, blocks);
	}
	ledger.fail_at = 0;
	expect(bytes_match(&before, filter));
	bytes_free(&before);
	nidus_free(filter);
	expect_equal(ledger.blocks, 0);
}

static void clone_and_write_without_memory_leave_no_trace(void **state)
{
	(void)state;
	uint64_t failures = 0;
	each_layout(4, 24, fail_clone_and_write, &failures);
	expect(failures > 0);
}

/* ------------------------------------------------------------------------- merge -- */

static void fail_merge(const struct shape *shape, void *context)
{
	uint64_t *failures = context;
	struct ledger ledger = { 0 };
	nidus_options options = shape_with(shape, &ledger);
	if (!(shape->family->features & NIDUS_MERGE))
		return;
	nidus_filter *a = filter_create(&options), *b = filter_create(&options), *merged;
	for (uint64_t key = 0; key < 40; key++) {
		expect_ok(nidus_insert_u64(a, key));
		expect_ok(nidus_insert_u64(b, key / 2)); /* copies too */
	}
	struct bytes before_a = bytes_save(a), before_b = bytes_save(b);
	uint64_t blocks = ledger.blocks;
	for (uint64_t at = 1;; at++) {
		ledger.fail_at = ledger.requests + at;
		nidus_status status = nidus_merge(a, b, &merged);
		bool refused = ledger.requests >= ledger.fail_at;
		ledger.fail_at = 0;
		if (!refused) {
			expect_ok(status);
			break;
		}
		expect_status(status, NIDUS_E_NOMEM);
		expect(merged == NULL);
		expect_equal(ledger.blocks, blocks);
		expect(bytes_match(&before_a, a) && bytes_match(&before_b, b));
		++*failures;
	}
	expect_ok(nidus_verify(merged, NULL));
	expect_equal(info_of(merged).count, info_of(a).count + info_of(b).count);
	bytes_free(&before_a);
	bytes_free(&before_b);
	nidus_free(merged);
	nidus_free(a);
	nidus_free(b);
	expect_equal(ledger.blocks, 0);
}

static void merge_without_memory_leaves_no_trace(void **state)
{
	(void)state;
	uint64_t failures = 0;
	each_layout(4, 24, fail_merge, &failures);
	expect(failures > 100);
}

/* ------------------------------------------------------------------------- build -- */

static void fail_build(const struct shape *shape, void *context)
{
	(void)context;
	struct ledger ledger = { 0 };
	nidus_options options = shape_with(shape, &ledger);
	uint64_t keys[50], failures = 0;
	for (unsigned i = 0; i < 50; i++)
		keys[i] = i % 5; /* copies, so that a build may need the stash */
	if (nidus_family_features(shape->family->id) & NIDUS_MULTISET)
		options.features |= NIDUS_MULTISET;
	for (;; failures++) {
		nidus_filter *filter;
		ledger.requests = 0;
		ledger.fail_at = failures + 1;
		nidus_status status = nidus_build_u64(&options, keys, 50, 1, &filter);
		if (status == NIDUS_OK) {
			ledger.fail_at = 0;
			for (unsigned i = 0; i < 50; i++)
				expect(nidus_contains_u64(filter, keys[i]));
			nidus_free(filter);
			break;
		}
		expect(filter == NULL);
		expect_equal(ledger.blocks, 0);
		if (status == NIDUS_COPIES || status == NIDUS_FULL)
			break; /* ten copies are more than some layouts take: no failure left to try */
		expect_status(status, NIDUS_E_NOMEM);
	}
	expect(failures > 1);
	expect_equal(ledger.blocks, 0);
}

static void build_without_memory_keeps_nothing(void **state)
{
	(void)state;
	each_layout(4, 24, fail_build, NULL);
}

/* ----------------------------------------------------------------- load and save -- */

static nidus_status load_any(unsigned way, const struct bytes *bytes, nidus_filter **filter)
{
	return way == 0 ? nidus_load_buffer(bytes->data, bytes->size, NULL, filter)
	                : nidus_load(folder_path("filter"), filter);
}

static void expect_load_failures(const struct bytes *bytes, unsigned way)
{
	struct ledger system = { 0 };
	uint64_t failures = 0;
	ledger_watch_system(&system);
	for (;; failures++) {
		nidus_filter *filter;
		system.requests = 0;
		system.fail_at = failures + 1;
		nidus_status status = load_any(way, bytes, &filter);
		if (status == NIDUS_OK) {
			system.fail_at = 0;
			expect(bytes_match(bytes, filter));
			nidus_free(filter);
			break;
		}
		expect_status(status, NIDUS_E_NOMEM);
		expect(filter == NULL);
		expect_equal(system.blocks, 0);
	}
	faults_restore();
	expect(failures > 1);
	expect_equal(system.blocks, 0);
}

static void fail_load(const struct shape *shape, void *context)
{
	(void)context;
	nidus_options options = shape_options(shape, 60, 77);
	nidus_filter *filter = crowded(&options);
	struct bytes bytes = bytes_save(filter);
	folder_write("filter", bytes.data, bytes.size);
	expect_load_failures(&bytes, 0);
	expect_load_failures(&bytes, 1);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void load_without_memory_keeps_nothing(void **state)
{
	(void)state;
	each_layout(4, 4, fail_load, NULL);
	each_layout(12, 12, fail_load, NULL);
}

static void fail_save(const struct shape *shape, void *context)
{
	(void)context;
	nidus_options options = shape_options(shape, 60, 77);
	nidus_filter *filter = crowded(&options);
	struct bytes old = { (unsigned char *)"old", 3 };
	uint64_t failures = 0;
	folder_write("filter", old.data, old.size);
	unsigned entries = folder_entries();
	struct ledger system = { 0 };
	ledger_watch_system(&system);
	for (;; failures++) {
		system.requests = 0;
		system.fail_at = failures + 1;
		nidus_status status = nidus_save(filter, folder_path("filter"));
		if (status == NIDUS_OK)
			break;
		expect_status(status, NIDUS_E_NOMEM);
		struct bytes now = folder_read("filter");
		expect(now.size == old.size && memcmp(now.data, old.data, old.size) == 0);
		bytes_free(&now);
		expect_equal(folder_entries(), entries);
		expect_equal(system.blocks, 0);
	}
	faults_restore();
	expect(failures > 0);
	expect_equal(system.blocks, 0);
	struct bytes now = folder_read("filter");
	expect(bytes_match(&now, filter));
	bytes_free(&now);
	nidus_free(filter);
}

static void save_without_memory_keeps_the_old_file(void **state)
{
	(void)state;
	each_layout(4, 4, fail_save, NULL);
	each_layout(12, 12, fail_save, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_without_memory_keeps_nothing),
		cmocka_unit_test(insert_without_memory_changes_nothing),
		cmocka_unit_test(clone_and_write_without_memory_leave_no_trace),
		cmocka_unit_test(merge_without_memory_leaves_no_trace),
		cmocka_unit_test(build_without_memory_keeps_nothing),
		cmocka_unit_test_setup_teardown(load_without_memory_keeps_nothing, folder_setup,
		                                folder_teardown),
		cmocka_unit_test_setup_teardown(save_without_memory_keeps_the_old_file,
		                                folder_setup, folder_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
