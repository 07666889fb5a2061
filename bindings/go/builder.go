// SPDX-License-Identifier: MIT

package nidus

// #cgo noescape nidus_go_builder_add
// #cgo nocallback nidus_go_builder_add
// #include "glue.h"
import "C"

import (
	"context"
	"runtime"
	"strings"
	"unsafe"

	"nidus.org/nidus/internal/hashes"
)

// Builder builds a filter of more keys than there is memory for, or of keys that come one after another. It takes keys in
// any number of calls, which goroutines may make at the same time; beyond its memory their hashes go to a temporary file.
// The filter is, byte for byte, the one that Build makes. Its family must be one whose tables consist of parts: Simplified,
// Chunked, Bucketed, Windowed, BlockedBloom or Ribbon.
type Builder[K Key] struct {
	c        *C.nidus_go_builder
	keys     core // hashes, and has no filter
	progress func(share float64)
	cleanup  runtime.Cleanup
}

// NewBuilder makes a builder without keys. It takes so many bytes of memory, 16 MiB at least, and makes temporary files in a
// folder; "" is the one that TMPDIR names, or /var/tmp. They have no names and are gone when the process is.
//
// A capacity of 0 means as many as there are keys. Where a key may come several times, with FeatureMultiset or values, a
// capacity must be given.
func NewBuilder[K Key](o Options, memory uint64, folder string) (*Builder[K], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if strings.Contains(folder, "\x00") {
		return nil, &Error{Kind: ErrArgument, Reason: "a path has no NUL in it"}
	}
	o.drawSeed()
	options := o.c()
	var path *C.char
	if folder != "" {
		path = C.CString(folder)
		defer C.free(unsafe.Pointer(path))
	}
	var c *C.nidus_go_builder
	answer := C.nidus_go_builder_create(&options, C.uint64_t(memory), path, C.uint(o.Threads), &c)
	if err := failure(answer); err != nil {
		return nil, err
	}
	keys := core{kind: hashes.KindOf[K](), hasher: hashes.New(o.Seed)}
	b := &Builder[K]{c: c, keys: keys, progress: o.Progress}
	b.cleanup = runtime.AddCleanup(b, func(c *C.nidus_go_builder) { C.nidus_go_builder_free(c) }, c)
	return b, nil
}

// Close frees the builder and its temporary files. It needs the builder for itself. A second call does nothing.
func (b *Builder[K]) Close() error {
	if b.c != nil {
		b.cleanup.Stop()
		C.nidus_go_builder_free(b.c)
		b.c = nil
	}
	return nil
}

// Add adds a key. AddMany is faster.
func (b *Builder[K]) Add(key K) error {
	_, err := b.AddMany([]K{key})
	return err
}

// AddMany adds keys, up to the first that fails, and tells how many. After an error of the system, such as a full disk, the
// others are still there: make room and go on.
func (b *Builder[K]) AddMany(keys []K) (int, error) { return b.add(many(keys), nil) }

// AddValues adds keys with a value each. It panics if there are not as many values as keys.
func (b *Builder[K]) AddValues(keys []K, values []uint64) (int, error) {
	same(len(values), len(keys))
	if values == nil {
		return 0, nil
	}
	if b.keys.kind == hashes.Word { // those with values go as hashes
		return b.add(manyHashes(b.hashed(keys)), values)
	}
	return b.add(many(keys), values)
}

func (b *Builder[K]) hashed(keys []K) []uint64 {
	to := make([]uint64, len(keys))
	b.keys.hashBlock(many(keys), 0, to)
	return to
}

func (b *Builder[K]) add(keys batch, values []uint64) (int, error) {
	if b.c == nil {
		return 0, ErrClosed
	}
	all := 0
	err := b.keys.blocks(keys, func(kind C.int, some []uint64, first int) error {
		var done C.size_t
		answer := C.nidus_go_builder_add(b.c, kind, numbers(some), numbers(rest(values, first)), C.size_t(len(some)), &done)
		runtime.KeepAlive(b)
		all += int(done)
		return failure(answer)
	})
	return all, err
}

// build watches a build. It needs the builder for itself.
func (b *Builder[K]) build(ctx context.Context, call func() error) error {
	if b.c == nil {
		return ErrClosed
	}
	watch := watchFor(ctx, b.progress, (*uint32)(unsafe.Pointer(&b.c.stop)))
	b.c.watcher = C.uintptr_t(watch.handle)
	err := call()
	runtime.KeepAlive(b)
	return watch.end(err)
}

// Save builds the filter of all keys that were added and writes it to a file, which is at any moment the old one or the new
// one. It takes no more than the builder's memory. The builder keeps its keys, and may take more and build again, unless the
// context ended it: then it can only be closed.
func (b *Builder[K]) Save(ctx context.Context, path string) error {
	return b.build(ctx, func() error {
		return withPath(path, func(path *C.char) error { return failure(C.nidus_go_builder_save(b.c, path)) })
	})
}

// Finish is Save to a filter in memory, whose table takes memory beside the builder's.
func (b *Builder[K]) Finish(ctx context.Context) (filter *Filter[K], err error) {
	err = b.build(ctx, func() error {
		var c *C.nidus_filter
		answer := C.nidus_go_builder_finish(b.c, &c)
		filter, err = filterOf[K](c, answer, b.keys.hasher.Seed)
		return err
	})
	return filter, err
}
