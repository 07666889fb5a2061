# SPDX-License-Identifier: MIT
"""Whole arrays, and iterables, at once."""

import array
import ctypes

import numpy
import pytest

import nidus
from conftest import FAMILIES

INTEGERS = ["int8", "uint8", "bool", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def bools(answer, n):
    assert isinstance(answer, numpy.ndarray) and answer.dtype == bool and answer.shape == (n,)
    return answer


def test_arrays_hold_the_same_keys_as_single_calls():
    keys = numpy.arange(-5000, 5000)
    filter = nidus.Filter(10_000, fpr=2**-20, seed=1)
    filter.add_many(keys)
    assert all(int(key) in filter for key in keys[::50])
    single = nidus.Filter(10_000, fpr=2**-20, seed=1)
    for key in keys:
        single.add(int(key))
    assert single.to_bytes() == filter.to_bytes()
    assert bools(filter.contains_many(keys), 10_000).all()
    assert bools(filter.contains_many(keys + 10_000), 10_000).sum() < 10
    filter.remove_many(keys)
    assert len(filter) == 0


@pytest.mark.parametrize("kind", INTEGERS + [">i2", ">u4", ">i8", ">u8", "<i8"])
def test_integers_of_every_width_and_order_are_the_same_keys(kind):
    kinds = {"bool": [1], "int8": [2, 127, -1, -128], "uint8": [2, 255]}
    wider = [2, 300, 32767] + ([-1, -32768] if "i" == kind.strip("<>")[0] else [65535])
    keys = numpy.array([0, 1] + kinds.get(kind, wider))
    filter = nidus.build([int(key) for key in keys], fpr=2**-24, seed=1)
    assert filter.contains_many(keys.astype(kind)).all()
    assert nidus.build(keys.astype(kind), fpr=2**-24, seed=1).to_bytes() == filter.to_bytes()


def test_strided_arrays_are_looked_at_in_place():
    keys = numpy.arange(30_000).reshape(10_000, 3)
    records = numpy.zeros(5000, dtype=[("flag", "u1"), ("id", "i8")])  # unaligned on purpose
    records["id"] = range(5000)
    for part in (keys[:, 1], keys[::-7, 2], keys[3, :], keys[:0, 0], records["id"], records["id"][::-2]):
        filter = nidus.build(part, fpr=2**-24, seed=1)
        assert filter.to_bytes() == nidus.build(part.tolist(), fpr=2**-24, seed=1).to_bytes()
        assert bools(filter.contains_many(part), len(part)).all()


def test_bytes_of_fixed_width_lose_their_padding():
    keys = [b"", b"a", b"heron", b"a\0b", b"12345678"]
    column = numpy.array(keys)
    assert column.dtype == "S8"
    filter = nidus.build(column, fpr=2**-24, seed=1)
    assert all(key in filter for key in keys)
    assert filter.contains_many(column[::-1]).all() and filter.contains_many(keys).all()
    assert not filter.contains_many(numpy.array([b"her", b"crane"])).any()
    assert nidus.build(numpy.array([b"x", b"y"])).contains_many([b"x", b"y"]).all()
    assert nidus.build(numpy.zeros(3, dtype="S0")).contains_many([b""]).all()


@pytest.mark.parametrize("order", "<>")
def test_text_of_fixed_width_is_its_utf8(order):
    keys = ["", "a", "heron", "Reiher ä", "鷺", "🪶🪶", "a\0b", "\uffff"]
    column = numpy.array(keys).astype(order + "U8")
    filter = nidus.build(column, fpr=2**-24, seed=1)
    assert all(key in filter for key in keys)
    assert filter.contains_many(column[::-1]).all() and filter.contains_many(keys).all()
    assert not filter.contains_many(numpy.array(["her", "crane"])).any()


def test_text_that_has_no_utf8_is_refused():
    filter = nidus.Filter(10)
    column = numpy.array(["ok", "\ud800"])
    for call in (filter.add_many, filter.contains_many, nidus.build):
        with pytest.raises(ValueError, match="key 1 of the array"):
            call(column)
    rubbish = numpy.full(2, 0xFFFFFFFF, dtype="u4").view("U1")
    with pytest.raises(ValueError):
        filter.add_many(rubbish)
    assert len(filter) == 0


def test_iterables_of_any_keys_are_taken():
    keys = ["heron", b"crane", 7, -7, numpy.int32(9), ""]
    for make in (list, tuple, iter, dict.fromkeys, lambda keys: numpy.array(keys, dtype=object), lambda k: (x for x in k)):
        filter = nidus.Filter(10, fpr=2**-24)
        filter.add_many(make(keys))
        assert filter.contains_many(make(keys)).all() and len(filter) == 6
    filter.add_many(range(2))
    filter.add_many([])
    assert len(filter) == 8
    assert bools(filter.contains_many([]), 0).size == 0
    assert bools(filter.contains_many(numpy.arange(0)), 0).size == 0


def test_other_arrays_with_the_buffer_protocol_are_taken():
    keys = [1, 2, 3, 2**40]
    filter = nidus.build(keys, fpr=2**-24)
    assert filter.contains_many(array.array("q", keys)).all()
    assert filter.contains_many(memoryview(array.array("Q", keys))[::-2]).all()
    assert filter.contains_many((ctypes.c_int64 * 4)(*keys)).all()
    assert filter.contains_many(array.array("h", [1, 2, 3])).all()


@pytest.mark.parametrize("kind", ["float64", "float32", "complex128", "V8", [("a", "i8"), ("b", "i8")]])
def test_arrays_of_other_things_are_refused(kind):
    filter = nidus.Filter(10)
    for call in (filter.add_many, filter.contains_many, filter.add_new_many, filter.remove_many, nidus.build):
        with pytest.raises(TypeError, match="not of format"):
            call(numpy.zeros(3, dtype=kind))


@pytest.mark.parametrize("kind", ["M8[s]", "M8[D]", "m8[ns]"])
def test_dates_are_the_integers_that_they_are_kept_as(kind):
    dates = numpy.array([0, 1, 10**6, -5], dtype="i8").view(kind)
    filter = nidus.build(dates, fpr=2**-24, seed=1)
    assert filter == nidus.build([0, 1, 10**6, -5], fpr=2**-24, seed=1)
    assert filter.contains_many(dates[::-2]).all()
    assert not filter.contains_many(dates + 2).any()


def test_masked_items_are_no_keys():
    column = numpy.ma.masked_array([5, 6, 7, 8], mask=[False, True, False, True])
    filter = nidus.build(column, fpr=2**-24, seed=1)
    assert filter == nidus.build([5, 7], fpr=2**-24, seed=1)
    found = filter.contains_many(column)
    assert numpy.ma.isMaskedArray(found) and found.dtype == bool
    assert found.tolist() == [True, None, True, None]
    assert filter.add_new_many(numpy.ma.masked_array([6, 5, 9], mask=[True, False, False])).tolist() == [None, False, True]
    assert 6 not in filter and 9 in filter
    filter.remove_many(numpy.ma.masked_array([9, 10], mask=[False, True]))
    assert len(filter) == 2
    assert filter.contains_many(numpy.ma.masked_array([5, 99])).tolist() == [True, False]  # none is masked
    with pytest.raises(TypeError, match="compressed"):
        nidus.Filter(10, value_bits=4).add_many(column, numpy.arange(4))
    with pytest.raises(TypeError, match="cannot be masked"):
        nidus.Filter(10, value_bits=4).add_many([1, 2, 3, 4], column)
    counts = nidus.Filter(10, value_bits=8, fpr=2**-20)
    counts.add_counts([5, 5, 7])
    assert counts.counts(column).tolist() == [2, None, 1, None]
    values, found = counts.find_many(column)
    assert values.tolist() == [2, None, 1, None] and found.tolist() == [1, None, 1, None]
    dates = numpy.ma.masked_array(numpy.array([1, 2], dtype="M8[s]"), mask=[True, False])
    assert len(nidus.build(dates)) == 1


@pytest.mark.parametrize("keys", ["heron", b"heron", bytearray(b"heron"), memoryview(b"heron")])
def test_a_single_key_is_not_many(keys):
    filter = nidus.Filter(10)
    for call in (filter.add_many, filter.contains_many, filter.add_new_many, filter.remove_many, nidus.build, filter.update):
        with pytest.raises(TypeError, match="(is|are) one key"):
            call(keys)


@pytest.mark.parametrize("keys", [7, None, 1.5, nidus])
def test_what_has_no_items_is_refused(keys):
    with pytest.raises(TypeError, match="not iterable"):
        nidus.build(keys)


def test_tables_are_refused():
    for keys in (numpy.zeros((2, 2), dtype="i8"), numpy.array(7), memoryview(bytes(16)).cast("q", (2, 1))):
        with pytest.raises(ValueError, match="one dimension"):
            nidus.build(keys)


def test_a_bad_item_changes_nothing():
    filter = nidus.Filter(10)
    for bad in (None, 1.5, 2**64):
        with pytest.raises((TypeError, OverflowError)):
            filter.add_many([1, 2, bad])
    assert len(filter) == 0


def test_a_failure_tells_how_many_keys_went_before():
    filter = nidus.Filter(1000, seed=1)
    with pytest.raises(nidus.FullError) as caught:
        filter.add_many(numpy.arange(100_000))
    done = caught.value.done
    assert done >= 1000 and len(filter) == done
    assert filter.contains_many(numpy.arange(done)).all()
    with pytest.raises(nidus.NotFoundError) as caught:
        filter.remove_many([0, 1, 2, 10**9 + 1, 3])
    assert caught.value.done == 3 and len(filter) == done - 3
    with pytest.raises(nidus.FullError) as caught:
        filter.add_new_many(numpy.arange(10**6, 2 * 10**6))
    assert 0 < caught.value.done


@pytest.mark.parametrize("family", FAMILIES)
def test_add_new_many_is_a_loop_of_add_new(family, rng):
    options = {"fpr": 0.01, "family": family, "seed": 1, "max_capacity": 0}
    keys = [rng.randrange(3000) for _ in range(5000)]
    one, many = nidus.Filter(4000, **options), nidus.Filter(4000, **options)
    assert many.add_new_many(numpy.array(keys)).tolist() == [one.add_new(key) for key in keys]
    assert one.to_bytes() == many.to_bytes()


def test_add_new_many_tells_what_is_new():
    seen = nidus.Filter(10_000, fpr=2**-24, seed=1)
    column = numpy.array([5, 6, 5, 7, 6, 8])
    assert bools(seen.add_new_many(column), 6).tolist() == [True, True, False, True, False, True]
    assert not seen.add_new_many(column).any()
    assert len(seen) == 4


def test_build_stores_equal_keys_once_and_needs_no_order(rng):
    keys = [rng.randrange(2**63) for _ in range(20_000)]
    filter = nidus.build(keys + keys[:5000], fpr=0.001, seed=3)
    assert len(filter) == len(set(keys)) and filter.info.capacity == len(set(keys))
    rng.shuffle(keys)
    for threads in (1, 2, 3):
        assert nidus.build(numpy.array(keys), fpr=0.001, seed=3, threads=threads).to_bytes() == filter.to_bytes()
    multiset = nidus.build([1, 1, 1, 2], features=nidus.Feature.MULTISET)
    assert len(multiset) == 4 and multiset.count(1) == 3


def test_a_static_filter_is_built_once_and_only_read(tmp_path):
    keys = numpy.arange(20000)
    frozen = nidus.build(keys, fpr=2**-12, seed=3, features=nidus.Feature.STATIC)
    assert frozen.info.family == "ribbon" and frozen.info.features == nidus.Feature.STATIC
    assert frozen.info.bits_per_key < 12.25
    assert frozen.contains_many(keys).all()
    assert frozen == nidus.build(keys, fpr=2**-12, seed=3, family="ribbon", threads=3)
    frozen.save(tmp_path / "frozen.nidus")
    assert nidus.open(tmp_path / "frozen.nidus").contains_many(keys).all()
    for change in (lambda: frozen.add(1), lambda: frozen.add_many(keys), lambda: frozen.remove(1),
                   lambda: frozen | frozen, lambda: frozen.grow(10**6), lambda: list(frozen)):
        with pytest.raises(nidus.UnsupportedError):
            change()


def test_a_static_filter_keeps_one_value_per_key():
    birds = nidus.build(["heron", "crane"], values=[3, 4], value_bits=3, fpr=2**-32, family="ribbon")
    assert birds.find("heron") == [3] and birds.find("crane") == [4] and birds.find("stork") == []
    with pytest.raises(nidus.ArgumentError, match="one value per key"):
        nidus.build(["heron", "heron"], values=[3, 4], value_bits=3, family="ribbon")


def test_a_compact_filter_is_smaller_and_says_so():
    keys = range(20_000)
    compact = nidus.build(keys, seed=3, features=nidus.Feature.COMPACT)
    assert compact.info.family == "bucketed" and nidus.Feature.COMPACT in compact.info.features
    assert len(compact.to_bytes()) < len(nidus.build(keys, seed=3, family="windowed").to_bytes())
    assert all(key in compact for key in keys)


def test_build_takes_what_filter_takes():
    filter = nidus.build(range(10), 0.01, capacity=500, family="cuckoo", seed=9, max_capacity=9000, slots=2)
    info = filter.info
    assert (info.family, info.seed, info.slots, info.fpr_target) == ("cuckoo", 9, 2, 0.01)
    assert info.capacity >= 500 and info.max_capacity >= 9000
    with pytest.raises(nidus.Error):
        nidus.build(range(10_000), capacity=10)
    with pytest.raises(nidus.ArgumentError):
        nidus.build([1], fpr=0)
    with pytest.raises(TypeError, match="like"):
        nidus.build([1], like=filter, fpr=0.05)
    with pytest.raises(TypeError, match="like is a Filter"):
        nidus.build([1], like=7)
    with pytest.raises(TypeError):
        nidus.build()
    assert len(nidus.build([])) == 0


def test_answers_are_a_memoryview_without_numpy(tmp_path):
    import os
    import subprocess
    import sys

    (tmp_path / "numpy.py").write_text("raise ImportError('none')")
    code = (
        "import nidus; f = nidus.build([1, 2]); a = f.contains_many([1, 2, 3]);"
        "assert type(a) is memoryview and a.format == '?' and a.tolist()[:2] == [True, True], a;"
        "assert f.contains_many([]).tolist() == []"
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})
