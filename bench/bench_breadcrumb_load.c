/* SPDX-License-Identifier: MIT
 *
 * bench_breadcrumb_load: how densely breadcrumb filters can be filled, and with which map.
 *
 *     ./dev bench breadcrumb_load [--slots 51] [--fronts 4096] [--keys-per-line 0]
 *                                 [--slack 0] [--churn 0] [--filters 20] [--seed 1]
 *                                 [--map hops] [--tie emptier] [--steps 2]
 *                                 [--order random]
 *
 * A simulation of counts: how many keys each front bucket has, how many of them lie in
 * its two backyard lines, and how full those lines are. Who spills, who returns and who
 * moves aside is as in yard/trio.h; remainders and mini-buckets do not matter.
 *
 * Without --keys-per-line each filter is filled until it refuses a key, and the table
 * shows how many keys per front bucket were in it by then: the mean, and the keys that one
 * filter of 10, of 100 and so on did not take. The tail is at least exponential, so the
 * step between the last two, as often as it takes, leads to 1 of 10^6 or less. With
 * --churn, a filter is churned so many times its slots at each quarter of a key per
 * front bucket from 0.8 of the front slots on.
 *
 * With --keys-per-line each filter gets so many keys (less --slack keys per root of the
 * front buckets) and is churned: one random key out, a new one in, --churn times the
 * slots. The table shows
 *
 *     crowded   inserts that found both backyard lines full and moved an entry
 *     failed    filters that refused a key, while filled and while churned
 *     fullest   how full the fullest backyard line of any filter was at its end
 *
 * --map: how a front bucket f finds its two backyard lines.
 *
 *     hops     the library's: f / 16, and hop[f mod 16] lines further in the other half
 *     paper     base 8: f / 8, and f rotated by a digit, in one backyard
 *     mended    the same, where both lines are one the second is its neighbour
 *     halves    f / 16, and f mod H in the other half of H lines
 *     odd       the same with H made odd
 *     xor       f / 16, and that XOR f mod 16 in the other half
 *     trick     base 8: f / 8, and that XOR f mod 8, in one backyard: the xor trick of the paper
 *
 * --tie: where an entry goes: `first` (to the first line while it has room), `emptier`
 * (of two equal ones to the first: the library's), `random` (of two equal ones to any).
 *
 * --steps: how many entries may move to make room for one. --order: keys come in `random`
 * order or, as in a bulk build and in a merge, `ascending` by their front buckets.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shapes of yard/instances.h. */
static const struct shape {
	unsigned front_slots, back_slots, line_bits;
} shapes[] = {
	{ 63, 40, 512 }, { 56, 37, 512 }, { 51, 35, 512 }, { 46, 33, 512 }, { 42, 30, 512 },
	{ 39, 29, 512 }, { 36, 27, 512 }, { 34, 26, 512 }, { 32, 24, 512 }, { 30, 23, 512 },
	{ 28, 22, 512 }, { 19, 16, 512 }, { 25, 17, 256 },
};

#define FAN 16 /* front buckets per line of each half */

struct front {
	uint32_t line[2];
	uint16_t keys, spilled[2];
};

struct simulation {
	const struct shape *shape;
	unsigned tie, steps;
	uint64_t fronts, lines;
	struct front *front;
	uint16_t *taken; /* per backyard line */
	uint32_t *start; /* per line: where its places begin in `place`, */
	uint32_t *place; /* each a front bucket * 2 + which of its lines it is */
	uint32_t *key;   /* per key: its front bucket */
	uint64_t crowded, state;
};

enum { TIE_FIRST, TIE_EMPTIER, TIE_RANDOM };

static uint64_t random_word(struct simulation *sim)
{
	sim->state ^= sim->state << 13;
	sim->state ^= sim->state >> 7;
	sim->state ^= sim->state << 17;
	return sim->state * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t random_below(struct simulation *sim, uint64_t limit)
{
	return (random_word(sim) >> 32) * limit >> 32;
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n > 0 ? n : 1, size);
	if (memory == NULL) {
		fprintf(stderr, "bench_breadcrumb_load: no memory\n");
		exit(1);
	}
	return memory;
}

/* ----------------------------------------------------------------------- maps -- */

/* Each sets both lines of front bucket f of F, and gives the number of lines. */

static uint64_t map_hops(uint64_t fronts, uint64_t f, uint32_t *line)
{
	static const unsigned hop[FAN] = { 0,   8,   18,  31,  45,  164, 183, 186,
		                           235, 275, 277, 334, 377, 401, 406, 412 };
	uint64_t half = (fronts + FAN - 1) / FAN;
	line[0] = (uint32_t)(f / FAN * 2);
	line[1] = (uint32_t)((f / FAN + hop[f % FAN]) % half * 2 + 1);
	return 2 * half;
}

static uint64_t map_paper(uint64_t fronts, uint64_t f, uint32_t *line)
{
	uint64_t back = (fronts + 7) / 8;
	line[0] = (uint32_t)(f / 8);
	line[1] = (uint32_t)(f / 64 + f % 8 * (back / 8 + 1));
	return back + 7;
}

static uint64_t map_mended(uint64_t fronts, uint64_t f, uint32_t *line)
{
	uint64_t lines = map_paper(fronts, f, line);
	if (line[0] == line[1])
		line[1] = (uint32_t)((line[1] + 1) % lines);
	return lines;
}

static uint64_t map_halves_of(uint64_t half, uint64_t f, uint32_t *line)
{
	line[0] = (uint32_t)(f / FAN * 2);
	line[1] = (uint32_t)(f % half * 2 + 1);
	return 2 * half;
}

static uint64_t map_halves(uint64_t fronts, uint64_t f, uint32_t *line)
{
	return map_halves_of((fronts + FAN - 1) / FAN, f, line);
}

static uint64_t map_odd(uint64_t fronts, uint64_t f, uint32_t *line)
{
	return map_halves_of((fronts + FAN - 1) / FAN | 1, f, line);
}

static uint64_t map_xor(uint64_t fronts, uint64_t f, uint32_t *line)
{
	uint64_t half = (fronts + FAN * FAN - 1) / (FAN * FAN) * FAN;
	line[0] = (uint32_t)(f / FAN * 2);
	line[1] = (uint32_t)((f / FAN ^ f % FAN) * 2 + 1);
	return 2 * half;
}

static uint64_t map_trick(uint64_t fronts, uint64_t f, uint32_t *line)
{
	line[0] = (uint32_t)(f / 8);
	line[1] = (uint32_t)(f / 8 ^ f % 8);
	return (fronts + 63) / 64 * 8;
}

typedef uint64_t (*map_fn)(uint64_t fronts, uint64_t f, uint32_t *line);

/* Lists for each line the front buckets that may put entries there. */
static void list_places(struct simulation *sim)
{
	sim->start = allocate(sim->lines + 1, sizeof *sim->start);
	sim->place = allocate(2 * sim->fronts, sizeof *sim->place);
	for (uint64_t i = 0; i < 2 * sim->fronts; i++)
		sim->start[sim->front[i / 2].line[i % 2] + 1]++;
	for (uint64_t line = 0; line < sim->lines; line++)
		sim->start[line + 1] += sim->start[line];
	uint32_t *next = allocate(sim->lines, sizeof *next);
	memcpy(next, sim->start, sim->lines * sizeof *next);
	for (uint64_t i = 0; i < 2 * sim->fronts; i++)
		sim->place[next[sim->front[i / 2].line[i % 2]]++] = (uint32_t)i;
	free(next);
}

static void lay_out(struct simulation *sim, map_fn map)
{
	sim->front = allocate(sim->fronts, sizeof *sim->front);
	for (uint64_t f = 0; f < sim->fronts; f++)
		sim->lines = map(sim->fronts, f, sim->front[f].line);
	sim->taken = allocate(sim->lines, sizeof *sim->taken);
	list_places(sim);
}

static void clear(struct simulation *sim, uint64_t seed)
{
	for (uint64_t f = 0; f < sim->fronts; f++)
		sim->front[f].keys = sim->front[f].spilled[0] = sim->front[f].spilled[1] = 0;
	memset(sim->taken, 0, sim->lines * sizeof *sim->taken);
	sim->state = seed * UINT64_C(0xd6e8feb86659fd93) | 1;
	for (int i = 0; i < 10; i++)
		(void)random_word(sim);
}

/* --------------------------------------------------------------------- changes -- */

static void move(struct simulation *sim, uint32_t place)
{
	struct front *owner = &sim->front[place / 2];
	unsigned from = place % 2;
	owner->spilled[from]--;
	owner->spilled[!from]++;
	sim->taken[owner->line[from]]--;
	sim->taken[owner->line[!from]]++;
}

/* Whether an entry is at a place and can go to another line. */
static bool movable(const struct simulation *sim, uint32_t place)
{
	const struct front *owner = &sim->front[place / 2];
	return owner->spilled[place % 2] > 0 && owner->line[0] != owner->line[1];
}

/* Moves the entry of a full line that has the emptiest other line; false if all are full. */
static bool make_room(struct simulation *sim, const uint32_t *lines, unsigned n, unsigned steps)
{
	unsigned least = sim->shape->back_slots;
	uint32_t best = 0;
	for (unsigned i = 0; i < n && steps > 0; i++) {
		for (uint32_t at = sim->start[lines[i]]; at < sim->start[lines[i] + 1]; at++) {
			uint32_t place = sim->place[at];
			const struct front *owner = &sim->front[place / 2];
			unsigned taken = sim->taken[owner->line[!(place % 2)]];
			if (taken < least && movable(sim, place)) {
				least = taken;
				best = place;
			}
		}
	}
	if (least < sim->shape->back_slots) {
		move(sim, best);
		return true;
	}
	for (unsigned i = 0; i < n && steps > 1; i++) {
		for (uint32_t at = sim->start[lines[i]]; at < sim->start[lines[i] + 1]; at++) {
			uint32_t place = sim->place[at];
			uint32_t other = sim->front[place / 2].line[!(place % 2)];
			if (movable(sim, place) && make_room(sim, &other, 1, steps - 1)) {
				move(sim, place);
				return true;
			}
		}
	}
	return false;
}

static unsigned choose(struct simulation *sim, unsigned first, unsigned second)
{
	if (sim->tie == TIE_FIRST)
		return first >= sim->shape->back_slots;
	if (sim->tie == TIE_RANDOM && first == second)
		return (unsigned)(random_word(sim) >> 63);
	return second < first;
}

static bool insert(struct simulation *sim, uint64_t bucket)
{
	struct front *front = &sim->front[bucket];
	if (front->keys >= sim->shape->front_slots) {
		unsigned first = sim->taken[front->line[0]], second = sim->taken[front->line[1]];
		unsigned which = choose(sim, first, second);
		if (sim->taken[front->line[which]] >= sim->shape->back_slots) {
			sim->crowded++;
			if (!make_room(sim, front->line, 2, sim->steps))
				return false;
			which = sim->taken[front->line[1]] < sim->shape->back_slots;
		}
		front->spilled[which]++;
		sim->taken[front->line[which]]++;
	}
	front->keys++;
	return true;
}

static void take(struct simulation *sim, uint64_t bucket)
{
	struct front *front = &sim->front[bucket];
	unsigned first = front->spilled[0], second = front->spilled[1];
	front->keys--;
	if (first + second == 0)
		return;
	unsigned which = random_below(sim, first + second) >= first;
	front->spilled[which]--;
	sim->taken[front->line[which]]--;
}

/* ------------------------------------------------------------------- one filter -- */

/* Draws n keys, and orders them if asked to. */
static void draw_keys(struct simulation *sim, uint64_t n, bool ascending)
{
	uint32_t *count = allocate(sim->fronts, sizeof *count);
	for (uint64_t i = 0; i < n; i++)
		count[sim->key[i] = (uint32_t)random_below(sim, sim->fronts)]++;
	for (uint64_t f = 0, i = 0; f < sim->fronts && ascending; f++) {
		for (; count[f] > 0; count[f]--)
			sim->key[i++] = (uint32_t)f;
	}
	free(count);
}

static bool fill(struct simulation *sim, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (!insert(sim, sim->key[i]))
			return false;
	}
	return true;
}

static bool churn(struct simulation *sim, uint64_t n, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++) {
		uint32_t *key = &sim->key[random_below(sim, n)];
		take(sim, *key);
		*key = (uint32_t)random_below(sim, sim->fronts);
		if (!insert(sim, *key))
			return false;
	}
	return true;
}

/* Keys that fit before one is refused, while it is filled or churned on the way. */
static uint64_t fill_up(struct simulation *sim, uint64_t most, uint64_t times)
{
	uint64_t step = sim->fronts / 4 + 1, next = sim->fronts * sim->shape->front_slots * 4 / 5;
	for (uint64_t n = 0; n < most; n++) {
		if (times > 0 && n >= next) {
			next = n + step;
			if (!churn(sim, n, times))
				return n;
		}
		sim->key[n] = (uint32_t)random_below(sim, sim->fronts);
		if (!insert(sim, sim->key[n]))
			return n;
	}
	return most;
}

static unsigned fullest(const struct simulation *sim)
{
	unsigned most = 0;
	for (uint64_t line = 0; line < sim->lines; line++)
		most = sim->taken[line] > most ? sim->taken[line] : most;
	return most;
}

/* ------------------------------------------------------------------- the tables -- */

struct arguments {
	unsigned slots, filters, steps;
	uint64_t fronts, seed;
	double keys_per_line, slack, churn;
	const char *map, *tie, *order;
};

static double bits_per_key(const struct simulation *sim, double keys_per_line)
{
	return (double)sim->shape->line_bits * (double)(sim->fronts + sim->lines) /
	       (keys_per_line * (double)sim->fronts);
}

static uint64_t slots_of(const struct simulation *sim)
{
	return sim->fronts * sim->shape->front_slots + sim->lines * sim->shape->back_slots;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* What one filter of 10, 100, ... does not take, and where the steps lead. */
static void show_tail(const double *ascending, unsigned n)
{
	double before = 0, last = 0;
	int decade = 0;
	for (unsigned share = 10; share * 10 <= n; share *= 10, decade++) {
		before = last;
		last = ascending[n / share];
		printf(", 1 of 10^%d %.3f", decade + 1, last);
	}
	if (decade >= 2)
		printf("; 1 of 10^6 %.2f", last - (before - last) * (6 - decade));
	putchar('\n');
}

static void show_filling(struct simulation *sim, const struct arguments *arguments)
{
	uint64_t slots = slots_of(sim), times = (uint64_t)(arguments->churn * (double)slots);
	double *full = allocate(arguments->filters, sizeof *full), sum = 0;
	sim->key = allocate(slots, sizeof *sim->key);
	for (unsigned filter = 0; filter < arguments->filters; filter++) {
		clear(sim, arguments->seed + filter);
		full[filter] = (double)fill_up(sim, slots, times) / (double)sim->fronts;
		sum += full[filter];
	}
	qsort(full, arguments->filters, sizeof *full, compare);
	double mean = sum / arguments->filters;
	printf("keys per line when full: mean %.3f (%.3f bits per key), least %.3f", mean,
	       bits_per_key(sim, mean), full[0]);
	show_tail(full, arguments->filters);
	free(sim->key);
	free(full);
}

static uint64_t show_promise(struct simulation *sim, const struct arguments *arguments)
{
	double fronts = (double)sim->fronts;
	double keys = arguments->keys_per_line * fronts - arguments->slack * sqrt(fronts);
	uint64_t n = keys > 1 ? (uint64_t)keys : 1, slots = slots_of(sim);
	uint64_t filling = 0, churning = 0;
	unsigned most = 0;
	sim->key = allocate(n, sizeof *sim->key);
	for (unsigned filter = 0; filter < arguments->filters; filter++) {
		clear(sim, arguments->seed + filter);
		draw_keys(sim, n, strcmp(arguments->order, "ascending") == 0);
		bool filled = fill(sim, n);
		filling += !filled;
		if (filled)
			churning += !churn(sim, n, (uint64_t)(arguments->churn * (double)slots));
		most = fullest(sim) > most ? fullest(sim) : most;
	}
	printf("%" PRIu64 " keys (%.3f per line, %.3f bits per key), churn %g x slots: crowded "
	       "%" PRIu64 ", failed %" PRIu64 " + %" PRIu64 ", fullest %u of %u\n",
	       n, (double)n / fronts, bits_per_key(sim, (double)n / fronts), arguments->churn,
	       sim->crowded, filling, churning, most, sim->shape->back_slots);
	free(sim->key);
	return filling + churning;
}

/* -------------------------------------------------------------------- arguments -- */

static void give_up(const char *what, const char *word)
{
	fprintf(stderr, "bench_breadcrumb_load: %s is no %s; the head of the file lists them\n",
	        word, what);
	exit(2);
}

static map_fn find_map(const char *name)
{
	static const struct {
		const char *name;
		map_fn map;
	} maps[] = {
		{ "hops", map_hops },     { "paper", map_paper }, { "mended", map_mended },
		{ "halves", map_halves }, { "odd", map_odd },     { "xor", map_xor },
		{ "trick", map_trick },
	};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
		if (strcmp(maps[i].name, name) == 0)
			return maps[i].map;
	}
	give_up("map", name);
	return NULL;
}

static unsigned find_tie(const char *name)
{
	static const char *const ties[] = { "first", "emptier", "random" };
	for (unsigned i = 0; i < sizeof ties / sizeof *ties; i++) {
		if (strcmp(ties[i], name) == 0)
			return i;
	}
	give_up("tie rule", name);
	return 0;
}

static const struct shape *find_shape(unsigned slots)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		if (shapes[i].front_slots == slots)
			return &shapes[i];
	}
	fprintf(stderr, "bench_breadcrumb_load: no line has %u slots\n", slots);
	exit(2);
}

static struct arguments parse(int count, char **words)
{
	struct arguments arguments = { .slots = 51,
		                       .filters = 20,
		                       .fronts = 4096,
		                       .seed = 1,
		                       .steps = 2,
		                       .map = "hops",
		                       .tie = "emptier",
		                       .order = "random" };
	for (int i = 1; i < count; i += 2) {
		const char *name = words[i], *word = i + 1 < count ? words[i + 1] : "";
		double number = strtod(word, NULL);
		if (strcmp(name, "--slots") == 0)
			arguments.slots = (unsigned)number;
		else if (strcmp(name, "--filters") == 0 && number >= 1)
			arguments.filters = (unsigned)number;
		else if (strcmp(name, "--fronts") == 0 && number >= 1 && number < 1e9)
			arguments.fronts = (uint64_t)number;
		else if (strcmp(name, "--seed") == 0)
			arguments.seed = (uint64_t)number;
		else if (strcmp(name, "--keys-per-line") == 0)
			arguments.keys_per_line = number;
		else if (strcmp(name, "--slack") == 0)
			arguments.slack = number;
		else if (strcmp(name, "--churn") == 0)
			arguments.churn = number;
		else if (strcmp(name, "--steps") == 0)
			arguments.steps = (unsigned)number;
		else if (strcmp(name, "--map") == 0)
			arguments.map = word;
		else if (strcmp(name, "--tie") == 0)
			arguments.tie = word;
		else if (strcmp(name, "--order") == 0)
			arguments.order = word;
		else
			give_up("option with such a value", name);
	}
	return arguments;
}

int main(int count, char **words)
{
	struct arguments arguments = parse(count, words);
	struct simulation sim = { .shape = find_shape(arguments.slots),
		                  .fronts = arguments.fronts,
		                  .tie = find_tie(arguments.tie),
		                  .steps = arguments.steps };
	uint64_t failed = 0;
	lay_out(&sim, find_map(arguments.map));
	printf("lines of %u slots, %" PRIu64 " front buckets, map %s, tie %s, %u steps, %s order, "
	       "%u filters\n  ",
	       arguments.slots, sim.fronts, arguments.map, arguments.tie, sim.steps,
	       arguments.keys_per_line > 0 ? arguments.order : "random", arguments.filters);
	if (arguments.keys_per_line > 0)
		failed = show_promise(&sim, &arguments);
	else
		show_filling(&sim, &arguments);
	free(sim.front);
	free(sim.taken);
	free(sim.start);
	free(sim.place);
	return failed > 0;
}
