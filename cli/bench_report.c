/* SPDX-License-Identifier: MIT */
/* Prints what was measured, what it was measured on, and how it was done. */

#include "bench_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "machine.h"
#include "number.h"
#include "out.h"

/* A median beside the ceiling, or beside that of another operation. */
struct figure {
	struct summary rate;
	const char *against; /* "C1", or as in op_words */
	double ratio;
	double bar; /* 0: none */
};

static double ceiling_rate(const struct bench_result *result, enum ceiling ceiling)
{
	return ceilings_best(result->ceilings, ceiling, false).summary.median;
}

static struct figure figure_of(const struct bench_result *result, const struct bench_row *row,
                               enum bench_op op)
{
	struct row_bar bar = row_bar(row, op);
	struct figure figure = { .rate = samples_summary(&row->rates[op]), .bar = bar.share };
	double base = ceiling_rate(result, bar.ceiling);

	figure.against = ceiling_name(bar.ceiling);
	if (op_words[op].against) {
		base = samples_summary(&row->rates[op_words[op].base]).median;
		figure.against = op_words[op].against;
	}
	figure.ratio = base > 0 ? figure.rate.median / base : 0;
	return figure;
}

struct bench_verdict bench_judge(const struct bench_result *result)
{
	struct bench_verdict verdict = { 0 };

	for (size_t i = 0; i < result->rows->n; i++) {
		for (unsigned op = 0; op < OPS; op++) {
			struct figure figure =
				figure_of(result, result->rows->row[i], (enum bench_op)op);

			if (figure.rate.n == 0 || figure.bar <= 0)
				continue;
			if (figure.ratio >= figure.bar)
				verdict.reached++;
			else
				verdict.missed++;
		}
	}
	return verdict;
}

/* ----------------------------------------------------------------- table -- */

void bench_print_machine(void)
{
	out_format("nidus %s, %s tier, %s\n", nidus_version(), nidus_isa(), machine_compiler());
	out_format("%s, %u processors, caches: %s\n", machine_cpu(), machine_processors(),
	           machine_caches());
}

static void print_head(const struct bench_result *result)
{
	char size[NUMBER_TEXT], huge[NUMBER_TEXT];

	number_text_bytes(result->ceilings->bytes, size);
	number_text_bytes(result->ceilings->huge, huge);
	bench_print_machine();
	out_format("huge pages: %s; %s of the %s array of the ceilings\n", machine_huge_pages(),
	           huge, size);
	out_format("%" PRIu64
	           " keys, batches of %zu, %u round%s; M keys/s: median, least and most\n",
	           result->n, result->room->batch, result->rounds, result->rounds == 1 ? "" : "s");
	out_format(
		"Hashing counts. Keys go in and out by batch and by single calls in turn; %" PRIu64
		" lookups\nper figure, in random order; of the full filter one key in eight, at "
		"most as many, is removed.\n",
		result->room->lookups);
}

static void print_ceiling(const struct bench_result *result, enum ceiling ceiling, bool crew)
{
	static const char *const what[CEILINGS] = { "one line read", "two lines read",
		                                    "one line changed" };
	struct ceiling_best best = ceilings_best(result->ceilings, ceiling, crew);

	if (best.summary.n > 0)
		out_format("  %s, %-17s %2u thread%s  %8.1f  %8.1f ..%8.1f   %u at a time\n",
		           ceiling_name(ceiling), what[ceiling],
		           crew ? result->ceilings->threads : 1, crew ? "s" : " ",
		           best.summary.median, best.summary.low, best.summary.high, best.depth);
}

static void print_ceilings(const struct bench_result *result)
{
	struct summary hashing = samples_summary(result->hashing);

	out_text("\nceilings\n");
	for (unsigned crew = 0; crew < 2; crew++) {
		for (unsigned i = 0; i < CEILINGS; i++)
			print_ceiling(result, (enum ceiling)i, crew == 1);
	}
	out_format("  %-32s  %8.1f  %8.1f ..%8.1f\n", "hashing alone", hashing.median, hashing.low,
	           hashing.high);
	out_format("  one thread had a processor %.1f %% of the time\n",
	           100 * ceilings_share(result->ceilings));
}

static void print_figure(const struct bench_result *result, const struct bench_row *row,
                         enum bench_op op)
{
	struct figure figure = figure_of(result, row, op);
	const char *label = op_words[op].label;
	char threads[NUMBER_TEXT];

	if (figure.rate.n == 0)
		return;
	if (op == OP_BUILD_CREW) {
		snprintf(threads, sizeof(threads), "build, %u threads", result->room->threads);
		label = threads;
	}
	out_format("  %-32s  %8.1f  %8.1f ..%8.1f   %5.3f %s", label, figure.rate.median,
	           figure.rate.low, figure.rate.high, figure.ratio, figure.against);
	if (result->bars && figure.bar > 0)
		out_format("  bar %.2f  %+4.0f %%  %s", figure.bar,
		           100 * (figure.ratio / figure.bar - 1),
		           figure.ratio >= figure.bar ? "pass" : "BELOW");
	out_byte('\n');
}

static void print_row(const struct bench_result *result, const struct bench_row *row)
{
	const nidus_info *info = &row->info;

	out_format("\n%s: %" PRIu64 " keys, %u-bit fingerprints, %.3f bits/key, load %.3f, fpr "
	           "%.3g",
	           row->spec.name, row->keys, info->fingerprint_bits, info->bits_per_key,
	           info->load, info->fpr_now);
	if (row->fpr >= 0)
		out_format(" (found %.3g)", row->fpr);
	out_byte('\n');
	for (unsigned op = 0; op < OPS; op++)
		print_figure(result, row, (enum bench_op)op);
}

static void print_verdict(const struct bench_result *result)
{
	struct bench_verdict verdict = bench_judge(result);

	out_format("\nbars: %u reached, %u missed", verdict.reached, verdict.missed);
	if (result->n != 100000000 && result->n != 4000000)
		out_text(" (they are meant for 100000000 and, in the cache, 4000000 keys)");
	out_byte('\n');
}

void bench_print_table(const struct bench_result *result)
{
	print_head(result);
	print_ceilings(result);
	for (size_t i = 0; i < result->rows->n; i++)
		print_row(result, result->rows->row[i]);
	if (result->bars)
		print_verdict(result);
}

/* ------------------------------------------------------------------ JSON -- */

static void json_summary(const struct samples *samples)
{
	struct summary summary = samples_summary(samples);

	json_real("median", summary.median);
	json_real("low", summary.low);
	json_real("high", summary.high);
	json_open("samples", '[');
	for (unsigned i = 0; i < samples->n; i++)
		json_real(NULL, samples->rate[i]);
	json_close(']');
}

void bench_json_machine(void)
{
	json_open("machine", '{');
	json_text("cpu", machine_cpu());
	json_text("caches", machine_caches());
	json_count("processors", machine_processors());
	json_text("huge_pages", machine_huge_pages());
	json_text("compiler", machine_compiler());
	json_text("nidus", nidus_version());
	json_text("isa", nidus_isa());
	json_close('}');
}

static void json_run(const struct bench_result *result)
{
	bench_json_machine();
	json_count("keys", result->n);
	json_count("rounds", result->rounds);
	json_count("batch", result->room->batch);
	json_count("threads", result->room->threads);
	json_count("lookups", result->room->lookups);
	json_text("unit", "million keys per second, hashing included");
}

static void json_ceiling(const struct bench_result *result, enum ceiling ceiling, bool crew)
{
	struct ceiling_best best = ceilings_best(result->ceilings, ceiling, crew);

	if (best.summary.n == 0)
		return;
	json_open(ceiling_name(ceiling), '{');
	json_count("depth", best.depth);
	json_real("median", best.summary.median);
	json_real("low", best.summary.low);
	json_real("high", best.summary.high);
	json_close('}');
}

static void json_ceilings(const struct bench_result *result)
{
	json_open("ceilings", '{');
	json_count("array_bytes", result->ceilings->bytes);
	json_count("huge_page_bytes", result->ceilings->huge);
	json_real("processor_share", ceilings_share(result->ceilings));
	for (unsigned crew = 0; crew < 2; crew++) {
		json_open(crew ? "threads" : "one_thread", '{');
		for (unsigned i = 0; i < CEILINGS; i++)
			json_ceiling(result, (enum ceiling)i, crew == 1);
		json_close('}');
	}
	json_close('}');
	json_open("hashing", '{');
	json_summary(result->hashing);
	json_close('}');
}

static void json_figure(const struct bench_result *result, const struct bench_row *row,
                        enum bench_op op)
{
	struct figure figure = figure_of(result, row, op);

	if (figure.rate.n == 0)
		return;
	json_open(op_words[op].name, '{');
	json_summary(&row->rates[op]);
	json_text("against", figure.against);
	json_real("ratio", figure.ratio);
	if (result->bars && figure.bar > 0) {
		json_real("bar", figure.bar);
		json_bool("pass", figure.ratio >= figure.bar);
	}
	json_close('}');
}

static void json_row(const struct bench_result *result, const struct bench_row *row)
{
	json_open(NULL, '{');
	json_text("row", row->spec.name);
	json_text("family", nidus_family_name(row->spec.family));
	json_count("keys", row->keys);
	json_count("slots", row->info.slots);
	json_count("fingerprint_bits", row->info.fingerprint_bits);
	json_count("bytes", row->info.bytes);
	json_real("bits_per_key", row->info.bits_per_key);
	json_real("load", row->info.load);
	json_real("fpr_target", row->info.fpr_target);
	if (row->fpr >= 0)
		json_real("fpr_found", row->fpr);
	json_count("removes", pass_removes(row, result->room));
	json_open("figures", '{');
	for (unsigned op = 0; op < OPS; op++)
		json_figure(result, row, (enum bench_op)op);
	json_close('}');
	json_close('}');
}

void bench_print_json(const struct bench_result *result)
{
	json_open(NULL, '{');
	json_run(result);
	json_ceilings(result);
	json_open("rows", '[');
	for (size_t i = 0; i < result->rows->n; i++)
		json_row(result, result->rows->row[i]);
	json_close(']');
	if (result->bars) {
		struct bench_verdict verdict = bench_judge(result);

		json_open("bars", '{');
		json_count("reached", verdict.reached);
		json_count("missed", verdict.missed);
		json_close('}');
	}
	json_close('}');
}
