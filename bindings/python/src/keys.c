/* SPDX-License-Identifier: MIT */
/* From Python objects to keys and hashes. */

#include "keys.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- one key -- */

static int number_of(PyObject *integer, uint64_t *number)
{
	int overflow;
	long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);

	*number = (uint64_t)value;
	if (overflow == 0)
		return value == -1 && PyErr_Occurred() ? -1 : 0;
	if (overflow > 0) {
		*number = PyLong_AsUnsignedLongLong(integer);
		if (*number != UINT64_MAX || !PyErr_Occurred())
			return 0;
		if (!PyErr_ExceptionMatches(PyExc_OverflowError))
			return -1;
		PyErr_Clear();
	}
	PyErr_SetString(PyExc_OverflowError, "an integer key is from -2**63 to 2**64 - 1");
	return -1;
}

static int index_of(PyObject *object, uint64_t *number)
{
	PyObject *integer = PyNumber_Index(object);
	int answer;

	if (!integer)
		return -1;
	answer = number_of(integer, number);
	Py_DECREF(integer);
	return answer;
}

int number_from(PyObject *object, uint64_t *number)
{
	return convert_count(object, number) ? 0 : -1;
}

static int refuse_key(PyObject *object)
{
	PyObject *attribute = interned("__name__");
	PyObject *name =
		attribute ? PyObject_GetAttr((PyObject *)Py_TYPE(object), attribute) : NULL;

	if (name)
		PyErr_Format(PyExc_TypeError, "a key is a str, bytes or an integer, not %S", name);
	Py_XDECREF(attribute);
	Py_XDECREF(name);
	return -1;
}

int key_of(PyObject *object, struct key *key)
{
	key->bytes = NULL;
	if (PyLong_Check(object))
		return number_of(object, &key->number);
	if (PyUnicode_Check(object)) {
		key->bytes = PyUnicode_AsUTF8AndSize(object, &key->length);
		return key->bytes ? 0 : -1;
	}
	if (PyBytes_Check(object))
		return PyBytes_AsStringAndSize(object, (char **)&key->bytes, &key->length);
	return PyIndex_Check(object) ? index_of(object, &key->number) : refuse_key(object);
}

/* --------------------------------------------------- any iterable of keys -- */

struct gathering {
	uint64_t *hashes;
	size_t n;
	size_t size;
};

static int make_room(struct gathering *gathering)
{
	size_t size = gathering->size + gathering->size / 2 + 16;
	uint64_t *larger;

	if (gathering->n < gathering->size)
		return 0;
	larger = size <= PY_SSIZE_T_MAX / sizeof(*larger)
	                 ? realloc(gathering->hashes, size * sizeof(*larger))
	                 : NULL;
	if (!larger) {
		PyErr_NoMemory();
		return -1;
	}
	gathering->hashes = larger;
	gathering->size = size;
	return 0;
}

/*
 * The hash of a key or, without a hasher, a number. The key's __index__ and the iterator are Python
 * code, which may do anything to the filter.
 */
static int gather_one(struct gathering *gathering, PyObject *object, struct filter_object *hasher)
{
	struct key key;

	if (make_room(gathering) < 0)
		return -1;
	if (!hasher)
		return number_from(object, &gathering->hashes[gathering->n++]);
	if (key_of(object, &key) < 0 || filter_ready(hasher, GUARD_SHARED) < 0)
		return -1;
	gathering->hashes[gathering->n++] = key_hash(hasher->filter, &key);
	return 0;
}

static int gather(struct gathering *gathering, PyObject *keys, struct filter_object *hasher)
{
	PyObject *iterator = PyObject_GetIter(keys);
	PyObject *item;
	int answer = 0;

	if (!iterator)
		return -1;
	while (answer == 0 && (item = PyIter_Next(iterator))) {
		answer = gather_one(gathering, item, hasher);
		Py_DECREF(item);
	}
	Py_DECREF(iterator);
	return answer == 0 && PyErr_Occurred() ? -1 : answer;
}

static int open_iterable(struct column *column, PyObject *keys, struct filter_object *hasher)
{
	struct gathering gathering = { NULL, 0, 0 };

	if (gather(&gathering, keys, hasher) < 0) {
		free(gathering.hashes);
		return -1;
	}
	column->kind = COLUMN_HASHES;
	column->hashes = gathering.hashes;
	column->n = gathering.n;
	return 0;
}

/* -------------------------------------------------------------- arrays -- */

static uint32_t load_32(const char *at, bool swapped)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return swapped ? __builtin_bswap32(value) : value;
}

/* The i-th code point of a text; what is none becomes U+FFFD, the replacement character. */
static uint32_t code_point(const struct column *column, const char *item, size_t i)
{
	uint32_t code = load_32(item + 4 * i, column->swapped);

	return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
}

static size_t put_utf8(char *to, uint32_t code)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (length == 1) {
		to[0] = (char)code;
		return 1;
	}
	for (size_t i = length - 1; i > 0; i--, code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)(lead[length] | code);
	return length;
}

/* Code points of an item without the NULs that pad it. */
static size_t text_length(const struct column *column, const char *item)
{
	size_t length = column->width / 4;

	while (length > 0 && load_32(item + 4 * (length - 1), false) == 0)
		length--;
	return length;
}

static const char *item_at(const struct column *column, size_t i)
{
	return column->data + (Py_ssize_t)i * column->stride;
}

/* Surrogates and rubbish are refused, as Python refuses to encode them. */
static int check_texts(const struct column *column)
{
	for (size_t i = 0; i < column->n; i++) {
		const char *item = item_at(column, i);
		size_t length = text_length(column, item);

		for (size_t j = 0; j < length; j++) {
			if (code_point(column, item, j) != load_32(item + 4 * j, column->swapped)) {
				PyErr_Format(PyExc_ValueError,
				             "key %zu of the array is not valid Unicode text", i);
				return -1;
			}
		}
	}
	return 0;
}

static int open_text(struct column *column)
{
	if (check_texts(column) < 0)
		return -1;
	column->text = malloc(column->width + 1);
	if (column->text)
		return 0;
	PyErr_NoMemory();
	return -1;
}

/* What a format of the struct module says: a byte order, a count, and one letter. */
static char letter_of(const char *format, bool *swapped)
{
	static const uint16_t one = 1;
	bool little = *(const char *)&one == 1;

	*swapped = false;
	if (*format && strchr("@=<>!", *format)) {
		*swapped = little ? *format == '>' || *format == '!' : *format == '<';
		format++;
	}
	while (*format >= '0' && *format <= '9')
		format++;
	return *format && format[1] == '\0' ? *format : '?';
}

static int refuse_array(const char *format)
{
	PyErr_Format(PyExc_TypeError,
	             "keys in an array are integers of 16, 32 or 64 bits, bytes (dtype S) or text "
	             "(dtype U), not of format '%s'",
	             format);
	return -1;
}

/* Finds out what the items are; 1 if they are Python objects. */
static int classify(struct column *column)
{
	const char *format = column->view.format ? column->view.format : "B";
	char letter = letter_of(format, &column->swapped);
	size_t width = column->width;

	if (letter == 'O')
		return 1;
	if (letter == 's') {
		column->kind = COLUMN_BYTES;
		return 0;
	}
	if (letter == 'w' && width % 4 == 0) {
		column->kind = COLUMN_TEXT;
		return open_text(column);
	}
	column->kind = COLUMN_INTEGERS;
	column->is_signed = strchr("hilqn", letter) != NULL;
	if ((width == 2 || width == 4 || width == 8) &&
	    (column->is_signed || strchr("HILQN", letter)))
		return 0;
	return refuse_array(format);
}

/* 0, -1, or 1 if its objects have to be taken one by one. */
static int open_view(struct column *column)
{
	const Py_buffer *view = &column->view;

	if (view->ndim != 1 || !view->shape) {
		PyErr_Format(PyExc_ValueError, "keys come in one dimension, not %d; see ravel()",
		             view->ndim);
		return -1;
	}
	/* ctypes leaves the strides of contiguous arrays out although they were asked for. */
	column->n = (size_t)view->shape[0];
	column->data = view->buf;
	column->stride = view->strides ? view->strides[0] : view->itemsize;
	column->width = (size_t)view->itemsize;
	return classify(column);
}

static int open_array(struct column *column, PyObject *keys)
{
	int answer;

	if (PyObject_GetBuffer(keys, &column->view, PyBUF_RECORDS_RO) < 0) {
		/* A type that no format describes, dates for example: its items speak for themselves. */
		if (PyErr_ExceptionMatches(PyExc_MemoryError))
			return -1;
		PyErr_Clear();
		column->view.obj = NULL;
		return 1;
	}
	answer = open_view(column);
	if (answer != 0)
		PyBuffer_Release(&column->view);
	return answer;
}

/* A single key where many are expected is a mistake, although it has items too. */
static int refuse_single(PyObject *keys)
{
	bool single = PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys);

	if (single)
		PyErr_SetString(PyExc_TypeError,
		                "one str or bytes is one key; keys are an array or an iterable");
	return single ? -1 : 0;
}

int column_open(struct column *column, PyObject *keys, struct filter_object *hasher)
{
	int answer = 1;

	memset(column, 0, sizeof(*column));
	if (refuse_single(keys) < 0)
		return -1;
	if (PyObject_CheckBuffer(keys))
		answer = open_array(column, keys);
	return answer == 1 ? open_iterable(column, keys, hasher) : answer;
}

void column_close(struct column *column)
{
	if (column->view.obj)
		PyBuffer_Release(&column->view);
	free(column->text);
	free(column->hashes);
}

const uint64_t *column_plain(const struct column *column)
{
	bool plain = column->kind == COLUMN_INTEGERS && column->width == 8 && !column->swapped &&
	             (column->stride == 8 || column->n < 2) && (uintptr_t)column->data % 8 == 0;

	return plain ? (const uint64_t *)(const void *)column->data : NULL;
}

/* -------------------------------------------------------------- hashing -- */

static uint64_t load_integer(const struct column *column, const char *item)
{
	uint16_t half;
	uint32_t word;
	uint64_t number;

	switch (column->width) {
	case 2:
		memcpy(&half, item, sizeof(half));
		half = column->swapped ? __builtin_bswap16(half) : half;
		return column->is_signed ? (uint64_t)(int16_t)half : half;
	case 4:
		word = load_32(item, column->swapped);
		return column->is_signed ? (uint64_t)(int32_t)word : word;
	default:
		memcpy(&number, item, sizeof(number));
		return column->swapped ? __builtin_bswap64(number) : number;
	}
}

const uint64_t *column_numbers(const struct column *column, size_t start, size_t n, uint64_t *room)
{
	const uint64_t *plain =
		column->kind == COLUMN_HASHES ? column->hashes : column_plain(column);

	if (plain)
		return plain + start;
	for (size_t i = 0; i < n; i++)
		room[i] = load_integer(column, item_at(column, start + i));
	return room;
}

static int check_numbers(const struct column *column)
{
	if (column->kind == COLUMN_HASHES) /* checked one by one */
		return 0;
	if (column->kind != COLUMN_INTEGERS) {
		PyErr_SetString(PyExc_TypeError, "values and counts are integers");
		return -1;
	}
	for (size_t i = 0; column->is_signed && i < column->n; i++) {
		if (load_integer(column, item_at(column, i)) >> 63) {
			raise_reason(NIDUS_E_RANGE, "values and counts are not negative");
			return -1;
		}
	}
	return 0;
}

int column_open_numbers(struct column *column, PyObject *numbers)
{
	if (column_open(column, numbers, NULL) < 0)
		return -1;
	if (check_numbers(column) == 0)
		return 0;
	column_close(column);
	return -1;
}

static void hash_integers(const struct column *column, const nidus_filter *filter, size_t start,
                          size_t n, uint64_t *room)
{
	uint64_t numbers[KEYS_BLOCK];

	nidus_hash_u64_batch(filter, column_numbers(column, start, n, numbers), n, room);
}

static void hash_bytes(const struct column *column, const nidus_filter *filter, size_t start,
                       size_t n, uint64_t *room)
{
	for (size_t i = 0; i < n; i++) {
		const char *item = item_at(column, start + i);
		size_t length = column->width;

		while (length > 0 && item[length - 1] == '\0')
			length--;
		room[i] = nidus_hash(filter, item, length);
	}
}

static void hash_texts(const struct column *column, const nidus_filter *filter, size_t start,
                       size_t n, uint64_t *room)
{
	for (size_t i = 0; i < n; i++) {
		const char *item = item_at(column, start + i);
		size_t points = text_length(column, item);
		size_t length = 0;

		for (size_t j = 0; j < points; j++)
			length += put_utf8(column->text + length, code_point(column, item, j));
		room[i] = nidus_hash(filter, column->text, length);
	}
}

const uint64_t *column_hash(const struct column *column, const nidus_filter *filter, size_t start,
                            size_t n, uint64_t *room)
{
	switch (column->kind) {
	case COLUMN_INTEGERS:
		hash_integers(column, filter, start, n, room);
		return room;
	case COLUMN_BYTES:
		hash_bytes(column, filter, start, n, room);
		return room;
	case COLUMN_TEXT:
		hash_texts(column, filter, start, n, room);
		return room;
	default:
		return column->hashes + start;
	}
}
