/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_OPTIONS_H
#define NIDUS_PYTHON_OPTIONS_H

/**
 * @file options.h  Keyword arguments as nidus_options.
 *
 * Filter, build and plan take the same ones. A call names them with PyArg_ParseTupleAndKeywords:
 * OPTIONS_NAMES in its list, OPTIONS_FORMAT at the end of its format, OPTIONS_TARGETS after its own
 * targets; capacity and fpr stand before them, in an order of the call's own.
 */

#include "binding.h"

/** O& converters. */
int convert_count(PyObject *object, void *count); /* uint64_t */
int convert_unsigned(PyObject *object, void *number);
int convert_family(PyObject *object, void *family);
int convert_rate(PyObject *object, void *rate);       /* double; 0 would mean the default */
int convert_seed(PyObject *object, void *seed);       /* None: a fresh one */
int convert_optional(PyObject *object, void *number); /* None: 0; 0: UINT_MAX, none at all */

/** The library takes the highest rate for one above it and says nothing; here that is a RangeError. */
int check_rate(const nidus_options *options);

#define OPTIONS_NAMES                                                                           \
	"family", "seed", "max_capacity", "slots", "features", "max_steps", "reserve", "stash", \
		"value_bits", "slices"
#define OPTIONS_FORMAT "O&O&O&O&O&O&O&O&O&O&"
#define OPTIONS_TARGETS(options)                                                                 \
	convert_family, &(options)->family, convert_seed, &(options)->seed, convert_count,       \
		&(options)->max_capacity, convert_unsigned, &(options)->slots, convert_unsigned, \
		&(options)->features, convert_unsigned, &(options)->max_steps, convert_optional, \
		&(options)->reserve, convert_optional, &(options)->stash, convert_unsigned,      \
		&(options)->value_bits, convert_unsigned, &(options)->slices

#endif
