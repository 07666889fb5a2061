/* SPDX-License-Identifier: MIT */
/* The module nidus._nidus. People import nidus, which takes its names from here. */

#include "binding.h"
#include "walk.h"

#define NAMED(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef functions[] = {
	{ "build", NAMED(build), METH_VARARGS | METH_KEYWORDS,
	  "build(keys, fpr=0.00390625, *, values=None, capacity=0, threads=0, like=None, family='auto',\n"
	  "      seed=None, max_capacity=0, slots=0, features=0, max_steps=0, reserve=None,\n"
	  "      stash=None, value_bits=0, slices=0)\n--\n\n"
	  "Make a filter of many keys at once, all or nothing; equal keys are stored once.\n\n"
	  "keys      as for Filter.contains_many\n"
	  "values    a number for each key, of value_bits bits: an array or an iterable\n"
	  "capacity  keys that must fit; 0: as many as there are\n"
	  "threads   how many may work; 0: one per processor. The filter is the same for any number\n"
	  "like      another filter to take family, size, seed and bits of values from, so that both\n"
	  "          can be merged; only values, threads and features=Feature.MULTISET go with it\n"
	  "others    as for Filter" },
	{ "merge", NAMED(merge), METH_VARARGS | METH_KEYWORDS,
	  "merge(filters, how='unique', *, copies=False)\n--\n\n"
	  "One filter of the entries of all, each once; they need the same options and seed.\n\n"
	  "Keys that look the same share an entry then, so nothing can be removed from it. copies=True,\n"
	  "or how='copies', keeps every copy, for those who will remove keys. 'sum', 'max' and 'or'\n"
	  "make one value of all that an entry has: for counts, or bits." },
	{ "plan", NAMED(plan), METH_VARARGS | METH_KEYWORDS,
	  "plan(capacity, fpr=0.00390625, *, family='auto', seed=None, max_capacity=0, slots=0,\n"
	  "     features=0, max_steps=0, reserve=None, stash=None, value_bits=0, slices=0)\n--\n\n"
	  "What every family would take for such a filter: a list of PlanRow." },
	{ NULL, NULL, 0, NULL },
};

static PyModuleDef definition = { PyModuleDef_HEAD_INIT,
	                          "nidus._nidus",
	                          "The C part of nidus.",
	                          -1,
	                          functions,
	                          NULL,
	                          NULL,
	                          NULL,
	                          NULL };

static int fill(PyObject *module)
{
	if (guard_prepare() < 0 || errors_prepare() < 0 || records_add_types(module) < 0 ||
	    walk_add_type() < 0 || filter_add_type(module) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "__version__", nidus_version());
}

PyMODINIT_FUNC PyInit__nidus(void);

PyMODINIT_FUNC PyInit__nidus(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (module && fill(module) == 0)
		return module;
	Py_XDECREF(module);
	return NULL;
}
