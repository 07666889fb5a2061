/* SPDX-License-Identifier: MIT */
/*
 * What is a key to nidus.hpp, and what does not compile. Every parameter of a probe is of a deduced
 * type, so that an expression that is wrong makes the probe uncallable instead of ending the compiler;
 * the expressions that must compile show that the probes can tell.
 */
#include <nidus.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

enum color { red };
enum class shape { round };
using int128 = __int128;

#define JUDGE(verdict, ...)                                                                        \
	do {                                                                                       \
		auto probe = [](auto &f, auto &yes, auto &done) -> decltype(void(yes), void(done), \
		                                                            void(__VA_ARGS__)) {}; \
		static_assert(std::is_invocable_v<decltype(probe), nidus::filter &,                \
		                                  std::vector<std::uint8_t> &, std::size_t &> ==   \
		                      verdict,                                                     \
		              #__VA_ARGS__);                                                       \
	} while (0)
#define COMPILES(...) JUDGE(true, __VA_ARGS__)
#define REFUSED(...) JUDGE(false, __VA_ARGS__)

int main()
{
	COMPILES(f.insert(7));
	COMPILES(f.insert(7u) + f.insert(7L) + f.insert(7ULL) + f.insert(short(7)) +
	         f.insert(std::int8_t(-7)));
	COMPILES(f.insert("heron") + f.insert(std::string("heron")) +
	         f.insert(std::string_view("heron")));
	COMPILES(f.contains({ "heron", 5 }));
	COMPILES(f.contains(std::vector<int>(), yes));
	COMPILES(f.contains(std::vector<const char *>(), yes));
	REFUSED(f.insert(1.5));
	REFUSED(f.insert(1.5f));
	REFUSED(f.insert(true));
	REFUSED(f.insert(nullptr));
	REFUSED(f.insert('a'));
	REFUSED(f.insert(u'a'));
	REFUSED(f.insert(int128(7)));
	REFUSED(f.insert(static_cast<unsigned __int128>(7)));
	REFUSED(f.insert(red));
	REFUSED(f.insert(shape::round));
	REFUSED(f.insert(&f));
	REFUSED(f.insert(std::vector<int>()));
	REFUSED(f.insert_new(1.5));
	REFUSED(f.insert_new(nullptr));
	REFUSED(f.contains(1.5));
	REFUSED(f.contains(true));
	REFUSED(f.contains(nullptr));
	REFUSED(f.contains(int128(7)));
	REFUSED(f.remove(1.5));
	REFUSED(f.remove(nullptr));
	REFUSED(f.count(1.5));
	REFUSED(f.count(nullptr));
	REFUSED(f.hash(1.5));
	REFUSED(f.hash(nullptr));
	REFUSED(f.hash(true));
	REFUSED(f.prefetch(1.5));
	REFUSED(f.prefetch(nullptr));
	REFUSED(f.insert_value(1.5, 1));
	REFUSED(f.insert_value(nullptr, 1));
	REFUSED(f.remove_value(true, 1));
	REFUSED(f.replace_value(1.5, 1, 2));
	REFUSED(f.find(nullptr, nullptr, 0));
	REFUSED(f.add_count(1.5));
	REFUSED(f.add_count(nullptr));
	REFUSED(f.get_count(1.5));
	REFUSED(f.get_count(nullptr));
	REFUSED(f.contains(std::vector<double>(), yes));
	REFUSED(f.contains(std::vector<bool>(), yes));
	REFUSED(f.contains(std::vector<std::nullptr_t>(), yes));
	REFUSED(f.contains(std::vector<int128>(), yes));
	REFUSED(f.contains(std::string("heron"), yes));
	REFUSED(f.insert(std::vector<float>(), done));
	REFUSED(f.insert("heron", done));
	REFUSED(f.contains_hashes(std::vector<int>(), yes));
	REFUSED(f.contains_hashes(std::vector<std::uint64_t>(), std::vector<double>()));
	REFUSED(f.insert_hashes("heron", done));
	COMPILES(std::decay_t<decltype(f)>::build(NIDUS_OPTIONS_INIT, std::vector<int>(), f));
	REFUSED(std::decay_t<decltype(f)>::build(NIDUS_OPTIONS_INIT, std::vector<double>(), f));
	REFUSED(std::decay_t<decltype(f)>(f));
}
