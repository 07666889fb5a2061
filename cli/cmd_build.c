/* SPDX-License-Identifier: MIT */
/*
 * nidus build: a set from a list of keys.
 *
 * The keys' hashes are spooled, so that equal keys are stored once exactly and
 * the filter can be sized by what really came. Only with --multiset and -n do
 * keys go straight into the filter.
 */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "key_reader.h"
#include "number.h"
#include "progress.h"
#include "report.h"
#include "set.h"
#include "shape.h"
#include "spool.h"

/* Hashes per insert call: between two of them the progress line gets its turn. */
#define INSERT_STEP ((size_t)1 << 16)

struct build {
	nidus_options options;
	const char *output;
	const char *like;
	int shaped_by; /* the last option that --like leaves no room for; 0: none */
	unsigned threads;
	bool multiset;
	char delimiter;
	struct keys keys;
	struct spool spool;
	nidus_filter *filter;
};

static int take_threads(struct build *build, const char *value)
{
	uint64_t threads;
	int code = shape_count(&build_command, "-t", value, &threads);

	if (code == ARGS_GO)
		build->threads = threads < 1024 ? (unsigned)threads : 1024;
	return code;
}

static int take_option(void *context, int id, const char *value)
{
	struct build *build = context;
	int code = shape_take(&build_command, &build->options, id, value);

	if (code != SHAPE_OTHER) {
		build->shaped_by = id;
		return code;
	}
	switch (id) {
	case 't':
		return take_threads(build, value);
	case 'o':
		build->output = value;
		break;
	case OPTION_LIKE:
		build->like = value;
		break;
	case OPTION_MULTISET:
		build->multiset = true;
		build->options.features |= NIDUS_MULTISET;
		break;
	case '0':
		build->delimiter = '\0';
		break;
	}
	return ARGS_GO;
}

/*
 * --like: the other filter itself, emptied. Nothing else has surely the same
 * base geometry, whatever it was made with and however far it has grown.
 */
static int copy_shape(struct build *build)
{
	nidus_info info = NIDUS_INFO_INIT;
	int code;

	if (build->shaped_by != 0)
		return report_usage(build_command.name,
		                    "--like takes everything from %s: leave --%s out", build->like,
		                    args_name(&build_command, build->shaped_by));
	code = set_load(build->like, &build->filter);
	if (code != EXIT_OK)
		return code;
	nidus_clear(build->filter);
	nidus_get_info(build->filter, &info);
	build->options.capacity = info.capacity;
	return EXIT_OK;
}

/*
 * The filter if its size is known; otherwise a tiny one, which already has the
 * seed for hashing and refuses what no size could make good.
 */
static int create_first(struct build *build)
{
	nidus_options options = build->options;
	nidus_status status;

	if (build->like)
		return EXIT_OK;
	if (options.capacity == 0) {
		options.capacity = 1;
		options.max_capacity = options.max_capacity > 1 ? 2 : 0;
	}
	status = nidus_create(&options, &build->filter);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(&build_command, status);
}

static int create_sized(struct build *build)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_status status;

	if (build->options.capacity > 0)
		return EXIT_OK;
	nidus_get_info(build->filter, &info);
	nidus_free(build->filter);
	build->options.seed = info.seed;
	build->options.capacity = build->spool.n > 0 ? build->spool.n : 1;
	if (build->options.max_capacity > 0 &&
	    build->options.max_capacity < build->options.capacity)
		build->options.max_capacity = build->options.capacity;
	status = nidus_create(&build->options, &build->filter);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(&build_command, status);
}

static int refused(const struct build *build, nidus_status status, uint64_t inserted,
                   uint64_t total)
{
	char of[NUMBER_TEXT + 8] = "";

	if (total > 0)
		snprintf(of, sizeof(of), " of %" PRIu64, total);
	/* Different keys that look the same fill a set too, one that is much too small. */
	if (status == NIDUS_FULL || (status == NIDUS_COPIES && !build->multiset))
		report_error("the set is full after %" PRIu64 "%s keys and was not written; "
		             "%s",
		             inserted, of,
		             build->like ? "give -n instead of --like"
		                         : "give a larger -n, or none to fit the keys");
	else if (status == NIDUS_COPIES)
		report_error("no room for another copy of one key after %" PRIu64 "%s keys; "
		             "nothing was written; without --multiset equal keys are stored once",
		             inserted, of);
	else
		return report_status(build_command.name, status);
	return EXIT_FULL;
}

/* Inserts all hashes of the spool; *at is how many went in. */
static nidus_status insert_spool(struct build *build, size_t *at)
{
	const struct spool *spool = &build->spool;

	progress_start("inserting", spool->n);
	for (*at = 0; *at < spool->n;) {
		size_t step = spool->n - *at < INSERT_STEP ? spool->n - *at : INSERT_STEP;
		size_t done = 0;
		nidus_status status =
			nidus_insert_batch(build->filter, spool->hash + *at, step, &done);

		*at += done;
		if (status != NIDUS_OK)
			return status;
		progress_update(*at, *at);
	}
	return NIDUS_OK;
}

/* Starts again with a quarter more room than last time. */
static int enlarge(struct build *build)
{
	nidus_status status;

	nidus_free(build->filter);
	build->options.capacity += build->options.capacity / 4 + 1;
	status = nidus_create(&build->options, &build->filter);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(&build_command, status);
}

/*
 * Copies of a key crowd its few slots, so that a set sized for as many different
 * keys may not hold them: where the size is ours to choose, it gives way.
 */
static int insert_and_fit(struct build *build, bool sized_here)
{
	size_t at;
	nidus_status status = insert_spool(build, &at);

	while (status == NIDUS_FULL && sized_here && build->multiset &&
	       build->options.capacity / 8 < build->spool.n) {
		int code = enlarge(build);

		if (code != EXIT_OK)
			return code;
		status = insert_spool(build, &at);
	}
	return status == NIDUS_OK ? EXIT_OK : refused(build, status, at, build->spool.n);
}

static int read_spool(struct build *build)
{
	struct keys *keys = &build->keys;
	size_t n;

	progress_start("reading", keys->total);
	while ((n = keys_read(keys)) > 0) {
		uint64_t *room = spool_room(&build->spool, n);

		if (!room)
			return report_memory("keeping the hashes of the keys (8 bytes each)");
		nidus_hash_batch(build->filter, keys->key, keys->length, n, room);
		build->spool.n += n;
		progress_update(keys->count, keys->bytes);
	}
	return keys->failure;
}

static int fill_from_spool(struct build *build)
{
	bool sized_here = build->options.capacity == 0;
	int code = read_spool(build);

	if (code != EXIT_OK)
		return code;
	if (!build->multiset)
		spool_unique(&build->spool, build->threads);
	code = create_sized(build);
	return code == EXIT_OK ? insert_and_fit(build, sized_here) : code;
}

static int fill_directly(struct build *build)
{
	struct keys *keys = &build->keys;
	uint64_t hash[KEYS_BATCH];
	size_t n;

	progress_start("inserting", keys->total);
	while ((n = keys_read(keys)) > 0) {
		size_t done = 0;
		nidus_status status;

		nidus_hash_batch(build->filter, keys->key, keys->length, n, hash);
		status = nidus_insert_batch(build->filter, hash, n, &done);
		if (status != NIDUS_OK)
			return refused(build, status, keys->count - n + done, 0);
		progress_update(keys->count, keys->bytes);
	}
	return keys->failure;
}

static void tell(const struct build *build)
{
	nidus_info info = NIDUS_INFO_INIT;
	char size[NUMBER_TEXT];

	nidus_get_info(build->filter, &info);
	if (info.count > info.capacity)
		report_warning("%" PRIu64 " keys are more than the capacity of %" PRIu64
		               ": they fit this time; the fpr is now %.3g, its target %.3g",
		               info.count, info.capacity, info.fpr_now, info.fpr_target);
	number_text_bytes(info.bytes, size);
	report_talk("%" PRIu64 " keys read, %" PRIu64
	            " stored: %s, %s, %.2f bits per key, fpr %.3g",
	            build->keys.count, info.count, nidus_family_name(info.family), size,
	            info.bits_per_key, info.fpr_now);
}

static int build_set(struct build *build, const struct args *args)
{
	bool direct;
	int code = build->like ? copy_shape(build) : EXIT_OK;

	if (code == EXIT_OK)
		code = set_check_output(&build_command, &build->output);
	if (code == EXIT_OK)
		code = create_first(build);
	if (code == EXIT_OK)
		code = keys_open(&build->keys, args->operand, args->n, build->delimiter);
	if (code != EXIT_OK)
		return code;
	direct = build->multiset && build->options.capacity > 0;
	code = direct ? fill_directly(build) : fill_from_spool(build);
	progress_clear();
	if (code != EXIT_OK)
		return code;
	code = set_save(build->filter, build->output);
	if (code == EXIT_OK)
		tell(build);
	return code;
}

static int run(int argc, char **argv)
{
	struct build build = { .options = NIDUS_OPTIONS_INIT, .threads = 1, .delimiter = '\n' };
	struct args args;
	int code = args_parse(&build_command, argc, argv, take_option, &build, &args);

	if (code != ARGS_GO)
		return code;
	code = build_set(&build, &args);
	keys_close(&build.keys);
	spool_free(&build.spool);
	nidus_free(build.filter);
	return code;
}

static const struct option_spec options[] = {
	{ SHAPE_CAPACITY },
	{ SHAPE_RATE },
	{ SHAPE_FAMILY },
	{ 'o', "output", "OUT", "where the set goes (default: stdout, if that is no terminal)" },
	{ '0', "null", NULL, "keys end with a NUL byte instead of a newline" },
	{ OPTION_MULTISET, "multiset", NULL, "store every copy of equal keys" },
	{ SHAPE_SLOTS },
	{ SHAPE_GROW },
	{ OPTION_SEED, "seed", "S",
	  "key the hashing with S (default: random); the same seed,\n"
	  "options and keys give the same file" },
	{ OPTION_LIKE, "like", "OTHER",
	  "take family, capacity, rate, slots and seed from the set\n"
	  "OTHER, so that both can be merged" },
	{ 't', "threads", "N", "sort the keys' hashes with N threads (default 1)" },
	{ 0, NULL, NULL, NULL },
};

const struct command build_command = {
	.name = "build",
	.synopsis = "[-n N] [-p FPR] [-f FAMILY] [-o OUT] [OPTION...] [FILE...]",
	.summary = "make a set from a list of keys",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and writes a\n"
		 "set of them to OUT. Equal keys are stored once. Without -n the set is made\n"
		 "exactly as large as the keys need. Takes 8 bytes of memory per key beside the\n"
		 "set while it works.\n",
	.options = options,
	.examples = "  nidus build -p 0.001 -o words.nidus /usr/share/dict/words\n"
		    "  seq 1 1000000 | nidus build -n 1M -p 2^-10 -f cuckoo > numbers.nidus\n"
		    "  find . -print0 | nidus build -0 -o paths.nidus\n",
	.run = run,
};
