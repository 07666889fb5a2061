/* SPDX-License-Identifier: MIT */
/*
 * nidus dedup: the keys of a stream, each the first time it comes.
 *
 * The filter begins small and grows with the keys, to any size or as -n allows, so that a small
 * stream takes little memory. With --set it is kept in a file, which is locked from the start (kept.h).
 * With --last and --for it forgets (window.h), and keys that come again are refreshed.
 */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "json.h"
#include "kept.h"
#include "key_reader.h"
#include "number.h"
#include "out.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "room.h"
#include "set.h"
#include "shape.h"
#include "window.h"

static const struct kept_defaults defaults = { .fpr = 1e-6, .features = NIDUS_FAST };

struct dedup {
	nidus_options options; /* 0: not given */
	struct output output;  /* its path is the set's; NULL: none is kept */
	bool repeated;         /* -v: print the others */
	bool count;
	bool json;
	struct key_form form;
	struct keys keys;
	nidus_filter *filter;
	bool kept;        /* the filter comes from a set that was there */
	uint64_t room;    /* new keys that fit; of a set that forgets: keys at a time */
	bool relaxed;     /* more came, and the rate rose */
	struct window window;
	uint64_t came[2]; /* keys that came for the first time, and keys that came again */
};

static int take_option(void *context, int id, const char *value)
{
	struct dedup *dedup = context;

	if (keys_take(&dedup->form, id) || window_take(&dedup->window, id, value))
		return ARGS_GO;
	switch (id) {
	case OPTION_SET:
		dedup->output.path = value;
		return ARGS_GO;
	case 'v':
		dedup->repeated = true;
		return ARGS_GO;
	case 'c':
		dedup->count = true;
		return ARGS_GO;
	case OPTION_JSON:
		dedup->json = true;
		return ARGS_GO;
	case OPTION_NO_WAIT:
		dedup->output.no_wait = true;
		return ARGS_GO;
	default:
		return shape_take(&dedup_command, &dedup->options, id, value);
	}
}

/* ---------------------------------------------------------------- the set -- */

/* New keys would get a value that nobody gave. */
static int keeps_values(const struct dedup *dedup)
{
	report_error("%s: the set keeps a value beside each key; nidus dedup needs one without",
	             dedup->output.path);
	return EXIT_UNSUPPORTED;
}

static int open_set(struct dedup *dedup, const struct args *args)
{
	struct stat status;
	int64_t saved = time(NULL);

	dedup->output.in_place = true;
	/* A set with a higher rate would lose keys that nobody expects to lose. */
	if (dedup->options.fpr == 0)
		dedup->options.fpr = defaults.fpr;
	if (dedup->output.path) {
		int code = kept_open(&dedup_command, &dedup->output, "--set", args, &dedup->options,
		                     &dedup->filter);

		dedup->kept = dedup->filter != NULL;
		if (code != EXIT_OK)
			return code;
	}
	if (!dedup->kept) {
		int code = kept_create(&dedup_command, &dedup->options, &defaults, &dedup->filter);

		return code == EXIT_OK ? window_begin(&dedup->window, "", dedup->filter, saved)
		                       : code;
	}
	if (set_value_bits(dedup->filter) > 0)
		return keeps_values(dedup);
	if (stat(dedup->output.path, &status) == 0)
		saved = status.st_mtime;
	return window_begin(&dedup->window, dedup->output.path, dedup->filter, saved);
}

/* --------------------------------------------------------------- the keys -- */

static int full(const struct dedup *dedup)
{
	report_error("%s%sno room for more than %" PRIu64 " new keys (%s); give a larger -n%s",
	             dedup->kept ? dedup->output.path : "", dedup->kept ? ": " : "", dedup->came[0],
	             nidus_reason(), dedup->kept ? " for a new set" : "");
	return EXIT_FULL;
}

static uint64_t room_for_new(const struct dedup *dedup)
{
	return dedup->window.slices > 0 ? room_in(dedup->filter)
	                                : dedup->came[0] + room_left(dedup->filter);
}

/*
 * More keys have come than the filter was made for. Those before are printed already: it goes on
 * at a higher rate, and the end tells.
 */
static int make_room(struct dedup *dedup)
{
	uint64_t room = room_in(dedup->filter);

	if (nidus_grow_relaxed(dedup->filter, room < UINT64_MAX / 2 ? 2 * room : room) != NIDUS_OK)
		return full(dedup);
	dedup->room = room_for_new(dedup);
	dedup->relaxed = true;
	return EXIT_OK;
}

/* A key that may be new. What it finds room for is promised to be found. */
static int put(struct dedup *dedup, uint64_t hash, nidus_status *status)
{
	int code = EXIT_OK;

	*status = nidus_insert_new_hash(dedup->filter, hash);
	if (*status == NIDUS_FULL || (*status == NIDUS_OK && dedup->came[0] == dedup->room))
		code = make_room(dedup);
	if (code == EXIT_OK && *status == NIDUS_FULL)
		*status = nidus_insert_new_hash(dedup->filter, hash);
	return code;
}

/* A key of a set that forgets: all of them are put in or refreshed. */
static int see_recent(struct dedup *dedup, uint64_t hash, uint8_t *again)
{
	nidus_filter *filter = dedup->filter;
	nidus_status status = window_look_at_clock(&dedup->window, filter);
	int code = EXIT_OK;

	*again = nidus_age_hash(filter, hash) >= 0;
	if (!*again && nidus_size(filter) >= dedup->room)
		code = make_room(dedup);
	if (status == NIDUS_OK && code == EXIT_OK)
		status = nidus_insert_hash(filter, hash);
	if (code == EXIT_OK && status == NIDUS_FULL) {
		code = make_room(dedup);
		status = code == EXIT_OK ? nidus_insert_hash(filter, hash) : status;
	}
	if (status == NIDUS_OK)
		status = window_count(&dedup->window, filter);
	if (code != EXIT_OK)
		return code;
	dedup->came[*again]++;
	return status == NIDUS_OK ? EXIT_OK : report_status(dedup_command.name, status);
}

/* Whether a key comes for the first time: *again becomes 0 or 1. */
static int see(struct dedup *dedup, uint64_t hash, uint8_t *again)
{
	nidus_status status = NIDUS_PRESENT;
	int code = *again ? EXIT_OK : put(dedup, hash, &status);

	if (code != EXIT_OK)
		return code;
	if (status != NIDUS_OK && status != NIDUS_PRESENT)
		return report_status(dedup_command.name, status);
	*again = status == NIDUS_PRESENT;
	dedup->came[*again]++;
	return EXIT_OK;
}

static bool prints_keys(const struct dedup *dedup)
{
	return !dedup->count && !dedup->json;
}

static int open_keys(struct dedup *dedup, const struct args *args)
{
	int code = EXIT_OK;

	if (prints_keys(dedup))
		code = output_check_printed(&dedup_command, args->operand, args->n);
	return code == EXIT_OK ? keys_open(&dedup->keys, args->operand, args->n, dedup->form)
	                       : code;
}

static int see_batch(struct dedup *dedup, size_t n)
{
	const struct keys *keys = &dedup->keys;
	bool print = prints_keys(dedup);
	uint64_t hash[KEYS_BATCH];
	uint8_t again[KEYS_BATCH];

	keys_hash(keys, dedup->filter, n, hash);
	nidus_contains_batch(dedup->filter, hash, n, again); /* and brings them into the cache */
	for (size_t i = 0; i < n; i++) {
		int code = dedup->window.slices > 0 ? see_recent(dedup, hash[i], &again[i])
		                                    : see(dedup, hash[i], &again[i]);

		if (code != EXIT_OK)
			return code;
		if (!print || again[i] != dedup->repeated)
			continue;
		out_write(keys->key[i], keys->length[i]);
		out_byte(dedup->form.delimiter);
	}
	return EXIT_OK;
}

static int see_all(struct dedup *dedup)
{
	struct keys *keys = &dedup->keys;
	int code = EXIT_OK;
	size_t n;

	dedup->room = room_for_new(dedup);
	progress_start("looking up", keys->total);
	while (code == EXIT_OK && !out_failed() && (n = keys_read(keys)) > 0) {
		code = see_batch(dedup, n);
		progress_update(keys->count, keys->bytes);
	}
	progress_clear();
	return code == EXIT_OK ? keys->failure : code;
}

/* ---------------------------------------------------------------- the end -- */

static void tell_rate(const struct dedup *dedup)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(dedup->filter, &info);
	report_warning(
		"there were more distinct keys than %s for; new keys were dropped by mistake at a "
		"rate of up to %.3g; give %s a larger -n",
		dedup->kept ? "the set was made" : "-n allows", info.fpr_target,
		dedup->kept ? "a new set" : "dedup");
}

/* Keys that were not printed must not be remembered as if they had been. */
static int finish(struct dedup *dedup)
{
	int code = out_failed() ? EXIT_FILE : EXIT_OK;

	if (dedup->json) {
		json_open(NULL, '{');
		json_count("distinct", dedup->came[0]);
		json_count("repeated", dedup->came[1]);
		json_close('}');
	} else if (dedup->count) {
		out_format("%" PRIu64 "\n", dedup->came[dedup->repeated]);
	}
	if (code == EXIT_OK && dedup->output.path)
		code = out_finish();
	if (code == EXIT_OK && dedup->output.path)
		code = output_save(dedup->filter, &dedup->output);
	if (code == EXIT_OK && dedup->relaxed)
		tell_rate(dedup);
	report_talk("%" PRIu64 " keys: %" PRIu64 " for the first time, %" PRIu64 " again",
	            dedup->keys.count, dedup->came[0], dedup->came[1]);
	return code;
}

static int run(int argc, char **argv)
{
	struct dedup dedup = { .options = NIDUS_OPTIONS_INIT, .form = KEY_FORM_LINES };
	struct args args;
	int code = args_parse(&dedup_command, argc, argv, take_option, &dedup, &args);

	if (code != ARGS_GO)
		return code;
	code = window_read(&dedup_command, &dedup.window, &dedup.options);
	if (code == EXIT_OK)
		code = open_set(&dedup, &args);
	if (code == EXIT_OK)
		code = open_keys(&dedup, &args);
	if (code == EXIT_OK)
		code = see_all(&dedup);
	if (code == EXIT_OK)
		code = finish(&dedup);
	output_release(&dedup.output);
	keys_close(&dedup.keys);
	nidus_free(dedup.filter);
	return code;
}

static const struct option_spec options[] = {
	{ 'n', "capacity", "N",
	  "different keys to expect (default: any number); memory grows\n"
	  "with them, and if there are more, mistakes become likelier" },
	{ 'p', "fpr", "FPR", "how often a new key is mistaken for an old one (default 1e-6)" },
	{ OPTION_SET, "set", "SET",
	  "start with the keys of the set SET, and add the new ones to it" },
	WINDOW_OPTIONS,
	{ OPTION_SEED, "seed", "S", "key the hashing of a new set with S (default: random)" },
	{ 'v', "invert", NULL, "print the repeated keys instead" },
	{ 'c', "count", NULL, "print only how many there are" },
	{ OPTION_JSON, "json", NULL, "print both counts: {\"distinct\": N, \"repeated\": N}" },
	{ '0', "null", NULL, "keys end with a NUL byte instead of a newline, in and out" },
	{ KEYS_U64 },
	{ KEYS_CRLF },
	{ KEYS_PLAIN },
	{ OUTPUT_NO_WAIT },
	{ 0, NULL, NULL, NULL },
};

const struct command dedup_command = {
	.name = "dedup",
	.synopsis = "[-n N] [-p FPR] [--set SET] [OPTION...] [FILE...]",
	.summary = "print each key of a stream once",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and prints\n"
		 "each the first time it occurs, in order. Never prints a key twice. Drops a\n"
		 "new key by mistake with the probability FPR: one in a million by default, and\n"
		 "then about one key in a stream of a million different ones.\n"
		 "\n"
		 "With --set the keys of SET count as seen, and the new ones are added to it\n"
		 "at the end. SET is made, with -n and -p, if it is not there. If more keys come\n"
		 "than -n allows for, the rate of mistakes doubles with each doubling of the\n"
		 "keys, and a warning says so.\n"
		 "\n"
		 "With --last or --for it forgets, and prints a key again that did not come for\n"
		 "so long. A key that comes is new for as long again, printed or not.\n",
	.options = options,
	.examples = "  nidus dedup access.log | wc -l\n"
		    "  nidus dedup --set seen.nidus today.txt > new-today.txt\n"
		    "  tail -f events.log | nidus dedup --last 10M\n"
		    "  nidus dedup --for 24h -n 5M --set day.nidus hour.txt\n"
		    "  find . -type f -printf '%f\\0' | nidus dedup -0 -v\n",
	.run = run,
};
