/* SPDX-License-Identifier: MIT */
/*
 * Arrow arrays. The structs are those of the Arrow C data interface; they are the producer's, and
 * their capsules, or the release functions of what a stream yields, give them back.
 *
 * The interface does not tell how large buffers are, so a producer is trusted as any C extension in
 * this process is. What can be checked is: types, numbers of buffers, nulls, and offsets.
 */

#include "arrow.h"

#include <stdlib.h>
#include <string.h>

struct ArrowSchema {
	const char *format;
	const char *name;
	const char *metadata;
	int64_t flags;
	int64_t n_children;
	struct ArrowSchema **children;
	struct ArrowSchema *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length;
	int64_t null_count;
	int64_t offset;
	int64_t n_buffers;
	int64_t n_children;
	const void **buffers;
	struct ArrowArray **children;
	struct ArrowArray *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

/* What a column holds on to: capsules, and the arrays that a stream gave. */
struct arrow {
	PyObject *capsules;
	struct ArrowArray *arrays;
	size_t n;
};

/* ---------------------------------------------------------------- types -- */

/* How the items of a type lie in memory. */
struct layout {
	const char *format;
	enum column_kind kind;
	size_t width;
	bool is_signed;
	int64_t buffers;
};

static const struct layout layouts[] = {
	{ "c", COLUMN_INTEGERS, 1, true, 2 },
	{ "C", COLUMN_INTEGERS, 1, false, 2 },
	{ "s", COLUMN_INTEGERS, 2, true, 2 },
	{ "S", COLUMN_INTEGERS, 2, false, 2 },
	{ "i", COLUMN_INTEGERS, 4, true, 2 },
	{ "I", COLUMN_INTEGERS, 4, false, 2 },
	{ "l", COLUMN_INTEGERS, 8, true, 2 },
	{ "L", COLUMN_INTEGERS, 8, false, 2 },
	{ "b", COLUMN_BITS, 0, false, 2 },
	{ "u", COLUMN_STRINGS, 4, false, 3 },
	{ "z", COLUMN_STRINGS, 4, false, 3 },
	{ "U", COLUMN_STRINGS, 8, false, 3 },
	{ "Z", COLUMN_STRINGS, 8, false, 3 },
	{ "vu", COLUMN_VIEWS, 16, false, 3 },
	{ "vz", COLUMN_VIEWS, 16, false, 3 },
	/* Dates, times and durations are the integers that they are kept as. */
	{ "tdD", COLUMN_INTEGERS, 4, true, 2 },
	{ "tdm", COLUMN_INTEGERS, 8, true, 2 },
	{ "tts", COLUMN_INTEGERS, 4, true, 2 },
	{ "ttm", COLUMN_INTEGERS, 4, true, 2 },
	{ "ttu", COLUMN_INTEGERS, 8, true, 2 },
	{ "ttn", COLUMN_INTEGERS, 8, true, 2 },
	{ "tD", COLUMN_INTEGERS, 8, true, 2 }, /* and a unit */
	{ "ts", COLUMN_INTEGERS, 8, true, 2 }, /* and a unit and a zone */
};

static int refuse_type(const char *format)
{
	PyErr_Format(
		PyExc_TypeError,
		"keys in an Arrow array are integers, booleans, strings, binary or times, not of "
		"format '%s'",
		format);
	return -1;
}

/* Fixed-width binary, "w:16", whose items have no padding. */
static int find_fixed(const char *format, struct layout *layout)
{
	char *end;
	long width = strtol(format + 2, &end, 10);

	if (*end || width < 0)
		return refuse_type(format);
	*layout = (struct layout){ format, COLUMN_FIXED, (size_t)width, false, 2 };
	return 0;
}

static bool is_format(const char *format, const char *wanted)
{
	size_t length = strlen(wanted);

	if (strcmp(wanted, "ts") == 0 || strcmp(wanted, "tD") == 0)
		return strncmp(format, wanted, length) == 0 && format[length];
	return strcmp(format, wanted) == 0;
}

static int find_layout(const struct ArrowSchema *schema, struct layout *layout)
{
	const char *format = schema->format ? schema->format : "";

	if (schema->dictionary) {
		PyErr_SetString(PyExc_TypeError,
		                "the keys are dictionary-encoded (categorical): decode them first");
		return -1;
	}
	if (strncmp(format, "w:", 2) == 0)
		return find_fixed(format, layout);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (is_format(format, layouts[i].format)) {
			*layout = layouts[i];
			return 0;
		}
	}
	return refuse_type(format);
}

/* --------------------------------------------------------------- checks -- */

static int refuse_null(size_t i)
{
	PyErr_Format(PyExc_ValueError, "key %zu is null; drop the nulls first", i);
	return -1;
}

static int check_nulls(const struct ArrowArray *array)
{
	const unsigned char *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;

	if (!valid || array->null_count == 0)
		return 0;
	for (int64_t i = 0; i < array->length; i++) {
		int64_t bit = array->offset + i;

		if (!(valid[bit / 8] >> (bit % 8) & 1))
			return refuse_null((size_t)i);
	}
	return 0;
}

static int refuse_damage(void)
{
	PyErr_SetString(PyExc_ValueError, "the Arrow array contradicts itself");
	return -1;
}

static int check_offsets(const struct column *column)
{
	int64_t last = column->n > 0 ? column_offset(column, 0) : 0;

	if (last < 0)
		return refuse_damage();
	for (size_t i = 1; column->n > 0 && i <= column->n; i++) {
		int64_t next = column_offset(column, i);

		if (next < last)
			return refuse_damage();
		last = next;
	}
	return 0;
}

static int check_views(const struct column *column, int64_t buffers)
{
	for (size_t i = 0; i < column->n; i++) {
		int32_t view[4];

		memcpy(view, column->data + 16 * i, sizeof(view));
		if (view[0] < 0 || (view[0] > COLUMN_VIEW_INLINE &&
		                    (view[2] < 0 || view[2] >= buffers - 3 || view[3] < 0)))
			return refuse_damage();
	}
	return 0;
}

/* ---------------------------------------------------------------- pieces -- */

static int open_items(struct column *part, const struct ArrowArray *array,
                      const struct layout *layout)
{
	const char *items = array->buffers[1];
	size_t offset = (size_t)array->offset;

	switch (layout->kind) {
	case COLUMN_STRINGS:
		part->offsets = items + offset * layout->width;
		part->data = array->buffers[2];
		return check_offsets(part);
	case COLUMN_VIEWS:
		part->data = items + offset * layout->width;
		part->buffers = array->buffers + 2;
		return check_views(part, array->n_buffers);
	case COLUMN_BITS:
		part->data = items;
		part->first_bit = offset;
		return 0;
	default:
		part->data = items + offset * layout->width;
		part->stride = (Py_ssize_t)layout->width;
		return 0;
	}
}

static int open_part(struct column *part, const struct ArrowArray *array,
                     const struct layout *layout)
{
	memset(part, 0, sizeof(*part));
	if (array->length < 0 || array->offset < 0 || array->n_buffers < layout->buffers ||
	    !array->buffers)
		return refuse_damage();
	part->kind = layout->kind;
	part->width = layout->width;
	part->is_signed = layout->is_signed;
	part->n = (size_t)array->length;
	if (part->n == 0)
		return 0;
	if (!array->buffers[1])
		return refuse_damage();
	if (check_nulls(array) < 0)
		return -1;
	return open_items(part, array, layout);
}

/* The pieces of a column; a single one is the column itself. */
static int open_parts(struct column *column, const struct ArrowArray *arrays, size_t n,
                      const struct layout *layout)
{
	column->kind = COLUMN_PARTS;
	column->parts = calloc(n + 1, sizeof(*column->parts));
	if (!column->parts) {
		PyErr_NoMemory();
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (open_part(&column->parts[i], &arrays[i], layout) < 0)
			return -1;
		column->parts[i].start = column->n;
		column->n += column->parts[i].n;
		column->n_parts++;
	}
	column->is_signed = layout->is_signed;
	column->numbers = layout->kind == COLUMN_INTEGERS || layout->kind == COLUMN_BITS;
	if (n == 1) {
		struct arrow *arrow = column->arrow;
		struct column *parts = column->parts;

		*column = parts[0];
		column->arrow = arrow;
		free(parts);
	}
	return 0;
}

/* --------------------------------------------------------------- capsules -- */

static PyObject *export(PyObject *object, const char *name)
{
	PyObject *attribute = interned(name);
	PyObject *capsules = attribute ? PyObject_CallMethodObjArgs(object, attribute, NULL) : NULL;

	Py_XDECREF(attribute);
	return capsules;
}

static int open_array(struct column *column, PyObject *object)
{
	PyObject *pair = export(object, "__arrow_c_array__");
	struct ArrowSchema *schema = NULL;
	struct ArrowArray *array = NULL;
	struct layout layout;

	if (!pair)
		return -1;
	column->arrow->capsules = pair;
	if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
		PyErr_SetString(PyExc_TypeError, "__arrow_c_array__ gave no pair of capsules");
		return -1;
	}
	schema = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
	array = schema ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
	if (!array || find_layout(schema, &layout) < 0)
		return -1;
	return open_parts(column, array, 1, &layout);
}

static int refuse_stream(struct ArrowArrayStream *stream)
{
	const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;

	PyErr_Format(PyExc_ValueError, "the Arrow stream failed: %s", why ? why : "unknown");
	return -1;
}

/* All pieces of a stream, in memory of ours. */
static int read_stream(struct arrow *arrow, struct ArrowArrayStream *stream)
{
	for (size_t room = 0;;) {
		if (arrow->n == room) {
			struct ArrowArray *larger;

			room = room + room / 2 + 4;
			larger = realloc(arrow->arrays, room * sizeof(*larger));
			if (!larger) {
				PyErr_NoMemory();
				return -1;
			}
			arrow->arrays = larger;
		}
		if (stream->get_next(stream, &arrow->arrays[arrow->n]) != 0)
			return refuse_stream(stream);
		if (!arrow->arrays[arrow->n].release) /* the end */
			return 0;
		arrow->n++;
	}
}

static int open_stream(struct column *column, PyObject *object)
{
	PyObject *capsule = export(object, "__arrow_c_stream__");
	struct ArrowArrayStream *stream;
	struct ArrowSchema schema;
	struct layout layout;
	int answer;

	if (!capsule)
		return -1;
	column->arrow->capsules = capsule;
	stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
	if (!stream)
		return -1;
	if (stream->get_schema(stream, &schema) != 0)
		return refuse_stream(stream);
	answer = find_layout(&schema, &layout);
	if (schema.release)
		schema.release(&schema);
	if (answer < 0 || read_stream(column->arrow, stream) < 0)
		return -1;
	return open_parts(column, column->arrow->arrays, column->arrow->n, &layout);
}

static int has(PyObject *object, const char *name)
{
	PyObject *attribute = interned(name);
	PyObject *found = attribute ? PyObject_GetAttr(object, attribute) : NULL;

	Py_XDECREF(attribute);
	Py_XDECREF(found);
	if (found)
		return 1;
	if (!PyErr_ExceptionMatches(PyExc_AttributeError))
		return -1;
	PyErr_Clear();
	return 0;
}

int arrow_is(PyObject *object)
{
	int array = has(object, "__arrow_c_array__");

	return array != 0 ? array : has(object, "__arrow_c_stream__");
}

int arrow_open(struct column *column, PyObject *object)
{
	int array = has(object, "__arrow_c_array__"), answer;

	if (array < 0)
		return -1;
	column->arrow = calloc(1, sizeof(*column->arrow));
	if (!column->arrow) {
		PyErr_NoMemory();
		return -1;
	}
	answer = array ? open_array(column, object) : open_stream(column, object);
	if (answer < 0)
		column_close(column);
	return answer;
}

void arrow_close(struct column *column)
{
	struct arrow *arrow = column->arrow;
	PyObject *type, *value, *trace;

	if (!arrow)
		return;
	PyErr_Fetch(&type, &value, &trace); /* a producer may run Python code */
	for (size_t i = 0; i < arrow->n; i++)
		arrow->arrays[i].release(&arrow->arrays[i]);
	Py_XDECREF(arrow->capsules);
	free(arrow->arrays);
	free(arrow);
	column->arrow = NULL;
	PyErr_Restore(type, value, trace);
}
