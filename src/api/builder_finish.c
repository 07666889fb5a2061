/* SPDX-License-Identifier: MIT
 *
 * builder_finish: from all hashes to a file, a stream, or a filter in memory.
 */
#include "api/builder.h"

#include <errno.h>

#include "api/options.h"
#include "base/watch.h"

#define PIECE ((size_t)1 << 16) /* bytes that are copied to a sink at a time */

/* Steps for each key, as nidus_build_* counts them: sorting one, and putting it in. */
#define SORT_STEPS 2
#define SORT_STEPS_VALUES 3

/* A filter in the making. */
struct making {
	nidus_builder *builder;
	struct scratch *file; /* where its image goes; NULL: into a filter */
	uint64_t size;        /* of the image */
	nidus_filter *filter;
};

/* ------------------------------------------------------------------------------ one try -- */

static nidus_status assemble_file(struct making *making, struct assembly *assembly)
{
	assembly->file = making->file;
	nidus_status status = assemble(assembly, &making->builder->spill);
	making->size = assembly->size;
	return status;
}

static nidus_status assemble_filter(struct making *making, struct assembly *assembly)
{
	const struct family *family = assembly->family;
	nidus_filter *filter;
	uint64_t size;
	nidus_status status = filter_make(family, &assembly->plan,
	                                  &making->builder->options.allocator, NULL, &filter);
	if (status != NIDUS_OK)
		return status;
	assembly->table = family->table(filter_body(filter), &size);
	status = assemble(assembly, &making->builder->spill);
	if (status == NIDUS_OK)
		status = family->import(filter_body(filter), assembly->end.stash,
		                        assembly->end.listed, assembly->end.count);
	if (status == NIDUS_OK)
		making->filter = filter;
	else
		nidus_free(filter);
	return status;
}

/* A filter of a family and plan, of all hashes. */
static nidus_status make_planned(struct making *making, const struct family *family,
                                 const struct blueprint *plan)
{
	nidus_builder *builder = making->builder;
	struct block memory; /* small stacks have no room for it */
	nidus_status status =
		memory_take(&builder->options.allocator, sizeof(struct assembly), &memory);
	if (status != NIDUS_OK)
		return status;
	struct assembly *assembly = (struct assembly *)(void *)memory.bytes;
	assembly->workshop = &builder->workshop;
	assembly->family = family;
	assembly->plan = *plan;
	status = making->file != NULL ? assemble_file(making, assembly)
	                              : assemble_filter(making, assembly);
	assembly_free(assembly);
	builder->written += assembly->written;
	builder->read += assembly->read;
	memory_give(&builder->options.allocator, &memory);
	return status;
}

/* The same with these options. */
static nidus_status make(struct making *making, nidus_options *options)
{
	const struct family *family;
	struct blueprint plan;
	nidus_status status = options_check(options);
	if (status == NIDUS_OK)
		status = options_plan_in_parts(options, &family, &plan);
	return status == NIDUS_OK ? make_planned(making, family, &plan) : status;
}

/* ---------------------------------------------------------------------------- all tries -- */

/* Whether a hash comes several times in a portion: all that are equal are in one. */
static bool any_equal(const struct portion *portion)
{
	bool equal = false;
	for (size_t i = 1; i < portion->n && !equal; i++)
		equal = portion->hashes[i] == portion->hashes[i - 1];
	return equal;
}

/* Different keys, or pairs, of those that were added; and whether some have several, unless NULL. */
static nidus_status count_keys(nidus_builder *builder, uint64_t *n, bool *copies)
{
	struct spill *spill = &builder->spill;
	struct portion portion = { .n = 0 };
	bool equal = false;
	nidus_status status = spill_read(spill, spill->room);
	*n = 0;
	while (status == NIDUS_OK && !portion.last) {
		status = spill_next(spill, 0, &portion);
		*n += portion.n;
		equal = equal || (status == NIDUS_OK && copies != NULL && any_equal(&portion));
	}
	spill_read_end(spill);
	if (copies != NULL)
		*copies = equal;
	return status;
}

/*
 * Whether there are more different keys than the capacity. To find that out by filling a table takes
 * long; so they are counted first, unless those that may be equal are few enough, too.
 */
static nidus_status check_capacity(nidus_builder *builder, const nidus_options *options)
{
	const struct family *family;
	struct blueprint plan;
	uint64_t n;
	nidus_status status = options_plan_in_parts(options, &family, &plan);
	if (status != NIDUS_OK || options->features & NIDUS_MULTISET ||
	    !(family->features & (NIDUS_ENUMERATE | NIDUS_STATIC)) ||
	    spill_most(&builder->spill) <= options->capacity)
		return status;
	status = count_keys(builder, &n, NULL);
	if (status == NIDUS_OK && n > options->capacity)
		return fail(NIDUS_FULL, "%llu keys are more than the capacity of %llu",
		            (unsigned long long)n, (unsigned long long)options->capacity);
	return status;
}

/* Makes a filter with the options of the builder; without a capacity, as large as it must be. */
static nidus_status make_fitting(struct making *making)
{
	nidus_builder *builder = making->builder;
	nidus_options options = builder->options;
	uint64_t n = 0;
	nidus_status status = NIDUS_OK;
	bool copies;
	if (!builder->counts) {
		status = check_capacity(builder, &options);
		return status == NIDUS_OK ? make(making, &options) : status;
	}
	status = count_keys(builder, &n, &copies);
	if (status == NIDUS_OK && copies && !options_static(&options))
		status = fail(
			NIDUS_E_UNSUPPORTED,
			"keys come several times, and a builder cannot tell how much room their "
			"copies need: set options.capacity");
	if (status != NIDUS_OK)
		return status;
	options_size_for(&options, n > 0 ? n : 1);
	status = make(making, &options);
	/* Without a stash the capacity is no promise: if it is ours to choose, we raise it. */
	while (status == NIDUS_FULL && options.capacity / 8 < n) {
		options_size_for(&options, options.capacity + options.capacity / 4 + 1);
		status = make(making, &options);
	}
	return status;
}

static nidus_status make_watched(struct making *making)
{
	nidus_builder *builder = making->builder;
	double sort = builder->options.value_bits > 0 ? SORT_STEPS_VALUES : SORT_STEPS;
	/* To count them, what is in files is read and sorted once more. */
	double steps = builder->counts && builder->spill.run_count > 0 ? 2 * sort + 1 : sort + 1;
	struct watch watch;
	if (builder->spill.lost)
		return fail(NIDUS_E_ARG, "the builder was stopped: free it");
	watch_begin(&watch, &builder->options.progress, steps * (double)builder->spill.added);
	return watch_end(&watch, make_fitting(making));
}

/* ------------------------------------------------------------------------------ endings -- */

struct ending {
	nidus_builder *builder;
	const char *path; /* what the file is called */
};

/* Copies a temporary file to a sink. */
static nidus_status copy_to(struct scratch *file, uint64_t size, nidus_sink sink, void *context,
                            const nidus_allocator *allocator)
{
	struct block piece;
	nidus_status status = memory_take(allocator, PIECE, &piece);
	if (status != NIDUS_OK)
		return status;
	for (uint64_t done = 0; done < size && status == NIDUS_OK; done += PIECE) {
		uint64_t some = size - done < PIECE ? size - done : PIECE;
		status = scratch_read(file, done, piece.bytes, some);
		if (status == NIDUS_OK)
			status = image_put(sink, context, piece.bytes, some);
	}
	memory_give(allocator, &piece);
	return status;
}

static nidus_status write_stream(nidus_builder *builder, nidus_sink sink, void *context)
{
	struct scratch file;
	struct making making = { .builder = builder, .file = &file };
	nidus_status status = scratch_open(&file, builder->workshop.folder);
	if (status == NIDUS_OK)
		status = make_watched(&making);
	if (status == NIDUS_OK)
		status = copy_to(&file, making.size, sink, context, &builder->options.allocator);
	builder->written += file.written;
	builder->read += file.read;
	scratch_close(&file);
	return status;
}

/* A file_writer. */
static nidus_status write_image(const void *subject, nidus_sink sink, void *context)
{
	const struct ending *ending = subject;
	int number = file_behind(sink, context);
	if (number < 0)
		return write_stream(ending->builder, sink, context);
	struct scratch file = scratch_of(number, ending->path);
	struct making making = { .builder = ending->builder, .file = &file };
	return make_watched(&making);
}

nidus_status nidus_builder_save(nidus_builder *builder, const char *path)
{
	if (builder == NULL || path == NULL)
		return filter_null(builder == NULL ? "builder" : "path");
	const struct ending ending = { builder, path };
	return file_save_long(path, write_image, &ending);
}

nidus_status nidus_builder_write(nidus_builder *builder, nidus_sink sink, void *context)
{
	if (builder == NULL || sink == NULL)
		return filter_null(builder == NULL ? "builder" : "sink");
	return write_stream(builder, sink, context);
}

nidus_status nidus_builder_finish(nidus_builder *builder, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (builder == NULL)
		return filter_null("builder");
	struct making making = { .builder = builder };
	nidus_status status = make_watched(&making);
	*filter = making.filter;
	return status;
}
