/* SPDX-License-Identifier: MIT
 *
 * What the files of the SQLite extension share.
 */
#ifndef NIDUS_SQLITE_H
#define NIDUS_SQLITE_H

#include <sqlite3ext.h>

#include <stdbool.h>
#include <stdint.h>

#include "nidus.h"

/* Reports a failure in the library's own words; true if there was none. */
bool went_well(sqlite3_context *context, nidus_status status);

/* Reports a failure; false. */
bool refuse(sqlite3_context *context, const char *why);

/* The hash of an SQL value that is not NULL. */
bool hash_key(sqlite3_context *context, const nidus_filter *filter, sqlite3_value *key,
              uint64_t *hash);

/* The options of a new filter: values[0] its rate and values[1] its seed, if there are so many. */
bool read_options(sqlite3_context *context, int n, sqlite3_value **values, nidus_options *options);

/* Loads a blob and checks all of it. */
nidus_status load_blob(sqlite3_value *blob, nidus_filter **filter);

/* The filter as the result, a blob. */
void give_blob(sqlite3_context *context, const nidus_filter *filter);

/* Registers nidus_build and nidus_merge; an SQLite status. */
int register_aggregates(sqlite3 *db, int flags);

#endif
