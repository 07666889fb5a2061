/* SPDX-License-Identifier: MIT
 *
 * paper_simplified: what "Cuckoo Filter: Simplification and Analysis" proves, measured.
 * bench_simplified has more of it.
 */
#include "gauge.h"
#include "paper.h"

static nidus_filter *make(unsigned slots, uint64_t keys, unsigned k, uint64_t seed, bool stash)
{
	nidus_options options = gauge_options(NIDUS_SIMPLIFIED, slots, keys, ldexp(1, -(int)k));
	options.seed = seed;
	options.stash = stash ? 0 : NIDUS_STASH_OFF;
	return gauge_make(&options);
}

/* Theorem 4.3: 1 - d - d^2, where b = 1 + ln(1/d) / (1 - ln 2). */
static double proven_load(unsigned slots)
{
	double d = exp((1 - (double)slots) * (1 - log(2)));
	return 1 - d - d * d;
}

static void theorem_4_3(struct paper_run *run)
{
	static const unsigned slots[] = { 4, 8 };
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "simplified",
			.id = "theorem-4-3",
			.place = "Theorem 4.3",
			.title = "load by slots of a cell",
			.x = "slots",
			.unit = "load",
			.note = "the paper's is the load at which success is proven, which nobody "
				"expects to be the limit. At capacity: what the family promises; at "
				"the first failure: without a stash" });
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		for (unsigned seed = 1; seed <= scale->rounds; seed++) {
			nidus_filter *filter = make(slots[i], scale->slots, 12, seed, true);
			nidus_info info = gauge_look(filter);
			nidus_free(filter);
			paper_add(run, "at capacity", slots[i], proven_load(slots[i]),
			          (double)info.capacity / (double)info.total_slots);
			paper_add(
				run, "at the first failure", slots[i], proven_load(slots[i]),
				gauge_load_at_full(make(slots[i], scale->slots, 12, seed, false)));
		}
	}
	paper_end(run);
}

/* Percent of filters with cells of 2 that refuse one of their keys. */
static double failures(uint64_t keys, bool stash, unsigned fills)
{
	unsigned failed = 0;
	for (unsigned seed = 1; seed <= fills; seed++) {
		nidus_filter *filter = make(2, keys, 9, seed, stash);
		failed += gauge_insert(filter, 0, keys, GAUGE_BATCH).keys < keys;
		nidus_free(filter);
	}
	return 100.0 * failed / fills;
}

static void lemmas(struct paper_run *run)
{
	unsigned fills = paper_scale(run)->fills;
	paper_begin(
		run,
		&(struct experiment){
			.paper = "simplified",
			.id = "lemmas-4",
			.place = "Lemmas 4.1 and 4.2",
			.title = "filters that refuse one of their keys, 2 slots, k = 9",
			.x = "keys",
			.unit = "percent",
			.log_x = true,
			.note = "the paper: polynomially small in the number of keys, for a cell "
				"that is large enough. With 4 slots no filter refuses a key" });
	for (uint64_t keys = 100; keys <= 100000; keys *= 10) {
		unsigned some = keys <= 100    ? 10 * fills /* the only ones that ever fail */
		                : keys > 10000 ? (fills + 9) / 10
		                               : fills;
		paper_add(run, "with a stash", (double)keys, PAPER_NONE,
		          failures(keys, true, some));
		paper_add(run, "without", (double)keys, PAPER_NONE, failures(keys, false, some));
	}
	paper_end(run);
}

/* The bound of the theorem for a filter as it is now, in percent. */
static double bound(const nidus_info *info)
{
	double cells = (double)info->total_slots / info->slots;
	double in_chunk = cells / (double)info->chunks;
	/* The part that leads to the partner is never 0: that many fewer values. */
	double values = ldexp(1, (int)info->fingerprint_bits) * (in_chunk - 1) / in_chunk;
	return 100 * 2 * (double)info->count / (cells * values);
}

static void theorem_5_1(struct paper_run *run)
{
	static const unsigned ks[] = { 8, 9, 10 };
	paper_begin(
		run,
		&(struct experiment){
			.paper = "simplified",
			.id = "theorem-5-1",
			.place = "Theorem 5.1",
			.title = "rate of full filters, whether or not they have a stash",
			.x = "k",
			.unit = "percent",
			.note = "the paper's value is an upper bound, computed for the filter at hand" });
	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
		for (unsigned stash = 0; stash < 2; stash++) {
			nidus_filter *filter = make(4, 100000, ks[i], 1, stash);
			gauge_insert(filter, 0, UINT64_C(1) << 40, GAUGE_BATCH);
			nidus_info info = gauge_look(filter);
			paper_add(run, stash ? "with a stash" : "without", ks[i], bound(&info),
			          100 * gauge_foreign(filter, 2 * paper_scale(run)->trials));
			nidus_free(filter);
		}
	}
	paper_end(run);
}

/* Small filters, filled until a key is refused or `most` are in: their stashes are large. */
struct crowded {
	double said, ours, stashed; /* rates in percent, and the share of the entries */
};

static struct crowded crowd(nidus_family family, unsigned filters, uint64_t trials)
{
	const uint64_t keys = 40, most = 200;
	struct crowded mean = { 0 };
	for (unsigned seed = 1; seed <= filters; seed++) {
		nidus_options options = gauge_options(family, 0, keys, ldexp(1, -6));
		options.seed = seed;
		nidus_filter *filter = gauge_make(&options);
		gauge_insert(filter, 0, keys / 2, GAUGE_SINGLE);
		nidus_info half = gauge_look(filter); /* nothing is stashed yet */
		gauge_insert(filter, keys / 2, most, GAUGE_SINGLE);
		nidus_info info = gauge_look(filter);
		double expected = half.fpr_now / (double)half.count * (double)info.count;
		mean.said += 100 * (1 - exp(-expected)) / filters;
		mean.ours += 100 * gauge_foreign(filter, trials) / filters;
		mean.stashed += (double)info.stashed / (double)info.count / filters;
		nidus_free(filter);
	}
	return mean;
}

/*
 * The theorem is about the simplified filter; the paper leaves the stash of the original one
 * open. Entries are stashed with their home here, so nothing in its proof needs that family.
 */
static void theorem_5_1_families(struct paper_run *run)
{
	static const nidus_family families[] = { NIDUS_CUCKOO,  NIDUS_SEMISORT, NIDUS_SIMPLIFIED,
		                                 NIDUS_CHUNKED, NIDUS_BUCKETED, NIDUS_WINDOWED };
	unsigned filters = paper_scale(run)->quick ? 100 : 400;
	paper_begin(run, &(struct experiment){
				 .paper = "simplified",
				 .id = "theorem-5-1-families",
				 .place = "Theorem 5.1, for every cuckoo family",
				 .title = "rate of small filters with many stashed entries",
				 .x = "stashed, percent of the entries",
				 .unit = "percent",
				 .note = "the paper's column is what the theorem gives for as many "
					 "entries, wherever they lie" });
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		struct crowded mean =
			crowd(families[i], filters, paper_scale(run)->trials / filters + 1);
		paper_add(run, nidus_family_name(families[i]), 100 * mean.stashed, mean.said,
		          mean.ours);
	}
	paper_end(run);
}

void paper_simplified(struct paper_run *run)
{
	theorem_4_3(run);
	lemmas(run);
	theorem_5_1(run);
	theorem_5_1_families(run);
}
