/* SPDX-License-Identifier: MIT
 *
 * module: what happens when the server loads nidus_redis.so, and the table of commands.
 *
 *     redis-server --loadmodule build/nidus_redis.so [NAME value]...
 *     redis-cli CF.ADD seen heron
 */
#include "commands.h"
#include "memory.h"
#include "settings.h"
#include "type.h"

#include <stdio.h>
#include <string.h>

#define MODULE_NAME "nidus"
#define MODULE_VERSION \
	(NIDUS_VERSION_MAJOR * 10000 + NIDUS_VERSION_MINOR * 100 + NIDUS_VERSION_PATCH)

/* -------------------------------------------------------------- arguments, for the docs -- */

#define KEY(word)                                                         \
	{                                                                 \
		.name = word, .type = SERVER_ARG_KEY, .key_spec_index = 0 \
	}
#define VALUE(word, kind)                                        \
	{                                                        \
		.name = word, .type = kind, .key_spec_index = -1 \
	}
#define MANY(word, kind)                                                                       \
	{                                                                                      \
		.name = word, .type = kind, .key_spec_index = -1, .flags = SERVER_ARG_MULTIPLE \
	}
#define OPTION(word, kind, upper)                                                 \
	{                                                                         \
		.name = word, .type = kind, .key_spec_index = -1, .token = upper, \
		.flags = SERVER_ARG_OPTIONAL                                      \
	}
#define FLAG(word, upper) OPTION(word, SERVER_ARG_PURE_TOKEN, upper)
#define ITEMS                                                                                      \
	{                                                                                          \
		.name = "item", .type = SERVER_ARG_STRING, .key_spec_index = -1, .token = "ITEMS", \
		.flags = SERVER_ARG_MULTIPLE                                                       \
	}
#define SHAPE                                                      \
	OPTION("max_capacity", SERVER_ARG_INTEGER, "MAXCAPACITY"), \
		OPTION("family", SERVER_ARG_STRING, "FAMILY"),     \
		OPTION("seed", SERVER_ARG_INTEGER, "SEED")
#define CF_SHAPE                                                              \
	OPTION("bucketsize", SERVER_ARG_INTEGER, "BUCKETSIZE"),               \
		OPTION("maxiterations", SERVER_ARG_INTEGER, "MAXITERATIONS"), \
		OPTION("expansion", SERVER_ARG_INTEGER, "EXPANSION"),         \
		OPTION("error", SERVER_ARG_DOUBLE, "ERROR"), SHAPE,           \
		OPTION("window", SERVER_ARG_INTEGER, "WINDOW"),               \
		OPTION("slices", SERVER_ARG_INTEGER, "SLICES")
#define BF_SHAPE                                                                                \
	OPTION("expansion", SERVER_ARG_INTEGER, "EXPANSION"), FLAG("nonscaling", "NONSCALING"), \
		SHAPE
#define END                  \
	{                    \
		.name = NULL \
	}

static struct server_arg key_args[] = { KEY("key"), END };
static struct server_arg item_args[] = { KEY("key"), VALUE("item", SERVER_ARG_STRING), END };
static struct server_arg items_args[] = { KEY("key"), MANY("item", SERVER_ARG_STRING), END };
static struct server_arg merge_args[] = { KEY("dest"),
	                                  { .name = "src",
	                                    .type = SERVER_ARG_KEY,
	                                    .key_spec_index = 1,
	                                    .flags = SERVER_ARG_MULTIPLE },
	                                  END };
static struct server_arg dump_args[] = { KEY("key"), VALUE("iterator", SERVER_ARG_INTEGER), END };
static struct server_arg load_args[] = { KEY("key"), VALUE("iterator", SERVER_ARG_INTEGER),
	                                 VALUE("data", SERVER_ARG_STRING), END };
static struct server_arg tick_args[] = { KEY("key"), VALUE("slices", SERVER_ARG_INTEGER), END };
static struct server_arg import_args[] = {
	KEY("key"),       VALUE("file", SERVER_ARG_STRING), FLAG("cf", "CF"),
	FLAG("bf", "BF"), FLAG("replace", "REPLACE"),       END,
};
static struct server_arg field_args[] = {
	KEY("key"),
	{ .name = "field",
	  .type = SERVER_ARG_STRING,
	  .key_spec_index = -1,
	  .flags = SERVER_ARG_OPTIONAL,
	  .summary = "CAPACITY, SIZE, FILTERS, ITEMS, EXPANSION or ERROR" },
	END,
};
static struct server_arg cf_reserve_args[] = { KEY("key"), VALUE("capacity", SERVER_ARG_INTEGER),
	                                       CF_SHAPE,
	                                       OPTION("since", SERVER_ARG_INTEGER, "SINCE"), END };
static struct server_arg bf_reserve_args[] = { KEY("key"), VALUE("error", SERVER_ARG_DOUBLE),
	                                       VALUE("capacity", SERVER_ARG_INTEGER), BF_SHAPE,
	                                       END };
static struct server_arg cf_insert_args[] = { KEY("key"),
	                                      OPTION("capacity", SERVER_ARG_INTEGER, "CAPACITY"),
	                                      FLAG("nocreate", "NOCREATE"),
	                                      CF_SHAPE,
	                                      ITEMS,
	                                      END };
static struct server_arg bf_insert_args[] = { KEY("key"),
	                                      OPTION("capacity", SERVER_ARG_INTEGER, "CAPACITY"),
	                                      OPTION("error", SERVER_ARG_DOUBLE, "ERROR"),
	                                      FLAG("nocreate", "NOCREATE"),
	                                      BF_SHAPE,
	                                      ITEMS,
	                                      END };

/* ------------------------------------------------------------- keys, for permissions -- */

#define KEY_AT(place, last, what)                                                             \
	{                                                                                     \
		.flags = what, .begin_search_type = SERVER_KEYS_BEGIN_AT_INDEX,               \
		.bs.index.pos = place, .find_keys_type = SERVER_KEYS_ARE_RANGE, .fk.range = { \
			last,                                                                 \
			1,                                                                    \
			0                                                                     \
		}                                                                             \
	}
#define NO_MORE_KEYS       \
	{                  \
		.flags = 0 \
	}

static struct server_key_spec asked[] = { KEY_AT(1, 0, SERVER_KEY_RO), NO_MORE_KEYS };
static struct server_key_spec copied[] = { KEY_AT(1, 0, SERVER_KEY_RO | SERVER_KEY_ACCESS),
	                                   NO_MORE_KEYS };
static struct server_key_spec added_to[] = { KEY_AT(1, 0, SERVER_KEY_RW | SERVER_KEY_INSERT),
	                                     NO_MORE_KEYS };
static struct server_key_spec deleted_from[] = { KEY_AT(1, 0, SERVER_KEY_RW | SERVER_KEY_DELETE),
	                                         NO_MORE_KEYS };
static struct server_key_spec updated[] = { KEY_AT(1, 0, SERVER_KEY_RW | SERVER_KEY_UPDATE),
	                                    NO_MORE_KEYS };
static struct server_key_spec merged[] = {
	KEY_AT(1, 0, SERVER_KEY_RW | SERVER_KEY_ACCESS | SERVER_KEY_INSERT),
	KEY_AT(2, -1, SERVER_KEY_RO | SERVER_KEY_ACCESS), NO_MORE_KEYS
};

/* -------------------------------------------------------------------------- commands -- */

/*
 * In groups: if another module has the first command of a group, the group is left to it.
 */
#define ADDS "write deny-oom"
#define READS "readonly fast"
#define READS_ALL "readonly"

static const struct command {
	const char *name;
	server_command *run;
	const char *flags;
	int arity;
	struct server_key_spec *keys;
	struct server_arg *args;
	const char *complexity, *summary;
} commands[] = {
	{ "cf.reserve", cf_reserve, ADDS, -3, added_to, cf_reserve_args, "O(1)",
	  "Makes a filter for so many items, with the error rate of your choice." },
	{ "cf.add", cf_add, ADDS " fast", 3, added_to, item_args, "O(1)",
	  "Adds an item once more; makes the filter if there is none." },
	{ "cf.addnx", cf_addnx, ADDS " fast", 3, added_to, item_args, "O(1)",
	  "Adds an item unless it seems to be there." },
	{ "cf.insert", cf_insert, ADDS, -4, added_to, cf_insert_args, "O(n) for n items",
	  "Adds items; makes the filter if there is none." },
	{ "cf.insertnx", cf_insertnx, ADDS, -4, added_to, cf_insert_args, "O(n) for n items",
	  "Adds those items that do not seem to be there." },
	{ "cf.exists", cf_exists, READS, 3, asked, item_args, "O(1)",
	  "Tells whether an item is in the filter." },
	{ "cf.mexists", cf_mexists, READS, -3, asked, items_args, "O(n) for n items",
	  "Tells of each item whether it is in the filter." },
	{ "cf.count", cf_count, READS, 3, asked, item_args, "O(1)",
	  "Tells how many copies of an item are in the filter." },
	{ "cf.del", cf_del, "write fast", 3, deleted_from, item_args, "O(1)",
	  "Takes one copy of an item out." },
	{ "cf.mdel", cf_mdel, "write", -3, deleted_from, items_args, "O(n) for n items",
	  "Takes one copy of each item out." },
	{ "cf.compact", cf_compact, "write", 2, updated, key_args, "O(n) for n items in the filter",
	  "Makes the filter as small as its items allow." },
	{ "cf.merge", cf_merge, ADDS, -3, merged, merge_args, "O(n) for n items in the filters",
	  "Puts the items of all filters into the first." },
	{ "cf.info", cf_info, READS, 2, asked, key_args, "O(1)", "Describes a filter." },
	{ "cf.debug", cf_debug, READS, 2, asked, key_args, "O(1)",
	  "Describes a filter in a line." },
	{ "cf.scandump", cf_scandump, READS_ALL, 3, copied, dump_args,
	  "O(n) for n bytes of the filter", "Gives the next chunk of a filter." },
	{ "cf.loadchunk", cf_loadchunk, ADDS, 4, added_to, load_args,
	  "O(n) for n bytes of the filter", "Takes a chunk of a filter." },
	{ "bf.reserve", bf_reserve, ADDS, -4, added_to, bf_reserve_args, "O(1)",
	  "Makes a filter for so many items, with the error rate of your choice." },
	{ "bf.add", bf_add, ADDS " fast", 3, added_to, item_args, "O(1)",
	  "Adds an item; makes the filter if there is none." },
	{ "bf.madd", bf_madd, ADDS, -3, added_to, items_args, "O(n) for n items",
	  "Adds items; makes the filter if there is none." },
	{ "bf.insert", bf_insert, ADDS, -4, added_to, bf_insert_args, "O(n) for n items",
	  "Adds items; makes the filter if there is none." },
	{ "bf.exists", bf_exists, READS, 3, asked, item_args, "O(1)",
	  "Tells whether an item is in the filter." },
	{ "bf.mexists", bf_mexists, READS, -3, asked, items_args, "O(n) for n items",
	  "Tells of each item whether it is in the filter." },
	{ "bf.card", bf_card, READS, 2, asked, key_args, "O(1)",
	  "Tells how many items were added." },
	{ "bf.info", bf_info, READS, -2, asked, field_args, "O(1)", "Describes a filter." },
	{ "bf.debug", bf_debug, READS_ALL, 2, asked, key_args,
	  "O(1), of a Bloom family O(n) for n bytes", "Describes a filter in lines." },
	{ "bf.merge", bf_merge, ADDS, -3, merged, merge_args, "O(n) for n items in the filters",
	  "Puts the items of all filters into the first." },
	{ "bf.scandump", bf_scandump, READS_ALL, 3, copied, dump_args,
	  "O(n) for n bytes of the filter", "Gives the next chunk of a filter." },
	{ "bf.loadchunk", bf_loadchunk, ADDS, 4, added_to, load_args,
	  "O(n) for n bytes of the filter", "Takes a chunk of a filter." },
	{ "nidus.info", filter_info, READS_ALL, 2, asked, key_args,
	  "O(1), of a Bloom family O(n) for n bytes",
	  "Tells family, rates and sizes of a CF or BF filter." },
	{ "nidus.export", filter_export, READS_ALL, 2, copied, key_args,
	  "O(n) for n bytes of the filter", "Gives a filter as a file of nidus." },
	{ "nidus.import", filter_import, ADDS, -3, added_to, import_args,
	  "O(n) for n bytes of the filter", "Makes a filter from a file of nidus." },
	{ "nidus.tick", filter_tick, "write fast", 3, updated, tick_args, "O(1)",
	  "Ends slices of a filter that forgets, as far as their time is over." },
};

/* Where the server has them: COMMAND DOCS, flags of keys, a check of the number of arguments. */
static void describe(RedisModuleCtx *ctx, const struct command *command)
{
	static const struct server_command_info_version version = { 1,
		                                                    sizeof(struct server_history),
		                                                    sizeof(struct server_key_spec),
		                                                    sizeof(struct server_arg) };
	if (server.GetCommand == NULL || server.SetCommandInfo == NULL)
		return;
	RedisModuleCommand *registered = server.GetCommand(ctx, command->name);
	const struct server_command_info info = {
		.version = &version,
		.summary = command->summary,
		.complexity = command->complexity,
		.since = "0.2.0",
		.arity = command->arity,
		.key_specs = command->keys,
		.args = command->args,
	};
	if (registered == NULL || server.SetCommandInfo(registered, &info) != SERVER_OK)
		server.Log(ctx, "warning", "nidus: no docs for %s", command->name);
}

/* Where the server has them: ACL categories `cuckoo` and `bloom` beside its own. */
static void categorize(RedisModuleCtx *ctx, const struct command *command)
{
	char categories[40];
	if (server.SetCommandACLCategories == NULL || server.GetCommand == NULL)
		return;
	RedisModuleCommand *registered = server.GetCommand(ctx, command->name);
	snprintf(categories, sizeof categories, "%s%s %s",
	         command->name[0] == 'c'   ? "cuckoo "
	         : command->name[0] == 'b' ? "bloom "
	                                   : "",
	         strncmp(command->flags, "write", 5) == 0 ? "write" : "read",
	         strstr(command->flags, "fast") != NULL ? "fast" : "slow");
	if (registered == NULL ||
	    server.SetCommandACLCategories(registered, categories) != SERVER_OK)
		server.Log(ctx, "warning", "nidus: no ACL categories for %s", command->name);
}

/* False: another module has it. */
static bool register_command(RedisModuleCtx *ctx, const struct command *command)
{
	int last = command->keys == merged ? -1 : 1;
	if (server.CreateCommand(ctx, command->name, command->run, command->flags, 1, last, 1) !=
	    SERVER_OK)
		return false;
	describe(ctx, command);
	categorize(ctx, command);
	return true;
}

/* Registers the commands that begin with a prefix, if the first of them is free. */
static bool register_group(RedisModuleCtx *ctx, const char *prefix)
{
	bool first = true;
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		const struct command *command = &commands[i];
		if (strncmp(command->name, prefix, strlen(prefix)) != 0)
			continue;
		bool registered = register_command(ctx, command);
		if (!registered && first)
			return false;
		if (!registered)
			server.Log(ctx, "warning",
			           "nidus: another module has %s: it is left to that",
			           command->name);
		first = false;
	}
	return true;
}

/* Registers a group that is wanted, or that may be had. False: it is wanted and taken. */
static bool try_group(RedisModuleCtx *ctx, const char *prefix, unsigned group, unsigned wanted,
                      unsigned *served)
{
	if (wanted != 0 && !(wanted & group))
		return true;
	if (register_group(ctx, prefix)) {
		*served |= group;
		return true;
	}
	server.Log(ctx, wanted != 0 ? "warning" : "notice",
	           "nidus: another module has the commands %s*; they are left to that", prefix);
	return wanted == 0;
}

static bool register_commands(RedisModuleCtx *ctx, unsigned wanted)
{
	unsigned served = 0;
	if (server.AddACLCategory != NULL) { /* it is fine if another module has them */
		(void)server.AddACLCategory(ctx, "cuckoo");
		(void)server.AddACLCategory(ctx, "bloom");
	}
	if (!try_group(ctx, "cf.", SERVE_CF, wanted, &served) ||
	    !try_group(ctx, "bf.", SERVE_BF, wanted, &served))
		return false;
	return served != 0 && register_group(ctx, "nidus.");
}

/* --------------------------------------------------------------------------- the rest -- */

static void add_number(RedisModuleInfoCtx *ctx, const char *name, uint64_t number)
{
	server.InfoAddFieldULongLong(ctx, name, number);
}

/* Filters of each family that there are. */
static void add_families(RedisModuleInfoCtx *ctx, const struct statistics *statistics)
{
	for (int family = 1; family < 16 && nidus_family_name((nidus_family)family) != NULL;
	     family++) {
		char name[60];
		uint64_t n = statistics->filters[family];
		snprintf(name, sizeof name, "filters_%s", nidus_family_name((nidus_family)family));
		for (char *c = name; *c != '\0'; c++)
			if (*c == '-')
				*c = '_';
		if (n > 0)
			add_number(ctx, name, n);
	}
	add_number(ctx, "filters_redisbloom", statistics->legacy);
}

static void info(RedisModuleInfoCtx *ctx, int for_crash_report)
{
	const struct statistics *statistics = value_statistics();
	(void)for_crash_report;
	if (server.InfoAddSection(ctx, "filters") != SERVER_OK)
		return;
	server.InfoAddFieldCString(ctx, "library_version", nidus_version());
	server.InfoAddFieldCString(ctx, "instruction_set", nidus_isa());
	add_number(ctx, "filters", statistics->values);
	add_number(ctx, "bytes", memory_used());
	add_families(ctx, statistics);
	add_number(ctx, "growth_steps", statistics->growth_steps);
	add_number(ctx, "refused_full", statistics->refused_full);
	add_number(ctx, "refused_copies", statistics->refused_copies);
	add_number(ctx, "refused_memory", statistics->refused_memory);
}

static bool read_arguments(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                           unsigned *wanted)
{
	const char *wrong = settings_read_arguments(argv, argc, wanted);
	if (wrong != NULL)
		server.Log(ctx, "warning", "nidus: wrong arguments of the module: %s", wrong);
	return wrong == NULL;
}

static void on_loading(RedisModuleCtx *ctx, struct server_event event, uint64_t which, void *data)
{
	(void)ctx;
	(void)event;
	(void)data;
	if (which < SERVER_LOADING_ENDED)
		seed_forget_origin();
}

static bool listen_to_loading(RedisModuleCtx *ctx)
{
	const struct server_event loading = { SERVER_EVENT_LOADING, SERVER_EVENT_VERSION };
	return server.SubscribeToServerEvent(ctx, loading, on_loading) == SERVER_OK;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc)
{
	const char *missing;
	unsigned wanted = 0;
	if (!server_connect(ctx, &missing))
		return SERVER_ERR; /* without its functions there is no way to complain */
	if (server.IsModuleNameBusy(MODULE_NAME))
		return SERVER_ERR;
	server.SetModuleAttribs(ctx, MODULE_NAME, MODULE_VERSION, 1);
	server.SetModuleOptions(ctx, SERVER_HANDLE_IO_ERRORS);
	if (!read_arguments(ctx, argv, argc, &wanted) || !type_register(ctx) ||
	    !register_commands(ctx, wanted) || !settings_register(ctx) || !listen_to_loading(ctx) ||
	    server.RegisterInfoFunc(ctx, info) != SERVER_OK)
		return SERVER_ERR;
	return SERVER_OK;
}
