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
#include <string.h>
#include <unistd.h>

#include "inspect.h"
#include "json.h"
#include "key_reader.h"
#include "limited.h"
#include "number.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "room.h"
#include "set.h"
#include "shape.h"
#include "spool.h"

struct build {
	nidus_options options;
	struct output output;
	const char *like;
	nidus_info planned; /* with --like: what that set is */
	int shaped_by;      /* the last option that --like leaves no room for; 0: none */
	unsigned threads;
	bool multiset;
	bool json;
	const char *exclude; /* a file of keys that must not match, or NULL */
	struct key_form form;
	struct keys keys;
	struct spool spool;
	struct spool values;    /* with --values, one for each hash */
	struct spool out;       /* with --exclude, the hashes of its keys */
	struct limited limited; /* with --memory */
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
	if (output_take(&build->output, id, value) || keys_take(&build->form, id))
		return ARGS_GO;
	code = limited_take(&build_command, &build->limited, id, value);
	if (code != LIMITED_OTHER)
		return code;
	switch (id) {
	case 't':
		return take_threads(build, value);
	case OPTION_LIKE:
		build->like = value;
		break;
	case OPTION_EXCLUDE:
		build->exclude = value;
		break;
	case OPTION_JSON:
		build->json = true;
		break;
	case OPTION_MULTISET:
		build->multiset = true;
		build->options.features |= NIDUS_MULTISET;
		break;
	}
	return ARGS_GO;
}

/*
 * --like: the other filter itself, for its seed and, when the keys are read, for its
 * shape.
 */
static int copy_shape(struct build *build)
{
	nidus_info *info = &build->planned;
	int code;

	if (build->shaped_by != 0)
		return report_usage(build_command.name,
		                    "--like takes everything from %s: leave --%s out", build->like,
		                    args_name(&build_command, build->shaped_by));
	code = set_load(build->like, &build->filter);
	if (code != EXIT_OK)
		return code;
	*info = (nidus_info)NIDUS_INFO_INIT;
	nidus_get_info(build->filter, info);
	build->form.value_bits = info->value_bits;
	return EXIT_OK;
}

/*
 * The filter itself where keys go straight into it. Otherwise one that is made to
 * see whether the options will do and to draw a seed, and given back at once; a
 * tiny one of that seed is for hashing.
 */
static int create_first(struct build *build, bool direct)
{
	nidus_options options = build->options;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_status status;

	if (options.capacity == 0 && options.max_capacity != NIDUS_UNLIMITED) {
		options.capacity = 1;
		options.max_capacity = options.max_capacity > 1 ? 2 : 0;
	}
	status = nidus_create(&options, &build->filter);
	if (status != NIDUS_OK)
		return shape_refused(&build_command, status);
	if (direct)
		return EXIT_OK;
	nidus_get_info(build->filter, &info);
	nidus_free(build->filter);
	build->options.seed = info.seed;
	options = (nidus_options)NIDUS_OPTIONS_INIT;
	options.capacity = 1;
	options.seed = info.seed;
	status = nidus_create(&options, &build->filter);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(&build_command, status);
}

static int too_many(const struct build *build, uint64_t keys)
{
	bool grows = build->options.max_capacity > build->options.capacity;

	report_error("%" PRIu64 " keys do not fit into a set made for %" PRIu64
	             "; nothing was written; give a larger %s",
	             keys, grows ? build->options.max_capacity : build->options.capacity,
	             grows ? "--grow" : "-n, or none to fit the keys");
	return EXIT_FULL;
}

/* --like: so many keys that hardly any key would be told from them. */
static int beyond_plan(const struct build *build, uint64_t keys)
{
	report_error("%" PRIu64 " keys are too many for the fingerprints of %s, which is made for "
	             "%" PRIu64 " keys; nothing was written; build all sets with --like a larger "
	             "plan: nidus plan --save",
	             keys, set_input_name(build->like), room_of(&build->planned));
	return EXIT_FULL;
}

/* `keys` is what went in or, with `all`, what was to go in. */
static int refused(const struct build *build, nidus_status status, uint64_t keys, bool all)
{
	char where[NUMBER_TEXT + 16];

	if (build->like && (status == NIDUS_E_RANGE || status == NIDUS_FULL ||
	                    (status == NIDUS_COPIES && !build->multiset)))
		return beyond_plan(build, keys);
	snprintf(where, sizeof(where), all ? "with %" PRIu64 : "after %" PRIu64, keys);
	/* Different keys that look the same fill a set too, one that is much too small. */
	if (status == NIDUS_FULL || (status == NIDUS_COPIES && !build->multiset))
		return too_many(build, all ? keys : keys + 1);
	else if (status == NIDUS_COPIES && build->options.capacity == 0 && !build->like)
		report_error(
			"%s; nothing was written; without --multiset equal keys are stored once",
			nidus_reason());
	else if (status == NIDUS_COPIES)
		report_error(
			"no more copies of one key can be counted %s keys; nothing was written; "
			"without --multiset equal keys are stored once",
			where);
	else
		return report_status(build_command.name, status);
	return EXIT_FULL;
}

/* The hashes of the keys that must not match. */
static int read_excluded(struct build *build)
{
	struct key_form form = build->form;
	struct keys *keys = &build->keys;
	char *path = (char *)(uintptr_t)build->exclude;
	size_t n;
	int code;

	if (!build->exclude)
		return EXIT_OK;
	form.value_bits = 0;
	code = keys_open(keys, &path, 1, form);
	if (code != EXIT_OK)
		return code;
	progress_start("reading keys to exclude", keys->total);
	while ((n = keys_read(keys)) > 0) {
		uint64_t *room = spool_room(&build->out, n);

		if (!room)
			return report_memory("keeping the hashes of the keys (8 bytes each)");
		keys_hash(keys, build->filter, n, room);
		build->out.n += n;
		progress_update(keys->count, keys->bytes);
	}
	code = keys->failure;
	keys_close(keys);
	return code;
}

/* Of two arrays that ascend up to the first number that is in both: that number. */
static uint64_t common_hash(const struct spool *a, const struct spool *b)
{
	size_t i = 0, j = 0;

	while (i + 1 < a->n && j + 1 < b->n && a->hash[i] != b->hash[j]) {
		if (a->hash[i] < b->hash[j])
			i++;
		else
			j++;
	}
	return b->hash[j];
}

static int both(const char *path)
{
	report_error("a key of %s is in the list of keys, too; nothing was written", path);
	return EXIT_FILE;
}

/* Looks for the key of --exclude that has this hash, and says that it is in both lists. */
static int tell_both(struct build *build, uint64_t hash)
{
	struct keys *keys = &build->keys;
	char *path = (char *)(uintptr_t)build->exclude;
	uint64_t hashes[KEYS_BATCH];
	size_t n;

	keys_close(keys);
	if (strcmp(path, "-") == 0)
		return both("standard input");
	if (keys_open(keys, &path, 1, build->form) != EXIT_OK)
		return both(path);
	while ((n = keys_read(keys)) > 0) {
		keys_hash(keys, build->filter, n, hashes);
		for (size_t i = 0; i < n; i++) {
			if (hashes[i] != hash)
				continue;
			report_error("key %" PRIu64 " of %s, '%.*s', is in the list of keys, too; "
			             "nothing was written",
			             keys->count - n + i + 1, path,
			             keys->length[i] < 200 ? (int)keys->length[i] : 200,
			             (const char *)keys->key[i]);
			return EXIT_FILE;
		}
	}
	return both(path);
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
		if (build->form.value_bits > 0) {
			uint64_t *beside = spool_room(&build->values, n);

			if (!beside)
				return report_memory(
					"keeping the values of the keys (8 bytes each)");
			memcpy(beside, keys->value, n * sizeof(*beside));
			build->values.n += n;
		}
		keys_hash(keys, build->filter, n, room);
		build->spool.n += n;
		progress_update(keys->count, keys->bytes);
	}
	return keys->failure;
}

/* How far the library is, in keys: nidus_progress. Ctrl-C ends the command as ever. */
static bool show_progress(void *context, double share)
{
	const struct spool *spool = context;
	uint64_t keys = (uint64_t)(share * (double)spool->n);

	progress_update(keys, keys);
	return false;
}

/* The filter of all hashes takes the place of the one that made them. */
static nidus_status build_spool(struct build *build)
{
	struct spool *spool = &build->spool;
	nidus_filter *hasher = build->filter;
	nidus_progress progress = { show_progress, spool };
	nidus_status status;

	build->options.progress = progress;
	progress_start("building", spool->n);
	if (build->exclude)
		status =
			nidus_build_exclude(&build->options, spool->hash, spool->n, build->out.hash,
		                            build->out.n, build->threads, &build->filter);
	else if (build->like)
		status = nidus_build_like(hasher, spool->hash, build->values.hash, spool->n,
		                          build->multiset, build->threads, &progress,
		                          &build->filter);
	else if (build->form.value_bits > 0)
		status = nidus_build_values(&build->options, spool->hash, build->values.hash,
		                            spool->n, build->threads, &build->filter);
	else
		status = nidus_build_hashes(&build->options, spool->hash, spool->n, build->threads,
		                            &build->filter);

	if (status == NIDUS_OK)
		nidus_free(hasher);
	else
		build->filter = hasher;
	return status;
}

static int fill_from_spool(struct build *build)
{
	nidus_status status;
	int code = read_spool(build);

	if (code != EXIT_OK)
		return code;
	status = build_spool(build);
	if (status == NIDUS_E_ARG && build->exclude)
		return tell_both(build, common_hash(&build->spool, &build->out));
	return status == NIDUS_OK ? EXIT_OK : refused(build, status, build->keys.count, true);
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

		keys_hash(keys, build->filter, n, hash);
		status = build->form.value_bits > 0
		                 ? nidus_insert_value_batch(build->filter, hash, keys->value, n,
		                                            &done)
		                 : nidus_insert_batch(build->filter, hash, n, &done);
		if (status != NIDUS_OK)
			return refused(build, status, keys->count - n + done, false);
		progress_update(keys->count, keys->bytes);
	}
	return keys->failure;
}

/* --like takes any number of keys, but the rate is that of all. */
static void compare_with_plan(const struct build *build, const nidus_info *info)
{
	const nidus_info *planned = &build->planned;

	if (build->like && info->fpr_target > 1.005 * planned->fpr_target)
		report_warning("%" PRIu64 " keys are more than the %" PRIu64
		               " that %s is made for: the fpr is %.3g instead of %.3g",
		               info->count, room_of(planned), set_input_name(build->like),
		               info->fpr_target, planned->fpr_target);
}

static void tell(const struct build *build)
{
	nidus_info info = NIDUS_INFO_INIT;
	char size[NUMBER_TEXT];

	if (!build->filter) {
		report_talk("%" PRIu64 " keys read", build->keys.count);
		return;
	}

	nidus_get_info(build->filter, &info);
	room_warn(NULL, build->filter);
	compare_with_plan(build, &info);
	number_text_bytes(info.bytes, size);
	report_talk("%" PRIu64 " keys read, %" PRIu64
	            " stored: %s, %s, %.2f bits per key, fpr %.3g",
	            build->keys.count, info.count, nidus_family_name(info.family), size,
	            info.bits_per_key, info.fpr_now);
}

/* Whether standard input would have to be both lists of keys. */
static bool same_stdin(const struct build *build, const struct args *args)
{
	bool keys = args->n == 0;

	for (size_t i = 0; i < args->n; i++)
		keys = keys || strcmp(args->operand[i], "-") == 0;
	return keys && build->exclude && strcmp(build->exclude, "-") == 0;
}

static int prepare_output(struct build *build, const struct args *args)
{
	int code = build->json ? output_check_json(&build_command, &build->output) : EXIT_OK;

	if (code == EXIT_OK)
		code = output_check_inputs(&build_command, &build->output, args->operand, args->n);
	if (code == EXIT_OK && build->like)
		code = output_check_input(&build_command, &build->output, build->like);
	if (code == EXIT_OK && build->exclude)
		code = output_check_input(&build_command, &build->output, build->exclude);
	return code == EXIT_OK ? output_prepare(&build_command, &build->output) : code;
}

/* ------------------------------------------------------------------ --memory -- */

/* The set that was written, to tell what it is; none if it went to a stream. */
static int open_written(struct build *build)
{
	nidus_free(build->filter);
	build->filter = NULL;
	if (nidus_open(build->output.path, 0, &build->filter) == NIDUS_OK || !build->json)
		return EXIT_OK;
	return set_open(build->output.path, &build->filter); /* which says why not */
}

static void print_json(const struct build *build)
{
	const nidus_builder_info *info = &build->limited.info;

	inspect_json_begin(build->output.path, build->filter);
	json_count("memory_limit", build->limited.memory);
	json_count("temporary_written", info->written);
	json_count("temporary_read", info->read);
	json_close('}');
}

static int build_limited(struct build *build, const struct args *args)
{
	struct limited *limited = &build->limited;
	nidus_status refusal = NIDUS_OK;
	int code = create_first(build, false);

	if (code == EXIT_OK)
		code = limited_begin(&build_command, limited, &build->options, build->threads,
		                     build->output.path);
	if (code == EXIT_OK)
		code = keys_open(&build->keys, args->operand, args->n, build->form);
	if (code == EXIT_OK)
		code = limited_read(limited, &build->keys, build->filter);
	if (code == EXIT_OK)
		code = limited_write(limited, &build->output, &refusal);
	progress_clear();
	if (refusal != NIDUS_OK)
		return refused(build, refusal, build->keys.count, true);
	if (code == EXIT_OK)
		code = open_written(build);
	if (code == EXIT_OK && build->json)
		print_json(build);
	if (code == EXIT_OK)
		tell(build);
	return code;
}

static int check_limited(const struct build *build)
{
	if (build->limited.memory == 0)
		return build->limited.folder
		               ? report_usage(build_command.name, "-T is for --memory: give both")
		               : ARGS_GO;
	if (build->like)
		return report_usage(build_command.name,
		                    "--memory cannot be combined with --like: build several "
		                    "smaller sets "
		                    "like %s, and merge them",
		                    build->like);
	if (build->exclude || build->options.max_capacity > 0)
		return report_usage(build_command.name, "--memory cannot be combined with --%s",
		                    build->exclude ? "exclude" : "grow");
	if (build->multiset && build->options.capacity == 0)
		return report_usage(build_command.name, "--memory with --multiset needs -n");
	return ARGS_GO;
}

/* ---------------------------------------------------------------- everything -- */

static int build_set(struct build *build, const struct args *args)
{
	int code = same_stdin(build, args)
	                   ? report_usage(build_command.name,
	                                  "--exclude - and the keys cannot both be standard input")
	           : build->like ? copy_shape(build)
	                         : EXIT_OK;
	bool direct = build->multiset && build->options.capacity > 0 && !build->like;

	if (code == EXIT_OK)
		code = prepare_output(build, args);
	if (code == EXIT_OK && build->limited.memory > 0)
		return build_limited(build, args);
	if (code == EXIT_OK && !build->like)
		code = create_first(build, direct);
	if (code == EXIT_OK)
		code = read_excluded(build);
	if (code == EXIT_OK)
		code = keys_open(&build->keys, args->operand, args->n, build->form);
	if (code != EXIT_OK)
		return code;
	code = direct ? fill_directly(build) : fill_from_spool(build);
	progress_clear();
	if (code == EXIT_OK && !build->like && room_used(build->filter) > room_in(build->filter))
		code = too_many(build, nidus_size(build->filter));
	if (code != EXIT_OK)
		return code;
	code = output_save(build->filter, &build->output);
	if (code == EXIT_OK && build->json)
		inspect_json(build->output.path, build->filter);
	if (code == EXIT_OK)
		tell(build);
	return code;
}

static int check_exclude(struct build *build)
{
	if (!build->exclude)
		return ARGS_GO;
	if (build->like || build->multiset || build->options.value_bits > 0)
		return report_usage(build_command.name, "--exclude cannot be combined with --%s",
		                    build->like       ? "like"
		                    : build->multiset ? "multiset"
		                                      : "values");
	if (build->options.family == NIDUS_AUTO)
		build->options.features |= NIDUS_STATIC;
	if (!shape_is_static(&build->options))
		return report_usage(
			build_command.name,
			"--exclude takes a static set: leave -f out, or give -f ribbon");
	return ARGS_GO;
}

static unsigned processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 1 ? (unsigned)online : 1;
}

static int run(int argc, char **argv)
{
	struct build build = { .options = NIDUS_OPTIONS_INIT,
		               .threads = processors(),
		               .form = KEY_FORM_LINES };
	struct args args;
	int code = args_parse(&build_command, argc, argv, take_option, &build, &args);

	if (code == ARGS_GO)
		code = check_limited(&build);
	if (code == ARGS_GO)
		code = check_exclude(&build);
	if (code == ARGS_GO)
		code = shape_check(&build_command, &build.options);
	if (code != ARGS_GO)
		return code;
	build.form.value_bits = build.options.value_bits;
	code = build_set(&build, &args);
	output_release(&build.output);
	keys_close(&build.keys);
	spool_free(&build.spool);
	spool_free(&build.values);
	spool_free(&build.out);
	limited_end(&build.limited);
	nidus_free(build.filter);
	return code;
}

static const struct option_spec options[] = {
	{ SHAPE_CAPACITY },
	{ SHAPE_RATE },
	{ SHAPE_FAMILY },
	{ OUTPUT_NEW },
	{ KEYS_NULL },
	{ KEYS_U64 },
	{ KEYS_CRLF },
	{ KEYS_PLAIN },
	{ OPTION_MULTISET, "multiset", NULL, "store every copy of equal keys" },
	{ SHAPE_SLOTS },
	{ SHAPE_FAST },
	{ SHAPE_DELETE },
	{ SHAPE_NO_DELETE },
	{ SHAPE_COMPACT },
	{ SHAPE_STATIC },
	{ OPTION_EXCLUDE, "exclude", "FILE",
	  "a static set that is right about the keys of FILE, too: none\n"
	  "of them matches; -p bounds the rate of all others" },
	{ SHAPE_ENUMERATE },
	{ SHAPE_MERGE },
	{ SHAPE_GROW },
	{ OPTION_VALUES, "values", "BITS",
	  "keep a value beside each key: lines are a key, a tab and a\n"
	  "number of BITS bits, 1 to 32; nidus query --values prints it" },
	{ SHAPE_CONCURRENT },
	{ OPTION_SEED, "seed", "S",
	  "key the hashing with S (default: random); the same seed,\n"
	  "options and keys give the same file" },
	{ OPTION_LIKE, "like", "OTHER",
	  "take family, rate, slots, seed and bits of values from OTHER,\n"
	  "a set or a plan (nidus plan --save), so that both can be\n"
	  "merged; any number of keys fits" },
	{ 't', "threads", "N",
	  "build with N threads (default: one per processor); the set\n"
	  "is the same for any N" },
	{ LIMITED_MEMORY },
	{ LIMITED_FOLDER },
	{ INSPECT_JSON },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ 0, NULL, NULL, NULL },
};

const struct command build_command = {
	.name = "build",
	.synopsis = "[-n N] [-p FPR] [-f FAMILY] [-o OUT] [OPTION...] [FILE...]",
	.summary = "make a set from a list of keys",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and writes a\n"
		 "set of them to OUT. Equal keys are stored once. Without -n the set is made\n"
		 "exactly as large as the keys need, and is complete: to add keys later, give\n"
		 "-n (how many there will be) or --grow. While it works it takes 8 bytes of\n"
		 "memory per key besides the set, or less with --memory, which gives the same\n"
		 "set.\n",
	.options = options,
	.examples =
		"  nidus build -p 0.001 -o words.nidus /usr/share/dict/words\n"
		"  seq 1 1000000 | nidus build -n 1M -p 2^-10 -f cuckoo > numbers.nidus\n"
		"  find . -print0 | nidus build -0 -o paths.nidus\n"
		"  nidus build --static -p 2^-20 -o leaked.nidus leaked.txt\n"
		"  nidus build --exclude valid.txt -o revoked.nidus revoked.txt\n"
		"  zcat *.gz | nidus build --memory 2G -p 0.001 -o seen.nidus\n"
		"  nidus plan -n 5M -p 0.001 --save plan.nidus\n"
		"  nidus build --like plan.nidus -o part1.nidus part1.txt\n"
		"  printf 'heron\\t3\\ncrane\\t1\\n' | nidus build --values 8 -o shards.nidus\n",
	.run = run,
};
