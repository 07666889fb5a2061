/* SPDX-License-Identifier: MIT
 *
 * bench_lines: cache lines that one operation of the breadcrumb family touches.
 *
 *     ./dev bench lines [KEYS] [--seed N] [--json]     10000000 keys if left out
 *
 * For each shape of lines a filter is filled to its capacity by the
 * library's own code, compiled with a counter; what is printed are means of
 * different lines per operation:
 *
 *     absent    lookups of a million keys that were never inserted
 *     present   lookups of a million inserted keys, evenly spread
 *     insert    the last 5 % of the inserts
 *     remove    the first 1 % of the keys, from the full filter
 *
 * Who has to leave the front line asks both lines of the backyard at once, present or not: one
 * after the other would be fewer lines, and slower. So a lookup touches 1 line and 2 for each that
 * leaves, and the bars are for 6.5 % of the absent keys and 6 % of the present ones.
 *
 * Exit 1 if a mean is above its bar.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside_yard.h"
#include "machine.h"

#define TRIALS UINT64_C(1000000)
#define FIRST_ABSENT (UINT64_C(1) << 60) /* the first absent key */

static const struct bar {
	const char *name;
	double most; /* lines; 0: no bar */
} bars[] = { { "absent", 1.13 }, { "present", 1.12 }, { "insert", 1.95 }, { "remove", 0 } };

enum { ABSENT, PRESENT, INSERT, REMOVE, KINDS };

/* Rates that lead to each kind of lines. */
static const double rates[] = { 0x1p-6,  0x1p-7,  0x1p-8,  0x1p-9,  0x1p-10, 0x1p-11,
	                        0x1p-12, 0x1p-13, 0x1p-14, 0x1p-15, 0x1p-16, 0x1p-24 };

struct settings {
	uint64_t keys, seed;
	bool json, failed, begun;
};

struct result {
	unsigned width; /* of remainders */
	double bits_per_key, lines[KINDS];
};

static void give_up(const char *what)
{
	fprintf(stderr, "bench_lines: %s: %s\n", what, nidus_reason());
	exit(2);
}

/* Lines per insert of the last 5 % of the keys. */
static double fill(struct inside_yard *yard, uint64_t keys)
{
	uint64_t first = keys - (keys + 19) / 20, lines = 0;
	for (uint64_t key = 0; key < keys; key++) {
		if (inside_yard_insert(yard, key) != NIDUS_OK)
			give_up("an insert within the capacity failed");
		lines += key >= first ? inside_yard_lines() : 0;
	}
	return (double)lines / (double)(keys - first);
}

static double look_up(const struct inside_yard *yard, uint64_t first, uint64_t step, uint64_t n)
{
	uint64_t lines = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (!inside_yard_contains(yard, first + i * step) && first == 0)
			give_up("a key is lost");
		lines += inside_yard_lines();
	}
	return (double)lines / (double)n;
}

static double take_out(struct inside_yard *yard, uint64_t step, uint64_t n)
{
	uint64_t lines = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (inside_yard_remove(yard, i * step) != NIDUS_OK)
			give_up("a key is lost");
		lines += inside_yard_lines();
	}
	return (double)lines / (double)n;
}

static struct result measure(const struct settings *settings, double rate)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = settings->keys;
	options.fpr = rate;
	options.seed = settings->seed;
	struct inside_yard *yard = inside_yard_create(&options);
	if (yard == NULL)
		give_up("no filter");
	uint64_t keys = settings->keys, some = keys < TRIALS ? keys : TRIALS;
	struct result result = { .width = inside_yard_width(yard) };
	result.bits_per_key = (double)inside_yard_bits(yard) / (double)keys;
	result.lines[INSERT] = fill(yard, keys);
	result.lines[ABSENT] = look_up(yard, FIRST_ABSENT, 1, TRIALS);
	result.lines[PRESENT] = look_up(yard, 0, keys / some, some);
	some = (keys + 99) / 100;
	result.lines[REMOVE] = take_out(yard, keys / some, some);
	inside_yard_free(yard);
	return result;
}

/* ---------------------------------------------------------------------- output -- */

static bool passes(const struct result *result, unsigned kind)
{
	return bars[kind].most <= 0 || result->lines[kind] <= bars[kind].most;
}

static void print_json(struct settings *settings, const struct result *result)
{
	printf("%s\n  {\"width\": %u, \"bits_per_key\": %.3f", settings->begun ? "," : "",
	       result->width, result->bits_per_key);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		printf(", \"%s\": %.4f", bars[kind].name, result->lines[kind]);
		if (bars[kind].most > 0)
			printf(", \"%s_pass\": %s", bars[kind].name,
			       passes(result, kind) ? "true" : "false");
	}
	printf("}");
	settings->begun = true;
}

static void print_row(const struct result *result)
{
	printf("%5u  %8.3f", result->width, result->bits_per_key);
	for (unsigned kind = 0; kind < KINDS; kind++)
		printf("  %6.4f %s", result->lines[kind],
		       bars[kind].most <= 0   ? "-   "
		       : passes(result, kind) ? "pass"
		                              : "FAIL");
	printf("\n");
}

static void begin(const struct settings *settings)
{
	if (settings->json) {
		printf("{\"cpu\": \"%s\", \"compiler\": \"%s\", \"keys\": %llu, \"seed\": %llu, "
		       "\"rows\": [",
		       machine_cpu(), machine_compiler(), (unsigned long long)settings->keys,
		       (unsigned long long)settings->seed);
		return;
	}
	printf("%s, %s; %llu keys, seed %llu\n", machine_cpu(), machine_compiler(),
	       (unsigned long long)settings->keys, (unsigned long long)settings->seed);
	printf("cache lines per operation at full capacity; bars: absent %.2f, present %.2f, "
	       "inserts of the last 5 %% %.2f\n",
	       bars[ABSENT].most, bars[PRESENT].most, bars[INSERT].most);
	printf("width  bits/key  absent       present      insert       remove\n");
}

static void usage(void)
{
	fprintf(stderr, "usage: bench_lines [KEYS] [--seed N] [--json]\n");
	exit(2);
}

static uint64_t read_number(const char *text)
{
	char *after;
	if (text == NULL)
		usage();
	unsigned long long number = strtoull(text, &after, 10);
	if (after == text || *after != '\0' || number < 1)
		usage();
	return number;
}

int main(int argc, char **argv)
{
	struct settings settings = { .keys = 10000000, .seed = 1 };
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			settings.json = true;
		else if (strcmp(argv[i], "--seed") == 0)
			settings.seed = read_number(argv[++i]);
		else
			settings.keys = read_number(argv[i]);
	}
	begin(&settings);
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct result result = measure(&settings, rates[i]);
		for (unsigned kind = 0; kind < KINDS; kind++)
			settings.failed |= !passes(&result, kind);
		if (settings.json)
			print_json(&settings, &result);
		else
			print_row(&result);
		fflush(stdout);
	}
	if (settings.json)
		printf("\n]}\n");
	return settings.failed;
}
