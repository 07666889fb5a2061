/* SPDX-License-Identifier: MIT */
/* Several filters at once: unions, merges and comparisons. */

#include "binding.h"

static struct filter_object *of(PyObject *object)
{
	return (struct filter_object *)object;
}

/* -------------------------------------------------------------- merging -- */

/* Filters that are in use together; the first alone if `changing`. */
struct crowd {
	struct filter_object **member;
	const nidus_filter **filter;
	size_t n;
	bool changing;
};

static enum guard_use use_of(const struct crowd *crowd, size_t i)
{
	return crowd->changing && i == 0 ? GUARD_ALONE : GUARD_SHARED;
}

/* A filter that is merged with itself is taken once. */
static bool is_first_again(const struct crowd *crowd, size_t i)
{
	return crowd->changing && i > 0 && crowd->member[i] == crowd->member[0];
}

/*
 * Takes all of them at one moment: none is held while another is waited for, so two threads cannot
 * wait for each other.
 */
static int enter_crowd(struct crowd *crowd)
{
	size_t i = 0;

	while (i < crowd->n) {
		struct guard *guard = &crowd->member[i]->guard;
		bool waits = guard->forks != guard_forks || !guard_is_free(guard, use_of(crowd, i));

		if (filter_ready(crowd->member[i], use_of(crowd, i)) < 0)
			return -1;
		i = waits ? 0 : i + 1; /* others may have been taken meanwhile */
	}
	for (i = 0; i < crowd->n; i++) {
		crowd->filter[i] = crowd->member[i]->filter;
		crowd->member[i]->whole++;
		if (!is_first_again(crowd, i))
			guard_take(&crowd->member[i]->guard, use_of(crowd, i));
	}
	return 0;
}

static void leave_crowd(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->n; i++) {
		crowd->member[i]->whole--;
		if (!is_first_again(crowd, i))
			guard_leave(&crowd->member[i]->guard, use_of(crowd, i));
	}
}

/* The merged filter; NULL with an exception. */
static nidus_filter *merge_crowd(struct crowd *crowd, nidus_merge_how how)
{
	nidus_filter *merged = NULL;
	nidus_status status;

	if (enter_crowd(crowd) < 0)
		return NULL;
	PyThreadState *running = PyEval_SaveThread();
	status = nidus_merge_many(crowd->filter, crowd->n, how, &merged);
	PyEval_RestoreThread(running);
	if (status == NIDUS_OK && crowd->changing) {
		struct filter_object *first = crowd->member[0];

		nidus_free(first->filter);
		first->filter = merged;
		first->changes++;
	}
	leave_crowd(crowd);
	if (status != NIDUS_OK)
		raise_status(status);
	return merged;
}

/* A change of the first filter, unless it was opened. */
static int check_changeable(struct filter_object *self)
{
	nidus_info info = NIDUS_INFO_INIT;

	if (filter_get_info(self, &info) < 0)
		return -1;
	if (!info.readonly)
		return 0;
	raise_reason(NIDUS_E_READONLY,
	             "the filter was opened, not loaded; its copy() can be changed");
	return -1;
}

PyObject *filter_or(PyObject *left, PyObject *right)
{
	struct filter_object *member[] = { of(left), of(right) };
	const nidus_filter *filter[2];
	struct crowd crowd = { member, filter, 2, false };
	nidus_filter *merged;

	if (!PyObject_TypeCheck(left, filter_type) || !PyObject_TypeCheck(right, filter_type))
		return Py_NewRef(Py_NotImplemented);
	merged = merge_crowd(&crowd, NIDUS_MERGE_UNIQUE);
	return merged ? filter_wrap(Py_TYPE(left), merged) : NULL;
}

PyObject *filter_ior(PyObject *left, PyObject *right)
{
	struct filter_object *member[] = { of(left), of(right) };
	const nidus_filter *filter[2];
	struct crowd crowd = { member, filter, 2, true };

	if (!PyObject_TypeCheck(right, filter_type))
		return Py_NewRef(Py_NotImplemented);
	if (check_changeable(of(left)) < 0)
		return NULL;
	return merge_crowd(&crowd, NIDUS_MERGE_UNIQUE) ? Py_NewRef(left) : NULL;
}

/* Whether two filters hold the same entries; -1 with an exception. */
static int same(PyObject *left, PyObject *right)
{
	struct filter_object *member[] = { of(left), of(right) };
	const nidus_filter *filter[2];
	struct crowd crowd = { member, filter, 2, false };
	bool answer;

	if (enter_crowd(&crowd) < 0)
		return -1;
	PyThreadState *running = PyEval_SaveThread();
	answer = nidus_same(filter[0], filter[1]);
	PyEval_RestoreThread(running);
	leave_crowd(&crowd);
	return answer;
}

PyObject *filter_compare(PyObject *left, PyObject *right, int how)
{
	int answer;

	if ((how != Py_EQ && how != Py_NE) || !PyObject_TypeCheck(left, filter_type) ||
	    !PyObject_TypeCheck(right, filter_type))
		return Py_NewRef(Py_NotImplemented);
	answer = same(left, right);
	return answer < 0 ? NULL : PyBool_FromLong(answer == (how == Py_EQ));
}

/* How equal entries are merged, by name. */
static int convert_how(PyObject *object, void *how)
{
	static const char *const names[] = { "copies", "unique", "sum", "max", "or" };

	for (int i = 0; PyUnicode_Check(object) && i <= NIDUS_MERGE_OR; i++) {
		if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
			*(nidus_merge_how *)how = (nidus_merge_how)i;
			return 1;
		}
	}
	raise_reason(NIDUS_E_ARG, "how is \"unique\", \"copies\", \"sum\", \"max\" or \"or\"");
	return 0;
}

/* Of a tuple of filters; `first` comes before them unless it is NULL. */
static nidus_filter *merge_tuple(PyObject *first, PyObject *filters, nidus_merge_how how)
{
	size_t n = (size_t)PyTuple_Size(filters), more = first ? 1 : 0;
	struct crowd crowd = { PyMem_Calloc(n + 1, sizeof(*crowd.member)),
		               PyMem_Calloc(n + 1, sizeof(*crowd.filter)), n + more, false };
	nidus_filter *merged = NULL;

	if (crowd.member && first)
		crowd.member[0] = of(first);
	for (size_t i = 0; crowd.member && i < n; i++)
		crowd.member[i + more] = of(PyTuple_GetItem(filters, (Py_ssize_t)i));
	if (crowd.member && crowd.filter)
		merged = merge_crowd(&crowd, how);
	else
		PyErr_NoMemory();
	PyMem_Free(crowd.member);
	PyMem_Free(crowd.filter);
	return merged;
}

static bool all_filters(PyObject *filters, const char *otherwise)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(filters); i++) {
		if (PyObject_TypeCheck(PyTuple_GetItem(filters, i), filter_type))
			continue;
		PyErr_SetString(PyExc_TypeError, otherwise);
		return false;
	}
	return true;
}

PyObject *filter_union(PyObject *self, PyObject *others)
{
	nidus_filter *merged = NULL;

	if (all_filters(others, "union takes filters; update puts keys in"))
		merged = merge_tuple(self, others, NIDUS_MERGE_UNIQUE);
	return merged ? filter_wrap(Py_TYPE(self), merged) : NULL;
}

static PyObject *update_by(PyObject *self, PyObject *other)
{
	PyObject *args, *answer;

	if (PyObject_TypeCheck(other, filter_type))
		return filter_ior(self, other);
	args = PyTuple_Pack(1, other);
	answer = args ? filter_add_many(self, args, NULL) : NULL;
	Py_XDECREF(args);
	return answer;
}

PyObject *filter_update(PyObject *self, PyObject *others)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(others); i++) {
		PyObject *answer = update_by(self, PyTuple_GetItem(others, i));

		if (!answer)
			return NULL;
		Py_DECREF(answer);
	}
	return Py_NewRef(Py_None);
}

/* The two ways to say how; -1 if they contradict each other. */
static int settle_how(nidus_merge_how *how, bool given, bool copies)
{
	if (given && copies && *how != NIDUS_MERGE_COPIES) {
		raise_reason(NIDUS_E_ARG, "copies=True keeps all copies, and how says otherwise");
		return -1;
	}
	if (!given)
		*how = copies ? NIDUS_MERGE_COPIES : NIDUS_MERGE_UNIQUE;
	return 0;
}

PyObject *merge(PyObject *module, PyObject *args, PyObject *named)
{
	static char *names[] = { "filters", "how", "copies", NULL };
	const nidus_merge_how none = (nidus_merge_how)-1;
	nidus_merge_how how = none;
	nidus_filter *merged = NULL;
	PyObject *filters;
	int copies = 0;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, named, "O|O&$p:merge", names, &filters, convert_how,
	                                 &how, &copies) ||
	    settle_how(&how, how != none, copies) < 0)
		return NULL;
	filters = PySequence_Tuple(filters);
	if (!filters)
		return NULL;
	if (all_filters(filters, "merge takes an iterable of filters"))
		merged = merge_tuple(NULL, filters, how);
	Py_DECREF(filters);
	return merged ? filter_wrap(filter_type, merged) : NULL;
}
