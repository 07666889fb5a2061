#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads nidus files without the nidus library: another reader, written from docs/format.md alone.

    nidus_read.py check FILE...             says ok, or what is wrong
    nidus_read.py info FILE                 the header's fields
    nidus_read.py dump FILE                 the entries, "home fingerprint" per line, and their
                                            values if the filter keeps any
    nidus_read.py query FILE [KEY...]       prints the keys that are (probably) in it
        -u, --u64    keys are 64-bit integers
        -x, --hash   keys are hashes already, 64-bit integers
        -c, --copies prints "copies key" for every key instead, 0 if it is absent
        -v, --values prints "value key" for every value that is found
    Keys come one per line from standard input if none is given.

Every file is checked completely before anything is answered. Python 3.9 or newer and its standard
library suffice. It is slow: it exists to show that the format needs no code of ours, to read an old
file on some far day, and to test the library, which has to agree with it. As a module:

    import nidus_read
    birds = nidus_read.read("birds.nidus")
    birds.count_key(b"heron"), birds.count_u64(7), sorted(birds.entries())
    birds.values_hash(birds.hash_bytes(b"heron"))
"""
import argparse
import itertools
import math
import struct
import sys
from collections import Counter

from xxh3 import xxh3_64

MASK = 2**64 - 1
GOLDEN, MULTIPLIER, STRONG = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0x9FB21C651E98DF25
HOP_BITS = 12  # of a fingerprint: what its second place depends on

MAGIC = b"\x89nidus\r\n"
VERSION = 1
COMPACT = 256  # of the features: family 5 with coded buckets
STATIC = 512  # family 10, which never changes
HEADER = 256
FAMILIES = ("auto", "cuckoo", "semisort", "simplified", "chunked", "bucketed", "windowed",
            "breadcrumb", "bloom", "blocked-bloom", "ribbon")

# Where the fields of the header stand, and as what.
FIELDS = {
    "version": (8, "I"), "header_size": (12, "I"), "family": (16, "I"), "features": (20, "I"),
    "seed": (24, "Q"), "capacity": (32, "Q"), "max_capacity": (40, "Q"), "fpr": (48, "d"),
    "slots": (56, "I"), "core_bits": (60, "I"), "growth_bits": (64, "I"), "level": (68, "I"),
    "chunks": (72, "Q"), "groups": (80, "Q"), "reserve": (88, "I"), "max_steps": (92, "I"),
    "stash_limit": (96, "I"), "borrowed": (100, "I"), "count": (104, "Q"), "stashed": (112, "Q"),
    "sections": (120, "I"), "more": (124, "I"),
    "table_kind": (128, "I"), "table_offset": (136, "Q"), "table_size": (144, "Q"),
    "table_checksum": (152, "Q"),
    "stash_kind": (160, "I"), "stash_offset": (168, "Q"), "stash_size": (176, "Q"),
    "stash_checksum": (184, "Q"), "value_bits": (192, "I"), "judged": (200, "Q"),
    "checksum": (248, "Q"),
}

# The same of the record that follows the body of a filter in several parts.
RECORD = 128
RECORD_FIELDS = {
    "position": (0, "Q"), "places": (8, "Q"), "inserts": (16, "I"), "uncounted": (20, "I"),
    "old": (24, "I"), "returning": (28, "I"), "returned_value": (32, "Q"),
    "returned_home": (40, "Q"),
    "returned_fingerprint": (48, "Q"), "left": (56, "q"), "overflowed": (64, "Q"),
    "list_checksum": (72, "Q"), "checksum": (120, "Q"),
}
TURN, UNCOUNTED_MOST = 32, 65536


class BadFile(Exception):
    """The file breaks a rule of the format; the message says which."""


def require(condition, what):
    if not condition:
        raise BadFile(what)


# ------------------------------------------------------------------------------ numbers


def cut(h, choices):
    """Takes one of so many choices from a hash: the choice, and what is left of the hash."""
    return h * choices >> 64, h * choices & MASK


def fold(product):
    """The high half of 128 bits XOR the low one."""
    return product >> 64 ^ product & MASK


def multiplier_from(x):
    """The next number from x on that is odd and has no factor in common with 2^128 - 1."""
    x |= 1
    while math.gcd(x, (1 << 128) - 1) != 1:
        x = x + 2 & MASK
    return x


def mix(x):
    x = (x ^ x >> 32) * MULTIPLIER & MASK
    x = (x ^ x >> 32) * MULTIPLIER & MASK
    return x ^ x >> 32


def up(size, alignment):
    return -(-size // alignment) * alignment


def is_power_of_two(x):
    return x > 0 and x & x - 1 == 0


def bits(data, at, count):
    """Bits at to at + count - 1 of bytes; bit 0 is the lowest of the first byte."""
    word = int.from_bytes(data[at // 8:(at + count + 7) // 8], "little")
    return word >> at % 8 & (1 << count) - 1


# ------------------------------------------------------------------------------- header


class Header:
    """The fields of a file's header as attributes, checked."""

    def __init__(self, data):
        require(data[:8] == MAGIC, "this is not a nidus file")
        require(len(data) >= HEADER, "the file is too short for a header")
        for name, (at, form) in FIELDS.items():
            setattr(self, name, struct.unpack_from("<" + form, data, at)[0])
        require(self.version == VERSION,
                f"format version {self.version}; this program reads version {VERSION}")
        require(self.checksum == xxh3_64(data[:248]), "the header's checksum does not match")
        require(self.header_size == HEADER and self.sections == 2,
                f"the header has another shape than version {VERSION}")
        require(data[:HEADER] == self.spelled() and self.more <= 1,
                "bytes of the header that mean nothing are not zero")
        self.check_fields()

    def spelled(self):
        data = bytearray(HEADER)
        data[:8] = MAGIC
        for name, (at, form) in FIELDS.items():
            struct.pack_into("<" + form, data, at, getattr(self, name))
        return bytes(data)

    def check_fields(self):
        require(1 <= self.family < len(FAMILIES), f"there is no family {self.family}")
        require(self.seed != 0, "the seed is 0")
        require(1 <= self.capacity <= self.max_capacity, "the capacities make no sense")
        require(0 < self.fpr < 1, "the rate makes no sense")
        require(max(self.core_bits, self.growth_bits, self.borrowed) <= 56 and self.level <= 44,
                "widths are absurd")
        require(self.value_bits <= (0 if self.family in (8, 9) else 32), "values are too wide")
        require(self.judged == 0 or self.family == 10, "only family 10 has a verdict")
        require(not self.features & STATIC or self.family == 10, "only family 10 is static")
        require(self.level <= self.growth_bits + self.borrowed,
                "the level is higher than there are address bits")
        require(self.stashed <= self.count + self.judged, "more entries in the stash than there are")
        require(not self.features & COMPACT or self.family == 5, "only family 5 can be compact")

    def check_sections(self, data, table_size):
        require((self.table_kind, self.stash_kind) == (0, 1), "the sections are of other kinds")
        stash_size = (16 if self.family == 10 else 24) * self.stashed
        require(self.table_size == table_size and self.stash_size == stash_size,
                "the sections' sizes do not follow from the other fields")
        at = up(HEADER, 4096 if table_size >= 4096 and not self.features & STATIC else 64)
        require(self.table_offset == at, "the table is not where it should be")
        require(self.stash_offset == up(at + table_size, 64), "the stash is not where it should be")
        self.end = self.stash_offset + self.stash_size
        require(len(data) >= self.end if self.more else len(data) == self.end,
                f"the file has {len(data)} bytes, not {self.end}")
        require(not any(data[HEADER:at]) and not any(data[at + table_size:self.stash_offset]),
                "what is between the sections is not zero")
        require(xxh3_64(self.table(data)) == self.table_checksum,
                "the table's checksum does not match")
        require(xxh3_64(self.stash(data)) == self.stash_checksum,
                "the stash's checksum does not match")

    def table(self, data):
        return data[self.table_offset:self.table_offset + self.table_size]

    def stash(self, data):
        return data[self.stash_offset:self.stash_offset + self.stash_size]


class Filter:
    """What all families have in common: the header, and hashes of keys.

    A family adds table_size() from the header alone, check() of what is in the sections, all() its
    entries as (home, fingerprint, value), and values_hash(), the values of a key's copies.
    """

    STASHED = "<QQII"  # home, fingerprint, copies, value

    def __init__(self, header, data):
        self.header = header
        self.lay_out()
        header.check_sections(data, self.table_size())
        self.table = header.table(data)
        self.stash = list(struct.iter_unpack(self.STASHED, header.stash(data)))
        self.before = mix(header.seed + GOLDEN & MASK)
        self.first = multiplier_from(mix(self.before + GOLDEN & MASK))
        self.second = multiplier_from(mix(self.first + GOLDEN & MASK))
        self.partner = mix(self.second + GOLDEN & MASK)
        self.count = header.count
        self.stashed = sum(entry[2] if len(entry) > 2 else 1 for entry in self.stash)
        self.check()

    def hash_bytes(self, key):
        return xxh3_64(key, self.header.seed)

    def hash_u64(self, key):
        x = fold((key + self.before & MASK) * self.first)
        return fold(x * self.second)

    def entries(self):
        """The entries, (home, fingerprint) each, and the value if the filter keeps any."""
        size = 3 if self.header.value_bits else 2
        return (entry[:size] for entry in self.all())

    def count_hash(self, hash_):
        """The copies of a key."""
        return len(self.values_hash(hash_))

    def count_key(self, key):
        return self.count_hash(self.hash_bytes(key))

    def count_u64(self, key):
        return self.count_hash(self.hash_u64(key))


# --------------------------------------------------------------------- families 1 to 6


class Nest(Filter):
    """Groups of slots: buckets, or windows that overlap."""

    # The lowest four bits of the values of a coded bucket, by its code.
    NIBBLES = sorted(itertools.combinations_with_replacement(range(16), 4), key=lambda n: n[::-1])

    def lay_out(self):
        h = self.header
        self.symmetric = h.family < 5  # the first and the second place cannot be told apart
        self.coded = h.family == 2 or bool(h.features & COMPACT)
        self.direct, self.windows = h.family == 3, h.family == 6
        self.check_geometry()
        self.groups = h.groups << h.level  # of a chunk, by now
        self.kept = max(h.growth_bits - h.level, 0)  # growth bits that slots still hold
        self.choice_bits = 0 if self.symmetric else 1
        self.offset_bits = h.slots.bit_length() - 1 if self.windows else 0
        self.value_at = h.core_bits + self.choice_bits + self.offset_bits + self.kept
        self.width = self.value_at + h.value_bits
        require(self.width + h.growth_bits - self.kept <= 56, "a slot is wider than 56 bits")
        require(self.width >= 2, "a slot is narrower than 2 bits")
        self.slots = self.groups + h.slots - 1 if self.windows else self.groups * h.slots
        self.used = self.groups * (4 * self.width - 4) if self.coded else self.slots * self.width
        self.stride = -(-self.used // 8) + 8
        if h.chunks > 1:
            self.stride = up(self.stride, 64)

    def check_geometry(self):
        h = self.header
        allowed = {1: (2, 4, 8), 2: (4,), 3: (2, 4, 8), 4: (2, 4, 8), 5: (2, 4), 6: (2, 4)}
        require(h.slots in allowed[h.family] and (h.slots == 4 or not self.coded),
                f"groups of {h.slots} slots")
        require(h.chunks >= 1 and (h.chunks == 1 or h.family > 2), f"{h.chunks} chunks")
        require(h.groups >= 2 and (is_power_of_two(h.groups) or not self.symmetric),
                f"{h.groups} groups")
        require(h.core_bits >= (5 if self.coded else 1), f"{h.core_bits} core bits")
        require(not self.direct or 2**h.core_bits >= h.groups,
                "fewer fingerprints than buckets of a chunk")
        require(h.reserve < h.slots and 1 <= h.max_steps <= 8192, "reserve or max steps are wrong")
        require(h.stash_limit <= 1024 + (h.slots * h.groups << h.level) // 4,
                f"a stash limit of {h.stash_limit}")
        require(h.borrowed == 0 or h.level == h.growth_bits + h.borrowed,
                "bits are borrowed, and growth bits are left")

    def table_size(self):
        return self.header.chunks * self.stride

    # ---- what a slot holds

    def chunk(self, number):
        return self.table[number * self.stride:(number + 1) * self.stride]

    def values(self, chunk, group):
        """The values of all slots of a group."""
        size, width = self.header.slots, self.width
        if not self.coded:
            start = group if self.windows else group * size
            return [bits(chunk, (start + at) * width, width) for at in range(size)]
        start, rest = group * (4 * width - 4), width - 4
        code = bits(chunk, start, 12)
        require(code < len(self.NIBBLES), "a bucket's code means nothing")
        return [nibble + 16 * bits(chunk, start + 12 + at * rest, rest)
                for at, nibble in enumerate(self.NIBBLES[code])]

    def spelled(self, core, choice, at, growth):
        """The value of a slot for an entry there."""
        value = core
        if self.choice_bits:
            value |= choice << self.header.core_bits
        if self.offset_bits:
            value |= at << self.header.core_bits + 1
        return value | (growth & (1 << self.kept) - 1) << self.value_at - self.kept

    # ---- from a fingerprint to its places

    def partner_hash(self, core):
        x = (core & MASK ^ self.partner) * STRONG & MASK
        x = (x ^ x >> 32) * MULTIPLIER & MASK
        return x ^ x >> 32

    def hop_hash(self, core):
        return self.partner_hash(core & (1 << HOP_BITS) - 1)

    def distance(self, core, groups):
        if self.direct:
            return core % groups
        return 1 + cut(self.hop_hash(core), groups - 1)[0]

    def borrowed_bits(self, core):
        return self.partner_hash(~core) & (1 << self.header.borrowed) - 1

    def address_bits(self, core, growth):
        return (growth >> self.kept << self.header.borrowed) + self.borrowed_bits(core)

    def twist(self, core, bits):
        """Families 1 to 4: by what so many bits below the base groups of two partners differ."""
        x = self.hop_hash(core)
        return cut(x if self.direct else cut(x, self.header.groups - 1)[1], 1 << bits)[0]

    def places(self, home, core, growth):
        """The two groups of an entry in its chunk; home is a base group of it."""
        h = self.header
        address = self.address_bits(core, growth)
        if not self.symmetric:
            first = (home << h.level) + address
            return first, (first + self.distance(core, self.groups)) % self.groups
        other = home ^ self.distance(core, h.groups)
        low, high = min(home, other), max(home, other)
        return (low << h.level) + address, (high << h.level) + (address ^ self.twist(core, h.level))

    def last_place(self, home, fingerprint):
        """The number of the last slot, over all chunks, in which an entry may lie."""
        h = self.header
        chunk, base = divmod(home, h.groups)
        core, growth = fingerprint & (1 << h.core_bits) - 1, fingerprint >> h.core_bits
        group = max(self.places(base, core, growth))
        first = group if self.windows else group * h.slots
        return chunk * self.slots + first + h.slots - 1

    def locate(self, hash_):
        """A key's chunk, base group (the lower one in families 1 to 4), core and growth bits."""
        h = self.header
        chunk, hash_ = cut(hash_, h.chunks)
        home, hash_ = cut(hash_, h.groups)
        growth, hash_ = cut(hash_, 1 << h.growth_bits)
        if self.direct:
            low, hash_ = cut(hash_, h.groups - 1)
            high, hash_ = cut(hash_, (1 << h.core_bits) // h.groups)
            core = 1 + low + h.groups * high
        else:
            low, hash_ = cut(hash_, (1 << h.core_bits) - 1)
            core = 1 + low
        other = home ^ self.distance(core, h.groups)
        if self.symmetric and other < home:
            home, growth = other, growth ^ self.twist(core, h.growth_bits)
        return chunk, home, core, growth

    def split(self, slot):
        """What a slot holds below its value, and the value."""
        return slot & (1 << self.value_at) - 1, slot >> self.value_at

    def values_hash(self, hash_):
        """The values of all entries that look like a key."""
        number, home, core, growth = self.locate(hash_)
        chunk = self.chunk(number)
        found, full = [], True  # whether the home is
        for choice, group in enumerate(self.places(home, core, growth)):
            for at, slot in enumerate(self.values(chunk, group)):
                low, value = self.split(slot)
                if low == self.spelled(core, choice, at, growth):
                    found.append(value)
                full = full and (slot != 0 or choice == 1)
        wanted = self.identity_of(hash_)
        return found + [entry[2] for entry in self.stashed_entries() if full and
                        entry[:2] == wanted]

    def stashed_entries(self):
        """The stash as (home, fingerprint, value), each as often as it has copies."""
        for home, fingerprint, copies, value in self.stash:
            yield from [(home, fingerprint, value)] * copies

    def identity_of(self, hash_):
        """Home and fingerprint of a key."""
        number, home, core, growth = self.locate(hash_)
        return number * self.header.groups + home, core + (growth << self.header.core_bits)

    def possible(self, home, fingerprint):
        """Whether some key has this identity."""
        h = self.header
        core = fingerprint & (1 << h.core_bits) - 1
        if (home >= h.chunks * h.groups or core == 0 or
                fingerprint >> h.core_bits + h.growth_bits or
                self.direct and core % h.groups == 0):
            return False
        base = home % h.groups
        return not self.symmetric or base <= base ^ self.distance(core, h.groups)

    # ---- from a slot back to the entry

    def identity(self, group, choice, value):
        """Base group, core and growth bits of what a group of a chunk holds."""
        h = self.header
        core = value & (1 << h.core_bits) - 1
        kept = self.split(value)[0] >> self.value_at - self.kept
        if self.symmetric:
            base, address = group >> h.level, group & (1 << h.level) - 1
            home = min(base, base ^ self.distance(core, h.groups))
            if home != base:
                address ^= self.twist(core, h.level)
        else:
            if choice == 1:
                group = (group - self.distance(core, self.groups)) % self.groups
            home, address = group >> h.level, group & (1 << h.level) - 1
        require(address & (1 << h.borrowed) - 1 == self.borrowed_bits(core),
                "an entry is where its borrowed bits do not lead")
        return home, core, address >> h.borrowed << self.kept | kept

    def taken(self, chunk):
        """Group, choice and value of every taken slot of a chunk."""
        h = self.header
        if self.windows:
            for slot in range(self.slots):
                value = bits(chunk, slot * self.width, self.width)
                if value:
                    yield (slot - (value >> h.core_bits + 1 & h.slots - 1),
                           value >> h.core_bits & 1, value)
            return
        for group in range(self.groups):
            for value in self.values(chunk, group):
                if value:
                    yield group, value >> h.core_bits & 1 if self.choice_bits else 0, value

    def all(self):
        h = self.header
        for number in range(h.chunks):
            for group, choice, value in self.taken(self.chunk(number)):
                home, core, growth = self.identity(group, choice, value)
                yield (number * h.groups + home, core + (growth << h.core_bits),
                       self.split(value)[1])
        yield from self.stashed_entries()

    # ---- checks

    def check(self):
        taken = 0
        for number in range(self.header.chunks):
            chunk = self.chunk(number)
            require(bits(chunk, self.used, 8 * len(chunk) - self.used) == 0,
                    "what is behind the last slot is not zero")
            if self.coded:
                self.check_order(chunk)
            for group, choice, value in self.taken(chunk):
                self.check_slot(group, choice, value)
                taken += 1
        require(taken + self.stashed == self.header.count,
                f"{taken} entries and {self.stashed} in the stash, not {self.header.count}")
        self.check_stash()

    def check_order(self, chunk):
        for group in range(self.groups):
            values = self.values(chunk, group)
            require(values == sorted(values, key=lambda v: (v % 16, v // 16)),
                    "a bucket is not in order")

    def check_slot(self, group, choice, value):
        core = value & (1 << self.header.core_bits) - 1
        require(core != 0, "a taken slot has no core bits")
        require(0 <= group < self.groups, "a slot names a window that does not exist")
        require(not self.direct or core % self.header.groups != 0,
                "a fingerprint leads nowhere else")
        self.identity(group, choice, value)

    def check_stash(self):
        h = self.header
        require(h.stash_limit > 0 or not self.stash, "there is no stash, and something in it")
        last = -1, 0, 0
        for home, fingerprint, copies, value in self.stash:
            require(last < (home, fingerprint, value), "the stash is not in order")
            last = home, fingerprint, value
            number, home = divmod(home, h.groups)
            core, growth = fingerprint & (1 << h.core_bits) - 1, fingerprint >> h.core_bits
            require(number < h.chunks and core != 0 and growth >> h.growth_bits == 0 and
                    copies > 0 and value >> h.value_bits == 0,
                    "an entry of the stash makes no sense")
            require(not self.direct or core % h.groups != 0, "a stashed fingerprint leads nowhere")
            require(not self.symmetric or home < home ^ self.distance(core, h.groups),
                    "an entry of the stash has the higher of its groups as home")
            require(all(self.values(self.chunk(number), self.places(home, core, growth)[0])),
                    "an entry is in the stash although its home has a place")


# ------------------------------------------------------------------------- breadcrumb


class Line:
    """A line of either yard: (mini-bucket, remainder, crumb) of each entry, in order."""

    def __init__(self, data, minis, slots, width, crumb_bits):
        sizes = bits(data, 0, minis + slots) ^ ((1 << minis) - 1)
        remainders_at = up(minis + slots, 8)
        crumbs_at = remainders_at + slots * width
        self.entries, mini, at = [], 0, 0
        while mini < minis:
            require(at <= minis + slots, "a line's sizes have too few ones")
            if sizes >> at & 1:
                mini += 1
            else:
                slot = len(self.entries)
                require(slot < slots, "a line's sizes have too many zeros")
                self.entries.append((mini, bits(data, remainders_at + slot * width, width),
                                     bits(data, crumbs_at + slot * crumb_bits, crumb_bits)))
            at += 1
        used = len(self.entries)
        require(sizes >> at == 0 and bits(data, minis + slots, remainders_at - minis - slots) == 0
                and bits(data, remainders_at + used * width, (slots - used) * width) == 0
                and bits(data, crumbs_at + used * crumb_bits,
                         8 * len(data) - crumbs_at - used * crumb_bits) == 0,
                "a line has bits where there is nothing")
        self.full = used == slots


class Yards(Filter):
    """Front yard and backyard of lines."""

    # slots of a front line -> bits of a remainder, mini-buckets, slots of a backyard line, bytes
    SHAPES = {51: (8, 53, 35, 64), 36: (12, 44, 27, 64), 28: (16, 36, 22, 64),
              19: (24, 37, 16, 64), 25: (8, 31, 17, 32)}

    # crumb -> how many lines further an odd line is than the even one
    LEAPS = (0, 8, 18, 31, 45, 164, 183, 186, 235, 275, 277, 334, 377, 401, 406, 412)

    def lay_out(self):
        h = self.header
        require(h.slots in self.SHAPES, f"no line has {h.slots} slots")
        self.width, self.minis, self.back_slots, self.bytes = self.SHAPES[h.slots]
        require(h.core_bits >= 1 and h.core_bits + h.growth_bits == self.width,
                "the fingerprints' width is not the lines'")
        require(h.chunks == 1 and h.groups >= 1, "the geometry makes no sense")
        require(h.reserve == h.max_steps == h.stash_limit == h.borrowed == 0,
                "fields that this family does not have are not 0")
        self.fronts = h.groups << h.level
        self.half = -(-self.fronts // 16)

    def table_size(self):
        return ((self.fronts + 2 * self.half) * self.bytes +
                self.fronts * self.values_size(self.header.slots) +
                2 * self.half * self.values_size(self.back_slots))

    def values_size(self, slots):
        """Bytes of the values of a line."""
        return -(-slots * self.header.value_bits // 8)

    def values_of(self, start, slots, line):
        """The values of a line's entries, which begin at a byte of the table."""
        wide, size = self.header.value_bits, self.values_size(slots)
        data, used = self.table[start:start + size], len(line.entries) * self.header.value_bits
        require(bits(data, used, 8 * size - used) == 0, "there is a value where no entry is")
        return [bits(data, slot * wide, wide) for slot in range(len(line.entries))]

    def line(self, number, slots, crumb_bits):
        data = self.table[number * self.bytes:(number + 1) * self.bytes]
        return Line(data, self.minis, slots, self.width, crumb_bits)

    def check(self):
        self.front = [self.line(i, self.header.slots, 0) for i in range(self.fronts)]
        self.back = [self.line(self.fronts + i, self.back_slots, 4) for i in range(2 * self.half)]
        start = (self.fronts + 2 * self.half) * self.bytes
        size = self.values_size(self.header.slots)
        self.front_values = [self.values_of(start + i * size, self.header.slots, line)
                             for i, line in enumerate(self.front)]
        start, size = start + self.fronts * size, self.values_size(self.back_slots)
        self.back_values = [self.values_of(start + i * size, self.back_slots, line)
                            for i, line in enumerate(self.back)]
        remainder_bits = self.width - self.header.level
        for number, line in enumerate(self.back):
            for mini, _, crumb in line.entries:
                bucket = self.bucket_of(number, crumb)
                require(bucket < self.fronts, "a crumb leads nowhere")
                front = self.front[bucket]
                require(front.full and front.entries[-1][0] <= mini,
                        "an entry is in the backyard although its front line has room")
        for line in self.front + self.back:
            require(all(remainder >> remainder_bits == 0 for _, remainder, _ in line.entries),
                    "a remainder has more bits than are left of it")
        held = sum(len(line.entries) for line in self.front + self.back) + self.stashed
        require(held == self.header.count, f"{held} entries, not {self.header.count}")
        self.check_stash()

    def check_stash(self):
        last = (-1,)
        for bucket, fingerprint, copies, value in self.stash:
            mini, remainder = (fingerprint >> self.width) - 1, fingerprint % (1 << self.width)
            require(last < (bucket, fingerprint, value), "the stash is not in order")
            last = (bucket, fingerprint, value)
            require(copies > 0 and bucket < self.fronts and 0 <= mini < self.minis and
                    remainder >> self.width - self.header.level == 0 and
                    value >> self.header.value_bits == 0, "an entry of the stash makes no sense")
            front = self.front[bucket]
            spilled = front.full and front.entries[-1][0] <= mini
            require(spilled or len(self.in_lines(bucket, mini, remainder)) >= 16,
                    "an entry is in the stash although its lines have a place")

    def bucket_of(self, number, crumb):
        """The front bucket of an entry in a backyard line."""
        line, odd = divmod(number, 2)
        return (line - odd * self.LEAPS[crumb]) % self.half * 16 + crumb

    def all(self):
        for bucket, line in enumerate(self.front):
            for (mini, remainder, _), value in zip(line.entries, self.front_values[bucket]):
                yield *self.identity(bucket, mini, remainder), value
        for number, line in enumerate(self.back):
            for (mini, remainder, crumb), value in zip(line.entries, self.back_values[number]):
                yield *self.identity(self.bucket_of(number, crumb), mini, remainder), value
        for bucket, fingerprint, copies, value in self.stash:
            mini, remainder = (fingerprint >> self.width) - 1, fingerprint % (1 << self.width)
            for _ in range(copies):
                yield *self.identity(bucket, mini, remainder), value

    def identity(self, bucket, mini, remainder):
        level = self.header.level
        fingerprint = remainder << level | bucket & (1 << level) - 1
        return bucket >> level, (mini + 1 << self.width) + fingerprint

    def identity_of(self, hash_):
        """Home and fingerprint of a key."""
        base, hash_ = cut(hash_, self.header.groups)
        mini, hash_ = cut(hash_, self.minis)
        return base, (mini + 1 << self.width) + (hash_ >> 64 - self.width)

    def last_place(self, home, fingerprint):
        """The front bucket of an entry."""
        level = self.header.level
        return (home << level) + (fingerprint & (1 << level) - 1)

    def possible(self, home, fingerprint):
        """Whether some key has this identity."""
        return home < self.header.groups and 1 <= fingerprint >> self.width <= self.minis

    def values_hash(self, hash_):
        """The values of all entries that look like a key."""
        level = self.header.level
        base, hash_ = cut(hash_, self.header.groups)
        mini, hash_ = cut(hash_, self.minis)
        fingerprint = hash_ >> 64 - self.width
        bucket = (base << level) + (fingerprint & (1 << level) - 1)
        remainder = fingerprint >> level
        listed = (bucket, (mini + 1 << self.width) + remainder)
        return self.in_lines(bucket, mini, remainder) + [
            entry[3] for entry in self.stash if entry[:2] == listed for _ in range(entry[2])]

    def in_lines(self, bucket, mini, remainder):
        """The values of all entries in lines that look like a key."""
        front = self.front[bucket]
        found = [value for entry, value in zip(front.entries, self.front_values[bucket])
                 if entry == (mini, remainder, 0)]
        if not front.full or front.entries[-1][0] > mini:
            return found
        line, crumb = divmod(bucket, 16)
        for number in line * 2, (line + self.LEAPS[crumb]) % self.half * 2 + 1:
            found += [value for entry, value in zip(self.back[number].entries,
                                                    self.back_values[number])
                      if entry == (mini, remainder, crumb)]
        return found


# ---------------------------------------------------------------------- Bloom filters


class Bloom(Filter):
    """A table of bits. Copies cannot be counted: a key has one, or none."""

    FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D, 0xFD7046C5,
               0xB55A4F09, 0x5851F42D, 0x4C957F2D, 0x14057B7F, 0xDA3E39CB, 0x94D049BB, 0xBF58476D,
               0x6C078965, 0x7FEB352D)

    def lay_out(self):
        h = self.header
        self.blocked = h.family == 9
        allowed = (4, 8, 16) if self.blocked else range(1, 33)
        require(h.core_bits in allowed, f"keys of {h.core_bits} bits")
        require(h.slots == h.growth_bits == h.level == h.reserve == h.max_steps == h.stash_limit ==
                h.borrowed == h.stashed == 0 and h.max_capacity == h.capacity,
                "fields that this family does not have are not 0")
        require(h.chunks == 1 and h.groups % 2 == 1 and (self.blocked or h.groups >= 3),
                "the geometry makes no sense")
        require(h.count <= 2**60, "more inserts than possible")

    def table_size(self):
        return self.header.groups * (64 if self.blocked else 8)

    def bits_of(self, hash_):
        h = self.header
        if not self.blocked:
            for _ in range(h.core_bits):
                word, rest = cut(hash_, h.groups)
                yield 64 * word + (rest >> 58)
                hash_ = (rest << 6 | rest >> 58) & MASK
            return
        block, rest = cut(hash_, h.groups)
        sector = 512 // h.core_bits
        a, b = rest & 0xFFFFFFFF, rest >> 32
        for i in range(h.core_bits):
            t = (a * self.FACTORS[i] + b & 0xFFFFFFFF) * sector >> 32
            yield 512 * block + self.bit_in_block(i, t)

    def bit_in_block(self, sector, t):
        if self.header.core_bits == 4:
            return 64 * sector + t + (192 if t >= 64 else 0)
        return 512 // self.header.core_bits * sector + t

    def values_hash(self, hash_):
        found = all(self.table[bit // 8] >> bit % 8 & 1 for bit in self.bits_of(hash_))
        return [0] if found else []

    def entries(self):
        raise BadFile(f"the entries of a {FAMILIES[self.header.family]} filter cannot be listed")

    def check(self):
        h = self.header
        ones = bin(int.from_bytes(self.table, "little")).count("1")
        require((ones == 0) == (h.count == 0) and ones <= h.core_bits * h.count,
                "the table has more or fewer bits than its count allows")
        if self.blocked:
            self.check_blocks()

    def check_blocks(self):
        size = self.header.core_bits
        for at in range(0, len(self.table), 64):
            block = int.from_bytes(self.table[at:at + 64], "little")
            sectors = {sector for sector in range(size) for t in range(512 // size)
                       if block >> self.bit_in_block(sector, t) & 1}
            require(len(sectors) in (0, size), "a block has a sector without a bit")


# ----------------------------------------------------------------------------- family 10


def parity(x):
    return bin(x).count("1") & 1


class Layer:
    """A band of a matrix: where its blocks and marks begin is set later."""

    def __init__(self, keys, share):
        windows = keys - keys // 40 if keys > 2048 else keys + keys // 32
        self.windows = up(max(windows, 1), 64)
        self.blocks = self.windows // 64 + -(-self.windows // 65536)
        self.split = 0
        low, high = 0, self.blocks if share else 0
        while low < high:
            self.split = (low + high) // 2
            if self.longer() * 65536 < share * self.windows:
                low = self.split + 1
            else:
                high = self.split
        self.split = low
        self.mark_size = -(-self.windows // 512)

    def longer(self):
        """Windows that lie before the split."""
        shards, rest = divmod(self.split, 1025)
        return min(shards * 65536 + max(rest - 1, 0) * 64, self.windows)

    def words_before(self, block, columns):
        return block * columns + min(block, self.split)


class Matrix:
    """Layers, each for the keys that the one before has bumped."""

    def __init__(self, keys, columns, share):
        self.columns, self.layers = columns, []
        while keys:
            self.layers.append(Layer(keys, share))
            keys = keys // 36 if keys > 2048 else 0

    def place_blocks(self, at):
        for layer in self.layers:
            layer.at = at
            layer.end = at + 8 * layer.words_before(layer.blocks, self.columns)
            at = up(layer.end, 64)
        return at

    def place_marks(self, at):
        for layer in self.layers:
            layer.marks, at = at, at + layer.mark_size
        return at

    def row_sums(self, table, hash_):
        """What the table tells a key, a bit per column, its fingerprint, and whether there is a column more; None:
        all layers have bumped it."""
        for layer in self.layers:
            window = cut(hash_, layer.windows)[0]
            bucket = window // 128
            mark = table[layer.marks + bucket // 4] >> bucket % 4 * 2 & 3
            if window % 128 >= (0, 16, 48, 128)[mark]:
                return self.sums_at(table, layer, window, hash_)
            hash_ = hash_ * 0xBEA225F9EB34556D & MASK
            hash_ = (hash_ ^ hash_ >> 32) * 0x94D049BB133111EB & MASK
            hash_ ^= hash_ >> 32
        return None

    def sums_at(self, table, layer, window, hash_):
        x = hash_ * GOLDEN & MASK
        x ^= x >> 32
        block = window // 64 + window // 65536
        mask = (x | 1) << window % 64
        starts = [layer.at + 8 * layer.words_before(b, self.columns) for b in (block, block + 1)]
        sums = 0
        longer = block + 1 < layer.split
        for column in range(self.columns + longer):
            words = [int.from_bytes(table[start + 8 * column:start + 8 * column + 8], "little") for start in starts]
            sums |= parity((words[0] | words[1] << 64) & mask) << column
        return sums, (x * MULTIPLIER & MASK) >> 31, longer


class Ribbon(Filter):
    """Built once: what a key is told is a sum of rows."""

    STASHED = "<QQ"  # hash and value

    def lay_out(self):
        h = self.header
        require(h.slots == h.growth_bits == h.level == h.groups == h.max_steps == h.stash_limit ==
                h.borrowed == 0 and h.max_capacity == h.capacity and h.features & STATIC,
                "fields that this family does not have are not 0")
        require(1 <= h.core_bits <= 32 and h.reserve < (65536 if h.core_bits < 32 else 1),
                f"fingerprints of {h.core_bits} bits")
        require(h.capacity <= 2**44 and h.judged <= 2**45, "too many keys")
        require(not h.more, "a filter that never changes has one part")
        require(not (h.judged and h.value_bits), "values and a verdict")
        self.keys = Matrix(h.capacity, h.core_bits + h.value_bits, h.reserve)
        self.verdict = Matrix(h.judged, 1, 0)
        require(h.chunks == -(-self.keys.layers[0].windows // 65536), f"{h.chunks} shards")
        rate = max(1 - layer.longer() / layer.windows / 2 for layer in self.keys.layers) / 2**h.core_bits
        require(rate / (2 if h.judged else 1) <= h.fpr * 1.000001, "the rate promises too much")

    def table_size(self):
        blocks = self.verdict.place_blocks(self.keys.place_blocks(0))
        self.marks_end = self.verdict.place_marks(self.keys.place_marks(blocks))
        return up(max(self.marks_end, blocks + 64), 8)

    def values_hash(self, hash_):
        h = self.header
        if h.count == 0:
            return []
        told = self.keys.row_sums(self.table, hash_)
        if told is None:
            value = self.list.get(hash_)
            return [] if value is None or h.judged and value == 0 else [0 if h.judged else value]
        sums, print_, longer = told
        bits_ = h.core_bits
        found = (sums ^ print_) & (1 << bits_) - 1 == 0
        if longer:
            found = found and sums >> self.keys.columns & 1 == print_ >> bits_ & 1
        if found and h.judged:
            told = self.verdict.row_sums(self.table, hash_)
            found = told[0] == 1 if told else self.list.get(hash_) == 1
        return [sums >> bits_ & (1 << h.value_bits) - 1] if found else []

    def entries(self):
        raise BadFile("the entries of a ribbon filter cannot be listed")

    def check(self):
        h = self.header
        self.list = dict(self.stash)
        require(h.count <= h.capacity, "more keys than the capacity")
        for matrix in self.keys, self.verdict:
            for layer in matrix.layers:
                self.check_layer(layer)
        require(not any(self.table[self.marks_end:]), "the end of the table is not zero")
        require(h.count > 0 or not any(self.table) and not self.list,
                "a filter without keys is not zero")
        hashes = [hash_ for hash_, _ in self.stash]
        require(all(a < b for a, b in zip(hashes, hashes[1:])), "the list is not in order")
        for hash_, value in self.stash:
            require(value < 1 << (1 if h.judged else h.value_bits), "a listed value is too large")
            bumped = self.keys.row_sums(self.table, hash_) is None
            judged = h.judged and self.verdict.row_sums(self.table, hash_) is None
            require(bumped and (value == 1 or not h.judged) or judged, "a key is listed that no layer has bumped")

    def check_layer(self, layer):
        require(not any(self.table[layer.end:up(layer.end, 64)]), "what is between layers is not zero")
        buckets = -(-layer.windows // 128)
        last = self.table[layer.marks + layer.mark_size - 1]
        require(buckets % 4 == 0 or last >> buckets % 4 * 2 == 0, "marks of no bucket are not zero")


# ---------------------------------------------------------------- filters in several parts


class Parts:
    """A filter's body, what is left of the smaller one that it grows out of, and its overflow."""

    def __init__(self, body, data):
        self.body, self.header = body, body.header
        self.hash_bytes, self.hash_u64 = body.hash_bytes, body.hash_u64
        self.count_key, self.count_u64 = self.with_hash("hash_bytes"), self.with_hash("hash_u64")
        at = up(self.header.end, 64)
        require(not any(data[self.header.end:at]), "what is between the parts is not zero")
        self.read_record(data[at:at + RECORD])
        at += RECORD
        size = 24 * self.overflowed
        require(size <= len(data) - at, "the file ends amid the overflow list")
        self.read_overflow(data[at:at + size])
        self.olds = []
        if not self.old:
            require(len(data) == at + size, "bytes follow the end of the filter")
            return
        start = up(at + size, 64)
        require(not any(data[at + size:start]), "what is between the parts is not zero")
        self.read_old(data[start:])

    def with_hash(self, name):
        return lambda key: self.count_hash(getattr(self.body, name)(key))

    def read_record(self, record):
        require(len(record) == RECORD, "the file ends amid the growth record")
        again = bytearray(RECORD)
        for name, (at, form) in RECORD_FIELDS.items():
            setattr(self, name, struct.unpack_from("<" + form, record, at)[0])
            struct.pack_into("<" + form, again, at, getattr(self, name))
        require(self.checksum == xxh3_64(record[:120]), "the record's checksum does not match")
        require(record == bytes(again) and self.old <= 1 and self.returning <= 1,
                "bytes of the record that mean nothing are not zero")
        turns = self.old or self.returning
        require(self.header.family < 8, "a Bloom filter has no other parts")
        require(self.header.growth_bits > 0 or not turns and self.uncounted == self.left == 0,
                "a filter that cannot grow is said to")
        require((self.places > 0) == self.old and (self.old or self.position == 0) and
                (1 <= self.inserts <= TURN if turns else self.inserts == 0) and
                not (self.returning and (self.old or self.overflowed == 0)) and
                self.uncounted <= UNCOUNTED_MOST and
                self.overflowed <= self.header.max_capacity + 65536, "the record makes no sense")

    def read_overflow(self, data):
        require(xxh3_64(data) == self.list_checksum, "the overflow's checksum does not match")
        self.overflow, last = Counter(), (0, 0, 0)
        for home, fingerprint, copies, value in struct.iter_unpack("<QQII", data):
            require(last < (home, fingerprint, value) and copies > 0 and
                    value >> self.header.value_bits == 0 and
                    self.body.possible(home, fingerprint),
                    "an entry of the overflow list is out of range or order")
            last = home, fingerprint, value
            self.overflow[last] = copies

    def read_old(self, data):
        old = parse_image(data)
        mine, its = self.header, old.header
        same = ("family", "features", "seed", "fpr", "slots", "core_bits", "growth_bits", "chunks",
                "groups", "reserve", "max_steps", "borrowed", "value_bits")
        require(all(getattr(mine, name) == getattr(its, name) for name in same) and
                its.level < mine.level and its.capacity <= mine.capacity and
                its.max_capacity <= mine.max_capacity and not its.more,
                "the old table is not a smaller one of this filter")
        require(all(old.last_place(*entry[:2]) >= self.position for entry in old.all()),
                "an entry lies where all are said to have moved")
        self.olds = [old]

    @property
    def count(self):
        return sum(part.count for part in [self.body] + self.olds) + sum(self.overflow.values())

    @property
    def stashed(self):
        return sum(part.stashed for part in [self.body] + self.olds) + sum(self.overflow.values())

    def values_hash(self, hash_):
        """The values of all entries that look like a key."""
        wanted = self.body.identity_of(hash_)
        found = [entry[2] for entry in self.overflow.elements() if entry[:2] == wanted]
        for part in [self.body] + self.olds:
            found += part.values_hash(hash_)
        return found

    def all(self):
        for part in [self.body] + self.olds:
            yield from part.all()
        yield from self.overflow.elements()

    count_hash, entries = Filter.count_hash, Filter.entries


# ------------------------------------------------------------------------------- use


def parse_image(data):
    header = Header(data)
    kind = Nest if header.family < 7 else Yards if header.family == 7 else Ribbon if header.family == 10 else Bloom
    return kind(header, data)


def parse(data):
    """The filter in the bytes of a file. Raises BadFile."""
    body = parse_image(data)
    return Parts(body, data) if body.header.more else body


def read(path):
    """The filter in a file. Raises BadFile and OSError."""
    with open(path, "rb") as file:
        return parse(file.read())


def keys_of(arguments):
    if arguments.key:
        return [key.encode(errors="surrogateescape") for key in arguments.key]
    lines = sys.stdin.buffer.read().split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def query(arguments):
    filter_ = read(arguments.file)
    for key in keys_of(arguments):
        if arguments.hash:
            values = filter_.values_hash(int(key, 0))
        elif arguments.u64:
            values = filter_.values_hash(filter_.hash_u64(int(key, 0)))
        else:
            values = filter_.values_hash(filter_.hash_bytes(key))
        if arguments.values:
            sys.stdout.buffer.write(b"".join(b"%d %s\n" % (value, key) for value in values))
        elif arguments.copies:
            sys.stdout.buffer.write(b"%d %s\n" % (len(values), key))
        elif values:
            sys.stdout.buffer.write(key + b"\n")


def dump(arguments):
    for entry in read(arguments.file).entries():
        print(*entry)


def info(arguments):
    header = read(arguments.file).header
    for name in FIELDS:
        value = getattr(header, name)
        print(f"{name:15}", FAMILIES[value] if name == "family" else value)


def check(arguments):
    for path in arguments.file:
        read(path)
        print(f"{path}: ok")


def main():
    parser = argparse.ArgumentParser(description="Reads nidus files without the nidus library.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("check", help="check files completely")
    command.add_argument("file", nargs="+")
    command.set_defaults(run=check)
    command = commands.add_parser("info", help="print the header's fields")
    command.add_argument("file")
    command.set_defaults(run=info)
    command = commands.add_parser("dump", help="list the entries")
    command.add_argument("file")
    command.set_defaults(run=dump)
    command = commands.add_parser("query", help="look keys up")
    kind = command.add_mutually_exclusive_group()
    kind.add_argument("-u", "--u64", action="store_true", help="keys are 64-bit integers")
    kind.add_argument("-x", "--hash", action="store_true", help="keys are hashes already")
    command.add_argument("-c", "--copies", action="store_true", help="print 'copies key' for all")
    command.add_argument("-v", "--values", action="store_true", help="print 'value key' for all")
    command.add_argument("file")
    command.add_argument("key", nargs="*")
    command.set_defaults(run=query)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except (BadFile, OSError) as error:
        print(f"nidus_read.py: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
