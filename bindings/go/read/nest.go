// SPDX-License-Identifier: MIT

package read

import "math/bits"

// nest is the table of families 1 to 6.
//
//	low bits                                                                            high bits
//	| core, c bits | choice, 1 bit | offset, log2(l) bits | tag, t bits | value, u bits |
//	                 bucketed and    windowed               bodies of filters
//	                 windowed                               that grow
type nest struct {
	*header
	partner uint64 // what places of partners are keyed with
	data    []byte
	stash   list

	place  uint   // bits of choice and offset
	width  uint   // w
	places uint64 // slots of a chunk: S
	stride uint64
}

func (n *nest) coded() bool {
	return n.family == semisort || n.family == bucketed && n.features&featCompact != 0
}

// either tells whether a key's two groups are alike, so that only the lower one can be its home.
func (n *nest) either() bool { return n.family <= chunked }

func (n *nest) fits() (uint64, error) {
	if err := n.checkShape(); err != nil {
		return 0, err
	}
	if err := n.checkWidths(); err != nil {
		return 0, err
	}
	bytes := up(n.places*uint64(n.width), 8)/8 + 8
	if n.coded() {
		bytes = up(n.groups*uint64(4*n.width-4), 8)/8 + 8
	}
	n.stride = bytes
	if n.chunks > 1 {
		n.stride = up(bytes, 64)
	}
	high, size := bits.Mul64(n.chunks, n.stride)
	return size, must(high == 0 && size <= most, "the table is too large")
}

func (n *nest) checkShape() error {
	right := n.slots == 2 || n.slots == 4
	switch {
	case n.coded():
		right = n.slots == 4
	case n.family == cuckoo || n.family == simplified || n.family == chunked:
		right = right || n.slots == 8
	}
	return first(
		must(right, "%v filters have no %d slots", n.family, n.slots),
		must(n.groups >= 2 && (isPower(n.groups) || n.family == bucketed || n.family == windowed), "there are %d groups", n.groups),
		must(n.chunks >= 1 && (n.chunks == 1 || n.family != cuckoo && n.family != semisort), "there are %d chunks", n.chunks),
		must(n.reserve < n.slots, "%d slots are held back", n.reserve),
		must(n.maxSteps >= 1 && n.maxSteps <= 8192, "max steps is %d", n.maxSteps))
}

func (n *nest) checkWidths() error {
	c, t := n.core, n.tag
	if c < 1 || c > 56 || t > 56 {
		return wrong(ErrFormat, "core bits %d, tags of %d bits", c, t)
	}
	n.place = 0
	if n.family == bucketed {
		n.place = 1
	} else if n.family == windowed {
		n.place = 1 + log2(n.slots)
	}
	n.width = c + n.place + t + n.valueBits
	n.places = n.groups * n.slots
	if n.family == windowed {
		n.places = n.groups + n.slots - 1
	}
	high, all := bits.Mul64(n.chunks, n.groups)
	return first(
		must(!n.coded() || c >= 5, "coded buckets have %d core bits", c),
		must(n.family != simplified || c >= log2(n.groups), "%d core bits for %d groups", c, n.groups),
		must(n.width <= 56 && n.width >= 2, "slots of %d bits", n.width),
		must(c+t <= 63 && high == 0 && all < 1<<(64-c-t), "a hash has not enough bits"),
		must(n.groups <= 1<<46/n.slots, "a chunk has too many slots"),
		must(n.stashLimit <= 1024+n.slots*n.groups/4, "the stash takes %d entries", n.stashLimit),
		must(n.stashed == 0 || n.stashLimit != 0, "there is a stash where none may be"))
}

func (n *nest) use(table, stash []byte) { n.data, n.stash = table, list{stash, 64} }

// ------------------------------------------------------------- from a hash to its places

// identity is what a filter keeps of a key: home and fingerprint, taken apart.
type identity struct {
	chunk, base uint64 // the group by which it is known
	core, tag   uint64
}

func (n *nest) home(id identity) uint64        { return id.chunk*n.groups + id.base }
func (n *nest) fingerprint(id identity) uint64 { return id.core | id.tag<<n.core }

func spread(x uint64) uint64 {
	x *= 0x9fb21c651e98df25
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

// distance is what leads from a group to its partner.
func (n *nest) distance(core uint64) uint64 {
	if n.family == simplified {
		return core & (n.groups - 1)
	}
	high, _ := bits.Mul64(spread(core&low(12)^n.partner), n.groups-1)
	return 1 + high
}

// lower is the group by which an entry of a group is known.
func (n *nest) lower(group, core uint64) uint64 {
	if n.either() {
		return min(group, group^n.distance(core))
	}
	return group
}

// cut takes a hash apart.
func (n *nest) cut(hash uint64) identity {
	var id identity
	id.chunk, hash = bits.Mul64(hash, n.chunks)
	id.base, hash = bits.Mul64(hash, n.groups)
	id.core = n.cutCore(hash)
	id.base = n.lower(id.base, id.core)
	return id
}

func (n *nest) cutCore(hash uint64) uint64 {
	if n.family != simplified {
		high, _ := bits.Mul64(hash, low(n.core))
		return 1 + high
	}
	lowest, hash := bits.Mul64(hash, n.groups-1)
	high, _ := bits.Mul64(hash, 1<<n.core/n.groups)
	return 1 + lowest + n.groups*high
}

// groupsOf gives both groups. In families 5 and 6 the second one has the choice 1.
func (n *nest) groupsOf(id identity) (first, second uint64) {
	if n.either() {
		return id.base, id.base ^ n.distance(id.core)
	}
	return id.base, (id.base + n.distance(id.core)) % n.groups
}

// ------------------------------------------------------------- as a body of a filter that grows

func (n *nest) tagAt() uint { return n.core }

func (n *nest) identityOfHash(hash uint64) (home, fingerprint uint64) {
	id := n.cut(hash)
	return n.home(id), n.fingerprint(id)
}

func (n *nest) possible(fingerprint uint64) bool {
	return fingerprint > 0 && (n.family != simplified || fingerprint%n.groups > 0 && fingerprint/n.groups < 1<<n.core/n.groups)
}

func (n *nest) lowest(home, fingerprint uint64) uint64 {
	core := fingerprint & low(n.core)
	if n.family != simplified {
		return uncut(home, n.groups, uncut(core-1, low(n.core), 0))
	}
	rest := uncut(core/n.groups, 1<<n.core/n.groups, 0)
	return uncut(home, n.groups, uncut(core%n.groups-1, n.groups-1, rest))
}

func (n *nest) lent(home, fingerprint uint64) uint64 {
	cores := low(n.core)
	return lent(home*cores + fingerprint&cores - 1)
}

func (n *nest) containsTag(hash, tag uint64) bool {
	found := false
	n.findTag(hash, tag, func(_, _ uint64) bool {
		found = true
		return false
	})
	return found
}

// ------------------------------------------------------------- slots

// bitsAt reads up to 56 bits of a chunk.
func (n *nest) bitsAt(chunk, at uint64, width uint) uint64 {
	return le64(n.data, int(chunk*n.stride+at/8)) >> (at % 8) & low(width)
}

// group reads the slots of a bucket or window.
func (n *nest) group(chunk, group uint64, room *[8]uint64) []uint64 {
	if n.coded() {
		n.decode(chunk, group, room)
		return room[:4]
	}
	at := group * n.slots
	if n.family == windowed {
		at = group
	}
	for i := range n.slots {
		room[i] = n.bitsAt(chunk, (at+i)*uint64(n.width), n.width)
	}
	return room[:n.slots]
}

// decode reads a coded bucket; false if its code is none.
func (n *nest) decode(chunk, group uint64, room *[8]uint64) bool {
	at := group * uint64(4*n.width-4)
	code := n.bitsAt(chunk, at, 12)
	if code >= uint64(len(nibbles)) {
		*room = [8]uint64{}
		return false
	}
	for i, nibble := range nibbles[code] {
		rest := n.bitsAt(chunk, at+12+uint64(i)*uint64(n.width-4), n.width-4)
		room[i] = rest<<4 | uint64(nibble)
	}
	return true
}

// nibbles has the four of each code.
var nibbles = func() (all [3876][4]uint8) {
	code := 0
	for d := range uint8(16) { // the last is the highest and counts most
		for c := range d + 1 {
			for b := range c + 1 {
				for a := range b + 1 {
					all[code] = [4]uint8{a, b, c, d}
					code++
				}
			}
		}
	}
	return all
}()

// as is what the key looks like in a slot of its groups, without the value.
func (n *nest) as(id identity, choice, offset uint64) uint64 {
	slot := id.core
	if n.place > 0 {
		slot |= choice<<n.core | offset<<(n.core+1)
	}
	return slot | id.tag<<(n.core+n.place)
}

func (n *nest) contains(hash uint64) bool { return n.containsTag(hash, 0) }

func (n *nest) find(hash uint64, each func(value, copies uint64) bool) { n.findTag(hash, 0, each) }

func (n *nest) findTag(hash, tag uint64, each func(value, copies uint64) bool) {
	id := n.cut(hash)
	id.tag = tag
	first, second := n.groupsOf(id)
	bare := n.width - n.valueBits
	var room [8]uint64
	full := true
	for choice, group := range [2]uint64{first, second} {
		for i, slot := range n.group(id.chunk, group, &room) {
			offset := uint64(0)
			if n.family == windowed {
				offset = uint64(i)
			}
			if slot&low(bare) == n.as(id, uint64(choice), offset) && !each(slot>>bare, 1) {
				return
			}
			full = full && (choice == 1 || slot != 0)
		}
	}
	if full {
		n.stash.find(n.home(id), n.fingerprint(id), func(i int) bool { return each(n.stash.value(i), n.stash.copies(i)) })
	}
}

// ------------------------------------------------------------- all entries

// walk takes the slots first, then the stash.
func (n *nest) walk(each func(Entry) bool) bool {
	for chunk := range n.chunks {
		if !n.walkChunk(chunk, func(at, slot uint64) bool {
			return slot == 0 || each(n.entry(chunk, at, slot))
		}) {
			return false
		}
	}
	return n.stash.walk(each)
}

// walkChunk calls with every slot and its number.
func (n *nest) walkChunk(chunk uint64, each func(at, slot uint64) bool) bool {
	var room [8]uint64
	if n.coded() {
		for group := range n.groups {
			for i, slot := range n.group(chunk, group, &room) {
				if !each(group*4+uint64(i), slot) {
					return false
				}
			}
		}
		return true
	}
	for at := range n.places {
		if !each(at, n.bitsAt(chunk, at*uint64(n.width), n.width)) {
			return false
		}
	}
	return true
}

// groupOf is the group that a slot stands for. That of a damaged window may be no group.
func (n *nest) groupOf(at, slot uint64) uint64 {
	if n.family == windowed {
		return at - slot>>(n.core+1)&(n.slots-1)
	}
	return at / n.slots
}

// identityOf is that of a slot.
func (n *nest) identityOf(chunk, group, slot uint64) identity {
	core := slot & low(n.core)
	if !n.either() && slot>>n.core&1 == 1 {
		group = (group + n.groups - n.distance(core)) % n.groups
	}
	return identity{chunk, n.lower(group, core), core, slot >> (n.core + n.place) & low(n.tag)}
}

func (n *nest) entry(chunk, at, slot uint64) Entry {
	id := n.identityOf(chunk, n.groupOf(at, slot), slot)
	return Entry{n.home(id), n.fingerprint(id), slot >> (n.width - n.valueBits)}
}

// ------------------------------------------------------------- checks

func (n *nest) check() error {
	entries := uint64(0)
	for chunk := range n.chunks {
		taken, err := n.checkChunk(chunk)
		if err != nil {
			return err
		}
		entries += taken
	}
	copies, err := n.stash.check(n.checkListed)
	if err != nil {
		return err
	}
	if entries+copies != n.count {
		return wrong(ErrCorrupt, "there are %d entries, not %d", entries+copies, n.count)
	}
	return nil
}

func (n *nest) checkChunk(chunk uint64) (taken uint64, err error) {
	if n.coded() {
		if err := n.checkCodes(chunk); err != nil {
			return 0, err
		}
	}
	n.walkChunk(chunk, func(at, slot uint64) bool {
		if slot != 0 {
			taken++
			err = n.checkSlot(at, slot)
		}
		return err == nil
	})
	used := n.places * uint64(n.width)
	if n.coded() {
		used = n.groups * uint64(4*n.width-4)
	}
	end := n.data[chunk*n.stride+used/8 : (chunk+1)*n.stride]
	if err == nil && (end[0]>>(used%8) != 0 || !isZero(end[1:])) {
		err = wrong(ErrCorrupt, "there is something behind the last slot")
	}
	return taken, err
}

// checkCodes checks that buckets are in order.
func (n *nest) checkCodes(chunk uint64) error {
	var room [8]uint64
	for group := range n.groups {
		if !n.decode(chunk, group, &room) {
			return wrong(ErrCorrupt, "bucket %d has a code that is none", group)
		}
		for i := range 3 {
			if room[i]&15 == room[i+1]&15 && room[i] > room[i+1] {
				return wrong(ErrCorrupt, "bucket %d is not in order", group)
			}
		}
	}
	return nil
}

func (n *nest) checkSlot(at, slot uint64) error {
	if slot&low(n.core) == 0 {
		return wrong(ErrCorrupt, "slot %d has no fingerprint", at)
	}
	if n.groupOf(at, slot) >= n.groups {
		return wrong(ErrCorrupt, "slot %d belongs to no window", at)
	}
	if !n.isCore(slot & low(n.core)) {
		return wrong(ErrCorrupt, "slot %d has a fingerprint that no key has", at)
	}
	return nil
}

// isCore tells whether there are keys with this core.
func (n *nest) isCore(core uint64) bool {
	if n.family == simplified {
		return core&(n.groups-1) != 0
	}
	return core != 0
}

// identityIs takes an entry of a list apart; false if no key is like that.
func (n *nest) identityIs(home, fingerprint uint64) (id identity, ok bool) {
	id = identity{home / n.groups, home % n.groups, fingerprint & low(n.core), fingerprint >> n.core}
	ok = id.chunk < n.chunks && n.isCore(id.core) && id.tag <= low(n.tag)
	return id, ok && id.base == n.lower(id.base, id.core)
}

// checkListed checks an entry of the stash.
func (n *nest) checkListed(home, fingerprint, value uint64) error {
	id, ok := n.identityIs(home, fingerprint)
	if !ok || value > low(n.valueBits) {
		return wrong(ErrCorrupt, "the stash has an entry that no key has")
	}
	var room [8]uint64
	for _, slot := range n.group(id.chunk, id.base, &room) {
		if slot == 0 {
			return wrong(ErrCorrupt, "the stash has an entry whose group has room")
		}
	}
	return nil
}
