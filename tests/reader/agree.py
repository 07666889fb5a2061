#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library and tools/nidus_read.py, which shares nothing with it but docs/format.md, must agree.

    agree.py NIDUS ANSWERS EXCHANGE    (programs of the build: the command, tests/answers.c,
                                        tests/exchange.c)

Files of every family are made small and large, fixed and grown, merged and with copies. Of each the
two readers must list the same entries and give the same answers for keys of all three kinds, absent
ones included: the false positives are the same. Then single fields and bytes are changed, with all
checksums put right, and both must take or refuse the file. Last come the files of tests/golden/.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tools"))
sys.dont_write_bytecode = True

import nidus_read  # noqa: E402
from xxh3 import xxh3_64  # noqa: E402

GOLDEN = os.path.join(TREE, "tests", "golden")
NIDUS, ANSWERS, EXCHANGE = sys.argv[1:]
FAMILIES = nidus_read.FAMILIES[1:]
LISTED = FAMILIES[:7]  # those whose entries can be listed
SEED = 77
LARGE = 400000  # keys that need two chunks in the families that like large ones

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what, flush=True)


def as_lines(keys):
    return b"".join(key + b"\n" for key in keys)


def run(*command, keys=None, text=None, may_fail=False):
    """What a program prints; keys go to it as lines, text as it is."""
    text = text if keys is None else as_lines(keys)
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True,
                          stdin=subprocess.DEVNULL if text is None else None, check=False)
    if done.returncode and not may_fail:
        sys.exit(f"{command}: {done.returncode}: {done.stderr.decode()}")
    return done.stdout


# ------------------------------------------------------------------------------- asking


def lines_to_ask():
    """Keys as tests/answers.c takes them: those of all files here, and as many that are in none."""
    texts = [b"%d" % i for i in range(0, 1300, 5)] + [b"key %d" % i for i in range(0, 3000, 31)]
    texts += [b"", b"\0", b"heron" * 60]
    chance = random.Random(1)
    return ([b"b " + text.hex().encode() for text in texts] +
            [b"u %d" % (i * i) for i in range(0, 3000, 24)] + [b"u 18446744073709551615"] +
            [b"h %d" % chance.getrandbits(64) for _ in range(60)])


ASKED = lines_to_ask()


def hash_of(filter_, line):
    if line[:1] == b"b":
        return filter_.hash_bytes(bytes.fromhex(line[2:].decode()))
    return filter_.hash_u64(int(line[2:])) if line[:1] == b"u" else int(line[2:])


def numbers_in(text):
    """A tuple per line of text."""
    return [tuple(map(int, line.split())) for line in text.splitlines()]


def compare(path, asked=None):
    """Both readers on one file. Answers ours."""
    name = os.path.basename(path)
    asked = asked or ASKED
    filter_ = nidus_read.read(path)
    said = numbers_in(run(ANSWERS, "keys", path, keys=asked))
    ours = {}
    for line in asked:
        hash_ = hash_of(filter_, line)
        copies = filter_.count_hash(hash_)
        values = ([filter_.age_hash(hash_)] if filter_.header.slices else
                  sorted(filter_.values_hash(hash_)) if filter_.header.value_bits else [])
        ours[line] = hash_, int(filter_.contains_hash(hash_)), copies, *values
    said = [(*answer[:3], *sorted(answer[3:])) for answer in said]
    wrong = [(line, a, b) for line, a, b in zip(asked, said, ours.values()) if a != b]
    expect(len(said) == len(ours) and not wrong, f"{name}: the answers differ: {wrong[:3]}")
    texts = {line: bytes.fromhex(line[2:].decode()) for line in asked if line[:1] == b"b"}
    texts = {line: text for line, text in texts.items() if b"\n" not in text}
    found = [text for line, text in texts.items() if ours[line][1]]
    expect(run(NIDUS, "query", path, keys=texts.values(), may_fail=True) == as_lines(found),
           f"{name}: nidus query says otherwise")
    if nidus_read.FAMILIES[filter_.header.family] in LISTED:
        listed = sorted(numbers_in(run(NIDUS, "dump", path)))
        ours = filter_.entries()
        if filter_.header.slices:
            ours = (entry[:2] for entry in ours)  # nidus dump tells no ages
            told = json.loads(run(NIDUS, "info", "--json", path))["slices"]
            expect(told == filter_.slices, f"{name}: the slices hold other numbers")
        expect(listed == sorted(ours), f"{name}: the entries differ")
        expect(len(listed) == filter_.count, f"{name}: there are not count entries")
    return filter_


# ------------------------------------------------------------------------------- files


def numbers(first, last):
    return [b"%d" % i for i in range(first, last)]


def build(folder, family, name, keys, *options):
    path = os.path.join(folder, f"{family}-{name}.nidus")
    run(NIDUS, "build", "-q", "-f", family, "--seed", SEED, "-o", path, *options, keys=keys)
    return path


def fixed_files(folder, family):
    yield build(folder, family, "empty", [], "-n", 5)
    if family != "ribbon":
        yield build(folder, family, "paged", numbers(0, 1000), "-n", 200000, "-p", "2^-12")
    yield build(folder, family, "one", numbers(7, 8), "-n", 1, "-p", "2^-20")
    for slots in {"cuckoo": (2, 4, 8), "simplified": (2, 4, 8), "chunked": (2, 4, 8),
                  "bucketed": (2, 4), "windowed": (2, 4), "breadcrumb": (25, 51)}.get(family, ()):
        yield build(folder, family, f"slots-{slots}", numbers(0, 1000), "-n", 1000, "-p", "2^-7",
                    "-s", slots)
    if family in ("bucketed", "windowed"):  # two chunks
        yield build(folder, family, "large", numbers(0, 1000), "-n", LARGE, "-p", "2^-4")
    if family == "ribbon":
        pairs = [b"%d\t%d" % (i, i * 7 % 2048) for i in range(3000)]
        yield build(folder, family, "values", pairs, "-p", "2^-9", "--values", 11)
        yield build(folder, family, "fraction", numbers(0, 2600), "-p", "0.3")
        yield build(folder, family, "many", numbers(0, 80000), "-p", "2^-3.5")
        out = os.path.join(folder, "out")
        with open(out, "wb") as file:
            file.write(as_lines(numbers(600, 30000)))
        yield build(folder, family, "exact", numbers(0, 600), "--exclude", out)
    if family in LISTED:
        pairs = [b"%d\t%d" % (i, i * 7 % 2048) for i in range(600)]
        pairs += [b"5\t%d" % i for i in range(6)]
        yield build(folder, family, "values", pairs, "-n", 700, "-p", "2^-9", "--values", 11)
        yield build(folder, family, "grown-values", pairs, "-n", 100, "--grow", 5000, "-p", "2^-7",
                    "--values", 24)
    for bits in (4, 9, 12, 17, 24):
        yield build(folder, family, f"bits-{bits}", numbers(0, 600), "-n", 600, "-p", f"2^-{bits}")
        if family == "bucketed":
            yield build(folder, family, f"compact-{bits}", numbers(0, 600), "-n", 600, "-p", f"2^-{bits}",
                        "--compact")
    if family == "bucketed":
        path = build(folder, family, "compact-grown", numbers(0, 100), "-n", 100, "-p", "2^-6", "--compact",
                     "--grow", 4000)
        for last in range(100, 700, 150):
            run(NIDUS, "add", "-q", "--multiset", path, keys=numbers(last, last + 150) + numbers(last, last + 2) * 4)
            yield path


def changed_files(folder, family):
    """Copies, growth, and merges."""
    two_slots = () if family in ("semisort", "breadcrumb") else ("-s", 2)
    # More than a key has slots, where groups have four: some must go to the stash.
    crowd = numbers(0, 500) + numbers(5, 7) * (9 if family == "semisort" else 6)
    yield build(folder, family, "copies", crowd, "-n", 600, "-p", "2^-4", "--multiset", *two_slots)
    for most in (500, 3000, 100000):
        path = build(folder, family, f"grown-{most}", numbers(0, 100), "-n", 100, "-p", "2^-5",
                     "--grow", most)
        yield path
        run(NIDUS, "add", "-q", "--multiset", path, keys=numbers(100, 450) + numbers(3, 5) * 5)
        yield path
    yield grown(folder, family, "leaves", 100000, (100, 9000, 14000, 24000))
    yield grown(folder, family, "leaves-hot", 60000, (100, 12000), numbers(3, 9) * 60)
    yield grown(folder, family, "leaves-last", 24000, (100, 23000))
    path = build(folder, family, "relaxed", numbers(0, 300), "-n", 300, "-p", "2^-9")
    run(NIDUS, "grow", "-q", "--relax", "-n", 900, path)
    yield path


def grown(folder, family, name, most, sizes, hot=()):
    """A filter that has grown into several bodies, and keys with many copies."""
    path = build(folder, family, name, numbers(0, sizes[0]), "-n", 100, "-p", "2^-6", "--grow", most)
    for first, last in zip(sizes, sizes[1:]):
        run(NIDUS, "add", "-q", "--multiset", path, keys=numbers(first, last) + list(hot))
    return path


def merged_files(folder, family):
    for most in (300, 900) if family in LISTED else (0,):  # all address bits borrowed, and some
        grow = ("--grow", most) if most else ()
        parts = [build(folder, family, f"part-{most}-{i}", numbers(i * 300, i * 300 + 300),
                       "-n", 300, "-p", "2^-10", *grow) for i in range(4)]
        path = os.path.join(folder, f"{family}-merged-{most}.nidus")
        run(NIDUS, "merge", "-o", path, *parts)
        yield path


def small_files(folder, family):
    """Some of few bytes, whose fields and bytes can be changed one by one."""
    if family not in LISTED:
        return [build(folder, family, "small", numbers(0, 9), "-n", 9)]
    copies = build(folder, family, "small-copies", numbers(0, 30) + numbers(5, 7) * 5, "-n", 40,
                   "--multiset")
    parts = [build(folder, family, f"small-{i}", numbers(i * 20, i * 20 + 20), "-n", 20,
                   "-p", "2^-9", "--grow", 70) for i in range(3)]
    merged = os.path.join(folder, f"{family}-small-merged.nidus")
    run(NIDUS, "merge", "-o", merged, *parts)
    relaxed = build(folder, family, "small-relaxed", numbers(0, 20), "-n", 20, "-p", "2^-9")
    run(NIDUS, "grow", "-q", "--relax", "-n", 400, relaxed)
    run(NIDUS, "add", "-q", "--multiset", relaxed, keys=numbers(20, 150) + numbers(3, 5) * 40)
    values = build(folder, family, "small-list", [b"%d\t%d" % (i % 20, i % 7) for i in range(60)], "-n", 30,
                   "--grow", 900, "--values", 3)
    leaves = grown(folder, family, "small-leaves", 24000, (100, 9000))
    unlimited = build(folder, family, "small-unlimited", numbers(0, 30) + numbers(5, 7) * 5, "--multiset", "--grow",
                      *["--no-delete"] * (FAMILIES.index(family) < 4))
    return copies, parts[0], merged, relaxed, values, leaves, unlimited


def files_of(folder, family):
    yield from fixed_files(folder, family)
    if family in LISTED:
        yield from changed_files(folder, family)
    if family != "ribbon":
        yield from merged_files(folder, family)
    yield from small_files(folder, family)


# ----------------------------------------------------------------------------- changes


def respelled(data):
    """The bytes of a file with all checksums put right."""
    data = bytearray(data)
    for row in 128, 160:
        offset, size = struct.unpack_from("<QQ", data, row + 8)
        struct.pack_into("<Q", data, row + 24, xxh3_64(bytes(data[offset:offset + size])))
    struct.pack_into("<Q", data, 248, xxh3_64(bytes(data[:248])))
    return bytes(data)


def with_field(data, name, value):
    at, form = nidus_read.FIELDS[name]
    data = bytearray(data)
    struct.pack_into("<" + form, data, at, value)
    return bytes(data)


def field_changes(data):
    for name, (at, form) in nidus_read.FIELDS.items():
        if name in ("checksum", "version"):
            continue
        if form == "d":
            for value in (0.0, -0.0, 1.0, -0.5, 2.0, float("inf"), float("nan"), 0.3):
                yield name, value, with_field(data, name, value)
            continue
        now = struct.unpack_from("<" + form, data, at)[0]
        top = 2**(8 * struct.calcsize(form)) - 1
        for value in {0, 1, 2, 3, now + 1, now - 1, 2 * now, 2**31, top, top - 7} - {now}:
            if 0 <= value <= top:
                yield name, value, with_field(data, name, value)


def leaf_changes(data):
    """The head of a filter that grows, and the fields of its first and last leaf, one by one."""
    filter_ = nidus_read.parse(data)
    if not filter_.header.segmented:
        return
    at = filter_.header.table_offset
    leaves = struct.unpack_from("<Q", data, at)[0]
    fields = [(at, "Q"), (at + 8, "Q"), (at + 16, "Q"), (at + 56, "Q")]
    if filter_.header.slices:
        fields += [(at + 64 + 8 * age, "Q") for age in range(8)]
    for leaf in {0, leaves - 1} if leaves else ():
        start = at + filter_.records_at() + 64 * leaf if filter_.header.segmented == 1 else at + 64 * leaf + 64
        if filter_.header.slices:
            fields += [(start + i, "H") for i in (56, 58, 60, 62)]
        fields += [(start, "I"), (start + 4, "I")] + [(start + 8 * i, "Q") for i in range(1, 8)]
    for place, form in fields:
        now = struct.unpack_from("<" + form, data, place)[0]
        top = 2**(8 * struct.calcsize(form)) - 1
        for value in {0, 1, 2, 3, 17, min(now + 1, top), max(now, 1) - 1, min(2**31, top), min(2**32 - 1, top)} - {now}:
            changed = bytearray(data)
            struct.pack_into("<" + form, changed, place, value)
            yield "leaf", (place - at, value), bytes(changed)


def byte_changes(data, chance):
    """Bits of the sections and of what is between them, and of what should be zero."""
    for at in [68, 100, 124, 132, 164] + [chance.randrange(192, 248) for _ in range(3)] + [
            chance.randrange(256, len(data)) for _ in range(40) if len(data) > 256]:
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(8)
        yield "byte", at, bytes(changed)
    yield "length", len(data) + 1, data + b"\0"
    yield "length", len(data) - 1, data[:-1]


# Numbers that a reader does not need. The library refuses what it could not go on with.
MAKERS = {"features", "capacity", "max_capacity", "fpr"}


def taken_by_ours(data):
    try:
        nidus_read.parse(data)
        return True, ""
    except nidus_read.BadFile as error:
        return False, str(error)


def compare_changes(path, chance):
    with open(path, "rb") as file:
        data = file.read()
    changes = [(name, value, respelled(changed)) for name, value, changed in
               [*field_changes(data), *leaf_changes(data), *byte_changes(data, chance)]]
    said = run(ANSWERS, "load", text=b"".join(b"%d\n%s" % (len(changed), changed)
                                              for _, _, changed in changes)).decode().splitlines()
    expect(len(said) == len(changes), f"{os.path.basename(path)}: not every change was loaded")
    good = 0
    for (name, value, changed), status in zip(changes, said):
        good += status.startswith("NIDUS_OK")
        taken, why = taken_by_ours(changed)
        promises = name in MAKERS or "promises" in status
        expect(taken == status.startswith("NIDUS_OK") or taken and promises,
               f"{os.path.basename(path)}: {name} {value}: the library says {status}, "
               f"the reader {why or 'nothing against it'}")
    return good, len(changes)


# ---------------------------------------------------------------------------- golden files


def check_golden(path, asked):
    """Whether a file of tests/golden/ says what stands beside it."""
    filter_ = nidus_read.read(path)
    header = filter_.header
    with open(path[:-len("nidus")] + "expected", encoding="ascii") as file:
        expected = file.read().splitlines()
    said = [f"family {nidus_read.FAMILIES[header.family]}"]
    fixed = not header.segmented
    said += [f"{name} {getattr(header, name)}" for name in
             ("seed", *["capacity"] * fixed, "max_capacity", "slots")]
    if header.slices:
        said += [f"slices {header.slices}", *[f"age {age} {n}" for age, n in enumerate(filter_.slices)]]
    said += [f"count {filter_.count}", f"stashed {filter_.stashed}", *[f"chunks {header.chunks}"] * fixed]
    said += ["fpr 0x%016x" % struct.unpack("<Q", struct.pack("<d", header.fpr))]
    if nidus_read.FAMILIES[header.family] in LISTED:
        said += [" ".join(map(str, ("entry", *entry))) for entry in sorted(filter_.entries())]
    for line in asked:
        kind, key = line.split()
        hash_ = (filter_.hash_bytes(key.encode()) if kind == "text" else
                 filter_.hash_u64(int(key)) if kind == "u64" else int(key))
        if filter_.contains_hash(hash_):
            said.append(f"{line} {filter_.count_hash(hash_)}")
            said += [f"ago {line} {filter_.age_hash(hash_)}"] if header.slices else []
    expect(said == expected, f"{os.path.basename(path)}: not what it was")
    yards = getattr(filter_, "bodies", [filter_])
    return any(line.entries for yard in yards for line in yard.back) if header.family == 7 else False


def check_all_golden():
    with open(os.path.join(GOLDEN, "keys"), encoding="ascii") as file:
        asked = file.read().splitlines()
    paths = [os.path.join(GOLDEN, name) for name in sorted(os.listdir(GOLDEN))
             if name.endswith(".nidus")]
    expect(any([check_golden(path, asked) for path in paths]), "no backyard is in use")
    return len(paths)


# -------------------------------------------------------------------------------- main


def check_hashes(path):
    """XXH3 of every way that it has of dealing with a length."""
    chance = random.Random(2)
    lengths = [*range(300), 511, 512, 513, 1023, 1024, 1025, 1088, 2047, 2048, 2049, 3000, 5000]
    compare(path, [b"b " + chance.randbytes(n).hex().encode() for n in lengths])


def bodies_of(filter_):
    return getattr(filter_, "bodies", [])


# Keys of the filters that forget, as tests/exchange.c makes them, and as many that are in none.
RECENT_ASKED = [b"b " + (b"key %d" % i).hex().encode() if i % 2 else b"u %d" % (i * i)
                for i in [*range(0, 1600, 3), *range(1600, 36000, 61)]]

RECENT_SHAPES = {  # as shapes in main()
    "a list with lag": (FAMILIES[4:7], lambda f: not f.bodies and f.list_lag > 0),
    "all stamps behind": (FAMILIES[4:7], lambda f: not f.bodies and f.list_lag == 1 << f.header.value_bits),
    "lags that differ": (("bucketed", "breadcrumb"), lambda f: len({body.lag for body in f.bodies}) > 1),
    "entries that expired": (FAMILIES[4:7], lambda f: f.header.count > f.count > 0),
    "many ages": (FAMILIES[4:7], lambda f: sum(count > 0 for count in f.slices) > 100),
}


def main():
    shapes = {  # what must have been among the files, and for which families
        "a stash": (FAMILIES[:6], lambda f: f.header.stashed > 0),
        "borrowed bits": (LISTED, lambda f: bodies_of(f) and f.deepest >= f.header.growth_bits),
        "tags": (LISTED, lambda f: any(body.header.tag_bits for body in bodies_of(f))),
        "no more tags": (LISTED, lambda f: f.header.growth_bits > 0 and
                         any(not body.header.tag_bits for body in bodies_of(f))),
        "a stash of a body": (LISTED, lambda f: len(bodies_of(f)) > 1 and f.header.stashed),
        "a list": (LISTED, lambda f: f.header.segmented and not bodies_of(f)),
        "copies in a list": (LISTED, lambda f: f.header.stashed and f.header.segmented and not bodies_of(f)),
        "chunks": (FAMILIES[2:6], lambda f: f.header.chunks > 1 and not f.header.segmented),
        "pages": (FAMILIES[:9], lambda f: f.header.table_offset == 4096),
    }
    missing = {(what, family) for what, (families, _) in [*shapes.items(), *RECENT_SHAPES.items()]
               for family in families}
    changes = taken = files = 0
    chance = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        for family in FAMILIES:
            for path in files_of(folder, family):
                filter_ = compare(path)
                files += 1
                missing -= {(what, family) for what, (_, is_so) in shapes.items() if is_so(filter_)}
            for path in small_files(folder, family):
                good, all_ = compare_changes(path, chance)
                changes, taken = changes + all_, taken + good
        check_hashes(path)
        exchanged = os.path.join(folder, "exchanged")
        os.mkdir(exchanged)
        run(EXCHANGE, "write", exchanged)
        names = sorted(os.listdir(exchanged))
        recent = [os.path.join(exchanged, name) for name in names if "-recent-" in name]
        for path in recent:
            filter_ = compare(path, RECENT_ASKED)
            files += 1
            family = nidus_read.FAMILIES[filter_.header.family]
            missing -= {(what, family) for what, (_, is_so) in RECENT_SHAPES.items() if is_so(filter_)}
        for path in recent:
            if os.path.getsize(path) < 2000:
                good, all_ = compare_changes(path, chance)
                changes, taken = changes + all_, taken + good
        for name in [name for name in names if "-recent-" not in name][::5]:
            compare(os.path.join(exchanged, name), ASKED[::2])
            files += 1
    golden = check_all_golden()
    print(f"{files} files, {golden} golden ones, {changes} changed files ({taken} still good)")
    expect(not missing, f"no file has these: {sorted(missing)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
