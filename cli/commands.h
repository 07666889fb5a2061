/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_COMMANDS_H
#define NIDUS_CLI_COMMANDS_H

/** @file commands.h  All commands; each is defined in the cmd_ file of its name. */

#include "args.h"

extern const struct command build_command;
extern const struct command query_command;
extern const struct command add_command;
extern const struct command dedup_command;
extern const struct command count_command;
extern const struct command remove_command;
extern const struct command merge_command;
extern const struct command grow_command;
extern const struct command shrink_command;
extern const struct command pack_command;
extern const struct command info_command;
extern const struct command verify_command;
extern const struct command dump_command;
extern const struct command plan_command;
extern const struct command bench_command;

#endif
