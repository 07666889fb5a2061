#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the worked examples in docs/algorithms against what the library does.

usage: examples.py [--write] NIDUS PAGE...

A page says in comments which filter an example is about and what a block shows:

    <!-- filter: -f cuckoo -s 2 -n 12 -p 1/16 -->         options of nidus build; the seed is 1
    <!-- shows: slots 14 -->                              the next block is what `slots 14` prints

The filter is made and filled by the nidus command with the keys 1, 2, 3, ... (as text, one by one),
and its file is read by tools/nidus_read.py, which shares no code with the library. Every block
that follows a `shows` comment must be exactly what the functions below print, and every number in
the prose of a section "Worked example" must be in one of its blocks. --write replaces the blocks.

What can be shown, after the keys 1 to N were put in:

    shape             what the options come to
    key K             from a key to its places
    slots N [G...]    the slots of all buckets, of these (G or G-H), or all slots of windows
    insert N          what the insert of key N changed
    ways N G...       where the entries of these buckets or windows could lie instead
    remove N K        what removing key K then changes
    count N K...      the copies of each key
    coded N G         in semisort: a bucket, its code and its bits after each key that came to it
    code N G          how its code and its bits are made of its slots
    told N K          in ribbon: from key K to what the table of keys 1 to N tells it
    bumped N          in ribbon: how many of the keys each layer bumps
    generations N     of a filter without a size: what each of them has
    lineage N K       the identity of key K in each of them, and which of them have one such
    front N F [K]     in breadcrumb: the last entries of a front line, and its backyard entries,
                      after key K was removed if one is named
"""

import math
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import nidus_read  # noqa: E402

TWO_64 = 2.0**64


class Example:
    """A filter of certain options with the keys 1 to n in it, for any n."""

    def __init__(self, nidus, options, folder):
        self.nidus, self.options, self.path = nidus, options.split(), folder / "example.nidus"

    def run(self, command, keys=(), *options):
        text = "".join(f"{key}\n" for key in keys)
        subprocess.run([self.nidus, command, "-q", *options, str(self.path)], input=text, text=True,
                       check=True, stdout=subprocess.DEVNULL)

    def fill(self, n):
        if "ribbon" in self.options:  # is built from all keys at once
            self.run("build", range(1, n + 1), *self.options, "--seed", "1", "-n", str(max(n, 1)), "-f", "ribbon", "--force", "-o")
            return nidus_read.read(self.path)
        subprocess.run([self.nidus, "build", *self.options, "--seed", "1", "-o", str(self.path),
                        "/dev/null"], check=True)
        self.run("add", range(1, n + 1), "--overfill")
        return nidus_read.read(self.path)

    def remove(self, key):
        self.run("remove", [key])
        return nidus_read.read(self.path)


# ------------------------------------------------------------------- the cuckoo families


def word(nest):
    return "window" if nest.windows else "cell" if nest.direct else "bucket"


def spelled(nest, value):
    """What a slot holds, as the pages write it."""
    if value == 0:
        return "."
    core = value & (1 << nest.header.core_bits) - 1
    return str(core) if nest.symmetric else f"{core}/{value >> nest.header.core_bits}"


def all_slots(nest):
    """The values of all slots of the only chunk."""
    chunk = nest.chunk(0)
    if not nest.windows:
        return [value for group in range(nest.groups) for value in nest.values(chunk, group)]
    return [nidus_read.bits(chunk, slot * nest.width, nest.width) for slot in range(nest.slots)]


def slots_of(nest, group):
    first = group if nest.windows else group * nest.header.slots
    return range(first, first + nest.header.slots)


def binomial(n, p, j):
    return math.exp(math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1)
                    + j * math.log(p) + (n - j) * math.log1p(-p))


def bloom_shape(bloom):
    """What a Bloom filter's options come to, and its rate when it is full, on average."""
    n, k = bloom.header.capacity, bloom.header.core_bits
    size = bloom.table_size() * 8
    blocks = f" in {bloom.header.groups} blocks" if bloom.blocked else ""
    yield f"n = {n}, k = {k}, m = {size} bits{blocks}: {size / n:.2f} bits per key"
    if not bloom.blocked:
        share = 1 - math.exp(-k * n / size)
        yield f"full: {share:.3f} of the bits are set, the rate is {share:.3f}^{k} = " \
              f"{100 * share**k:.2f} %"
        return

    def rate(keys):
        return (1 - (1 - k / 512)**keys)**k

    each = n / bloom.header.groups
    mean = sum(binomial(n, 1 / bloom.header.groups, j) * rate(j) for j in range(n + 1))
    yield f"full: {each:.1f} keys per block; such a block has a rate of {100 * rate(each):.2f} %, " \
          f"the mean of all is {100 * mean:.2f} %"


def shape(example):
    nest = example.fill(0)
    h = nest.header
    if isinstance(nest, nidus_read.Yards):
        yield f"{nest.fronts} front lines of {h.slots} slots, {2 * nest.half} backyard lines of " \
              f"{nest.back_slots}; remainders of {nest.width} bits"
        return
    if isinstance(nest, nidus_read.Bloom):
        yield from bloom_shape(nest)
        return
    if isinstance(nest, nidus_read.Ribbon):
        yield from ribbon_shape(nest)
        return
    chunks = f"{h.chunks} chunk{'s' if h.chunks > 1 else ''} of " if h.family in (3, 4) else ""
    if nest.direct:
        chunks = chunks.replace("chunk", "subtable")
    overlapping = f" in {nest.slots} slots" if nest.windows else ""
    yield f"{chunks}{nest.groups} {word(nest)}s of {h.slots} slots{overlapping}, " \
          f"fingerprints of {h.core_bits} bits"


def fraction(hash_):
    return f"{hash_ / TWO_64:.6f}"


class Steps:
    """A hash, spent step by step; each step is a line."""

    def __init__(self, hash_):
        self.hash, self.shown, self.lines = hash_, fraction(hash_), []

    def take(self, name, choices, result="{}"):
        choice, rest = nidus_read.cut(self.hash, choices)
        self.line(name, f"{self.shown} x {choices} = {self.hash / TWO_64 * choices:.4f}",
                  result.format(choice))
        self.hash, self.shown = rest, f"{rest / TWO_64:.4f}"
        return choice

    def line(self, name, product, result):
        self.lines.append(f"{name:<17}{product:<44}{result}")


def key(example, number):
    nest, number = example.fill(0), int(number)
    if isinstance(nest, nidus_read.Yards):
        return yard_key(nest, number)
    h, group = nest.header, word(nest)
    hash_ = nest.hash_bytes(str(number).encode())
    steps = Steps(hash_)
    steps.line(f"key {number}", f"hash {hash_:016x}", fraction(hash_))
    if h.family in (3, 4):
        steps.take("subtable" if nest.direct else "chunk", h.chunks)
    first = steps.take(group, h.groups)
    if nest.direct:
        low = 1 + steps.take(f"lowest {h.groups.bit_length() - 1} bits", h.groups - 1, "1 + {}")
        high = steps.take("the other bits", (1 << h.core_bits) // h.groups)
        core = low + h.groups * high
        steps.line("fingerprint", f"{high} x {h.groups} + {low}", f"{core}")
    else:
        core = 1 + steps.take("fingerprint", (1 << h.core_bits) - 1, "1 + {}")
        mixed = nest.hop_hash(core)
        steps.line("", f"fingerprint {core} mixed: {mixed:016x}", fraction(mixed))
        steps.hash, steps.shown = mixed, fraction(mixed)
        steps.take("mask" if nest.symmetric else "distance", h.groups - 1, "1 + {}")
    lead = nest.distance(core)
    if nest.symmetric:
        steps.line(f"other {group}", f"{first} XOR {lead}", f"{first ^ lead}")
    else:
        steps.line(f"second {group}", f"({first} + {lead}) mod {h.groups}",
                   f"{(first + lead) % h.groups}")
    return steps.lines


def rows(nest, values, groups):
    """Lines with the values of these groups, some groups to a line."""
    size = nest.header.slots
    width = max(3, max(len(spelled(nest, value)) for value in values)) + 1
    per_line = max(1, 84 // (width * size + 2))
    for at in range(0, len(groups), per_line):
        some = groups[at:at + per_line]
        yield f"{word(nest):<8}" + "  ".join(f"{group:>{width * size}}" for group in some)
        yield f"{'slot':<8}" + "  ".join("".join(f"{slot:>{width}}" for slot in slots_of(nest, g))
                                         for g in some)
        yield " " * 8 + "  ".join("".join(f"{spelled(nest, values[slot]):>{width}}"
                                          for slot in slots_of(nest, g)) for g in some)


def slot_rows(nest, values):
    for at in range(0, len(values), 12):
        some = range(at, min(at + 12, len(values)))
        yield f"{'slot':<8}" + "".join(f"{slot:>6}" for slot in some)
        yield " " * 8 + "".join(f"{spelled(nest, values[slot]):>6}" for slot in some)


def stash_line(nest):
    if nest.stash:
        yield "stash   " + "  ".join(f"({home}, {fingerprint})"
                                     for home, fingerprint, _ in nest.stashed_entries())


def numbers(texts):
    for text in texts:
        first, _, last = text.partition("-")
        yield from range(int(first), int(last or first) + 1)


def slots(example, n, *groups):
    nest = example.fill(int(n))
    values = all_slots(nest)
    if nest.windows:
        yield from slot_rows(nest, values)
    else:
        yield from rows(nest, values, list(numbers(groups)) or list(range(nest.groups)))
    yield from stash_line(nest)


def changes(before, after):
    """What is different: slots, then the stash."""
    old, new = all_slots(before), all_slots(after)
    for slot, (was, is_) in enumerate(zip(old, new)):
        if was != is_:
            yield f"slot {slot:<4}{spelled(before, was):>8}  becomes{spelled(after, is_):>8}"
    had, has = Counter(before.stashed_entries()), Counter(after.stashed_entries())
    for name, gone in (("stashed", has - had), ("from the stash", had - has)):
        for home, fingerprint, _ in sorted(gone.elements()):
            yield f"{name} ({home}, {fingerprint})"


def insert(example, n):
    return list(changes(example.fill(int(n) - 1), example.fill(int(n))))


def remove(example, n, number):
    before = example.fill(int(n))
    return list(changes(before, example.remove(int(number))))


def where_else(nest, slot, value):
    """The groups that an entry of a slot could lie in: its other one, and of windows its own."""
    h = nest.header
    core = value & (1 << h.core_bits) - 1
    lead = nest.distance(core)
    if nest.symmetric:
        own = slot // h.slots
        return own, f"{own} XOR {lead}", own ^ lead
    choice = value >> h.core_bits & 1
    own = slot - (value >> h.core_bits + 1) if nest.windows else slot // h.slots
    sign, other = ("-", own - lead) if choice else ("+", own + lead)
    return own, f"({own} {sign} {lead}) mod {nest.groups}", other % nest.groups


def room(nest, values, group):
    empty = [slot for slot in slots_of(nest, group) if values[slot] == 0]
    return f"slot {empty[0]} is empty" if empty else "full"


def ways(example, n, *groups):
    nest = example.fill(int(n))
    values = all_slots(nest)
    asked = dict.fromkeys(slot for group in numbers(groups)
                          for slot in reversed(slots_of(nest, group)))
    for slot in asked:
        own, how, other = where_else(nest, slot, values[slot])
        line = f"slot {slot:<4}{spelled(nest, values[slot]):>7}   {word(nest)} "
        if nest.windows:
            line += f"{own}: {room(nest, values, own)}; window "
        yield f"{line}{how} = {other}: {room(nest, values, other)}"


def count(example, n, *keys):
    nest = example.fill(int(n))
    for number in keys:
        chunk, home, core = nest.locate(nest.hash_bytes(number.encode()))
        yield f"key {number:<4} {word(nest)}s {' and '.join(map(str, nest.places(home, core)))}, " \
              f"fingerprint {core}: {nest.count_key(number.encode())}"


def coded(example, n, group):
    yield "after key   slots          code    bits"
    last = 0
    for some in range(1, int(n) + 1):
        nest = example.fill(some)
        size = 4 * nest.width - 4
        whole = nidus_read.bits(nest.chunk(0), int(group) * size, size)
        values = nest.values(nest.chunk(0), int(group))
        if whole != last:
            yield f"{some:<12}{' '.join(f'{value:02x}' for value in values):<15}" \
                  f"{whole & 4095:<8}{whole:0{-(-size // 4)}x}"
        last = whole


def code(example, n, group):
    """How the code and the bits of a bucket are made of its slots."""
    nest = example.fill(int(n))
    values, rest = nest.values(nest.chunk(0), int(group)), nest.width - 4
    terms = [(value % 16 + i, i + 1) for i, value in enumerate(values)]
    parts = [math.comb(*term) for term in terms]
    yield f"nibbles {' '.join(f'{value % 16:x}' for value in values)}, " \
          f"rests {' '.join(f'{value // 16:x}' for value in values)}"
    yield f"code = {' + '.join(f'C({a},{b})' for a, b in terms)} = " \
          f"{' + '.join(map(str, parts))} = {sum(parts)} = {sum(parts):03x}"
    bits = " ".join(f"{value // 16:0{rest}b}" for value in reversed(values))
    whole = sum(parts) + sum(value // 16 << 12 + i * rest for i, value in enumerate(values))
    yield f"bits, high first: {bits} | {sum(parts):012b} = {whole:0{-(-(4 * nest.width - 4) // 4)}x}"


# --------------------------------------------------------------------------- breadcrumb


def yard_key(yards, number):
    hash_ = yards.hash_bytes(str(number).encode())
    steps = Steps(hash_)
    steps.line(f"key {number}", f"hash {hash_:016x}", fraction(hash_))
    steps.take("front line", yards.fronts)
    steps.take("mini-bucket", yards.minis)
    steps.line("remainder", f"the next {yards.width} bits", f"{steps.hash >> 64 - yards.width:x}")
    return steps.lines


def front(example, n, bucket, gone=None):
    yards, bucket = example.fill(int(n)), int(bucket)
    if gone:
        yards = example.remove(gone)
    line = yards.front[bucket]
    last = " ".join(f"({mini}, {remainder:x})" for mini, remainder, _ in line.entries[-5:])
    yield f"front {bucket}: {len(line.entries)} of {yards.header.slots} slots taken, the last " \
          f"five are {last}"
    for number, back in enumerate(yards.back):
        for mini, remainder, crumb in back.entries:
            if yards.bucket_of(number, crumb) == bucket:
                half = "odd" if number % 2 else "even"
                yield f"{half} {number // 2}: ({mini}, {remainder:x}) with crumb {crumb}"


# ------------------------------------------------------------------------------- ribbon


def ribbon_shape(ribbon):
    for number, layer in enumerate(ribbon.keys.layers):
        shards = -(-layer.windows // 65536)
        yield f"layer {number}: {layer.windows} windows in {shards} shard{'s' if shards > 1 else ''}, " \
              f"{64 * layer.blocks} rows of {ribbon.keys.columns} bits, {-(-layer.windows // 128)} marks"
    size = ribbon.table_size()
    yield f"{size} bytes: {8 * size / ribbon.header.capacity:.3f} bits per key"


def bumped(example, n):
    """How many of the keys each layer bumps."""
    ribbon = example.fill(int(n))
    for line in ribbon_shape(ribbon):
        yield line
    hashes = [ribbon.hash_bytes(str(key).encode()) for key in range(1, int(n) + 1)]
    for number, layer in enumerate(ribbon.keys.layers):
        came = len(hashes)
        hashes = [next_hash(hash_) for hash_ in hashes if mark_of(ribbon, layer, hash_)[3]]
        yield f"layer {number} gets {came} keys and bumps {len(hashes)}"
    yield f"{ribbon.stashed} keys are listed"


def next_hash(hash_):
    hash_ = hash_ * 0xBEA225F9EB34556D & nidus_read.MASK
    hash_ = (hash_ ^ hash_ >> 32) * 0x94D049BB133111EB & nidus_read.MASK
    return hash_ ^ hash_ >> 32


def mark_of(ribbon, layer, hash_):
    """The window of a hash, its bucket, the bucket's mark, and whether the key is bumped."""
    window = nidus_read.cut(hash_, layer.windows)[0]
    bucket = window // 128
    mark = ribbon.table[layer.marks + bucket // 4] >> bucket % 4 * 2 & 3
    return window, bucket, mark, window % 128 < (0, 16, 48, 128)[mark]


def told(example, n, number):
    ribbon = example.fill(int(n))
    hash_ = ribbon.hash_bytes(number.encode())
    yield f"{'key ' + number:<15}hash {hash_:016x}  {fraction(hash_)}"
    for level, layer in enumerate(ribbon.keys.layers):
        window, bucket, mark, gone = mark_of(ribbon, layer, hash_)
        yield f"layer {level:<9}window {fraction(hash_)} x {layer.windows} = {window}: place {window % 128} of " \
              f"bucket {bucket}, whose mark {mark} bumps {(0, 16, 48, 128)[mark]} places"
        if not gone:
            break
        hash_ = next_hash(hash_)
        yield f"{'bumped':<15}hash {hash_:016x}  {fraction(hash_)}"
    x = hash_ * nidus_read.GOLDEN & nidus_read.MASK
    x ^= x >> 32
    sums, print_, _ = ribbon.keys.sums_at(ribbon.table, layer, window, hash_)
    bits = ribbon.header.core_bits
    picked = bin(x | 1).count("1")
    block = window // 64 + window // 65536
    yield f"{'mask':<15}{x | 1:016x}: {picked} of the rows {window % 64} to 63 of block {block} and " \
          f"0 to {(window + 63) % 64} of block {block + 1}"
    sums &= (1 << bits) - 1
    print_ &= (1 << bits) - 1
    yield f"{'their XOR':<15}{sums:0{bits}b}"
    yield f"{'fingerprint':<15}{print_:0{bits}b}: {'yes' if sums == print_ else 'no'}"


# --------------------------------------------------------------------------------- pages

# -------------------------------------------------------------------------- generations


def generations(example, n):
    for number, one in enumerate(example.fill(int(n)).generations):
        bits = one.header.growth_bits
        held = f"{len(one.bodies)} bod{'ies' if len(one.bodies) > 1 else 'y'}" if one.bodies else "a list"
        yield f"generation {number}: 2^{bits} parts, {one.header.groups} windows each; " \
              f"{one.header.count} keys in {held}"


def lineage(example, n, number):
    filter_ = example.fill(int(n))
    hash_, younger = filter_.hash_bytes(number.encode()), None
    yield f"key {number}: hash {fraction(hash_)}"
    identities = []
    for one in filter_.generations:
        cells = one.parts * one.header.groups * ((1 << one.header.core_bits) - 1)
        identities.append((hash_ * cells >> 64, one))
    for i, (identity, one) in enumerate(identities):
        yield f"generation {i}: {fraction(hash_)}... x {one.parts} x {one.header.groups} x " \
              f"{(1 << one.header.core_bits) - 1} = {identity}; {'there' if one.contains_hash(hash_) else 'not there'}"
    (older, first), (younger, last) = identities[0], identities[-1]
    ratio = last.parts // first.parts
    yield f"{younger} / {ratio} = {younger // ratio}" + ("" if younger // ratio == older else f", not {older}")


SHOWS = {function.__name__: function for function in
         (generations, lineage, shape, key, slots, insert, ways, remove, count, coded, code, front, told, bumped)}
COMMENT = re.compile(r"<!-- (filter|shows): (.*?) -->")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Page:
    def __init__(self, nidus, path, folder):
        self.nidus, self.path, self.folder = nidus, path, folder
        self.lines = path.read_text().split("\n")
        self.failures, self.shown = 0, 0

    def complain(self, number, what):
        print(f"{self.path.name}:{number + 1}: {what}")
        self.failures += 1

    def block_from(self, at):
        """Where the block after a comment begins and ends: its fences."""
        while not self.lines[at].startswith("```"):
            at += 1
        end = at + 1
        while not self.lines[end].startswith("```"):
            end += 1
        return at, end

    def check(self, write):
        at, example = 0, None
        while at < len(self.lines):
            comment = COMMENT.match(self.lines[at])
            if comment and comment[1] == "filter":
                example = Example(self.nidus, comment[2], self.folder)
            elif comment:
                at = self.check_block(at, example, comment[2].split(), write)
            at += 1
        if write:
            self.path.write_text("\n".join(self.lines))
        else:
            self.check_prose()

    def check_block(self, at, example, words, write):
        start, end = self.block_from(at)
        truth = [line.rstrip() for line in SHOWS[words[0]](example, *words[1:])]
        self.shown += 1
        if self.lines[start + 1:end] != truth:
            if write:
                self.lines[start + 1:end] = truth
                return start + len(truth) + 1
            self.complain(start, f"{' '.join(words)} is not what stands here, but:")
            print("\n".join(truth))
        return end

    def sections(self):
        """Where the worked examples begin and end."""
        starts = [i for i, line in enumerate(self.lines) if line.startswith("## ")]
        for start, end in zip(starts, starts[1:] + [len(self.lines)]):
            if self.lines[start] == "## Worked example":
                yield start, end

    def check_prose(self):
        """Numbers between the blocks are also in one of the blocks."""
        for start, end in self.sections():
            known, prose, inside = set(), [], False
            for i in range(start, end):
                line = self.lines[i]
                inside ^= line.startswith("```")
                if inside or COMMENT.match(line):
                    known |= set(NUMBER.findall(line))
                elif not line.startswith("```"):
                    prose.append(i)
            for i in prose:
                for number in set(NUMBER.findall(self.lines[i])) - known:
                    self.complain(i, f"{number} is in none of the blocks of this section")


def main(arguments):
    write = arguments[:1] == ["--write"]
    nidus, *paths = arguments[write:]
    failures = shown = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            page = Page(nidus, pathlib.Path(path), pathlib.Path(folder))
            page.check(write)
            failures, shown = failures + page.failures, shown + page.shown
    if shown == 0:
        print("no page shows anything: the comments were not understood")
    return failures > 0 or shown == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
