/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "recipe.h"
#include "value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings settings = {
	.bf_error_rate = 0.01,
	.cf_error_rate = 0.01,
	.bf_initial_size = 100,
	.bf_expansion_factor = 2,
	.cf_initial_size = 1024,
	.cf_bucket_size = 2,
	.cf_max_iterations = 20,
	.cf_expansion_factor = 1,
	.cf_max_expansions = 32,
};

/* ------------------------------------------------------------------------ the table -- */

static const struct number {
	const char *name, *old_name; /* as an argument of RedisBloom */
	long long *value;
	long long least, most;
	unsigned flags;
} numbers[] = {
	{ "bf-initial-size", "INITIAL_SIZE", &settings.bf_initial_size, 1, RECIPE_CAPACITY_MOST,
	  0 },
	{ "bf-expansion-factor", NULL, &settings.bf_expansion_factor, 0, EXPANSION_MOST, 0 },
	{ "cf-initial-size", NULL, &settings.cf_initial_size, 2, RECIPE_CAPACITY_MOST, 0 },
	{ "cf-bucket-size", NULL, &settings.cf_bucket_size, 1, 255, 0 },
	{ "cf-max-iterations", NULL, &settings.cf_max_iterations, 1, 65535, 0 },
	{ "cf-expansion-factor", NULL, &settings.cf_expansion_factor, 0, EXPANSION_MOST, 0 },
	{ "cf-max-expansions", "CF_MAX_EXPANSIONS", &settings.cf_max_expansions, 1, 65536, 0 },
	{ "max-capacity", NULL, &settings.max_capacity, 0, (long long)RECIPE_MAX_CAPACITY_MOST, 0 },
	{ "max-filter-bytes", NULL, &settings.max_filter_bytes, 0, INT64_MAX,
	  SERVER_CONFIG_MEMORY },
};

static const struct rate {
	const char *name, *old_name;
	double *value;
} rates[] = {
	{ "bf-error-rate", "ERROR_RATE", &settings.bf_error_rate },
	{ "cf-error-rate", NULL, &settings.cf_error_rate },
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---------------------------------------------------------------------------- values -- */

static bool set_rate(double *rate, RedisModuleString *text)
{
	double value;
	if (server.StringToDouble(text, &value) != SERVER_OK ||
	    !(value >= ERROR_LEAST && value < 1))
		return false;
	*rate = value;
	return true;
}

static bool set_number(const struct number *number, long long value)
{
	if (value < number->least || value > number->most)
		return false;
	*number->value = value;
	return true;
}

/* Filters grow by default, so the family must. */
static bool set_family(RedisModuleString *text)
{
	nidus_family family;
	if (!recipe_read_family(text, &family) ||
	    (family != NIDUS_AUTO && ~nidus_family_features(family) & (NIDUS_GROW | NIDUS_DELETE)))
		return false;
	settings.family = family;
	return true;
}

/* ------------------------------------------------------------------- module arguments -- */

/* Whether a word is a name; capitals, `_` and `-` make no difference. */
static bool is_name(const char *word, size_t len, const char *name)
{
	if (name == NULL || strlen(name) != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int a = word[i] == '_' ? '-' : word[i], b = name[i] == '_' ? '-' : name[i];
		if ((a | 32) != (b | 32))
			return false;
	}
	return true;
}

static const char *read_serve(RedisModuleString *text, unsigned *serve)
{
	static const struct {
		const char *word;
		unsigned serve;
	} words[] = { { "cf", SERVE_CF }, { "bf", SERVE_BF }, { "all", SERVE_CF | SERVE_BF } };
	size_t len;
	const char *word = server.StringPtrLen(text, &len);
	for (size_t i = 0; i < COUNT(words); i++)
		if (is_name(word, len, words[i].word)) {
			*serve = words[i].serve;
			return NULL;
		}
	return "COMMANDS can be CF, BF or ALL";
}

static const char *read_number(const struct number *number, RedisModuleString *text)
{
	static char wrong[100];
	long long value;
	if (server.StringToLongLong(text, &value) == SERVER_OK && set_number(number, value))
		return NULL;
	snprintf(wrong, sizeof wrong, "%s must be a number from %lld to %lld", number->name,
	         number->least, number->most);
	return wrong;
}

static const char *read_seed(RedisModuleString *text)
{
	uint64_t seed;
	const char *wrong = recipe_read_seed(text, &seed);
	if (wrong == NULL)
		seed_set(seed);
	return wrong;
}

static const char *read_argument(RedisModuleString *name, RedisModuleString *text, unsigned *serve)
{
	size_t len;
	const char *word = server.StringPtrLen(name, &len);
	for (size_t i = 0; i < COUNT(numbers); i++)
		if (is_name(word, len, numbers[i].name) || is_name(word, len, numbers[i].old_name))
			return read_number(&numbers[i], text);
	for (size_t i = 0; i < COUNT(rates); i++)
		if (is_name(word, len, rates[i].name) || is_name(word, len, rates[i].old_name))
			return set_rate(rates[i].value, text)
			               ? NULL
			               : "an error rate must be at least 2^-32 and less than 1";
	if (is_name(word, len, "family"))
		return set_family(text) ? NULL : "FAMILY must be one that grows and deletes";
	if (is_name(word, len, "seed"))
		return read_seed(text);
	if (is_name(word, len, "commands"))
		return read_serve(text, serve);
	return "there are COMMANDS, SEED, FAMILY, and the settings of docs/redis.md, each with a "
	       "value";
}

const char *settings_read_arguments(RedisModuleString **argv, int argc, unsigned *serve)
{
	const char *wrong = NULL;
	if (argc % 2 != 0)
		return "each has a name and a value";
	for (int i = 0; i < argc && wrong == NULL; i += 2)
		wrong = read_argument(argv[i], argv[i + 1], serve);
	return wrong;
}

/* ---------------------------------------------------------------------------- CONFIG -- */

static int refuse(const char *why, RedisModuleString **error)
{
	*error = server.CreateString(NULL, why, strlen(why));
	return SERVER_ERR;
}

static long long get_number(const char *name, void *context)
{
	(void)name;
	return *((const struct number *)context)->value;
}

static int put_number(const char *name, long long value, void *context, RedisModuleString **error)
{
	(void)name;
	return set_number(context, value) ? SERVER_OK : refuse("out of range", error);
}

/* The server does not free what is returned: one text per setting is kept. */
static RedisModuleString *keep(RedisModuleString **kept, const char *text)
{
	if (*kept != NULL)
		server.FreeString(NULL, *kept);
	*kept = server.CreateString(NULL, text, strlen(text));
	return *kept;
}

static RedisModuleString *get_rate(const char *name, void *context)
{
	static RedisModuleString *kept[COUNT(rates)];
	const struct rate *rate = context;
	char text[40];
	(void)name;
	snprintf(text, sizeof text, "%.10g", *rate->value);
	return keep(&kept[rate - rates], text);
}

static int put_rate(const char *name, RedisModuleString *text, void *context,
                    RedisModuleString **error)
{
	(void)name;
	return set_rate(((const struct rate *)context)->value, text)
	               ? SERVER_OK
	               : refuse("an error rate must be at least 2^-32 and less than 1", error);
}

static RedisModuleString *get_family(const char *name, void *context)
{
	static RedisModuleString *kept;
	(void)name;
	(void)context;
	return keep(&kept, nidus_family_name(settings.family));
}

static int put_family(const char *name, RedisModuleString *text, void *context,
                      RedisModuleString **error)
{
	(void)name;
	(void)context;
	return set_family(text)
	               ? SERVER_OK
	               : refuse("it must be auto or a family that grows and deletes", error);
}

static bool register_rate(RedisModuleCtx *ctx, const struct rate *rate)
{
	char text[40];
	snprintf(text, sizeof text, "%.10g", *rate->value);
	return server.RegisterStringConfig(ctx, rate->name, text, 0, get_rate, put_rate, NULL,
	                                   (void *)rate) == SERVER_OK;
}

bool settings_register(RedisModuleCtx *ctx)
{
	bool ok = true;
	if (server.RegisterNumericConfig == NULL || server.LoadConfigs == NULL)
		return true;
	for (size_t i = 0; i < COUNT(numbers) && ok; i++)
		ok = server.RegisterNumericConfig(ctx, numbers[i].name, *numbers[i].value,
		                                  numbers[i].flags, numbers[i].least,
		                                  numbers[i].most, get_number, put_number, NULL,
		                                  (void *)&numbers[i]) == SERVER_OK;
	for (size_t i = 0; i < COUNT(rates) && ok; i++)
		ok = register_rate(ctx, &rates[i]);
	ok = ok && server.RegisterStringConfig(ctx, "family", nidus_family_name(settings.family), 0,
	                                       get_family, put_family, NULL, NULL) == SERVER_OK;
	return ok && server.LoadConfigs(ctx) == SERVER_OK;
}
