/* SPDX-License-Identifier: MIT
 *
 * Arguments: what is senseless gets the documented answer from every public
 * function, and words; names and numbers agree.
 */
#include "support/check.h"
#include "support/filters.h"

static int setup(void **state)
{
	nidus_options options = filter_options(100, 0.01, 1);
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		return -1;
	*state = filter;
	return 0;
}

static int teardown(void **state)
{
	nidus_free(*state);
	return 0;
}

#define expect_bad(call) expect_error((call), NIDUS_E_ARG, #call)

static void expect_error(nidus_status got, nidus_status wanted, const char *call)
{
	check_note("%s", call);
	expect_status(got, wanted);
	expect(strlen(nidus_reason()) > 5);
}

static int sink(void *context, const void *data, size_t size)
{
	(void)context, (void)data, (void)size;
	return 0;
}

static ptrdiff_t source(void *context, void *data, size_t size)
{
	(void)context, (void)data, (void)size;
	return 0;
}

/* A pointer that the call must overwrite with NULL. */
#define STALE ((nidus_filter *)(void *)&stale)
static uint64_t stale;

static void no_filter_is_an_argument_error(void **state)
{
	(void)state;
	uint64_t hash = 1;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_entry entry = { 0 };
	nidus_filter *out = STALE;
	char buffer[16];
	nidus_free(NULL);
	expect_bad(nidus_clone(NULL, &out));
	expect(out == NULL);
	expect_bad(nidus_clear(NULL));
	expect_bad(nidus_get_info(NULL, &info));
	expect_bad(nidus_verify(NULL, NULL));
	expect_bad(nidus_insert(NULL, "a", 1));
	expect_bad(nidus_insert_u64(NULL, 1));
	expect_bad(nidus_insert_hash(NULL, 1));
	expect_bad(nidus_insert_new(NULL, "a", 1));
	expect_bad(nidus_insert_new_u64(NULL, 1));
	expect_bad(nidus_insert_new_hash(NULL, 1));
	expect_bad(nidus_remove(NULL, "a", 1));
	expect_bad(nidus_remove_u64(NULL, 1));
	expect_bad(nidus_remove_hash(NULL, 1));
	expect_bad(nidus_insert_batch(NULL, &hash, 1, NULL));
	expect_bad(nidus_insert_new_batch(NULL, &hash, 1, NULL, NULL));
	expect_bad(nidus_remove_batch(NULL, &hash, 1, NULL));
	expect_bad(nidus_insert_entry(NULL, &entry));
	expect_bad(nidus_grow(NULL, 10));
	expect_bad(nidus_save(NULL, "/nowhere/x"));
	expect_bad(nidus_save_buffer(NULL, buffer, sizeof buffer, NULL));
	expect_bad(nidus_write(NULL, sink, NULL));
	expect_bad(nidus_write_from(NULL, 0, sink, NULL));
	expect(!nidus_contains(NULL, "a", 1) && !nidus_contains_u64(NULL, 1));
	expect(!nidus_contains_hash(NULL, 1));
	expect_equal(nidus_count_key(NULL, "a", 1), 0);
	expect_equal(nidus_count_key_u64(NULL, 1), 0);
	expect_equal(nidus_count_key_hash(NULL, 1), 0);
	expect_equal(nidus_hash(NULL, "a", 1), 0);
	expect_equal(nidus_hash_u64(NULL, 1), 0);
	expect_equal(nidus_saved_size(NULL), 0);
	nidus_cursor cursor = { 0 };
	expect(!nidus_next(NULL, &cursor, &entry));
}

static void no_place_for_the_answer_is_an_argument_error(void **state)
{
	nidus_filter *filter = *state;
	nidus_options options = filter_options(10, 0.01, 1);
	uint64_t key = 1;
	const void *keys[] = { "a" };
	size_t len = 1;
	expect_bad(nidus_create(&options, NULL));
	expect_bad(nidus_clone(filter, NULL));
	expect_bad(nidus_get_info(filter, NULL));
	expect_bad(nidus_build_u64(&options, &key, 1, 1, NULL));
	expect_bad(nidus_build_bytes(&options, keys, &len, 1, 1, NULL));
	expect_bad(nidus_merge(filter, filter, NULL));
	expect_bad(nidus_load("x", NULL));
	expect_bad(nidus_open("x", 0, NULL));
	expect_bad(nidus_load_buffer(&key, 8, NULL, NULL));
	expect_bad(nidus_read(source, NULL, NULL, NULL));
	expect_bad(nidus_plan(&options, NULL, 0, NULL));
	expect_bad(nidus_save_buffer(filter, NULL, 1 << 20, NULL));
	expect_bad(nidus_family_by_name("cuckoo", NULL));
}

static void no_input_is_an_argument_error(void **state)
{
	nidus_filter *filter = *state, *out = STALE;
	nidus_options options = filter_options(10, 0.01, 1);
	nidus_family family = NIDUS_CHUNKED;
	const void *keys[] = { NULL };
	size_t len = 1, n = 7;
	expect_bad(nidus_create(NULL, &out));
	expect(out == NULL);
	expect_bad(nidus_build_u64(NULL, NULL, 0, 1, &out));
	expect_bad(nidus_build_u64(&options, NULL, 1, 1, &out));
	expect_bad(nidus_build_bytes(&options, NULL, &len, 1, 1, &out));
	expect_bad(nidus_build_bytes(&options, keys, NULL, 1, 1, &out));
	expect_bad(nidus_build_bytes(&options, keys, &len, 1, 1, &out));
	out = STALE;
	expect_bad(nidus_merge(NULL, filter, &out));
	expect(out == NULL);
	expect_bad(nidus_merge(filter, NULL, &out));
	expect_bad(nidus_load(NULL, &out));
	expect_bad(nidus_open(NULL, 0, &out));
	expect_bad(nidus_open("x", 0x80, &out));
	expect_bad(nidus_load_buffer(NULL, 8, NULL, &out));
	expect_bad(nidus_read(NULL, NULL, NULL, &out));
	expect_bad(nidus_write(filter, NULL, NULL));
	expect_bad(nidus_write_from(filter, 0, NULL, NULL));
	expect_bad(nidus_save(filter, NULL));
	n = 7;
	expect_bad(nidus_plan(NULL, NULL, 0, &n));
	expect_equal(n, 0);
	expect_bad(nidus_plan(&options, NULL, 3, &n));
	expect_bad(nidus_insert_batch(filter, NULL, 1, NULL));
	expect_bad(nidus_insert_new_batch(filter, NULL, 1, NULL, NULL));
	expect_bad(nidus_remove_batch(filter, NULL, 1, NULL));
	expect_bad(nidus_insert_entry(filter, NULL));
	expect_bad(nidus_family_by_name(NULL, &family));
	expect_bad(nidus_set_isa(NULL));
	expect_equal(family, NIDUS_CHUNKED);
	expect(out == NULL);
}

static void a_null_key_is_a_key_only_without_length(void **state)
{
	nidus_filter *filter = *state;
	expect_bad(nidus_insert(filter, NULL, 1));
	expect_bad(nidus_insert_new(filter, NULL, 1));
	expect_bad(nidus_remove(filter, NULL, 1));
	expect(!nidus_contains(filter, NULL, 1));
	expect_equal(nidus_count_key(filter, NULL, 1), 0);
	expect_equal(nidus_hash(filter, NULL, 1), 0);
	expect_equal(info_of(filter).count, 0);
	expect_ok(nidus_insert(filter, NULL, 0));
	expect(nidus_contains(filter, "", 0));
	expect_equal(nidus_hash(filter, NULL, 0), nidus_hash(filter, "x", 0));
	expect_ok(nidus_remove(filter, "", 0));
}

static void batches_of_nothing_do_nothing(void **state)
{
	nidus_filter *filter = *state;
	size_t done = 7;
	uint64_t hash = 5;
	uint8_t yes = 9;
	expect_ok(nidus_insert_batch(filter, NULL, 0, &done));
	expect_equal(done, 0);
	done = 7;
	expect_ok(nidus_insert_new_batch(filter, NULL, 0, NULL, &done));
	expect_equal(done, 0);
	done = 7;
	expect_ok(nidus_remove_batch(filter, NULL, 0, &done));
	expect_equal(done, 0);
	nidus_contains_batch(filter, &hash, 1, NULL);
	nidus_contains_batch(filter, &hash, 0, &yes);
	nidus_contains_batch(NULL, NULL, 0, &yes);
	nidus_hash_u64_batch(filter, NULL, 0, NULL);
	nidus_hash_batch(filter, NULL, NULL, 0, NULL);
	expect_equal(yes, 9);
	expect_equal(info_of(filter).count, 0);
}

static void batches_without_a_filter_or_keys_answer_no(void **state)
{
	nidus_filter *filter = *state;
	const void *key = "heron";
	size_t length = 5;
	uint64_t hashes[3] = { 5, 6, 7 };
	const uint64_t keys[3] = { 1, 2, 3 };
	for (unsigned i = 0; i < 2; i++) {
		uint8_t yes[4] = { 9, 9, 9, 9 };
		nidus_contains_batch(i == 0 ? NULL : filter, i == 0 ? hashes : NULL, 3, yes);
		expect(yes[0] == 0 && yes[1] == 0 && yes[2] == 0 && yes[3] == 9);
	}
	nidus_hash_batch(NULL, &key, &length, 1, &hashes[0]);
	nidus_hash_u64_batch(NULL, keys, 1, &hashes[1]);
	nidus_hash_u64_batch(filter, NULL, 1, &hashes[2]);
	expect(hashes[0] == 0 && hashes[1] == 0 && hashes[2] == 0);
}

static void the_three_key_spaces_are_apart(void **state)
{
	nidus_filter *filter = *state;
	uint64_t seven = 7;
	unsigned char bytes[8] = { 7 };
	expect(nidus_hash_u64(filter, seven) != nidus_hash(filter, bytes, 8));
	expect(nidus_hash(filter, "7", 1) != nidus_hash(filter, "7", 2));
	uint64_t hashes[2], keys[2] = { 7, 8 };
	const void *texts[2] = { "7", "heron" };
	size_t lens[2] = { 1, 5 };
	nidus_hash_u64_batch(filter, keys, 2, hashes);
	expect_equal(hashes[0], nidus_hash_u64(filter, 7));
	expect_equal(hashes[1], nidus_hash_u64(filter, 8));
	nidus_hash_batch(filter, texts, lens, 2, hashes);
	expect_equal(hashes[0], nidus_hash(filter, "7", 1));
	expect_equal(hashes[1], nidus_hash(filter, "heron", 5));
}

static void a_build_of_nothing_is_an_empty_filter(void **state)
{
	(void)state;
	nidus_options options = filter_options(0, 0.01, 1);
	nidus_filter *filter;
	expect_ok(nidus_build_u64(&options, NULL, 0, 0, &filter));
	expect_equal(info_of(filter).count, 0);
	expect(!nidus_contains_u64(filter, 1));
	nidus_free(filter);
	expect_ok(nidus_build_bytes(&options, NULL, NULL, 0, 5, &filter));
	expect_equal(info_of(filter).count, 0);
	nidus_free(filter);
}

static void builds_store_equal_keys_once_unless_asked(void **state)
{
	(void)state;
	const void *keys[] = { "a", "b", "a", "", NULL, "b" };
	size_t lens[] = { 1, 1, 1, 0, 0, 1 };
	nidus_options options = filter_options(0, 0.001, 1);
	nidus_filter *filter;
	expect_ok(nidus_build_bytes(&options, keys, lens, 6, 1, &filter));
	expect_equal(info_of(filter).count, 3);
	nidus_free(filter);
	options.features = NIDUS_MULTISET;
	expect_ok(nidus_build_bytes(&options, keys, lens, 6, 1, &filter));
	expect_equal(info_of(filter).count, 6);
	expect_equal(nidus_count_key(filter, NULL, 0), 2);
	nidus_free(filter);
}

/* A count whose bytes do not fit 64 bits: refused before a single key is read. */
static void an_absurd_number_of_keys_is_refused(void **state)
{
	(void)state;
	static const size_t absurd[] = { (size_t)1 << 61, (size_t)3 << 61, SIZE_MAX };
	uint64_t key = 1;
	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		nidus_options options = filter_options(10, 0.01, 1);
		nidus_filter *filter = STALE;
		check_note("%zu keys", absurd[i]);
		nidus_status status = nidus_build_u64(&options, &key, absurd[i], 1, &filter);
		expect(status == NIDUS_E_NOMEM || status == NIDUS_E_RANGE || status == NIDUS_E_ARG);
		expect(filter == NULL);
	}
}

static void entries_that_cannot_be_here_are_out_of_range(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_options options = filter_options(100, 0.01, 1);
		options.family = (*family)->id;
		nidus_filter *filter = filter_create(&options);
		nidus_entry entry, bad;
		nidus_cursor cursor = { 0 };
		check_note("%s", (*family)->name);
		if (!((*family)->features & NIDUS_STATIC))
			expect_ok(nidus_insert_u64(filter, 1));
		if (!(nidus_family_features((*family)->id) & NIDUS_ENUMERATE)) {
			expect(!nidus_next(filter, &cursor, &entry));
			entry = (nidus_entry){ 0 };
			expect_status(nidus_insert_entry(filter, &entry), NIDUS_E_UNSUPPORTED);
			nidus_free(filter);
			continue;
		}
		expect(nidus_next(filter, &cursor, &entry));
		expect(!nidus_next(filter, NULL, &bad) && !nidus_next(filter, &cursor, NULL));
		struct bytes before = bytes_save(filter);
		const nidus_entry impossible[] = {
			{ UINT64_MAX, entry.fingerprint, 0 },
			{ UINT64_C(1) << 40, entry.fingerprint, 0 },
			{ entry.home, 0, 0 },
			{ entry.home, UINT64_MAX, 0 },
			{ entry.home, UINT64_C(1) << 62, 0 },
			{ entry.home, entry.fingerprint, 1 },
		};
		for (unsigned i = 0; i < 6; i++)
			expect_status(nidus_insert_entry(filter, &impossible[i]), NIDUS_E_RANGE);
		expect(bytes_match(&before, filter));
		/* A cursor from anywhere is safe, whatever it yields. */
		nidus_cursor wild = { { UINT64_MAX, UINT64_MAX } };
		(void)nidus_next(filter, &wild, &bad);
		wild = (nidus_cursor){ { 0, UINT64_MAX } };
		(void)nidus_next(filter, &wild, &bad);
		expect_ok(nidus_insert_entry(filter, &entry));
		expect_equal(nidus_count_key_u64(filter, 1), 2);
		bytes_free(&before);
		nidus_free(filter);
	}
}

/* ------------------------------------------------------------------- names and words -- */

static void every_status_has_a_name_and_words(void **state)
{
	(void)state;
	static const nidus_status statuses[] = {
		NIDUS_OK,         NIDUS_FULL,       NIDUS_NOT_FOUND, NIDUS_PRESENT,
		NIDUS_COPIES,     NIDUS_E_ARG,      NIDUS_E_RANGE,   NIDUS_E_UNSUPPORTED,
		NIDUS_E_READONLY, NIDUS_E_MISMATCH, NIDUS_E_NOMEM,   NIDUS_E_BUFFER,
		NIDUS_E_IO,       NIDUS_E_FORMAT,   NIDUS_E_VERSION, NIDUS_E_TRUNCATED,
		NIDUS_E_CORRUPT,  NIDUS_STOPPED,
	};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		const char *name = nidus_status_name(statuses[i]);
		expect(strncmp(name, "NIDUS_", 6) == 0 && strcmp(name, "NIDUS_UNKNOWN") != 0);
		expect(strlen(nidus_status_text(statuses[i])) > 5);
		for (size_t j = 0; j < i; j++)
			expect(strcmp(name, nidus_status_name(statuses[j])) != 0);
	}
	assert_string_equal(nidus_status_name(NIDUS_FULL), "NIDUS_FULL");
	assert_string_equal(nidus_status_name(NIDUS_E_CORRUPT), "NIDUS_E_CORRUPT");
	assert_string_equal(nidus_status_name((nidus_status)9), "NIDUS_UNKNOWN");
	assert_string_equal(nidus_status_name((nidus_status)-1), "NIDUS_UNKNOWN");
	expect(nidus_status_text((nidus_status)12345) != NULL);
}

static void family_names_go_round(void **state)
{
	(void)state;
	for (int id = NIDUS_AUTO; id <= NIDUS_BLOCKED_BLOOM; id++) {
		nidus_family found = (nidus_family)77;
		const char *name = nidus_family_name((nidus_family)id);
		expect(name != NULL && name[0] != '\0');
		expect_ok(nidus_family_by_name(name, &found));
		expect_equal(found, id);
	}
	for (const struct family *const *family = families; *family != NULL; family++) {
		assert_string_equal((*family)->name, nidus_family_name((*family)->id));
		expect_equal(nidus_family_features((*family)->id), (*family)->features);
	}
	expect(nidus_family_name((nidus_family)-1) == NULL);
	expect(nidus_family_name((nidus_family)11) == NULL);
	nidus_family kept = NIDUS_WINDOWED;
	expect_bad(nidus_family_by_name("", &kept));
	expect_bad(nidus_family_by_name("Cuckoo", &kept));
	expect_bad(nidus_family_by_name("cuckoo ", &kept));
	expect_equal(kept, NIDUS_WINDOWED);
	expect_equal(nidus_family_features(NIDUS_AUTO), 0);
	expect_equal(nidus_family_features((nidus_family)99), 0);
}

static void plans_tell_of_every_family(void **state)
{
	(void)state;
	nidus_options options = filter_options(1000, 0.01, 1);
	nidus_plan_row rows[16];
	size_t n = 0, chosen = 0, registered = 0;
	while (families[registered] != NULL)
		registered++;
	expect_ok(nidus_plan(&options, NULL, 0, &n));
	expect_equal(n, registered);
	expect_ok(nidus_plan(&options, rows, 16, &n));
	for (size_t i = 0; i < n; i++) {
		expect_ok(rows[i].status);
		chosen += rows[i].chosen;
		nidus_options made = options;
		made.family = rows[i].family;
		nidus_filter *filter = filter_create(&made);
		nidus_info info = info_of(filter);
		expect_equal(rows[i].bytes, info.bytes);
		expect_equal(rows[i].capacity, info.capacity);
		expect_equal(rows[i].slots, info.slots);
		expect_equal(rows[i].fingerprint_bits, info.fingerprint_bits);
		nidus_free(filter);
	}
	expect_equal(chosen, 1);
	if (registered > 1)
		expect_status(nidus_plan(&options, rows, 1, &n), NIDUS_E_BUFFER);
	options.slots = 3;
	expect_ok(nidus_plan(&options, rows, 16, &n));
	expect_status(rows[0].status, NIDUS_E_RANGE);
	expect(rows[0].why_not[0] != '\0' && !rows[0].chosen);
	options.capacity = 0;
	expect_bad(nidus_plan(&options, rows, 16, &n));
	options.capacity = 10;
	options.fpr = 2;
	expect_bad(nidus_plan(&options, rows, 16, &n));
}

static void the_library_tells_what_it_is(void **state)
{
	(void)state;
	char version[40];
	snprintf(version, sizeof version, "%d.%d.%d", NIDUS_VERSION_MAJOR, NIDUS_VERSION_MINOR,
	         NIDUS_VERSION_PATCH);
	assert_string_equal(nidus_version(), version);
	expect_ok(nidus_set_isa("scalar"));
	assert_string_equal(nidus_isa(), "scalar");
	expect_bad(nidus_set_isa("mmx"));
	expect_bad(nidus_set_isa(""));
	assert_string_equal(nidus_isa(), "scalar");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_filter_is_an_argument_error),
		cmocka_unit_test_setup_teardown(no_place_for_the_answer_is_an_argument_error, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(no_input_is_an_argument_error, setup, teardown),
		cmocka_unit_test_setup_teardown(a_null_key_is_a_key_only_without_length, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(batches_of_nothing_do_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(batches_without_a_filter_or_keys_answer_no, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(the_three_key_spaces_are_apart, setup, teardown),
		cmocka_unit_test(a_build_of_nothing_is_an_empty_filter),
		cmocka_unit_test(builds_store_equal_keys_once_unless_asked),
		cmocka_unit_test(entries_that_cannot_be_here_are_out_of_range),
		cmocka_unit_test(every_status_has_a_name_and_words),
		cmocka_unit_test(family_names_go_round),
		cmocka_unit_test(plans_tell_of_every_family),
		cmocka_unit_test(the_library_tells_what_it_is),
		cmocka_unit_test(an_absurd_number_of_keys_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
