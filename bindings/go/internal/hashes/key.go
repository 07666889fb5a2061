// SPDX-License-Identifier: MIT

package hashes

import (
	"reflect"
	"unsafe"
)

// Kind is how a key lies in memory.
type Kind uint8

// The kinds.
const (
	Text  Kind = iota // a string
	Slice             // a slice of bytes, which begins as a string does
	Int16
	Int32
	Uint16
	Uint32
	Word // 64 bits, signed or not
)

// KindOf is the kind of a type of keys.
func KindOf[K any]() Kind {
	var zero K
	narrow := unsafe.Sizeof(zero) == 4
	switch kind := reflect.TypeFor[K]().Kind(); {
	case kind == reflect.String:
		return Text
	case kind == reflect.Slice:
		return Slice
	case kind == reflect.Int16:
		return Int16
	case kind == reflect.Uint16:
		return Uint16
	case narrow && (kind == reflect.Int || kind == reflect.Int32):
		return Int32
	case narrow:
		return Uint32
	}
	return Word
}

// IsBytes tells whether keys are texts or slices, no integers.
func (k Kind) IsBytes() bool { return k <= Slice }

// Key is the hash of the key of this kind that lies there.
func (h *Hasher) Key(kind Kind, key unsafe.Pointer) uint64 {
	switch kind {
	case Text, Slice:
		text := *(*string)(key)
		return XXH3(unsafe.Slice(unsafe.StringData(text), len(text)), h.Seed)
	case Int16:
		return h.Integer(uint64(*(*int16)(key))) // extends the sign
	case Int32:
		return h.Integer(uint64(*(*int32)(key)))
	case Uint16:
		return h.Integer(uint64(*(*uint16)(key)))
	case Uint32:
		return h.Integer(uint64(*(*uint32)(key)))
	}
	return h.Integer(*(*uint64)(key))
}
