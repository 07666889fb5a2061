// SPDX-License-Identifier: MIT

// Package hashes makes hashes of keys, as docs/format.md has them, and the checksums of files. It needs no C.
package hashes

import (
	"math/bits"
	"unsafe"
)

// Hasher hashes with a seed.
type Hasher struct {
	Seed                  uint64
	before, first, second uint64
	Partner               uint64 // what places of partners are keyed with
}

const golden = 0x9e3779b97f4a7c15

// primes are the factors of 2^128 - 1.
var primes = [...]uint64{3, 5, 17, 257, 641, 65537, 274177, 6700417, 67280421310721}

// New makes the keys of a seed.
func New(seed uint64) Hasher {
	h := Hasher{Seed: seed, before: mix(seed + golden)}
	h.first = from(mix(h.before + golden))
	h.second = from(mix(h.first + golden))
	h.Partner = mix(h.second + golden)
	return h
}

func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

// from is the next number from x on that is odd and has no factor in common with 2^128 - 1.
func from(x uint64) uint64 {
	for x |= 1; !coprime(x); x += 2 {
	}
	return x
}

func coprime(x uint64) bool {
	for _, prime := range primes {
		if x%prime == 0 {
			return false
		}
	}
	return true
}

// Integer is the hash of a 64-bit integer.
func (h *Hasher) Integer(x uint64) uint64 { return fold(fold(x+h.before, h.first), h.second) }

// Bytes is the hash of bytes.
func (h *Hasher) Bytes(data []byte) uint64 { return XXH3(data, h.Seed) }

// Texts makes the hashes of keys, as many as there is room for; those of Long bytes and more come from long, unless it is
// nil.
func Texts[T string | []byte](h *Hasher, keys []T, to []uint64, long func(at unsafe.Pointer, n int) uint64) {
	seed := h.Seed
	for i := range to {
		key := *(*string)(unsafe.Pointer(&keys[i])) // slices of bytes begin as strings do
		at, n := unsafe.Pointer(unsafe.StringData(key)), len(key)
		switch {
		case n > 8 && n <= 16:
			to[i] = upTo16(at, n, seed)
		case n > 16 && n <= 128:
			to[i] = upTo128(at, n, seed)
		case n >= Long && long != nil:
			to[i] = long(at, n)
		default:
			to[i] = XXH3(unsafe.Slice((*byte)(at), n), seed)
		}
	}
}

// Long is the size of keys from which vector instructions are faster by more than a call into C takes.
const Long = 512

// fold is the two halves of a product of 128 bits, one XOR the other.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
