// SPDX-License-Identifier: MIT

package read

import (
	"math"
	"math/bits"
	"sort"
)

// matrices is the table of ribbon filters: a matrix that tells a key its fingerprint and value and, if two lists were told
// apart, a second one with the verdict. What neither has room for is in a list.
type matrices struct {
	*header
	list    []byte // hash and number, 8 bytes each
	table   []byte
	first   matrix
	verdict matrix
}

// matrix consists of layers; a key that one bumps belongs to the next.
type matrix []layer

type layer struct {
	windows uint64 // w
	blocks  uint64
	columns uint64
	split   uint64 // blocks with one column more
	offset  uint64 // of the blocks in the table
	marksAt uint64
	table   []byte
}

const (
	shard      = 65536 // windows that share no rows with others
	markedFor  = 128   // windows of a mark
	smallLayer = 2048  // keys that need no other layer
)

// layersFor lays a matrix out.
func layersFor(keys, columns, share uint64) (all matrix) {
	for keys > 0 {
		windows := keys - keys/40
		if keys <= smallLayer {
			windows = keys + keys/32
		}
		windows = up(max(windows, 1), 64)
		l := layer{windows: windows, blocks: windows/64 + up(windows, shard)/shard, columns: columns}
		l.split = l.splitFor(share)
		all = append(all, l)
		if keys <= smallLayer {
			break
		}
		keys /= 36
	}
	return all
}

// before is how many windows lie before a block.
func (l *layer) before(block uint64) uint64 {
	q, r := block/1025, block%1025
	return min(shard*q+64*(max(r, 1)-1), l.windows)
}

// splitFor is the first block before which a share of 2^-16 of the windows lies, times share.
func (l *layer) splitFor(share uint64) uint64 {
	if share == 0 {
		return 0
	}
	return uint64(sort.Search(int(l.blocks), func(block int) bool {
		return l.before(uint64(block))*shard >= share*l.windows
	}))
}

func (l *layer) size() uint64  { return 8 * (l.blocks*l.columns + l.split) }
func (l *layer) marks() uint64 { return up(up(l.windows, markedFor)/markedFor, 4) / 4 }

func (m *matrices) fits() (uint64, error) {
	none := m.slots == 0 && m.growth == 0 && m.groups == 0 && m.maxSteps == 0 && m.stashLimit == 0
	err := first(
		must(none, "a ribbon filter has something that it cannot have"),
		must(m.features&featStatic != 0, "a ribbon filter is not static"),
		must(m.core >= 1 && m.core <= 32, "fingerprints have %d bits", m.core),
		must(m.reserve < shard && (m.reserve == 0 || m.core < 32), "a share of %d / 65536 has one bit more", m.reserve),
		must(m.capacity <= 1<<44 && m.maxCapacity == m.capacity, "capacity %d, max capacity %d", m.capacity, m.maxCapacity),
		must(m.judged <= 1<<45 && (m.judged == 0 || m.valueBits == 0), "%d keys are judged", m.judged),
		must(m.count <= m.capacity, "there are %d keys of %d", m.count, m.capacity),
		must(m.stashed <= m.count || m.stashed-m.count <= m.judged, "%d keys are listed", m.stashed))
	if err != nil {
		return 0, err
	}
	m.first = layersFor(m.capacity, uint64(m.core+m.valueBits), m.reserve)
	m.verdict = layersFor(m.judged, 1, 0)
	size := m.layOut()
	return size, first(
		must(m.chunks == up(m.first[0].windows, shard)/shard, "there are %d chunks", m.chunks),
		must(m.absent() <= m.fpr*(1+1e-6), "the rate is %v", m.fpr))
}

// layers calls with each layer of both matrices.
func (m *matrices) layers(each func(*layer)) {
	for _, matrix := range []matrix{m.first, m.verdict} {
		for i := range matrix {
			each(&matrix[i])
		}
	}
}

// layOut finds the places of blocks and marks, and tells the size of the table.
func (m *matrices) layOut() uint64 {
	end := uint64(0)
	m.layers(func(l *layer) {
		l.offset = end
		end = up(end+l.size(), 64)
	})
	behind := end + 64
	m.layers(func(l *layer) {
		l.marksAt = end
		end += l.marks()
	})
	return up(max(end, behind), 8)
}

// absent is the largest share of absent keys that a layer finds.
func (m *matrices) absent() float64 {
	most := 0.0
	for i := range m.first {
		l := &m.first[i]
		most = max(most, 1-float64(l.before(l.split))/float64(l.windows)/2)
	}
	if m.judged != 0 {
		most /= 2
	}
	return math.Ldexp(most, -int(m.core))
}

func (m *matrices) use(table, list []byte) {
	m.table, m.list = table, list
	m.layers(func(l *layer) { l.table = table })
}

// ------------------------------------------------------------- lookups

// bumped tells whether the window of a key is one that its mark bumps.
func (l *layer) bumped(window uint64) bool {
	mark := window / markedFor
	bumps := [4]uint64{0, 16, 48, 128}
	return window%markedFor < bumps[l.table[l.marksAt+mark/4]>>(mark%4*2)&3]
}

// place is where the key of a hash is: its layer, nil if all bump it, the hash it has there, and its window.
func (m matrix) place(hash uint64) (*layer, uint64, uint64) {
	for i := range m {
		window, _ := bits.Mul64(hash, m[i].windows)
		if !m[i].bumped(window) {
			return &m[i], hash, window
		}
		x := hash * 0xbea225f9eb34556d
		y := (x ^ x>>32) * 0x94d049bb133111eb
		hash = y ^ y>>32
	}
	return nil, 0, 0
}

// asked is the rows of a key: which of those of its window it takes the XOR of.
func asked(hash uint64) uint64 {
	x := hash * 0x9e3779b97f4a7c15
	return x ^ x>>32
}

// block is where a block starts, and its columns.
func (l *layer) block(number uint64) (at, columns uint64) {
	at = l.offset + 8*(number*l.columns+min(number, l.split))
	if number < l.split {
		return at, l.columns + 1
	}
	return at, l.columns
}

// tell is what a column tells a key.
func (l *layer) tell(window, rows, column uint64) uint64 {
	number, shift := window/64+window/shard, window%64
	at, _ := l.block(number)
	next, _ := l.block(number + 1)
	seen := le64(l.table, int(at+8*column)) >> shift
	if shift != 0 {
		seen |= le64(l.table, int(next+8*column)) << (64 - shift)
	}
	return uint64(bits.OnesCount64(seen&(rows|1)) & 1)
}

// matches tells whether the first matrix tells the key its fingerprint.
func (m *matrices) matches(l *layer, hash, window uint64) bool {
	rows := asked(hash)
	fingerprint := rows * 0xd6e8feb86659fd93 >> 31
	for j := range uint64(m.core) {
		if l.tell(window, rows, j) != fingerprint>>j&1 {
			return false
		}
	}
	number := window/64 + window/shard
	return number+1 >= l.split || l.tell(window, rows, l.columns) == fingerprint>>m.core&1
}

// listed looks for a hash in the list.
func (m *matrices) listed(hash uint64) (number uint64, found bool) {
	n := len(m.list) / 16
	i := sort.Search(n, func(i int) bool { return le64(m.list, 16*i) >= hash })
	if i == n || le64(m.list, 16*i) != hash {
		return 0, false
	}
	return le64(m.list, 16*i+8), true
}

// lookup finds a key and its value.
func (m *matrices) lookup(hash uint64) (value uint64, found bool) {
	if m.count == 0 {
		return 0, false
	}
	l, now, window := m.first.place(hash)
	if l == nil {
		return m.judge(hash)
	}
	if !m.matches(l, now, window) {
		return 0, false
	}
	if m.judged != 0 {
		l, now, window := m.verdict.place(hash)
		if l == nil {
			return m.judge(hash)
		}
		return 0, l.tell(window, asked(now), 0) == 1
	}
	for j := range uint64(m.valueBits) {
		value |= l.tell(window, asked(now), uint64(m.core)+j) << j
	}
	return value, true
}

// judge finds a key in the list.
func (m *matrices) judge(hash uint64) (value uint64, found bool) {
	number, found := m.listed(hash)
	if m.judged != 0 {
		return 0, found && number == 1
	}
	return number, found
}

func (m *matrices) contains(hash uint64) bool {
	_, found := m.lookup(hash)
	return found
}

func (m *matrices) find(hash uint64, each func(value, copies uint64) bool) {
	if value, found := m.lookup(hash); found {
		each(value, 1)
	}
}

func (m *matrices) walk(func(Entry) bool) bool { return true }

// ------------------------------------------------------------- checks

func (m *matrices) check() error {
	var err error
	end := uint64(0)
	m.layers(func(l *layer) { // zeros behind the blocks of each, and behind its last mark
		padding := m.table[l.offset+l.size() : up(l.offset+l.size(), 64)]
		marks := up(l.windows, markedFor) / markedFor
		if !isZero(padding) || !zeroBits(m.table, 8*l.marksAt+2*marks, 8*(l.marksAt+l.marks())) {
			err = wrong(ErrCorrupt, "a layer has something behind its end")
		}
		end = l.marksAt + l.marks()
	})
	if err == nil && !isZero(m.table[end:]) {
		err = wrong(ErrCorrupt, "the table has something behind its end")
	}
	if err == nil && m.count == 0 && !(isZero(m.table) && len(m.list) == 0) {
		err = wrong(ErrCorrupt, "a filter without keys is not empty")
	}
	return first(err, m.checkList())
}

func (m *matrices) checkList() error {
	most := low(m.valueBits)
	if m.judged != 0 {
		most = 1
	}
	for i := 0; i < len(m.list); i += 16 {
		hash, number := le64(m.list, i), le64(m.list, i+8)
		if i > 0 && le64(m.list, i-16) >= hash {
			return wrong(ErrCorrupt, "the list is not in order")
		}
		if number > most {
			return wrong(ErrCorrupt, "the list has the number %d", number)
		}
		if !m.bumps(hash, number) {
			return wrong(ErrCorrupt, "the list has a key that a layer has room for")
		}
	}
	return nil
}

// bumps tells whether a key has to be in the list.
func (m *matrices) bumps(hash, number uint64) bool {
	byFirst, _, _ := m.first.place(hash)
	if m.judged == 0 {
		return byFirst == nil
	}
	byVerdict, _, _ := m.verdict.place(hash)
	return byVerdict == nil || number == 1 && byFirst == nil
}
