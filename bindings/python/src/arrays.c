/* SPDX-License-Identifier: MIT */
/* Whole arrays at once, with the GIL released. */

#include "binding.h"
#include "keys.h"
#include "options.h"
#include "pulse.h"

#include <stdlib.h>
#include <string.h>
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

static PyObject *cast_to(PyObject *view, const char *format)
{
	PyObject *cast = interned("cast");
	PyObject *wanted = interned(format);
	PyObject *items = NULL;

	if (cast && wanted)
		items = PyObject_CallMethodObjArgs(view, cast, wanted, NULL);
	Py_XDECREF(cast);
	Py_XDECREF(wanted);
	return items;
}

/* The bytes as a NumPy array of items of this format or, without NumPy, as a memoryview. */
static PyObject *array_of(PyObject *bytes, const char *format)
{
	PyObject *function = asarray();
	PyObject *view = function ? PyMemoryView_FromObject(bytes) : NULL;
	PyObject *items = view ? cast_to(view, format) : NULL;
	PyObject *array;

	Py_XDECREF(view);
	if (!items || function == Py_None)
		return items;
	array = PyObject_CallFunctionObjArgs(function, items, NULL);
	Py_DECREF(items);
	return array;
}

/*
 * The answer for all items of a masked array, in which those of masked ones are masked; otherwise the
 * answer itself, which is taken over.
 */
static PyObject *answer_for(const struct column *column, PyObject *answer)
{
	PyObject *module = NULL, *name, *whole = NULL;

	if (!answer || !column->mask)
		return answer;
	name = interned("restore");
	module = name ? PyImport_ImportModule("nidus._columns") : NULL;
	if (module)
		whole = PyObject_CallMethodObjArgs(module, name, answer, column->mask, NULL);
	Py_XDECREF(module);
	Py_XDECREF(name);
	Py_DECREF(answer);
	return whole;
}

/* -------------------------------------------------- one array, one filter -- */

/*
 * One call: its column of keys, and where it has got to. `step` handles the hashes of one block
 * without the GIL; what it answers but OK ends the call.
 */
struct pass {
	struct column column;
	nidus_filter *filter;
	uint8_t *yes;    /* for answers, one per key: a bool, */
	uint64_t *first; /* a value or a count, */
	uint32_t *found; /* how many entries */
	struct column values;
	bool valued; /* there is a column of values, or of counts to add */
	size_t done;
	nidus_status (*step)(struct pass *pass, const uint64_t *hashes, size_t n);
};

static nidus_status run(struct pass *pass, struct pulse *pulse)
{
	size_t n = pass->column.n;
	nidus_status status = NIDUS_OK;
	uint64_t room[KEYS_BLOCK];

	while (status == NIDUS_OK && pass->done < n && !pulse_beat(pulse)) {
		size_t block = n - pass->done < KEYS_BLOCK ? n - pass->done : KEYS_BLOCK;
		const uint64_t *hashes =
			column_hash(&pass->column, pass->filter, pass->done, block, room);

		status = pass->step(pass, hashes, block);
	}
	return status;
}

/* Runs the pass on the filter; -1 if it is closed, or if a signal ended the pass. */
static int run_on(struct filter_object *self, struct pass *pass, enum guard_use use,
                  nidus_status *status)
{
	struct pulse pulse;
	int answer;

	if (filter_enter(self, use) < 0)
		return -1;
	pass->filter = self->filter;
	pulse_release(&pulse);
	*status = run(pass, &pulse);
	answer = pulse_acquire(&pulse);
	filter_leave(self, use);
	return answer;
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
			answer = status == NIDUS_OK
			                 ? answer_for(&pass->column, array_of(bytes, "?"))
			                 : raise_after(status, pass->done);
	}
	Py_XDECREF(bytes);
	column_close(&pass->column);
	return answer;
}

/* Whether there is a number for each key. */
static int check_lengths(const struct column *keys, const struct column *numbers)
{
	if (keys->mask)
		PyErr_SetString(
			PyExc_TypeError,
			"masked keys have no numbers beside them: leave the masked ones out, "
			"with compressed(), and their numbers");
	else if (keys->n != numbers->n)
		PyErr_Format(PyExc_ValueError, "%zu keys, but %zu numbers to go with them", keys->n,
		             numbers->n);
	else
		return 0;
	return -1;
}

/* A call that answers with None. */
static PyObject *change_many(struct filter_object *self, PyObject *keys, struct pass *pass)
{
	nidus_status status = NIDUS_OK;
	int ran;

	if (column_open(&pass->column, keys, self) < 0)
		return NULL;
	if (pass->valued && check_lengths(&pass->column, &pass->values) < 0) {
		column_close(&pass->column);
		return NULL;
	}
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
	uint64_t room[KEYS_BLOCK];
	size_t done;
	nidus_status status;

	if (pass->valued)
		status =
			nidus_insert_value_batch(pass->filter, hashes,
		                                 column_numbers(&pass->values, pass->done, n, room),
		                                 n, &done);
	else
		status = nidus_insert_batch(pass->filter, hashes, n, &done);
	pass->done += done;
	return status;
}

static nidus_status add_up(struct pass *pass, const uint64_t *hashes, size_t n)
{
	uint64_t room[KEYS_BLOCK];
	const uint64_t *deltas =
		pass->valued ? column_numbers(&pass->values, pass->done, n, room) : NULL;
	size_t done;
	nidus_status status = nidus_add_count_batch(pass->filter, hashes, deltas, n, &done);

	pass->done += done;
	return status;
}

static nidus_status find_values(struct pass *pass, const uint64_t *hashes, size_t n)
{
	nidus_find_batch(pass->filter, hashes, n, pass->first + pass->done,
	                 pass->found + pass->done);
	pass->done += n;
	return NIDUS_OK;
}

static nidus_status find_counts(struct pass *pass, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pass->first[pass->done++] = nidus_get_count_hash(pass->filter, hashes[i]);
	return NIDUS_OK;
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
	size_t done;
	nidus_status status =
		nidus_insert_new_batch(pass->filter, hashes, n, pass->yes + pass->done, &done);

	pass->done += done;
	return status;
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

/* change_many with a number beside each key, unless `numbers` is None. */
static PyObject *change_with(struct filter_object *self, PyObject *keys, PyObject *numbers,
                             struct pass *pass)
{
	PyObject *answer;

	pass->valued = numbers != Py_None;
	if (pass->valued && column_open_numbers(&pass->values, numbers) < 0)
		return NULL;
	answer = change_many(self, keys, pass);
	if (pass->valued)
		column_close(&pass->values);
	return answer;
}

PyObject *filter_add_many(PyObject *self, PyObject *args, PyObject *named)
{
	static char *names[] = { "keys", "values", NULL };
	struct pass pass = { .step = insert };
	PyObject *keys, *values = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O|O:add_many", names, &keys, &values))
		return NULL;
	return change_with((struct filter_object *)self, keys, values, &pass);
}

PyObject *filter_add_counts(PyObject *self, PyObject *args, PyObject *named)
{
	static char *names[] = { "keys", "deltas", NULL };
	struct pass pass = { .step = add_up };
	PyObject *keys, *deltas = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O|O:add_counts", names, &keys, &deltas))
		return NULL;
	return change_with((struct filter_object *)self, keys, deltas, &pass);
}

/* Room for n items, to which `items` points; NULL with an exception. */
static PyObject *room_for(size_t n, size_t width, void **items)
{
	PyObject *bytes = n <= (size_t)PY_SSIZE_T_MAX / width
	                          ? PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * width))
	                          : PyErr_NoMemory();

	if (bytes)
		*items = PyByteArray_AsString(bytes);
	return bytes;
}

/* The two arrays of find_many from their bytes. */
static PyObject *pair_of(const struct column *column, PyObject *first, PyObject *found)
{
	PyObject *values = answer_for(column, array_of(first, "Q"));
	PyObject *counts = values ? answer_for(column, array_of(found, "I")) : NULL;
	PyObject *pair = counts ? PyTuple_Pack(2, values, counts) : NULL;

	Py_XDECREF(values);
	Py_XDECREF(counts);
	return pair;
}

PyObject *filter_find_many(PyObject *object, PyObject *keys)
{
	struct filter_object *self = (struct filter_object *)object;
	struct pass pass = { .step = find_values };
	PyObject *first, *found, *answer = NULL;
	void *room[2] = { NULL, NULL };
	nidus_status status;

	if (column_open(&pass.column, keys, self) < 0)
		return NULL;
	first = room_for(pass.column.n, sizeof(*pass.first), &room[0]);
	found = first ? room_for(pass.column.n, sizeof(*pass.found), &room[1]) : NULL;
	pass.first = room[0];
	pass.found = room[1];
	if (found && run_on(self, &pass, GUARD_SHARED, &status) == 0)
		answer = pair_of(&pass.column, first, found);
	Py_XDECREF(first);
	Py_XDECREF(found);
	column_close(&pass.column);
	return answer;
}

PyObject *filter_counts(PyObject *object, PyObject *keys)
{
	struct filter_object *self = (struct filter_object *)object;
	struct pass pass = { .step = find_counts };
	PyObject *bytes, *answer = NULL;
	void *room = NULL;
	nidus_status status;

	if (column_open(&pass.column, keys, self) < 0)
		return NULL;
	bytes = room_for(pass.column.n, sizeof(*pass.first), &room);
	pass.first = room;
	if (bytes && run_on(self, &pass, GUARD_SHARED, &status) == 0)
		answer = answer_for(&pass.column, array_of(bytes, "Q"));
	Py_XDECREF(bytes);
	column_close(&pass.column);
	return answer;
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
static uint64_t *hash_all(struct column *column, const nidus_filter *hasher, struct pulse *pulse)
{
	uint64_t *hashes = column->hashes;

	column->hashes = NULL;
	if (hashes || column->n > SIZE_MAX / sizeof(*hashes))
		return hashes;
	hashes = malloc(column->n > 0 ? column->n * sizeof(*hashes) : 1);
	for (size_t i = 0; hashes && i < column->n && !pulse_beat(pulse); i += KEYS_BLOCK) {
		size_t block = column->n - i < KEYS_BLOCK ? column->n - i : KEYS_BLOCK;

		column_hash(column, hasher, i, block, hashes + i);
	}
	return hashes;
}

/* What is built: with the options, or like `like`. Hashes are those of `hasher`. */
struct building {
	nidus_options options;
	struct column column;
	struct column values;
	bool valued;
	struct filter_object *hasher;
	bool like;
	unsigned threads;
	nidus_filter *built;
};

/* The numbers of a column in memory of their own; NULL if there is none. No GIL. */
static uint64_t *copy_numbers(const struct column *column, struct pulse *pulse)
{
	uint64_t *numbers = column->n <= SIZE_MAX / sizeof(*numbers)
	                            ? malloc(column->n > 0 ? column->n * sizeof(*numbers) : 1)
	                            : NULL;

	for (size_t i = 0; numbers && i < column->n && !pulse_beat(pulse); i += KEYS_BLOCK) {
		size_t block = column->n - i < KEYS_BLOCK ? column->n - i : KEYS_BLOCK;
		const uint64_t *from = column_numbers(column, i, block, numbers + i);

		if (from != numbers + i)
			memcpy(numbers + i, from, block * sizeof(*numbers));
	}
	return numbers;
}

/* `values` is NULL if there are none. Both arrays are put in order. */
static nidus_status build_hashed(struct building *building, uint64_t *hashes, uint64_t *values)
{
	size_t n = building->column.n;

	if (building->like)
		return nidus_build_like(building->hasher->filter, hashes, values, n,
		                        building->options.features & NIDUS_MULTISET,
		                        building->threads, &building->options.progress,
		                        &building->built);
	return values ? nidus_build_values(&building->options, hashes, values, n, building->threads,
	                                   &building->built)
	              : nidus_build_hashes(&building->options, hashes, n, building->threads,
	                                   &building->built);
}

/* Needs no GIL. */
static nidus_status build_column(struct building *building, struct pulse *pulse)
{
	struct column *column = &building->column;
	const uint64_t *plain = column_plain(column);
	uint64_t *hashes, *values = NULL;
	nidus_status status = NIDUS_E_NOMEM;

	if (plain && !building->like && !building->valued)
		return nidus_build_u64(&building->options, plain, column->n, building->threads,
		                       &building->built);
	hashes = hash_all(column, building->hasher->filter, pulse);
	if (building->valued)
		values = copy_numbers(&building->values, pulse);
	if (pulse->raised)
		status = NIDUS_STOPPED;
	else if (hashes && (values || !building->valued))
		status = build_hashed(building, hashes, values);
	free(hashes);
	free(values);
	return status;
}

static PyObject *build_from(struct building *building, PyObject *keys)
{
	struct pulse pulse;
	nidus_status status;
	int stopped;

	if (column_open(&building->column, keys, building->hasher) < 0)
		return NULL;
	if (building->valued && check_lengths(&building->column, &building->values) < 0) {
		column_close(&building->column);
		return NULL;
	}
	if (filter_enter(building->hasher, GUARD_SHARED) < 0) {
		column_close(&building->column);
		return NULL;
	}
	building->options.progress = (nidus_progress){ pulse_stop, &pulse };
	pulse_release(&pulse);
	status = build_column(building, &pulse);
	stopped = pulse_acquire(&pulse);
	filter_leave(building->hasher, GUARD_SHARED);
	column_close(&building->column);
	if (stopped < 0) {
		nidus_free(building->built);
		return NULL;
	}
	if (status == NIDUS_E_NOMEM)
		return raise_reason(status, nidus_status_text(status));
	return status == NIDUS_OK ? filter_wrap(filter_type, building->built)
	                          : raise_status(status);
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
	return filter_wrap(filter_type, hasher);
}

/* --like takes everything from the other filter, and a bool for the copies. */
static int check_like(const struct building *building, PyObject *like)
{
	const nidus_options *options = &building->options;

	if (!PyObject_TypeCheck(like, filter_type)) {
		PyErr_SetString(PyExc_TypeError, "like is a Filter");
		return -1;
	}
	if (options->value_bits || options->capacity || options->fpr || options->family ||
	    options->seed || options->max_capacity || options->slots || options->max_steps ||
	    options->reserve || options->stash || options->features & ~(uint32_t)NIDUS_MULTISET) {
		PyErr_SetString(
			PyExc_TypeError,
			"like takes everything from the other filter: only values, threads and "
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
	static char *names[] = { "keys",    "fpr",  "values",      "capacity",
		                 "threads", "like", OPTIONS_NAMES, NULL };
	struct building building = { .options = NIDUS_OPTIONS_INIT };
	nidus_options *options = &building.options;
	PyObject *keys, *values = Py_None, *like = Py_None, *built;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, named, "O|O&$OO&O&O" OPTIONS_FORMAT ":build", names,
	                                 &keys, convert_rate, &options->fpr, &values, convert_count,
	                                 &options->capacity, convert_unsigned, &building.threads,
	                                 &like, OPTIONS_TARGETS(options)) ||
	    check_rate(options) < 0)
		return NULL;
	if (building.threads == 0)
		building.threads = processors();
	building.valued = values != Py_None;
	if (building.valued && column_open_numbers(&building.values, values) < 0)
		return NULL;
	built = build_with(&building, keys, like);
	if (building.valued)
		column_close(&building.values);
	return built;
}
