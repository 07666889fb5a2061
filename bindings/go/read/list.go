// SPDX-License-Identifier: MIT

package read

import (
	"cmp"
	"sort"
)

// list is an exact list of entries, as a file has it: home, fingerprint, copies and value of each, 24 bytes.
type list []byte

func (l list) len() int { return len(l) / listedSize }

func (l list) home(i int) uint64        { return le64(l, listedSize*i) }
func (l list) fingerprint(i int) uint64 { return le64(l, listedSize*i+8) }
func (l list) copies(i int) uint64      { return uint64(le32(l, listedSize*i+16)) }
func (l list) value(i int) uint64       { return uint64(le32(l, listedSize*i+20)) }

// compare compares the entry with an identity.
func (l list) compare(i int, home, fingerprint uint64) int {
	return cmp.Or(cmp.Compare(l.home(i), home), cmp.Compare(l.fingerprint(i), fingerprint))
}

// find calls with value and copies of each entry of an identity, until it returns false.
func (l list) find(home, fingerprint uint64, each func(value, copies uint64) bool) {
	i := sort.Search(l.len(), func(i int) bool { return l.compare(i, home, fingerprint) >= 0 })
	for ; i < l.len() && l.compare(i, home, fingerprint) == 0; i++ {
		if !each(l.value(i), l.copies(i)) {
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
		if i > 0 && cmp.Or(l.compare(i-1, l.home(i), l.fingerprint(i)), cmp.Compare(l.value(i-1), l.value(i))) >= 0 {
			return 0, wrong(ErrCorrupt, "a list is not in order")
		}
		if err := entry(l.home(i), l.fingerprint(i), l.value(i)); err != nil {
			return 0, err
		}
		copies += l.copies(i)
	}
	return copies, nil
}
