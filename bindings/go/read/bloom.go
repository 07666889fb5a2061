// SPDX-License-Identifier: MIT

package read

import "math/bits"

// checkBloom checks the fields of both Bloom families. `k` stands in core.
func (h *header) checkBloom() error {
	none := h.slots == 0 && h.growth == 0 && h.reserve == 0 && h.maxSteps == 0 && h.stashLimit == 0 &&
		h.stashed == 0 && h.valueBits == 0
	return first(
		must(none, "a Bloom filter has something that it cannot have"),
		must(h.chunks == 1 && h.maxCapacity == h.capacity, "chunks %d, capacity %d, max capacity %d", h.chunks, h.capacity,
			h.maxCapacity),
		must(h.groups <= 1<<48, "the table has %d parts", h.groups),
		must(h.count <= 1<<60, "there were %d inserts", h.count))
}

// checkOnes checks whether so many inserts can set so many bits.
func (h *header) checkOnes(table []byte) error {
	ones := uint64(0)
	for i := 0; i < len(table); i += 8 {
		ones += uint64(bits.OnesCount64(le64(table, i)))
	}
	if (ones == 0) != (h.count == 0) || ones > uint64(h.core)*h.count {
		return wrong(ErrCorrupt, "%d inserts cannot set %d bits", h.count, ones)
	}
	return nil
}

// once is how a family without entries finds a key.
func once(found bool, each func(value, copies uint64) bool) {
	if found {
		each(0, 1)
	}
}

// bits64 is the table of bloom: an odd number of words of 64 bits.
type bits64 struct {
	*header
	data []byte
}

func (b *bits64) fits() (uint64, error) {
	err := first(b.checkBloom(),
		must(b.groups%2 == 1 && b.groups >= 3, "there are %d words", b.groups),
		must(b.core >= 1 && b.core <= 32, "a key sets %d bits", b.core))
	return 8 * b.groups, err
}

func (b *bits64) use(table, _ []byte) { b.data = table }

func (b *bits64) check() error { return b.checkOnes(b.data) }

func (b *bits64) contains(hash uint64) bool {
	for range b.core {
		word, rest := bits.Mul64(hash, b.groups)
		if le64(b.data, int(8*word))>>(rest>>58)&1 == 0 {
			return false
		}
		hash = bits.RotateLeft64(rest, 6)
	}
	return true
}

func (b *bits64) find(hash uint64, each func(value, copies uint64) bool) {
	once(b.contains(hash), each)
}
func (b *bits64) walk(func(Entry) bool) bool { return true }

// blocks is the table of blocked-bloom: an odd number of blocks of 64 bytes, with a bit for each key in each of k sectors.
type blocks struct {
	*header
	data []byte
}

var factors = [16]uint32{
	0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5, 0xb55a4f09,
	0x5851f42d, 0x4c957f2d, 0x14057b7f, 0xda3e39cb, 0x94d049bb, 0xbf58476d, 0x6c078965, 0x7feb352d,
}

func (b *blocks) fits() (uint64, error) {
	err := first(b.checkBloom(),
		must(b.groups%2 == 1, "there are %d blocks", b.groups),
		must(b.core == 4 || b.core == 8 || b.core == 16, "a key sets %d bits", b.core))
	return 64 * b.groups, err
}

func (b *blocks) use(table, _ []byte) { b.data = table }

// at is the place of a bit of a sector in its block.
func (b *blocks) at(sector uint, t uint64) uint64 {
	if b.core != 4 {
		return uint64(512/b.core*sector) + t
	}
	if t >= 64 { // sectors of 128 bits are in two parts
		t += 192
	}
	return uint64(64*sector) + t
}

func (b *blocks) contains(hash uint64) bool {
	block, rest := bits.Mul64(hash, b.groups)
	low, high := uint32(rest), uint32(rest>>32)
	for i := range b.core {
		t := uint64(low*factors[i]+high) * uint64(512/b.core) >> 32
		at := b.at(i, t)
		if b.data[64*block+at/8]>>(at%8)&1 == 0 {
			return false
		}
	}
	return true
}

func (b *blocks) find(hash uint64, each func(value, copies uint64) bool) {
	once(b.contains(hash), each)
}
func (b *blocks) walk(func(Entry) bool) bool { return true }

func (b *blocks) check() error {
	for block := range b.groups {
		if data := b.data[64*block : 64*block+64]; !isZero(data) && !b.inEachSector(data) {
			return wrong(ErrCorrupt, "block %d has a sector without a bit", block)
		}
	}
	return b.checkOnes(b.data)
}

func (b *blocks) inEachSector(data []byte) bool {
	for sector := range b.core {
		found := false
		for t := uint64(0); t < uint64(512/b.core); t += 8 { // sectors consist of whole bytes
			found = found || data[b.at(sector, t)/8] != 0
		}
		if !found {
			return false
		}
	}
	return true
}
