#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls the module with odd objects at random, and checks that nothing is lost, leaked or broken.

usage: PYTHONPATH=build/python python3 tests/python/fuzz.py [CALLS|SECONDSs [SEED]]

Only the exceptions below may come out; every key that was added and not taken out is found; no
object keeps a reference that it should not. NumPy is used where it is there, pytest is not needed.
"""

import array
import ctypes
import io
import os
import random
import sys
import tempfile
import time

import nidus

try:
    import numpy
except ImportError:
    numpy = None


class Planned(Exception):
    """What odd objects raise themselves."""


EXPECTED = (TypeError, ValueError, OverflowError, RuntimeError, BufferError, AttributeError, StopIteration, nidus.Error, Planned)

# Methods that take keys out: after an odd call nobody knows what is in the filter.
SPOILING = ("discard", "remove", "remove_many", "clear", "close")


class Index:
    """An integer that does something first."""

    def __init__(self, act):
        self.act = act

    def __index__(self):
        return self.act()


class Sequence:
    """Items without an end of their own, or with one that lies."""

    def __init__(self, length, item):
        self.length, self.item = length, item

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        if i >= 50:
            raise IndexError
        return self.item(i)


class Text(str):
    pass


class Number(int):
    def __index__(self):
        raise Planned

    __hash__ = int.__hash__


def fail(*_):
    raise Planned


def close_and(filters, value):
    if filters:
        filters[0].close()
    return value


def endless_but_failing():
    for i in range(20):
        yield i
    raise Planned


def shrinking(items):
    """A list that loses items while it is walked over."""
    for item in items:
        del items[-1:]
        yield item


def odd_keys(rng, filters):
    return [
        "", "heron", b"", b"crane", 0, -1, 2**63, 2**64 - 1, -(2**63), 2**64, -(2**63) - 1, 10**100, True, None,
        1.5, float("nan"), 1j, "\ud800", "鷺" * 100, b"\0" * 1000, Text("x"), Number(5), (), [], {}, set(), object,
        Index(fail), Index(lambda: 7), Index(lambda: "x"), Index(lambda: 2**70),
        Index(lambda: close_and(filters, 9)), bytearray(b"x"), memoryview(b"x"), sys.maxsize, Ellipsis, nidus,
    ]  # fmt: skip


def odd_columns(rng, filters):
    """Makers: each call needs iterators and lists of its own."""
    makers = [
        lambda: rng.choices(odd_keys(rng, filters), k=rng.randrange(6)),
        lambda: [rng.randrange(-(2**63), 2**64) for _ in range(rng.randrange(30))],
        lambda: [str(rng.randrange(100)) for _ in range(rng.randrange(30))],
        lambda: iter([1, 2, b"x"]),
        endless_but_failing,
        lambda: shrinking([1, 2, 3, 4, 5, 6]),
        lambda: (filter.close() or 1 for filter in filters[:1]),
        lambda: Sequence(10**9, lambda i: i),
        lambda: Sequence(-1, lambda i: i),
        lambda: Sequence(3, fail),
        lambda: [Index(lambda: close_and(filters, 3)), 4],
        lambda: array.array(rng.choice("bBhHiIlLqQfd"), range(rng.randrange(20))),
        lambda: array.array("u", "abc"),
        lambda: memoryview(array.array("q", range(20)))[:: rng.choice((-3, -1, 1, 2, 7, 100))],
        lambda: memoryview(bytes(48)).cast(rng.choice(["b", "c", "?", "d", "n", "N", "P"])),
        lambda: memoryview(bytes(48)).cast("q", (2, 3)),
        lambda: (ctypes.c_uint64 * 5)(1, 2, 3),
        lambda: (ctypes.c_char * 5)(),
        lambda: (ctypes.c_char_p * 2)(b"x", b"y"),
        lambda: ctypes.c_int64(5),
        lambda: (ctypes.c_int64 * 2 * 3)(),
        lambda: io.BytesIO(b"abc").getbuffer(),
        lambda: "heron",
        lambda: b"heron",
        lambda: None,
        lambda: 5,
        lambda: object(),
        lambda: filters[0] if filters else None,
        lambda: range(rng.randrange(40)),
        lambda: {"a": 1, 2: 3},
    ]
    if numpy:
        makers += [
            lambda: numpy.arange(rng.randrange(9000))[:: rng.choice((-5, -1, 1, 3))],
            lambda: numpy.zeros(rng.randrange(5), dtype=rng.choice(["S0", "S1", "S9", "U1", "U0", ">U3", "V3", "O", "M8[s]", "f2", "?"])),
            lambda: numpy.frombuffer(rng.randbytes(40), dtype=rng.choice(["U1", ">U2", "S5", ">i8", "<u4", ">u2", "i1", "f8"])),
            lambda: numpy.array(["a", "ä", "鷺"]),
            lambda: numpy.ma.masked_array([1, 2, 3], mask=rng.choice([0, 1, [0, 1, 1]])).astype(rng.choice(["i8", "u1", "M8[s]", "U3", "f8"])),
            lambda: numpy.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]),
            lambda: numpy.array(rng.choices(odd_keys(rng, filters), k=3) + [None], dtype=object)[:-1],
            lambda: numpy.zeros((3, 3), dtype="i8"),
            lambda: numpy.array(5),
            lambda: numpy.broadcast_to(numpy.int64(5), 10),
            lambda: numpy.zeros(4, dtype=[("a", "i1"), ("b", "i8")])["b"],
        ]
    return makers


def odd_options(rng):
    def some(*values):
        return rng.choice(values)

    options = {
        "fpr": some(0.5, 0.01, 2**-24, 0, -1, 2, float("nan"), "x", None),
        "family": some("auto", "windowed", "bloom", "breadcrumb", "cuckoo", "x", "", None, "a\0b"),
        "seed": some(1, 2**64 - 1, None, 0, -1, "x"),
        "max_capacity": some(0, 5000, 10**6, -5, 2**64),
        "slots": some(0, 2, 4, 99, -1, 2**32),
        "features": some(0, 1, 16, 64, 128, 255, 1 << 20, nidus.Feature.GROW, None),
        "max_steps": some(0, 1, 1000),
        "reserve": some(None, 0, 1, 99),
        "stash": some(None, 0, 1, 10**6),
        "value_bits": some(0, 1, 8, 32, 33, -1),
        "slices": some(0, 0, 0, 2, 16, 255),
        "colour": 1,
    }
    return {name: options[name] for name in rng.sample(list(options)[: rng.choice((11, 12))], rng.randrange(4))}


class Fuzz:
    def __init__(self, seed, folder):
        self.rng = random.Random(seed)
        self.path = os.path.join(folder, "fuzz.nidus")
        self.filters = []
        self.renew()

    def renew(self):
        """A healthy filter whose contents are known, and one to merge with it."""
        features = self.rng.choice((0, nidus.Feature.CONCURRENT))
        self.filters[:] = [nidus.Filter(3000, fpr=2**-16, max_capacity=10**6, features=features, value_bits=6, seed=5)]
        self.known = {}

    def sometimes(self, *values):
        return self.rng.choice(values)

    def key(self):
        return self.rng.choice(odd_keys(self.rng, self.filters))

    def column(self):
        return self.rng.choice(odd_columns(self.rng, self.filters))()

    def add_known(self):
        key = self.rng.choice((str, bytes, int))(self.rng.randrange(200))
        try:
            self.filters[0].add(key)
            self.known[key] = self.known.get(key, 0) + 1
        except nidus.CopiesError:
            pass

    def discard_known(self):
        if self.known:
            key = self.rng.choice(list(self.known))
            assert self.filters[0].discard(key), key
            self.known[key] -= 1
            if self.known[key] == 0:
                del self.known[key]

    def merge_in(self):
        other = nidus.build(self.column(), like=self.filters[0])
        self.filters[0] = nidus.merge([self.filters[0], other], copies=True)

    def act(self):
        f, rng = self.filters[0], self.rng
        return rng.choice([
            self.add_known, self.add_known, self.discard_known,
            lambda: f.add(self.key()), lambda: f.add_new(self.key()), lambda: self.key() in f,
            lambda: f.count(self.key()), lambda: f.add_many(self.column()), lambda: f.add_new_many(self.column()),
            lambda: f.contains_many(self.column()), lambda: f.contains_many(self.column()),
            lambda: f.contains_many(self.key()),
            lambda: nidus.build(self.column(), **odd_options(rng)),
            lambda: nidus.build(self.column(), threads=self.sometimes(0, 1, 3, -1, "x", 2**40)),
            lambda: nidus.build(self.column(), like=self.sometimes(f, None, 5), values=self.sometimes(None, self.column())),
            lambda: nidus.Filter(self.sometimes(1, 100, 10**5, 0, -1, None, 2**62, "x", 1.5), **odd_options(rng)),
            lambda: nidus.plan(self.sometimes(1, 100, 10**9, 0, -1, None), **odd_options(rng)),
            lambda: nidus.merge(self.sometimes([f, f], [f, 1], [], None, 5, iter([f]), [f, f.copy()])),
            self.merge_in, lambda: (f | f.copy()).update(self.column(), f), lambda: f.union(f, self.sometimes(f, self.key())),
            lambda: f.update(self.column()), lambda: f == self.sometimes(f, f.copy(), f | f, nidus.Filter(5), self.key()),
            lambda: f | self.key(), lambda: self.key() | f, lambda: f.__ior__(self.key()),
            lambda: f.save(self.sometimes(self.path, self.path + "/x", "", None, 5, b"\0", "/")),
            lambda: nidus.load(self.sometimes(self.path, "", None, 5, "a\0b", "/dev/null")),
            lambda: nidus.open(self.sometimes(self.path, "", None, "/"), verify=self.sometimes(0, 1, "x")),
            lambda: nidus.from_bytes(self.bytes(), copy=self.sometimes(True, False)).contains_many(range(50)),
            lambda: nidus.from_bytes(self.column()),
            lambda: f.add(self.key(), self.sometimes(1, 63, 64, -1, None, "x", 2**70, Index(fail))),
            lambda: f.add(self.key(), **{self.sometimes("value", "x"): self.key()}),
            lambda: f.add_many(self.column(), self.column()), lambda: f.find_many(self.column()),
            lambda: f.add_counts(self.column(), self.sometimes(None, [1, 2], 5, self.column())),
            lambda: f.add_count(self.key(), delta=self.sometimes(0, 1, 2**64 - 1, None, -1)),
            lambda: f.counts(self.column()), lambda: f.find(self.key()), lambda: f.get_count(self.key()), lambda: f.age(self.key()), lambda: f.tick(),
            lambda: nidus.build(self.column(), values=self.column(), value_bits=self.sometimes(0, 1, 16, 32, 33)),
            lambda: nidus.merge([f, f.copy()], how=self.sometimes("sum", "max", "or", "unique", "x", None)),
            lambda: f.replace(self.key(), self.sometimes(0, 1, 99), self.sometimes(0, 1, "x")),
            lambda: list(zip(iter(f), range(5))), lambda: next(iter(f)), lambda: [f.add(9) for _ in f],
            lambda: f.grow(self.sometimes(0, 100, 10**5, 10**7, -1, None), relaxed=self.sometimes(True, False)),
            lambda: f.shrink(self.sometimes(0, 100, -1, None, 10**7)),
            lambda: f.copy().verify(), lambda: repr(f), lambda: f.info, lambda: len(f), lambda: f.closed,
            lambda: getattr(f, self.harmless())(*[self.key() for _ in range(rng.randrange(3))]), self.spoil,
        ])  # fmt: skip

    def harmless(self):
        return self.rng.choice([name for name in dir(self.filters[0]) if name not in SPOILING and name != "__exit__"])

    def spoil(self):
        name = self.rng.choice(SPOILING)
        key = self.key() if name in ("discard", "remove") else self.column()
        try:
            getattr(self.filters[0], name)(*([] if name in ("clear", "close") else [key]))
        finally:
            self.renew()

    def bytes(self):
        data = bytearray(self.filters[0].to_bytes())
        for _ in range(self.rng.randrange(3)):
            data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        return data[: self.rng.choice((len(data), len(data), self.rng.randrange(len(data))))]

    def step(self):
        try:
            self.act()()
        except EXPECTED:
            pass
        filter = self.filters[0]
        if filter.closed or self.rng.random() < 0.01:
            self.renew()
        elif self.rng.random() < 0.1:
            for key in self.known:
                if key not in filter:
                    raise AssertionError(f"{key!r} is missing")


def run(calls, seed):
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some odd keys are paths, too
        try:
            fuzz = Fuzz(seed, folder)
            for _ in range(calls):
                fuzz.step()
        finally:
            os.chdir(before)


def main():
    limit = sys.argv[1] if len(sys.argv) > 1 else "100000"
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"{limit}, seed {seed}, Python {sys.version.split()[0]}, NumPy {numpy.__version__ if numpy else 'none'}")
    end = time.monotonic() + float(limit[:-1]) if limit.endswith("s") else None
    calls = 1000 if end else int(float(limit))
    run(calls, seed)
    while end and time.monotonic() < end:
        seed += 1
        run(calls, seed)
    print("nothing to complain about")


if __name__ == "__main__":
    main()
