// SPDX-License-Identifier: MIT

package nidus

// #cgo noescape nidus_hash
// #cgo nocallback nidus_hash
// #include "glue.h"
import "C"

import (
	"runtime"
	"unsafe"

	"nidus.org/nidus/internal/hashes"
)

// Key is what can be put into a filter. There are no integers of 8 bits among them, so that the bytes of one key are
// never mistaken for many keys.
type Key interface {
	~string | ~[]byte | ~int | ~int16 | ~int32 | ~int64 | ~uint | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// hash makes the hash of the key that lies there.
func (c *core) hash(key unsafe.Pointer) uint64 {
	if c.kind.IsBytes() {
		if text := *(*string)(key); len(text) >= hashes.Long {
			return c.hashLong(unsafe.Pointer(unsafe.StringData(text)), len(text))
		}
	}
	return c.hasher.Key(c.kind, key)
}

func (c *core) hashLong(at unsafe.Pointer, n int) uint64 {
	hash := C.nidus_hash(c.c, at, C.size_t(n))
	runtime.KeepAlive(c)
	return uint64(hash)
}

// long is what hashes long keys; nil if there is no filter.
func (c *core) long() func(unsafe.Pointer, int) uint64 {
	if c.c == nil {
		return nil
	}
	return c.hashLong
}
