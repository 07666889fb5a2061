// SPDX-License-Identifier: MIT

package read

// recent is a filter that forgets: one that grows whose values are stamps, the ticks of their last refresh, modulo a power of two.
// The counts of its slices follow the first 64 bytes of the table:
//
//	| leaves | records | lag of a list, 8 bytes | zeros | keys of each age, 8 bytes each, up to 64 bytes | records of leaves, or a list |
type recent struct {
	growing
	listLag uint64
}

const (
	slicesMost   = 254
	tickBits     = 56
	featMultiset = 1 << 6
)

// checkSlices checks what the header says of them.
func (h *header) checkSlices() error {
	right := h.slices == 0 && h.tick == 0 ||
		h.slices >= 2 && h.slices <= slicesMost && h.tick>>tickBits == 0 && h.segmented &&
			h.family >= bucketed && h.family <= breadcrumb && h.valueBits == lg(h.slices+1)+1 &&
			h.features&(featDelete|featMultiset) == 0
	return must(right, "%d slices and the tick %d make no sense", h.slices, h.tick)
}

// countsEnd is where the counts of the slices end.
func (h *header) countsEnd() uint64 { return leafSize + 8*h.slices }

// recordsAt is where the records of leaves begin, or a list.
func (h *header) recordsAt() uint64 { return up(h.countsEnd(), leafSize) }

// ageOf is the age of an entry; it has expired if that is not less than the slices, and is of a slice to come if it is below 0.
func (r *recent) ageOf(stamp, lag uint64) int {
	oldest := r.slices - 1
	behind := (stamp - (r.tick - lag) + oldest) & low(r.valueBits)
	return int(lag+oldest) - int(behind)
}

func (r *recent) ofAge(age uint64) uint64 { return le64(r.data, int(leafSize+8*age)) }

func (r *recent) counts() []uint64 {
	counts := make([]uint64, r.slices)
	for age := range counts {
		counts[age] = r.ofAge(uint64(age))
	}
	return counts
}

// live is the number of keys that are there.
func (r *recent) live() (n uint64) {
	for age := range r.slices {
		n += r.ofAge(age)
	}
	return n
}

// lagOf is that of what holds a hash.
func (r *recent) lagOf(hash uint64) uint64 {
	if len(r.bodies) == 0 {
		return r.listLag
	}
	b, _, _ := r.bodyOfHash(hash)
	return b.lag
}

// findAges calls with the age and the copies of each entry that looks like a key and is there, until it returns false.
func (r *recent) findAges(hash uint64, each func(age int, copies uint64) bool) {
	lag := r.lagOf(hash)
	r.growing.find(hash, func(stamp, copies uint64) bool {
		age := r.ageOf(stamp, lag)
		return age >= int(r.slices) || each(age, copies)
	})
}

// find tells no stamps: they are no values.
func (r *recent) find(hash uint64, each func(value, copies uint64) bool) {
	r.findAges(hash, func(_ int, copies uint64) bool { return each(0, copies) })
}

// age is that of a key, and whether it is there.
func (r *recent) age(hash uint64) (age int, found bool) {
	r.findAges(hash, func(its int, _ uint64) bool {
		if !found || its < age {
			age, found = its, true
		}
		return true
	})
	return age, found
}

func (r *recent) contains(hash uint64) bool {
	if len(r.bodies) > 0 && r.lagOf(hash) == 0 {
		return r.growing.contains(hash)
	}
	_, found := r.age(hash)
	return found
}

// walkAll calls with every entry and its age, also those that have expired.
func (r *recent) walkAll(each func(entry Entry, age int) bool) bool {
	if len(r.bodies) == 0 {
		return r.walkList(func(entry Entry) bool { return each(entry, r.ageOf(entry.Value, r.listLag)) })
	}
	for i := range r.bodies {
		b := &r.bodies[i]
		if !b.walk(func(entry Entry) bool { return each(r.outside(r.partOf(b, entry), entry), r.ageOf(entry.Value, b.lag)) }) {
			return false
		}
	}
	return true
}

func (r *recent) walk(each func(Entry) bool) bool {
	return r.walkAll(func(entry Entry, age int) bool {
		entry.Value = uint64(age)
		return age >= int(r.slices) || each(entry)
	})
}

func (r *recent) check() error {
	leaves, stamps := le64(r.data, 0), uint64(1)<<r.valueBits
	r.listLag = le64(r.data, 16)
	if r.listLag > stamps || leaves > 0 && r.listLag > 0 {
		return wrong(ErrFormat, "a list that was swept %d ticks ago makes no sense", r.listLag)
	}
	if !isZero(r.data[r.countsEnd():r.recordsAt()]) {
		return wrong(ErrFormat, "there is something behind the counts of the slices")
	}
	if err := r.growing.check(); err != nil {
		return err
	}
	for i := range r.bodies {
		if r.bodies[i].lag > stamps {
			return wrong(ErrFormat, "a body that was swept %d ticks ago makes no sense", r.bodies[i].lag)
		}
	}
	var found [slicesMost]uint64
	past := r.walkAll(func(_ Entry, age int) bool {
		if age >= 0 && age < int(r.slices) {
			found[age]++
		}
		return age >= 0
	})
	if !past {
		return wrong(ErrCorrupt, "an entry was refreshed in a slice to come")
	}
	for age := range r.slices {
		if found[age] != r.ofAge(age) {
			return wrong(ErrCorrupt, "%d keys are %d slices old, not %d", found[age], age, r.ofAge(age))
		}
	}
	return nil
}
