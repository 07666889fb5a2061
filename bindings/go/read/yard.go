// SPDX-License-Identifier: MIT

package read

import "math/bits"

// yard is the table of breadcrumb filters: lines of the front yard, lines of the backyard (even 0, odd 0, even 1, ...), then
// the values of each line, each above the entry's tag in a body of a filter that grows. A line:
//
//	| sizes, to a whole byte | remainders, R bits per slot | crumbs, 4 bits per slot: backyard only |
type yard struct {
	*header
	data  []byte
	stash list

	lineBytes   uint64
	minis       uint64
	remainder   uint // R
	beside      uint // bits of tag and value
	front, back yardLines
	fronts      uint64 // F
	halves      uint64 // H: even lines, or odd lines
}

// yardLines is what lines of one of the two yards have in common.
type yardLines struct {
	slots      uint64
	valueBytes uint64 // of a line
	crumbs     bool
}

// yardShapes are the kinds of lines, by the slots of the front yard.
var yardShapes = map[uint64]struct {
	lineBytes, minis, back uint64
	remainder              uint
}{
	63: {64, 64, 40, 6},
	56: {64, 64, 37, 7},
	51: {64, 53, 35, 8},
	46: {64, 47, 33, 9},
	42: {64, 46, 30, 10},
	39: {64, 41, 29, 11},
	36: {64, 44, 27, 12},
	34: {64, 70, 26, 12},
	32: {64, 32, 24, 14},
	30: {64, 58, 23, 14},
	28: {64, 36, 22, 16},
	19: {64, 37, 16, 24},
	25: {32, 31, 17, 8},
}

var hops = [16]uint64{0, 8, 18, 31, 45, 164, 183, 186, 235, 275, 277, 334, 377, 401, 406, 412}

func (y *yard) fits() (uint64, error) {
	shape, known := yardShapes[y.slots]
	err := first(
		must(known, "breadcrumb filters have no %d slots", y.slots),
		must(y.core == shape.remainder && y.tag <= 24, "core bits %d, tags of %d bits", y.core, y.tag),
		must(y.chunks == 1 && y.reserve == 0 && y.maxSteps == 0 && y.stashLimit == 0,
			"a breadcrumb filter has something that it cannot have"),
		must(y.groups >= 1 && y.groups <= 1<<40 && y.groups <= 1<<(64-shape.remainder)/max(shape.minis, 1), "there are %d front buckets", y.groups))
	if err != nil {
		return 0, err
	}
	y.beside = y.tag + y.valueBits
	u := uint64(y.beside)
	y.lineBytes, y.minis, y.remainder = shape.lineBytes, shape.minis, shape.remainder
	y.front = yardLines{y.slots, up(y.slots*u, 8) / 8, false}
	y.back = yardLines{shape.back, up(shape.back*u, 8) / 8, true}
	y.fronts = y.groups
	y.halves = up(y.fronts, 16) / 16
	return y.fronts*(y.lineBytes+y.front.valueBytes) + 2*y.halves*(y.lineBytes+y.back.valueBytes), nil
}

func (y *yard) use(table, stash []byte) { y.data, y.stash = table, list{stash, y.tagAt()} }

// ------------------------------------------------------------- lines

// line is one of them, with its sizes as they mean: a zero per remainder of a mini-bucket, then a one.
type line struct {
	*yardLines
	data      []byte
	values    []byte
	sizes     [2]uint64
	entries   uint64
	remainder uint
	beside    uint
	starts    uint64 // the bit where remainders start
}

// bitsIn reads up to 56 bits.
func bitsIn(data []byte, at uint64, width uint) (x uint64) {
	some := data[at/8 : min(at/8+8, uint64(len(data)))]
	for i, b := range some {
		x |= uint64(b) << (8 * i)
	}
	return x >> (at % 8) & low(width)
}

// lineAt reads a line of the front yard, or of the backyard.
func (y *yard) lineAt(kind *yardLines, number uint64) line {
	lines, values := number*y.lineBytes, (y.fronts+2*y.halves)*y.lineBytes+number*kind.valueBytes
	if kind.crumbs {
		lines += y.fronts * y.lineBytes
		values += y.fronts * y.front.valueBytes
	}
	l := line{yardLines: kind, data: y.data[lines : lines+y.lineBytes], values: y.data[values : values+kind.valueBytes],
		remainder: y.remainder, beside: y.beside}
	sizes := uint(y.minis + kind.slots)
	l.starts = up(uint64(sizes), 8)
	l.sizes = [2]uint64{le64(l.data, 0) ^ low(uint(y.minis)), le64(l.data, 8) ^ low(uint(max(y.minis, 64)-64))}
	if sizes <= 64 {
		l.sizes = [2]uint64{l.sizes[0] & (1<<sizes - 1), 0}
	} else {
		l.sizes[1] &= 1<<(sizes-64) - 1
	}
	used := uint64(128 - bits.LeadingZeros64(l.sizes[1]))
	if l.sizes[1] == 0 {
		used = uint64(64 - bits.LeadingZeros64(l.sizes[0]))
	}
	l.entries = used - min(used, y.minis)
	return l
}

// end is where the entries of a mini-bucket end, counted over the line.
func (l *line) end(mini uint64) uint64 {
	sizes := l.sizes
	for range mini {
		if sizes[0] != 0 {
			sizes[0] &= sizes[0] - 1
		} else {
			sizes[1] &= sizes[1] - 1
		}
	}
	at := uint64(bits.TrailingZeros64(sizes[0]))
	if sizes[0] == 0 {
		at = 64 + uint64(bits.TrailingZeros64(sizes[1]))
	}
	return at - mini
}

// span is the entries of a mini-bucket.
func (l *line) span(mini uint64) (start, end uint64) {
	if mini > 0 {
		start = l.end(mini - 1)
	}
	return start, l.end(mini)
}

func (l *line) full() bool { return l.entries == l.slots }

// last is the mini-bucket of the last entry of a full line: there are no entries behind it.
func (l *line) last(minis uint64) uint64 {
	for mini := range minis {
		if l.end(mini) == l.entries {
			return mini
		}
	}
	return minis
}

func (l *line) rest(i uint64) uint64 {
	return bitsIn(l.data, l.starts+i*uint64(l.remainder), l.remainder)
}

func (l *line) crumb(i uint64) uint64 {
	return bitsIn(l.data, l.crumbsAt()+4*i, 4)
}

// crumbsAt is where the crumbs begin: at the first multiple of their bits behind the remainders.
func (l *line) crumbsAt() uint64 { return l.starts + up(l.slots*uint64(l.remainder), 4) }

// besides is what lies beside an entry: its value, above its tag.
func (l *line) besides(i uint64) uint64 {
	return bitsIn(l.values, i*uint64(l.beside), l.beside)
}

// ------------------------------------------------------------- lookups

// place is where a key is to be found.
type place struct{ front, mini, rest uint64 }

func (y *yard) locate(hash uint64) place {
	f, hash := bits.Mul64(hash, y.fronts)
	mini, hash := bits.Mul64(hash, y.minis)
	return place{f, mini, hash >> (64 - y.remainder)}
}

func (y *yard) contains(hash uint64) bool {
	found, at := false, y.locate(hash)
	each := func(uint64) bool {
		found = true
		return false
	}
	y.inLines(at, each)
	if !found {
		y.stash.find(at.front, y.fingerprint(at), func(int) bool { return each(0) })
	}
	return found
}

func (y *yard) find(hash uint64, each func(value, copies uint64) bool) { y.findTag(hash, 0, each) }

func (y *yard) findTag(hash, tag uint64, each func(value, copies uint64) bool) {
	at, on := y.locate(hash), true
	y.inLines(at, func(beside uint64) bool {
		if beside&low(y.tag) == tag {
			on = each(beside>>y.tag, 1)
		}
		return on
	})
	if on {
		y.stash.find(at.front, y.fingerprint(at), func(i int) bool {
			return y.stash.tag(i) != tag || each(y.stash.value(i), y.stash.copies(i))
		})
	}
}

// inLines calls with what lies beside each entry in lines that looks like a key, until it returns false.
func (y *yard) inLines(at place, each func(beside uint64) bool) {
	f := at.front
	front := y.lineAt(&y.front, f)
	if !front.find(at, 0, each) || !front.full() || front.last(y.minis) > at.mini {
		return
	}
	even := y.lineAt(&y.back, 2*(f/16))
	if even.find(at, f%16, each) {
		odd := y.lineAt(&y.back, 2*((f/16+hops[f%16])%y.halves)+1)
		odd.find(at, f%16, each)
	}
}

// find looks for a remainder in a mini-bucket; false if it is not to go on.
func (l *line) find(at place, crumb uint64, each func(beside uint64) bool) bool {
	start, end := l.span(at.mini)
	for i := start; i < end; i++ {
		if l.rest(i) == at.rest && (!l.crumbs || l.crumb(i) == crumb) && !each(l.besides(i)) {
			return false
		}
	}
	return true
}

// ------------------------------------------------------------- as a body of a filter that grows

// fingerprint is that of a place, without a tag.
func (y *yard) fingerprint(at place) uint64 { return (at.mini+1)<<y.remainder | at.rest }

// placeOf is the place of an entry.
func (y *yard) placeOf(home, fingerprint uint64) place {
	return place{home, fingerprint>>y.remainder&127 - 1, fingerprint & low(y.remainder)}
}

func (y *yard) tagAt() uint { return y.remainder + 7 }

func (y *yard) identityOfHash(hash uint64) (home, fingerprint uint64) {
	at := y.locate(hash)
	return at.front, y.fingerprint(at)
}

func (y *yard) possible(fingerprint uint64) bool {
	mini := fingerprint >> y.remainder
	return mini >= 1 && mini <= y.minis
}

func (y *yard) lowest(home, fingerprint uint64) uint64 {
	at := y.placeOf(home, fingerprint)
	return uncut(at.front, y.fronts, uncut(at.mini, y.minis, at.rest<<(64-y.remainder)))
}

func (y *yard) lent(home, fingerprint uint64) uint64 {
	at := y.placeOf(home, fingerprint)
	return lent((at.front*y.minis+at.mini)<<y.remainder | at.rest)
}

// containsTag does not compare tags: lookups never do.
func (y *yard) containsTag(hash, _ uint64) bool { return y.contains(hash) }

// ------------------------------------------------------------- all entries

func (y *yard) walk(each func(Entry) bool) bool {
	for f := range y.fronts {
		if !y.walkLine(y.lineAt(&y.front, f), func(uint64) uint64 { return f }, each) {
			return false
		}
	}
	for number := range 2 * y.halves {
		from := func(crumb uint64) uint64 { return y.frontOf(number, crumb) }
		if !y.walkLine(y.lineAt(&y.back, number), from, each) {
			return false
		}
	}
	return y.stash.walk(each)
}

// frontOf is the front bucket to which a crumb leads back from a line of the backyard.
func (y *yard) frontOf(number, crumb uint64) uint64 {
	i := number / 2
	if number%2 == 1 {
		i = (i + y.halves - hops[crumb]%y.halves) % y.halves
	}
	return 16*i + crumb
}

func (y *yard) walkLine(l line, from func(crumb uint64) uint64, each func(Entry) bool) bool {
	i := uint64(0)
	for mini := range y.minis {
		for end := l.end(mini); i < end; i++ {
			crumb := uint64(0)
			if l.crumbs {
				crumb = l.crumb(i)
			}
			beside := l.besides(i)
			tag := beside & low(y.tag) << y.tagAt()
			if !each(Entry{from(crumb), tag | y.fingerprint(place{0, mini, l.rest(i)}), beside >> y.tag}) {
				return false
			}
		}
	}
	return true
}

// ------------------------------------------------------------- checks

func (y *yard) check() error {
	entries := uint64(0)
	for number := range y.fronts {
		l := y.lineAt(&y.front, number)
		if err := y.checkLine(&l); err != nil {
			return err
		}
		entries += l.entries
	}
	for number := range 2 * y.halves {
		l := y.lineAt(&y.back, number)
		if err := y.checkLine(&l); err != nil {
			return err
		}
		if err := y.checkCrumbs(&l, number); err != nil {
			return err
		}
		entries += l.entries
	}
	copies, err := y.stash.check(y.checkListed)
	if err != nil {
		return err
	}
	if entries+copies != y.count {
		return wrong(ErrCorrupt, "there are %d entries, not %d", entries+copies, y.count)
	}
	return nil
}

// copiesInLines is how many copies of a key lines hold before others are listed.
const copiesInLines = 16

// checkListed checks an entry of the stash.
func (y *yard) checkListed(home, fingerprint, value uint64) error {
	at := y.placeOf(home, fingerprint)
	if home >= y.fronts || at.mini >= y.minis || fingerprint>>y.tagAt() > low(y.tag) || value > low(y.valueBits) {
		return wrong(ErrCorrupt, "the stash has an entry that no key has")
	}
	front := y.lineAt(&y.front, home)
	copies := 0
	y.inLines(at, func(uint64) bool {
		copies++
		return copies < copiesInLines
	})
	if copies < copiesInLines && (!front.full() || front.last(y.minis) > at.mini) {
		return wrong(ErrCorrupt, "the stash has an entry whose lines have room")
	}
	return nil
}

// checkLine checks that sizes make sense, and zeros wherever nothing is.
func (y *yard) checkLine(l *line) error {
	ones := uint64(bits.OnesCount64(l.sizes[0]) + bits.OnesCount64(l.sizes[1]))
	if ones != y.minis || l.entries > l.slots {
		return wrong(ErrCorrupt, "a line has %d mini-buckets and %d entries", ones, l.entries)
	}
	r := uint64(l.remainder)
	right := zeroBits(l.data, y.minis+l.slots, l.starts) &&
		zeroBits(l.data, l.starts+l.entries*r, l.starts+l.slots*r) &&
		zeroBits(l.values, l.entries*uint64(l.beside), 8*uint64(len(l.values)))
	behind := l.starts + l.slots*r
	if l.crumbs {
		right = right && zeroBits(l.data, behind, l.crumbsAt())
		behind = l.crumbsAt() + 4*l.entries
	}
	if !right || !zeroBits(l.data, behind, 8*uint64(len(l.data))) {
		return wrong(ErrCorrupt, "a line has something where nothing is")
	}
	return nil
}

// zeroBits tells whether bits from one to another are zero.
func zeroBits(data []byte, from, to uint64) bool {
	for ; from < to && from%8 != 0; from++ {
		if data[from/8]>>(from%8)&1 != 0 {
			return false
		}
	}
	for ; from+8 <= to; from += 8 {
		if data[from/8] != 0 {
			return false
		}
	}
	return from >= to || bitsIn(data, from, uint(to-from)) == 0
}

// checkCrumbs checks that the entries of a line of the backyard could not stay in front.
func (y *yard) checkCrumbs(l *line, number uint64) error {
	i := uint64(0)
	for mini := range y.minis {
		for end := l.end(mini); i < end; i++ {
			f := y.frontOf(number, l.crumb(i))
			if f >= y.fronts {
				return wrong(ErrCorrupt, "a crumb leads nowhere")
			}
			if front := y.lineAt(&y.front, f); !front.full() || front.last(y.minis) > mini {
				return wrong(ErrCorrupt, "an entry of the backyard has room in front")
			}
		}
	}
	return nil
}
