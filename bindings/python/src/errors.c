/* SPDX-License-Identifier: MIT */
/*
 * Statuses as exceptions. The classes are Python's own (nidus/_base.py), where their bases and texts
 * are easy to read; this file only calls the function there that makes one.
 */

#include "binding.h"

static PyObject *make_error; /* nidus._base.error */
static PyObject *feature_type;

int errors_prepare(void)
{
	PyObject *base = PyImport_ImportModule("nidus._base");

	if (!base)
		return -1;
	Py_XDECREF(make_error);
	Py_XDECREF(feature_type);
	make_error = PyObject_GetAttrString(base, "error");
	feature_type = PyObject_GetAttrString(base, "Feature");
	Py_DECREF(base);
	return make_error && feature_type ? 0 : -1;
}

/* Steals `error`. */
static PyObject *raise_error(PyObject *error)
{
	if (error) {
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
	}
	return NULL;
}

/* NOT_FOUND says all there is to say and has no reason of its own. */
static const char *reason_of(nidus_status status)
{
	return status == NIDUS_NOT_FOUND ? nidus_status_text(status) : nidus_reason();
}

PyObject *raise_reason(nidus_status status, const char *reason)
{
	return raise_error(PyObject_CallFunction(make_error, "is", (int)status, reason));
}

PyObject *raise_status(nidus_status status)
{
	return raise_reason(status, reason_of(status));
}

PyObject *raise_file(nidus_status status, int error, PyObject *path)
{
	return raise_error(PyObject_CallFunction(make_error, "isiO", (int)status, nidus_reason(),
	                                         status == NIDUS_E_IO ? error : 0, path));
}

PyObject *raise_after(nidus_status status, size_t done)
{
	return raise_error(PyObject_CallFunction(make_error, "isiOn", (int)status,
	                                         reason_of(status), 0, Py_None, (Py_ssize_t)done));
}

PyObject *feature_flags(uint32_t features)
{
	return PyObject_CallFunction(feature_type, "I", (unsigned)features);
}
