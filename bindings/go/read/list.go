// SPDX-License-Identifier: MIT

package read

import (
	"cmp"
	"sort"
)

// list is an exact list of entries, as a file has it: home, fingerprint, copies and value of each, 24 bytes.
type list struct {
	data []byte
	// tagAt is the first bit of a fingerprint that does not count before the value does: entries are in order of home,
	// the bits below it, value, and the bits from it on.
	tagAt uint
}

func (l list) len() int { return len(l.data) / listedSize }

func (l list) home(i int) uint64        { return le64(l.data, listedSize*i) }
func (l list) fingerprint(i int) uint64 { return le64(l.data, listedSize*i+8) }
func (l list) low(i int) uint64         { return l.fingerprint(i) & (1<<l.tagAt - 1) }
func (l list) tag(i int) uint64         { return l.fingerprint(i) >> l.tagAt }
func (l list) copies(i int) uint64      { return uint64(le32(l.data, listedSize*i+16)) }
func (l list) value(i int) uint64       { return uint64(le32(l.data, listedSize*i+20)) }

// compare compares an entry with a home and the low bits of a fingerprint.
func (l list) compare(i int, home, low uint64) int {
	return cmp.Or(cmp.Compare(l.home(i), home), cmp.Compare(l.low(i), low))
}

// find calls with the number of each entry of a home and the low bits of a fingerprint, until it returns false.
func (l list) find(home, low uint64, each func(i int) bool) {
	i := sort.Search(l.len(), func(i int) bool { return l.compare(i, home, low) >= 0 })
	for ; i < l.len() && l.compare(i, home, low) == 0; i++ {
		if !each(i) {
			return
		}
	}
}

// walk calls with each entry as often as it has copies.
func (l list) walk(each func(Entry) bool) bool {
	for i := range l.len() {
		for range l.copies(i) {
			if !each(Entry{l.home(i), l.fingerprint(i), l.value(i)}) {
				return false
			}
		}
	}
	return true
}

// check checks the order, and each entry by the table's own rules. It tells how many copies there are.
func (l list) check(entry func(home, fingerprint, value uint64) error) (copies uint64, err error) {
	for i := range l.len() {
		if l.copies(i) == 0 {
			return 0, wrong(ErrCorrupt, "an entry of a list has no copies")
		}
		if i > 0 && cmp.Or(l.compare(i-1, l.home(i), l.low(i)), cmp.Compare(l.value(i-1), l.value(i)),
			cmp.Compare(l.tag(i-1), l.tag(i))) >= 0 {
			return 0, wrong(ErrCorrupt, "a list is not in order")
		}
		if err := entry(l.home(i), l.fingerprint(i), l.value(i)); err != nil {
			return 0, err
		}
		copies += l.copies(i)
	}
	return copies, nil
}
