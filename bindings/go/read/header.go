// SPDX-License-Identifier: MIT

package read

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"nidus.org/nidus/internal/hashes"
)

type family uint32

const (
	cuckoo family = iota + 1
	semisort
	simplified
	chunked
	bucketed
	windowed
	breadcrumb
	bloom
	blockedBloom
	ribbon
)

var familyNames = [...]string{"", "cuckoo", "semisort", "simplified", "chunked", "bucketed", "windowed", "breadcrumb",
	"bloom", "blocked-bloom", "ribbon"}

func (f family) String() string { return familyNames[f] }

const (
	magic       = "\x89nidus\r\n"
	version     = 1
	headerSize  = 256
	pagedSize   = 1 << 18 // of a table from which on it starts at a page
	listedSize  = 24      // an entry of a stash or a list
	featDelete  = 1 << 0
	featNone    = 1 << 7
	featCompact = 1 << 8
	featStatic  = 1 << 9
)

// header is the first 256 bytes of an image. Names are those of docs/format.md.
type header struct {
	family      family
	features    uint32
	seed        uint64
	capacity    uint64
	maxCapacity uint64
	fpr         float64
	slots       uint64 // l
	core        uint   // c
	growth      uint   // g
	shares      uint   // of generations
	stride      uint
	chunks      uint64 // C
	groups      uint64 // G
	reserve     uint64
	maxSteps    uint64
	stashLimit  uint64
	count       uint64
	stashed     uint64
	sections    [2]section
	valueBits   uint // u
	segmented   bool
	generations bool // without a size; not segmented then
	judged      uint64
	tick        uint64 // of a filter that forgets
	slices      uint64 // L; 0: it does not

	tag uint // bits of a tag, in a body of a filter that grows
}

type section struct {
	offset, size, checksum uint64
}

func le32(data []byte, at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
func le64(data []byte, at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }

// parseHeader reads a header and checks what it says by itself.
func parseHeader(data []byte) (*header, error) {
	if err := checkStart(data); err != nil {
		return nil, err
	}
	h := &header{
		family:      family(le32(data, 16)),
		features:    le32(data, 20),
		seed:        le64(data, 24),
		capacity:    le64(data, 32),
		maxCapacity: le64(data, 40),
		fpr:         math.Float64frombits(le64(data, 48)),
		slots:       uint64(le32(data, 56)),
		core:        uint(le32(data, 60)),
		growth:      uint(le32(data, 64)),
		shares:      uint(le32(data, 68)),
		stride:      uint(le32(data, 100)),
		chunks:      le64(data, 72),
		groups:      le64(data, 80),
		reserve:     uint64(le32(data, 88)),
		maxSteps:    uint64(le32(data, 92)),
		stashLimit:  uint64(le32(data, 96)),
		count:       le64(data, 104),
		stashed:     le64(data, 112),
		valueBits:   uint(le32(data, 192)),
		segmented:   le32(data, 196) == 1,
		generations: le32(data, 196) == 2,
		judged:      le64(data, 200),
		tick:        le64(data, 208),
		slices:      uint64(le32(data, 216)),
	}
	for i := range h.sections {
		at := 128 + 32*i
		h.sections[i] = section{le64(data, at+8), le64(data, at+16), le64(data, at+24)}
	}
	return h, first(h.checkUnused(data), h.checkFields(), h.checkSlices())
}

// checkStart checks what has to be right before a field means anything.
func checkStart(data []byte) error {
	if n := min(len(data), len(magic)); string(data[:n]) != magic[:n] {
		return wrong(ErrFormat, "this is not a nidus file")
	}
	if len(data) >= 12 && le32(data, 8) != version {
		return wrong(ErrVersion, "the file has version %d of the format, not %d", le32(data, 8), version)
	}
	if len(data) < headerSize {
		return wrong(ErrTruncated, "the file ends in its header")
	}
	if hashes.XXH3(data[:248], 0) != le64(data, 248) {
		return wrong(ErrCorrupt, "the header's checksum is wrong")
	}
	return first(
		must(le32(data, 12) == headerSize, "the header has %d bytes, not %d", le32(data, 12), headerSize),
		must(le32(data, 120) == 2, "there are %d sections, not 2", le32(data, 120)))
}

// checkUnused checks what is always the same.
func (h *header) checkUnused(data []byte) error {
	return first(
		must(le64(data, 128) == 0, "section 0 is not the table"),
		must(le64(data, 160) == 1, "section 1 is not the stash"),
		must(le32(data, 196) <= 2, "segmented is neither 0, 1 nor 2"),
		must(le32(data, 124) == 0 && isZero(data[220:248]),
			"the header has something where nothing is known"))
}

func isZero(data []byte) bool {
	for len(data) >= len(zeros) {
		if !bytes.Equal(data[:len(zeros)], zeros[:]) {
			return false
		}
		data = data[len(zeros):]
	}
	return bytes.Equal(data, zeros[:len(data)])
}

var zeros [4096]byte

// checkFields checks what all families have in common.
func (h *header) checkFields() error {
	return first(
		must(h.family >= cuckoo && h.family <= ribbon, "the family has the number %d, which is not known", uint32(h.family)),
		must(h.seed != 0, "the seed is 0"),
		must(h.capacity >= 1 && h.maxCapacity >= h.capacity, "capacity %d, max capacity %d", h.capacity, h.maxCapacity),
		must(h.fpr > 0 && h.fpr < 1, "the rate is %v", h.fpr),
		must(h.features&featDelete == 0 || h.features&featNone == 0, "the features contradict each other"),
		must(h.features&featCompact == 0 || h.family == bucketed, "only bucketed filters are compact"),
		must(h.valueBits <= 32, "values have %d bits", h.valueBits),
		must(!(h.segmented || h.generations) || h.family < bloom, "%d filters do not grow", uint32(h.family)),
		must(h.generations == (h.maxCapacity == math.MaxUint64), "generations without an end"),
		must(h.generations || h.stride == 0 && h.shares == 0, "a filter without generations has numbers of theirs"),
		must(h.segmented || h.generations || h.growth == 0 && h.maxCapacity == h.capacity, "a filter of fixed size is to grow"),
		must(h.judged == 0 || h.family == ribbon, "only ribbon filters have a verdict"))
}

// part is the table of a family on its way from a header to a filter.
type part interface {
	table
	// fits checks the fields of the family, and tells how many bytes its table has.
	fits() (uint64, error)
	use(table, list []byte)
}

func (h *header) part(hasher *hashes.Hasher) part {
	if h.generations {
		return &generations{header: h, partner: hasher.Partner}
	}
	if h.slices > 0 {
		return &recent{growing: growing{header: h, partner: hasher.Partner}}
	}
	if h.segmented {
		return &growing{header: h, partner: hasher.Partner}
	}
	switch h.family {
	case breadcrumb:
		return &yard{header: h}
	case bloom:
		return &bits64{header: h}
	case blockedBloom:
		return &blocks{header: h}
	case ribbon:
		return &matrices{header: h}
	}
	return &nest{header: h, partner: hasher.Partner}
}

// table makes the table of a filter.
func (h *header) table(data []byte, hasher *hashes.Hasher) (table, error) {
	part := h.part(hasher)
	size, err := part.fits()
	if err != nil {
		return nil, err
	}
	if err := h.checkSections(data, size); err != nil {
		return nil, err
	}
	part.use(h.sections[0].in(data), h.sections[1].in(data))
	return part, nil
}

func (s section) in(data []byte) []byte { return data[s.offset : s.offset+s.size] }

func up(x, to uint64) uint64 { return (x + to - 1) / to * to }

// most is the largest size that a table may have: more could not be held in memory, and no sum of two overflows.
const most = 1 << 56

// listed is the size of an entry of section 1.
func (h *header) listed() uint64 {
	if h.family == ribbon {
		return 16
	}
	return listedSize
}

// checkSections checks sizes, places, the zeros in between and checksums.
func (h *header) checkSections(data []byte, size uint64) error {
	align := uint64(64)
	if size >= pagedSize && h.family != ribbon {
		align = 4096
	}
	table, stash := h.sections[0], h.sections[1]
	start := up(headerSize, align)
	err := first(
		must(size <= most, "the table would have %d bytes", size),
		must(h.stashed <= most/listedSize, "there are %d entries in the stash", h.stashed))
	if err != nil {
		return err
	}
	stashStart := up(start+size, 64)
	end := stashStart + h.listed()*h.stashed
	err = first(
		must(table.offset == start && table.size == size, "the table has %d bytes from %d on, not %d from %d", table.size,
			table.offset, size, start),
		must(stash.offset == stashStart && stash.size == end-stashStart, "the stash has %d bytes from %d on, not %d from %d",
			stash.size, stash.offset, end-stashStart, stashStart))
	if err != nil {
		return err
	}
	if uint64(len(data)) < end {
		return wrong(ErrTruncated, "the file has %d bytes, but %d are needed", len(data), end)
	}
	if uint64(len(data)) > end {
		return wrong(ErrFormat, "the file has %d bytes behind its end", uint64(len(data))-end)
	}
	if !isZero(data[headerSize:start]) || !isZero(data[start+size:stashStart]) {
		return wrong(ErrCorrupt, "there is something between the sections")
	}
	for i, section := range h.sections {
		if hashes.XXH3(section.in(data), 0) != section.checksum {
			return wrong(ErrCorrupt, "the checksum of section %d is wrong", i)
		}
	}
	return nil
}

// log2 is that of a power of two.
func log2(x uint64) uint { return uint(bits.TrailingZeros64(x)) }

func isPower(x uint64) bool { return x != 0 && x&(x-1) == 0 }

// low is a number of so many ones, less than 64.
func low(n uint) uint64 { return 1<<n - 1 }
