/* SPDX-License-Identifier: MIT */
/* What include/nidus.hpp promises; compiled in two dialects by tests/cpp/run. */
#include <nidus.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#define EXPECT(what)                                                                    \
	do {                                                                            \
		if (!(what)) {                                                          \
			std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			std::exit(1);                                                   \
		}                                                                       \
	} while (0)

static_assert(!std::is_copy_constructible<nidus::filter>::value, "a copy is made by clone()");
static_assert(std::is_nothrow_move_constructible<nidus::filter>::value, "moves cannot fail");
static_assert(std::is_nothrow_move_assignable<nidus::filter>::value, "moves cannot fail");
static_assert(sizeof(nidus::filter) == sizeof(nidus_filter *), "nothing is added");

static nidus::filter make(std::uint64_t capacity)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus::filter made;
	options.capacity = capacity;
	options.fpr = 1e-6;
	options.seed = 1;
	EXPECT(nidus::filter::create(options, made) == NIDUS_OK);
	return made;
}

static void strings_and_integers_are_keys()
{
	nidus::filter filter = make(1000);
	const std::string heron = "heron";
	EXPECT(filter.insert(heron) == NIDUS_OK && filter.insert("crane") == NIDUS_OK);
	EXPECT(filter.insert(7) == NIDUS_OK && filter.insert_new(7) == NIDUS_PRESENT);
	EXPECT(filter.contains("heron") && filter.contains(std::string_view("crane")));
	EXPECT(filter.contains(7) && filter.contains(std::uint64_t(7)) && !filter.contains("7"));
	EXPECT(filter.insert_new("heron") == NIDUS_PRESENT && filter.count("heron") == 1);
	EXPECT(filter.remove(heron) == NIDUS_OK && !filter.contains(heron));
	EXPECT(filter.remove(7) == NIDUS_OK && filter.remove(7) == NIDUS_NOT_FOUND);
	filter.prefetch_hash(filter.hash("crane"));
	EXPECT(filter.contains_hash(filter.hash("crane")) && filter.count(7) == 0);
	EXPECT(filter.insert(std::string_view()) == NIDUS_OK && filter.contains(""));
	EXPECT(filter.size() == 2 && filter.info().capacity >= 1000);
	std::uint64_t entries = 0;
	filter.for_each_entry([&](const nidus_entry &) { entries++; });
	EXPECT(entries == 2 && filter.clear() == NIDUS_OK && filter.size() == 0);
}

static void ownership_moves()
{
	nidus::filter a = make(10), b;
	EXPECT(a && !b);
	(void)a.insert(1);
	b = std::move(a);
	EXPECT(b && b.contains(1));
	nidus::filter *self = &b;
	b = std::move(*self);
	EXPECT(b.contains(1));
	nidus::filter c(b.release());
	EXPECT(!b && c.contains(1));
	b.reset(c.release());
	EXPECT(b.contains(1) && b.get() != nullptr);
}

static void an_empty_wrapper_behaves_as_null()
{
	nidus::filter none;
	EXPECT(!none.contains("heron") && !none.contains(7) && none.size() == 0);
	EXPECT(none.insert("heron") == NIDUS_E_ARG && none.remove(7) == NIDUS_E_ARG);
	EXPECT(none.count("heron") == 0 && none.info().count == 0);
}

static void failures_leave_the_result_alone()
{
	nidus::filter filter = make(10), other = make(1000000);
	nidus_options wrong = NIDUS_OPTIONS_INIT;
	(void)filter.insert("heron");
	EXPECT(nidus::filter::create(wrong, filter) == NIDUS_E_ARG && filter.contains("heron"));
	EXPECT(nidus::filter::load("does/not/exist", filter) == NIDUS_E_IO);
	EXPECT(nidus::filter::merge(filter, other, filter) == NIDUS_E_MISMATCH);
	EXPECT(filter.contains("heron"));
}

static void files_copies_and_merges()
{
	nidus::filter a = make(100), b = make(100), both, again, copy;
	(void)a.insert("heron");
	(void)b.insert("crane");
	EXPECT(nidus::filter::merge(a, b, both) == NIDUS_OK && both.clone(copy) == NIDUS_OK);
	EXPECT(copy.contains("heron") && copy.contains("crane"));
	EXPECT(both.save("both.nidus") == NIDUS_OK);
	EXPECT(nidus::filter::open("both.nidus", again, NIDUS_OPEN_VERIFY) == NIDUS_OK);
	EXPECT(again.contains("crane") && again.insert("stork") == NIDUS_E_READONLY);
	EXPECT(nidus::filter::load("both.nidus", again) == NIDUS_OK &&
	       again.insert("stork") == NIDUS_OK);
	EXPECT(again.shrink() == NIDUS_OK);
}

static void values_and_counts()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus::filter filter;
	std::uint64_t values[4] = {};
	options.capacity = 1000;
	options.fpr = 1e-6;
	options.seed = 1;
	options.value_bits = 8;
	EXPECT(nidus::filter::create(options, filter) == NIDUS_OK);
	EXPECT(filter.insert_value("heron", 7) == NIDUS_OK &&
	       filter.insert_value(9, 200) == NIDUS_OK);
	EXPECT(filter.find("heron", values, 4) == 1 && values[0] == 7);
	EXPECT(filter.find(9, values, 4) == 1 && values[0] == 200);
	EXPECT(filter.remove_value("heron", 8) == NIDUS_NOT_FOUND);
	EXPECT(filter.remove_value("heron", 7) == NIDUS_OK &&
	       filter.remove_value(9, 200) == NIDUS_OK);
	EXPECT(filter.add_count("crane") == NIDUS_OK && filter.add_count("crane", 4) == NIDUS_OK);
	EXPECT(filter.add_count(5) == NIDUS_OK && filter.get_count(5) == 1);
	EXPECT(filter.get_count("crane") == 5 && filter.get_count("stork") == 0);
}

static void batches_are_spans()
{
#ifdef __cpp_lib_span
	std::vector<std::uint64_t> keys(1000), hashes(1000);
	std::vector<std::uint8_t> yes(1000);
	for (std::size_t i = 0; i < keys.size(); i++)
		keys[i] = 3 * i;
	nidus::filter filter = make(1000), built;
	std::size_t done;
	filter.hash(keys, hashes);
	EXPECT(filter.insert(hashes, done) == NIDUS_OK && done == 1000);
	filter.contains(hashes, yes);
	for (std::uint8_t one : yes)
		EXPECT(one == 1);
	nidus_options options = NIDUS_OPTIONS_INIT;
	EXPECT(nidus::filter::build(options, keys, built, 2) == NIDUS_OK && built.contains(2997));
#else
	EXPECT(__cplusplus < 202002L);
#endif
}

int main()
{
	strings_and_integers_are_keys();
	ownership_moves();
	an_empty_wrapper_behaves_as_null();
	failures_leave_the_result_alone();
	files_copies_and_merges();
	values_and_counts();
	batches_are_spans();
}
