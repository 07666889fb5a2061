/* SPDX-License-Identifier: MIT */
/* A JSON writer that knows where commas belong. */

#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "features.h"
#include "nidus.h"
#include "number.h"
#include "out.h"

static int depth;
static bool first = true;

/* Bytes of the character in UTF-8 that begins here; 0 if none does. The text ends with a NUL. */
static size_t character(const unsigned char *at)
{
	unsigned char lead = at[0];
	size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	/* Neither longer than need be, nor half a pair, nor above U+10FFFF. */
	unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;

	if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4)
		return 0;
	if (length > 1 && (at[1] < least || at[1] > most))
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

/* File names may have bytes that are no UTF-8: those become U+DC80 to U+DCFF, as in Python. */
static void quote(const char *text)
{
	out_byte('"');
	while (*text) {
		unsigned char byte = (unsigned char)*text;
		size_t length = character((const unsigned char *)text);

		if (byte == '"' || byte == '\\')
			out_byte('\\');
		if (length == 0)
			out_format("\\udc%02x", byte);
		else if (byte < 0x20)
			out_format("\\u%04x", byte);
		else
			out_write(text, length);
		text += length > 0 ? length : 1;
	}
	out_byte('"');
}

static void lead(const char *name)
{
	if (!first)
		out_text(", ");
	first = false;
	if (name) {
		quote(name);
		out_text(": ");
	}
}

void json_open(const char *name, char bracket)
{
	lead(name);
	out_byte(bracket);
	first = true;
	depth++;
}

void json_close(char bracket)
{
	out_byte(bracket);
	depth--;
	first = depth == 0;
	if (depth == 0)
		out_byte('\n');
}

void json_text(const char *name, const char *text)
{
	lead(name);
	quote(text);
}

void json_count(const char *name, uint64_t number)
{
	lead(name);
	out_format("%" PRIu64, number);
}

void json_real(const char *name, double number)
{
	char text[NUMBER_TEXT];

	lead(name);
	if (!isfinite(number)) {
		out_text("null");
		return;
	}
	number_text_exact(number, text);
	out_text(text);
}

void json_bool(const char *name, bool value)
{
	lead(name);
	out_text(value ? "true" : "false");
}

void json_null(const char *name)
{
	lead(name);
	out_text("null");
}

void json_bits(const char *name, uint64_t bits)
{
	char text[NUMBER_TEXT];

	snprintf(text, sizeof(text), "0x%016" PRIx64, bits);
	json_text(name, text);
}

void json_features(const char *name, uint32_t features)
{
	json_open(name, '[');
	for (size_t i = 0; i < FEATURES; i++) {
		if (features & feature_list[i].bit)
			json_text(NULL, feature_list[i].name);
	}
	if (features & NIDUS_COMPACT)
		json_text(NULL, COMPACT_NAME);
	if (features & NIDUS_STATIC)
		json_text(NULL, STATIC_NAME);
	json_close(']');
}
