/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_ARROW_H
#define NIDUS_PYTHON_ARROW_H

/**
 * @file arrow.h  Arrow arrays as columns, by the Arrow PyCapsule interface.
 *
 * pyarrow, polars, pandas and others hand out their memory so, without a copy and without this
 * module knowing them: an array by __arrow_c_array__, or several pieces by __arrow_c_stream__.
 */

#include "keys.h"

/** Whether the object hands out Arrow memory; -1 with an exception. */
int arrow_is(PyObject *object);

/** column_open for such an object. */
int arrow_open(struct column *column, PyObject *object);

/** What column_close has to give back. */
void arrow_close(struct column *column);

#endif
