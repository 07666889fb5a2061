// SPDX-License-Identifier: MIT

// Package read reads nidus filter files in plain Go, without C. It is written from docs/format.md and shares nothing with
// the library but that page, so that both can be tested against each other, and so that programs without cgo can ask
// filters that others made.
//
// A file is checked whole before it is trusted: header, sizes, checksums and every entry. What comes from untrusted sources is an
// error, or a filter that is sound. Nothing is copied: a filter takes no memory beyond its bytes, and a little for each
// table of one that grows.
package read

import (
	"iter"
	"os"
	"unsafe"

	"nidus.org/nidus/internal/hashes"
)

// Key is what a filter was made of, as in package nidus. A file does not say which.
type Key interface {
	~string | ~[]byte | ~int | ~int16 | ~int32 | ~int64 | ~uint | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Filter is a filter that can be asked. Any number of goroutines may ask it at the same time.
type Filter[K Key] struct {
	header *header
	table  table
	kind   hashes.Kind
	hasher hashes.Hasher
}

// Entry is all that a filter knows of a key.
type Entry struct {
	Home        uint64 // the first bucket or window
	Fingerprint uint64 // the bits that are kept of the key's hash
	Value       uint64 // 0 in a filter without values; the age in one that forgets
}

// table is where a family keeps its entries.
type table interface {
	// check checks all that the header does not tell.
	check() error
	contains(hash uint64) bool
	// find calls with the value and the number of copies of each entry that looks like the key, until it returns false.
	find(hash uint64, each func(value, copies uint64) bool)
	// walk calls with each entry, until it returns false; then walk returns false, too.
	walk(each func(Entry) bool) bool
}

// Parse reads the filter in the bytes of a file, which must not change while it is used.
func Parse[K Key](data []byte) (*Filter[K], error) {
	header, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	hasher := hashes.New(header.seed)
	table, err := header.table(data, &hasher)
	if err != nil {
		return nil, err
	}
	if err := table.check(); err != nil {
		return nil, err
	}
	return &Filter[K]{header, table, hashes.KindOf[K](), hasher}, nil
}

// Load reads a file.
func Load[K Key](path string) (*Filter[K], error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse[K](data)
}

// Hash is the hash of a key, for the calls on hashes.
func (f *Filter[K]) Hash(key K) uint64 { return f.hasher.Key(f.kind, unsafe.Pointer(&key)) }

// Contains tells whether the key is in the filter: true for every key that is, and for others with the filter's rate.
func (f *Filter[K]) Contains(key K) bool { return f.table.contains(f.Hash(key)) }

// ContainsMany is Contains of each key.
func (f *Filter[K]) ContainsMany(keys []K) []bool {
	yes := make([]bool, len(keys))
	for i, key := range keys {
		yes[i] = f.Contains(key)
	}
	return yes
}

// ContainsHash is Contains of the key that has this hash.
func (f *Filter[K]) ContainsHash(hash uint64) bool { return f.table.contains(hash) }

// Count tells how many copies of the key are in the filter; those of keys that look the same count too. Bloom and ribbon
// filters say 0 or 1. A breadcrumb filter that grows may contain a key of which it has no copies.
func (f *Filter[K]) Count(key K) uint64 { return f.CountHash(f.Hash(key)) }

// CountHash is Count of the key that has this hash.
func (f *Filter[K]) CountHash(hash uint64) (n uint64) {
	f.table.find(hash, func(_, copies uint64) bool {
		n += copies
		return true
	})
	return n
}

// Values yields the values of all entries that look like the key, each with a number of copies that have it; the key's own
// are among them. A value may come more than once. Entries of a filter without values have the value 0.
func (f *Filter[K]) Values(key K) iter.Seq2[uint64, uint64] {
	return func(yield func(value, copies uint64) bool) { f.table.find(f.Hash(key), yield) }
}

// Age tells how many slices ago the key was put in or refreshed, and whether it is there; of a filter that does not forget,
// none is.
func (f *Filter[K]) Age(key K) (age int, found bool) { return f.AgeHash(f.Hash(key)) }

// AgeHash is Age of the key that has this hash.
func (f *Filter[K]) AgeHash(hash uint64) (age int, found bool) {
	if r, ok := f.table.(*recent); ok {
		return r.age(hash)
	}
	return 0, false
}

// SliceCounts are the numbers of keys of the age 0, 1 and so on; none of a filter that does not forget.
func (f *Filter[K]) SliceCounts() []uint64 {
	if r, ok := f.table.(*recent); ok {
		return r.counts()
	}
	return nil
}

// valueBits are those of values, which stamps are not.
func (f *Filter[K]) valueBits() uint {
	if f.header.slices > 0 {
		return 0
	}
	return f.header.valueBits
}

// count is the number of entries that are there.
func (f *Filter[K]) count() uint64 {
	if r, ok := f.table.(*recent); ok {
		return r.live()
	}
	return f.header.count
}

// mostCounted is how many entries of a key may make up a count.
const mostCounted = 256

// GetCount is the count of a key: the sum of its values, at most the highest value, which means "or more".
func (f *Filter[K]) GetCount(key K) uint64 {
	most := uint64(1)<<f.valueBits() - 1
	sum, entries := uint64(0), uint64(0)
	f.table.find(f.Hash(key), func(value, copies uint64) bool {
		entries += copies
		if entries > mostCounted {
			sum = most
			return false
		}
		sum = min(sum+value*copies, most)
		return true
	})
	return sum
}

// Entries yields all entries, each as often as it has copies. Bloom and ribbon filters have none.
func (f *Filter[K]) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) { f.table.walk(yield) }
}

// Len is the number of entries, copies counted.
func (f *Filter[K]) Len() int { return int(f.count()) }

// Info tells what the file says of the filter.
func (f *Filter[K]) Info() Info {
	h := f.header
	return Info{
		Family:      h.family.String(),
		Count:       f.count(),
		Capacity:    h.capacity,
		MaxCapacity: h.maxCapacity,
		Seed:        h.seed,
		FPRTarget:   h.fpr,
		Slots:       uint(h.slots),
		ValueBits:   f.valueBits(),
		Slices:      uint(h.slices),
		Chunks:      h.chunks,
		Features:    h.features,
	}
}

// Info is what a file says of a filter.
type Info struct {
	Family      string
	Count       uint64 // entries, copies counted
	Capacity    uint64 // keys promised to fit
	MaxCapacity uint64 // keys it may grow to
	Seed        uint64 // what the hashing is keyed with
	FPRTarget   float64
	Slots       uint // per bucket or window
	ValueBits   uint // of the value beside each key
	Slices      uint // after which a key is forgotten; 0: never
	Chunks      uint64
	Features    uint32 // those that its maker asked for
}
