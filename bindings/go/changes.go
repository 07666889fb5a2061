// SPDX-License-Identifier: MIT

package nidus

// #cgo noescape nidus_go_change
// #cgo nocallback nidus_go_change
// #cgo noescape nidus_go_change_many
// #cgo nocallback nidus_go_change_many
// #cgo nocallback nidus_go_insert_entry
// #cgo nocallback nidus_go_whole
// #include "glue.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// changes is what changes a filter, and what reads it.
type changes[K Key] struct {
	lookups[K]
}

// closedAnswer stands for ErrClosed.
var closedAnswer = C.nidus_go_answer{status: -1}

func init() { sentinels[closedAnswer.status] = ErrClosed }

func (c *core) change(what C.int, key unsafe.Pointer, value, fresh uint64) C.nidus_go_answer {
	if c.closed() {
		return closedAnswer
	}
	return c.changeHash(what, c.hash(key), value, fresh)
}

func (c *core) changeHash(what C.int, hash, value, fresh uint64) C.nidus_go_answer {
	if c.closed() {
		return closedAnswer
	}
	answer := C.nidus_go_change(c.c, what, C.uint64_t(hash), C.uint64_t(value), C.uint64_t(fresh))
	runtime.KeepAlive(c)
	return answer
}

// Insert puts one copy of a key in.
func (f *changes[K]) Insert(key K) error {
	return failure(f.core.change(C.NIDUS_GO_INSERT, unsafe.Pointer(&key), 0, 0))
}

// InsertNew puts a key in unless the filter already says yes for it. Then false: the copy may be that of a key that
// looks the same, and you must not remove it.
func (f *changes[K]) InsertNew(key K) (bool, error) {
	return unless(f.core.change(C.NIDUS_GO_INSERT_NEW, unsafe.Pointer(&key), 0, 0), C.NIDUS_PRESENT)
}

// Remove takes one copy of a key out; false if there is none. Only for keys that were inserted: any other key may take
// the entry of one that looks the same.
func (f *changes[K]) Remove(key K) (bool, error) {
	return unless(f.core.change(C.NIDUS_GO_REMOVE, unsafe.Pointer(&key), 0, 0), C.NIDUS_NOT_FOUND)
}

// InsertHash is Insert of the key that has this hash.
func (f *changes[K]) InsertHash(hash uint64) error {
	return failure(f.core.changeHash(C.NIDUS_GO_INSERT, hash, 0, 0))
}

// RemoveHash is Remove of the key that has this hash.
func (f *changes[K]) RemoveHash(hash uint64) (bool, error) {
	return unless(f.core.changeHash(C.NIDUS_GO_REMOVE, hash, 0, 0), C.NIDUS_NOT_FOUND)
}

// InsertValue puts one entry in: a key with a value. Equal pairs are all kept.
func (f *changes[K]) InsertValue(key K, value uint64) error {
	return failure(f.core.change(C.NIDUS_GO_INSERT_VALUE, unsafe.Pointer(&key), value, 0))
}

// RemoveValue takes out one entry of the key that has this value; false if there is none.
func (f *changes[K]) RemoveValue(key K, value uint64) (bool, error) {
	return unless(f.core.change(C.NIDUS_GO_REMOVE_VALUE, unsafe.Pointer(&key), value, 0), C.NIDUS_NOT_FOUND)
}

// ReplaceValue gives one entry of the key that has the value old the value fresh; false if there is none.
func (f *changes[K]) ReplaceValue(key K, old, fresh uint64) (bool, error) {
	return unless(f.core.change(C.NIDUS_GO_REPLACE_VALUE, unsafe.Pointer(&key), old, fresh), C.NIDUS_NOT_FOUND)
}

// AddCount counts: it adds to the value of the key, or puts it in with that value. The highest value means "or more".
func (f *changes[K]) AddCount(key K, delta uint64) error {
	return failure(f.core.change(C.NIDUS_GO_ADD_COUNT, unsafe.Pointer(&key), delta, 0))
}

// changeMany changes one key after another, up to the first that fails, and tells how many.
func (c *core) changeMany(what C.int, keys batch, values []uint64, fresh []bool) (int, error) {
	if c.closed() {
		return 0, ErrClosed
	}
	all := 0
	err := c.blocks(keys, func(kind C.int, some []uint64, first int) error {
		var done C.size_t
		answer := C.nidus_go_change_many(c.c, what, kind, numbers(some), numbers(rest(values, first)), C.size_t(len(some)),
			(*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(rest(fresh, first)))), &done)
		runtime.KeepAlive(c)
		all += int(done)
		return failure(answer)
	})
	return all, err
}

// InsertMany is Insert of each key, up to the first that fails. It tells how many keys were inserted.
func (f *changes[K]) InsertMany(keys []K) (int, error) {
	return f.core.changeMany(C.NIDUS_GO_INSERT, many(keys), nil, nil)
}

// InsertNewMany is InsertNew of each key, up to the first that fails: true where it was inserted. There are as many
// answers as keys, unless there is an error.
func (f *changes[K]) InsertNewMany(keys []K) ([]bool, error) {
	fresh := make([]bool, len(keys))
	n, err := f.core.changeMany(C.NIDUS_GO_INSERT_NEW, many(keys), nil, fresh)
	return fresh[:n], err
}

// RemoveMany is Remove of each key, up to the first that is not there, which is ErrNotFound. It tells how many keys were
// removed.
func (f *changes[K]) RemoveMany(keys []K) (int, error) {
	return f.core.changeMany(C.NIDUS_GO_REMOVE, many(keys), nil, nil)
}

// InsertHashes is InsertHash of each hash, up to the first that fails.
func (f *changes[K]) InsertHashes(hashes []uint64) (int, error) {
	return f.core.changeMany(C.NIDUS_GO_INSERT, manyHashes(hashes), nil, nil)
}

// RemoveHashes is RemoveHash of each hash, up to the first that is not there, which is ErrNotFound.
func (f *changes[K]) RemoveHashes(hashes []uint64) (int, error) {
	return f.core.changeMany(C.NIDUS_GO_REMOVE, manyHashes(hashes), nil, nil)
}

// InsertValues is InsertValue of each key, up to the first that fails. It panics if there are not as many values as keys.
func (f *changes[K]) InsertValues(keys []K, values []uint64) (int, error) {
	same(len(values), len(keys))
	return f.core.changeMany(C.NIDUS_GO_INSERT_VALUE, many(keys), values, nil)
}

// AddCounts adds to the count of each key, up to the first that fails: its delta, or 1 if deltas is nil. It panics if
// there are other than as many deltas as keys.
func (f *changes[K]) AddCounts(keys []K, deltas []uint64) (int, error) {
	if deltas != nil {
		same(len(deltas), len(keys))
	}
	return f.core.changeMany(C.NIDUS_GO_ADD_COUNT, many(keys), deltas, nil)
}

// InsertEntry puts an entry of a walk into a filter of the same options and seed.
func (f *changes[K]) InsertEntry(entry Entry) error {
	if f.core.closed() {
		return ErrClosed
	}
	answer := C.nidus_go_insert_entry(f.core.c, C.uint64_t(entry.Home), C.uint64_t(entry.Fingerprint), C.uint64_t(entry.Value))
	runtime.KeepAlive(f.core)
	return failure(answer)
}

func (f *changes[K]) whole(what C.int, capacity uint64) error {
	if f.core.closed() {
		return ErrClosed
	}
	answer := C.nidus_go_whole(f.core.c, what, C.uint64_t(capacity))
	runtime.KeepAlive(f.core)
	return failure(answer)
}

// Clear takes everything out; size and seed stay.
func (f *changes[K]) Clear() error { return f.whole(C.NIDUS_GO_CLEAR, 0) }

// Grow makes room for so many keys at the same rate, of a filter with MaxCapacity.
func (f *changes[K]) Grow(capacity uint64) error { return f.whole(C.NIDUS_GO_GROW, capacity) }

// GrowRelaxed is Grow that goes on where no reserved bits are left: each doubling then doubles the rate.
func (f *changes[K]) GrowRelaxed(capacity uint64) error {
	return f.whole(C.NIDUS_GO_GROW_RELAXED, capacity)
}

// Shrink gives memory back: room for so many keys stays, or for those in it if that is 0.
func (f *changes[K]) Shrink(capacity uint64) error { return f.whole(C.NIDUS_GO_SHRINK, capacity) }

// Pack makes a finished filter as small as it can be: a table of fixed size for the keys in it. Merge before: a packed
// filter fits only others that were packed to its size.
func (f *changes[K]) Pack() error { return f.whole(C.NIDUS_GO_PACK, 0) }
