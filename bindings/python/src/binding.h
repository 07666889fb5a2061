/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_BINDING_H
#define NIDUS_PYTHON_BINDING_H

/**
 * @file binding.h  What the files of the Python module share.
 *
 * Functions that return a pointer or an int answer NULL or -1 with a Python exception set, as
 * Python's own do. Everything is called with the GIL held unless it says otherwise.
 *
 * The module is one per process (it keeps its types in static variables), and Python makes sure of it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "guard.h"
#include "nidus.h"

#if PY_VERSION_HEX < 0x030A0000 /* 3.10 brought them */
static inline PyObject *Py_NewRef(PyObject *object)
{
	Py_INCREF(object);
	return object;
}

static inline int PyModule_AddObjectRef(PyObject *module, const char *name, PyObject *object)
{
	if (PyModule_AddObject(module, name, Py_NewRef(object)) == 0)
		return 0;
	Py_DECREF(object);
	return -1;
}
#endif

/** A nidus.Filter. */
struct filter_object {
	PyObject_HEAD nidus_filter *filter; /* NULL: closed */
	struct guard guard;
	bool concurrent;  /* NIDUS_CONCURRENT: the library lets threads change it together */
	uint64_t changes; /* so far: a walk notices that it has lost its meaning */
	unsigned whole;   /* calls without the GIL that stop those on a concurrent filter's keys */
	bool broken;      /* a fork cut a change short */
	PyObject *weak;   /* references */
	Py_buffer view;   /* the bytes it looks at (from_bytes with copy=False); obj NULL: none */
};

/* ------------------------------------------------------------- filter.c -- */

extern PyTypeObject *filter_type;

/** Makes the type and adds it to the module. */
int filter_add_type(PyObject *module);

/** Wraps a filter, which it owns from now on, as a `type`; frees it if that fails. */
PyObject *filter_wrap(PyTypeObject *type, nidus_filter *filter);

/**
 * Waits until the filter can be used so by a call that keeps the GIL; -1 if it is closed, or if it
 * cannot be used any more. Other threads run meanwhile, and signals are handled. Until the GIL is released
 * no other thread can start to use it.
 */
int filter_ready(struct filter_object *self, enum guard_use use);

/** The same for a call that releases the GIL: filter_leave is due afterwards. */
int filter_enter(struct filter_object *self, enum guard_use use);
void filter_leave(struct filter_object *self, enum guard_use use);

/** The same for a call on the whole filter, for which changes of single keys may have to wait. */
int filter_enter_whole(struct filter_object *self, enum guard_use use);
void filter_leave_whole(struct filter_object *self, enum guard_use use);

/**
 * Around a call on one key, after filter_ready. The library lets it wait for a call on the whole
 * filter if threads share it: then the GIL is released, otherwise it is kept.
 */
PyThreadState *filter_let_wait(struct filter_object *self);
void filter_go_on(struct filter_object *self, PyThreadState *running);

/** nidus_get_info without the GIL; -1 if the filter is closed. */
int filter_get_info(struct filter_object *self, nidus_info *info);

/** What a call that changes the filter needs it for. */
static inline enum guard_use filter_writing(const struct filter_object *self)
{
	return self->concurrent ? GUARD_SHARED : GUARD_ALONE;
}

/* -------------------------------------------------------------- merge.c -- */

PyObject *filter_or(PyObject *left, PyObject *right);
PyObject *filter_ior(PyObject *left, PyObject *right);
PyObject *filter_compare(PyObject *left, PyObject *right, int how);
PyObject *filter_union(PyObject *self, PyObject *others);
PyObject *filter_update(PyObject *self, PyObject *others);

/** nidus.merge. */
PyObject *merge(PyObject *module, PyObject *args, PyObject *named);

/* ------------------------------------------------------------- single.c -- */

int filter_contains(PyObject *self, PyObject *key);
PyObject *filter_count(PyObject *self, PyObject *key);
PyObject *filter_find(PyObject *self, PyObject *key);
PyObject *filter_get_count(PyObject *self, PyObject *key);
PyObject *filter_age(PyObject *self, PyObject *key);
PyObject *filter_add(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *filter_add_new(PyObject *self, PyObject *key);
PyObject *filter_discard(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *filter_remove(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *filter_add_count(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *filter_replace(PyObject *self, PyObject *args);

/* ------------------------------------------------------------- arrays.c -- */

/** The methods that take many keys at once; each has its docstring in filter.c. */
PyObject *filter_find_many(PyObject *self, PyObject *keys);
PyObject *filter_counts(PyObject *self, PyObject *keys);
PyObject *filter_add_counts(PyObject *self, PyObject *args, PyObject *named);
PyObject *filter_contains_many(PyObject *self, PyObject *keys);
PyObject *filter_add_many(PyObject *self, PyObject *args, PyObject *named);
PyObject *filter_add_new_many(PyObject *self, PyObject *keys);
PyObject *filter_remove_many(PyObject *self, PyObject *keys);

/** nidus.build. */
PyObject *build(PyObject *module, PyObject *args, PyObject *named);

/* ------------------------------------------------------------ records.c -- */

/** Makes the types of info, plan rows and entries, and adds them to the module. */
int records_add_types(PyObject *module);

PyObject *info_record(const nidus_info *info);
PyObject *entry_record(const nidus_entry *entry);

/** nidus.plan. */
PyObject *plan(PyObject *module, PyObject *args, PyObject *named);

/* ------------------------------------------------------------- errors.c -- */

/** Finds the exceptions of nidus._base. */
int errors_prepare(void);

/** Sets the exception of a status, with nidus_reason() as its text; always NULL. */
PyObject *raise_status(nidus_status status);

/** The same for a file: its name is told, and the system's errno after E_IO. */
PyObject *raise_file(nidus_status status, int error, PyObject *path);

/** The same after so many keys of an array, which the exception's `done` tells. */
PyObject *raise_after(nidus_status status, size_t done);

/** An exception of a status with a reason of our own. */
PyObject *raise_reason(nidus_status status, const char *reason);

/**
 * A name to look an attribute up by. Python remembers the strings of recent lookups; the same one
 * each time does not crowd its cache.
 */
static inline PyObject *interned(const char *name)
{
	return PyUnicode_InternFromString(name);
}

/** nidus.Feature of a sum of features. */
PyObject *feature_flags(uint32_t features);

#endif
