/* SPDX-License-Identifier: MIT */
/* The type nidus.Filter: life, merging, files. Single keys are in single.c, whole arrays in arrays.c. */

#include "binding.h"

#include <errno.h>
#include <stdio.h>
#include <structmember.h>

#include "options.h"
#include "walk.h"

PyTypeObject *filter_type;

static struct filter_object *of(PyObject *object)
{
	return (struct filter_object *)object;
}

/* ------------------------------------------------------------- who may -- */

/*
 * In the child of a fork. Threads that read have left the filter whole. Those that changed it, or that
 * were inside the locks of a concurrent one, have left it in any state.
 */
static void mend_after_fork(struct filter_object *self)
{
	int inside = guard_after_fork(&self->guard);

	self->whole = 0;
	if (inside == GUARD_ALONE || (inside == GUARD_SHARED && self->concurrent))
		self->broken = true;
}

static int wait_for(struct filter_object *self, enum guard_use use)
{
	if (self->guard.forks != guard_forks) {
		mend_after_fork(self);
		return 0;
	}
	if (!guard_is_mine(&self->guard))
		return guard_wait(&self->guard, use);
	PyErr_SetString(
		PyExc_RuntimeError,
		"a signal handler cannot use the filter of the call that it interrupted: it would "
		"wait for ever");
	return -1;
}

static int refuse_use(const struct filter_object *self)
{
	if (self->broken)
		PyErr_SetString(
			PyExc_RuntimeError,
			"the process was forked while another thread was changing this filter: "
			"make or load it anew in the child");
	else
		PyErr_SetString(PyExc_ValueError, "the filter is closed");
	return -1;
}

int filter_ready(struct filter_object *self, enum guard_use use)
{
	while (self->guard.forks != guard_forks || !guard_is_free(&self->guard, use)) {
		if (wait_for(self, use) < 0)
			return -1;
	}
	return self->filter && !self->broken ? 0 : refuse_use(self);
}

int filter_enter(struct filter_object *self, enum guard_use use)
{
	if (filter_ready(self, use) < 0)
		return -1;
	guard_take(&self->guard, use);
	guard_hold(&self->guard);
	return 0;
}

void filter_leave(struct filter_object *self, enum guard_use use)
{
	guard_let_go();
	guard_leave(&self->guard, use);
}

int filter_enter_whole(struct filter_object *self, enum guard_use use)
{
	if (filter_enter(self, use) < 0)
		return -1;
	self->whole++;
	return 0;
}

void filter_leave_whole(struct filter_object *self, enum guard_use use)
{
	self->whole--;
	filter_leave(self, use);
}

PyThreadState *filter_let_wait(struct filter_object *self)
{
	if (self->whole == 0 || !self->concurrent)
		return NULL;
	guard_take(&self->guard, GUARD_SHARED);
	return PyEval_SaveThread();
}

void filter_go_on(struct filter_object *self, PyThreadState *running)
{
	if (!running)
		return;
	PyEval_RestoreThread(running);
	guard_leave(&self->guard, GUARD_SHARED);
}

/* ------------------------------------------------------------- life -- */

static bool is_concurrent(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;

	return nidus_get_info(filter, &info) == NIDUS_OK && info.concurrent;
}

PyObject *filter_wrap(PyTypeObject *type, nidus_filter *filter)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *object = alloc(type, 0);
	struct filter_object *self = of(object);

	if (!object) {
		nidus_free(filter);
		return NULL;
	}
	if (!guard_make(&self->guard)) {
		Py_DECREF(object); /* without a guard, which is all zero */
		nidus_free(filter);
		return PyErr_NoMemory();
	}
	self->filter = filter;
	self->concurrent = is_concurrent(filter);
	return object;
}

/* A filter that a fork broke may be in any state: its memory is left alone. */
static void free_filter(struct filter_object *self)
{
	if (!self->broken)
		nidus_free(self->filter);
	self->filter = NULL;
	if (self->view.obj)
		PyBuffer_Release(&self->view);
}

static void filter_dealloc(PyObject *object)
{
	struct filter_object *self = of(object);
	PyTypeObject *type = Py_TYPE(object);
	freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (self->weak)
		PyObject_ClearWeakRefs(object);
	free_filter(self);
	guard_destroy(&self->guard);
	give_back(object);
	Py_DECREF(type);
}

static PyObject *filter_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	static char *names[] = { "capacity", "fpr", OPTIONS_NAMES, NULL };
	nidus_options options = NIDUS_OPTIONS_INIT;
	PyObject *capacity = Py_None;
	nidus_filter *filter;
	nidus_status status;

	if (!PyArg_ParseTupleAndKeywords(args, named, "|OO&$" OPTIONS_FORMAT ":Filter", names,
	                                 &capacity, convert_rate, &options.fpr,
	                                 OPTIONS_TARGETS(&options)) ||
	    (capacity != Py_None && !convert_count(capacity, &options.capacity)) ||
	    check_rate(&options) < 0)
		return NULL;
	if (capacity == Py_None && options.max_capacity == 0)
		options.max_capacity = NIDUS_UNLIMITED;
	PyThreadState *running = PyEval_SaveThread();
	status = nidus_create(&options, &filter);
	PyEval_RestoreThread(running);
	return status == NIDUS_OK ? filter_wrap(type, filter) : raise_status(status);
}

static PyObject *filter_close(PyObject *object, PyObject *unused)
{
	struct filter_object *self = of(object);

	(void)unused;
	if (self->filter && filter_ready(self, GUARD_ALONE) < 0) {
		if (!self->broken && self->filter)
			return NULL;
		PyErr_Clear(); /* a filter that cannot be used can be closed all the same */
	}
	free_filter(self);
	return Py_NewRef(Py_None);
}

static PyObject *filter_enter_with(PyObject *object, PyObject *unused)
{
	(void)unused;
	return filter_ready(of(object), GUARD_SHARED) < 0 ? NULL : Py_NewRef(object);
}

static PyObject *filter_exit_with(PyObject *object, PyObject *args)
{
	(void)args;
	return filter_close(object, NULL);
}

static PyObject *filter_copy(PyObject *object, PyObject *unused)
{
	struct filter_object *self = of(object);
	nidus_filter *copy;
	nidus_status status;

	(void)unused;
	if (filter_enter_whole(self, GUARD_SHARED) < 0)
		return NULL;
	PyThreadState *running = PyEval_SaveThread();
	status = nidus_clone(self->filter, &copy);
	PyEval_RestoreThread(running);
	filter_leave_whole(self, GUARD_SHARED);
	return status == NIDUS_OK ? filter_wrap(Py_TYPE(object), copy) : raise_status(status);
}

/* ------------------------------------------------------- the whole filter -- */

static Py_ssize_t filter_length(PyObject *object)
{
	struct filter_object *self = of(object);
	uint64_t size;

	if (filter_ready(self, GUARD_SHARED) < 0)
		return -1;
	size = nidus_size(self->filter);
	return size < PY_SSIZE_T_MAX ? (Py_ssize_t)size : PY_SSIZE_T_MAX;
}

int filter_get_info(struct filter_object *self, nidus_info *info)
{
	if (filter_enter_whole(self, GUARD_SHARED) < 0)
		return -1;
	PyThreadState *running = PyEval_SaveThread();
	nidus_get_info(self->filter, info);
	PyEval_RestoreThread(running);
	filter_leave_whole(self, GUARD_SHARED);
	return 0;
}

static PyObject *filter_info(PyObject *object, void *unused)
{
	nidus_info info = NIDUS_INFO_INIT;

	(void)unused;
	return filter_get_info(of(object), &info) < 0 ? NULL : info_record(&info);
}

static PyObject *filter_closed(PyObject *object, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!of(object)->filter);
}

static PyObject *filter_repr(PyObject *object)
{
	nidus_info info = NIDUS_INFO_INIT;
	char text[160];

	if (!of(object)->filter)
		return PyUnicode_FromString("<nidus.Filter, closed>");
	if (filter_get_info(of(object), &info) < 0)
		return NULL;
	snprintf(text, sizeof(text), "<nidus.Filter %s: %llu of %llu keys, fpr %.3g%s>",
	         nidus_family_name(info.family), (unsigned long long)info.count,
	         (unsigned long long)info.capacity, info.fpr_target,
	         info.readonly ? ", read-only" : "");
	return PyUnicode_FromString(text);
}

/* A change of the whole filter, without the GIL; None, or the exception of its status. */
static PyObject *change_whole(struct filter_object *self,
                              nidus_status (*change)(nidus_filter *filter, uint64_t number),
                              uint64_t number)
{
	enum guard_use use = filter_writing(self);
	nidus_status status;

	if (filter_enter_whole(self, use) < 0)
		return NULL;
	PyThreadState *running = PyEval_SaveThread();
	status = change(self->filter, number);
	PyEval_RestoreThread(running);
	filter_leave_whole(self, use);
	self->changes++;
	return status == NIDUS_OK ? Py_NewRef(Py_None) : raise_status(status);
}

static nidus_status clear(nidus_filter *filter, uint64_t unused)
{
	(void)unused;
	return nidus_clear(filter);
}

static PyObject *filter_clear(PyObject *object, PyObject *unused)
{
	(void)unused;
	return change_whole(of(object), clear, 0);
}

static nidus_status tick(nidus_filter *filter, uint64_t unused)
{
	(void)unused;
	return nidus_tick(filter);
}

static PyObject *filter_tick(PyObject *object, PyObject *unused)
{
	(void)unused;
	return change_whole(of(object), tick, 0);
}

static nidus_status pack(nidus_filter *filter, uint64_t unused)
{
	(void)unused;
	return nidus_pack(filter);
}

static PyObject *filter_pack(PyObject *object, PyObject *unused)
{
	(void)unused;
	return change_whole(of(object), pack, 0);
}

static PyObject *filter_grow(PyObject *object, PyObject *args, PyObject *named)
{
	static char *names[] = { "capacity", "relaxed", NULL };
	uint64_t capacity;
	int relaxed = 0;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O&|$p:grow", names, convert_count, &capacity,
	                                 &relaxed))
		return NULL;
	return change_whole(of(object), relaxed ? nidus_grow_relaxed : nidus_grow, capacity);
}

static PyObject *filter_shrink(PyObject *object, PyObject *args, PyObject *named)
{
	static char *names[] = { "capacity", NULL };
	uint64_t capacity = 0;

	if (!PyArg_ParseTupleAndKeywords(args, named, "|O&:shrink", names, convert_count,
	                                 &capacity))
		return NULL;
	return change_whole(of(object), nidus_shrink, capacity);
}

static PyObject *filter_verify(PyObject *object, PyObject *unused)
{
	struct filter_object *self = of(object);
	nidus_status status;

	(void)unused;
	if (filter_enter_whole(self, GUARD_SHARED) < 0)
		return NULL;
	PyThreadState *running = PyEval_SaveThread();
	status = nidus_verify(self->filter, NULL);
	PyEval_RestoreThread(running);
	filter_leave_whole(self, GUARD_SHARED);
	return status == NIDUS_OK ? Py_NewRef(Py_None) : raise_status(status);
}

/* ---------------------------------------------------------------- files -- */

static PyObject *filter_save(PyObject *object, PyObject *path)
{
	struct filter_object *self = of(object);
	nidus_status status;
	PyObject *name;
	const char *text;
	int error;

	if (!PyUnicode_FSConverter(path, &name))
		return NULL;
	text = PyBytes_AsString(name);
	if (filter_enter_whole(self, GUARD_SHARED) < 0) {
		Py_DECREF(name);
		return NULL;
	}
	PyThreadState *running = PyEval_SaveThread();
	status = nidus_save(self->filter, text);
	error = errno;
	PyEval_RestoreThread(running);
	filter_leave_whole(self, GUARD_SHARED);
	Py_DECREF(name);
	return status == NIDUS_OK ? Py_NewRef(Py_None) : raise_file(status, error, path);
}

/* How to read a file. */
enum { LOAD, OPEN, OPEN_VERIFIED };

static PyObject *read_path(PyObject *type, PyObject *path, int how)
{
	nidus_filter *filter;
	nidus_status status;
	PyObject *name;
	const char *text;
	int error;

	if (!PyUnicode_FSConverter(path, &name))
		return NULL;
	text = PyBytes_AsString(name);
	PyThreadState *running = PyEval_SaveThread();
	if (how == LOAD)
		status = nidus_load(text, &filter);
	else
		status = nidus_open(text, how == OPEN_VERIFIED ? NIDUS_OPEN_VERIFY : 0, &filter);
	error = errno;
	PyEval_RestoreThread(running);
	Py_DECREF(name);
	return status == NIDUS_OK ? filter_wrap((PyTypeObject *)type, filter)
	                          : raise_file(status, error, path);
}

static PyObject *filter_load(PyObject *type, PyObject *path)
{
	return read_path(type, path, LOAD);
}

static PyObject *filter_open(PyObject *type, PyObject *args, PyObject *named)
{
	static char *names[] = { "path", "verify", NULL };
	PyObject *path;
	int verify = 0;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O|$p:open", names, &path, &verify))
		return NULL;
	return read_path(type, path, verify ? OPEN_VERIFIED : OPEN);
}

/* A filter that threads change meanwhile may have outgrown the size: again then. */
static PyObject *save_bytes(const nidus_filter *filter)
{
	nidus_status status = NIDUS_E_BUFFER;
	PyObject *bytes = NULL;
	size_t written = 0;

	while (status == NIDUS_E_BUFFER) {
		size_t size = nidus_saved_size(filter);
		char *data;

		Py_XDECREF(bytes);
		bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
		if (!bytes)
			return NULL;
		data = PyBytes_AsString(bytes);
		PyThreadState *running = PyEval_SaveThread();
		status = nidus_save_buffer(filter, data, size, &written);
		PyEval_RestoreThread(running);
		if (status == NIDUS_OK && written < size) { /* it has shrunk meanwhile */
			PyObject *shorter = PyBytes_FromStringAndSize(data, (Py_ssize_t)written);

			Py_DECREF(bytes);
			bytes = shorter;
		}
	}
	if (status == NIDUS_OK)
		return bytes;
	Py_DECREF(bytes);
	return raise_status(status);
}

static PyObject *filter_to_bytes(PyObject *object, PyObject *unused)
{
	struct filter_object *self = of(object);
	PyObject *bytes;

	(void)unused;
	if (filter_enter_whole(self, GUARD_SHARED) < 0)
		return NULL;
	bytes = save_bytes(self->filter);
	filter_leave_whole(self, GUARD_SHARED);
	return bytes;
}

static PyObject *filter_of_bytes(PyTypeObject *type, PyObject *data, bool copy)
{
	nidus_filter *filter;
	nidus_status status;
	PyObject *object;
	Py_buffer view;

	if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
		return NULL;
	PyThreadState *running = PyEval_SaveThread();
	if (copy)
		status = nidus_load_buffer(view.buf, (size_t)view.len, NULL, &filter);
	else
		status = nidus_open_buffer(view.buf, (size_t)view.len, 0, &filter);
	PyEval_RestoreThread(running);
	object = status == NIDUS_OK ? filter_wrap(type, filter) : raise_status(status);
	if (object && !copy)
		of(object)->view = view;
	else
		PyBuffer_Release(&view);
	return object;
}

static PyObject *filter_from_bytes(PyObject *type, PyObject *args, PyObject *named)
{
	static char *names[] = { "data", "copy", NULL };
	PyObject *data;
	int copy = 1;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O|$p:from_bytes", names, &data, &copy))
		return NULL;
	return filter_of_bytes((PyTypeObject *)type, data, copy);
}

/* What a subclass keeps besides: its __dict__, or None. */
static PyObject *state_of(PyObject *object)
{
	PyObject *name = interned("__dict__");
	PyObject *state = name ? PyObject_GetAttr(object, name) : NULL;

	Py_XDECREF(name);
	if (state || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return state;
	PyErr_Clear();
	return Py_NewRef(Py_None);
}

/* Pickle: (nidus._restore, (the bytes, the class), what a subclass keeps). */
static PyObject *filter_reduce(PyObject *object, PyObject *unused)
{
	PyObject *module = PyImport_ImportModule("nidus");
	PyObject *name = interned("_restore");
	PyObject *restore = module && name ? PyObject_GetAttr(module, name) : NULL;
	PyObject *bytes = restore ? filter_to_bytes(object, unused) : NULL;
	PyObject *state = bytes ? state_of(object) : NULL;
	PyObject *answer =
		state ? Py_BuildValue("(O(OO)O)", restore, bytes, Py_TYPE(object), state) : NULL;

	Py_XDECREF(state);
	Py_XDECREF(bytes);
	Py_XDECREF(restore);
	Py_XDECREF(name);
	Py_XDECREF(module);
	return answer;
}

/* ------------------------------------------------------------- the type -- */

#define NAMED(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
	{ "add", NAMED(filter_add), METH_FASTCALL | METH_KEYWORDS,
	  "add($self, key, /, value=None)\n--\n\n"
	  "Put one copy of a key in, with a value if the filter keeps them (value_bits).\n\n"
	  "Each add is undone by one discard; a key may be added any number of times. add_new stores\n"
	  "a key once." },
	{ "add_new", filter_add_new, METH_O,
	  "add_new($self, key, /)\n--\n\n"
	  "Put a key in unless the filter already says yes for it; whether it was put in.\n\n"
	  "After False the key has no copy of its own, so do not discard it." },
	{ "discard", NAMED(filter_discard), METH_FASTCALL | METH_KEYWORDS,
	  "discard($self, key, /, value=None)\n--\n\n"
	  "Take one copy of a key out, one with this value if it is given; False if there was none.\n\n"
	  "Discard only what was added: another key may look the same and would lose its copy." },
	{ "remove", NAMED(filter_remove), METH_FASTCALL | METH_KEYWORDS,
	  "remove($self, key, /, value=None)\n--\n\n"
	  "discard, but NotFoundError, a KeyError, if there is none." },
	{ "replace", filter_replace, METH_VARARGS,
	  "replace($self, key, old, new, /)\n--\n\n"
	  "Give one entry of the key that has the value old the value new; NotFoundError if there is\n"
	  "none." },
	{ "find", filter_find, METH_O,
	  "find($self, key, /)\n--\n\n"
	  "The values of all entries that look like the key, a list; its own are among them." },
	{ "add_count", NAMED(filter_add_count), METH_FASTCALL | METH_KEYWORDS,
	  "add_count($self, key, /, delta=1)\n--\n\n"
	  "Count a key: its value grows by delta and stays at the highest that value_bits allow." },
	{ "get_count", filter_get_count, METH_O,
	  "get_count($self, key, /)\n--\n\n"
	  "What add_count counted: never too low, and too high for as many keys as fpr says." },
	{ "age", filter_age, METH_O,
	  "age($self, key, /)\n--\n\n"
	  "How many slices ago a key of a filter with slices was added; None if it is not there." },
	{ "tick", filter_tick, METH_NOARGS,
	  "tick($self, /)\n--\n\n"
	  "Begin a slice: what was not added again in so many slices as the filter has is forgotten." },
	{ "count", filter_count, METH_O,
	  "count($self, key, /)\n--\n\n"
	  "How many copies of the key are in; keys that look the same count too." },
	{ "contains_many", filter_contains_many, METH_O,
	  "contains_many($self, keys, /)\n--\n\n"
	  "Whether each of the keys is in: an array of bool.\n\n"
	  "keys is an array of integers, of fixed-width bytes or of text (anything with the buffer\n"
	  "protocol, NumPy for example, strided too), or any iterable of keys. The GIL is released.\n"
	  "The answer is a NumPy array, or a memoryview where there is no NumPy." },
	{ "find_many", filter_find_many, METH_O,
	  "find_many($self, keys, /)\n--\n\n"
	  "Two arrays: for each key the value of one entry that looks like it (0 if there is none),\n"
	  "and how many such entries there are. find() tells the others." },
	{ "add_counts", NAMED(filter_add_counts), METH_VARARGS | METH_KEYWORDS,
	  "add_counts($self, keys, deltas=None)\n--\n\n"
	  "add_count for each key, in their order: by 1, or by the number beside it in deltas." },
	{ "counts", filter_counts, METH_O,
	  "counts($self, keys, /)\n--\n\nget_count for each key: an array." },
	{ "add_many", NAMED(filter_add_many), METH_VARARGS | METH_KEYWORDS,
	  "add_many($self, keys, values=None)\n--\n\n"
	  "Put one copy of each key in, in their order, each with its value if there are values.\n\n"
	  "If one is refused, those before it are in, and the exception's done tells how many." },
	{ "add_new_many", filter_add_new_many, METH_O,
	  "add_new_many($self, keys, /)\n--\n\n"
	  "add_new for each key, in their order: an array of bool that tells which were put in.\n\n"
	  "So array[seen.add_new_many(array)] is the array without what was seen before." },
	{ "remove_many", filter_remove_many, METH_O,
	  "remove_many($self, keys, /)\n--\n\n"
	  "Take one copy of each key out, in their order.\n\n"
	  "If one is not there (NotFoundError), those before it are out, and the exception's done\n"
	  "tells how many." },
	{ "update", filter_update, METH_VARARGS,
	  "update($self, /, *others)\n--\n\n"
	  "Put in what is in the others: the keys of an array or iterable as add_many does, a copy each\n"
	  "time; the entries of another filter as |= does, each once." },
	{ "union", filter_union, METH_VARARGS,
	  "union($self, /, *others)\n--\n\n"
	  "A filter of the entries of this one and of all other filters, each once: self | other | ...\n\n"
	  "Nothing can be removed from it: merge(filters, copies=True) makes one that can." },
	{ "clear", filter_clear, METH_NOARGS,
	  "clear($self, /)\n--\n\nTake everything out; size and seed stay." },
	{ "copy", filter_copy, METH_NOARGS,
	  "copy($self, /)\n--\n\n"
	  "An independent copy, in memory: that of an opened filter can be changed." },
	{ "__copy__", filter_copy, METH_NOARGS, "__copy__($self, /)\n--\n\nThe same as copy()." },
	{ "__deepcopy__", filter_copy, METH_O,
	  "__deepcopy__($self, memo, /)\n--\n\nThe same as copy()." },
	{ "__reduce__", filter_reduce, METH_NOARGS,
	  "__reduce__($self, /)\n--\n\nFor pickle: the bytes of to_bytes()." },
	{ "grow", NAMED(filter_grow), METH_VARARGS | METH_KEYWORDS,
	  "grow($self, capacity, *, relaxed=False)\n--\n\n"
	  "Make room for so many keys, up to max_capacity; the rate stays.\n\n"
	  "relaxed goes on beyond it, and each doubling then doubles the rate." },
	{ "shrink", NAMED(filter_shrink), METH_VARARGS | METH_KEYWORDS,
	  "shrink($self, capacity=0)\n--\n\n"
	  "Give memory back: the smallest size with room for so many keys (0: for those in it)." },
	{ "pack", filter_pack, METH_NOARGS,
	  "pack($self, /)\n--\n\n"
	  "Make a finished filter as small as it can be: a table of fixed size for the keys in it.\n\n"
	  "Merge before: a packed filter fits only others that were packed to its size." },
	{ "verify", filter_verify, METH_NOARGS,
	  "verify($self, /)\n--\n\nCheck every entry; CorruptError says what is wrong." },
	{ "save", filter_save, METH_O,
	  "save($self, path, /)\n--\n\n"
	  "Write the filter to a file, which is at any moment the old one or the new one." },
	{ "to_bytes", filter_to_bytes, METH_NOARGS,
	  "to_bytes($self, /)\n--\n\nThe bytes that save() would write." },
	{ "load", filter_load, METH_O | METH_CLASS,
	  "load($type, path, /)\n--\n\nRead a file into memory; everything in it is checked." },
	{ "open", NAMED(filter_open), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
	  "open($type, path, *, verify=False)\n--\n\n"
	  "Map a file: it answers at once, however large it is, and cannot be changed.\n\n"
	  "Without verify the table is not read first; a damaged file may then answer wrongly." },
	{ "from_bytes", NAMED(filter_from_bytes), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
	  "from_bytes($type, data, *, copy=True)\n--\n\n"
	  "A filter of the bytes of to_bytes() or of a file; everything in them is checked.\n\n"
	  "With copy=False it looks at them where they are (shared memory, a mapping), reads only\n"
	  "what it needs, and cannot be changed." },
	{ "close", filter_close, METH_NOARGS,
	  "close($self, /)\n--\n\nGive the memory or the mapping back; later calls are errors." },
	{ "__enter__", filter_enter_with, METH_NOARGS, "__enter__($self, /)\n--\n\nThe filter." },
	{ "__exit__", filter_exit_with, METH_VARARGS, "__exit__($self, /, *args)\n--\n\nclose()." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
	{ "info", filter_info, NULL, "What the filter is and how full it is: an Info.", NULL },
	{ "closed", filter_closed, NULL, "Whether close() was called.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct filter_object, weak), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static const char about[] =
	"Filter(capacity=None, fpr=0.00390625, *, family='auto', seed=None, max_capacity=0,\n"
	"       slots=0, features=0, max_steps=0, reserve=None, stash=None, value_bits=0, slices=0)\n--\n\n"
	"A small approximate set. It never says no for a key that is in it, and says yes for other\n"
	"keys with the probability fpr. It keeps a few bits per key and never the key itself.\n\n"
	"capacity      keys that must fit; without one the filter grows without an end\n"
	"fpr           false-positive rate, from 2**-32 to 2**-4 (ribbon: to 2**-1)\n"
	"family        'auto' takes the smallest; plan() lists all\n"
	"seed          keys the hashing; None draws one. Filters that are to be merged need the same\n"
	"max_capacity  the filter grows by itself up to there; UNLIMITED: without an end\n"
	"value_bits    of the value beside each key, 0 to 32\n"
	"slices        2 to 254: tick() begins one, and keys not added again in so many are forgotten\n"
	"features      what it must be able to do, Feature.MERGE | Feature.CONCURRENT for example\n"
	"slots, max_steps, reserve, stash\n"
	"              for those who tune; 0 in the first two and None mean the family's best\n\n"
	"A key is a str (its UTF-8), bytes, or an integer from -2**63 to 2**64 - 1, modulo 2**64.\n"
	"The str '7', which is b'7', and the integer 7 are different keys.";

static PyType_Slot slots[] = {
	{ Py_tp_doc, (void *)about },
	{ Py_tp_new, (void *)filter_new },
	{ Py_tp_dealloc, (void *)filter_dealloc },
	{ Py_tp_repr, (void *)filter_repr },
	{ Py_tp_iter, (void *)walk_start },
	{ Py_tp_methods, methods },
	{ Py_tp_members, members },
	{ Py_tp_richcompare, (void *)filter_compare },
	{ Py_tp_hash, (void *)PyObject_HashNotImplemented }, /* it changes, as a set does */
	{ Py_tp_getset, attributes },
	{ Py_sq_contains, (void *)filter_contains },
	{ Py_sq_length, (void *)filter_length },
	{ Py_nb_or, (void *)filter_or },
	{ Py_nb_inplace_or, (void *)filter_ior },
	{ 0, NULL },
};

static PyType_Spec spec = { "nidus.Filter", sizeof(struct filter_object), 0,
	                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };

int filter_add_type(PyObject *module)
{
	filter_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return filter_type ? PyModule_AddObjectRef(module, "Filter", (PyObject *)filter_type) : -1;
}
