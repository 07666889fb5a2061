/* SPDX-License-Identifier: MIT */
/*
 * A key is found for slices - 1 whole slices and a part of one, so that is how the window is cut. Slices of time
 * are those of a fixed grid since 1970, so that runs that follow each other agree where they begin; the
 * time that a set was saved tells in which one that was.
 */

#include "window.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "number.h"
#include "report.h"

#define SLICES_DEFAULT 16
#define SLICES_MOST 254
#define SECONDS_MOST UINT64_C(10000000000) /* three centuries */

bool window_take(struct window *window, int id, const char *value)
{
	switch (id) {
	case OPTION_LAST:
		window->last = value;
		return true;
	case OPTION_FOR:
		window->time = value;
		return true;
	case OPTION_SLICES:
		window->slice_text = value;
		return true;
	default:
		return false;
	}
}

/* "90s", "30m", "24h", "7d"; without a letter: seconds. */
static bool parse_time(const char *text, uint64_t *seconds)
{
	static const struct {
		char letter;
		unsigned seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t length = strlen(text);
	char digits[24];
	unsigned unit = 1;

	for (size_t i = 0; i < sizeof units / sizeof *units && length > 1; i++) {
		if (text[length - 1] == units[i].letter)
			unit = units[i].seconds;
	}
	if (length > 1 && strchr("smhd", text[length - 1]))
		length--;
	if (length == 0 || length >= sizeof digits || strspn(text, "0123456789") != length)
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (!number_parse_count(digits, seconds) || *seconds > SECONDS_MOST / unit)
		return false;
	*seconds *= unit;
	return true;
}

static uint64_t slice_length(const struct window *window)
{
	uint64_t whole = window->keys > 0 ? window->keys : window->seconds;

	return (whole - 1) / (window->slices - 1) + 1;
}

static int read_slices(const struct command *command, struct window *window)
{
	uint64_t slices = SLICES_DEFAULT;

	if (window->slice_text && (!number_parse_count(window->slice_text, &slices) || slices < 2 ||
	                           slices > SLICES_MOST))
		return report_usage(command->name, "--slices is 2 to %d, not %s", SLICES_MOST,
		                    window->slice_text);
	window->slices = (unsigned)slices;
	return EXIT_OK;
}

int window_read(const struct command *command, struct window *window, nidus_options *options)
{
	int code;

	if (!window->last && !window->time)
		return window->slice_text ? report_usage(command->name,
		                                         "--slices needs --last or --for")
		                          : EXIT_OK;
	if (window->last && window->time)
		return report_usage(command->name, "--last and --for: give one of them");
	if (window->last && !number_parse_count(window->last, &window->keys))
		return report_usage(command->name, "--last: %s is not a number of keys",
		                    window->last);
	if (window->time && !parse_time(window->time, &window->seconds))
		return report_usage(command->name, "--for: %s is no time such as 90s, 30m, 24h or 7d",
		                    window->time);
	if (window->time && options->capacity == 0)
		return report_usage(command->name,
		                    "--for needs -n: the most different keys in that time");
	code = read_slices(command, window);
	if (code != EXIT_OK)
		return code;
	if (window->keys > UINT64_C(1) << 43)
		return report_usage(command->name, "--last: %s are too many keys", window->last);
	/* A slice has one key, or takes a second, at least. */
	if (window->keys + window->seconds < window->slices - 1)
		window->slices = (unsigned)(window->keys + window->seconds) + 1;
	options->slices = window->slices;
	if (options->capacity == 0) /* with those of the slice that was forgotten last */
		options->capacity = (window->slices + 1) * slice_length(window);
	return EXIT_OK;
}

static int64_t slice_of(const struct window *window, int64_t seconds)
{
	return seconds / (int64_t)window->length;
}

int window_begin(struct window *window, const char *path, nidus_filter *filter, int64_t saved)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(filter, &info);
	if ((info.slices > 0) != (window->slices > 0)) {
		report_error(info.slices > 0
		                     ? "%s: the set forgets keys; say when, with --last or --for"
		                     : "%s: the set forgets no keys; --last and --for need one that "
		                       "was made with them",
		             path);
		return EXIT_UNSUPPORTED;
	}
	if (window->slices == 0)
		return EXIT_OK;
	if (window->slice_text && info.slices != window->slices)
		report_warning("%s: the set was made with --slices %u and stays so", path,
		               info.slices);
	window->slices = info.slices;
	window->length = slice_length(window);
	window->slice = slice_of(window, saved);
	return EXIT_OK;
}

nidus_status window_look_at_clock(struct window *window, nidus_filter *filter)
{
	nidus_status status = NIDUS_OK;
	int64_t now;

	if (window->seconds == 0)
		return NIDUS_OK;
	now = slice_of(window, time(NULL));
	if (now - window->slice > (int64_t)window->slices) /* all is forgotten */
		window->slice = now - (int64_t)window->slices;
	for (; window->slice < now && status == NIDUS_OK; window->slice++)
		status = nidus_tick(filter);
	return status;
}

nidus_status window_count(struct window *window, nidus_filter *filter)
{
	if (window->keys == 0 || ++window->in_slice < window->length)
		return NIDUS_OK;
	window->in_slice = 0;
	return nidus_tick(filter);
}
