/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_HPP
#define NIDUS_HPP

/**
 * @file nidus.hpp
 * nidus for C++17 and later: a filter that frees itself, keys as std::string_view and integers,
 * batches as std::span where there is C++20. It throws nothing and adds nothing to the library:
 * all of it is inline, and nidus.h has the promises.
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
 * A filter without contents (default, moved from, or after a failed create) behaves as NULL does
 * in nidus.h: it contains nothing, and changes answer NIDUS_E_ARG.
 */

#if __cplusplus < 201703L
#error "nidus.hpp needs C++17: compile with -std=c++17 or later, or use nidus.h"
#endif

#include "nidus.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#if defined(__has_include) && __cplusplus >= 202002L
#if __has_include(<span>)
#include <span>
#endif
#endif

namespace nidus
{

class filter
{
public:
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

	[[nodiscard]] nidus_status clone(filter &result) const noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_clone(raw_, &made);
		return result.keep(status, made);
	}

	[[nodiscard]] static nidus_status merge(const filter &a, const filter &b,
	                                        filter &result) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status = nidus_merge(a.raw_, b.raw_, &made);
		return result.keep(status, made);
	}

	[[nodiscard]] nidus_status grow(std::uint64_t capacity) noexcept
	{
		return nidus_grow(raw_, capacity);
	}

	[[nodiscard]] nidus_status shrink(std::uint64_t capacity = 0) noexcept
	{
		return nidus_shrink(raw_, capacity);
	}

	nidus_status clear() noexcept
	{
		return nidus_clear(raw_);
	}

	/* ---- keys: strings, or integers, which are a key space of their own */

	nidus_status insert(std::string_view key) noexcept
	{
		return nidus_insert(raw_, key.data(), key.size());
	}

	nidus_status insert(std::uint64_t key) noexcept
	{
		return nidus_insert_u64(raw_, key);
	}

	nidus_status insert_new(std::string_view key) noexcept
	{
		return nidus_insert_new(raw_, key.data(), key.size());
	}

	nidus_status insert_new(std::uint64_t key) noexcept
	{
		return nidus_insert_new_u64(raw_, key);
	}

	[[nodiscard]] bool contains(std::string_view key) const noexcept
	{
		return nidus_contains(raw_, key.data(), key.size());
	}

	[[nodiscard]] bool contains(std::uint64_t key) const noexcept
	{
		return nidus_contains_u64(raw_, key);
	}

	nidus_status remove(std::string_view key) noexcept
	{
		return nidus_remove(raw_, key.data(), key.size());
	}

	nidus_status remove(std::uint64_t key) noexcept
	{
		return nidus_remove_u64(raw_, key);
	}

	[[nodiscard]] std::uint64_t count(std::string_view key) const noexcept
	{
		return nidus_count_key(raw_, key.data(), key.size());
	}

	[[nodiscard]] std::uint64_t count(std::uint64_t key) const noexcept
	{
		return nidus_count_key_u64(raw_, key);
	}

	/* ---- values beside keys (options.value_bits), and counts */

	nidus_status insert_value(std::string_view key, std::uint64_t value) noexcept
	{
		return nidus_insert_value(raw_, key.data(), key.size(), value);
	}

	nidus_status insert_value(std::uint64_t key, std::uint64_t value) noexcept
	{
		return nidus_insert_value_u64(raw_, key, value);
	}

	nidus_status remove_value(std::string_view key, std::uint64_t value) noexcept
	{
		return nidus_remove_value(raw_, key.data(), key.size(), value);
	}

	nidus_status remove_value(std::uint64_t key, std::uint64_t value) noexcept
	{
		return nidus_remove_value_u64(raw_, key, value);
	}

	/** The values of all entries that look like the key: how many there are, the first `cap` of
	 *  them in `values`. */
	std::size_t find(std::string_view key, std::uint64_t *values, std::size_t cap) const noexcept
	{
		return nidus_find(raw_, key.data(), key.size(), values, cap);
	}

	std::size_t find(std::uint64_t key, std::uint64_t *values, std::size_t cap) const noexcept
	{
		return nidus_find_u64(raw_, key, values, cap);
	}

	nidus_status add_count(std::string_view key, std::uint64_t delta = 1) noexcept
	{
		return nidus_add_count(raw_, key.data(), key.size(), delta);
	}

	nidus_status add_count(std::uint64_t key, std::uint64_t delta = 1) noexcept
	{
		return nidus_add_count_u64(raw_, key, delta);
	}

	[[nodiscard]] std::uint64_t get_count(std::string_view key) const noexcept
	{
		return nidus_get_count(raw_, key.data(), key.size());
	}

	[[nodiscard]] std::uint64_t get_count(std::uint64_t key) const noexcept
	{
		return nidus_get_count_u64(raw_, key);
	}

	/* ---- hashes, and batches of them */

	[[nodiscard]] std::uint64_t hash(std::string_view key) const noexcept
	{
		return nidus_hash(raw_, key.data(), key.size());
	}

	[[nodiscard]] std::uint64_t hash(std::uint64_t key) const noexcept
	{
		return nidus_hash_u64(raw_, key);
	}

	[[nodiscard]] bool contains_hash(std::uint64_t hash) const noexcept
	{
		return nidus_contains_hash(raw_, hash);
	}

	/** Fetches what a call with this hash will look at, without waiting. */
	void prefetch_hash(std::uint64_t hash) const noexcept { nidus_prefetch_hash(raw_, hash); }

	nidus_status insert_hash(std::uint64_t hash) noexcept
	{
		return nidus_insert_hash(raw_, hash);
	}

	nidus_status remove_hash(std::uint64_t hash) noexcept
	{
		return nidus_remove_hash(raw_, hash);
	}

#ifdef __cpp_lib_span
	/* As many as the shorter of the two spans. */
	void hash(std::span<const std::uint64_t> keys,
	          std::span<std::uint64_t> hashes) const noexcept
	{
		nidus_hash_u64_batch(raw_, keys.data(), least(keys.size(), hashes.size()),
		                     hashes.data());
	}

	void contains(std::span<const std::uint64_t> hashes,
	              std::span<std::uint8_t> yes) const noexcept
	{
		nidus_contains_batch(raw_, hashes.data(), least(hashes.size(), yes.size()),
		                     yes.data());
	}

	/* `done` receives how many are in afterwards: all of them if the answer is OK. */
	nidus_status insert(std::span<const std::uint64_t> hashes, std::size_t &done) noexcept
	{
		done = 0;
		return nidus_insert_batch(raw_, hashes.data(), hashes.size(), &done);
	}

	[[nodiscard]] static nidus_status build(const nidus_options &options,
	                                        std::span<const std::uint64_t> keys, filter &result,
	                                        unsigned threads = 1) noexcept
	{
		nidus_filter *made = nullptr;
		nidus_status status =
			nidus_build_u64(&options, keys.data(), keys.size(), threads, &made);
		return result.keep(status, made);
	}
#endif

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
	nidus_status keep(nidus_status status, nidus_filter *made) noexcept
	{
		if (status == NIDUS_OK)
			reset(made);
		return status;
	}

	static std::size_t least(std::size_t a, std::size_t b) noexcept
	{
		return a < b ? a : b;
	}

	nidus_filter *raw_ = nullptr;
};

} // namespace nidus

#endif
