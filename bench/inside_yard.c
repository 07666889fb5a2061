/* SPDX-License-Identifier: MIT
 *
 * inside_yard: the operations on yards with a counter in their hook.
 */
#include "inside_yard.h"

#include <stdlib.h>

#include "family/family.h"

/* The lines of one operation; it rarely touches more than four. */
static struct {
	const unsigned char *line[128];
	unsigned count;
} touched;

static void touch(const unsigned char *line)
{
	for (unsigned i = 0; i < touched.count; i++) {
		if (touched.line[i] == line)
			return;
	}
	if (touched.count < sizeof touched.line / sizeof *touched.line)
		touched.line[touched.count++] = line;
}

const struct yard_ops *yard_counted(unsigned slots);

#define YARD_TOUCH(line) touch(line)
#include "yard/instances.h"

YARD_INSTANCES(counted)

struct inside_yard {
	struct yard yard;
	struct hash_key key;
};

struct inside_yard *inside_yard_create(const nidus_options *options)
{
	struct blueprint plan = { .family = NIDUS_BREADCRUMB,
		                  .seed = options->seed,
		                  .fpr = options->fpr };
	const struct family *family = family_find(NIDUS_BREADCRUMB);
	if (family == NULL || family->plan(options, &plan) != NIDUS_OK ||
	    family->check(&plan) != NIDUS_OK)
		return NULL;
	struct inside_yard *inside = malloc(sizeof *inside);
	if (inside == NULL)
		return NULL;
	if (yard_create(&inside->yard, &plan, NULL, &options->allocator, NULL) != NIDUS_OK) {
		free(inside);
		return NULL;
	}
	inside->yard.ops = yard_counted(plan.slots);
	inside->key = hash_key_of(plan.seed);
	return inside;
}

void inside_yard_free(struct inside_yard *inside)
{
	if (inside == NULL)
		return;
	yard_free(&inside->yard);
	free(inside);
}

nidus_status inside_yard_insert(struct inside_yard *inside, uint64_t key)
{
	touched.count = 0;
	return inside->yard.ops->body.insert(&inside->yard, hash_u64(&inside->key, key));
}

nidus_status inside_yard_remove(struct inside_yard *inside, uint64_t key)
{
	touched.count = 0;
	return inside->yard.ops->body.remove(&inside->yard, hash_u64(&inside->key, key));
}

bool inside_yard_contains(const struct inside_yard *inside, uint64_t key)
{
	touched.count = 0;
	return inside->yard.ops->body.contains(&inside->yard, hash_u64(&inside->key, key));
}

unsigned inside_yard_lines(void)
{
	return touched.count;
}

unsigned inside_yard_width(const struct inside_yard *inside)
{
	return inside->yard.width;
}

uint64_t inside_yard_bits(const struct inside_yard *inside)
{
	return yard_lines(inside->yard.fronts) * MINI_LINE * 8;
}
