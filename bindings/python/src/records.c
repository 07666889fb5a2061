/* SPDX-License-Identifier: MIT */
/* Structs of the library as named tuples: Info, PlanRow and Entry. */

#include "binding.h"
#include "options.h"

#include <stdlib.h>

static PyTypeObject *info_type, *row_type, *entry_type;

static PyStructSequence_Field info_fields[] = {
	{ "family", "the design: \"windowed\" and so on" },
	{ "count", "entries now, copies counted; Bloom: inserts" },
	{ "capacity",
	  "keys promised to fit: of a filter that can grow, those it has room for by now" },
	{ "max_capacity", "keys it may grow to by itself" },
	{ "bytes", "memory" },
	{ "seed", "what hashing is keyed with" },
	{ "load", "used slots / slots" },
	{ "headroom", "share of places left in the fullest chunk" },
	{ "bits_per_key", "8 * bytes / count; 0 when empty" },
	{ "fpr_target", "the rate promised at capacity" },
	{ "fpr_now", "the rate expected with what is in it now" },
	{ "slots", "per bucket or window; Bloom: 0" },
	{ "fingerprint_bits", "stored per key" },
	{ "slot_bits", "width of a slot" },
	{ "growth_bits", "of the fingerprint, reserved for growth" },
	{ "total_slots", "slots in the table" },
	{ "chunks", "independent sub-tables by now; 0: a list of a few keys" },
	{ "stashed", "entries in the overflow lists" },
	{ "features", "what this filter can do, a Feature" },
	{ "readonly", "opened in place, so it cannot change" },
	{ "concurrent", "made with Feature.CONCURRENT" },
	{ "value_bits", "of the value beside each key; 0: it keeps none" },
	{ "slices", "after so many a key is forgotten; 0: never" },
	{ NULL, NULL },
};

static PyStructSequence_Field row_fields[] = {
	{ "family", "the design" },
	{ "why_not", "why it cannot do what was asked; None if it can" },
	{ "chosen", "whether Filter would take this one" },
	{ "bytes", "the table" },
	{ "capacity", "keys promised" },
	{ "bits_per_key", "at the capacity that was asked for" },
	{ "overhead", "bits_per_key / log2(1 / fpr)" },
	{ "fpr", "expected with the asked capacity in it" },
	{ "load", "with the asked capacity in it" },
	{ "lines_per_lookup", "cache lines, expected, absent key" },
	{ "slots", "per bucket or window" },
	{ "fingerprint_bits", "per key" },
	{ "copies", "of one key at most; Bloom: 0" },
	{ "features", "what the family can do, a Feature" },
	{ "speed", "class of measured speed: slow, medium, fast or fastest" },
	{ "why", "of the chosen row: why this one; otherwise \"\"" },
	{ NULL, NULL },
};

static PyStructSequence_Field entry_fields[] = {
	{ "home", "the bucket or window by which the entry is known" },
	{ "fingerprint", "the part of the hash that is stored" },
	{ "value", "what is kept beside it; 0 in a filter without values" },
	{ NULL, NULL },
};

static PyStructSequence_Desc info_desc = { "nidus.Info", "What a filter is and how full it is.",
	                                   info_fields, 23 };
static PyStructSequence_Desc row_desc = { "nidus.PlanRow", "What one family would need.",
	                                  row_fields, 16 };
static PyStructSequence_Desc entry_desc = { "nidus.Entry",
	                                    "One stored entry: all that a filter knows of a key.",
	                                    entry_fields, 3 };

static int add_type(PyObject *module, const char *name, PyStructSequence_Desc *desc,
                    PyTypeObject **type)
{
	*type = PyStructSequence_NewType(desc);
	return *type ? PyModule_AddObjectRef(module, name, (PyObject *)*type) : -1;
}

int records_add_types(PyObject *module)
{
	return add_type(module, "Info", &info_desc, &info_type) < 0 ||
	                       add_type(module, "PlanRow", &row_desc, &row_type) < 0 ||
	                       add_type(module, "Entry", &entry_desc, &entry_type) < 0
	               ? -1
	               : 0;
}

/* A record of these values, which it takes over; NULL if one of them could not be made. */
static PyObject *make_record(PyTypeObject *type, PyObject *const *values, Py_ssize_t n)
{
	PyObject *record = PyStructSequence_New(type);
	bool whole = record != NULL;

	for (Py_ssize_t i = 0; i < n; i++) {
		whole = whole && values[i];
		if (record && values[i])
			PyStructSequence_SetItem(record, i, values[i]);
		else
			Py_XDECREF(values[i]);
	}
	if (whole)
		return record;
	Py_XDECREF(record);
	return NULL;
}

#define COUNT(value) PyLong_FromUnsignedLongLong(value)
#define REAL(value) PyFloat_FromDouble(value)
#define TEXT(value) PyUnicode_FromString(value)
#define MAKE(type, values) make_record(type, values, sizeof(values) / sizeof((values)[0]))

PyObject *info_record(const nidus_info *info)
{
	PyObject *values[] = {
		TEXT(nidus_family_name(info->family)),
		COUNT(info->count),
		COUNT(info->capacity),
		COUNT(info->max_capacity),
		COUNT(info->bytes),
		COUNT(info->seed),
		REAL(info->load),
		REAL(info->headroom),
		REAL(info->bits_per_key),
		REAL(info->fpr_target),
		REAL(info->fpr_now),
		COUNT(info->slots),
		COUNT(info->fingerprint_bits),
		COUNT(info->slot_bits),
		COUNT(info->growth_bits),
		COUNT(info->total_slots),
		COUNT(info->chunks),
		COUNT(info->stashed),
		feature_flags(info->features),
		PyBool_FromLong(info->readonly),
		PyBool_FromLong(info->concurrent),
		COUNT(info->value_bits),
		COUNT(info->slices),
	};

	return MAKE(info_type, values);
}

PyObject *entry_record(const nidus_entry *entry)
{
	PyObject *values[] = { COUNT(entry->home), COUNT(entry->fingerprint), COUNT(entry->value) };

	return MAKE(entry_type, values);
}

static PyObject *why_not(const nidus_plan_row *row)
{
	if (row->status != NIDUS_OK)
		return TEXT(row->why_not);
	return Py_NewRef(Py_None);
}

static PyObject *row_record(const nidus_plan_row *row)
{
	PyObject *values[] = {
		TEXT(nidus_family_name(row->family)),
		why_not(row),
		PyBool_FromLong(row->chosen),
		COUNT(row->bytes),
		COUNT(row->capacity),
		REAL(row->bits_per_key),
		REAL(row->overhead),
		REAL(row->fpr),
		REAL(row->load),
		REAL(row->lines_per_lookup),
		COUNT(row->slots),
		COUNT(row->fingerprint_bits),
		COUNT(row->copies),
		feature_flags(row->features),
		TEXT(nidus_speed_name(row->speed)),
		TEXT(row->why),
	};

	return MAKE(row_type, values);
}

static PyObject *list_rows(const nidus_plan_row *rows, size_t n)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < n; i++) {
		PyObject *row = row_record(&rows[i]);

		if (!row || PyList_Append(list, row) < 0)
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	return list;
}

PyObject *plan(PyObject *module, PyObject *args, PyObject *named)
{
	static char *names[] = { "capacity", "fpr", OPTIONS_NAMES, NULL };
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_plan_row *rows;
	nidus_status status;
	PyObject *list;
	size_t n;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, named, "O&|O&$" OPTIONS_FORMAT ":plan", names,
	                                 convert_count, &options.capacity, convert_rate,
	                                 &options.fpr, OPTIONS_TARGETS(&options)) ||
	    check_rate(&options) < 0)
		return NULL;
	status = nidus_plan(&options, NULL, 0, &n);
	if (status != NIDUS_OK)
		return raise_status(status);
	rows = calloc(n, sizeof(*rows));
	if (!rows)
		return PyErr_NoMemory();
	status = nidus_plan(&options, rows, n, &n);
	list = status == NIDUS_OK ? list_rows(rows, n) : raise_status(status);
	free(rows);
	return list;
}
