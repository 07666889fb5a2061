/* SPDX-License-Identifier: MIT */
/* The converters of keyword arguments. */

#include "options.h"

#include <limits.h>

#define RIBBON_FPR_MOST 0.5

int convert_count(PyObject *object, void *count)
{
	PyObject *integer = PyNumber_Index(object);
	unsigned long long value;

	if (!integer)
		return 0;
	value = PyLong_AsUnsignedLongLong(integer);
	Py_DECREF(integer);
	if (value == ULLONG_MAX && PyErr_Occurred()) {
		if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
			PyErr_Clear();
			raise_reason(NIDUS_E_RANGE,
			             "a count, value or seed is from 0 to 2**64 - 1");
		}
		return 0;
	}
	*(uint64_t *)count = value;
	return 1;
}

int convert_unsigned(PyObject *object, void *number)
{
	uint64_t value;

	if (!convert_count(object, &value))
		return 0;
	if (value > UINT_MAX) {
		raise_reason(NIDUS_E_RANGE, "this number is far too large");
		return 0;
	}
	*(unsigned *)number = (unsigned)value;
	return 1;
}

int convert_optional(PyObject *object, void *number)
{
	unsigned *value = number;

	*value = 0;
	if (object == Py_None)
		return 1;
	if (!convert_unsigned(object, number))
		return 0;
	if (*value == 0)
		*value = UINT_MAX; /* NIDUS_STASH_OFF, NIDUS_RESERVE_NONE */
	return 1;
}

int convert_seed(PyObject *object, void *seed)
{
	*(uint64_t *)seed = 0;
	if (object == Py_None)
		return 1;
	if (!convert_count(object, seed))
		return 0;
	if (*(uint64_t *)seed == 0)
		raise_reason(NIDUS_E_ARG, "a seed is at least 1; without one a fresh one is drawn");
	return *(uint64_t *)seed != 0;
}

int convert_rate(PyObject *object, void *rate)
{
	double value = PyFloat_AsDouble(object);

	if (value == -1 && PyErr_Occurred())
		return 0;
	if (value == 0) {
		raise_reason(NIDUS_E_ARG, "fpr must be greater than 0");
		return 0;
	}
	*(double *)rate = value;
	return 1;
}

int convert_family(PyObject *object, void *family)
{
	const char *name;
	nidus_status status;

	if (!PyUnicode_Check(object)) {
		PyErr_SetString(PyExc_TypeError, "family is a str: \"auto\", \"windowed\", ...");
		return 0;
	}
	name = PyUnicode_AsUTF8AndSize(object, NULL);
	if (!name)
		return 0;
	status = nidus_family_by_name(name, family);
	if (status != NIDUS_OK)
		raise_status(status);
	return status == NIDUS_OK;
}

int check_rate(const nidus_options *options)
{
	bool ribbon = options->family == NIDUS_RIBBON || options->features & NIDUS_STATIC;

	if (!(options->fpr >
	      (ribbon ? RIBBON_FPR_MOST : NIDUS_FPR_MOST))) /* NaN is refused later */
		return 0;
	raise_reason(
		NIDUS_E_RANGE,
		"fpr is from 2**-32 to 2**-4, which is 0.0625; of a ribbon filter it may be up to "
		"2**-1");
	return -1;
}
