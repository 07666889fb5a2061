/* SPDX-License-Identifier: MIT
 *
 * exclude: a static filter that is right about two lists of keys.
 *
 * A first filter holds the keys of one list. It lets some of the other list pass; those and its
 * own keys are what a second table, the verdict, tells apart by a bit each
 * (ribbon/ribbon.h). With k bits of fingerprint, n keys in and m keys out that is
 *
 *     n k + n + m / 2^k bits
 *
 * which is least for k near log2(m ln 2 / n). Keys of neither list pass the first with 2^-k, and
 * the second with one half.
 */
#include "api/filter.h"
#include "api/options.h"
#include "base/hash_sort.h"
#include "base/thread.h"
#include "base/watch.h"

#define SOME 1024 /* keys that are looked up at a time */
#define BITS_MOST 32

/* A list of hashes, in the caller's array. */
struct list {
	uint64_t *hashes;
	size_t n;
};

/* The bits of fingerprint with which both tables are smallest. */
static unsigned best_bits(uint64_t in, uint64_t out)
{
	unsigned best = 1;
	for (unsigned bits = 2; bits <= BITS_MOST; bits++) {
		/* One bit more for each key saves half of those that pass. */
		if (out >> bits > in)
			best = bits;
	}
	return best;
}

/* The rate of the first table: the second halves it, and it is no looser than is best. */
static double first_rate(double fpr, const struct list *in, const struct list *out)
{
	double best = 1 / (double)(UINT64_C(1) << best_bits(in->n, out->n));
	return fpr > 0 && 2 * fpr < best ? 2 * fpr : best;
}

/* Checked options, and the rate that was asked for; 0 if none was. */
static nidus_status prepare(const nidus_options *options, const struct list *in,
                            nidus_options *checked, double *fpr)
{
	nidus_status status = options_read(options, checked);
	if (status != NIDUS_OK)
		return status;
	*fpr = checked->fpr;
	if (checked->family == NIDUS_AUTO)
		checked->features |= NIDUS_STATIC;
	if (checked->capacity == 0)
		checked->capacity = in->n > 0 ? in->n : 1;
	status = options_check(checked);
	if (status != NIDUS_OK)
		return status;
	if (checked->seed == 0)
		return fail(NIDUS_E_ARG, "hashes depend on a seed: options.seed must be the one "
		                         "that they were made with");
	if (!options_static(checked))
		return fail(NIDUS_E_UNSUPPORTED,
		            "only a static filter can exclude keys: take the ribbon family");
	if (checked->value_bits > 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a filter that excludes keys keeps no values: value_bits must be 0");
	return NIDUS_OK;
}

/* Leaves only those of a list that a filter finds, ascending. Errors: E_NOMEM. */
static nidus_status keep_found(const nidus_filter *filter, struct list *list, unsigned threads)
{
	uint8_t yes[SOME];
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i += SOME) {
		size_t some = list->n - i < SOME ? list->n - i : SOME;
		filter->ops->contains_batch(filter_body(filter), list->hashes + i, some, yes);
		for (size_t j = 0; j < some; j++) {
			uint64_t hash = list->hashes[i + j];
			list->hashes[kept] = hash;
			kept += yes[j];
		}
		if (watch_step(some))
			return watch_status();
	}
	return hash_sort_in_place(list->hashes, kept, true, threads, &filter->allocator, &list->n);
}

/* Errors: E_ARG (a hash is in both lists). */
static nidus_status check_apart(const struct list *in, const struct list *out)
{
	for (size_t i = 0, j = 0; i < in->n && j < out->n;) {
		if (in->hashes[i] == out->hashes[j])
			return fail(
				NIDUS_E_ARG,
				"a key is in both lists: hashes[%zu] and excluded[%zu], as they "
				"are in order now, are %llu",
				i, j, (unsigned long long)in->hashes[i]);
		if (in->hashes[i] < out->hashes[j])
			i++;
		else
			j++;
	}
	return NIDUS_OK;
}

/* Fills a filter that was just made with a verdict, or gives it back. */
static nidus_status judge(nidus_filter *filter, const nidus_filter *first, const struct list *in,
                          const struct list *out, unsigned threads, nidus_filter **judged)
{
	nidus_status status =
		filter->family->judge(filter_body(filter), filter_body(first), in->hashes, in->n,
	                              out->hashes, out->n, threads);
	if (status == NIDUS_OK)
		*judged = filter;
	else
		nidus_free(filter);
	return status;
}

/* Makes the filter from its first table, which stays the caller's. */
static nidus_status exclude(const nidus_filter *first, const struct list *in, struct list *out,
                            unsigned threads, nidus_filter **filter)
{
	struct blueprint plan = first->plan;
	nidus_filter *made;
	nidus_status status = keep_found(first, out, threads);
	if (status == NIDUS_OK)
		status = watch_status();
	if (status == NIDUS_OK)
		status = check_apart(in, out);
	if (status != NIDUS_OK)
		return status;
	plan.judged = (uint64_t)in->n + out->n;
	plan.fpr /= 2;
	status = filter_make(first->family, &plan, &first->allocator, NULL, &made);
	return status == NIDUS_OK ? judge(made, first, in, out, threads, filter) : status;
}

/* The first table, from ascending hashes. */
static nidus_status make_first(const nidus_options *options, const struct list *in,
                               unsigned threads, nidus_filter **first)
{
	nidus_status status = nidus_create(options, first);
	if (status != NIDUS_OK)
		return status;
	status = (*first)->family->build(filter_body(*first), in->hashes, NULL, in->n, threads);
	if (status != NIDUS_OK) {
		nidus_free(*first);
		*first = NULL;
	}
	return status;
}

/* The whole, from checked options; `fpr` is what was asked for, or 0. */
static nidus_status build(nidus_options *options, double fpr, struct list *in, struct list *out,
                          unsigned threads, nidus_filter **filter)
{
	nidus_filter *first;
	nidus_status status =
		hash_sort_in_place(in->hashes, in->n, true, threads, &options->allocator, &in->n);
	if (status == NIDUS_OK)
		status = watch_status();
	if (status != NIDUS_OK)
		return status;
	if (out->n > 0 && in->n > 0)
		options->fpr = first_rate(fpr, in, out);
	status = make_first(options, in, threads, &first);
	if (status != NIDUS_OK)
		return status;
	if (out->n == 0 || in->n == 0) { /* there is nothing to tell apart */
		*filter = first;
		return NIDUS_OK;
	}
	status = exclude(first, in, out, threads, filter);
	nidus_free(first);
	return status;
}

/* Steps of a build, about: keys are read, sorted and put in twice; excluded ones looked up. */
#define STEPS_IN 5
#define STEPS_OUT 1.5

nidus_status nidus_build_exclude(const nidus_options *options, uint64_t *hashes, size_t n,
                                 uint64_t *excluded, size_t m, unsigned threads,
                                 nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if ((hashes == NULL && n > 0) || (excluded == NULL && m > 0))
		return filter_null(hashes == NULL && n > 0 ? "hashes" : "excluded");
	struct list in = { hashes, n }, out = { excluded, m };
	nidus_options checked;
	double fpr;
	struct watch watch;
	nidus_status status = prepare(options, &in, &checked, &fpr);
	if (status != NIDUS_OK)
		return status;
	watch_begin(&watch, &checked.progress, STEPS_IN * (double)n + STEPS_OUT * (double)m);
	status = build(&checked, fpr, &in, &out, threads_wanted(threads), filter);
	return watch_end(&watch, status);
}
