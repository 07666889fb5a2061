/* SPDX-License-Identifier: MIT
 *
 * Threads with small stacks: what calls take of it is bounded, at the brim too.
 *
 * The stack of a thread is filled with a pattern before, and what of it has changed
 * afterwards is what the calls took.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "api/builder.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"

/*
 * The header promises 24 KiB. What the C library takes for itself, thread-local variables of
 * all libraries among it, is measured by a thread that does nothing. Frames under sanitizers
 * are several times as large: there the calls run, and are not measured.
 */
#define PROMISE ((size_t)24 * 1024)
#define STACK ((size_t)1024 * 1024)
#define PATTERN 0xa5

/* What a thread has to do. */
struct work {
	nidus_options options;
	void (*run)(struct work *work);
};

static void nothing(struct work *work)
{
	(void)work;
}

static void *run(void *context)
{
	struct work *work = context;
	work->run(work);
	return NULL;
}

/* Bytes of stack that a thread took for its work. */
static size_t stack_taken(struct work *work)
{
	pthread_attr_t attributes;
	pthread_t thread;
	size_t untouched = 0;
	unsigned char *stack =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(stack != MAP_FAILED);
	memset(stack, PATTERN, STACK);
	expect_equal(pthread_attr_init(&attributes), 0);
	expect_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
	expect_equal(pthread_create(&thread, &attributes, run, work), 0);
	expect_equal(pthread_join(thread, NULL), 0);
	expect_equal(pthread_attr_destroy(&attributes), 0);
	while (untouched < STACK && stack[untouched] == PATTERN)
		untouched++;
	expect_equal(munmap(stack, STACK), 0);
	return STACK - untouched;
}

static void expect_small(struct work *work)
{
	struct work idle = { .run = nothing };
	size_t taken = stack_taken(work);
	if (check_small())
		return;
	taken -= stack_taken(&idle);
	if (taken > PROMISE)
		fprintf(stderr, "%zu bytes of stack\n", taken);
	expect(taken <= PROMISE);
}

/* ------------------------------------------------------------------------- work -- */

/* Inserts until 10 keys found no place: searches went as far as they may. */
static void fill_to_the_brim(struct work *work)
{
	nidus_filter *filter = filter_create(&work->options);
	uint64_t most = 2 * info_of(filter).capacity;
	for (uint64_t key = 0, refused = 0; refused < 10 && key < most; key++)
		refused += (key % 2 ? nidus_insert_u64(filter, key)
		                    : nidus_insert_new_u64(filter, key)) == NIDUS_FULL;
	for (uint64_t key = 0; key < most; key++)
		(void)nidus_remove_u64(filter, key);
	nidus_free(filter);
}

static void build(struct work *work)
{
	nidus_filter *filter;
	uint64_t n = work->options.capacity, *keys = check_alloc(n * sizeof *keys);
	for (uint64_t i = 0; i < n; i++)
		keys[i] = i;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		expect_ok(nidus_build_u64(&work->options, keys, n, threads, &filter));
		nidus_free(filter);
	}
	free(keys);
}

/* With runs in a file, to a file in the end. */
static void build_within_a_limit(struct work *work)
{
	nidus_builder *builder;
	struct chance chance = { 17 };
	if (nidus_builder_create(&work->options, UINT64_C(16) << 20, folder_path("."), 2,
	                         &builder) != NIDUS_OK)
		return; /* a table that is one piece */
	builder->spill.room = builder->spill.usual_room = work->options.capacity / 3 + 1;
	for (uint64_t i = 0; i < work->options.capacity; i++)
		expect_ok(work->options.value_bits > 0
		                  ? nidus_builder_add_value_hash(builder, chance_next(&chance), 3)
		                  : nidus_builder_add_hash(builder, chance_next(&chance)));
	expect_ok(nidus_builder_save(builder, folder_path("set")));
	nidus_builder_free(builder);
}

/* From small to large, then saved, loaded, merged and made small again. */
static void live(struct work *work)
{
	nidus_filter *filter, *loaded, *merged;
	work->options.max_capacity = 8 * work->options.capacity;
	if (nidus_create(&work->options, &filter) != NIDUS_OK)
		return;
	for (uint64_t key = 0; key < work->options.max_capacity; key++)
		expect_ok(nidus_insert_u64(filter, key));
	struct bytes bytes = bytes_save(filter);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	expect_ok(nidus_verify(loaded, NULL));
	for (uint64_t key = 0; key < work->options.max_capacity; key++)
		expect_ok(nidus_remove_u64(filter, key));
	expect_ok(nidus_merge(filter, loaded, &merged));
	expect_ok(nidus_shrink(filter, 0));
	nidus_free(merged);
	nidus_free(loaded);
	nidus_free(filter);
	bytes_free(&bytes);
}

static void visit(const struct shape *shape, void *context)
{
	void (*const calls)(struct work *) = *(void (**)(struct work *))context;
	const uint32_t features = shape->family->features & NIDUS_DELETE ? NIDUS_CONCURRENT : 0;
	for (unsigned shared = 0; shared < 2; shared++) {
		struct work work = { shape_options(shape, check_small() ? 500 : 2000, 5), calls };
		work.options.features |= shared ? features : 0;
		check_note("%s, %u slots, 2^-%u%s", shape->family->name, shape->slots, shape->k,
		           shared ? ", shared" : "");
		expect_small(&work);
	}
}

/* At one width of every class that has code of its own. */
static void expect_small_everywhere(void (*calls)(struct work *))
{
	for (unsigned k = 4; k <= 20; k += check_small() ? 16 : 5)
		each_layout(k, k, visit, &calls);
}

static void inserts_to_the_brim_take_little_stack(void **state)
{
	(void)state;
	expect_small_everywhere(fill_to_the_brim);
}

static void builds_take_little_stack(void **state)
{
	(void)state;
	expect_small_everywhere(build);
}

static void growth_files_and_merges_take_little_stack(void **state)
{
	(void)state;
	expect_small_everywhere(live);
}

static void builders_take_little_stack(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned bits = 0; bits <= 20; bits += 10) {
			struct work work = { filter_options(check_small() ? 80000 : 300000, 0x1p-8,
				                            5),
				             build_within_a_limit };
			work.options.family = (*family)->id;
			work.options.value_bits = bits;
			check_note("%s, values of %u bits", (*family)->name, bits);
			expect_small(&work);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inserts_to_the_brim_take_little_stack),
		cmocka_unit_test(builds_take_little_stack),
		cmocka_unit_test(growth_files_and_merges_take_little_stack),
		cmocka_unit_test_setup_teardown(builders_take_little_stack, folder_setup,
		                                folder_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
