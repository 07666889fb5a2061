/* SPDX-License-Identifier: MIT
 *
 * settings: what the operator of a server decides, by CONFIG SET nidus.NAME or when the module is
 * loaded. The names are RedisBloom's where it has the same setting.
 */
#ifndef NIDUS_REDIS_SETTINGS_H
#define NIDUS_REDIS_SETTINGS_H

#include "nidus.h"
#include "server.h"

struct settings {
	double bf_error_rate, cf_error_rate;
	long long bf_initial_size, bf_expansion_factor;
	long long cf_initial_size, cf_bucket_size, cf_max_iterations, cf_expansion_factor;
	long long cf_max_expansions; /* accepted and told again; it decides nothing */
	long long max_capacity;      /* what a filter can grow to at least, by default; 0: without a size */
	long long max_filter_bytes;  /* of one filter, by commands of clients; 0: any number */
	nidus_family family;
};

extern struct settings settings;

/* Which commands the module is to serve: an OR of these; 0: those that are free. */
enum { SERVE_CF = 1, SERVE_BF = 2 };

/*
 * Reads the arguments of the module, pairs of a name and a value. NULL, or what is wrong
 * with them; static text.
 */
const char *settings_read_arguments(RedisModuleString **argv, int argc, unsigned *serve);

/* Makes them settings of CONFIG, where the server has that. False: it refused. */
bool settings_register(RedisModuleCtx *ctx);

#endif
