/* SPDX-License-Identifier: MIT
 *
 * paper_cuckoo: the tables and figures of "Cuckoo Filter: Better Than Bloom".
 */
#include "bench_keys.h"
#include "gauge.h"
#include "insertion.h"
#include "one_chunk.h"
#include "paper.h"

#define LOAD 0.955 /* that Table 1 computes with */

/* ---------------------------------------------------------- Table 1 and Fig. 2 -- */

static double said_bits(nidus_family family, double fpr)
{
	if (family == NIDUS_BLOOM)
		return 1.44 * log2(1 / fpr);
	if (family == NIDUS_CUCKOO)
		return (log2(LOAD / fpr) + 3) / LOAD;
	return family == NIDUS_SEMISORT ? (log2(LOAD / fpr) + 2) / LOAD : PAPER_NONE;
}

/* Bits per key that a family plans, at its capacity; not a number if it does not. */
static double planned_bits(nidus_family family, double fpr)
{
	bool power = family == NIDUS_CUCKOO || family == NIDUS_SEMISORT;
	uint64_t keys = (uint64_t)((power ? LOAD : 1) * 0x1p24);
	nidus_options options = gauge_options(family, power ? 4 : 0, keys, fpr);
	nidus_plan_row rows[64];
	size_t n;
	if (nidus_plan(&options, rows, 64, &n) != NIDUS_OK)
		gauge_fail("no plan");
	for (size_t i = 0; i < n; i++) {
		if (rows[i].family == family && rows[i].status == NIDUS_OK)
			return 8 * (double)rows[i].bytes / (double)rows[i].capacity;
	}
	return NAN;
}

static void figure_2(struct paper_run *run)
{
	static const nidus_family families[] = { NIDUS_BLOOM,        NIDUS_CUCKOO,
		                                 NIDUS_SEMISORT,     NIDUS_WINDOWED,
		                                 NIDUS_BUCKETED,     NIDUS_BREADCRUMB,
		                                 NIDUS_BLOCKED_BLOOM };
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cuckoo",
			.id = "figure-2",
			.place = "Table 1, Fig. 2",
			.title = "space by false-positive rate",
			.x = "fpr",
			.unit = "bits per key",
			.log_x = true,
			.note = "the paper's values by the formulas of its Table 1 with a load of "
				"0.955; ours as planned, full to capacity" });
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		for (int k = 4; k <= 20; k += 2) {
			double fpr = ldexp(1, -k);
			paper_add(run, nidus_family_name(families[i]), fpr,
			          said_bits(families[i], fpr), planned_bits(families[i], fpr));
		}
	}
	paper_end(run);
}

/* ---------------------------------------------- Table 1: references to memory -- */

/* Bits that a query of a full Bloom filter looks at: all, or as far as the first that is not set. */
static double bloom_references(const nidus_info *info, double rate, bool present)
{
	double bits = round(info->bits_per_key * log(2)); /* of a key: as many as serve best */
	double set = pow(rate, 1 / bits);                 /* the share of all bits */
	return present ? bits : (1 - rate) / (1 - set);
}

static double references(const struct paper_scale *scale, nidus_family family, bool present)
{
	bool bloom = family == NIDUS_BLOOM;
	nidus_options options = gauge_options(family, bloom ? 0 : 4, scale->slots / 2, 1.0 / 512);
	nidus_filter *filter = gauge_full(&options);
	nidus_info info = gauge_look(filter);
	double rate = gauge_foreign(filter, scale->trials);
	nidus_free(filter);
	return bloom ? bloom_references(&info, rate, present) : 2;
}

static void table_1(struct paper_run *run, bool present)
{
	static const nidus_family families[] = { NIDUS_BLOOM, NIDUS_CUCKOO, NIDUS_SEMISORT };
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cuckoo",
			.keys = (double)(paper_scale(run)->slots / 2),
			.id = present ? "table-1-present" : "table-1-absent",
			.place = "Table 1",
			.title = present ? "references to memory of a lookup that finds its key"
	                                 : "references to memory of a lookup that finds nothing",
			.unit = "references",
			.note = "at a rate of 2^-9. Bloom: bits up to the first that is not set, from the "
				"measured rate of a full filter. Cuckoo: its two buckets, always" });
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		paper_add(run, nidus_family_name(families[i]), PAPER_NONE,
		          families[i] == NIDUS_BLOOM && present ? 9 : 2,
		          references(paper_scale(run), families[i], present));
	paper_end(run);
}

/* --------------------------------------------------------------------- Table 2 -- */

#define TABLE_2_ROWS 6
#define TABLE_2_RUNS 10

static const struct {
	unsigned bits;
	double load, spread;
} table_2_said[TABLE_2_ROWS] = { { 2, 0.1753, 1.39 }, { 4, 0.6767, 8.06 },  { 6, 0.9539, 0.10 },
	                         { 8, 0.9562, 0.18 }, { 12, 0.9577, 0.11 }, { 16, 0.9580, 0.11 } };

struct table_2_loads {
	double walk[TABLE_2_ROWS][TABLE_2_RUNS], family[TABLE_2_ROWS][TABLE_2_RUNS];
};

/* The paper's own way: at random, until one insert has kicked more than 500 out. */
static double walk_load(unsigned bits, uint64_t slots, uint64_t seed)
{
	struct insertion classic = { .name = "classic walk", .kind = WALK_CLASSIC };
	struct walk walk = insertion_walk(&classic, slots, seed);
	uint64_t keys = 0;
	walk.fingerprint_bits = bits;
	while (walk_insert(&walk, keys_at((seed << 44) + keys)))
		keys++;
	walk_free(&walk);
	return (double)keys / (double)(walk.buckets * walk.slots);
}

static double family_load(unsigned bits, uint64_t slots, uint64_t seed)
{
	nidus_options options = gauge_options(NIDUS_CUCKOO, 4, 1, ldexp(1, -8));
	options.seed = seed;
	nidus_filter *filter;
	if (one_chunk_create(&options, slots, bits, &filter) != NIDUS_OK)
		gauge_fail("no filter of one chunk");
	return gauge_load_at_full(filter);
}

static void table_2(struct paper_run *run, struct table_2_loads *loads)
{
	const struct paper_scale *scale = paper_scale(run);
	uint64_t slots = (uint64_t)exp2(floor(log2((double)scale->slots)) - 2);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cuckoo",
			.id = "table-2",
			.slots = (double)slots,
			.place = "Table 2",
			.title = "load at the first failure by bits of a fingerprint",
			.x = "bits",
			.unit = "load",
			.note = "the paper: 2^27 slots, where short fingerprints reach less than "
				"here. The walk gives up after 500 kicks as the paper's does; the "
				"library searches breadth first" });
	for (unsigned i = 0; i < TABLE_2_ROWS; i++) {
		for (unsigned seed = 0; seed < TABLE_2_RUNS; seed++) {
			unsigned bits = table_2_said[i].bits;
			loads->walk[i][seed] = walk_load(bits, slots, seed + 1);
			loads->family[i][seed] = family_load(bits, slots, seed + 1);
			paper_add(run, "classic walk", bits, table_2_said[i].load,
			          loads->walk[i][seed]);
			paper_add(run, "cuckoo", bits, table_2_said[i].load,
			          loads->family[i][seed]);
		}
	}
	paper_end(run);
}

static double deviation(const double *values, unsigned n)
{
	double sum = 0, squares = 0;
	for (unsigned i = 0; i < n; i++)
		sum += values[i];
	for (unsigned i = 0; i < n; i++)
		squares += (values[i] - sum / n) * (values[i] - sum / n);
	return sqrt(squares / (n - 1));
}

static void table_2_spread(struct paper_run *run, const struct table_2_loads *loads)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cuckoo",
			.id = "table-2-spread",
			.place = "Table 2",
			.title = "spread of the load of ten tables by bits of a fingerprint",
			.x = "bits",
			.unit = "percent of the slots, standard deviation",
			.note = "the paper calls its column a variance; taken as a standard deviation "
				"here, since a variance of 0.1 % would be a deviation of 3 %. Its "
				"tables are larger, and loads of larger tables differ less" });
	for (unsigned i = 0; i < TABLE_2_ROWS; i++) {
		paper_add(run, "classic walk", table_2_said[i].bits, table_2_said[i].spread,
		          100 * deviation(loads->walk[i], TABLE_2_RUNS));
		paper_add(run, "cuckoo", table_2_said[i].bits, table_2_said[i].spread,
		          100 * deviation(loads->family[i], TABLE_2_RUNS));
	}
	paper_end(run);
}

/* ------------------------------------------------------------- space and rate -- */

static const struct {
	nidus_family family;
	const char *name;
	double bits, rate; /* the paper's; rate in percent */
	double asked;
} filters[] = {
	{ NIDUS_BLOOM, "Bloom, 13 bits", 13.00, 0.20, 0.00196 },
	{ NIDUS_CUCKOO, "cuckoo, 12 bits", 12.53, 0.19, 1.0 / 512 },
	{ NIDUS_SEMISORT, "semi-sorted, 13 bits", 12.57, 0.09, 1.0 / 1024 },
};

static void space_and_rate(struct paper_run *run, bool rate)
{
	paper_begin(run, &(struct experiment){ .paper = "cuckoo",
	                                       .id = rate ? "rate" : "space",
	                                       .place = "Evaluation",
	                                       .title = rate ? "measured rate of full filters"
	                                                     : "space of full filters",
	                                       .unit = rate ? "percent" : "bits per key" });
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		unsigned log = paper_scale(run)->log_most < 24 ? paper_scale(run)->log_most : 24;
		bool bloom = filters[i].family == NIDUS_BLOOM;
		nidus_options options =
			gauge_options(filters[i].family, bloom ? 0 : 4,
		                      (uint64_t)(LOAD * exp2(log)), filters[i].asked);
		nidus_filter *filter = gauge_full(&options);
		paper_add(run, filters[i].name, PAPER_NONE,
		          rate ? filters[i].rate : filters[i].bits,
		          rate ? 100 * gauge_foreign(filter, paper_scale(run)->trials)
		               : gauge_look(filter).bits_per_key);
		nidus_free(filter);
	}
	paper_end(run);
}

/* ---------------------------------------------------------------------- Fig. 3 -- */

static void lookups_of(struct paper_run *run, const char *name, nidus_family family,
                       enum gauge_call call)
{
	bool any_slots = family == NIDUS_BLOOM || family == NIDUS_BREADCRUMB;
	uint64_t keys = (uint64_t)(0.95 * exp2(floor(log2((double)paper_scale(run)->keys))));
	nidus_options options = gauge_options(family, any_slots ? 0 : 4, keys, 1.0 / 512);
	nidus_filter *filter = gauge_make(&options);
	keys = gauge_insert(filter, 0, keys, GAUGE_BATCH).keys;
	for (unsigned hits = 0; hits <= 100; hits += 25)
		paper_add(run, name, hits, PAPER_NONE,
		          gauge_rate(gauge_lookup(filter, keys, hits / 100.0,
		                                  paper_scale(run)->lookups, call)));
	nidus_free(filter);
}

static void figure_3(struct paper_run *run)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cuckoo",
			.id = "figure-3",
			.place = "Fig. 3",
			.title = "lookups by share of hits",
			.x = "hits, %",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.reference = "bloom, single",
			.note = "the paper shows curves of filters of 200 MB: the cuckoo filter "
				"hardly depends on the share, Bloom is the faster at 0 % and the "
				"slower above. All at 2^-9; breadcrumb, which the paper does not have, "
				"in lines of 9 bits" });
	while (paper_again(run)) {
		lookups_of(run, "bloom, single", NIDUS_BLOOM, GAUGE_SINGLE);
		lookups_of(run, "cuckoo, single", NIDUS_CUCKOO, GAUGE_SINGLE);
		lookups_of(run, "semisort, single", NIDUS_SEMISORT, GAUGE_SINGLE);
		lookups_of(run, "breadcrumb, single", NIDUS_BREADCRUMB, GAUGE_SINGLE);
		lookups_of(run, "bloom, batch", NIDUS_BLOOM, GAUGE_BATCH);
		lookups_of(run, "cuckoo, batch", NIDUS_CUCKOO, GAUGE_BATCH);
		lookups_of(run, "semisort, batch", NIDUS_SEMISORT, GAUGE_BATCH);
		lookups_of(run, "breadcrumb, batch", NIDUS_BREADCRUMB, GAUGE_BATCH);
	}
	paper_end(run);
}

void paper_cuckoo(struct paper_run *run)
{
	figure_2(run);
	struct table_2_loads loads;
	table_1(run, false);
	table_1(run, true);
	table_2(run, &loads);
	table_2_spread(run, &loads);
	space_and_rate(run, false);
	space_and_rate(run, true);
	figure_3(run);
}
