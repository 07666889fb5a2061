/* SPDX-License-Identifier: MIT */
/* Whole arrays at once, with the GIL released. */

#include "binding.h"
#include "keys.h"
#include "options.h"

#include <stdlib.h>
#include <unistd.h>

/* -------------------------------------------------- an array of answers -- */

/* NumPy's asarray, or None where there is no NumPy. */
static PyObject *asarray(void)
{
	static PyObject *function;
	PyObject *numpy;

	if (function)
		return function;
	numpy = PyImport_ImportModule("numpy");
	if (numpy) {
		function = PyObject_GetAttrString(numpy, "asarray");
		Py_DECREF(numpy);
	} else if (PyErr_ExceptionMatches(PyExc_ImportError)) {
		PyErr_Clear();
		function = Py_NewRef(Py_None);
	}
	return function;
}

static PyObject *cast_to_bool(PyObject *view)
{
	PyObject *cast = interned("cast");
	PyObject *format = interned("?");
	PyObject *bools = NULL;

	if (cast && format)
		bools = PyObject_CallMethodObjArgs(view, cast, format, NULL);
	Py_XDECREF(cast);
	Py_XDECREF(format);
	return bools;
}

/* The bytes, each 0 or 1, as a NumPy array of bool or, without NumPy, as a memoryview. */
static PyObject *bools_of(PyObject *bytes)
{
	PyObject *function = asarray();
	PyObject *view = function ? PyMemoryView_FromObject(bytes) : NULL;
	PyObject *bools = view ? cast_to_bool(view) : NULL;
	PyObject *array;

	Py_XDECREF(view);
	if (!bools || function == Py_None)
		return bools;
	array = PyObject_CallFunctionObjArgs(function, bools, NULL);
	Py_DECREF(bools);
	return array;
}

/* -------------------------------------------------- one array, one filter -- */

/*
 * One call: its column of keys, and where it has got to. `step` handles the hashes of one block
 * without the GIL; what it answers but OK ends the call.
 */
struct pass {
	struct column column;
	nidus_filter *filter;
	uint8_t *yes; /* for answers, one per key */
	size_t done;
	nidus_status (*step)(struct pass *pass, const uint64_t *hashes, size_t n);
};

static nidus_status run(struct pass *pass)
{
	size_t n = pass->column.n;
	nidus_status status = NIDUS_OK;
	uint64_t room[KEYS_BLOCK];

	while (status == NIDUS_OK && pass->done < n) {
		size_t block = n - pass->done < KEYS_BLOCK ? n - pass->done : KEYS_BLOCK;
		const uint64_t *hashes =
			column_hash(&pass->column, pass->filter, pass->done, block, room);

		status = pass->step(pass, hashes, block);
	}
	return status;
}

/* Runs the pass on the filter; -1 if it is closed. */
static int run_on(struct filter_object *self, struct pass *pass, enum guard_use use,
                  nidus_status *status)
{
	if (filter_enter(self, use) < 0)
		return -1;
	pass->filter = self->filter;
	PyThreadState *running = PyEval_SaveThread();
	*status = run(pass);
	PyEval_RestoreThread(running);
	filter_leave(self, use);
	return 0;
}

/* A call that answers with a bool per key. */
static PyObject *answer_many(struct filter_object *self, PyObject *keys, struct pass *pass,
                             enum guard_use use)
{
	nidus_status status = NIDUS_OK;
	PyObject *bytes, *answer = NULL;

	if (column_open(&pass->column, keys, self) < 0)
		return NULL;
	bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)pass->column.n);
	if (bytes) {
		pass->yes = (uint8_t *)PyByteArray_AsString(bytes);
		if (run_on(self, pass, use, &status) == 0)
			answer = status == NIDUS_OK ? bools_of(bytes)
			                            : raise_after(status, pass->done);
	}
	Py_XDECREF(bytes);
	column_close(&pass->column);
	return answer;
}

/* A call that answers with None. */
static PyObject *change_many(struct filter_object *self, PyObject *keys, struct pass *pass)
{
	nidus_status status = NIDUS_OK;
	int ran;

	if (column_open(&pass->column, keys, self) < 0)
		return NULL;
	ran = run_on(self, pass, filter_writing(self), &status);
	column_close(&pass->column);
	if (pass->done > 0)
		self->changes++;
	if (ran < 0)
		return NULL;
	return status == NIDUS_OK ? Py_NewRef(Py_None) : raise_after(status, pass->done);
}

static nidus_status look_up(struct pass *pass, const uint64_t *hashes, size_t n)
{
	nidus_contains_batch(pass->filter, hashes, n, pass->yes + pass->done);
	pass->done += n;
	return NIDUS_OK;
}

static nidus_status insert(struct pass *pass, const uint64_t *hashes, size_t n)
{
	size_t done;
	nidus_status status = nidus_insert_batch(pass->filter, hashes, n, &done);

	pass->done += done;
	return status;
}

static nidus_status take_out(struct pass *pass, const uint64_t *hashes, size_t n)
{
	size_t done;
	nidus_status status = nidus_remove_batch(pass->filter, hashes, n, &done);

	pass->done += done;
	return status;
}

static nidus_status insert_new(struct pass *pass, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		nidus_status status = nidus_insert_new_hash(pass->filter, hashes[i]);

		if (status != NIDUS_OK && status != NIDUS_PRESENT)
			return status;
		pass->yes[pass->done++] = status == NIDUS_OK;
	}
	return NIDUS_OK;
}

PyObject *filter_contains_many(PyObject *self, PyObject *keys)
{
	struct pass pass = { .step = look_up };

	return answer_many((struct filter_object *)self, keys, &pass, GUARD_SHARED);
}

PyObject *filter_add_new_many(PyObject *object, PyObject *keys)
{
	struct filter_object *self = (struct filter_object *)object;
	struct pass pass = { .step = insert_new };
	PyObject *answer = answer_many(self, keys, &pass, filter_writing(self));

	if (pass.done > 0)
		self->changes++;
	return answer;
}

PyObject *filter_add_many(PyObject *self, PyObject *keys)
{
	struct pass pass = { .step = insert };

	return change_many((struct filter_object *)self, keys, &pass);
}

PyObject *filter_remove_many(PyObject *self, PyObject *keys)
{
	struct pass pass = { .step = take_out };

	return change_many((struct filter_object *)self, keys, &pass);
}

/* ---------------------------------------------------------------- build -- */

static unsigned processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 1 ? (unsigned)online : 1;
}

/* All hashes of a column, in memory of the caller's; NULL if there is none. No GIL. */
static uint64_t *hash_all(struct column *column, const nidus_filter *hasher)
{
	uint64_t *hashes = column->hashes;

	column->hashes = NULL;
	if (hashes || column->n > SIZE_MAX / sizeof(*hashes))
		return hashes;
	hashes = malloc(column->n > 0 ? column->n * sizeof(*hashes) : 1);
	for (size_t i = 0; hashes && i < column->n; i += KEYS_BLOCK) {
		size_t block = column->n - i < KEYS_BLOCK ? column->n - i : KEYS_BLOCK;

		column_hash(column, hasher, i, block, hashes + i);
	}
	return hashes;
}

/* What is built: with the options, or like `like`. Hashes are those of `hasher`. */
struct building {
	nidus_options options;
	struct column column;
	struct filter_object *hasher;
	bool like;
	unsigned threads;
	nidus_filter *built;
};

/* Needs no GIL. */
static nidus_status build_column(struct building *building)
{
	struct column *column = &building->column;
	const uint64_t *plain = column_plain(column);
	uint64_t *hashes;
	nidus_status status;

	if (plain && !building->like)
		return nidus_build_u64(&building->options, plain, column->n, building->threads,
		                       &building->built);
	hashes = hash_all(column, building->hasher->filter);
	if (!hashes)
		return NIDUS_E_NOMEM;
	if (building->like)
		status = nidus_build_like(building->hasher->filter, hashes, column->n,
		                          building->options.features & NIDUS_MULTISET,
		                          building->threads, &building->built);
	else
		status = nidus_build_hashes(&building->options, hashes, column->n,
		                            building->threads, &building->built);
	free(hashes);
	return status;
}

static PyObject *build_from(struct building *building, PyObject *keys)
{
	nidus_status status;

	if (column_open(&building->column, keys, building->hasher) < 0)
		return NULL;
	if (filter_enter(building->hasher, GUARD_SHARED) < 0) {
		column_close(&building->column);
		return NULL;
	}
	PyThreadState *running = PyEval_SaveThread();
	status = build_column(building);
	PyEval_RestoreThread(running);
	filter_leave(building->hasher, GUARD_SHARED);
	column_close(&building->column);
	if (status == NIDUS_E_NOMEM)
		return raise_reason(status, nidus_status_text(status));
	return status == NIDUS_OK ? filter_wrap(building->built) : raise_status(status);
}

/* A tiny filter that hashes under the seed of the options, or under one that it draws for them. */
static PyObject *make_hasher(nidus_options *options)
{
	nidus_options tiny = NIDUS_OPTIONS_INIT;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_filter *hasher;
	nidus_status status;

	tiny.capacity = 1;
	tiny.seed = options->seed;
	status = nidus_create(&tiny, &hasher);
	if (status != NIDUS_OK)
		return raise_status(status);
	nidus_get_info(hasher, &info);
	options->seed = info.seed;
	return filter_wrap(hasher);
}

/* --like takes everything from the other filter, and a bool for the copies. */
static int check_like(const struct building *building, PyObject *like)
{
	const nidus_options *options = &building->options;

	if (!PyObject_TypeCheck(like, filter_type)) {
		PyErr_SetString(PyExc_TypeError, "like is a Filter");
		return -1;
	}
	if (options->capacity || options->fpr || options->family || options->seed ||
	    options->max_capacity || options->slots || options->max_steps || options->reserve ||
	    options->stash || options->features & ~(uint32_t)NIDUS_MULTISET) {
		PyErr_SetString(PyExc_TypeError,
		                "like takes everything from the other filter: only threads and "
		                "features=Feature.MULTISET go with it");
		return -1;
	}
	return 0;
}

static PyObject *build_with(struct building *building, PyObject *keys, PyObject *like)
{
	PyObject *hasher, *made;

	building->like = like != Py_None;
	if (building->like && check_like(building, like) < 0)
		return NULL;
	hasher = building->like ? Py_NewRef(like) : make_hasher(&building->options);
	if (!hasher)
		return NULL;
	building->hasher = (struct filter_object *)hasher;
	made = build_from(building, keys);
	Py_DECREF(hasher);
	return made;
}

PyObject *build(PyObject *module, PyObject *args, PyObject *named)
{
	static char *names[] = {
		"keys", "fpr", "capacity", "threads", "like", OPTIONS_NAMES, NULL
	};
	struct building building = { .options = NIDUS_OPTIONS_INIT };
	nidus_options *options = &building.options;
	PyObject *keys, *like = Py_None;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, named, "O|O&$O&O&O" OPTIONS_FORMAT ":build", names,
	                                 &keys, convert_rate, &options->fpr, convert_count,
	                                 &options->capacity, convert_unsigned, &building.threads,
	                                 &like, OPTIONS_TARGETS(options)))
		return NULL;
	if (building.threads == 0)
		building.threads = processors();
	return build_with(&building, keys, like);
}
