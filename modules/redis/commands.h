/* SPDX-License-Identifier: MIT
 *
 * commands: the functions behind CF.* and BF.*. docs/redis.md has the table of commands.
 */
#ifndef NIDUS_REDIS_COMMANDS_H
#define NIDUS_REDIS_COMMANDS_H

#include "server.h"

/* On items: items.c */
server_command cf_add, cf_addnx, cf_insert, cf_insertnx, cf_exists, cf_mexists, cf_count, cf_del,
	cf_mdel;
server_command bf_add, bf_madd, bf_insert, bf_exists, bf_mexists;

/* On whole filters: filters.c */
server_command cf_reserve, cf_compact, cf_info, cf_debug, bf_reserve, bf_card, bf_info, bf_debug,
	filter_info, filter_tick;

/* Files of the library: file_commands.c */
server_command filter_export, filter_import;

/* On several filters: merge_commands.c */
server_command cf_merge, bf_merge;

/* Dumps: chunk_commands.c */
server_command cf_scandump, cf_loadchunk, bf_scandump, bf_loadchunk;

#endif
