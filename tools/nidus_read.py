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
        -v, --values prints "value key" for every value that is found, in a filter that forgets its age
    Keys come one per line from standard input if none is given.

Every file is checked completely before anything is answered. Python 3.9 or newer and its standard
library suffice. It is slow: it exists to show that the format needs no code of ours, to read an old
file on some far day, and to test the library, which has to agree with it. As a module:

    import nidus_read
    birds = nidus_read.read("birds.nidus")
    birds.count_key(b"heron"), birds.count_u64(7), sorted(birds.entries())
    birds.values_hash(birds.hash_bytes(b"heron"))
    recent.age_hash(recent.hash_bytes(b"heron")), recent.slices    (of a filter that forgets)
"""
import argparse
import bisect
import copy
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
COPIES = 1 | 64  # to remove keys and to keep copies of them: not in a filter that forgets
HEADER = 256
FAMILIES = ("auto", "cuckoo", "semisort", "simplified", "chunked", "bucketed", "windowed",
            "breadcrumb", "bloom", "blocked-bloom", "ribbon")

# Where the fields of the header stand, and as what.
FIELDS = {
    "version": (8, "I"), "header_size": (12, "I"), "family": (16, "I"), "features": (20, "I"),
    "seed": (24, "Q"), "capacity": (32, "Q"), "max_capacity": (40, "Q"), "fpr": (48, "d"),
    "slots": (56, "I"), "core_bits": (60, "I"), "growth_bits": (64, "I"),
    "chunks": (72, "Q"), "groups": (80, "Q"), "reserve": (88, "I"), "max_steps": (92, "I"),
    "shares": (68, "I"), "stride": (100, "I"),
    "stash_limit": (96, "I"), "count": (104, "Q"), "stashed": (112, "Q"), "sections": (120, "I"),
    "table_kind": (128, "I"), "table_offset": (136, "Q"), "table_size": (144, "Q"),
    "table_checksum": (152, "Q"),
    "stash_kind": (160, "I"), "stash_offset": (168, "Q"), "stash_size": (176, "Q"),
    "stash_checksum": (184, "Q"), "value_bits": (192, "I"), "segmented": (196, "I"),
    "judged": (200, "Q"), "tick": (208, "Q"), "slices": (216, "I"),
    "checksum": (248, "Q"),
}

PAGED = 262144  # bytes of a table from which on it starts at a page
LINE = 64  # what is before the leaves of a filter that grows, and one record of them
CELLS = 32  # of a leaf
FIRST_CELLS = {1: (0, 32), 2: (0, 16, 32), 3: (0, 11, 21, 32)}  # of its bodies
SPREAD, DEPTH_MOST, LISTED_MOST = 4, 44, 12288
GENERATIONS_MOST = 8
TICK_BITS = 56


class BadFile(Exception):
    """The file breaks a rule of the format; the message says which."""


def require(condition, what):
    if not condition:
        raise BadFile(what)


# ------------------------------------------------------------------------------ numbers


def cut(h, choices):
    """Takes one of so many choices from a hash: the choice, and what is left of the hash."""
    return h * choices >> 64, h * choices & MASK


def lowest(*cuts):
    """The lowest hash that is cut into these choices, (choice, of how many) each."""
    rest = 0
    for choice, choices in reversed(cuts):
        rest = -(-((choice << 64) + rest) // choices)
    return rest


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
        require(data[:HEADER] == self.spelled(),
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
        require(self.core_bits <= 56 and self.growth_bits <= 44, "widths are absurd")
        require(self.segmented <= (2 if self.family < 8 else 0), "this family does not grow")
        require((self.segmented == 2) == (self.max_capacity == MASK) == (self.stride > 0) and
                (self.segmented == 2 or self.shares == 0), "generations without an end")
        require(self.segmented or self.growth_bits == 0 and self.max_capacity == self.capacity,
                "a filter of fixed size is to grow")
        require(self.value_bits <= (0 if self.family in (8, 9) else 32), "values are too wide")
        require(self.judged == 0 or self.family == 10, "only family 10 has a verdict")
        require(not self.features & STATIC or self.family == 10, "only family 10 is static")
        require(self.stashed <= self.count + self.judged, "more entries in the stash than there are")
        require(not self.features & COMPACT or self.family == 5, "only family 5 can be compact")
        require(self.slices == 0 and self.tick == 0 or
                2 <= self.slices <= 254 and self.tick < 2**TICK_BITS and self.segmented == 1 and
                5 <= self.family <= 7 and self.value_bits == (self.slices + 1).bit_length() and
                not self.features & COPIES,
                "what the header says of slices makes no sense")

    def check_sections(self, data, table_size):
        require((self.table_kind, self.stash_kind) == (0, 1), "the sections are of other kinds")
        stash_size = (16 if self.family == 10 else 24) * self.stashed
        require(self.table_size == table_size and self.stash_size == stash_size and
                max(table_size, stash_size) < 2**62,
                "the sections' sizes do not follow from the other fields")
        at = up(HEADER, 4096 if table_size >= PAGED and not self.features & STATIC else 64)
        require(self.table_offset == at, "the table is not where it should be")
        require(self.stash_offset == up(at + table_size, 64), "the stash is not where it should be")
        end = self.stash_offset + self.stash_size
        require(len(data) == end, f"the file has {len(data)} bytes, not {end}")
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


class Hashes:
    """What keys of a seed have for hashes."""

    def __init__(self, seed):
        self.seed = seed
        self.before = mix(seed + GOLDEN & MASK)
        self.first = multiplier_from(mix(self.before + GOLDEN & MASK))
        self.second = multiplier_from(mix(self.first + GOLDEN & MASK))
        self.partner = mix(self.second + GOLDEN & MASK)

    def of_bytes(self, key):
        return xxh3_64(key, self.seed)

    def of_u64(self, key):
        x = fold((key + self.before & MASK) * self.first)
        return fold(x * self.second)


class Filter:
    """What all families have in common: the header, and hashes of keys.

    A family adds table_size() from the header alone, check() of what is in the sections, all() its
    entries as (home, fingerprint, value), and values_hash(), the values of a key's copies.
    """

    STASHED = "<QQII"  # home, fingerprint, copies, value

    def __init__(self, header, hashes):
        self.header, self.hashes = header, hashes
        self.lay_out()

    def use(self, table, stash):
        """Takes the bytes of both sections, and checks them."""
        self.table = table
        self.stash = list(struct.iter_unpack(self.STASHED, stash))
        self.count = self.header.count
        self.stashed = sum(entry[2] if len(entry) > 2 else 1 for entry in self.stash)
        self.check()
        return self

    def contains_hash(self, hash_):
        """Whether a key is (probably) there."""
        return bool(self.values_hash(hash_))

    def hash_bytes(self, key):
        return self.hashes.of_bytes(key)

    def hash_u64(self, key):
        return self.hashes.of_u64(key)

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
        self.groups = h.groups  # of a chunk
        self.tag_at = h.core_bits  # the first bit of a fingerprint that is its tag's, in a body
        self.choice_bits = 0 if self.symmetric else 1
        self.offset_bits = h.slots.bit_length() - 1 if self.windows else 0
        self.value_at = h.core_bits + self.choice_bits + self.offset_bits + h.tag_bits
        self.width = self.value_at + h.value_bits
        require(2 <= self.width <= 56, f"slots of {self.width} bits")
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
        require(h.core_bits + h.tag_bits + (h.chunks * h.groups).bit_length() - 1 <= 63,
                "a hash has not enough bits")
        require(h.groups >= 2 and (is_power_of_two(h.groups) or not self.symmetric),
                f"{h.groups} groups")
        require(h.core_bits >= (5 if self.coded else 1), f"{h.core_bits} core bits")
        require(not self.direct or 2**h.core_bits >= h.groups,
                "fewer fingerprints than buckets of a chunk")
        require(h.reserve < h.slots and 1 <= h.max_steps <= 8192, "reserve or max steps are wrong")
        require(h.stash_limit <= 1024 + h.slots * h.groups // 4,
                f"a stash limit of {h.stash_limit}")

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

    def spelled(self, core, choice, at, tag):
        """The value of a slot for an entry there."""
        value = core
        if self.choice_bits:
            value |= choice << self.header.core_bits
        if self.offset_bits:
            value |= at << self.header.core_bits + 1
        return value | tag << self.value_at - self.header.tag_bits

    # ---- from a fingerprint to its places

    def hop_hash(self, core):
        x = (core & (1 << HOP_BITS) - 1 ^ self.hashes.partner) * STRONG & MASK
        x = (x ^ x >> 32) * MULTIPLIER & MASK
        return x ^ x >> 32

    def distance(self, core):
        if self.direct:
            return core % self.groups
        return 1 + cut(self.hop_hash(core), self.groups - 1)[0]

    def places(self, home, core):
        """The two groups of an entry in its chunk."""
        if self.symmetric:
            return home, home ^ self.distance(core)
        return home, (home + self.distance(core)) % self.groups

    def locate(self, hash_):
        """A key's chunk, group (the lower one in families 1 to 4) and core."""
        h = self.header
        chunk, hash_ = cut(hash_, h.chunks)
        home, hash_ = cut(hash_, h.groups)
        if self.direct:
            low, hash_ = cut(hash_, h.groups - 1)
            high, hash_ = cut(hash_, (1 << h.core_bits) // h.groups)
            core = 1 + low + h.groups * high
        else:
            core = 1 + cut(hash_, (1 << h.core_bits) - 1)[0]
        return chunk, self.lower(home, core), core

    def lower(self, group, core):
        return min(self.places(group, core)) if self.symmetric else group

    def cuts(self, home, fingerprint):
        """The choices of locate() for an entry of a body."""
        h = self.header
        core = fingerprint & (1 << h.core_bits) - 1
        if not self.direct:
            return (home, h.groups), (core - 1, (1 << h.core_bits) - 1)
        return ((home, h.groups), (core % h.groups - 1, h.groups - 1),
                (core // h.groups, (1 << h.core_bits) // h.groups))

    def borrowed(self, home, fingerprint):
        """The 64 bits that an entry of a body lends."""
        cores = (1 << self.header.core_bits) - 1
        return (home * cores + (fingerprint & cores) - 1) * GOLDEN & MASK

    def split(self, slot):
        """What a slot holds below its value, and the value."""
        return slot & (1 << self.value_at) - 1, slot >> self.value_at

    def values_hash(self, hash_, tag=0):
        """The values of all entries that look like a key."""
        number, home, core = self.locate(hash_)
        chunk = self.chunk(number)
        found, full = [], True  # whether the home is
        for choice, group in enumerate(self.places(home, core)):
            for at, slot in enumerate(self.values(chunk, group)):
                low, value = self.split(slot)
                if low == self.spelled(core, choice, at, tag):
                    found.append(value)
                full = full and (slot != 0 or choice == 1)
        home, fingerprint = self.identity_of(hash_)
        wanted = home, fingerprint + (tag << self.tag_at)
        return found + [entry[2] for entry in self.stashed_entries() if full and
                        entry[:2] == wanted]

    def stashed_entries(self):
        """The stash as (home, fingerprint, value), each as often as it has copies."""
        for home, fingerprint, copies, value in self.stash:
            yield from [(home, fingerprint, value)] * copies

    def identity_of(self, hash_):
        """Home and fingerprint of a key, but for its tag."""
        number, home, core = self.locate(hash_)
        return number * self.header.groups + home, core

    # ---- from a slot back to the entry

    def identity(self, group, choice, value):
        """Home and fingerprint of what a group of a chunk holds."""
        h = self.header
        core = value & (1 << h.core_bits) - 1
        tag = self.split(value)[0] >> self.value_at - h.tag_bits
        if choice == 1:
            group = (group - self.distance(core)) % self.groups
        return self.lower(group, core), core + (tag << self.tag_at)

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
                home, fingerprint = self.identity(group, choice, value)
                yield number * h.groups + home, fingerprint, self.split(value)[1]
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
            for group, _, value in self.taken(chunk):
                self.check_slot(group, value)
                taken += 1
        require(taken + self.stashed == self.header.count,
                f"{taken} entries and {self.stashed} in the stash, not {self.header.count}")
        self.check_stash()

    def check_order(self, chunk):
        for group in range(self.groups):
            values = self.values(chunk, group)
            require(values == sorted(values, key=lambda v: (v % 16, v // 16)),
                    "a bucket is not in order")

    def check_slot(self, group, value):
        core = value & (1 << self.header.core_bits) - 1
        require(core != 0, "a taken slot has no core bits")
        require(0 <= group < self.groups, "a slot names a window that does not exist")
        require(not self.direct or core % self.header.groups != 0,
                "a fingerprint leads nowhere else")

    def check_stash(self):
        h = self.header
        require(h.stash_limit > 0 or not self.stash, "there is no stash, and something in it")
        last = -1, 0, 0
        for home, fingerprint, copies, value in self.stash:
            require(last < (home, fingerprint, value), "the stash is not in order")
            last = home, fingerprint, value
            number, home = divmod(home, h.groups)
            core, tag = fingerprint & (1 << h.core_bits) - 1, fingerprint >> h.core_bits
            require(number < h.chunks and core != 0 and tag >> h.tag_bits == 0 and
                    copies > 0 and value >> h.value_bits == 0,
                    "an entry of the stash makes no sense")
            require(not self.direct or core % h.groups != 0, "a stashed fingerprint leads nowhere")
            require(not self.symmetric or home < home ^ self.distance(core),
                    "an entry of the stash has the higher of its groups as home")
            require(all(self.values(self.chunk(number), home)),
                    "an entry is in the stash although its home has a place")


# ------------------------------------------------------------------------- breadcrumb


class Line:
    """A line of either yard: (mini-bucket, remainder, crumb) of each entry, in order."""

    def __init__(self, data, minis, slots, width, crumb_bits):
        sizes = bits(data, 0, minis + slots) ^ ((1 << minis) - 1)
        remainders_at = up(minis + slots, 8)
        crumbs_at = remainders_at + slots * width
        if crumb_bits:
            crumbs_at = up(crumbs_at, crumb_bits)
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
                and bits(data, remainders_at + used * width,
                         crumbs_at - remainders_at - used * width) == 0
                and bits(data, crumbs_at + used * crumb_bits,
                         8 * len(data) - crumbs_at - used * crumb_bits) == 0,
                "a line has bits where there is nothing")
        self.full = used == slots


class Yards(Filter):
    """Front yard and backyard of lines."""

    # slots of a front line -> bits of a remainder, mini-buckets, slots of a backyard line, bytes
    SHAPES = {63: (6, 64, 40, 64), 56: (7, 64, 37, 64), 51: (8, 53, 35, 64), 46: (9, 47, 33, 64),
              42: (10, 46, 30, 64), 39: (11, 41, 29, 64), 36: (12, 44, 27, 64), 34: (12, 70, 26, 64),
              32: (14, 32, 24, 64), 30: (14, 58, 23, 64), 28: (16, 36, 22, 64), 19: (24, 37, 16, 64),
              25: (8, 31, 17, 32)}

    # crumb -> how many lines further an odd line is than the even one
    LEAPS = (0, 8, 18, 31, 45, 164, 183, 186, 235, 275, 277, 334, 377, 401, 406, 412)

    def lay_out(self):
        h = self.header
        require(h.slots in self.SHAPES, f"no line has {h.slots} slots")
        self.width, self.minis, self.back_slots, self.bytes = self.SHAPES[h.slots]
        require(h.core_bits == self.width, "the fingerprints' width is not the lines'")
        require(h.chunks == 1 and h.groups >= 1 and
                h.groups * self.minis <= 2**(64 - self.width), "the geometry makes no sense")
        require(h.reserve == h.max_steps == h.stash_limit == 0 and h.tag_bits <= 24,
                "fields that this family does not have are not 0")
        self.fronts = h.groups
        self.half = -(-self.fronts // 16)
        self.tag_at = self.width + 7
        self.beside = h.tag_bits + h.value_bits  # what lies beside an entry: its value, above its tag

    def table_size(self):
        return ((self.fronts + 2 * self.half) * self.bytes +
                self.fronts * self.values_size(self.header.slots) +
                2 * self.half * self.values_size(self.back_slots))

    def values_size(self, slots):
        """Bytes of the values of a line."""
        return -(-slots * self.beside // 8)

    def values_of(self, start, slots, line):
        """The values of a line's entries, which begin at a byte of the table."""
        wide, size = self.beside, self.values_size(slots)
        data, used = self.table[start:start + size], len(line.entries) * wide
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
        for number, line in enumerate(self.back):
            for mini, _, crumb in line.entries:
                bucket = self.bucket_of(number, crumb)
                require(bucket < self.fronts, "a crumb leads nowhere")
                front = self.front[bucket]
                require(front.full and front.entries[-1][0] <= mini,
                        "an entry is in the backyard although its front line has room")
        held = sum(len(line.entries) for line in self.front + self.back) + self.stashed
        require(held == self.header.count, f"{held} entries, not {self.header.count}")
        self.check_stash()

    def check_stash(self):
        last = (-1,)
        for bucket, fingerprint, copies, value in self.stash:
            tag, low = fingerprint >> self.tag_at, fingerprint % (1 << self.tag_at)
            mini, remainder = (low >> self.width) - 1, low % (1 << self.width)
            require(last < (bucket, low, value, tag), "the stash is not in order")
            last = (bucket, low, value, tag)
            require(copies > 0 and bucket < self.fronts and 0 <= mini < self.minis and
                    tag >> self.header.tag_bits == 0 and value >> self.header.value_bits == 0,
                    "an entry of the stash makes no sense")
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
            for (mini, remainder, _), beside in zip(line.entries, self.front_values[bucket]):
                yield self.entry(bucket, mini, remainder, beside)
        for number, line in enumerate(self.back):
            for (mini, remainder, crumb), beside in zip(line.entries, self.back_values[number]):
                yield self.entry(self.bucket_of(number, crumb), mini, remainder, beside)
        for bucket, fingerprint, copies, value in self.stash:
            yield from [(bucket, fingerprint, value)] * copies

    def entry(self, bucket, mini, remainder, beside):
        value, tag = beside >> self.header.tag_bits, beside % (1 << self.header.tag_bits)
        return bucket, (tag << self.tag_at) + (mini + 1 << self.width) + remainder, value

    def locate(self, hash_):
        bucket, hash_ = cut(hash_, self.fronts)
        mini, hash_ = cut(hash_, self.minis)
        return bucket, mini, hash_ >> 64 - self.width

    def identity_of(self, hash_):
        """Home and fingerprint of a key, but for its tag."""
        bucket, mini, remainder = self.locate(hash_)
        return bucket, (mini + 1 << self.width) + remainder

    def cuts(self, home, fingerprint):
        """The choices of locate() for an entry of a body."""
        mini, remainder = divmod(fingerprint % (1 << self.tag_at), 1 << self.width)
        return (home, self.fronts), (mini - 1, self.minis), (remainder, 1 << self.width)

    def borrowed(self, home, fingerprint):
        """The 64 bits that an entry of a body lends."""
        mini, remainder = divmod(fingerprint % (1 << self.tag_at), 1 << self.width)
        return ((home * self.minis + mini - 1 << self.width) + remainder) * GOLDEN & MASK

    def contains_hash(self, hash_):
        return bool(self.in_lines(*self.locate(hash_)) or self.listed(hash_))

    def listed(self, hash_):
        """What the stash has of a key, as (tag, value)."""
        wanted = self.identity_of(hash_)
        return [(fingerprint >> self.tag_at, value) for home, fingerprint, copies, value in self.stash
                if (home, fingerprint % (1 << self.tag_at)) == wanted for _ in range(copies)]

    def values_hash(self, hash_, tag=0):
        """The values of all entries that look like a key: those in a body that have its tag."""
        wide = self.header.tag_bits
        found = [(beside % (1 << wide), beside >> wide)
                 for beside in self.in_lines(*self.locate(hash_))]
        return [value for its, value in found + self.listed(hash_) if its == tag]

    def in_lines(self, bucket, mini, remainder):
        """What lies beside all entries in lines that look like a key."""
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
        require(h.slots == h.growth_bits == h.reserve == h.max_steps == h.stash_limit ==
                h.stashed == 0, "fields that this family does not have are not 0")
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
        require(h.slots == h.growth_bits == h.groups == h.max_steps == h.stash_limit == 0 and
                h.features & STATIC, "fields that this family does not have are not 0")
        require(1 <= h.core_bits <= 32 and h.reserve < (65536 if h.core_bits < 32 else 1),
                f"fingerprints of {h.core_bits} bits")
        require(h.capacity <= 2**44 and h.judged <= 2**45, "too many keys")
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


# ------------------------------------------------------------------ filters that grow


class Leaf:
    """A record of a leaf, and where it is: its number among all of its depth."""

    def __init__(self, data, forgets):
        self.depth, self.bodies, *numbers, lags = struct.unpack("<II7Q", data)
        self.counts, self.listed = numbers[0::2], numbers[1::2]
        self.lags = [lags >> 16 * i & 0xFFFF for i in range(3)]
        require(self.depth <= DEPTH_MOST and 1 <= self.bodies <= 3 and
                lags >> (16 * self.bodies if forgets else 0) == 0 and
                not any(numbers[2 * self.bodies:]) and
                all(listed <= count for count, listed in zip(self.counts, self.listed)),
                "the record of a leaf makes no sense")


class Growing(Filter):
    """A list of a few entries, or a directory of bodies, tables of the family."""

    def lay_out(self):
        h = self.header
        self.parts = h.chunks << h.growth_bits
        logs = h.chunks.bit_length() + h.growth_bits - 1
        require(h.chunks >= 1 and h.groups >= 1 and logs < DEPTH_MOST and
                logs + h.groups.bit_length() - 1 + h.core_bits <= 58, "a hash has not enough bits")
        self.plain = self.body(h.growth_bits)  # what all bodies have in common; with the widest tag
        self.body(0)
        if h.family == 7:
            require(self.parts * h.groups * self.plain.minis <= 2**(64 - self.plain.width),
                    "a hash has not enough bits")
        self.fingerprint_bits = self.plain.tag_at + h.growth_bits
        self.number_bits = (h.chunks * h.groups - 1).bit_length() + self.fingerprint_bits

    def body(self, tag_bits):
        """An empty body whose entries have such tags."""
        header = copy.copy(self.header)
        header.chunks, header.tag_bits = 1, tag_bits
        if header.family != 7:
            header.stash_limit = max(header.stash_limit, 1)
            require(self.header.stash_limit <= 1024 + header.slots * header.groups // 4,
                    f"a stash limit of {self.header.stash_limit}")
        return (Yards if header.family == 7 else Nest)(header, self.hashes)

    def table_size(self):
        require(self.header.table_size >= LINE, "the table is too small for a directory")
        return self.header.table_size

    def check(self):
        leaves, records = struct.unpack("<QQ", self.table[:16])
        require(not any(self.table[self.head_used():LINE]), "the head of the directory is not zero")
        self.records, self.bodies = [], []
        if leaves == 0:
            self.check_list(records)
        else:
            require(records == 0, "there are leaves and a list")
            require(leaves <= len(self.table) // LINE, "there is no room for so many leaves")
            self.read_leaves(leaves)

    def head_used(self):
        """Bytes of the first 64 that can be other than zero."""
        return 16

    def records_at(self):
        """Where the records of leaves begin, or the list."""
        return LINE

    # ---- a list

    def check_list(self, n):
        h, data = self.header, self.table[self.records_at():]
        require(n <= LISTED_MOST and not h.features & 16 and self.number_bits <= 64, "a list makes no sense")
        self.read_list(n, data)
        require(self.records == sorted(set(self.records)) and
                all(self.number_of(self.hash_of(number)) == number for number, _ in self.records),
                "a record of a list is out of range or order")
        self.copies, last = Counter(self.records), (-1,)
        for home, fingerprint, copies, value in self.stash:
            require(fingerprint == 0 and copies > 0 and last < (home, value) and
                    (home, value) in self.copies, "copies of a list make no sense")
            last = home, value
            self.copies[last] += copies
        require(sum(self.copies.values()) == h.count, f"there are not {h.count} entries")

    def read_list(self, n, data):
        """Rests and values, then the heads in unary, then the marks."""
        value_bits, head_bits = self.header.value_bits, min(max(n - 1, 0).bit_length(), self.number_bits)
        rest_bits = self.number_bits - head_bits
        width, heads_at = rest_bits + value_bits, n * (rest_bits + value_bits)
        marks_at = heads_at + n + (1 << head_bits)
        marks = (1 << head_bits) - 1 >> 6
        end = marks_at + 16 * marks if n > 0 else 0
        require(len(data) == up(end, 64) // 8 and bits(data, end, 8 * len(data) - end) == 0,
                "a list has another size than its records have")
        heads, head, before = bits(data, heads_at, marks_at - heads_at) if n > 0 else 0, 0, []
        for at in range(marks_at - heads_at if n > 0 else 0):
            if heads >> at & 1:
                index = len(self.records)
                require(index < n, "a list has too many heads")
                number = (head << rest_bits) + bits(data, index * width, rest_bits)
                self.records.append((number, bits(data, index * width + rest_bits, value_bits)))
            else:
                head += 1
                before.append(len(self.records))
        require(len(self.records) == n and (n == 0 or head == 1 << head_bits and not heads >> head + n - 1),
                "the heads of a list make no sense")
        require(all(bits(data, marks_at + 16 * i, 16) == before[64 * i + 63] for i in range(marks)),
                "the marks of a list are wrong")

    def number_of(self, hash_):
        """What stands in a list for a key."""
        part, rest = cut(hash_, self.parts)
        home, fingerprint, _ = self.outside(part, *self.plain.identity_of(rest), 0)
        return (home << self.fingerprint_bits) + fingerprint

    def entry_of(self, number):
        """Home and fingerprint of a record."""
        return number >> self.fingerprint_bits, number & (1 << self.fingerprint_bits) - 1

    def hash_of(self, number):
        """The lowest hash of a record."""
        home, fingerprint = self.entry_of(number)
        base, home = divmod(home, self.header.groups)
        part = (base << self.header.growth_bits) + (fingerprint >> self.plain.tag_at)
        return lowest((part, self.parts), *self.plain.cuts(home, fingerprint)) & MASK

    # ---- leaves

    def read_leaves(self, number):
        h = self.header
        start = self.records_at()
        require(len(self.table) >= start + LINE * number, "the table ends amid the leaves")
        leaves = [Leaf(self.table[start + LINE * i:start + LINE * (i + 1)], h.slices > 0) for i in range(number)]
        self.deepest = max(leaf.depth for leaf in leaves)
        least = min(leaf.depth for leaf in leaves)
        require(self.deepest <= least + SPREAD and h.chunks << least <= number,
                "the depths of leaves make no sense")
        require(sum(sum(leaf.counts) for leaf in leaves) == h.count and
                sum(sum(leaf.listed) for leaf in leaves) == h.stashed, "the counts do not add up")
        at, self.starts = 0, []
        self.data_at, self.stash_at = start + LINE * number, 0
        for leaf in leaves:
            above = self.deepest - leaf.depth
            leaf.number = at >> above
            require(leaf.number << above == at, "leaves overlap")
            at += 1 << above
            for which in range(leaf.bodies):
                self.read_body(leaf, which)
        require(at == h.chunks << self.deepest, "leaves are missing, or too many")
        require(self.data_at == len(self.table), "something follows the last body")
        for number, body in enumerate(self.bodies):
            self.check_places(number, body)

    def read_body(self, leaf, which):
        cells = FIRST_CELLS[leaf.bodies][which:which + 2]
        first = self.part_of_cell(leaf, cells[0])[0]
        last = self.part_of_cell(leaf, cells[1] - 1)[1]
        body = self.body((last - first).bit_length())
        body.header.count, body.first, body.last, body.lag = leaf.counts[which], first, last, leaf.lags[which]
        size = body.table_size()
        end, stash_end = up(size, 64) + self.data_at, leaf.listed[which] + self.stash_at
        require(end <= len(self.table), "the table ends amid a body")
        require(not any(self.table[self.data_at + size:end]), "what is between bodies is not zero")
        stash = b"".join(struct.pack(self.STASHED, *entry) for entry in self.stash[self.stash_at:stash_end])
        self.bodies.append(body.use(self.table[self.data_at:self.data_at + size], stash))
        self.starts.append(leaf.number * CELLS + cells[0] << self.deepest - leaf.depth)
        self.data_at, self.stash_at = end, stash_end

    def part_of_cell(self, leaf, cell):
        """The first part and the last one that a cell of a leaf has something of."""
        number, bits_ = leaf.number * CELLS + cell, self.header.growth_bits - leaf.depth - 5
        if bits_ < 0:
            return number >> -bits_, number >> -bits_
        return number << bits_, (number + 1 << bits_) - 1

    def body_at(self, part, borrowed):
        """The number of the body of a part and borrowed bits."""
        more = self.deepest + 5 - self.header.growth_bits
        cell = part >> -more if more <= 0 else (part << more) + (borrowed >> 64 - more)
        return bisect.bisect(self.starts, cell) - 1

    def check_places(self, number, body):
        for home, fingerprint, _ in body.all():
            part = body.first + (fingerprint >> body.tag_at)
            require(part <= body.last and
                    self.body_at(part, body.borrowed(home, fingerprint)) == number,
                    "an entry is in a body that is not its own")

    # ---- answers

    def find(self, hash_):
        """The body of a key, what is left of its hash there, and its tag."""
        part, rest = cut(hash_, self.parts)
        body = self.bodies[self.body_at(part, self.plain.borrowed(*self.plain.identity_of(rest)))]
        return body, rest, part - body.first

    def values_hash(self, hash_):
        if self.bodies:
            body, rest, tag = self.find(hash_)
            return body.values_hash(rest, tag)
        wanted = self.number_of(hash_)
        return [value for its, value in self.copies.elements() if its == wanted]

    def contains_hash(self, hash_):
        if not self.bodies:
            return bool(self.values_hash(hash_))
        body, rest, tag = self.find(hash_)
        return body.contains_hash(rest) if self.header.family == 7 else bool(body.values_hash(rest, tag))

    def all(self):
        for body in self.bodies:
            for home, fingerprint, value in body.all():
                yield self.outside(body.first + (fingerprint >> body.tag_at), home, fingerprint, value)
        if not self.bodies:
            for number, value in self.copies.elements():
                yield *self.entry_of(number), value

    def outside(self, part, home, fingerprint, value):
        """An entry of a body as one of the filter."""
        base, growth = divmod(part, 1 << self.header.growth_bits)
        at = self.plain.tag_at
        return base * self.header.groups + home, fingerprint % (1 << at) + (growth << at), value


# --------------------------------------------------------------- filters that forget


class Recent(Growing):
    """A filter that grows whose values are stamps: what else says of values says it of ages here."""

    def head_used(self):
        return 24

    def records_at(self):
        return LINE + up(8 * self.header.slices, LINE)

    def table_size(self):
        require(self.header.table_size >= self.records_at(), "the table is too small for the counts of slices")
        return self.header.table_size

    def check(self):
        slices, stamps = self.header.slices, 1 << self.header.value_bits
        counts_end = LINE + 8 * slices
        require(not any(self.table[counts_end:self.records_at()]), "what is behind the counts of slices is not zero")
        self.slices = list(struct.unpack(f"<{slices}Q", self.table[LINE:counts_end]))
        self.list_lag, = struct.unpack("<Q", self.table[16:24])
        super().check()
        require(not self.bodies or self.list_lag == 0, "there is no list that could have been swept")
        require(self.list_lag <= stamps and all(body.lag <= stamps for body in self.bodies), "a lag is too large")
        require(all(age >= 0 for _, age in self.all_ages()), "an entry is of a slice to come")
        ages = Counter(age for _, age in self.all_ages())
        require(self.slices == [ages[age] for age in range(slices)], "the counts of slices are wrong")
        self.count = sum(self.slices)

    def age_of(self, stamp, lag):
        """The age of an entry; it has expired if that is not less than the slices."""
        oldest = self.header.slices - 1
        return lag + oldest - (stamp - (self.header.tick - lag) + oldest) % (1 << self.header.value_bits)

    def all_ages(self):
        """Every entry and its age, those that have expired, too."""
        for body in self.bodies:
            for home, fingerprint, stamp in body.all():
                yield (self.outside(body.first + (fingerprint >> body.tag_at), home, fingerprint, 0)[:2],
                       self.age_of(stamp, body.lag))
        if not self.bodies:
            for number, stamp in self.copies.elements():
                yield self.entry_of(number), self.age_of(stamp, self.list_lag)

    def all(self):
        for entry, age in self.all_ages():
            if age < self.header.slices:
                yield *entry, age

    def values_hash(self, hash_):
        lag = self.find(hash_)[0].lag if self.bodies else self.list_lag
        ages = [self.age_of(stamp, lag) for stamp in super().values_hash(hash_)]
        return [age for age in ages if age < self.header.slices]

    def age_hash(self, hash_):
        """The age of a key; -1: it is not there."""
        return min(self.values_hash(hash_), default=-1)

    def contains_hash(self, hash_):
        swept = self.bodies and self.find(hash_)[0].lag == 0
        return super().contains_hash(hash_) if swept else bool(self.values_hash(hash_))


# ------------------------------------------------------------------------ generations


class Generations(Filter):
    """A filter without a size: directories, the oldest first."""

    def lay_out(self):
        h = self.header
        require(h.growth_bits <= 16 and 1 <= h.stride <= 16, "generations without bits to grow")
        require(16 <= h.shares <= 255 if h.family < 7 else h.shares == 0, "the shares make no sense")
        require(h.family > 4 or h.features & 128 and not h.value_bits, "this family keeps no generations")

    def table_size(self):
        require(self.header.table_size >= LINE, "the table is too small for generations")
        return self.header.table_size

    def check(self):
        h = self.header
        n, room = struct.unpack("<QQ", self.table[:16])
        require(1 <= n <= GENERATIONS_MOST and room < 2**63 and not any(self.table[16:LINE]) and
                len(self.table) >= LINE * (n + 1), "the head of the generations makes no sense")
        at, stash_at, self.generations = LINE * (n + 1), 0, []
        for number in range(n):
            at, stash_at = self.read(number, at, stash_at)
        require(at == len(self.table) and stash_at == len(self.stash) and
                sum(one.header.count for one in self.generations) == h.count,
                "the generations do not add up")
        self.bodies = [body for one in self.generations for body in one.bodies]

    def part_bits(self, number):
        """Those of a part of a generation behind the base segments."""
        left, bits = self.header.shares << 16, 0
        for _ in range(number + 1 if left else 0):
            while 8 << 16 >> bits > left // 2:  # it takes half of what is left at most
                bits += 1
            left -= 8 << 16 >> bits
        return self.header.growth_bits + self.header.stride * number + bits

    def read(self, number, at, stash_at):
        """Reads a generation; where the next one begins, and its stash."""
        h, one = self.header, copy.copy(self.header)
        record = self.table[LINE * (number + 1):LINE * (number + 2)]
        size, one.count, one.stashed, one.chunks, one.growth_bits = struct.unpack("<4QI", record[:36])
        require(not any(record[36:]) and one.growth_bits <= DEPTH_MOST and one.chunks < 1 << DEPTH_MOST and
                one.chunks << one.growth_bits == h.chunks << self.part_bits(number),
                "the record of a generation makes no sense")
        end, stash_end = at + up(size, LINE), stash_at + one.stashed
        require(LINE <= size and end <= len(self.table) and stash_end <= len(self.stash) and
                not any(self.table[at + size:end]), "a generation has no room in the table")
        one.table_size, one.stride, one.shares = size, 0, 0
        stash = b"".join(struct.pack(self.STASHED, *entry) for entry in self.stash[stash_at:stash_end])
        self.generations.append(Growing(one, self.hashes).use(self.table[at:at + size], stash))
        return end, stash_end

    def values_hash(self, hash_):
        return [value for one in self.generations for value in one.values_hash(hash_)]

    def contains_hash(self, hash_):
        return any(one.contains_hash(hash_) for one in self.generations)

    def all(self):
        for number, one in enumerate(self.generations):
            for home, fingerprint, value in one.all():
                yield home + (number << 60), fingerprint, value


# ------------------------------------------------------------------------------- use


def parse(data):
    """The filter in the bytes of a file. Raises BadFile."""
    header = Header(data)
    kind = (Generations if header.segmented == 2 else Recent if header.slices else Growing if header.segmented else Nest if header.family < 7 else Yards if header.family == 7 else
            Ribbon if header.family == 10 else Bloom)
    header.tag_bits = 0
    filter_ = kind(header, Hashes(header.seed))
    header.check_sections(data, filter_.table_size())
    return filter_.use(header.table(data), header.stash(data))


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
            hash_ = int(key, 0)
        elif arguments.u64:
            hash_ = filter_.hash_u64(int(key, 0))
        else:
            hash_ = filter_.hash_bytes(key)
        if arguments.values:
            values = filter_.values_hash(hash_)
            sys.stdout.buffer.write(b"".join(b"%d %s\n" % (value, key) for value in values))
        elif arguments.copies:
            sys.stdout.buffer.write(b"%d %s\n" % (filter_.count_hash(hash_), key))
        elif filter_.contains_hash(hash_):
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
