/* SPDX-License-Identifier: MIT */
/* What include/nidus.hpp promises; compiled in two dialects by tests/cpp/run. */
#include <nidus.hpp>

#include <cstdio>
#include <cstdlib>
#if __cplusplus >= 202002L
#include <span>
#endif
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
	nidus_probe crane = filter.prepare("crane"), seven = filter.prepare(7);
	EXPECT(filter.ask(crane) && !filter.ask(seven));
	EXPECT(filter.insert(7) == NIDUS_OK && filter.ask(seven) && filter.remove(7) == NIDUS_OK);
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
	EXPECT(again.pack() == NIDUS_OK || again.pack() == NIDUS_E_UNSUPPORTED);
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

/* Batches in both dialects: vectors, arrays, and spans where there are any. */
static void batches_of_keys_are_keys()
{
	std::vector<std::uint64_t> keys(1000), hashes(1000);
	std::vector<std::uint8_t> yes(1000);
	for (std::size_t i = 0; i < keys.size(); i++)
		keys[i] = 3 * i;
	nidus::filter filter = make(2000), built;
	std::size_t done = 7;
	EXPECT(filter.insert(keys, done) == NIDUS_OK && done == 1000 && filter.contains(2997));
	EXPECT(filter.contains(keys, yes) == 1000);
	for (std::uint8_t one : yes)
		EXPECT(one == 1);
	EXPECT(filter.hash(keys, hashes) == 1000 && hashes[5] == filter.hash(15));
	EXPECT(filter.contains_hashes(hashes, yes) == 1000 && yes[999] == 1);
	EXPECT(filter.remove(keys, done) == NIDUS_OK && filter.size() == 0);
	EXPECT(filter.insert_hashes(hashes, done) == NIDUS_OK && filter.contains(keys[7]));
	EXPECT(filter.remove_hashes(hashes, done) == NIDUS_OK && filter.size() == 0);
	nidus_options options = NIDUS_OPTIONS_INIT;
	EXPECT(nidus::filter::build(options, keys, built, 2) == NIDUS_OK && built.contains(2997));
	options.seed = 1;
	EXPECT(nidus::filter::build_hashes(options, hashes, built) == NIDUS_OK);
	EXPECT(built.contains(2997) && built.size() == 1000);
}

static void every_integer_type_is_the_same_key()
{
	nidus::filter filter = make(1000), built;
	std::uint8_t yes[4] = {};
	std::size_t done;
	const int narrow[] = { -1, 7, 0, 1 << 30 };
	const unsigned long long wide[] = { ~0ull, 7, 0, 1 << 30 };
	EXPECT(filter.insert(narrow, done) == NIDUS_OK && done == 4);
	EXPECT(filter.contains(wide, yes) == 4 && yes[0] && yes[1] && yes[2] && yes[3]);
	EXPECT(filter.contains(std::int8_t(-1)) && filter.contains(UINT64_MAX));
	EXPECT(filter.contains(-1L) && filter.contains(std::uint8_t(7)) && filter.contains(0));
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.fpr = 1e-6;
	EXPECT(nidus::filter::build(options, narrow, built) == NIDUS_OK);
	EXPECT(built.contains(-1LL) && built.contains(std::uint64_t(1) << 30) && built.size() == 4);
}

static void batches_of_text_are_text()
{
	std::vector<std::string> birds;
	for (int i = 0; i < 700; i++)
		birds.push_back("bird " + std::to_string(i));
	nidus::filter filter = make(1000), built;
	std::vector<std::uint8_t> yes(700);
	std::size_t done;
	EXPECT(filter.insert(birds, done) == NIDUS_OK && done == 700);
	EXPECT(filter.contains("bird 699") && filter.contains(birds, yes) == 700 && yes[512] == 1);
	const std::string_view some[] = { "bird 3", "heron" };
	EXPECT(filter.contains(some, yes) == 2 && yes[0] == 1 && yes[1] == 0);
	const char *const plain[] = { "bird 3", "bird 4" };
	EXPECT(filter.remove(plain, done) == NIDUS_OK && done == 2 && !filter.contains("bird 4"));
	EXPECT(filter.remove(plain, done) == NIDUS_NOT_FOUND && done == 0);
	nidus_options options = NIDUS_OPTIONS_INIT;
	EXPECT(nidus::filter::build(options, birds, built, 2) == NIDUS_OK &&
	       built.contains("bird 9"));
	EXPECT(built.contains({ "bird 9!", 6 }));
}

static void batches_tell_new_keys()
{
	nidus::filter filter = make(1000), other = make(1000);
	std::vector<int> keys(300, 7);
	std::vector<std::uint8_t> fresh(300, 9);
	std::vector<std::uint64_t> hashes = { other.hash("heron"), other.hash(7) };
	std::size_t done;
	keys[299] = 8;
	EXPECT(filter.insert_new(keys, fresh, done) == NIDUS_OK && done == 300);
	EXPECT(fresh[0] == 1 && fresh[1] == 0 && fresh[298] == 0 && fresh[299] == 1);
	EXPECT(filter.size() == 2 && !filter.same(other) && filter.same(filter));
	EXPECT(other.insert(8) == NIDUS_OK && other.insert(7) == NIDUS_OK && filter.same(other));
	fresh.resize(2);
	EXPECT(filter.insert_new(keys, fresh, done) == NIDUS_E_ARG && done == 0);
	EXPECT(other.insert_new_hashes(hashes, fresh, done) == NIDUS_OK && done == 2);
	EXPECT(fresh[0] == 1 && fresh[1] == 0 && other.contains("heron"));
	hashes.pop_back();
	EXPECT(other.insert_new_hashes(hashes, fresh, done) == NIDUS_E_ARG);
}

static void batches_stop_where_they_fail()
{
	nidus::filter filter = make(1000), none, frozen;
	const std::vector<int> nobody;
	std::vector<std::uint8_t> yes(3, 9);
	std::size_t done = 7;
	const int keys[] = { 1, 2, 3, 4 };
	EXPECT(filter.contains(keys, yes) == 3 && yes[2] == 0);
	EXPECT(filter.insert(nobody, done) == NIDUS_OK && done == 0);
	EXPECT(none.insert(nobody, done = 7) == NIDUS_E_ARG);
	EXPECT(none.insert(keys, done = 7) == NIDUS_E_ARG && done == 0);
	EXPECT(none.contains(keys, yes) == 3 && yes[0] == 0);
	EXPECT(filter.save("stop.nidus") == NIDUS_OK);
	EXPECT(nidus::filter::open("stop.nidus", frozen) == NIDUS_OK);
	EXPECT(frozen.insert(nobody, done) == NIDUS_E_READONLY);
	std::vector<std::uint64_t> many(3000);
	for (std::size_t i = 0; i < many.size(); i++)
		many[i] = i;
	EXPECT(filter.insert(many, done) == NIDUS_FULL && done == filter.size() && done >= 1000);
	EXPECT(filter.contains(done - 1));
}

static void batches_carry_values()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus::filter filter, built;
	options.capacity = 2000;
	options.fpr = 1e-6;
	options.seed = 1;
	options.value_bits = 10;
	EXPECT(nidus::filter::create(options, filter) == NIDUS_OK);
	std::vector<int> keys(600);
	std::vector<std::uint64_t> values(600), first(600), hashes(600);
	std::vector<std::uint32_t> found(600);
	for (std::size_t i = 0; i < keys.size(); i++) {
		keys[i] = -static_cast<int>(i);
		values[i] = i;
	}
	std::size_t done;
	EXPECT(filter.insert_values(keys, values, done) == NIDUS_OK && done == 600);
	EXPECT(filter.find_first(keys, first, found) == 600 && first[599] == 599 && found[0] == 1);
	EXPECT(filter.replace_value(-5, 5, 6) == NIDUS_OK && filter.get_count(-5) == 6);
	EXPECT(filter.hash(keys, hashes) == 600);
	EXPECT(filter.find_first_hashes(hashes, first, found) == 600 && first[5] == 6);
	EXPECT(filter.add_count_hashes(hashes, done) == NIDUS_OK && filter.get_count(-7) == 8);
	EXPECT(filter.add_count_hashes(hashes, values, done) == NIDUS_OK);
	EXPECT(filter.add_counts(keys, values, done) == NIDUS_OK && done == 600);
	EXPECT(filter.add_counts(keys, done) == NIDUS_OK && filter.get_count(-7) == 23);
	EXPECT(filter.clear() == NIDUS_OK);
	EXPECT(filter.insert_value_hashes(hashes, values, done) == NIDUS_OK);
	EXPECT(filter.get_count_hash(hashes[9]) == 9 && filter.count_hash(hashes[9]) == 1);
	values.pop_back();
	EXPECT(filter.insert_values(keys, values, done) == NIDUS_E_ARG && done == 0);
	EXPECT(filter.add_counts(keys, values, done) == NIDUS_E_ARG);
	EXPECT(filter.insert_value_hashes(hashes, values, done) == NIDUS_E_ARG);
	EXPECT(filter.add_count_hashes(hashes, values, done) == NIDUS_E_ARG &&
	       filter.size() == 600);
	EXPECT(nidus::filter::build_values(options, hashes, values, built) == NIDUS_E_ARG);
	hashes.pop_back();
	EXPECT(nidus::filter::build_values(options, hashes, values, built) == NIDUS_OK);
	EXPECT(built.get_count(-598) == 598);
}

static void single_hashes_have_calls_of_their_own()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus::filter filter;
	std::uint64_t value = 0;
	options.capacity = 100;
	options.fpr = 1e-6;
	options.value_bits = 8;
	EXPECT(nidus::filter::create(options, filter) == NIDUS_OK);
	std::uint64_t heron = filter.prefetch("heron"), seven = filter.prefetch(7);
	EXPECT(heron == filter.hash("heron") && seven == filter.hash(7));
	EXPECT(filter.insert_hash(heron) == NIDUS_OK && filter.contains("heron"));
	EXPECT(filter.insert_new_hash(heron) == NIDUS_PRESENT && filter.count_hash(heron) == 1);
	EXPECT(filter.remove_hash(heron) == NIDUS_OK && !filter.contains_hash(heron));
	EXPECT(filter.insert_value_hash(seven, 9) == NIDUS_OK);
	EXPECT(filter.replace_value_hash(seven, 9, 10) == NIDUS_OK);
	EXPECT(filter.find_hash(seven, &value, 1) == 1 && value == 10);
	EXPECT(filter.add_count_hash(seven, 5) == NIDUS_OK && filter.get_count(7) == 15);
	EXPECT(filter.remove_value_hash(seven, 15) == NIDUS_OK && filter.size() == 0);
	EXPECT(filter.verify() == NIDUS_OK);
}

static void many_are_merged()
{
	std::vector<nidus::filter> parts;
	nidus::filter all, once;
	for (int i = 0; i < 3; i++) {
		parts.push_back(make(100));
		(void)parts.back().insert(i);
		(void)parts.back().insert("in all");
	}
	EXPECT(nidus::filter::merge_many(parts, NIDUS_MERGE_COPIES, all) == NIDUS_OK);
	EXPECT(all.size() == 6 && all.count("in all") == 3 && all.contains(2));
	const nidus::filter *some[] = { &parts[0], &parts[2] };
	EXPECT(nidus::filter::merge_many(some, NIDUS_MERGE_UNIQUE, once) == NIDUS_OK);
	EXPECT(once.size() == 3 && once.contains(2) && !once.contains(1));
	some[1] = nullptr;
	EXPECT(nidus::filter::merge_many(some, NIDUS_MERGE_UNIQUE, once) == NIDUS_E_ARG);
	parts.clear();
	EXPECT(nidus::filter::merge_many(parts, NIDUS_MERGE_COPIES, all) == NIDUS_E_ARG);
	EXPECT(once.size() == 3 && all.size() == 6);
}

static void buffers_are_files_in_memory()
{
	nidus::filter filter = make(100), loaded, opened;
	(void)filter.insert("heron");
	std::vector<unsigned char> buffer(filter.saved_size());
	std::size_t written = 7;
	EXPECT(filter.save_buffer(buffer.data(), 10, written) == NIDUS_E_BUFFER && written == 0);
	EXPECT(filter.save_buffer(buffer.data(), buffer.size(), written) == NIDUS_OK);
	EXPECT(written == buffer.size());
	EXPECT(nidus::filter::load_buffer(buffer.data(), buffer.size(), loaded) == NIDUS_OK);
	EXPECT(nidus::filter::open_buffer(buffer.data(), buffer.size(), opened,
	                                  NIDUS_OPEN_VERIFY) == NIDUS_OK);
	EXPECT(loaded.contains("heron") && opened.contains("heron"));
	EXPECT(loaded.insert("crane") == NIDUS_OK && opened.insert("crane") == NIDUS_E_READONLY);
	EXPECT(nidus::filter::load_buffer(buffer.data(), 20, loaded) == NIDUS_E_TRUNCATED);
	EXPECT(loaded.contains("crane"));
}

#ifdef __cpp_lib_span
static void spans_are_batches()
{
	nidus::filter filter = make(1000);
	std::vector<std::uint64_t> keys = { 7, 8, 9 };
	std::vector<std::uint8_t> yes(3);
	std::size_t done;
	EXPECT(filter.insert(std::span(keys), done) == NIDUS_OK && done == 3);
	EXPECT(filter.contains(std::span<const std::uint64_t>(keys), std::span(yes)) == 3);
	EXPECT(yes[0] == 1 && yes[1] == 1 && yes[2] == 1 && filter.contains(8));
	EXPECT(filter.contains_hashes(std::span(keys), std::span(yes)) == 3 && yes[0] == 0);
}
#endif

int main()
{
	strings_and_integers_are_keys();
	ownership_moves();
	an_empty_wrapper_behaves_as_null();
	failures_leave_the_result_alone();
	files_copies_and_merges();
	values_and_counts();
	batches_of_keys_are_keys();
	every_integer_type_is_the_same_key();
	batches_of_text_are_text();
	batches_tell_new_keys();
	batches_stop_where_they_fail();
	batches_carry_values();
	single_hashes_have_calls_of_their_own();
	many_are_merged();
	buffers_are_files_in_memory();
#ifdef __cpp_lib_span
	spans_are_batches();
#else
	EXPECT(__cplusplus < 202002L);
#endif
}
