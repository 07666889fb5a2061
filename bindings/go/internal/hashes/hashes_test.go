// SPDX-License-Identifier: MIT

package hashes

import (
	"testing"
	"unsafe"
)

// What XXH3_64bits and XXH3_64bits_withSeed say of bytes i*i*31 + i*7 + 3.
var known = []struct {
	n               int
	plain, withSeed uint64
}{
	{0, 0x2d06800538d394c2, 0x602b0e2cd6662c8b},
	{1, 0x13e608bc156defed, 0x1b4c466098160569},
	{2, 0x83e76fedea937056, 0x5eb285f8c4c6d2d5},
	{3, 0xb7391e018153d37a, 0x84c53cf45152ddae},
	{4, 0xfdf480d413c14ab0, 0x80da709d0a016b3f},
	{8, 0xec39ab64bbdd3e16, 0x4205178c69fd9f5b},
	{9, 0xb72b2752390382d5, 0x770922b0b91c0544},
	{16, 0x2866d96771d12b4e, 0x65ff8daef05eda3c},
	{17, 0x385c21b59bf6407d, 0x045c08f52294be87},
	{128, 0xa4b9dca2ee00ce72, 0x0b0547246fe0f775},
	{129, 0xfb9e35f274249234, 0xbb6f79d7514e4129},
	{240, 0x4ed2e5c562eae4c1, 0x11ab810d42d16335},
	{241, 0x6819923e2201397d, 0xed1e9d68839daac0},
	{1024, 0xefbb20e87adc204c, 0x94cd9daf7a8daa30},
	{1025, 0x99244ee55b2fae5d, 0x8f41257c66fdd65c},
	{2000, 0x0dd11555bacd6524, 0xd563cd2c011a59ca},
}

func bytesUpTo(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*i*31 + i*7 + 3)
	}
	return data
}

func TestHashesAreThoseOfXXH3(t *testing.T) {
	for _, want := range known {
		data := bytesUpTo(want.n)
		plain, withSeed := XXH3(data, 0), XXH3(data, golden)
		if plain != want.plain || withSeed != want.withSeed {
			t.Errorf("%d bytes: %#x, with a seed %#x", want.n, plain, withSeed)
		}
	}
}

// With -race this also tells whether a pointer leaves its bytes, which end where the allocation does.
func TestBatchesHashAsSingleKeysDo(t *testing.T) {
	h := New(77)
	var keys [][]byte
	var words []string
	for n := range 600 {
		keys = append(keys, bytesUpTo(n))
		words = append(words, string(keys[n]))
	}
	for _, long := range []func(unsafe.Pointer, int) uint64{nil, func(at unsafe.Pointer, n int) uint64 {
		return h.Bytes(unsafe.Slice((*byte)(at), n))
	}} {
		ofKeys, ofWords := make([]uint64, len(keys)), make([]uint64, len(keys))
		Texts(&h, keys, ofKeys, long)
		Texts(&h, words, ofWords, long)
		for n, key := range keys {
			if want := h.Bytes(key); ofKeys[n] != want || ofWords[n] != want {
				t.Fatal(n, ofKeys[n], ofWords[n], want)
			}
		}
	}
}

func TestKeysOfASeedHaveNoFactorOf2To128Less1(t *testing.T) {
	for seed := range uint64(1000) {
		h := New(seed)
		if h.first%2 == 0 || h.second%2 == 0 || !coprime(h.first) || !coprime(h.second) {
			t.Fatal(seed)
		}
	}
	if from(3) != 7 || from(4) != 7 || from(14) != 19 { // 5, 15 and 17 have one
		t.Fatal(from(3), from(4), from(14))
	}
}

func BenchmarkChecksum(b *testing.B) {
	data := bytesUpTo(1 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		XXH3(data, 0)
	}
}

func BenchmarkKey(b *testing.B) {
	data := bytesUpTo(12)
	for b.Loop() {
		XXH3(data, 7)
	}
}
