// SPDX-License-Identifier: MIT

package read

// generations are a filter without a size: filters that grow, the oldest first.
//
//	| generations, 8 bytes | room, 8 bytes | zeros up to 64 bytes | a record of 64 bytes for each | their tables, up to 64 bytes each |
type generations struct {
	*header
	partner uint64
	data    []byte
	stash   []byte
	all     []*growing
}

const (
	generationsMost    = 8
	generationBitsMost = 16
	shareOfFirst       = 8  // as the header's shares count, of which a generation takes half of what is left
	generationAt       = 60 // the bit of a home from which on the number of its generation stands
)

func (g *generations) fits() (uint64, error) {
	size := g.sections[0].size
	return size, first(
		must(g.growth <= generationBitsMost, "generations with %d bits to grow", g.growth),
		must(g.stride >= 1 && g.stride <= generationBitsMost, "generations with %d bits more each", g.stride),
		must(g.family != breadcrumb && g.shares >= 2*shareOfFirst && g.shares <= 255 || g.family == breadcrumb && g.shares == 0,
			"generations with %d shares", g.shares),
		must(g.family > chunked || g.features&featNone != 0 && g.valueBits == 0, "this family has no such generations"),
		must(size >= leafSize, "generations have %d bytes", size))
}

func (g *generations) use(table, stash []byte) { g.data, g.stash = table, stash }

func (g *generations) contains(hash uint64) bool {
	for _, one := range g.all {
		if one.contains(hash) {
			return true
		}
	}
	return false
}

func (g *generations) find(hash uint64, each func(value, copies uint64) bool) {
	goesOn := true
	for _, one := range g.all {
		one.find(hash, func(value, copies uint64) bool {
			goesOn = each(value, copies)
			return goesOn
		})
		if !goesOn {
			return
		}
	}
}

func (g *generations) walk(each func(Entry) bool) bool {
	for number, one := range g.all {
		more := uint64(number) << generationAt
		if !one.walk(func(entry Entry) bool {
			entry.Home += more
			return each(entry)
		}) {
			return false
		}
	}
	return true
}

// check reads all generations: the header tells nothing of the others.
func (g *generations) check() error {
	n := le64(g.data, 0)
	if n < 1 || n > generationsMost || le64(g.data, 8)>>63 != 0 || !isZero(g.data[16:leafSize]) ||
		uint64(len(g.data)) < leafSize*(n+1) {
		return wrong(ErrFormat, "the head of the generations makes no sense")
	}
	at, listed, count := leafSize*(n+1), uint64(0), uint64(0)
	for number := uint64(0); number < n; number++ {
		one, err := g.read(uint(number), &at, &listed)
		if err != nil {
			return err
		}
		g.all = append(g.all, one)
		if count += one.count; count < one.count {
			return wrong(ErrFormat, "the generations have too many entries")
		}
	}
	if at != uint64(len(g.data)) || listed*listedSize != uint64(len(g.stash)) || count != g.count {
		return wrong(ErrFormat, "the generations do not add up")
	}
	return nil
}

// partBits are those of a part of a generation behind the base segments.
func (g *generations) partBits(number uint) uint {
	all := g.growth + g.stride*number
	left, share := g.shares<<16, uint(shareOfFirst<<16)
	for i := uint(0); i <= number && left > 0; i++ {
		for share > left/2 {
			share /= 2
			all++
		}
		left -= share
	}
	return all
}

// read reads the generation of a record, whose table begins at a place, behind so many listed entries.
func (g *generations) read(number uint, at, listed *uint64) (*growing, error) {
	record := g.data[leafSize*(number+1) : leafSize*(number+2)]
	h := *g.header
	size := le64(record, 0)
	h.count, h.stashed, h.chunks, h.growth = le64(record, 8), le64(record, 16), le64(record, 24), uint(le32(record, 32))
	h.segmented, h.generations, h.stride, h.shares = true, false, 0, 0
	all, left := g.partBits(number), uint64(len(g.data))-*at
	if !isZero(record[36:]) || h.growth > all || all-h.growth > depthMost || g.chunks >= 1<<depthMost>>(all-h.growth) ||
		h.chunks != g.chunks<<(all-h.growth) || h.stashed > h.count || size < leafSize || size > left ||
		up(size, leafSize) > left || h.stashed > uint64(len(g.stash))/listedSize-*listed {
		return nil, wrong(ErrFormat, "the record of a generation makes no sense")
	}
	h.sections[0].size = size
	one := &growing{header: &h, partner: g.partner}
	if _, err := one.fits(); err != nil {
		return nil, err
	}
	end := *listed + h.stashed
	one.use(g.data[*at:*at+size], g.stash[*listed*listedSize:end*listedSize])
	if !isZero(g.data[*at+size : *at+up(size, leafSize)]) {
		return nil, wrong(ErrCorrupt, "there is something between generations")
	}
	*at += up(size, leafSize)
	*listed = end
	return one, one.check()
}
