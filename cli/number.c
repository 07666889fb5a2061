/* SPDX-License-Identifier: MIT */
/* Reads counts, rates and seeds from options; writes counts and sizes for people. */

#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A plain decimal number. strtod alone would also take blanks, signs, "nan",
 * "inf" and hexadecimal, none of which makes sense in an option.
 */
static bool parse_decimal(const char *text, double *number, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return false;
	errno = 0;
	*number = strtod(text, &end);
	*rest = end;
	return end != text && isfinite(*number);
}

static bool parse_unsigned(const char *text, int base, uint64_t *number)
{
	char *end;
	unsigned long long value;

	if (!isxdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, base);
	if (errno != 0 || *end != '\0' || value > UINT64_MAX)
		return false;
	*number = value;
	return true;
}

/* Digits to the end; false if there are none, something else or too many. */
static bool parse_digits(const char *text, const char *end, uint64_t *number)
{
	uint64_t value = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*number = value;
	return true;
}

bool number_parse_key(const char *text, size_t length, uint64_t *key)
{
	bool negative = length > 0 && text[0] == '-';
	uint64_t number;

	if (!parse_digits(text + negative, text + length, &number))
		return false;
	if (negative && number > (uint64_t)1 << 63)
		return false;
	*key = negative ? 0 - number : number;
	return true;
}

static bool parse_multiplier(const char *text, double *factor)
{
	static const struct {
		const char *suffix;
		double factor;
	} suffixes[] = { { "", 1 },    { "k", 1e3 }, { "K", 1e3 },
		         { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 } };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(text, suffixes[i].suffix) == 0) {
			*factor = suffixes[i].factor;
			return true;
		}
	}
	return false;
}

/* 2 to the power of what the text says. */
static bool parse_power(const char *text, uint64_t *count)
{
	uint64_t exponent;

	if (!parse_unsigned(text, 10, &exponent) || exponent > 62)
		return false;
	*count = UINT64_C(1) << exponent;
	return true;
}

bool number_parse_count(const char *text, uint64_t *count)
{
	const char *rest;
	double number, factor;

	if (strspn(text, "0123456789") == strlen(text))
		return parse_unsigned(text, 10, count) && *count > 0 && *count <= INT64_MAX;
	if (strncmp(text, "2^", 2) == 0)
		return parse_power(text + 2, count);
	if (!parse_decimal(text, &number, &rest) || !parse_multiplier(rest, &factor))
		return false;
	/* 1.1k is 1100 although 1.1 has no exact double: forgive what rounding explains. */
	number *= factor;
	if (!(number >= 1) || number >= 0x1p63 || fabs(number - round(number)) > number * 1e-15)
		return false;
	*count = (uint64_t)round(number);
	return true;
}

bool number_parse_rate(const char *text, double *rate)
{
	const char *rest;
	double number, second;

	if (strncmp(text, "2^-", 3) == 0) {
		if (!parse_decimal(text + 3, &second, &rest) || *rest != '\0')
			return false;
		number = pow(2.0, -second);
	} else if (!parse_decimal(text, &number, &rest)) {
		return false;
	} else if (*rest == '/') {
		if (!parse_decimal(rest + 1, &second, &rest) || *rest != '\0')
			return false;
		number /= second;
	} else if (strcmp(rest, "%") == 0) {
		number /= 100;
	} else if (*rest != '\0') {
		return false;
	}
	if (!(number > 0 && number < 1))
		return false;
	*rate = number;
	return true;
}

bool number_parse_seed(const char *text, uint64_t *seed)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

	if (hexadecimal)
		return parse_unsigned(text + 2, 16, seed) && *seed > 0;
	return parse_unsigned(text, 10, seed) && *seed > 0;
}

static void text_scaled(double number, double step, const char *const units[],
                        char text[NUMBER_TEXT])
{
	size_t unit = 0;

	while (number >= step - 0.5 && units[unit + 1]) {
		number /= step;
		unit++;
	}
	snprintf(text, NUMBER_TEXT, "%.*f%s",
	         unit == 0 || number >= 99.95 ? 0
	         : number >= 9.995            ? 1
	                                      : 2,
	         number, units[unit]);
}

void number_text_count(uint64_t count, char text[NUMBER_TEXT])
{
	static const char *const units[] = { "", "k", "M", "G", "T", NULL };

	text_scaled((double)count, 1000, units, text);
}

void number_text_bytes(uint64_t bytes, char text[NUMBER_TEXT])
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB", NULL };

	text_scaled((double)bytes, 1024, units, text);
}

void number_text_exact(double number, char text[NUMBER_TEXT])
{
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, NUMBER_TEXT, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			return;
	}
}
