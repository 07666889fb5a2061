# SPDX-License-Identifier: MIT
"""Odd objects: nothing crashes, nothing is lost, no reference is kept."""

import gc
import os
import sys

import numpy
import pytest

import fuzz
import nidus

SMALL = os.environ.get("NIDUS_TEST_SCALE") == "small"


def test_odd_calls_do_no_harm(rng):
    fuzz.run(1000 if SMALL else 4000, rng.randrange(2**32))


@pytest.mark.skipif("PYTHONMALLOC" in os.environ, reason="counts the blocks of Python's own allocator")
def test_odd_calls_leak_nothing(rng):
    seed = rng.randrange(2**32)
    blocks = []
    for _ in range(8):
        fuzz.run(500, seed)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    # What leaks leaks in every run, as all do the same: one block per hundred calls would be seen. Caches of
    # Python and NumPy fill up for some runs.
    assert min(b - a for a, b in zip(blocks, blocks[1:])) < 5, blocks


class Item:
    """An object whose references are counted."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def calls():
    filter = nidus.Filter(1000, max_capacity=10**5, value_bits=8, seed=1)
    bloom = nidus.Filter(10, family="bloom")
    yield from (filter.add, filter.add_new, filter.discard, filter.remove, filter.count, filter.__contains__)
    yield from (filter.add_many, filter.contains_many, filter.add_new_many, filter.remove_many)
    yield from (bloom.add, bloom.discard, bloom.remove_many, bloom.contains_many)
    yield from (nidus.build, nidus.plan, nidus.Filter, nidus.merge, nidus.load, nidus.open, nidus.from_bytes, filter.save)
    yield from (filter.grow, filter.shrink, filter.__or__, filter.__ior__, filter.__exit__)
    yield from (filter.find, filter.find_many, filter.counts, filter.get_count, filter.add_count, filter.add_counts)
    yield lambda key: filter.add(1, key)
    yield lambda key: filter.add_many([1], key)
    yield lambda key: filter.add_counts([key], deltas=[1])
    yield lambda key: filter.replace(1, key, key)
    yield lambda key: nidus.build([1], values=key, value_bits=8)
    yield lambda key: nidus.build(key, values=[1, 2], value_bits=8)
    yield lambda key: nidus.build([1], like=key)
    yield lambda key: nidus.build([1, key], seed=key)
    yield lambda key: nidus.Filter(10, seed=key, features=key, stash=key, reserve=key)
    yield lambda key: nidus.from_bytes(key, copy=False)


def test_no_call_keeps_a_reference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "heron" is a path, too
    word = "".join(["her", "on"])
    objects = [Item(5), Item(2**70), Item("x"), word, word.encode() * 2, 10**30, [Item(1), word], (word, None), object()]
    objects += [numpy.arange(5000), numpy.arange(9)[::2], numpy.array([b"x", b"yz"]), numpy.array(["x", "yz"]), numpy.zeros(3)]
    objects += [nidus.Filter(10), bytearray(nidus.Filter(10).to_bytes()), memoryview(b"12345678").cast("q")]
    for number, call in enumerate(calls()):
        for thing in objects:
            before = sys.getrefcount(thing)
            for _ in range(3):
                try:
                    call(thing)
                except Exception as failure:
                    failure.__traceback__ = None
            assert sys.getrefcount(thing) == before, (number, thing)


def test_no_record_keeps_a_reference():
    gc.collect()
    none, feature, true = sys.getrefcount(None), sys.getrefcount(nidus.Feature(95)), sys.getrefcount(True)
    filter = nidus.build(range(100))
    for _ in range(500):
        filter.info, nidus.plan(10), list(filter)[:3], filter.add_new(1), filter.discard(5)
    gc.collect()
    # One that is kept in each round would be 500. Python itself changes some by the way.
    if sys.version_info < (3, 12):  # later ones count no references to None and its like
        assert abs(sys.getrefcount(None) - none) < 250
        assert abs(sys.getrefcount(True) - true) < 250
    assert abs(sys.getrefcount(nidus.Feature(95)) - feature) < 250


def test_types_are_not_leaked():
    before = sys.getrefcount(nidus.Filter)
    filters = [nidus.Filter(10) for _ in range(100)]
    walks = [iter(filter) for filter in filters]
    del filters, walks
    assert abs(sys.getrefcount(nidus.Filter) - before) < 5
