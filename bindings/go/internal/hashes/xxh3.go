// SPDX-License-Identifier: MIT

package hashes

// XXH3, 64 bits, of the algorithm that xxHash 0.8 froze, with the default secret.

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const (
	prime32a = 0x9e3779b1
	prime32b = 0x85ebca77
	prime32c = 0xc2b2ae3d
	prime64a = 0x9e3779b185ebca87
	prime64b = 0xc2b2ae3d27d4eb4f
	prime64c = 0x165667b19e3779f9
	prime64d = 0x85ebca77c2b2ae63
	prime64e = 0x27d4eb2f165667c5
	mixA     = 0x165667919e3779f9
	mixB     = 0x9fb21c651e98df25
)

// secret is the default one as words; keys of up to 16 bytes need no more than these XORs of it.
var secret = [24]uint64{
	0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
	0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
	0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
	0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8,
	0xc3ebd33483acc5ea, 0xeb6313faffa081c5, 0x49daf0b751dd0d17, 0x9e68d429265516d3,
	0xfca1477d58be162b, 0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af,
}

const (
	secretTo3  = 0x87275a9b
	secretTo8  = 0xc73ab174c5ecd5a2
	secretLow  = 0x6782737bea4239b9
	secretHigh = 0xaf56bc3b0996523a
	secretNone = 0x8726f9105dc21ddc
)

const (
	stripe = 64
	block  = 16 // stripes, each with a part of the secret that begins a word later
)

// XXH3 is the hash of bytes, with a seed.
func XXH3(data []byte, seed uint64) uint64 {
	if len(data) > 240 {
		return beyond240(data, seed)
	}
	return upTo(unsafe.Pointer(unsafe.SliceData(data)), len(data), seed)
}

func upTo(at unsafe.Pointer, n int, seed uint64) uint64 {
	switch {
	case n > 128:
		return upTo240(at, n, seed)
	case n > 16:
		return upTo128(at, n, seed)
	case n > 8:
		return upTo16(at, n, seed)
	}
	return upTo8(at, n, seed)
}

func upTo16(at unsafe.Pointer, n int, seed uint64) uint64 {
	low := load64(at) ^ (secretLow + seed)
	high := load64(unsafe.Add(at, n-8)) ^ (secretHigh - seed)
	return finish(uint64(n) + bits.ReverseBytes64(low) + high + fold(low, high))
}

// load64 and load32 read where the length has been checked already.
func load64(at unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(at)[:]) }
func load32(at unsafe.Pointer) uint32 { return binary.LittleEndian.Uint32((*[4]byte)(at)[:]) }

func word(data []byte, at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }

func finish(x uint64) uint64 {
	x = (x ^ x>>37) * mixA
	return x ^ x>>32
}

// finish64 is the end of XXH64.
func finish64(x uint64) uint64 {
	x = (x ^ x>>33) * prime64b
	x = (x ^ x>>29) * prime64c
	return x ^ x>>32
}

func upTo8(at unsafe.Pointer, n int, seed uint64) uint64 {
	if n < 4 {
		return upTo3(unsafe.Slice((*byte)(at), n), seed)
	}
	seed ^= uint64(bits.ReverseBytes32(uint32(seed))) << 32
	x := (uint64(load32(unsafe.Add(at, n-4))) + uint64(load32(at))<<32) ^ (secretTo8 - seed)
	x = (x ^ bits.RotateLeft64(x, 49) ^ bits.RotateLeft64(x, 24)) * mixB
	x = (x ^ (x>>35 + uint64(n))) * mixB
	return x ^ x>>28
}

func upTo3(data []byte, seed uint64) uint64 {
	n := len(data)
	if n == 0 {
		return finish64(seed ^ secretNone)
	}
	x := uint32(data[0])<<16 | uint32(data[n>>1])<<24 | uint32(data[n-1]) | uint32(n)<<8
	return finish64(uint64(x) ^ (secretTo3 + seed))
}

// mixed has 16 bytes of the input, mixed with two words of the secret.
func mixed(at unsafe.Pointer, words *[2]uint64, seed uint64) uint64 {
	high, low := bits.Mul64(load64(at)^(words[0]+seed), load64(unsafe.Add(at, 8))^(words[1]-seed))
	return high ^ low
}

// words gives two words of the secret, from an even one on.
func words(i int) *[2]uint64 { return (*[2]uint64)(secret[2*i:]) }

// upTo128 goes from both ends inwards.
func upTo128(at unsafe.Pointer, n int, seed uint64) uint64 {
	x := uint64(n) * prime64a
	if n > 32 {
		if n > 64 {
			if n > 96 {
				x += mixed(unsafe.Add(at, 48), words(6), seed) + mixed(unsafe.Add(at, n-64), words(7), seed)
			}
			x += mixed(unsafe.Add(at, 32), words(4), seed) + mixed(unsafe.Add(at, n-48), words(5), seed)
		}
		x += mixed(unsafe.Add(at, 16), words(2), seed) + mixed(unsafe.Add(at, n-32), words(3), seed)
	}
	return finish(x + mixed(at, words(0), seed) + mixed(unsafe.Add(at, n-16), words(1), seed))
}

// secretAt is the word of the secret that begins at some byte.
func secretAt(words *[24]uint64, at int) uint64 {
	low := words[at/8]
	if at%8 == 0 {
		return low
	}
	return low>>(at%8*8) | words[at/8+1]<<(64-at%8*8)
}

func upTo240(at unsafe.Pointer, n int, seed uint64) uint64 {
	x := uint64(n) * prime64a
	for i := range 8 {
		x += mixed(unsafe.Add(at, 16*i), words(i), seed)
	}
	x = finish(x)
	for i := 8; i < n/16; i++ {
		x += mixed(unsafe.Add(at, 16*i), &odd[i-8], seed)
	}
	x += mixed(unsafe.Add(at, n-16), &odd[len(odd)-1], seed)
	return finish(x)
}

// odd has words of the secret from these bytes on.
var odd = func() (odd [8][2]uint64) {
	for i, at := range [8]int{3, 19, 35, 51, 67, 83, 99, 119} {
		odd[i] = [2]uint64{secretAt(&secret, at), secretAt(&secret, at+8)}
	}
	return odd
}()

// lanes is what long inputs are gathered in.
type lanes [8]uint64

// add takes a stripe of 8 words in, with the secret's part for it.
func (l *lanes) add(data []byte, key *[8]uint64) {
	_ = data[63]
	for i := 0; i < 8; i += 2 {
		a, b := word(data, 8*i), word(data, 8*i+8)
		mixedA, mixedB := a^key[i], b^key[i+1]
		l[i] += b + uint64(uint32(mixedA))*(mixedA>>32)
		l[i+1] += a + uint64(uint32(mixedB))*(mixedB>>32)
	}
}

// scramble ends a block.
func (l *lanes) scramble(key *[8]uint64) {
	for i, x := range l {
		l[i] = (x ^ x>>47 ^ key[i]) * prime32a
	}
}

func beyond240(data []byte, seed uint64) uint64 {
	n := len(data)
	words := secret
	for i := 0; i < len(words); i += 2 {
		words[i] += seed
		words[i+1] -= seed
	}
	l := lanes{prime32c, prime64a, prime64b, prime64c, prime64d, prime32b, prime64e, prime32a}
	for i := range (n - 1) / stripe {
		l.add(data[stripe*i:], (*[8]uint64)(words[i%block:]))
		if i%block == block-1 {
			l.scramble((*[8]uint64)(words[block:]))
		}
	}
	var last [8]uint64
	for i := range last {
		last[i] = secretAt(&words, 121+8*i)
	}
	l.add(data[n-stripe:], &last)
	x := uint64(n) * prime64a
	for i := 0; i < 8; i += 2 {
		x += fold(l[i]^secretAt(&words, 11+8*i), l[i+1]^secretAt(&words, 19+8*i))
	}
	return finish(x)
}
