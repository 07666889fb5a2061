/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_INSPECT_H
#define NIDUS_CLI_INSPECT_H

/** @file inspect.h  What nidus info tells, for other commands. */

#include "nidus.h"

/** Prints what a filter is and how full it is as one JSON object. */
void inspect_json(const nidus_filter *filter);

#endif
