// SPDX-License-Identifier: MIT

//go:build nidus_system

// Command bench compares batches with the same calls in C: processor time of one thread, in turns on the same filter,
// so that a busy machine slows both alike. It prints what share of C's speed Go has, the median of all turns.
//
//	go run -tags nidus_system ./bench [KEYS]
package main

/*
#cgo CFLAGS: -O2
#cgo pkg-config: nidus
#include <nidus.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 1024 };

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct texts {
	const void **keys;
	size_t *lens;
} texts;

// Each key in memory of its own. Go asks for the very same bytes.
static texts texts_of(const char *bytes, const size_t *lens, size_t n)
{
	texts all = { malloc(n * sizeof *all.keys), malloc(n * sizeof *all.lens) };
	for (size_t i = 0; i < n; i++) {
		all.keys[i] = memcpy(malloc(lens[i]), bytes, lens[i]);
		all.lens[i] = lens[i];
		bytes += lens[i];
	}
	return all;
}

static const char *text_at(texts all, size_t i)
{
	return all.keys[i];
}

static double contains_integers(const nidus_filter *filter, const uint64_t *keys, size_t n, uint8_t *yes)
{
	uint64_t hashes[BLOCK];
	double start = seconds();
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = n - i < BLOCK ? n - i : BLOCK;
		nidus_hash_u64_batch(filter, keys + i, some, hashes);
		nidus_contains_batch(filter, hashes, some, yes + i);
	}
	return seconds() - start;
}

static double contains_texts(const nidus_filter *filter, texts all, size_t first, size_t n, uint8_t *yes)
{
	uint64_t hashes[BLOCK];
	double start = seconds();
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = n - i < BLOCK ? n - i : BLOCK;
		nidus_hash_batch(filter, all.keys + first + i, all.lens + first + i, some, hashes);
		nidus_contains_batch(filter, hashes, some, yes + i);
	}
	return seconds() - start;
}

static double insert_integers(nidus_filter *filter, const uint64_t *keys, size_t n)
{
	uint64_t hashes[BLOCK];
	double start = seconds();
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = n - i < BLOCK ? n - i : BLOCK;
		nidus_hash_u64_batch(filter, keys + i, some, hashes);
		nidus_insert_batch(filter, hashes, some, NULL);
	}
	return seconds() - start;
}

static double insert_texts(nidus_filter *filter, texts all, size_t first, size_t n)
{
	uint64_t hashes[BLOCK];
	double start = seconds();
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = n - i < BLOCK ? n - i : BLOCK;
		nidus_hash_batch(filter, all.keys + first + i, all.lens + first + i, some, hashes);
		nidus_insert_batch(filter, hashes, some, NULL);
	}
	return seconds() - start;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"nidus.org/nidus"
)

const chunk = 1 << 15

func main() {
	runtime.LockOSThread()
	sizes := []int{20_000, 4_000_000}
	if len(os.Args) > 1 {
		sizes = []int{must(strconv.Atoi(os.Args[1]))}
	}
	fmt.Println("share of C's speed, by processor time")
	for _, n := range sizes {
		for _, family := range []nidus.Family{nidus.Windowed, nidus.Breadcrumb, nidus.BlockedBloom} {
			compare(family, n, "word %d")
			compare(family, n, "%036d")
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// twin is a filter of C that is the same as one of Go.
func twin[K nidus.Key](filter *nidus.Filter[K]) *C.nidus_filter {
	bytes := must(filter.MarshalBinary())
	var c *C.nidus_filter
	if C.nidus_load_buffer(unsafe.Pointer(&bytes[0]), C.size_t(len(bytes)), nil, &c) != C.NIDUS_OK {
		panic("no twin")
	}
	return c
}

func keysOf(n int, form string) (integers []uint64, words []string, texts C.texts) {
	var bytes []byte
	lens := make([]C.size_t, n)
	for i := range n {
		integers = append(integers, uint64(i)*0x9e3779b97f4a7c15)
		word := fmt.Sprintf(form, i)
		bytes = append(bytes, word...)
		lens[i] = C.size_t(len(word))
	}
	texts = C.texts_of((*C.char)(unsafe.Pointer(&bytes[0])), &lens[0], C.size_t(n))
	for i := range n {
		words = append(words, unsafe.String((*byte)(unsafe.Pointer(C.text_at(texts, C.size_t(i)))), lens[i]))
	}
	return integers, words, texts
}

func goSeconds(work func()) float64 {
	start := C.seconds()
	work()
	return float64(C.seconds() - start)
}

// share is the median of how fast Go is beside C, over chunks of n keys, in turns; over all chunks at least 60 times.
func share(n int, inC, inGo func(first, size int) float64) float64 {
	var shares []float64
	for turn := 0; len(shares) < 60; turn++ {
		for first := 0; first < n; first += chunk {
			size := min(chunk, n-first)
			var c, g float64
			if (turn+first/chunk)%2 == 0 {
				c, g = inC(first, size), inGo(first, size)
			} else {
				g, c = inGo(first, size), inC(first, size)
			}
			shares = append(shares, c/g)
		}
	}
	slices.Sort(shares)
	return shares[len(shares)/2]
}

func compare(family nidus.Family, n int, form string) {
	options := nidus.Options{Capacity: uint64(n), FPR: 1.0 / 256, Family: family, Seed: 1}
	integers, words, texts := keysOf(n, form)
	ofIntegers, ofWords := must(nidus.New[uint64](options)), must(nidus.New[string](options))
	cIntegers, cWords := twin(ofIntegers), twin(ofWords)
	yes := make([]bool, chunk)
	cYes := (*C.uint8_t)(unsafe.Pointer(&yes[0]))

	inserts := "inserts not measured"
	if n >= 60*chunk { // each key goes in once
		insert := share(n, func(first, size int) float64 {
			return float64(C.insert_integers(cIntegers, (*C.uint64_t)(&integers[first]), C.size_t(size)))
		}, func(first, size int) float64 {
			return goSeconds(func() { must(ofIntegers.InsertMany(integers[first : first+size])) })
		})
		insertWords := share(n, func(first, size int) float64 {
			return float64(C.insert_texts(cWords, texts, C.size_t(first), C.size_t(size)))
		}, func(first, size int) float64 {
			return goSeconds(func() { must(ofWords.InsertMany(words[first : first+size])) })
		})
		inserts = fmt.Sprintf("insert integers %.3f, texts %.3f", insert, insertWords)
	} else {
		must(ofIntegers.InsertMany(integers))
		must(ofWords.InsertMany(words))
		cIntegers, cWords = twin(ofIntegers), twin(ofWords)
	}
	contains := share(n, func(first, size int) float64 {
		return float64(C.contains_integers(cIntegers, (*C.uint64_t)(&integers[first]), C.size_t(size), cYes))
	}, func(first, size int) float64 {
		return goSeconds(func() { ofIntegers.ContainsInto(yes[:size], integers[first:first+size]) })
	})
	containsWords := share(n, func(first, size int) float64 {
		return float64(C.contains_texts(cWords, texts, C.size_t(first), C.size_t(size), cYes))
	}, func(first, size int) float64 {
		return goSeconds(func() { ofWords.ContainsInto(yes[:size], words[first:first+size]) })
	})
	fmt.Printf("%-14v %8d keys, texts of %2d bytes: contains integers %.3f, texts %.3f; %s\n",
		family, n, len(words[0]), contains, containsWords, inserts)
}
