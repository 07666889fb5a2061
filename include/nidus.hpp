/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_HPP
#define NIDUS_HPP

/**
 * @file nidus.hpp
 * nidus for C++17 and later: a filter that frees itself, keys as text and integers, and batches of
 * anything that std::data and std::size take (vectors, arrays, spans). It throws nothing and adds
 * nothing to the library: all of it is inline, and nidus.h has the promises.
 *
 *     nidus::filter seen;
 *     nidus_options options = NIDUS_OPTIONS_INIT;
 *     options.capacity = 1000000;
 *     options.fpr = 0.001;
 *     if (nidus::filter::create(options, seen) != NIDUS_OK)
 *         std::puts(nidus_reason());
 *     seen.insert("heron");
 *     seen.contains("heron");   // true
 *     seen.insert(7);           // integers are keys of their own kind
 *
 * A key is text (what converts to std::string_view), bytes ({data, size}), or an integer of at
 * most 64 bits. An integer is the same key in every type: a negative one is sign-extended to 64
 * bits. bool, characters, floating point, enums, nullptr and __int128 do not compile, as the
 * conversion would lose something or mean something else: convert them yourself.
 *
 * Hashes are not keys. Calls that take hashes, which hash() made, have `hash` in their names.
 *
 * A filter without contents (default, moved from, or after a failed create) behaves as NULL does
 * in nidus.h: it contains nothing, and changes answer NIDUS_E_ARG.
 */

#if __cplusplus < 201703L
#error "nidus.hpp needs C++17: compile with -std=c++17 or later, or use nidus.h"
#endif

#include "nidus.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace nidus
{

/** A key of bytes: text, or {data, size}. Only for parameters: it does not own the bytes. */
class bytes
{
public:
	template <class Text,
	          std::enable_if_t<std::is_convertible_v<const Text &, std::string_view> &&
	                                   !std::is_null_pointer_v<Text>,
	                           int> = 0>
	bytes(const Text &text) noexcept : view_(text)
	{
	}

	bytes(const void *data, std::size_t size) noexcept
	    : view_(static_cast<const char *>(data), size)
	{
	}

	[[nodiscard]] const void *data() const noexcept
	{
		return view_.data();
	}

	[[nodiscard]] std::size_t size() const noexcept
	{
		return view_.size();
	}

private:
	std::string_view view_;
};

namespace detail
{

template <class T, class... Types> constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);

/* is_integral is true of __int128 in GNU dialects, of bool and of characters. */
template <class T>
constexpr bool is_integer = is_one_of<T, signed char, unsigned char, short, unsigned short, int,
                                      unsigned, long, unsigned long, long long, unsigned long long>;

template <class T> using integer = std::enable_if_t<is_integer<T>, int>;

template <class T> constexpr bool is_key = is_integer<T> || std::is_convertible_v<const T &, bytes>;

/** What a batch consists of: the elements behind std::data, without const. */
template <class Batch>
using element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<Batch &>()))>>;

template <class Batch, class = void> constexpr bool is_batch_of_keys = false;
template <class Batch>
constexpr bool is_batch_of_keys<Batch, std::void_t<element<Batch>>> = is_key<element<Batch>>;

template <class Batch> using keys = std::enable_if_t<is_batch_of_keys<Batch>, int>;

/** The type of a batch of numbers that a call reads: hashes, values. */
struct numbers {
	template <class Batch, std::enable_if_t<std::is_same_v<element<Batch>, std::uint64_t>, int> = 0>
	numbers(const Batch &batch) noexcept : data(std::data(batch)), size(std::size(batch))
	{
	}

	const std::uint64_t *data;
	std::size_t size;
};

/** The type of a batch that a call writes to. */
template <class T> struct room {
	template <class Batch,
	          std::enable_if_t<std::is_same_v<decltype(std::data(std::declval<Batch &>())), T *>,
	                           int> = 0>
	room(Batch &&batch) noexcept : data(std::data(batch)), size(std::size(batch))
	{
	}

	T *data;
	std::size_t size;
};

inline std::size_t least(std::size_t a, std::size_t b) noexcept
{
	return a < b ? a : b;
}

} // namespace detail

class filter
{
public:
	/** Spelled out here for declarations of one's own. */
	using numbers = detail::numbers;
	template <class T> using room = detail::room<T>;

	filter() noexcept = default;

	/** Takes over what the C interface made. */
	explicit filter(nidus_filter *raw) noexcept : raw_(raw)
	{
	}

	filter(filter &&other) noexcept : raw_(other.release())
	{
	}

	filter &operator=(filter &&other) noexcept
	{
		if (this != &other)
			reset(other.release());
		return *this;
	}

	filter(const filter &) = delete; /* clone() says what it costs */
	filter &operator=(const filter &) = delete;
	~filter()
	{
		nidus_free(raw_);
	}

	/* ---- life: what answers with a status puts its result into `result` if it is OK, and
	 *      leaves `result` alone otherwise */

	[[nodiscard]] static nidus_status create(const nidus_options &options,
	                                         filter &result) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_create(&options, &made);
		return result.keep(status, made);
	}

	[[nodiscard]] nidus_status clone(filter &result) const noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_clone(raw_, &made);
		return result.keep(status, made);
	}

	[[nodiscard]] nidus_status grow(std::uint64_t capacity) noexcept
	{
		return nidus_grow(raw_, capacity);
	}

	[[nodiscard]] nidus_status grow_relaxed(std::uint64_t capacity) noexcept
	{
		return nidus_grow_relaxed(raw_, capacity);
	}

	[[nodiscard]] nidus_status shrink(std::uint64_t capacity = 0) noexcept
	{
		return nidus_shrink(raw_, capacity);
	}

	/// The smallest table of fixed size for what is in it (nidus_pack).
	[[nodiscard]] nidus_status pack() noexcept
	{
		return nidus_pack(raw_);
	}

	nidus_status clear() noexcept
	{
		return nidus_clear(raw_);
	}

	/* ---- merging: filters with the same options and seed */

	/** Keeps all copies, so that what was put in can be removed. */
	[[nodiscard]] static nidus_status merge(const filter &a, const filter &b,
	                                        filter &result) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_merge(a.raw_, b.raw_, &made);
		return result.keep(status, made);
	}

	/** Merges a batch of filters, or of pointers to filters. After NIDUS_MERGE_UNIQUE, SUM, MAX
	 *  or OR a remove may take the entry of another key: see nidus_merge_how. */
	template <class Filters>
	[[nodiscard]] static nidus_status merge_many(const Filters &filters, nidus_merge_how how,
	                                             filter &result) noexcept
	{
		std::size_t n = std::size(filters);
		std::unique_ptr<const nidus_filter *[]> raw(new (std::nothrow) const nidus_filter *[n]);
		if (!raw)
			return NIDUS_E_NOMEM;
		for (std::size_t i = 0; i < n; i++)
			raw[i] = raw_of(std::data(filters)[i]);
		nidus_filter *made = nullptr;
		nidus_status status = nidus_merge_many(raw.get(), n, how, &made);
		return result.keep(status, made);
	}

	/* ---- files and buffers */

	[[nodiscard]] static nidus_status load(const std::string &path, filter &result) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_load(path.c_str(), &made);
		return result.keep(status, made);
	}

	/** Maps a file for reading; flags: NIDUS_OPEN_VERIFY. */
	[[nodiscard]] static nidus_status open(const std::string &path, filter &result,
	                                       unsigned flags = 0) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_open(path.c_str(), flags, &made);
		return result.keep(status, made);
	}

	[[nodiscard]] nidus_status save(const std::string &path) const noexcept
	{
		return nidus_save(raw_, path.c_str());
	}

	/** How many bytes save_buffer writes. */
	[[nodiscard]] std::size_t saved_size() const noexcept
	{
		return nidus_saved_size(raw_);
	}

	/** Writes what save() would to `buffer`, which has room for `size` bytes. `written`
	 *  receives how many they are; 0 after a failure. */
	[[nodiscard]] nidus_status save_buffer(void *buffer, std::size_t size,
	                                       std::size_t &written) const noexcept
	{
		std::size_t n = 0;
		nidus_status status = nidus_save_buffer(raw_, buffer, size, &n);
		written = status == NIDUS_OK ? n : 0;
		return status;
	}

	[[nodiscard]] static nidus_status load_buffer(const void *buffer, std::size_t size,
	                                              filter &result) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_load_buffer(buffer, size, nullptr, &made);
		return result.keep(status, made);
	}

	/** Uses the bytes where they are, without a copy: they must stay there, unchanged, for as
	 *  long as the filter. flags: NIDUS_OPEN_VERIFY. */
	[[nodiscard]] static nidus_status open_buffer(const void *buffer, std::size_t size,
	                                              filter &result, unsigned flags = 0) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_open_buffer(buffer, size, flags, &made);
		return result.keep(status, made);
	}

	/* ---- one key: text, or an integer, which is a key space of its own */

	nidus_status insert(bytes key) noexcept
	{
		return nidus_insert(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status insert(Integer key) noexcept
	{
		return nidus_insert_u64(raw_, wide(key));
	}

	nidus_status insert_new(bytes key) noexcept
	{
		return nidus_insert_new(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status insert_new(Integer key) noexcept
	{
		return nidus_insert_new_u64(raw_, wide(key));
	}

	[[nodiscard]] bool contains(bytes key) const noexcept
	{
		return nidus_contains(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	[[nodiscard]] bool contains(Integer key) const noexcept
	{
		return nidus_contains_u64(raw_, wide(key));
	}

	/** Only for keys that were put in: another one may take the entry of a key that looks the
	 *  same. */
	nidus_status remove(bytes key) noexcept
	{
		return nidus_remove(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status remove(Integer key) noexcept
	{
		return nidus_remove_u64(raw_, wide(key));
	}

	[[nodiscard]] std::uint64_t count(bytes key) const noexcept
	{
		return nidus_count_key(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	[[nodiscard]] std::uint64_t count(Integer key) const noexcept
	{
		return nidus_count_key_u64(raw_, wide(key));
	}

	[[nodiscard]] std::uint64_t hash(bytes key) const noexcept
	{
		return nidus_hash(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	[[nodiscard]] std::uint64_t hash(Integer key) const noexcept
	{
		return nidus_hash_u64(raw_, wide(key));
	}

	/** Fetches what a call with this key will look at, without waiting. Use the hash that it
	 *  returns with contains_hash and the like, 8 to 32 keys later. */
	template <class Key, std::enable_if_t<detail::is_key<Key>, int> = 0>
	std::uint64_t prefetch(const Key &key) const noexcept
	{
		std::uint64_t hashed = hash(key);
		nidus_prefetch_hash(raw_, hashed);
		return hashed;
	}

	/** The first half of a lookup: fetches what it will look at, without waiting. Give what it returns to
	 *  ask(), some 32 keys later. */
	template <class Key, std::enable_if_t<detail::is_key<Key>, int> = 0>
	nidus_probe prepare(const Key &key) const noexcept
	{
		return prepare_hash(hash(key));
	}

	/** The second half: what contains() answers for the key now. */
	[[nodiscard]] bool ask(const nidus_probe &probe) const noexcept
	{
		return nidus_ask(raw_, &probe);
	}

	/* ---- values beside keys (options.value_bits), and counts */

	nidus_status insert_value(bytes key, std::uint64_t value) noexcept
	{
		return nidus_insert_value(raw_, key.data(), key.size(), value);
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status insert_value(Integer key, std::uint64_t value) noexcept
	{
		return nidus_insert_value_u64(raw_, wide(key), value);
	}

	nidus_status remove_value(bytes key, std::uint64_t value) noexcept
	{
		return nidus_remove_value(raw_, key.data(), key.size(), value);
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status remove_value(Integer key, std::uint64_t value) noexcept
	{
		return nidus_remove_value_u64(raw_, wide(key), value);
	}

	nidus_status replace_value(bytes key, std::uint64_t old, std::uint64_t fresh) noexcept
	{
		return nidus_replace_value(raw_, key.data(), key.size(), old, fresh);
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status replace_value(Integer key, std::uint64_t old, std::uint64_t fresh) noexcept
	{
		return nidus_replace_value_u64(raw_, wide(key), old, fresh);
	}

	/** The values of all entries that look like the key: how many there are, the first `cap` of
	 *  them in `values`. */
	std::size_t find(bytes key, std::uint64_t *values, std::size_t cap) const noexcept
	{
		return nidus_find(raw_, key.data(), key.size(), values, cap);
	}

	template <class Integer, detail::integer<Integer> = 0>
	std::size_t find(Integer key, std::uint64_t *values, std::size_t cap) const noexcept
	{
		return nidus_find_u64(raw_, wide(key), values, cap);
	}

	nidus_status add_count(bytes key, std::uint64_t delta = 1) noexcept
	{
		return nidus_add_count(raw_, key.data(), key.size(), delta);
	}

	template <class Integer, detail::integer<Integer> = 0>
	nidus_status add_count(Integer key, std::uint64_t delta = 1) noexcept
	{
		return nidus_add_count_u64(raw_, wide(key), delta);
	}

	[[nodiscard]] std::uint64_t get_count(bytes key) const noexcept
	{
		return nidus_get_count(raw_, key.data(), key.size());
	}

	template <class Integer, detail::integer<Integer> = 0>
	[[nodiscard]] std::uint64_t get_count(Integer key) const noexcept
	{
		return nidus_get_count_u64(raw_, wide(key));
	}

	/* ---- one hash */

	nidus_status insert_hash(std::uint64_t hash) noexcept
	{
		return nidus_insert_hash(raw_, hash);
	}

	nidus_status insert_new_hash(std::uint64_t hash) noexcept
	{
		return nidus_insert_new_hash(raw_, hash);
	}

	[[nodiscard]] bool contains_hash(std::uint64_t hash) const noexcept
	{
		return nidus_contains_hash(raw_, hash);
	}

	nidus_status remove_hash(std::uint64_t hash) noexcept
	{
		return nidus_remove_hash(raw_, hash);
	}

	[[nodiscard]] std::uint64_t count_hash(std::uint64_t hash) const noexcept
	{
		return nidus_count_key_hash(raw_, hash);
	}

	/** prepare() for a key whose hash is known. */
	nidus_probe prepare_hash(std::uint64_t hash) const noexcept
	{
		nidus_probe probe;
		nidus_prepare_hash(raw_, hash, &probe);
		return probe;
	}

	/** prefetch() for a key whose hash is known. */
	void prefetch_hash(std::uint64_t hash) const noexcept
	{
		nidus_prefetch_hash(raw_, hash);
	}

	nidus_status insert_value_hash(std::uint64_t hash, std::uint64_t value) noexcept
	{
		return nidus_insert_value_hash(raw_, hash, value);
	}

	nidus_status remove_value_hash(std::uint64_t hash, std::uint64_t value) noexcept
	{
		return nidus_remove_value_hash(raw_, hash, value);
	}

	nidus_status replace_value_hash(std::uint64_t hash, std::uint64_t old,
	                                std::uint64_t fresh) noexcept
	{
		return nidus_replace_value_hash(raw_, hash, old, fresh);
	}

	std::size_t find_hash(std::uint64_t hash, std::uint64_t *values,
	                      std::size_t cap) const noexcept
	{
		return nidus_find_hash(raw_, hash, values, cap);
	}

	nidus_status add_count_hash(std::uint64_t hash, std::uint64_t delta = 1) noexcept
	{
		return nidus_add_count_hash(raw_, hash, delta);
	}

	[[nodiscard]] std::uint64_t get_count_hash(std::uint64_t hash) const noexcept
	{
		return nidus_get_count_hash(raw_, hash);
	}

	/* ---- batches of keys: vectors, arrays and spans of integers or of text. Where there are
	 *      two batches, as many elements as the shorter one has; what answers with a number
	 *      tells how many. `done` receives how many keys were dealt with before the first that
	 *      failed: all of them if the status is OK. Keys and values, deltas or answers of a
	 *      change must be equally many: otherwise E_ARG, without a nidus_reason() */

	template <class Keys, detail::keys<Keys> = 0>
	std::size_t hash(const Keys &keys, room<std::uint64_t> hashes) const noexcept
	{
		std::size_t n = detail::least(std::size(keys), hashes.size);
		hash_some(std::data(keys), n, hashes.data);
		return n;
	}

	/** yes[i] becomes 1 or 0. */
	template <class Keys, detail::keys<Keys> = 0>
	std::size_t contains(const Keys &keys, room<std::uint8_t> yes) const noexcept
	{
		std::size_t n = detail::least(std::size(keys), yes.size);
		(void)in_blocks(std::data(keys), n,
		                [&](const std::uint64_t *hashes, std::size_t i, std::size_t some) {
			                nidus_contains_batch(raw_, hashes, some, yes.data + i);
			                return NIDUS_OK;
		                });
		return n;
	}

	template <class Keys, detail::keys<Keys> = 0>
	nidus_status insert(const Keys &keys, std::size_t &done) noexcept
	{
		return change(keys, done,
		              [&](const std::uint64_t *hashes, std::size_t, std::size_t some,
		                  std::size_t *changed) {
			              return nidus_insert_batch(raw_, hashes, some, changed);
		              });
	}

	/** fresh[i] becomes 1 if the key was put in, 0 if the filter said yes for it already. */
	template <class Keys, detail::keys<Keys> = 0>
	nidus_status insert_new(const Keys &keys, room<std::uint8_t> fresh,
	                        std::size_t &done) noexcept
	{
		done = 0;
		if (std::size(keys) != fresh.size)
			return NIDUS_E_ARG;
		return change(keys, done,
		              [&](const std::uint64_t *hashes, std::size_t i, std::size_t some,
		                  std::size_t *changed) {
			              return nidus_insert_new_batch(raw_, hashes, some,
			                                            fresh.data + i, changed);
		              });
	}

	/** Only for keys that were put in, as remove() of one key. */
	template <class Keys, detail::keys<Keys> = 0>
	nidus_status remove(const Keys &keys, std::size_t &done) noexcept
	{
		return change(keys, done,
		              [&](const std::uint64_t *hashes, std::size_t, std::size_t some,
		                  std::size_t *changed) {
			              return nidus_remove_batch(raw_, hashes, some, changed);
		              });
	}

	/** A value for each key. */
	template <class Keys, detail::keys<Keys> = 0>
	nidus_status insert_values(const Keys &keys, numbers values, std::size_t &done) noexcept
	{
		done = 0;
		if (std::size(keys) != values.size)
			return NIDUS_E_ARG;
		return change(keys, done,
		              [&](const std::uint64_t *hashes, std::size_t i, std::size_t some,
		                  std::size_t *changed) {
			              return nidus_insert_value_batch(raw_, hashes, values.data + i,
			                                              some, changed);
		              });
	}

	/** found[i] becomes the number of entries that look like the key, and first[i] the value of
	 *  one of them, 0 if there are none; find() tells the others. */
	template <class Keys, detail::keys<Keys> = 0>
	std::size_t find_first(const Keys &keys, room<std::uint64_t> first,
	                       room<std::uint32_t> found) const noexcept
	{
		std::size_t n = detail::least(std::size(keys), detail::least(first.size, found.size));
		(void)in_blocks(std::data(keys), n,
		                [&](const std::uint64_t *hashes, std::size_t i, std::size_t some) {
			                nidus_find_batch(raw_, hashes, some, first.data + i,
			                                 found.data + i);
			                return NIDUS_OK;
		                });
		return n;
	}

	/** Adds 1 to the count of each key. */
	template <class Keys, detail::keys<Keys> = 0>
	nidus_status add_counts(const Keys &keys, std::size_t &done) noexcept
	{
		return change(keys, done,
		              [&](const std::uint64_t *hashes, std::size_t, std::size_t some,
		                  std::size_t *changed) {
			              return nidus_add_count_batch(raw_, hashes, nullptr, some,
			                                           changed);
		              });
	}

	/** A delta for each key. */
	template <class Keys, detail::keys<Keys> = 0>
	nidus_status add_counts(const Keys &keys, numbers deltas, std::size_t &done) noexcept
	{
		done = 0;
		if (std::size(keys) != deltas.size)
			return NIDUS_E_ARG;
		return change(keys, done,
		              [&](const std::uint64_t *hashes, std::size_t i, std::size_t some,
		                  std::size_t *changed) {
			              return nidus_add_count_batch(raw_, hashes, deltas.data + i, some,
			                                           changed);
		              });
	}

	/* ---- batches of hashes, as above */

	std::size_t contains_hashes(numbers hashes, room<std::uint8_t> yes) const noexcept
	{
		std::size_t n = detail::least(hashes.size, yes.size);
		nidus_contains_batch(raw_, hashes.data, n, yes.data);
		return n;
	}

	nidus_status insert_hashes(numbers hashes, std::size_t &done) noexcept
	{
		done = 0;
		return nidus_insert_batch(raw_, hashes.data, hashes.size, &done);
	}

	nidus_status insert_new_hashes(numbers hashes, room<std::uint8_t> fresh,
	                               std::size_t &done) noexcept
	{
		done = 0;
		if (hashes.size != fresh.size)
			return NIDUS_E_ARG;
		return nidus_insert_new_batch(raw_, hashes.data, hashes.size, fresh.data, &done);
	}

	nidus_status remove_hashes(numbers hashes, std::size_t &done) noexcept
	{
		done = 0;
		return nidus_remove_batch(raw_, hashes.data, hashes.size, &done);
	}

	nidus_status insert_value_hashes(numbers hashes, numbers values, std::size_t &done) noexcept
	{
		done = 0;
		if (hashes.size != values.size)
			return NIDUS_E_ARG;
		return nidus_insert_value_batch(raw_, hashes.data, values.data, hashes.size, &done);
	}

	std::size_t find_first_hashes(numbers hashes, room<std::uint64_t> first,
	                              room<std::uint32_t> found) const noexcept
	{
		std::size_t n = detail::least(hashes.size, detail::least(first.size, found.size));
		nidus_find_batch(raw_, hashes.data, n, first.data, found.data);
		return n;
	}

	/** Adds 1 to the count of each hash. */
	nidus_status add_count_hashes(numbers hashes, std::size_t &done) noexcept
	{
		done = 0;
		return nidus_add_count_batch(raw_, hashes.data, nullptr, hashes.size, &done);
	}

	nidus_status add_count_hashes(numbers hashes, numbers deltas, std::size_t &done) noexcept
	{
		done = 0;
		if (hashes.size != deltas.size)
			return NIDUS_E_ARG;
		return nidus_add_count_batch(raw_, hashes.data, deltas.data, hashes.size, &done);
	}

	/* ---- bulk builds */

	/** A filter of all keys, integers or text. Keys that are not uint64_t take 16 bytes each
	 *  (integers 8) while it works. */
	template <class Keys, detail::keys<Keys> = 0>
	[[nodiscard]] static nidus_status build(const nidus_options &options, const Keys &keys,
	                                        filter &result, unsigned threads = 1) noexcept
	{
		return build_of(options, std::data(keys), std::size(keys), result, threads);
	}

	/** Works in place, as nidus_build_hashes does; options.seed must be that of the hashes. */
	[[nodiscard]] static nidus_status build_hashes(const nidus_options &options,
	                                               room<std::uint64_t> hashes, filter &result,
	                                               unsigned threads = 1) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status =
			nidus_build_hashes(&options, hashes.data, hashes.size, threads, &made);
		return result.keep(status, made);
	}

	/** Works in place in both, as nidus_build_values does. */
	[[nodiscard]] static nidus_status build_values(const nidus_options &options,
	                                               room<std::uint64_t> hashes,
	                                               room<std::uint64_t> values, filter &result,
	                                               unsigned threads = 1) noexcept
	{
		if (hashes.size != values.size)
			return NIDUS_E_ARG;
		nidus_filter *made = nullptr;
		nidus_status status = nidus_build_values(&options, hashes.data, values.data,
		                                         hashes.size, threads, &made);
		return result.keep(status, made);
	}

	/* ---- what it is */

	[[nodiscard]] std::uint64_t size() const noexcept
	{
		return nidus_size(raw_);
	}

	[[nodiscard]] nidus_info info() const noexcept
	{
		nidus_info info = NIDUS_INFO_INIT;
		(void)nidus_get_info(raw_, &info);
		return info;
	}

	/** Whether both hold the same entries: see nidus_same. */
	[[nodiscard]] bool same(const filter &other) const noexcept
	{
		return nidus_same(raw_, other.raw_);
	}

	/** Checks every entry; nidus_reason() says what is wrong. */
	[[nodiscard]] nidus_status verify() const noexcept
	{
		return nidus_verify(raw_, nullptr);
	}

	/** Calls `visit` with each nidus_entry. */
	template <class Visit> void for_each_entry(Visit &&visit) const
	{
		nidus_cursor cursor = {};
		nidus_entry entry = {};
		while (nidus_next(raw_, &cursor, &entry))
			visit(static_cast<const nidus_entry &>(entry));
	}

	/** Whether there is a filter in it. */
	explicit operator bool() const noexcept
	{
		return raw_ != nullptr;
	}

	/** For calls of nidus.h that have no wrapper. */
	[[nodiscard]] nidus_filter *get() const noexcept
	{
		return raw_;
	}

	/** Gives the filter up; nidus_free is the caller's then. */
	[[nodiscard]] nidus_filter *release() noexcept
	{
		return std::exchange(raw_, nullptr);
	}

	void reset(nidus_filter *raw = nullptr) noexcept
	{
		nidus_free(std::exchange(raw_, raw));
	}

private:
	/* Keys that are hashed, then used: few enough for a small stack. */
	static constexpr std::size_t block = 256;

	nidus_status keep(nidus_status status, nidus_filter *made) noexcept
	{
		if (status == NIDUS_OK)
			reset(made);
		return status;
	}

	static const nidus_filter *raw_of(const filter &one) noexcept
	{
		return one.raw_;
	}

	static const nidus_filter *raw_of(const filter *one) noexcept
	{
		return one ? one->raw_ : nullptr;
	}

	/* Sign-extends what is negative. */
	template <class Integer> static std::uint64_t wide(Integer key) noexcept
	{
		return static_cast<std::uint64_t>(key);
	}

	void hash_some(const std::uint64_t *keys, std::size_t n, std::uint64_t *hashes) const noexcept
	{
		nidus_hash_u64_batch(raw_, keys, n, hashes);
	}

	template <class Key>
	void hash_some(const Key *keys, std::size_t n, std::uint64_t *hashes) const noexcept
	{
		for (std::size_t i = 0; i < n; i++)
			hashes[i] = hash(keys[i]);
	}

	/* Calls use(hashes, first, n) for one block of keys after another, while it answers OK. */
	template <class Key, class Use>
	nidus_status in_blocks(const Key *keys, std::size_t n, Use &&use) const noexcept
	{
		std::uint64_t hashes[block];
		nidus_status status;
		std::size_t i = 0, some;
		do { /* no keys are one block of none, so that a wrong filter is told */
			some = detail::least(n - i, block);
			hash_some(keys + i, some, hashes);
			status = use(hashes, i, some);
			i += some;
		} while (i < n && status == NIDUS_OK);
		return status;
	}

	template <class Keys, class Batch>
	nidus_status change(const Keys &keys, std::size_t &done, Batch &&batch) noexcept
	{
		done = 0;
		return in_blocks(std::data(keys), std::size(keys),
		                 [&](const std::uint64_t *hashes, std::size_t i, std::size_t some) {
			                 std::size_t changed = 0;
			                 nidus_status status = batch(hashes, i, some, &changed);
			                 done += changed;
			                 return status;
		                 });
	}

	static nidus_status build_of(const nidus_options &options, const std::uint64_t *keys,
	                             std::size_t n, filter &result, unsigned threads) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_build_u64(&options, keys, n, threads, &made);
		return result.keep(status, made);
	}

	template <class Key>
	static nidus_status build_of(const nidus_options &options, const Key *keys, std::size_t n,
	                             filter &result, unsigned threads) noexcept
	{
		if constexpr (detail::is_integer<Key>) {
			std::unique_ptr<std::uint64_t[]> all(new (std::nothrow) std::uint64_t[n]);
			if (!all)
				return NIDUS_E_NOMEM;
			for (std::size_t i = 0; i < n; i++)
				all[i] = wide(keys[i]);
			return build_of(options, all.get(), n, result, threads);
		} else {
			std::unique_ptr<const void *[]> data(new (std::nothrow) const void *[n]);
			std::unique_ptr<std::size_t[]> sizes(new (std::nothrow) std::size_t[n]);
			if (!data || !sizes)
				return NIDUS_E_NOMEM;
			for (std::size_t i = 0; i < n; i++) {
				bytes key = keys[i];
				data[i] = key.data();
				sizes[i] = key.size();
			}
			nidus_filter *made = nullptr;
			nidus_status status = nidus_build_bytes(&options, data.get(), sizes.get(), n,
			                                        threads, &made);
			return result.keep(status, made);
		}
	}

	nidus_filter *raw_ = nullptr;
};

} // namespace nidus

#endif
