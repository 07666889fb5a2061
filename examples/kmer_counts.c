/* SPDX-License-Identifier: MIT */
/*
 * Counts the k-mers of a FASTA file in little memory.
 *
 *     kmer_counts reads.fasta                    how many k-mers come once, twice, ...
 *     kmer_counts reads.fasta < kmers.txt        the same, then the count of each k-mer there
 *
 * A k-mer and its reverse complement are one key: the smaller of the two, at two bits per base.
 * The filter keeps a count of 8 bits beside each fingerprint. It begins with room for a million
 * different k-mers and grows as they come, to 10^9 at most; how often each comes takes no more
 * room. No count is too low; at the rate of one in a thousand a k-mer shares its count with
 * another. 255 stands for 255 and more.
 */
#include <ctype.h>
#include <inttypes.h>
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define K 21
#define MASK ((UINT64_C(1) << (2 * K)) - 1)
#define KMERS_AT_FIRST 1000000
#define KMERS_MOST 1000000000
#define COUNT_BITS 8
#define BATCH 1024

/* The last K bases that were seen, forwards and as the other strand. */
struct window {
	uint64_t forward, reverse;
	unsigned bases; /* K at most */
};

/* Takes one more base; true if a whole k-mer is in the window. */
static int push(struct window *window, int base)
{
	static const char letters[] = "ACGT";
	const char *found = strchr(letters, toupper(base));
	if (found == NULL || *found == '\0') {
		window->bases = 0; /* an N, say: no k-mer across it */
		return 0;
	}
	uint64_t code = (uint64_t)(found - letters);
	window->forward = (window->forward << 2 | code) & MASK;
	window->reverse = window->reverse >> 2 | (3 - code) << (2 * (K - 1));
	window->bases += window->bases < K;
	return window->bases == K;
}

static uint64_t canonical(const struct window *window)
{
	return window->forward < window->reverse ? window->forward : window->reverse;
}

/* K-mers on their way into the filter: many at a time are counted faster. */
struct batch {
	nidus_filter *counts;
	uint64_t kmer[BATCH], hash[BATCH];
	size_t n;
};

static nidus_status flush(struct batch *batch)
{
	nidus_hash_u64_batch(batch->counts, batch->kmer, batch->n, batch->hash);
	nidus_status status =
		nidus_add_count_batch(batch->counts, batch->hash, NULL, batch->n, NULL);
	batch->n = 0;
	return status;
}

/* Counts all k-mers of a file: base by base, so that lines may have any length. */
static nidus_status count_file(FILE *file, struct batch *batch)
{
	struct window window = { 0 };
	nidus_status status = NIDUS_OK;
	int base, name = 0, start = 1;
	while (status == NIDUS_OK && (base = getc(file)) != EOF) {
		name = start ? base == '>' : name;
		start = base == '\n';
		if (name)
			window.bases = 0;
		if (name || base == '\n' || base == '\r')
			continue;
		if (push(&window, base)) {
			batch->kmer[batch->n++] = canonical(&window);
			if (batch->n == BATCH)
				status = flush(batch);
		}
	}
	return status == NIDUS_OK ? flush(batch) : status;
}

/* The entries know no k-mers, but all counts. */
static void print_histogram(const nidus_filter *counts)
{
	uint64_t kmers[1 << COUNT_BITS] = { 0 };
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	while (nidus_next(counts, &cursor, &entry))
		kmers[entry.value]++;
	for (unsigned count = 1; count < 1 << COUNT_BITS; count++) {
		if (kmers[count] > 0)
			printf("%u\t%" PRIu64 "\n", count, kmers[count]);
	}
}

static void print_counts(FILE *list, const nidus_filter *counts)
{
	char line[256];
	while (fgets(line, sizeof line, list)) {
		struct window window = { 0 };
		int whole = 0;
		line[strcspn(line, "\r\n")] = '\0';
		for (const char *base = line; *base != '\0'; base++)
			whole = push(&window, (unsigned char)*base);
		if (whole && strlen(line) == K)
			printf("%s\t%" PRIu64 "\n", line,
			       nidus_get_count_u64(counts, canonical(&window)));
		else
			fprintf(stderr, "'%s' is not a k-mer of %d bases\n", line, K);
	}
}

int main(int argc, char **argv)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = KMERS_AT_FIRST;
	options.max_capacity = KMERS_MOST;
	options.fpr = 0.001;
	options.value_bits = COUNT_BITS;

	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	if (file == NULL) {
		fprintf(stderr, "usage: kmer_counts reads.fasta < kmers.txt\n");
		return 2;
	}
	static struct batch batch;
	if (nidus_create(&options, &batch.counts) != NIDUS_OK ||
	    count_file(file, &batch) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	print_histogram(batch.counts);
	print_counts(stdin, batch.counts);
	nidus_free(batch.counts);
	fclose(file);
	return 0;
}
