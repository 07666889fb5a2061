// SPDX-License-Identifier: MIT

package nidus

// #include "glue.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"nidus.org/nidus/internal/hashes"
)

// The library takes 64-bit integers, which are handed over where they are, and hashes. C may not follow pointers of Go,
// so texts are hashed here, a block at a time, and narrow integers are, too.

// blockKeys are the keys of one block: their hashes stay in the first-level cache.
const blockKeys = 1024

// batch is a slice of keys of any kind.
type batch struct {
	keys   unsafe.Pointer
	n      int
	hashes bool // no keys but their hashes
}

func many[K Key](keys []K) batch {
	return batch{keys: unsafe.Pointer(unsafe.SliceData(keys)), n: len(keys)}
}

func manyHashes(hashes []uint64) batch {
	return batch{keys: unsafe.Pointer(unsafe.SliceData(hashes)), n: len(hashes), hashes: true}
}

func sliceOf[T any](b batch) []T { return unsafe.Slice((*T)(b.keys), b.n) }

// rooms are for the hashes of a block.
var rooms = sync.Pool{New: func() any { return new([blockKeys]uint64) }}

// blocks calls each with one block of integers or hashes after another, and the place of its first in the batch. An error
// ends it.
func (c *core) blocks(keys batch, each func(kind C.int, some []uint64, first int) error) error {
	if keys.hashes {
		return each(C.NIDUS_GO_HASHES, sliceOf[uint64](keys), 0)
	}
	if c.kind == hashes.Word {
		return each(C.NIDUS_GO_INTEGERS, sliceOf[uint64](keys), 0)
	}
	room := rooms.Get().(*[blockKeys]uint64)
	defer rooms.Put(room)
	for first := 0; first < keys.n; first += blockKeys {
		some := room[:min(blockKeys, keys.n-first)]
		c.hashBlock(keys, first, some)
		if err := each(C.NIDUS_GO_HASHES, some, first); err != nil {
			return err
		}
	}
	return nil
}

// hashBlock makes the hashes of as many keys as there is room for, from the first of them on.
func (c *core) hashBlock(keys batch, first int, to []uint64) {
	switch c.kind {
	case hashes.Text:
		hashes.Texts(&c.hasher, sliceOf[string](keys)[first:], to, c.long())
	case hashes.Slice:
		hashes.Texts(&c.hasher, sliceOf[[]byte](keys)[first:], to, c.long())
	case hashes.Int16:
		hashIntegers(c, sliceOf[int16](keys)[first:], to)
	case hashes.Int32:
		hashIntegers(c, sliceOf[int32](keys)[first:], to)
	case hashes.Uint16:
		hashIntegers(c, sliceOf[uint16](keys)[first:], to)
	case hashes.Uint32:
		hashIntegers(c, sliceOf[uint32](keys)[first:], to)
	default:
		hashIntegers(c, sliceOf[uint64](keys)[first:], to)
	}
}

func hashIntegers[T int16 | int32 | uint16 | uint32 | uint64](c *core, keys []T, to []uint64) {
	for i, key := range keys[:len(to)] {
		to[i] = c.hasher.Integer(uint64(key)) // extends the sign
	}
}

// hashMany makes hashes of a block.
func (c *core) hashMany(kind C.int, keys, to []uint64) {
	if kind == C.NIDUS_GO_HASHES {
		copy(to, keys)
		return
	}
	C.nidus_hash_u64_batch(c.c, numbers(keys), C.size_t(len(keys)), numbers(to))
	runtime.KeepAlive(c)
}

func numbers(slice []uint64) *C.uint64_t {
	return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(slice)))
}

// rest is a slice from a place on, nil if there is none.
func rest[T any](slice []T, first int) []T {
	if slice == nil {
		return nil
	}
	return slice[first:]
}

func same(others, keys int) {
	if others != keys {
		panic(fmt.Sprintf("nidus: %d keys need as many others, not %d", keys, others))
	}
}
