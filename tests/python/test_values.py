# SPDX-License-Identifier: MIT
"""Values beside keys, and counts."""

import numpy
import pytest

import nidus

FAMILIES = [row.family for row in nidus.plan(1000, value_bits=8) if row.why_not is None and not row.features & nidus.Feature.STATIC]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_value_of_a_key_is_found(family):
    filter = nidus.Filter(1000, fpr=2**-10, family=family, value_bits=8, seed=1)
    filter.add("heron", 7)
    filter.add("heron", value=200)
    filter.add("crane", 0)
    filter.add(5)
    assert sorted(filter.find("heron")) == [7, 200]
    assert filter.find("crane") == [0] and filter.find(5) == [0] and filter.find("eagle") == []
    assert filter.info.value_bits == 8 and len(filter) == 4
    assert sorted(entry.value for entry in filter) == [0, 0, 7, 200]
    filter.replace("heron", 7, 9)
    assert sorted(filter.find("heron")) == [9, 200]
    assert filter.discard("heron", value=7) is False and filter.discard("heron", 200) is True
    assert filter.find("heron") == [9]
    with pytest.raises(KeyError):
        filter.remove("heron", 200)
    with pytest.raises(KeyError):
        filter.replace("heron", 200, 1)
    assert filter.remove("heron", 9) is None and "heron" not in filter


@pytest.mark.parametrize("kind", ["uint64", "int64", "uint16", ">u4", "list", "strided"])
def test_values_of_arrays_are_found(kind):
    keys = numpy.arange(6000)
    values = keys % 250
    if kind == "list":
        given = values.tolist()
    elif kind == "strided":
        given = numpy.repeat(values, 2)[::2]
    else:
        given = values.astype(kind)
    filter = nidus.Filter(6000, fpr=2**-16, value_bits=8, seed=1)
    filter.add_many(keys, given)
    first, found = filter.find_many(keys)
    assert first.dtype == "u8" and found.dtype == "u4"
    assert (found >= 1).all() and (first == values)[found == 1].all() and (found == 1).mean() > 0.99
    first, found = filter.find_many(keys + 10_000)
    assert (found > 0).sum() < 10 and (first[found == 0] == 0).all()
    built = nidus.build(keys, 2**-16, values=given, value_bits=8, seed=1)
    first, found = built.find_many(keys)
    assert (first == values)[found == 1].all() and len(built) == 6000
    again = nidus.build(keys.tolist(), 2**-16, values=iter(values.tolist()), value_bits=8, seed=1)
    assert again.to_bytes() == built.to_bytes()


def test_counts_are_never_too_low():
    keys = numpy.repeat(numpy.arange(500), numpy.arange(500) % 7 + 1)
    filter = nidus.Filter(500, fpr=2**-20, value_bits=8, seed=1)
    filter.add_counts(keys)
    assert filter.counts(numpy.arange(500)).tolist() == (numpy.arange(500) % 7 + 1).tolist()
    filter.add_counts([1, 2], [10, 1000])
    filter.add_count(3)
    filter.add_count(3, delta=5)
    assert filter.get_count(1) == 12 and filter.get_count(2) == 255 and filter.get_count(3) == 10
    assert filter.counts([1, 2, 3, "none"]).tolist() == [12, 255, 10, 0]
    assert filter.counts([]).tolist() == [] and len(filter) == 500


def test_counts_of_parts_are_merged():
    a = nidus.Filter(100, fpr=2**-20, value_bits=6, seed=1)
    b = nidus.Filter(100, fpr=2**-20, value_bits=6, seed=1)
    a.add_counts(["x", "y", "x"])
    b.add_counts(["x", "z"], [5, 3])
    for how, x in (("sum", 7), ("max", 5), ("or", 7)):
        both = nidus.merge([a, b], how)
        assert both.get_count("x") == x and both.get_count("y") == 1 and both.get_count("z") == 3
    assert sorted((a | b).find("x")) == [2, 5]
    for how in ("least", 5, None, ""):
        with pytest.raises(nidus.ArgumentError, match="how is"):
            nidus.merge([a, b], how=how)


def test_values_that_do_not_fit_are_refused():
    filter = nidus.Filter(100, value_bits=4, seed=1)
    for value in (16, 2**64 - 1, -1, 2**64):
        with pytest.raises(nidus.RangeError):
            filter.add("x", value)
        with pytest.raises(nidus.RangeError):
            filter.add_many(["x"], [value])
    for call in (filter.add_many, filter.add_counts):
        for kind in ("i8", ">i4", "i2"):
            with pytest.raises(nidus.RangeError, match="not negative"):
                call([1, 2], numpy.array([1, -1]).astype(kind))
    assert len(filter) == 0
    with pytest.raises(nidus.RangeError) as caught:
        filter.add_many([1, 2], [1, 16])
    assert caught.value.done == len(filter) == 1
    with pytest.raises(nidus.RangeError):
        nidus.build([1], values=[16], value_bits=4)
    for value in ("x", 1.5, [], b"1"):
        with pytest.raises(TypeError):
            filter.add("x", value)
        with pytest.raises(TypeError):
            filter.add_many(["x"], [value])
    for values in (numpy.zeros(1), numpy.array(["x"]), 5, "5"):
        with pytest.raises(TypeError):
            filter.add_many(["x"], values)
    for values in ([], [1, 2]):
        with pytest.raises(ValueError, match="1 keys, but"):
            filter.add_many(["x"], values)
        with pytest.raises(ValueError, match="1 keys, but"):
            nidus.build(["x"], values=values, value_bits=4)


def test_builds_like_another_filter_take_values():
    like = nidus.build(range(1000), values=[1] * 1000, value_bits=4, features=nidus.Feature.MERGE)
    other = nidus.build(range(1000, 2000), values=numpy.arange(1000) % 16, like=like)
    assert (other.info.seed, other.info.value_bits) == (like.info.seed, 4)
    assert all(key % 1000 % 16 in other.find(key) for key in range(1000, 2000))
    both = nidus.merge([like, other])
    assert 1 in both.find(5) and 10 in both.find(1010)
    assert nidus.build([7], like=like).find(7) == [0]
    with pytest.raises(nidus.RangeError):
        nidus.build([1], values=[16], like=like)
    with pytest.raises(ValueError, match="1 keys, but"):
        nidus.build([1], values=[1, 2], like=like)
    with pytest.raises(TypeError, match="like"):
        nidus.build([1], values=[1], like=like, value_bits=4)


def test_filters_without_values_take_none():
    filter = nidus.Filter(100)
    filter.add("x", None)
    with pytest.raises(nidus.UnsupportedError):
        filter.add("x", 1)
    with pytest.raises(nidus.UnsupportedError):
        filter.add_count("x")
    with pytest.raises(nidus.UnsupportedError):
        nidus.build([1], values=[1])
    with pytest.raises(nidus.UnsupportedError):
        nidus.build([1], values=[1], like=filter)
    assert filter.find("x") == [0]


@pytest.mark.parametrize("arguments, named", [((), {}), ((1, 2, 3), {}), ((1,), {"valeu": 2}), ((1, 2), {"value": 3}), ((), {"key": 1})])
def test_calls_are_checked(arguments, named):
    filter = nidus.Filter(100, value_bits=4)
    for call in (filter.add, filter.discard, filter.remove, filter.add_count):
        with pytest.raises(TypeError):
            call(*arguments, **named)
