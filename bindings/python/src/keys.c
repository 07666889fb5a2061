/* SPDX-License-Identifier: MIT */
/* From Python objects to keys and hashes. */

#include "keys.h"
#include "arrow.h"
#include "options.h"
#include "pulse.h"

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
	if (PyByteArray_Check(object)) {
		key->bytes = PyByteArray_AsString(object);
		key->length = PyByteArray_Size(object);
		return 0;
	}
	return PyIndex_Check(object) ? index_of(object, &key->number) : refuse_key(object);
}

int key_hash_for(struct filter_object *self, PyObject *object, enum guard_use use, uint64_t *hash)
{
	struct key key;

	if (key_of(object, &key) < 0 || filter_ready(self, use) < 0)
		return -1;
	/* Other threads may have run meanwhile, and they may change a bytearray. */
	if (PyByteArray_Check(object) && key_of(object, &key) < 0)
		return -1;
	*hash = key_hash(self->filter, &key);
	return 0;
}

/* --------------------------------------------------- any iterable of keys -- */

#define YIELD_KEYS 128 /* after so many the clock is looked at */

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
	uint64_t *hash;

	if (make_room(gathering) < 0)
		return -1;
	hash = &gathering->hashes[gathering->n++];
	return hasher ? key_hash_for(hasher, object, GUARD_SHARED, hash)
	              : number_from(object, hash);
}

static int gather(struct gathering *gathering, PyObject *keys, struct filter_object *hasher)
{
	PyObject *iterator = PyObject_GetIter(keys);
	struct pulse pulse;
	PyObject *item;
	int answer = 0;

	if (!iterator)
		return -1;
	pulse_keep(&pulse);
	while (answer == 0 && (item = PyIter_Next(iterator))) {
		answer = gather_one(gathering, item, hasher);
		Py_DECREF(item);
		if (answer == 0 && gathering->n % YIELD_KEYS == 0)
			answer = pulse_yield(&pulse);
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

static bool is_text(const struct column *column, const char *item)
{
	size_t length = text_length(column, item);

	for (size_t i = 0; i < length; i++) {
		if (code_point(column, item, i) != load_32(item + 4 * i, column->swapped))
			return false;
	}
	return true;
}

/*
 * Looks at all items without the GIL, up to the first that is not right: its number, or n. -1 if a
 * signal's handler raised an exception.
 */
static Py_ssize_t find_wrong(const struct column *column,
                             bool (*is_right)(const struct column *column, const char *item))
{
	struct pulse pulse;
	size_t i = 0;

	pulse_release(&pulse);
	while (i < column->n && is_right(column, item_at(column, i))) {
		if (++i % KEYS_BLOCK == 0 && pulse_beat(&pulse))
			break;
	}
	return pulse_acquire(&pulse) < 0 ? -1 : (Py_ssize_t)i;
}

/* Surrogates and rubbish are refused, as Python refuses to encode them. */
static int check_texts(const struct column *column)
{
	Py_ssize_t wrong = find_wrong(column, is_text);

	if (wrong >= 0 && (size_t)wrong < column->n)
		PyErr_Format(PyExc_ValueError, "key %zd of the array is not valid Unicode text",
		             wrong);
	return (size_t)wrong == column->n ? 0 : -1;
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
	return *format && format[1] == '\0' ? *format : '\0';
}

static int refuse_array(const char *format)
{
	PyErr_Format(
		PyExc_TypeError,
		"keys in an array are integers, bool, dates, bytes (dtype S) or text (dtype U), "
		"not of format '%s'",
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
	column->is_signed = letter && strchr("bhilqn", letter);
	if ((width == 1 || width == 2 || width == 4 || width == 8) && letter &&
	    strchr("bhilqnBHILQN?", letter))
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

/*
 * What nidus._columns makes of an object: (one that this file understands, the mask of a masked array or
 * None). NULL with an exception, a TypeError for a table for example.
 */
static PyObject *prepare(PyObject *keys)
{
	static PyObject *function;

	if (!function) {
		PyObject *module = PyImport_ImportModule("nidus._columns");

		function = module ? PyObject_GetAttrString(module, "prepare") : NULL;
		Py_XDECREF(module);
	}
	return function ? PyObject_CallFunctionObjArgs(function, keys, NULL) : NULL;
}

static int open_prepared(struct column *column, PyObject *keys, struct filter_object *hasher)
{
	int answer = 1, arrow = 0;

	if (PyObject_CheckBuffer(keys))
		answer = open_array(column, keys);
	if (answer == 1)
		arrow = arrow_is(keys);
	if (arrow != 0)
		return arrow < 0 ? -1 : arrow_open(column, keys);
	return answer == 1 ? open_iterable(column, keys, hasher) : answer;
}

int column_open(struct column *column, PyObject *keys, struct filter_object *hasher)
{
	PyObject *pair, *mask;
	int answer;

	memset(column, 0, sizeof(*column));
	if (refuse_single(keys) < 0)
		return -1;
	if (PyList_CheckExact(keys) || PyTuple_CheckExact(keys))
		return open_iterable(column, keys, hasher);
	pair = prepare(keys);
	if (!pair)
		return -1;
	mask = PyTuple_GetItem(pair, 1);
	answer = open_prepared(column, PyTuple_GetItem(pair, 0), hasher);
	if (answer == 0 && mask != Py_None)
		column->mask = Py_NewRef(mask);
	Py_DECREF(pair);
	return answer;
}

void column_close(struct column *column)
{
	if (column->view.obj)
		PyBuffer_Release(&column->view);
	free(column->text);
	free(column->hashes);
	free(column->parts);
	arrow_close(column);
	Py_XDECREF(column->mask);
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
	case 1:
		return column->is_signed ? (uint64_t)(int8_t)*item : (uint8_t)*item;
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

static uint64_t load_bit(const struct column *column, size_t i)
{
	size_t bit = column->first_bit + i;

	return (unsigned char)column->data[bit / 8] >> (bit % 8) & 1;
}

/* The part that key number `start` of a column is in. */
static const struct column *part_at(const struct column *column, size_t start)
{
	size_t low = 0, high = column->n_parts;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (column->parts[middle].start <= start)
			low = middle;
		else
			high = middle;
	}
	while (column->parts[low].n <= start - column->parts[low].start) /* parts may be empty */
		low++;
	return &column->parts[low];
}

typedef const uint64_t *(*part_reader)(const struct column *part, const nidus_filter *filter,
                                       size_t start, size_t n, uint64_t *room);

/* Reads n keys piece by piece, each from the part that it is in. */
static void read_parts(const struct column *column, const nidus_filter *filter, size_t start,
                       size_t n, uint64_t *room, part_reader read)
{
	while (n > 0) {
		const struct column *part = part_at(column, start);
		size_t from = start - part->start;
		size_t some = part->n - from < n ? part->n - from : n;
		const uint64_t *numbers = read(part, filter, from, some, room);

		if (numbers != room)
			memcpy(room, numbers, some * sizeof(*room));
		room += some;
		start += some;
		n -= some;
	}
}

static const uint64_t *read_numbers(const struct column *part, const nidus_filter *filter,
                                    size_t start, size_t n, uint64_t *room)
{
	(void)filter;
	return column_numbers(part, start, n, room);
}

const uint64_t *column_numbers(const struct column *column, size_t start, size_t n, uint64_t *room)
{
	const uint64_t *plain =
		column->kind == COLUMN_HASHES ? column->hashes : column_plain(column);

	if (plain)
		return plain + start;
	if (column->kind == COLUMN_PARTS) {
		read_parts(column, NULL, start, n, room, read_numbers);
		return room;
	}
	for (size_t i = 0; i < n; i++)
		room[i] = column->kind == COLUMN_BITS
		                  ? load_bit(column, start + i)
		                  : load_integer(column, item_at(column, start + i));
	return room;
}

/* Without the GIL; also true if a signal's handler raised an exception. */
static bool any_negative(const struct column *column)
{
	uint64_t room[KEYS_BLOCK], all = 0;
	struct pulse pulse;

	pulse_release(&pulse);
	for (size_t i = 0; i < column->n && !(all >> 63) && !pulse_beat(&pulse); i += KEYS_BLOCK) {
		size_t some = column->n - i < KEYS_BLOCK ? column->n - i : KEYS_BLOCK;
		const uint64_t *numbers = column_numbers(column, i, some, room);

		for (size_t j = 0; j < some; j++)
			all |= numbers[j];
	}
	return pulse_acquire(&pulse) < 0 || all >> 63;
}

static int check_numbers(const struct column *column)
{
	if (column->kind == COLUMN_HASHES) /* checked one by one */
		return 0;
	if (column->mask) {
		PyErr_SetString(PyExc_TypeError, "values and counts cannot be masked");
		return -1;
	}
	if (column->kind != COLUMN_INTEGERS && column->kind != COLUMN_BITS && !column->numbers) {
		PyErr_SetString(PyExc_TypeError, "values and counts are integers");
		return -1;
	}
	if (column->is_signed && any_negative(column)) {
		if (!PyErr_Occurred())
			raise_reason(NIDUS_E_RANGE, "values and counts are not negative");
		return -1;
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

static void hash_fixed(const struct column *column, const nidus_filter *filter, size_t start,
                       size_t n, uint64_t *room)
{
	for (size_t i = 0; i < n; i++)
		room[i] = nidus_hash(filter, item_at(column, start + i), column->width);
}

int64_t column_offset(const struct column *column, size_t i)
{
	int32_t small;
	int64_t large;

	if (column->width == 4) {
		memcpy(&small, (const char *)column->offsets + 4 * i, sizeof(small));
		return small;
	}
	memcpy(&large, (const char *)column->offsets + 8 * i, sizeof(large));
	return large;
}

static void hash_strings(const struct column *column, const nidus_filter *filter, size_t start,
                         size_t n, uint64_t *room)
{
	size_t from = (size_t)column_offset(column, start);

	for (size_t i = 0; i < n; i++) {
		size_t to = (size_t)column_offset(column, start + i + 1);

		/* Where all strings are empty there need not be any bytes. */
		room[i] = nidus_hash(filter, to > from ? column->data + from : NULL, to - from);
		from = to;
	}
}

/* A view: a length, then the bytes, or four of them, the number of a buffer and a place there. */
static void hash_views(const struct column *column, const nidus_filter *filter, size_t start,
                       size_t n, uint64_t *room)
{
	for (size_t i = 0; i < n; i++) {
		const char *item = column->data + 16 * (start + i);
		int32_t view[4];

		memcpy(view, item, sizeof(view));
		if (view[0] <= COLUMN_VIEW_INLINE)
			room[i] = nidus_hash(filter, item + 4, (size_t)view[0]);
		else
			room[i] =
				nidus_hash(filter, (const char *)column->buffers[view[2]] + view[3],
			                   (size_t)view[0]);
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
	case COLUMN_BITS:
		hash_integers(column, filter, start, n, room);
		return room;
	case COLUMN_FIXED:
		hash_fixed(column, filter, start, n, room);
		return room;
	case COLUMN_STRINGS:
		hash_strings(column, filter, start, n, room);
		return room;
	case COLUMN_VIEWS:
		hash_views(column, filter, start, n, room);
		return room;
	case COLUMN_PARTS:
		read_parts(column, filter, start, n, room, column_hash);
		return room;
	default:
		return column->hashes + start;
	}
}
