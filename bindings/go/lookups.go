// SPDX-License-Identifier: MIT

package nidus

// #cgo noescape nidus_contains_hash
// #cgo nocallback nidus_contains_hash
// #cgo noescape nidus_count_key_hash
// #cgo nocallback nidus_count_key_hash
// #cgo noescape nidus_get_count_hash
// #cgo nocallback nidus_get_count_hash
// #cgo noescape nidus_find_hash
// #cgo nocallback nidus_find_hash
// #cgo noescape nidus_hash_u64_batch
// #cgo nocallback nidus_hash_u64_batch
// #cgo noescape nidus_size
// #cgo nocallback nidus_size
// #cgo noescape nidus_go_contains_many
// #cgo nocallback nidus_go_contains_many
// #cgo noescape nidus_go_find_many
// #cgo nocallback nidus_go_find_many
// #cgo noescape nidus_go_next
// #cgo nocallback nidus_go_next
// #include "glue.h"
import "C"

import (
	"iter"
	"runtime"
	"unsafe"
)

// lookups is what only reads a filter.
type lookups[K Key] struct {
	core *core
}

func (f *lookups[K]) inner() *core { return f.core }

// Contains tells whether the key is in the filter: true for every key that is, and for others with the filter's rate.
func (f *lookups[K]) Contains(key K) bool {
	f.core.open()
	return f.ContainsHash(f.core.hash(unsafe.Pointer(&key)))
}

// ContainsMany is Contains of each key.
func (f *lookups[K]) ContainsMany(keys []K) []bool {
	yes := make([]bool, len(keys))
	f.ContainsInto(yes, keys)
	return yes
}

// ContainsInto is Contains of each key, in room of the caller's. It panics if there are not as many answers as keys.
func (f *lookups[K]) ContainsInto(yes []bool, keys []K) {
	same(len(yes), len(keys))
	f.core.open()
	f.core.blocks(many(keys), func(kind C.int, some []uint64, first int) error {
		f.core.contains(kind, some, yes[first:])
		return nil
	})
}

func (c *core) contains(kind C.int, keys []uint64, yes []bool) {
	C.nidus_go_contains_many(c.c, kind, numbers(keys), C.size_t(len(keys)), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(yes))))
	runtime.KeepAlive(c)
}

// Count tells how many copies of the key are in the filter; those of keys that look the same count too.
func (f *lookups[K]) Count(key K) uint64 {
	c := f.core.open()
	n := C.nidus_count_key_hash(c, C.uint64_t(f.core.hash(unsafe.Pointer(&key))))
	runtime.KeepAlive(f.core)
	return uint64(n)
}

// Len is the number of entries, copies counted.
func (f *lookups[K]) Len() int {
	n := C.nidus_size(f.core.open())
	runtime.KeepAlive(f.core)
	return int(n)
}

// Hash is the hash of a key, for the calls on hashes of this filter or of others with the same seed.
func (f *lookups[K]) Hash(key K) uint64 {
	f.core.open()
	return f.core.hash(unsafe.Pointer(&key))
}

// HashMany is Hash of each key.
func (f *lookups[K]) HashMany(keys []K) []uint64 {
	f.core.open()
	hashes := make([]uint64, len(keys))
	f.core.blocks(many(keys), func(kind C.int, some []uint64, first int) error {
		f.core.hashMany(kind, some, hashes[first:])
		return nil
	})
	return hashes
}

// ContainsHash is Contains of the key that has this hash.
func (f *lookups[K]) ContainsHash(hash uint64) bool {
	yes := C.nidus_contains_hash(f.core.open(), C.uint64_t(hash))
	runtime.KeepAlive(f.core)
	return bool(yes)
}

// ContainsHashes is ContainsHash of each hash. It panics if there are not as many answers as hashes.
func (f *lookups[K]) ContainsHashes(yes []bool, hashes []uint64) {
	same(len(yes), len(hashes))
	f.core.open()
	f.core.contains(C.NIDUS_GO_HASHES, hashes, yes)
}

// Values has the values of all entries that look like the key; its own are among them.
func (f *lookups[K]) Values(key K) []uint64 {
	c := f.core.open()
	hash := C.uint64_t(f.core.hash(unsafe.Pointer(&key)))
	var few [8]uint64
	room := few[:]
	for {
		n := int(C.nidus_find_hash(c, hash, numbers(room), C.size_t(len(room))))
		runtime.KeepAlive(f.core)
		if n <= len(room) {
			return append([]uint64(nil), room[:n]...)
		}
		room = make([]uint64, n) // others that share it may have added more meanwhile
	}
}

// FindMany tells for each key how many entries look like it, and the value of one of them, 0 if there are none.
func (f *lookups[K]) FindMany(keys []K) (values []uint64, found []uint32) {
	f.core.open()
	values, found = make([]uint64, len(keys)), make([]uint32, len(keys))
	f.core.blocks(many(keys), func(kind C.int, some []uint64, first int) error {
		C.nidus_go_find_many(f.core.c, kind, numbers(some), C.size_t(len(some)), numbers(values[first:]),
			(*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(found[first:]))))
		runtime.KeepAlive(f.core)
		return nil
	})
	return values, found
}

// GetCount is the count of a key: never too low, but for the highest value, which means "or more".
func (f *lookups[K]) GetCount(key K) uint64 {
	c := f.core.open()
	n := C.nidus_get_count_hash(c, C.uint64_t(f.core.hash(unsafe.Pointer(&key))))
	runtime.KeepAlive(f.core)
	return uint64(n)
}

// Entry is all that a filter knows of a key.
type Entry struct {
	Home        uint64 // the first bucket or window
	Fingerprint uint64 // the bits that are kept of the key's hash
	Value       uint64 // 0 in a filter without values
}

// Entries yields all entries, in an order of the library's choosing. Bloom and ribbon filters have none. After a change
// a walk may miss or repeat some.
func (f *lookups[K]) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var cursor C.nidus_cursor
		var room [128]C.nidus_entry
		for {
			n := int(C.nidus_go_next(f.core.open(), &cursor, &room[0], C.size_t(len(room))))
			runtime.KeepAlive(f.core)
			for _, entry := range room[:n] {
				if !yield(Entry{uint64(entry.home), uint64(entry.fingerprint), uint64(entry.value)}) {
					return
				}
			}
			if n < len(room) {
				return
			}
		}
	}
}

// Info is what a filter is and how full it is.
type Info struct {
	Family          Family // never Auto
	Count           uint64 // entries, copies counted
	Capacity        uint64 // keys promised to fit
	MaxCapacity     uint64 // keys it may grow to by itself
	Bytes           uint64 // of the table
	Seed            uint64 // what the hashing is keyed with
	Load            float64
	Headroom        float64 // share of places left in the fullest chunk
	BitsPerKey      float64 // 0 when empty
	FPRTarget       float64 // the rate promised at capacity
	FPRNow          float64 // the rate expected with what is in it now
	Slots           uint    // per bucket or window
	FingerprintBits uint    // stored per key, without those that tell its place
	GrowthBits      uint    // of the fingerprint, reserved for growth
	ValueBits       uint    // of the value beside each key
	TotalSlots      uint64
	Chunks          uint64 // independent subtables
	Stashed         uint64 // entries in overflow lists, copies counted
	Judged          uint64 // of BuildExclude: keys of both lists that the second table tells apart
	Features        Features
	ReadOnly        bool // it is a View
	Concurrent      bool // goroutines may share it
}

// Info tells what the filter is and how full it is.
func (f *lookups[K]) Info() Info {
	info := C.nidus_info{struct_size: C.sizeof_nidus_info}
	C.nidus_get_info(f.core.open(), &info)
	runtime.KeepAlive(f.core)
	return Info{
		Family:          Family(info.family),
		Count:           uint64(info.count),
		Capacity:        uint64(info.capacity),
		MaxCapacity:     uint64(info.max_capacity),
		Bytes:           uint64(info.bytes),
		Seed:            uint64(info.seed),
		Load:            float64(info.load),
		Headroom:        float64(info.headroom),
		BitsPerKey:      float64(info.bits_per_key),
		FPRTarget:       float64(info.fpr_target),
		FPRNow:          float64(info.fpr_now),
		Slots:           uint(info.slots),
		FingerprintBits: uint(info.fingerprint_bits),
		GrowthBits:      uint(info.growth_bits),
		ValueBits:       uint(info.value_bits),
		TotalSlots:      uint64(info.total_slots),
		Chunks:          uint64(info.chunks),
		Stashed:         uint64(info.stashed),
		Judged:          uint64(info.judged),
		Features:        Features(info.features),
		ReadOnly:        bool(info.readonly),
		Concurrent:      bool(info.concurrent),
	}
}

// Verify checks every entry.
func (f *lookups[K]) Verify() error {
	if f.core.closed() {
		return ErrClosed
	}
	answer := C.nidus_go_whole(f.core.c, C.NIDUS_GO_VERIFY, 0)
	runtime.KeepAlive(f.core)
	return failure(answer)
}
