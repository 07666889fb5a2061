// SPDX-License-Identifier: MIT

package nidus

// #include "glue.h"
import "C"

import (
	"context"
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"

	"nidus.org/nidus/internal/hashes"
)

// Build makes a filter of all these keys; its capacity is their number if the options name none. Equal keys are stored
// once, unless FeatureMultiset is asked for. When the context is done, the build ends within milliseconds, and its error
// is ErrStopped and the context's. The filter depends on the options, the seed and the set of keys alone. With
// FeatureStatic, or the family Ribbon, it is a static one: the smallest of all, and never changed.
func Build[K Key](ctx context.Context, keys []K, o Options) (*Filter[K], error) {
	if wide, ok := wideOf(keys); ok {
		return build[K](ctx, o, C.NIDUS_GO_OF_INTEGERS, wide, nil)
	}
	hashes, err := hashesFor(ctx, &o, keys)
	if err != nil {
		return nil, err
	}
	return build[K](ctx, o, C.NIDUS_GO_OF_HASHES, hashes[0], nil)
}

// BuildValues is Build with a value for each key, of Options.ValueBits. Pairs that are equal in both are stored once,
// unless FeatureMultiset is asked for. A static filter has one value per key, and another one is ErrArgument. It panics
// if there are not as many values as keys.
func BuildValues[K Key](ctx context.Context, keys []K, values []uint64, o Options) (*Filter[K], error) {
	same(len(values), len(keys))
	hashes, err := hashesFor(ctx, &o, keys)
	if err != nil {
		return nil, err
	}
	values = append([]uint64(nil), values...) // the library sorts them
	return build[K](ctx, o, C.NIDUS_GO_OF_VALUES, hashes[0], values)
}

// BuildExclude makes a static filter that is right about two lists: it finds all keys and none of the excluded ones. A
// key of neither is found with a rate of at most Options.FPR; 0 leaves it to the library, which takes what makes the
// filter smallest. A key that is in both lists is ErrArgument.
func BuildExclude[K Key](ctx context.Context, keys, excluded []K, o Options) (*Filter[K], error) {
	hashes, err := hashesFor(ctx, &o, keys, excluded)
	if err != nil {
		return nil, err
	}
	return build[K](ctx, o, C.NIDUS_GO_OF_TWO_LISTS, hashes[0], hashes[1])
}

// BuildHashes is Build from hashes that a filter of the seed Options.Seed made. It works in place: afterwards the hashes
// are in another order, or anything after an error.
func BuildHashes[K Key](ctx context.Context, hashes []uint64, o Options) (*Filter[K], error) {
	return build[K](ctx, o, C.NIDUS_GO_OF_HASHES, hashes, nil)
}

// BuildLike is Build with family, size and seed of another filter, so that both can be merged; what is in that one does
// not matter. There are as many values as keys, or none. Of the options it takes FeatureMultiset, Threads and Progress.
func BuildLike[K Key](ctx context.Context, like Set[K], keys []K, values []uint64, o Options) (*Filter[K], error) {
	if like == nil || like.inner().closed() {
		return nil, ErrClosed
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if values != nil {
		same(len(values), len(keys))
		values = append([]uint64(nil), values...)
	}
	hashes, err := hashAll(ctx, like.inner(), keys, o.Threads)
	if err != nil {
		return nil, err
	}
	watch := watchFor(ctx, o.Progress, new(uint32))
	var c *C.nidus_filter
	answer := C.nidus_go_build_like(like.inner().c, numbers(hashes), numbers(values), C.size_t(len(hashes)),
		C.bool(o.Features.Has(FeatureMultiset)), C.uint(o.Threads), (*C.uint32_t)(watch.stop), C.uintptr_t(watch.handle), &c)
	runtime.KeepAlive(like)
	return built[K](watch, c, answer, like.inner().hasher.Seed)
}

func build[K Key](ctx context.Context, o Options, from C.int, keys, others []uint64) (*Filter[K], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if from == C.NIDUS_GO_OF_INTEGERS {
		o.drawSeed() // those of hashes have one
	}
	options := o.c()
	watch := watchFor(ctx, o.Progress, new(uint32))
	var c *C.nidus_filter
	answer := C.nidus_go_build(&options, from, numbers(keys), C.size_t(len(keys)), numbers(others), C.size_t(len(others)),
		C.uint(o.Threads), (*C.uint32_t)(watch.stop), C.uintptr_t(watch.handle), &c)
	return built[K](watch, c, answer, o.Seed)
}

func built[K Key](watch *watch, c *C.nidus_filter, answer C.nidus_go_answer, seed uint64) (*Filter[K], error) {
	filter, err := filterOf[K](c, answer, seed)
	return filter, watch.end(err)
}

// wideOf gives integers as the library takes them; false if the keys have to be hashed first.
func wideOf[K Key](keys []K) ([]uint64, bool) {
	if hashes.KindOf[K]() != hashes.Word {
		return nil, false
	}
	return sliceOf[uint64](many(keys)), true
}

// hashesFor makes hashes of lists of keys, with the seed of the options, which it draws if there is none.
func hashesFor[K Key](ctx context.Context, o *Options, lists ...[]K) (all [][]uint64, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.drawSeed()
	c := &core{kind: hashes.KindOf[K](), hasher: hashes.New(o.Seed)}
	all = make([][]uint64, len(lists))
	for i, keys := range lists {
		if all[i], err = hashAll(ctx, c, keys, o.Threads); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// hashAll hashes keys, by as many goroutines as there may be threads. The core may have no filter.
func hashAll[K Key](ctx context.Context, c *core, keys []K, threads int) ([]uint64, error) {
	const part = 1 << 14
	hashes := make([]uint64, len(keys))
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			first := int(next.Add(part)) - part
			if first >= len(keys) {
				return
			}
			c.hashBlock(many(keys), first, hashes[first:min(first+part, len(keys))])
		}
	}
	var others sync.WaitGroup
	for i := 1; i < min(threads, 64, len(keys)/part+1); i++ {
		others.Add(1)
		go func() {
			defer others.Done()
			work()
		}()
	}
	work()
	others.Wait()
	if ctx.Err() != nil {
		return nil, &Error{Kind: ErrStopped, Reason: "the build was stopped", Cause: context.Cause(ctx)}
	}
	return hashes, nil
}

// watch is what a build looks at: a flag that the context sets, and a handle of the progress function.
type watch struct {
	ctx      context.Context
	stop     *uint32
	forget   func() bool
	handle   cgo.Handle
	progress func(share float64)
	panicked any
}

func watchFor(ctx context.Context, progress func(float64), stop *uint32) *watch {
	w := &watch{ctx: ctx, stop: stop, progress: progress}
	*stop = 0
	if ctx.Err() != nil {
		*stop = 1
	}
	w.forget = context.AfterFunc(ctx, func() { atomic.StoreUint32(w.stop, 1) })
	if progress != nil {
		w.handle = cgo.NewHandle(w)
	}
	return w
}

// end lets go of the context, and goes on with a panic of the progress function. It gives the error of the build, with the
// context's own in it.
func (w *watch) end(err error) error {
	w.forget()
	if w.handle != 0 {
		w.handle.Delete()
	}
	if w.panicked != nil {
		panic(w.panicked)
	}
	if stopped, ok := err.(*Error); ok && stopped.Kind == ErrStopped {
		stopped.Cause = context.Cause(w.ctx)
	}
	return err
}

// nidusGoProgress tells whoever watches a build. C must not be left by a panic: true ends the build instead.
//
//export nidusGoProgress
func nidusGoProgress(handle C.uintptr_t, share C.double) (stop C.bool) {
	w := cgo.Handle(handle).Value().(*watch)
	defer func() {
		if w.panicked = recover(); w.panicked != nil {
			stop = true
		}
	}()
	w.progress(float64(share))
	return false
}
