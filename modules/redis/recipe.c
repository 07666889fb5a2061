/* SPDX-License-Identifier: MIT */
#include "recipe.h"

#include "settings.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GROWS_BY 100
#define GROWS_BY_FORGETTING 4 /* a window's items are known, and room to grow costs bits of each */
#define SLICES_USUAL 16
#define SLICES_MOST 254

struct recipe recipe_default(enum kind kind)
{
	bool cf = kind == KIND_CF;
	struct recipe recipe = { .kind = (uint8_t)kind, .family = (uint8_t)settings.family };
	recipe.capacity = (uint64_t)(cf ? settings.cf_initial_size : settings.bf_initial_size);
	recipe.error = cf ? settings.cf_error_rate : settings.bf_error_rate;
	recipe.expansion =
		(uint16_t)(cf ? settings.cf_expansion_factor : settings.bf_expansion_factor);
	recipe.fixed = recipe.expansion == 0;
	recipe.bucket_size = (uint8_t)settings.cf_bucket_size;
	recipe.max_iterations = (uint16_t)settings.cf_max_iterations;
	if (cf && recipe.capacity < 2 * (uint64_t)recipe.bucket_size)
		recipe.capacity = 2 * (uint64_t)recipe.bucket_size;
	return recipe;
}

/* ------------------------------------------------------------------ single options -- */

static bool read_number(RedisModuleString *text, uint64_t *number)
{
	long long value;
	if (server.StringToLongLong(text, &value) != SERVER_OK || value < 0)
		return false;
	*number = (uint64_t)value;
	return true;
}

const char *recipe_parse_capacity(struct recipe *recipe, RedisModuleString *text)
{
	bool cf = recipe->kind == KIND_CF;
	long long value;
	if (server.StringToLongLong(text, &value) != SERVER_OK)
		return cf ? "Bad capacity" : "ERR bad capacity";
	if (!cf && (value < 1 || (uint64_t)value > RECIPE_CAPACITY_MOST))
		return "ERR capacity must be in the range [1, 1073741824]";
	recipe->capacity = value < 0 ? 0 : (uint64_t)value; /* CF: recipe_finish has its say */
	return NULL;
}

const char *recipe_parse_error(struct recipe *recipe, RedisModuleString *text)
{
	bool cf = recipe->kind == KIND_CF;
	if (server.StringToDouble(text, &recipe->error) != SERVER_OK)
		return cf ? "Couldn't parse ERROR" : "ERR bad error rate";
	if (!(recipe->error > 0 && recipe->error < 1))
		return cf ? "ERROR: value must be in the range (0.000000, 1.000000)"
		          : "ERR error rate must be in the range (0.000000, 1.000000)";
	if (recipe->error < ERROR_LEAST)
		return cf ? "ERROR: value must be at least 2^-32 (0.000000000233)"
		          : "ERR error rate must be at least 2^-32 (0.000000000233)";
	return NULL;
}

static const char *parse_expansion(struct recipe *recipe, RedisModuleString *text)
{
	bool cf = recipe->kind == KIND_CF;
	long long value;
	if (server.StringToLongLong(text, &value) != SERVER_OK)
		return cf ? "Couldn't parse EXPANSION" : "ERR bad expansion";
	if (value < 0 || value > EXPANSION_MOST)
		return cf ? "EXPANSION: value must be in the range [0, 32768]"
		          : "ERR expansion must be in the range [0, 32768]";
	recipe->expansion = (uint16_t)value;
	return NULL;
}

static const char *parse_bucket_size(struct recipe *recipe, RedisModuleString *text)
{
	long long value;
	if (server.StringToLongLong(text, &value) != SERVER_OK)
		return "Couldn't parse BUCKETSIZE";
	if (value < 1 || value > 255)
		return "BUCKETSIZE: value must be in the range [1, 255]";
	recipe->bucket_size = (uint8_t)value;
	return NULL;
}

static const char *parse_max_iterations(struct recipe *recipe, RedisModuleString *text)
{
	long long value;
	if (server.StringToLongLong(text, &value) != SERVER_OK)
		return "Couldn't parse MAXITERATIONS";
	if (value < 1 || value > 65535)
		return "MAXITERATIONS: value must be in the range [1, 65535]";
	recipe->max_iterations = (uint16_t)value;
	return NULL;
}

static const char *parse_max_capacity(struct recipe *recipe, RedisModuleString *text)
{
	if (!read_number(text, &recipe->max_capacity))
		return "Couldn't parse MAXCAPACITY";
	if (recipe->max_capacity > RECIPE_MAX_CAPACITY_MOST)
		return "MAXCAPACITY: value must be in the range [0, 1099511627776]";
	if (recipe->max_capacity == 0)
		recipe->max_capacity = NIDUS_UNLIMITED;
	return NULL;
}

bool recipe_read_family(RedisModuleString *text, nidus_family *family)
{
	char name[32] = "";
	size_t len;
	const char *bytes = server.StringPtrLen(text, &len);
	if (len < sizeof name)
		memcpy(name, bytes, len);
	return strlen(name) == len && nidus_family_by_name(name, family) == NIDUS_OK;
}

static const char *parse_family(struct recipe *recipe, RedisModuleString *text)
{
	nidus_family family;
	if (!recipe_read_family(text, &family))
		return "FAMILY: there is auto, cuckoo, semisort, simplified, chunked, bucketed, "
		       "windowed, breadcrumb, bloom and blocked-bloom";
	recipe->family = (uint8_t)family;
	return NULL;
}

const char *recipe_read_seed(RedisModuleString *text, uint64_t *seed)
{
	char digits[24] = "", *end;
	size_t len;
	const char *bytes = server.StringPtrLen(text, &len);
	if (len == 0 || len >= sizeof digits || bytes[0] < '0' || bytes[0] > '9')
		return "Couldn't parse SEED";
	memcpy(digits, bytes, len);
	errno = 0;
	*seed = strtoull(digits, &end, 10);
	if (errno != 0 || end != digits + len)
		return "Couldn't parse SEED";
	return *seed != 0 ? NULL : "SEED: value must be in the range [1, 2^64 - 1]";
}

static const char *parse_window(struct recipe *recipe, RedisModuleString *text)
{
	uint64_t seconds;
	if (!read_number(text, &seconds))
		return "Couldn't parse WINDOW";
	if (seconds < 1 || seconds > WINDOW_MOST)
		return "WINDOW: value must be in the range [1, 1000000000]";
	recipe->window = (uint32_t)seconds;
	return NULL;
}

static const char *parse_slices(struct recipe *recipe, RedisModuleString *text)
{
	uint64_t slices;
	if (!read_number(text, &slices))
		return "Couldn't parse SLICES";
	if (slices < 2 || slices > SLICES_MOST)
		return "SLICES: value must be in the range [2, 254]";
	recipe->slices = (uint8_t)slices;
	return NULL;
}

static const char *parse_seed(struct recipe *recipe, RedisModuleString *text)
{
	return recipe_read_seed(text, &recipe->seed);
}

/* --------------------------------------------------------------------- all options -- */

#define FOR_CF (1u << KIND_CF)
#define FOR_BF (1u << KIND_BF)

static const struct option {
	const char *name;
	unsigned where;
	const char *(*parse)(struct recipe *recipe, RedisModuleString *text);
} options[] = {
	{ "CAPACITY", FOR_CF | FOR_BF, recipe_parse_capacity },
	{ "ERROR", FOR_CF | FOR_BF, recipe_parse_error },
	{ "EXPANSION", FOR_CF | FOR_BF, parse_expansion },
	{ "BUCKETSIZE", FOR_CF, parse_bucket_size },
	{ "MAXITERATIONS", FOR_CF, parse_max_iterations },
	{ "MAXCAPACITY", FOR_CF | FOR_BF, parse_max_capacity },
	{ "FAMILY", FOR_CF | FOR_BF, parse_family },
	{ "SEED", FOR_CF | FOR_BF, parse_seed },
	{ "WINDOW", FOR_CF, parse_window },
	{ "SLICES", FOR_CF, parse_slices },
};

static bool is(RedisModuleString *text, const char *word)
{
	size_t len;
	const char *bytes = server.StringPtrLen(text, &len);
	return len == strlen(word) && strncasecmp(bytes, word, len) == 0;
}

static const struct option *find_option(RedisModuleString *name, enum kind kind, bool insert)
{
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		const struct option *option = &options[i];
		bool positional = option->parse == recipe_parse_capacity ||
		                  (option->parse == recipe_parse_error && kind == KIND_BF);
		if ((option->where & (1u << kind)) && (insert || !positional) &&
		    is(name, option->name))
			return option;
	}
	return NULL;
}

/* Reads one option of two words. */
static const char *parse_pair(struct recipe *recipe, struct arguments *arguments, bool insert)
{
	const struct option *option =
		find_option(arguments->argv[arguments->at], recipe->kind, insert);
	if (option == NULL)
		return "Unknown argument received";
	if (arguments->at + 1 >= arguments->argc)
		return option->parse == parse_expansion && recipe->kind == KIND_BF
		               ? "ERR no expansion"
		               : "Unknown argument received";
	arguments->at += 2;
	return option->parse(recipe, arguments->argv[arguments->at - 1]);
}

/* SINCE, of RESERVE for a filter that forgets: replicas and the AOF are told it. */
static const char *parse_since(struct arguments *arguments)
{
	uint64_t since;
	if (arguments->at + 1 >= arguments->argc)
		return "Unknown argument received";
	arguments->at += 2;
	if (!read_number(arguments->argv[arguments->at - 1], &since))
		return "Couldn't parse SINCE";
	if (since < 1 || since > SINCE_MOST)
		return "SINCE: value must be milliseconds since 1970";
	arguments->since = since;
	return NULL;
}

const char *recipe_parse(struct recipe *recipe, struct arguments *arguments, bool *nocreate)
{
	bool insert = nocreate != NULL, nonscaling = false, expansion = false, family = false;
	const char *wrong = NULL;
	while (wrong == NULL && arguments->at < arguments->argc) {
		RedisModuleString *word = arguments->argv[arguments->at];
		if (insert && is(word, "ITEMS")) {
			arguments->at++;
			break;
		}
		if (insert && is(word, "NOCREATE")) {
			arguments->at++;
			*nocreate = true;
		} else if (recipe->kind == KIND_BF && is(word, "NONSCALING")) {
			arguments->at++;
			nonscaling = true;
		} else if (recipe->kind == KIND_CF && !insert && is(word, "SINCE")) {
			wrong = parse_since(arguments);
		} else {
			expansion = expansion || is(word, "EXPANSION");
			family = family || is(word, "FAMILY");
			wrong = parse_pair(recipe, arguments, insert);
		}
	}
	if (wrong == NULL && nonscaling && expansion)
		return "Nonscaling filters cannot expand";
	recipe->fixed = nonscaling || recipe->expansion == 0;
	if (recipe->window > 0 && !family)
		recipe->family = NIDUS_AUTO; /* the default may be one that cannot forget */
	if (recipe->window > 0 && recipe->slices == 0)
		recipe->slices = SLICES_USUAL;
	if (wrong == NULL && recipe->window == 0 && (recipe->slices > 0 || arguments->since > 0))
		return "SLICES and SINCE: only a filter with a WINDOW has them";
	return wrong;
}

/* ------------------------------------------------------------------------- the rest -- */

static const char *check_capacity(const struct recipe *recipe)
{
	if (recipe->kind == KIND_CF && (recipe->capacity < 2 * (uint64_t)recipe->bucket_size ||
	                                recipe->capacity > RECIPE_CAPACITY_MOST))
		return "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
	if (recipe->max_capacity != 0 && recipe->max_capacity < recipe->capacity)
		return "MAXCAPACITY: value must be at least the capacity";
	if (recipe->window > 0 && recipe->max_capacity == NIDUS_UNLIMITED)
		return "MAXCAPACITY: a filter with a WINDOW needs one, the most items that are "
		       "there at a time";
	if (recipe->fixed && recipe->max_capacity > recipe->capacity)
		return "MAXCAPACITY: this filter does not grow (NONSCALING or EXPANSION 0)";
	return NULL;
}

static const char *check_family(const struct recipe *recipe)
{
	if (recipe->family == NIDUS_AUTO)
		return NULL;
	uint32_t features = nidus_family_features(recipe->family);
	if (features & NIDUS_STATIC)
		return "FAMILY: filters of this one are built at once and never changed; build it "
		       "elsewhere and use NIDUS.IMPORT";
	if (recipe->kind == KIND_CF && !(features & NIDUS_DELETE))
		return "FAMILY: this one cannot delete; it is for BF.* only";
	if (!recipe->fixed && !(features & NIDUS_GROW))
		return "FAMILY: this one cannot grow; it needs NONSCALING";
	return NULL;
}

const char *recipe_finish(struct recipe *recipe)
{
	const char *wrong = check_capacity(recipe);
	if (wrong == NULL)
		wrong = check_family(recipe);
	if (wrong != NULL || recipe->max_capacity != 0)
		return wrong;
	recipe->yielding = !recipe->fixed;
	recipe->max_capacity = recipe->fixed        ? recipe->capacity
	                       : recipe->window > 0 ? recipe->capacity * GROWS_BY_FORGETTING
	                                            : NIDUS_UNLIMITED;
	if (!recipe->fixed && settings.max_capacity != 0)
		recipe_limit(recipe, (uint64_t)settings.max_capacity);
	return NULL;
}

void recipe_limit(struct recipe *recipe, uint64_t least)
{
	recipe->max_capacity = recipe->capacity * GROWS_BY;
	if (recipe->max_capacity < least)
		recipe->max_capacity = least;
}

static bool forgetting_makes_sense(const struct recipe *recipe)
{
	if (recipe->slices == 0)
		return recipe->window == 0;
	return recipe->kind == KIND_CF && recipe->slices >= 2 && recipe->slices <= SLICES_MOST &&
	       recipe->window >= 1 && recipe->window <= WINDOW_MOST;
}

bool recipe_makes_sense(const struct recipe *recipe)
{
	return recipe->capacity >= 1 && recipe->capacity <= RECIPE_LOADED_MOST &&
	       recipe->max_capacity >= recipe->capacity &&
	       (recipe->max_capacity <= RECIPE_LOADED_MOST ||
	        recipe->max_capacity == NIDUS_UNLIMITED) &&
	       recipe->error > 0 && recipe->error < 1 && recipe->expansion <= EXPANSION_MOST &&
	       forgetting_makes_sense(recipe);
}

uint64_t recipe_slice(const struct recipe *recipe)
{
	uint64_t window = recipe->window * UINT64_C(1000), parts = recipe->slices - 1u;
	return (window + parts - 1) / parts;
}

/* The words of a RESERVE command after the key. */
struct words {
	RedisModuleCtx *ctx;
	RedisModuleString *word[24];
	size_t n;
};

static void add_word(struct words *words, const char *word)
{
	assert(words->n < sizeof words->word / sizeof words->word[0]);
	words->word[words->n++] = server.CreateString(words->ctx, word, strlen(word));
}

static void add_number(struct words *words, const char *name, uint64_t number)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
	if (name != NULL)
		add_word(words, name);
	add_word(words, digits);
}

static void add_error(struct words *words, const struct recipe *recipe)
{
	char digits[40];
	snprintf(digits, sizeof digits, "%.17g", recipe->error);
	add_word(words, digits);
}

static void spell_cf(struct words *words, const struct recipe *recipe)
{
	add_number(words, NULL, recipe->capacity);
	add_number(words, "BUCKETSIZE", recipe->bucket_size);
	add_number(words, "MAXITERATIONS", recipe->max_iterations);
	add_number(words, "EXPANSION", recipe->expansion);
	add_word(words, "ERROR");
	add_error(words, recipe);
}

static void spell_bf(struct words *words, const struct recipe *recipe)
{
	add_error(words, recipe);
	add_number(words, NULL, recipe->capacity);
	if (recipe->fixed && recipe->expansion != 0)
		add_word(words, "NONSCALING");
	else
		add_number(words, "EXPANSION", recipe->expansion);
}

void recipe_replicate(const struct recipe *recipe, uint64_t since, RedisModuleCtx *ctx,
                      RedisModuleString *key)
{
	struct words words = { .ctx = ctx };
	bool cf = recipe->kind == KIND_CF;
	(cf ? spell_cf : spell_bf)(&words, recipe);
	add_number(&words, "MAXCAPACITY",
	           recipe->max_capacity == NIDUS_UNLIMITED ? 0 : recipe->max_capacity);
	add_word(&words, "FAMILY");
	add_word(&words, nidus_family_name(recipe->family));
	add_number(&words, "SEED", recipe->seed);
	if (recipe->slices > 0) {
		add_number(&words, "WINDOW", recipe->window);
		add_number(&words, "SLICES", recipe->slices);
		add_number(&words, "SINCE", since);
	}
	server.Replicate(ctx, cf ? "CF.RESERVE" : "BF.RESERVE", "sv", key, words.word, words.n);
	while (words.n > 0)
		server.FreeString(ctx, words.word[--words.n]);
}
