/* SPDX-License-Identifier: MIT
 *
 * check: prints the note and the values, then fails the test.
 */
#include "support/check.h"

static char note[256];

void check_note(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(note, sizeof note, format, arguments);
	va_end(arguments);
}

void check_failed(const char *what, const char *file, int line)
{
	print_error("does not hold: %s\n", what);
	if (note[0] != '\0')
		print_error("with: %s\n", note);
	_fail(file, line);
	abort(); /* not reached: _fail leaves the test */
}

void check_equal(uint64_t a, uint64_t b, const char *a_text, const char *b_text, const char *file,
                 int line)
{
	char text[400];
	if (a == b)
		return;
	snprintf(text, sizeof text, "%s == %s (%llu and %llu)", a_text, b_text,
	         (unsigned long long)a, (unsigned long long)b);
	check_failed(text, file, line);
}

void check_status(nidus_status got, nidus_status wanted, const char *call, const char *file,
                  int line)
{
	char text[600];
	if (got == wanted)
		return;
	snprintf(text, sizeof text, "%s is %s; it was %s, \"%s\"", call, nidus_status_name(wanted),
	         nidus_status_name(got), nidus_reason());
	check_failed(text, file, line);
}

void *check_alloc(size_t size)
{
	void *memory = malloc(size > 0 ? size : 1);
	expect(memory != NULL);
	return memory;
}

bool check_small(void)
{
	const char *scale = getenv("NIDUS_TEST_SCALE");
	return scale != NULL && strcmp(scale, "small") == 0;
}
