// SPDX-License-Identifier: MIT

package nidus

// #include "glue.h"
import "C"

import (
	"fmt"
	"runtime"

	"nidus.org/nidus/internal/hashes"
)

// core is a filter of the library, and what frees it.
type core struct {
	c       *C.nidus_filter
	kind    hashes.Kind
	hasher  hashes.Hasher
	pinned  *runtime.Pinner // bytes that a view reads
	cleanup runtime.Cleanup
}

// resources is what a core leaves behind.
type resources struct {
	c      *C.nidus_filter
	pinned *runtime.Pinner
}

func (r resources) free() {
	C.nidus_free(r.c)
	if r.pinned != nil {
		r.pinned.Unpin()
	}
}

// newCore takes a filter over whose seed is known, or 0.
func newCore[K Key](c *C.nidus_filter, seed uint64, pinned *runtime.Pinner) *core {
	if seed == 0 {
		info := C.nidus_info{struct_size: C.sizeof_nidus_info}
		C.nidus_get_info(c, &info) // which reads all of a Bloom filter
		seed = uint64(info.seed)
	}
	made := &core{c: c, kind: hashes.KindOf[K](), hasher: hashes.New(seed), pinned: pinned}
	made.cleanup = runtime.AddCleanup(made, resources.free, resources{c, pinned})
	return made
}

func (c *core) close() {
	if c == nil || c.c == nil {
		return
	}
	c.cleanup.Stop()
	resources{c.c, c.pinned}.free()
	c.c, c.pinned = nil, nil
}

// open gives the filter, for calls that return no error. KeepAlive of the core has to follow its use.
func (c *core) open() *C.nidus_filter {
	if c == nil || c.c == nil {
		panic(ErrClosed)
	}
	return c.c
}

func (c *core) closed() bool { return c == nil || c.c == nil }

// Filter is a set that forgets its keys and keeps a few bits of each. Any number of goroutines may read it at the same
// time; a change needs it for itself. The zero Filter is closed; UnmarshalBinary gives it contents.
type Filter[K Key] struct {
	changes[K]
}

// SharedFilter is a filter that goroutines share: any mix of calls, but for Close, may run at the same time. Each insert,
// remove and lookup takes effect at one moment between its start and its end. Calls that concern the whole filter, as
// saves and growth, make changes wait.
type SharedFilter[K Key] struct {
	changes[K]
}

// View is a filter in a mapped file, or in bytes that lie somewhere, used without a copy. It can only be read; Clone
// gives a Filter that can be changed.
type View[K Key] struct {
	lookups[K]
}

// Set is what Filter, SharedFilter and View have in common; no other type implements it.
type Set[K Key] interface {
	Contains(key K) bool
	ContainsMany(keys []K) []bool
	Len() int
	inner() *core
}

func filterOf[K Key](c *C.nidus_filter, answer C.nidus_go_answer, seed uint64) (*Filter[K], error) {
	if err := failure(answer); err != nil {
		return nil, err
	}
	return &Filter[K]{changes[K]{lookups[K]{newCore[K](c, seed, nil)}}}, nil
}

// New makes an empty filter.
func New[K Key](o Options) (*Filter[K], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.drawSeed()
	options := o.c()
	var c *C.nidus_filter
	answer := C.nidus_go_create(&options, &c)
	return filterOf[K](c, answer, o.Seed)
}

// NewShared makes an empty filter that goroutines share.
func NewShared[K Key](o Options) (*SharedFilter[K], error) {
	o.Features |= FeatureConcurrent
	filter, err := New[K](o)
	if err != nil {
		return nil, err
	}
	return Share(filter)
}

// Share makes a filter that was built or loaded with FeatureConcurrent one that goroutines share. It takes the filter
// over, which is closed then; after an error it is as it was.
func Share[K Key](filter *Filter[K]) (*SharedFilter[K], error) {
	if filter.core.closed() {
		return nil, ErrClosed
	}
	if !filter.Info().Concurrent {
		return nil, &Error{Kind: ErrUnsupported, Reason: "the filter was not made to be shared: ask for FeatureConcurrent"}
	}
	shared := &SharedFilter[K]{filter.changes}
	filter.core = nil
	return shared, nil
}

// Close frees the filter. It needs the filter for itself. A second call does nothing.
func (f *lookups[K]) Close() error {
	f.core.close()
	return nil
}

// Clone is an independent copy. That of a View lies in memory and can be changed.
func (f *lookups[K]) Clone() (*Filter[K], error) {
	if f.core.closed() {
		return nil, ErrClosed
	}
	var c *C.nidus_filter
	answer := C.nidus_go_clone(f.core.c, &c)
	runtime.KeepAlive(f.core)
	return filterOf[K](c, answer, f.core.hasher.Seed)
}

// MergeHow says what becomes of equal entries in a merge. All but MergeCopies give a filter that refuses removes: keys
// that look the same share an entry there.
type MergeHow uint32

// The ways to merge.
const (
	MergeCopies MergeHow = C.NIDUS_MERGE_COPIES // all are kept, so that what was inserted can be removed
	MergeUnion  MergeHow = C.NIDUS_MERGE_UNIQUE // they are kept once; with values, once for each value
	MergeSum    MergeHow = C.NIDUS_MERGE_SUM    // one is kept, whose value is the sum of theirs: for counts
	MergeMax    MergeHow = C.NIDUS_MERGE_MAX    // one is kept, with the highest value
	MergeOr     MergeHow = C.NIDUS_MERGE_OR     // one is kept, whose value has all bits of theirs
)

// Merge makes a filter with the entries of all, which were made with the same options and the same seed; how far each
// has grown does not matter.
func Merge[K Key](how MergeHow, filters ...Set[K]) (*Filter[K], error) {
	if len(filters) == 0 {
		return nil, &Error{Kind: ErrArgument, Reason: "a merge needs a filter"}
	}
	all := make([]*C.nidus_filter, len(filters))
	for i, filter := range filters {
		if filter == nil || filter.inner().closed() {
			return nil, ErrClosed
		}
		all[i] = filter.inner().c
	}
	var c *C.nidus_filter
	answer := C.nidus_go_merge(&all[0], C.size_t(len(all)), C.nidus_merge_how(how), &c)
	runtime.KeepAlive(filters)
	return filterOf[K](c, answer, filters[0].inner().hasher.Seed)
}

// Same tells whether two filters hold the same entries, copies and values included. Filters of different seeds or sizes
// are never the same unless both are empty.
func Same[K Key](a, b Set[K]) bool {
	same := bool(C.nidus_same(a.inner().open(), b.inner().open()))
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return same
}

// String describes the filter in a few words.
func (f *lookups[K]) String() string {
	if f.core.closed() {
		return "nidus filter (closed)"
	}
	info := f.Info()
	return fmt.Sprintf("nidus filter (%v, %d of %d keys, fpr %.3g)", info.Family, info.Count, info.Capacity, info.FPRTarget)
}

// Version is that of the C library, "major.minor.patch".
func Version() string { return C.GoString(C.nidus_version()) }
