// SPDX-License-Identifier: MIT

package read

import (
	"math/bits"
	"sort"
)

// growing is a filter that grows: a list of a few entries, or leaves, which are ranges of parts, of one to three bodies each.
// A body is a table of the family whose entries have tags: how far their part is behind its first one.
//
//	| leaves, 8 bytes | zeros up to 64 bytes | a record of 64 bytes for each | tables of all bodies, up to 64 bytes each |
//	| 0, 8 bytes      | records, 8 bytes     | zeros up to 64 bytes | a list |
type growing struct {
	*header
	partner uint64
	data    []byte
	stash   list

	parts   uint64 // P
	bytes   uint   // n: those of a hash that a list has
	plain   body   // without a table, with the widest tag
	bodies  []leafBody
	deepest uint
}

// body is a table of a filter that grows. Hashes are what is left of them behind the part.
type body interface {
	part
	containsTag(hash, tag uint64) bool
	findTag(hash, tag uint64, each func(value, copies uint64) bool)
	// identityOfHash is home and fingerprint, without a tag; lowest is the lowest hash that has them, and lent the bits
	// that it lends.
	identityOfHash(hash uint64) (home, fingerprint uint64)
	lowest(home, fingerprint uint64) uint64
	lent(home, fingerprint uint64) uint64
	// possible says whether a fingerprint, without a tag, can be one.
	possible(fingerprint uint64) bool
	// tagAt is the first bit of a fingerprint that is its tag's.
	tagAt() uint
}

// leafBody is a body, and what it is of the filter.
type leafBody struct {
	body
	first, last uint64 // parts
	start       uint64 // its first cell, counted as those of the deepest leaves are
	lag         uint64 // ticks since it was swept, of a filter that forgets
}

const (
	leafSize  = 64
	cellBits  = 5
	depthMost = 44
	spreadBy  = 4
	listMost  = 12288
	shared    = 1 << 4 // of the features
)

// firstCells are those of the bodies of a leaf, by how many it has.
var firstCells = [4][]uint64{1: {0, 32}, 2: {0, 16, 32}, 3: {0, 11, 21, 32}}

// uncut is the lowest number of which one of so many choices can be cut so that the rest is no lower.
func uncut(choice, choices, rest uint64) uint64 {
	quotient, left := bits.Div64(choice, rest, choices)
	if left > 0 {
		quotient++
	}
	return quotient
}

// lg is the logarithm of a number, rounded down.
func lg(x uint64) uint { return uint(bits.Len64(x)) - 1 }

// body makes one without a table.
func (g *growing) body(tag uint, count, stashed uint64) body {
	h := *g.header
	h.chunks, h.segmented, h.tag, h.count, h.stashed = 1, false, tag, count, stashed
	if h.family == breadcrumb {
		return &yard{header: &h}
	}
	h.stashLimit = max(h.stashLimit, 1)
	return &nest{header: &h, partner: g.partner}
}

func (g *growing) fits() (uint64, error) {
	if g.chunks < 1 || g.groups < 1 || g.core > 56 || g.growth > depthMost || lg(g.chunks)+g.growth >= depthMost ||
		lg(g.chunks)+lg(g.groups)+g.growth+g.core > 58 {
		return 0, wrong(ErrFormat, "%d segments of %d groups with %d bits to grow", g.chunks, g.groups, g.growth)
	}
	g.parts = g.chunks << g.growth
	g.plain = g.body(g.growth, 0, 0)
	if _, err := g.plain.fits(); err != nil {
		return 0, err
	}
	if _, err := g.body(0, 0, 0).fits(); err != nil {
		return 0, err
	}
	if y, ok := g.plain.(*yard); ok {
		high, all := bits.Mul64(g.parts, g.groups*y.minis)
		if high != 0 || all > 1<<(64-y.remainder) {
			return 0, wrong(ErrFormat, "a hash has not enough bits")
		}
	}
	size := g.sections[0].size
	return size, must(size >= g.recordsAt(), "a directory has %d bytes", size)
}

func (g *growing) use(table, stash []byte) { g.data, g.stash = table, list{stash, 64} }

// ------------------------------------------------------------- a list
//
// A record is a number, home and fingerprint of an entry, and its value. Of n ascending numbers the highest bits are in unary: a one for
// each record, and a zero behind the last of each head.
//
//	| n times: rest, value | heads, n + 2^head bits | marks, 16 bits each | zeros up to 8 bytes |

type fewShape struct {
	records, heads, headsAt, marks, marksAt, end uint64
	head, rest, record                           uint
}

// fingerprintBits are those of a fingerprint with all growth bits.
func (g *growing) fingerprintBits() uint { return g.plain.tagAt() + g.growth }

func (g *growing) numberBits() uint {
	return uint(bits.Len64(g.chunks*g.groups-1)) + g.fingerprintBits()
}

// few is where things of the list are, in bits.
func (g *growing) few() (s fewShape) {
	s.records = le64(g.data, 8)
	if s.records == 0 {
		return s
	}
	s.head = min(uint(bits.Len64(s.records-1)), g.numberBits())
	s.rest = g.numberBits() - s.head
	s.record = s.rest + g.valueBits
	s.heads = 1 << s.head
	s.headsAt = s.records * uint64(s.record)
	s.marksAt = s.headsAt + s.records + s.heads
	s.marks = (s.heads - 1) >> 6
	s.end = s.marksAt + 16*s.marks
	return s
}

// listBits are up to 64 bits of a list.
func (g *growing) listBits(at uint64, width uint) uint64 {
	if width == 0 {
		return 0
	}
	data, shift := g.data[g.recordsAt():], uint(at%64)
	word := le64(data, int(at/64*8)) >> shift
	if shift+width > 64 {
		word |= le64(data, int(at/64*8+8)) << (64 - shift)
	}
	return word & low(width)
}

// numberOf is what stands in a list for a hash.
func (g *growing) numberOf(hash uint64) uint64 {
	part, rest := bits.Mul64(hash, g.parts)
	home, fingerprint := g.plain.identityOfHash(rest)
	entry := g.outside(part, Entry{home, fingerprint, 0})
	return entry.Home<<g.fingerprintBits() | entry.Fingerprint
}

// listed is the entry of a record.
func (g *growing) listed(number, value uint64) Entry {
	return Entry{number >> g.fingerprintBits(), number & low(g.fingerprintBits()), value}
}

// valid says whether a number is that of a hash.
func (g *growing) valid(number uint64) bool {
	e := g.listed(number, 0)
	if e.Home/g.groups >= g.chunks {
		return false
	}
	at := g.plain.tagAt()
	part := e.Home/g.groups<<g.growth | e.Fingerprint>>at
	fingerprint := e.Fingerprint & low(at)
	if !g.plain.possible(fingerprint) {
		return false
	}
	return g.numberOf(uncut(part, g.parts, g.plain.lowest(e.Home%g.groups, fingerprint))) == number
}

// eachRecord calls with the records from a head on, until that returns false; false if heads make no sense.
func (g *growing) eachRecord(s *fewShape, from uint64, each func(index, number, value uint64) bool) bool {
	head, at := from&^63, from&^63
	if from > 63 {
		at += g.listBits(s.marksAt+16*(from/64-1), 16)
	}
	for ; at < s.records+s.heads && head < s.heads; at++ {
		if g.listBits(s.headsAt+at, 1) == 0 {
			head++
			continue
		}
		index := at - head
		if index >= s.records {
			return false
		}
		if head < from {
			continue
		}
		number := head<<s.rest | g.listBits(index*uint64(s.record), s.rest)
		if !each(index, number, g.listBits(index*uint64(s.record)+uint64(s.rest), g.valueBits)) {
			return true
		}
	}
	return at == s.records+s.heads && head == s.heads
}

// copiesOf is how many copies of a record there are.
func (g *growing) copiesOf(number, value uint64) (n uint64) {
	g.stash.find(number, 0, func(i int) bool {
		if g.stash.value(i) == value {
			n = g.stash.copies(i)
		}
		return n == 0
	})
	return n + 1
}

// withNumber calls with the value of each record of a number, until that returns false.
func (g *growing) withNumber(wanted uint64, each func(value uint64) bool) {
	s := g.few()
	if s.records == 0 || bits.Len64(wanted) > int(g.numberBits()) {
		return
	}
	g.eachRecord(&s, wanted>>s.rest, func(_, number, value uint64) bool {
		return number < wanted || number == wanted && each(value)
	})
}

// inList calls with value and copies of each record of a hash, until it returns false.
func (g *growing) inList(hash uint64, each func(value, copies uint64) bool) {
	number := g.numberOf(hash)
	g.withNumber(number, func(value uint64) bool { return each(value, g.copiesOf(number, value)) })
}

func (g *growing) walkList(each func(Entry) bool) bool {
	s, all := g.few(), true
	g.eachRecord(&s, 0, func(_, number, value uint64) bool {
		for n := g.copiesOf(number, value); n > 0 && all; n-- {
			all = each(g.listed(number, value))
		}
		return all
	})
	return all
}

// checkRecords checks the list but for copies.
func (g *growing) checkRecords(s *fewShape) error {
	var next, last, lastValue, mark uint64
	right := true
	marks := func(head, index uint64) {
		for ; mark < s.marks && head>>6 > mark; mark++ {
			right = right && g.listBits(s.marksAt+16*mark, 16) == index
		}
	}
	whole := g.eachRecord(s, 0, func(index, number, value uint64) bool {
		right = right && index == next && g.valid(number) &&
			(index == 0 || number > last || number == last && value > lastValue)
		marks(number>>s.rest, index)
		next, last, lastValue = index+1, number, value
		return right
	})
	marks(s.heads, s.records)
	over := 64 - uint(s.end%64)
	if !right || s.records > 0 && !whole || next != s.records || s.end%64 != 0 && g.listBits(s.end, over) != 0 {
		return wrong(ErrCorrupt, "the list is not in order")
	}
	return nil
}

func (g *growing) checkList() error {
	if le64(g.data, 8) > listMost || g.features&shared != 0 || g.numberBits() > 64 {
		return wrong(ErrFormat, "a list of %d records makes no sense", le64(g.data, 8))
	}
	s := g.few()
	if uint64(len(g.data))-g.recordsAt() != up(s.end, 64)/8 {
		return wrong(ErrFormat, "a list of %d bytes makes no sense", len(g.data))
	}
	if err := g.checkRecords(&s); err != nil {
		return err
	}
	copies, err := g.stash.check(func(home, fingerprint, value uint64) error {
		found := false
		g.withNumber(home, func(its uint64) bool {
			found = its == value
			return !found
		})
		if !found || fingerprint != 0 {
			return wrong(ErrCorrupt, "there are copies of what is not in the list")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.records+copies != g.count {
		return wrong(ErrCorrupt, "there are %d entries, not %d", s.records+copies, g.count)
	}
	return nil
}

// ------------------------------------------------------------- leaves

// leaf is a record of one.
type leaf struct {
	depth, bodies  uint32
	counts, listed [3]uint64
	lags           uint64 // 16 bits each
}

func (g *growing) leaf(i uint64) (leaf, error) {
	data := g.data[g.recordsAt()+leafSize*i:][:leafSize]
	l := leaf{depth: le32(data, 0), bodies: le32(data, 4), lags: le64(data, 56)}
	lags := l.lags == 0 || g.slices > 0 && l.lags>>(16*l.bodies) == 0
	right := l.depth <= depthMost && l.bodies >= 1 && l.bodies <= 3 && lags
	for i := range l.counts {
		l.counts[i], l.listed[i] = le64(data, 8+16*i), le64(data, 16+16*i)
		right = right && l.listed[i] <= l.counts[i] && (i < int(l.bodies) || l.counts[i] == 0)
	}
	return l, must(right, "leaf %d makes no sense", i)
}

// checkLeaves checks what all leaves say together.
func (g *growing) checkLeaves(leaves uint64) error {
	shallowest, count, stashed := uint(depthMost), uint64(0), uint64(0)
	for i := range leaves {
		l, err := g.leaf(i)
		if err != nil {
			return err
		}
		shallowest, g.deepest = min(shallowest, uint(l.depth)), max(g.deepest, uint(l.depth))
		for i := range l.counts {
			var over [2]uint64
			count, over[0] = bits.Add64(count, l.counts[i], 0)
			stashed, over[1] = bits.Add64(stashed, l.listed[i], 0)
			if over[0]+over[1] > 0 {
				return wrong(ErrFormat, "the leaves have too many entries")
			}
		}
	}
	return first(
		must(g.deepest <= shallowest+spreadBy && g.chunks <= leaves>>shallowest, "the depths of leaves make no sense"),
		must(count == g.count && stashed == g.stashed, "the counts of leaves do not add up"))
}

// parts that a cell of a leaf has something of.
func (g *growing) partsOf(number uint64, depth uint) (first, last uint64) {
	if bits := depth + cellBits; bits <= g.growth {
		first = number << (g.growth - bits)
		return first, first | low(g.growth-bits)
	}
	first = number >> (depth + cellBits - g.growth)
	return first, first
}

// readLeaves makes the bodies.
func (g *growing) readLeaves(leaves uint64) error {
	if err := g.checkLeaves(leaves); err != nil {
		return err
	}
	at, tables, stash := uint64(0), g.data[g.recordsAt()+leafSize*leaves:], g.stash.data
	for i := range leaves {
		l, _ := g.leaf(i)
		above := g.deepest - uint(l.depth)
		if at&low(above) != 0 {
			return wrong(ErrFormat, "leaf %d overlaps with another", i)
		}
		for which := range l.bodies {
			b, size, err := g.readBody(&l, int(which), at>>above)
			if err != nil {
				return err
			}
			if uint64(len(tables)) < up(size, leafSize) || !isZero(tables[size:up(size, leafSize)]) {
				return wrong(ErrFormat, "a body of leaf %d is not what it should be", i)
			}
			b.use(tables[:size], stash[:listedSize*l.listed[which]])
			tables, stash = tables[up(size, leafSize):], stash[listedSize*l.listed[which]:]
			g.bodies = append(g.bodies, b)
		}
		at += 1 << above
	}
	return first(
		must(at == g.chunks<<g.deepest, "there are not as many leaves as there should be"),
		must(len(tables) == 0, "something follows the last body"))
}

func (g *growing) readBody(l *leaf, which int, number uint64) (leafBody, uint64, error) {
	cells := firstCells[l.bodies][which:]
	start, end := number<<cellBits+cells[0], number<<cellBits+cells[1]-1
	b := leafBody{start: start << (g.deepest - uint(l.depth)), lag: l.lags >> (16 * which) & 0xffff}
	b.first, _ = g.partsOf(start, uint(l.depth))
	_, b.last = g.partsOf(end, uint(l.depth))
	b.body = g.body(uint(bits.Len64(b.last-b.first)), l.counts[which], l.listed[which])
	size, err := b.fits()
	return b, size, err
}

// lent is the bits that an identity lends, by its number among those of a part.
func lent(identity uint64) uint64 { return identity * 0x9e3779b97f4a7c15 }

// bodyOf is the body of a part, with the bits that it borrows.
func (g *growing) bodyOf(part, lent uint64) *leafBody {
	cell := part
	if bits := g.deepest + cellBits; bits <= g.growth {
		cell >>= g.growth - bits
	} else {
		cell = cell<<(bits-g.growth) | lent>>(64-(bits-g.growth))
	}
	i := sort.Search(len(g.bodies), func(i int) bool { return g.bodies[i].start > cell })
	return &g.bodies[i-1]
}

// bodyOfHash is the body of a key, what is left of its hash there, and its tag.
func (g *growing) bodyOfHash(hash uint64) (b *leafBody, rest, tag uint64) {
	part, rest := bits.Mul64(hash, g.parts)
	lent := uint64(0)
	if g.deepest+cellBits > g.growth {
		lent = g.plain.lent(g.plain.identityOfHash(rest))
	}
	b = g.bodyOf(part, lent)
	return b, rest, part - b.first
}

// partOf is the part of an entry of a body.
func (g *growing) partOf(b *leafBody, entry Entry) uint64 {
	return b.first + entry.Fingerprint>>b.tagAt()
}

// outside is an entry of a body as one of the filter.
func (g *growing) outside(part uint64, entry Entry) Entry {
	at := g.plain.tagAt()
	return Entry{part>>g.growth*g.groups + entry.Home, entry.Fingerprint&low(at) | part&low(g.growth)<<at, entry.Value}
}

// ------------------------------------------------------------- as a table

func (g *growing) contains(hash uint64) bool {
	if len(g.bodies) > 0 {
		b, rest, tag := g.bodyOfHash(hash)
		return b.containsTag(rest, tag)
	}
	found := false
	g.inList(hash, func(_, _ uint64) bool {
		found = true
		return false
	})
	return found
}

func (g *growing) find(hash uint64, each func(value, copies uint64) bool) {
	if len(g.bodies) == 0 {
		g.inList(hash, each)
		return
	}
	b, rest, tag := g.bodyOfHash(hash)
	b.findTag(rest, tag, each)
}

func (g *growing) walk(each func(Entry) bool) bool {
	if len(g.bodies) == 0 {
		return g.walkList(each)
	}
	for i := range g.bodies {
		b := &g.bodies[i]
		if !b.walk(func(entry Entry) bool { return each(g.outside(g.partOf(b, entry), entry)) }) {
			return false
		}
	}
	return true
}

func (g *growing) check() error {
	leaves, used := le64(g.data, 0), 16
	if g.slices > 0 {
		used += 8
	}
	if !isZero(g.data[used:leafSize]) || leaves > 0 && le64(g.data, 8) > 0 ||
		leaves > (uint64(len(g.data))-g.recordsAt())/leafSize {
		return wrong(ErrFormat, "the head of the directory makes no sense")
	}
	if leaves == 0 {
		return g.checkList()
	}
	if err := g.readLeaves(leaves); err != nil {
		return err
	}
	for i := range g.bodies {
		if err := g.checkBody(&g.bodies[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkBody checks a body, and that its entries belong there.
func (g *growing) checkBody(b *leafBody) error {
	if err := b.check(); err != nil {
		return err
	}
	right := b.walk(func(entry Entry) bool {
		part := g.partOf(b, entry)
		return part <= b.last && g.bodyOf(part, g.plain.lent(entry.Home, entry.Fingerprint)) == b
	})
	if !right {
		return wrong(ErrCorrupt, "an entry is in a body that is not its own")
	}
	return nil
}
