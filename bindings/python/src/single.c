/* SPDX-License-Identifier: MIT */
/* The methods that take one key. Each has its docstring in filter.c. */

#include "binding.h"
#include "keys.h"
#include "options.h"

/* Values that find has room for without asking twice; most keys have few copies. */
#define VALUES_MOST 64

static struct filter_object *of(PyObject *object)
{
	return (struct filter_object *)object;
}

int filter_contains(PyObject *object, PyObject *key)
{
	struct filter_object *self = of(object);
	PyThreadState *running;
	uint64_t hash;
	bool answer;

	if (key_hash_for(self, key, GUARD_SHARED, &hash) < 0)
		return -1;
	running = filter_let_wait(self);
	answer = nidus_contains_hash(self->filter, hash);
	filter_go_on(self, running);
	return answer;
}

PyObject *filter_count(PyObject *object, PyObject *key)
{
	struct filter_object *self = of(object);
	PyThreadState *running;
	uint64_t hash, count;

	if (key_hash_for(self, key, GUARD_SHARED, &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	count = nidus_count_key_hash(self->filter, hash);
	filter_go_on(self, running);
	return PyLong_FromUnsignedLongLong(count);
}

PyObject *filter_get_count(PyObject *object, PyObject *key)
{
	struct filter_object *self = of(object);
	PyThreadState *running;
	uint64_t hash, count;

	if (key_hash_for(self, key, GUARD_SHARED, &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	count = nidus_get_count_hash(self->filter, hash);
	filter_go_on(self, running);
	return PyLong_FromUnsignedLongLong(count);
}

PyObject *filter_age(PyObject *object, PyObject *key)
{
	struct filter_object *self = of(object);
	PyThreadState *running;
	uint64_t hash;
	int age;

	if (key_hash_for(self, key, GUARD_SHARED, &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	age = nidus_age_hash(self->filter, hash);
	filter_go_on(self, running);
	if (age < 0)
		Py_RETURN_NONE;
	return PyLong_FromLong(age);
}

static PyObject *list_of(const uint64_t *values, size_t n)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < n; i++) {
		PyObject *value = PyLong_FromUnsignedLongLong(values[i]);

		if (!value || PyList_Append(list, value) < 0)
			Py_CLEAR(list);
		Py_XDECREF(value);
	}
	return list;
}

/* More than fit are asked for again, with room for those that there were; some may come meanwhile. */
PyObject *filter_find(PyObject *object, PyObject *key)
{
	struct filter_object *self = of(object);
	uint64_t values[VALUES_MOST], *more;
	PyThreadState *running;
	PyObject *list;
	uint64_t hash;
	size_t n, room;

	if (key_hash_for(self, key, GUARD_SHARED, &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	n = nidus_find_hash(self->filter, hash, values, VALUES_MOST);
	filter_go_on(self, running);
	if (n <= VALUES_MOST)
		return list_of(values, n);
	room = n;
	more = PyMem_Calloc(room, sizeof(*more));
	if (!more)
		return PyErr_NoMemory();
	if (filter_ready(self, GUARD_SHARED) < 0) { /* others may have run meanwhile */
		PyMem_Free(more);
		return NULL;
	}
	running = filter_let_wait(self);
	n = nidus_find_hash(self->filter, hash, more, room);
	filter_go_on(self, running);
	list = list_of(more, n < room ? n : room);
	PyMem_Free(more);
	return list;
}

/* ------------------------------------------------------------- changes -- */

/* A key and an optional number, which may be named: the arguments of add and its like. */
struct change {
	PyObject *key;
	bool numbered;
	uint64_t number;
};

static int is_name(PyObject *names, const char *name)
{
	PyObject *wanted = interned(name);
	PyObject *given = wanted ? PyTuple_GetItem(names, 0) : NULL;
	int same = given ? PyObject_RichCompareBool(given, wanted, Py_EQ) : -1;

	Py_XDECREF(wanted);
	return same;
}

static int refuse_arguments(const char *name)
{
	if (!PyErr_Occurred())
		PyErr_Format(PyExc_TypeError, "a key, and perhaps %s=, are expected", name);
	return -1;
}

/* Of a METH_FASTCALL | METH_KEYWORDS method; `name` is the number's. None is no number. */
static int take_change(struct change *change, PyObject *const *args, Py_ssize_t n, PyObject *names,
                       const char *name)
{
	Py_ssize_t named = names ? PyTuple_Size(names) : 0;

	if (n < 1 || n + named > 2 || (named == 1 && is_name(names, name) != 1))
		return refuse_arguments(name);
	change->key = args[0];
	change->numbered = n + named == 2 && args[1] != Py_None;
	return change->numbered ? number_from(args[1], &change->number) : 0;
}

/* None, and the change is counted; or the exception of the status. */
static PyObject *changed(struct filter_object *self, nidus_status status)
{
	if (status != NIDUS_OK)
		return raise_status(status);
	self->changes++;
	return Py_NewRef(Py_None);
}

/* A bool: whether the call changed the filter. `unchanged` is the status that means it did not. */
static PyObject *tell_change(struct filter_object *self, nidus_status status,
                             nidus_status unchanged)
{
	if (status != NIDUS_OK && status != unchanged)
		return raise_status(status);
	self->changes += status == NIDUS_OK;
	return PyBool_FromLong(status == NIDUS_OK);
}

PyObject *filter_add(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	struct filter_object *self = of(object);
	struct change change;
	PyThreadState *running;
	nidus_status status;
	uint64_t hash;

	if (take_change(&change, args, n, names, "value") < 0 ||
	    key_hash_for(self, change.key, filter_writing(self), &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	status = change.numbered ? nidus_insert_value_hash(self->filter, hash, change.number)
	                         : nidus_insert_hash(self->filter, hash);
	filter_go_on(self, running);
	return changed(self, status);
}

PyObject *filter_add_new(PyObject *object, PyObject *key)
{
	struct filter_object *self = of(object);
	PyThreadState *running;
	nidus_status status;
	uint64_t hash;

	if (key_hash_for(self, key, filter_writing(self), &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	status = nidus_insert_new_hash(self->filter, hash);
	filter_go_on(self, running);
	return tell_change(self, status, NIDUS_PRESENT);
}

PyObject *filter_discard(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	struct filter_object *self = of(object);
	struct change change;
	PyThreadState *running;
	nidus_status status;
	uint64_t hash;

	if (take_change(&change, args, n, names, "value") < 0 ||
	    key_hash_for(self, change.key, filter_writing(self), &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	status = change.numbered ? nidus_remove_value_hash(self->filter, hash, change.number)
	                         : nidus_remove_hash(self->filter, hash);
	filter_go_on(self, running);
	return tell_change(self, status, NIDUS_NOT_FOUND);
}

PyObject *filter_remove(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	PyObject *removed = filter_discard(object, args, n, names);

	if (removed == Py_False) {
		Py_DECREF(removed);
		return raise_status(NIDUS_NOT_FOUND);
	}
	Py_XDECREF(removed);
	return removed ? Py_NewRef(Py_None) : NULL;
}

PyObject *filter_add_count(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	struct filter_object *self = of(object);
	struct change change;
	PyThreadState *running;
	nidus_status status;
	uint64_t hash;

	if (take_change(&change, args, n, names, "delta") < 0 ||
	    key_hash_for(self, change.key, filter_writing(self), &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	status = nidus_add_count_hash(self->filter, hash, change.numbered ? change.number : 1);
	filter_go_on(self, running);
	return changed(self, status);
}

PyObject *filter_replace(PyObject *object, PyObject *args)
{
	struct filter_object *self = of(object);
	uint64_t old, fresh, hash;
	PyThreadState *running;
	nidus_status status;
	PyObject *key;

	if (!PyArg_ParseTuple(args, "OO&O&:replace", &key, convert_count, &old, convert_count,
	                      &fresh) ||
	    key_hash_for(self, key, filter_writing(self), &hash) < 0)
		return NULL;
	running = filter_let_wait(self);
	status = nidus_replace_value_hash(self->filter, hash, old, fresh);
	filter_go_on(self, running);
	return changed(self, status);
}
