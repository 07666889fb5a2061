# SPDX-License-Identifier: MIT
"""Filters that forget."""

import pytest

import nidus


def test_keys_grow_older_and_are_forgotten():
    f = nidus.Filter(1000, slices=4)
    f.add("heron")
    f.tick()
    f.add("crane")
    assert (f.age("heron"), f.age("crane"), f.age("stork")) == (1, 0, None)
    f.add_many(["heron"])
    for _ in range(3):
        f.tick()
    assert f.age("heron") == f.age("crane") == 3
    assert "heron" in f and len(f) == 2
    f.tick()
    assert f.age("heron") is None and "heron" not in f and len(f) == 0


def test_files_and_copies_keep_ages():
    f = nidus.Filter(1, max_capacity=10000, slices=16)
    for slice in range(8):
        f.add_many(range(100 * slice, 100 * slice + 100))
        f.tick()
    for g in (nidus.from_bytes(f.to_bytes()), f.copy(), f | f):
        assert g == f and g.info.slices == 16
        assert [g.age(100 * slice) for slice in range(8)] == [8 - slice for slice in range(8)]
    assert sorted(entry.value for entry in f)[::100] == list(range(1, 9))


def test_what_cannot_be_is_refused():
    f = nidus.Filter(10, slices=2)
    f.add(1)
    with pytest.raises(nidus.UnsupportedError):
        f.discard(1)
    with pytest.raises(nidus.UnsupportedError):
        nidus.Filter(10).tick()
    with pytest.raises(nidus.UnsupportedError):
        nidus.Filter(10, slices=4, value_bits=3)
    with pytest.raises(nidus.UnsupportedError):
        nidus.Filter(slices=4)
    with pytest.raises(nidus.RangeError):
        nidus.Filter(10, slices=1)
    assert nidus.Filter(10).age(1) is None
