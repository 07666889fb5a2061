/* SPDX-License-Identifier: MIT
 *
 * filter: making and freeing filters, for the rest of the API layer.
 */
#ifndef NIDUS_API_FILTER_H
#define NIDUS_API_FILTER_H

#include "base/reason.h"
#include "family/family.h"

/*
 * Makes a filter of a checked plan: an empty one, or one over a mapped table
 * unless that is NULL. Errors: E_NOMEM; *filter is NULL then.
 */
nidus_status filter_make(const struct family *family, const struct blueprint *plan,
                         const nidus_allocator *allocator, unsigned char *table,
                         nidus_filter **filter);

/*
 * Opened filters are looked up in unread. What hands their contents on asks first
 * whether the table is what its checksum says; other filters are right always.
 * Errors: E_CORRUPT.
 */
nidus_status filter_check_mapped(const nidus_filter *filter);

/*
 * Copies an opened filter into an empty one of its plan and checks the copy as
 * nidus_load would: the file itself may change at any time.
 * Errors: E_CORRUPT, E_NOMEM; free the copy then.
 */
nidus_status filter_copy_mapped(nidus_filter *to, const nidus_filter *from);

/* nidus_clone, for whoever has stopped the filter's threads already. */
nidus_status filter_clone(const nidus_filter *filter, nidus_filter **copy);

/*
 * Lets two filters of one family change their bodies and plans. Their operations do not
 * fit then: see moving_choose_ops.
 */
void filter_swap(nidus_filter *a, nidus_filter *b);

/* What every call that changes a filter asks first. Errors: E_ARG, E_READONLY. */
nidus_status filter_check_writable(const nidus_filter *filter);

/* fail, for the argument that no call can do without. */
nidus_status filter_null(const char *argument);

#endif
