// SPDX-License-Identifier: MIT

package nidus

// #include "glue.h"
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"unsafe"
)

// Family is a design of filter. The choice is one of space and speed; Auto makes it.
type Family uint32

// The families.
const (
	Auto         Family = C.NIDUS_AUTO          // the smallest that will do, or one that is clearly faster and hardly larger
	Cuckoo       Family = C.NIDUS_CUCKOO        // two buckets, sizes are powers of two
	Semisort     Family = C.NIDUS_SEMISORT      // cuckoo with coded buckets: one bit per key less
	Simplified   Family = C.NIDUS_SIMPLIFIED    // cuckoo in small subtables
	Chunked      Family = C.NIDUS_CHUNKED       // chunks of any number, few moves
	Bucketed     Family = C.NIDUS_BUCKETED      // any number of buckets
	Windowed     Family = C.NIDUS_WINDOWED      // overlapping windows
	Breadcrumb   Family = C.NIDUS_BREADCRUMB    // about one cache line per operation
	Bloom        Family = C.NIDUS_BLOOM         // the classic, which cannot remove
	BlockedBloom Family = C.NIDUS_BLOCKED_BLOOM // one cache line per operation; cannot remove
	Ribbon       Family = C.NIDUS_RIBBON        // built at once, never changed, and smaller than all others
)

// String is the family's name, "windowed"; "" for a number that is no family.
func (f Family) String() string {
	return C.GoString(C.nidus_family_name(C.nidus_family(f)))
}

// Features is what the family can do.
func (f Family) Features() Features {
	return Features(C.nidus_family_features(C.nidus_family(f)))
}

// ParseFamily is the family of a name.
func ParseFamily(name string) (Family, error) {
	if strings.Contains(name, "\x00") {
		return Auto, &Error{Kind: ErrArgument, Reason: "a name has no NUL in it"}
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var family C.nidus_family
	err := failure(C.nidus_go_family(c, &family))
	return Family(family), err
}

// Features is a set of what a filter can do, or must be able to.
type Features uint32

// The features.
const (
	FeatureDelete     Features = C.NIDUS_DELETE     // keys can be removed
	FeatureEnumerate  Features = C.NIDUS_ENUMERATE  // entries can be walked
	FeatureMerge      Features = C.NIDUS_MERGE      // filters can be merged
	FeatureGrow       Features = C.NIDUS_GROW       // a filter can grow
	FeatureConcurrent Features = C.NIDUS_CONCURRENT // goroutines can share a filter; NewShared asks for it
	FeatureFast       Features = C.NIDUS_FAST       // to ask for: the quickest family, not the smallest
	FeatureMultiset   Features = C.NIDUS_MULTISET   // to ask for: builds keep copies of equal keys
	FeatureNoDelete   Features = C.NIDUS_NO_DELETE  // to ask for: nothing will be removed, and breadcrumb is smaller
	FeatureCompact    Features = C.NIDUS_COMPACT    // to ask for: sorted, coded buckets, which are smaller and slower
	FeatureStatic     Features = C.NIDUS_STATIC     // to ask for: built once and never changed
)

// Has tells whether all of the others are among them.
func (f Features) Has(others Features) bool { return f&others == others }

// Options says how a filter is to be. What is zero is the library's default, but New needs a capacity.
type Options struct {
	Capacity    uint64   // keys that must fit; a build has room for its keys if it is 0
	FPR         float64  // false-positive rate at the capacity, down to 2^-32 (Bloom, BlockedBloom: 2^-24; Breadcrumb: about 2^-25); 0: 2^-8
	Family      Family   // 0: Auto
	Seed        uint64   // what the hashing is keyed with; 0: a random one. Filters can be merged if they have the same
	MaxCapacity uint64   // lets the filter grow by itself up to so many keys
	Slots       uint     // per bucket or window; 0: the family's best
	Features    Features // what the filter must be able to do
	ValueBits   uint     // of the value beside each key, up to 32

	Threads  int                 // how many may work on a build; 0: one
	Progress func(share float64) // is told what share of a build is done, about once per millisecond, from 0 to 1
}

func (o *Options) c() C.nidus_options {
	return C.nidus_options{
		struct_size:  C.sizeof_nidus_options,
		family:       C.nidus_family(o.Family),
		capacity:     C.uint64_t(o.Capacity),
		fpr:          C.double(o.FPR),
		seed:         C.uint64_t(o.Seed),
		max_capacity: C.uint64_t(o.MaxCapacity),
		slots:        C.uint(o.Slots),
		features:     C.uint32_t(o.Features),
		value_bits:   C.uint(o.ValueBits),
	}
}

// drawSeed draws a seed if there is none.
func (o *Options) drawSeed() {
	for o.Seed == 0 {
		var random [8]byte
		rand.Read(random[:])
		o.Seed = binary.LittleEndian.Uint64(random[:])
	}
}

// check refuses numbers that C could not hold.
func (o *Options) check() error {
	if o.Slots > 1<<31 || o.ValueBits > 1<<31 || o.Threads < 0 {
		return &Error{Kind: ErrRange, Reason: "slots, value bits or threads are out of range"}
	}
	return nil
}

// PlanRow is what one family would take.
type PlanRow struct {
	Family          Family
	Err             error // why there can be no such filter
	Chosen          bool  // New takes this one
	Why             string
	Bytes           uint64 // of the table
	Capacity        uint64
	BitsPerKey      float64 // at the capacity asked for
	FPR             float64 // expected at the capacity asked for
	Load            float64
	LinesPerLookup  float64 // cache lines, expected, of an absent key
	Slots           uint
	FingerprintBits uint
	Features        Features
}

// Plan says for each family what such a filter would take, without making one.
func Plan(o Options) ([]PlanRow, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	options := o.c()
	var n C.size_t
	if err := failure(C.nidus_go_plan(&options, nil, 0, &n)); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	rows := make([]C.nidus_plan_row, n)
	if err := failure(C.nidus_go_plan(&options, &rows[0], n, &n)); err != nil {
		return nil, err
	}
	plan := make([]PlanRow, len(rows))
	for i := range rows {
		plan[i] = planRow(&rows[i])
	}
	return plan, nil
}

func planRow(row *C.nidus_plan_row) PlanRow {
	var err error
	if row.status != C.NIDUS_OK {
		refused := failed(C.nidus_go_answer{status: C.int(row.status)})
		refused.Reason = C.GoString(&row.why_not[0])
		err = refused
	}
	return PlanRow{
		Family:          Family(row.family),
		Err:             err,
		Chosen:          bool(row.chosen),
		Why:             C.GoString(&row.why[0]),
		Bytes:           uint64(row.bytes),
		Capacity:        uint64(row.capacity),
		BitsPerKey:      float64(row.bits_per_key),
		FPR:             float64(row.fpr),
		Load:            float64(row.load),
		LinesPerLookup:  float64(row.lines_per_lookup),
		Slots:           uint(row.slots),
		FingerprintBits: uint(row.fingerprint_bits),
		Features:        Features(row.features),
	}
}
