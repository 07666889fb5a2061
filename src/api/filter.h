/* SPDX-License-Identifier: MIT
 *
 * filter: making and freeing filters, for the rest of the API layer.
 */
#ifndef NIDUS_API_FILTER_H
#define NIDUS_API_FILTER_H

#include "base/reason.h"
#include "family/family.h"

/* Makes an empty filter of a checked plan. Errors: E_NOMEM; *filter is NULL then. */
nidus_status filter_make(const struct family *family, const struct blueprint *plan,
                         const nidus_allocator *allocator, nidus_filter **filter);

/* nidus_clone, for whoever has stopped the filter's threads already. */
nidus_status filter_clone(const nidus_filter *filter, nidus_filter **copy);

/* Lets two filters of one family change their contents and plans. */
void filter_swap(nidus_filter *a, nidus_filter *b);

/* What every call that changes a filter asks first. Errors: E_ARG, E_READONLY. */
nidus_status filter_check_writable(const nidus_filter *filter);

/* fail, for the argument that no call can do without. */
nidus_status filter_null(const char *argument);

#endif
