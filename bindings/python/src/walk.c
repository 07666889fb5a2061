/* SPDX-License-Identifier: MIT */
/* The iterator over a filter's entries. A change to the filter ends it, as that of a set does. */

#include "walk.h"

struct walk_object {
	PyObject_HEAD struct filter_object *walked; /* NULL: at the end */
	uint64_t changes;
	nidus_cursor cursor;
};

static PyTypeObject *walk_type;

static int check_enumerable(struct filter_object *filter)
{
	nidus_info info = NIDUS_INFO_INIT;

	if (filter_ready(filter, GUARD_SHARED) < 0)
		return -1;
	nidus_get_info(filter->filter, &info);
	if (info.features & NIDUS_ENUMERATE)
		return 0;
	raise_reason(NIDUS_E_UNSUPPORTED,
	             info.features & NIDUS_STATIC
	                     ? "a static filter keeps no entries to iterate over"
	                     : "a Bloom filter keeps no entries to iterate over");
	return -1;
}

PyObject *walk_start(PyObject *filter)
{
	struct filter_object *walked = (struct filter_object *)filter;
	struct walk_object *walk;

	if (check_enumerable(walked) < 0)
		return NULL;
	walk = PyObject_New(struct walk_object, walk_type);
	if (!walk)
		return NULL;
	Py_INCREF(filter);
	walk->walked = walked;
	walk->changes = walked->changes;
	walk->cursor = (nidus_cursor){ { 0, 0 } };
	return (PyObject *)walk;
}

static void walk_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	Py_XDECREF((PyObject *)((struct walk_object *)object)->walked);
	PyObject_Free(object);
	Py_DECREF(type);
}

static PyObject *walk_next(PyObject *object)
{
	struct walk_object *walk = (struct walk_object *)object;
	struct filter_object *walked = walk->walked;
	nidus_entry entry;

	if (!walked || filter_ready(walked, GUARD_SHARED) < 0)
		return NULL;
	if (walk->changes != walked->changes) {
		PyErr_SetString(PyExc_RuntimeError, "the filter changed during iteration");
		return NULL;
	}
	if (nidus_next(walked->filter, &walk->cursor, &entry))
		return entry_record(&entry);
	walk->walked = NULL;
	Py_DECREF((PyObject *)walked);
	return NULL;
}

static PyType_Slot slots[] = {
	{ Py_tp_dealloc, (void *)walk_dealloc },
	{ Py_tp_iter, (void *)PyObject_SelfIter },
	{ Py_tp_iternext, (void *)walk_next },
	{ 0, NULL },
};

static PyType_Spec spec = { "nidus.Walk", sizeof(struct walk_object), 0,
#ifdef Py_TPFLAGS_DISALLOW_INSTANTIATION
	                    Py_TPFLAGS_DISALLOW_INSTANTIATION |
#endif
	                            Py_TPFLAGS_DEFAULT,
	                    slots };

int walk_add_type(void)
{
	walk_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return walk_type ? 0 : -1;
}
