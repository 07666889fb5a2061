/* SPDX-License-Identifier: MIT */
/*
 * Screens reads for a genome: the set of a reference's k-mers, and for each read the share of
 * its k-mers that are in it.
 *
 *     kmer_screen reference.fasta < reads.fasta
 *
 * A k-mer and its reverse complement are one key: the smaller of the two, at two bits per base.
 * Reads of the reference share all of their k-mers with it, others a few by chance and by false
 * positives, so a read is kept if more than half are found.
 */
#include <ctype.h>
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define K 21
#define MASK ((UINT64_C(1) << (2 * K)) - 1)
#define LINE 65536

/* The last K bases that were seen, forwards and as the other strand. */
struct window {
	uint64_t forward, reverse;
	unsigned bases; /* K at most */
};

/* Takes one more base; true if a whole k-mer is in the window. */
static int push(struct window *window, char base)
{
	const char *letters = "ACGT";
	const char *found = strchr(letters, toupper((unsigned char)base));
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

static int fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	return 1;
}

static int read_reference(const char *path, nidus_filter *kmers)
{
	static char line[LINE];
	struct window window = { 0 };
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return fail(path);
	while (fgets(line, sizeof line, file)) {
		if (line[0] == '>') {
			window.bases = 0;
			continue;
		}
		for (const char *base = line; *base != '\0' && *base != '\n'; base++) {
			if (!push(&window, *base))
				continue;
			nidus_status status = nidus_insert_new_u64(kmers, canonical(&window));
			if (status != NIDUS_OK && status != NIDUS_PRESENT) {
				fclose(file);
				return fail(nidus_reason());
			}
		}
	}
	fclose(file);
	return 0;
}

/* One read per line after its name, as sequencers write them. */
static void screen(FILE *reads, const nidus_filter *kmers)
{
	static char line[LINE], name[LINE];
	while (fgets(line, sizeof line, reads)) {
		if (line[0] == '>') {
			strcpy(name, line);
			name[strcspn(name, "\n")] = '\0';
			continue;
		}
		struct window window = { 0 };
		unsigned n = 0, found = 0;
		for (const char *base = line; *base != '\0' && *base != '\n'; base++) {
			if (!push(&window, *base))
				continue;
			n++;
			found += nidus_contains_u64(kmers, canonical(&window));
		}
		printf("%s %s\n", name + 1, 2 * found > n ? "matches" : "-");
	}
}

int main(int argc, char **argv)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 1000;
	options.max_capacity = 1000000000;
	options.fpr = 0.001;
	nidus_filter *kmers;
	if (argc != 2)
		return fail("usage: kmer_screen reference.fasta < reads.fasta");
	if (nidus_create(&options, &kmers) != NIDUS_OK)
		return fail(nidus_reason());
	int code = read_reference(argv[1], kmers);
	if (code == 0)
		screen(stdin, kmers);
	nidus_free(kmers);
	return code;
}
