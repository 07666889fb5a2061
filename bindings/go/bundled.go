// SPDX-License-Identifier: MIT

//go:build !nidus_system

package nidus

// The library is nidus_bundled.c, which ./dev go makes.

// #cgo CFLAGS: -O2 -DNDEBUG -fvisibility=hidden
// #cgo LDFLAGS: -lpthread -lm
import "C"
