#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the Python module against C in one process, in turns, and prints its two bars.

usage: PYTHONPATH=build/python /usr/bin/python3 bindings/python/bench/bars.py [KEYS [ROUNDS]]

1. contains_many of 10^7 NumPy integers: at least 0.9 of the figure of the same batches from C.
2. `key in filter` with 10^5 keys: at most 150 ns more than an empty method call.
"""

import ctypes
import os
import statistics
import sys
import tempfile
import time
import timeit

import numpy

import nidus

LOOKUPS = os.path.join(os.path.dirname(nidus.__file__), "..", "bench", "lookups.so")


def c_lookups(filter):
    """The same filter in C: a function that looks an array up."""
    library = ctypes.CDLL(LOOKUPS)
    library.lookups_load.restype = ctypes.c_void_p
    library.lookups_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "keys.nidus")
        filter.save(path)
        loaded = library.lookups_load(os.fsencode(path))

    def run(keys):
        yes = bytearray(len(keys))
        library.lookups_run(loaded, keys.ctypes.data, len(keys), (ctypes.c_char * len(yes)).from_buffer(yes))
        return numpy.frombuffer(yes, dtype=bool)

    return run


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare_arrays(n, rounds, family):
    keys = numpy.random.default_rng(1).integers(0, 2**63, n, dtype=numpy.int64)
    filter = nidus.build(keys, 2**-8, family=family)
    in_c = c_lookups(filter)
    if not (in_c(keys).all() and filter.contains_many(keys).all()):
        sys.exit("a key is not found")
    times = [(seconds(lambda: in_c(keys)), seconds(lambda: filter.contains_many(keys))) for _ in range(rounds)]
    c, python = (statistics.median(column) for column in zip(*times))
    print(f"{family:11} {n / c / 1e6:8.1f} {n / python / 1e6:8.1f} {c / python:7.3f}")


def nanoseconds(statement, names):
    timer = timeit.Timer(statement, globals=names)
    return min(timer.repeat(15, 50_000)) / 50_000 * 1e9


def compare_single():
    filter = nidus.build(numpy.arange(100_000), 2**-8)
    texts = nidus.build([str(i) for i in range(100_000)], 2**-8)
    names = {"filter": filter, "texts": texts, "empty": b"", "number": 4711, "text": "4711", "data": b"4711"}
    base = nanoseconds("empty.isdigit()", names)
    print(f"\nan empty method call takes {base:.0f} ns; beyond that, in a filter of 10^5 keys:")
    for statement in ("number in filter", "text in texts", "data in texts"):
        print(f"{statement:20} {nanoseconds(statement, names) - base:5.0f} ns")


def main():
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"lookups of {n} integers, millions per second, medians of {rounds} rounds in turns")
    print(f"{'family':11} {'C':>8} {'Python':>8} {'ratio':>7}")
    for family in ("auto", "breadcrumb", "blocked-bloom"):
        compare_arrays(n, rounds, family)
    compare_single()


if __name__ == "__main__":
    main()
