/* SPDX-License-Identifier: MIT */
/* The key reader: one buffer, cut into keys in place, grown only for keys longer than it. */

#define _POSIX_C_SOURCE 200809L

#include "key_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "number.h"
#include "out.h"
#include "report.h"

/* Large enough that system calls do not matter, small enough to stay in the cache. */
#define FIRST_SIZE ((size_t)1 << 18)

static bool is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

bool keys_take(struct key_form *form, int id)
{
	if (id == '0')
		form->delimiter = '\0';
	else if (id == OPTION_U64)
		form->u64 = true;
	else if (id == OPTION_CRLF)
		form->crlf = true;
	else if (id == OPTION_PLAIN)
		form->plain = true;
	else
		return false;
	return true;
}

static const char *shown(const char *path)
{
	return is_stdin(path) ? "standard input" : path;
}

/* Adds a file's size to the total; a file without a size makes the total unknown. */
static int measure(struct keys *keys, const char *path, bool *known)
{
	struct stat status;
	int answer = is_stdin(path) ? fstat(STDIN_FILENO, &status) : stat(path, &status);

	if (answer != 0)
		return report_system(shown(path), errno);
	if (S_ISDIR(status.st_mode))
		return report_system(shown(path), EISDIR);
	if (S_ISREG(status.st_mode) && status.st_size > 0 &&
	    (keys->form.plain || !input_is_packed(path)))
		keys->total += (uint64_t)status.st_size;
	else
		*known = false;
	return EXIT_OK;
}

int keys_open(struct keys *keys, char **path, size_t paths, struct key_form form)
{
	static char standard_input[] = "-";
	static char *default_path[] = { standard_input };
	bool known = true;

	memset(keys, 0, sizeof(*keys));
	keys->input.file = INPUT_NONE;
	keys->form = form;
	keys->path = paths > 0 ? path : default_path;
	keys->paths = paths > 0 ? paths : 1;
	for (size_t i = 0; i < keys->paths && keys->failure == EXIT_OK; i++)
		keys->failure = measure(keys, keys->path[i], &known);
	if (!known)
		keys->total = 0;
	if (keys->failure != EXIT_OK)
		return keys->failure;
	keys->buffer = malloc(FIRST_SIZE);
	keys->size = FIRST_SIZE;
	if (!keys->buffer)
		keys->failure = report_memory("reading keys");
	return keys->failure;
}

void keys_close(struct keys *keys)
{
	input_close(&keys->input);
	free(keys->buffer);
	keys->buffer = NULL;
}

/* Shows what was printed before waiting; false if it cannot be: then no more keys are wanted. */
static bool show(bool waits)
{
	out_show(waits);
	return !out_failed();
}

/* Goes on to the next file; false if there is none, or if it cannot be opened. */
static bool next_file(struct keys *keys)
{
	const char *path;

	input_close(&keys->input);
	if (keys->next_path == keys->paths)
		return false;
	if (!show(true)) /* a named pipe opens when its writer does */
		return false;
	path = keys->path[keys->next_path++];
	keys->earlier = keys->count;
	keys->at_end = false;
	keys->failure = input_open(&keys->input, path, keys->form.plain);
	if (keys->failure == EXIT_OK && is_stdin(path) && isatty(STDIN_FILENO))
		report_talk("reading keys from the terminal; Ctrl-D ends them");
	return keys->failure == EXIT_OK;
}

/* Makes room after `end`: first by moving the unread part down, then by a larger buffer. */
static bool make_room(struct keys *keys)
{
	char *larger;

	if (keys->start > 0) {
		keys->end -= keys->start;
		keys->scanned -= keys->start;
		memmove(keys->buffer, keys->buffer + keys->start, keys->end);
		keys->start = 0;
	}
	if (keys->end < keys->size)
		return true;
	larger = keys->size <= SIZE_MAX / 2 ? realloc(keys->buffer, keys->size * 2) : NULL;
	if (!larger) {
		keys->failure = report_memory("reading a very long key");
		return false;
	}
	keys->buffer = larger;
	keys->size *= 2;
	return true;
}

/* Whether reading on may wait: a decompressor may need more than what has come. */
static bool may_wait(const struct keys *keys)
{
	struct pollfd more = { .fd = keys->input.file, .events = POLLIN };

	return keys->input.unpacker || poll(&more, 1, 0) == 0;
}

bool keys_pause(const struct keys *keys, int milliseconds)
{
	struct pollfd more = { .fd = keys->input.file, .events = POLLIN };

	if (keys->input.file == INPUT_NONE || keys->at_end || keys->scanned < keys->end)
		return false;
	return poll(&more, 1, milliseconds) == 0;
}

static bool refill(struct keys *keys)
{
	ptrdiff_t got;

	if (!make_room(keys))
		return false;
	if (!show(may_wait(keys)))
		return false;
	got = input_read(&keys->input, keys->buffer + keys->end, keys->size - keys->end);
	if (got < 0) {
		keys->failure = input_code(got);
		return false;
	}
	keys->at_end = got == 0;
	keys->end += (size_t)got;
	keys->bytes += (uint64_t)got;
	return true;
}

/* Cuts the whole keys of the buffer out. */
static size_t cut(struct keys *keys)
{
	const char *end = keys->buffer + keys->end;
	const char *from = keys->buffer + keys->start;
	const char *scan = keys->buffer + keys->scanned;
	size_t n = 0;

	while (n < KEYS_BATCH) {
		const char *found = memchr(scan, keys->form.delimiter, (size_t)(end - scan));

		if (!found) {
			scan = end;
			break;
		}
		keys->key[n] = from;
		keys->length[n++] = (size_t)(found - from);
		from = scan = found + 1;
	}
	keys->start = (size_t)(from - keys->buffer);
	keys->scanned = (size_t)(scan - keys->buffer);
	return n;
}

/* The bytes after the last delimiter of a file, if there are any. */
static size_t cut_last(struct keys *keys)
{
	keys->key[0] = keys->buffer + keys->start;
	keys->length[0] = keys->end - keys->start;
	keys->start = keys->scanned = keys->end;
	return keys->length[0] > 0 ? 1 : 0;
}

static bool ends_in_return(const struct keys *keys, size_t i)
{
	const char *key = keys->key[i];

	return keys->form.delimiter == '\n' && keys->length[i] > 0 &&
	       key[keys->length[i] - 1] == '\r';
}

static void trim(struct keys *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		keys->length[i] -= ends_in_return(keys, i);
}

/* Keys with a carriage return at their end are other keys, which few people mean. */
static void hint(struct keys *keys, size_t n)
{
	size_t seen = 0;

	while (seen < n && seen < 3 && ends_in_return(keys, seen))
		seen++;
	keys->hinted = seen > 0 && (seen == n || seen == 3);
	if (keys->hinted)
		report_warning("%s: the lines end in CR LF, and the CR is taken as a part of each "
		               "key; --crlf leaves it out",
		               keys->input.name);
}

/* What files begin with that are hardly lists of keys. */
static const struct {
	const char *magic;
	size_t length;
	const char *what;
	const char *advice;
} not_keys[] = {
	{ "\xef\xbb\xbf", 3, "text with a byte order mark", "tail -c +4 drops the mark" },
	{ "\xff\xfe", 2, "text in UTF-16", "iconv -f UTF-16 -t UTF-8 converts it" },
	{ "\x89nidus\r\n", 8, "a nidus set", "nidus query -k asks several sets" },
};

/* Says so if a file begins like one of those; keys may be any bytes, so they are taken. */
static void hint_kind(const struct keys *keys)
{
	const char *start = keys->key[0];
	size_t length = (size_t)(keys->buffer + keys->end - start);

	for (size_t i = 0; i < sizeof(not_keys) / sizeof(*not_keys); i++) {
		if (length >= not_keys[i].length &&
		    memcmp(start, not_keys[i].magic, not_keys[i].length) == 0)
			report_warning("%s: this is %s, and its bytes are read as keys; %s",
			               keys->input.name, not_keys[i].what, not_keys[i].advice);
	}
}

/* Says what part of a line is not; a long text, or one of binary rubbish, is not repeated. */
static int report_line(const struct keys *keys, size_t i, const char *part, const char *text,
                       size_t length, const char *is_not)
{
	const char *unit = keys->form.delimiter == '\n' ? "line" : "key";
	uint64_t line = keys->count - keys->earlier + i + 1;
	size_t printable = 0;

	while (printable < length && text[printable] >= ' ' && text[printable] <= '~')
		printable++;
	if (length > 0 && length <= 40 && printable == length)
		report_error("%s: %s %" PRIu64 ": the %s '%.*s' is not %s", keys->input.name, unit,
		             line, part, (int)length, text, is_not);
	else
		report_error("%s: %s %" PRIu64 ": %s %s is not %s", keys->input.name, unit, line,
		             length == 0 ? "an empty" : "the", part, is_not);
	return EXIT_FILE;
}

static int report_key(const struct keys *keys, size_t i)
{
	return report_line(keys, i, "key", keys->key[i], keys->length[i],
	                   "an integer from -2^63 to 2^64 - 1");
}

static uint64_t highest_value(unsigned bits)
{
	return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static int report_value(const struct keys *keys, size_t i, const char *text, size_t length)
{
	char range[64];

	snprintf(range, sizeof(range), "a number from 0 to %" PRIu64,
	         highest_value(keys->form.value_bits));
	return report_line(keys, i, "value", text, length, range);
}

/* There is no tab. */
static int report_no_value(const struct keys *keys, size_t i)
{
	report_error("%s: line %" PRIu64 " has no value: a tab and a number must follow the key",
	             keys->input.name, keys->count - keys->earlier + i + 1);
	return EXIT_FILE;
}

/* The last tab of a line, which need not end with a NUL; NULL if there is none. */
static const char *last_tab(const char *text, size_t length)
{
	while (length > 0 && text[length - 1] != '\t')
		length--;
	return length > 0 ? text + length - 1 : NULL;
}

static bool parse_value(const char *text, size_t length, unsigned bits, uint64_t *value)
{
	uint64_t most = highest_value(bits);

	*value = 0;
	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned)(unsigned char)text[i] - '0';

		if (digit > 9 || digit > most || *value > (most - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	return length > 0;
}

/* Cuts the values from the keys of a batch: how many come before the first that has none. */
static size_t split(struct keys *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *text = keys->key[i], *tab;
		size_t length = keys->length[i] - ends_in_return(keys, i), behind;

		tab = last_tab(text, length);
		behind = tab ? length - (size_t)(tab + 1 - text) : 0;
		if (!tab || !parse_value(tab + 1, behind, keys->form.value_bits, &keys->value[i])) {
			keys->failure = tab ? report_value(keys, i, tab + 1, behind)
			                    : report_no_value(keys, i);
			return i;
		}
		keys->length[i] = (size_t)(tab - text);
	}
	return n;
}

/* The number of one key. Lines that end as on Windows are no reason to refuse a number. */
static bool parse_one(struct keys *keys, size_t i)
{
	const char *text = keys->key[i];
	size_t length = keys->length[i];

	if (ends_in_return(keys, i))
		length--;
	return number_parse_key(text, length, &keys->number[i]);
}

/* Reads the numbers of a batch: how many keys come before the first that is none. */
static size_t parse(struct keys *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!parse_one(keys, i)) {
			keys->failure = report_key(keys, i);
			return i;
		}
	}
	return n;
}

void keys_hash(const struct keys *keys, const nidus_filter *filter, size_t n, uint64_t *hash)
{
	if (keys->form.u64)
		nidus_hash_u64_batch(filter, keys->number, n, hash);
	else
		nidus_hash_batch(filter, keys->key, keys->length, n, hash);
}

size_t keys_read(struct keys *keys)
{
	size_t n = 0;

	while (n == 0 && keys->failure == EXIT_OK) {
		if (keys->input.file == INPUT_NONE) {
			if (!next_file(keys))
				return 0;
			continue;
		}
		n = cut(keys);
		if (n > 0)
			break;
		if (keys->at_end) {
			n = cut_last(keys);
			input_close(&keys->input);
		} else if (!refill(keys)) {
			return 0;
		}
	}
	if (n > 0 && keys->count == keys->earlier)
		hint_kind(keys);
	if (keys->form.crlf)
		trim(keys, n);
	else if (!keys->hinted && keys->form.value_bits == 0 && !keys->form.u64 &&
	         keys->count == keys->earlier)
		hint(keys, n);
	if (keys->form.value_bits > 0)
		n = split(keys, n);
	if (keys->form.u64)
		n = parse(keys, n);
	keys->count += n;
	return n;
}
