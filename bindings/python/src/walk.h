/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_WALK_H
#define NIDUS_PYTHON_WALK_H

/** @file walk.h  Iteration over the entries of a filter. */

#include "binding.h"

int walk_add_type(void);

/** iter(filter). */
PyObject *walk_start(PyObject *filter);

#endif
