# SPDX-License-Identifier: MIT
"""One key at a time."""

import operator

import numpy
import pytest

import nidus
from conftest import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_added_is_found(family):
    filter = nidus.Filter(1000, fpr=0.001, family=family, seed=1)
    keys = [f"bird {i}" for i in range(500)] + list(range(-100, 400))
    for key in keys:
        filter.add(key)
    assert all(key in filter for key in keys)
    assert len(filter) == 1000
    assert sum(f"fish {i}" in filter for i in range(10_000)) < 40


@pytest.mark.parametrize("family", [row.family for row in nidus.plan(1000) if row.features & nidus.Feature.DELETE])
def test_a_discard_undoes_an_add(family):
    filter = nidus.Filter(100, family=family, seed=1)
    filter.add("heron")
    filter.add("heron")
    assert filter.count("heron") == 2
    assert filter.discard("heron") is True
    assert "heron" in filter
    assert filter.discard("heron") is True
    assert "heron" not in filter and len(filter) == 0
    assert filter.discard("heron") is False


def test_remove_raises_a_key_error_for_what_is_not_there():
    filter = nidus.Filter(100)
    with pytest.raises(KeyError, match="^the key is not in the filter$"):
        filter.remove("heron")
    filter.add("heron")
    assert filter.remove("heron") is None
    with pytest.raises(nidus.NotFoundError):
        filter.remove("heron")


def test_add_new_stores_a_key_once():
    filter = nidus.Filter(100, seed=1)
    assert filter.add_new("heron") is True
    assert filter.add_new("heron") is False
    assert len(filter) == 1


def test_text_is_its_utf8():
    filter = nidus.Filter(100, fpr=2**-24)
    for text in ("", "heron", "Reiher ä", "鷺", "🪶", "with\0nul"):
        filter.add(text)
        assert text.encode() in filter
    filter.add(b"\xff\xfe")
    assert b"\xff\xfe" in filter


def test_integers_are_taken_modulo_2_to_the_64():
    filter = nidus.Filter(100, fpr=2**-24)
    filter.add(-1)
    filter.add(2**63)
    assert 2**64 - 1 in filter and -(2**63) in filter
    assert numpy.uint64(2**64 - 1) in filter and numpy.int64(-1) in filter
    assert True not in filter and 1 not in filter
    filter.add(True)
    assert 1 in filter


def test_numbers_and_their_digits_are_different_keys():
    filter = nidus.Filter(100, fpr=2**-24)
    filter.add(7)
    assert "7" not in filter and b"7" not in filter
    assert (7).to_bytes(8, "little") not in filter


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30, -(10**30)])
def test_integers_out_of_range_are_refused(number):
    filter = nidus.Filter(100)
    for call in (filter.add, filter.add_new, filter.discard, filter.count, filter.__contains__):
        with pytest.raises(OverflowError, match="from -2"):
            call(number)


@pytest.mark.parametrize("key", [None, 1.5, [], (), {}, object(), memoryview(b"x"), 1j])
def test_what_is_no_key_is_refused(key):
    filter = nidus.Filter(100)
    for call in (filter.add, filter.add_new, filter.discard, filter.remove, filter.count, filter.__contains__):
        with pytest.raises(TypeError, match="a key is a str, bytes or an integer, not "):
            call(key)


def test_text_that_has_no_utf8_is_refused():
    with pytest.raises(UnicodeEncodeError):
        nidus.Filter(100).add("\ud800")


def test_an_index_that_raises_is_passed_on():
    class Odd:
        def __index__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nidus.Filter(100).add(Odd())


def test_a_key_that_closes_the_filter_does_no_harm():
    filter = nidus.Filter(100)

    class Odd:
        def __index__(self):
            filter.close()
            return 1

    with pytest.raises(ValueError, match="closed"):
        filter.add(Odd())


def test_a_full_filter_says_so_and_keeps_what_it_has():
    filter = nidus.Filter(100, seed=1)
    added = 0
    with pytest.raises(nidus.FullError) as caught:
        for added in range(100_000):
            filter.add(added)
    assert added >= 100 and len(filter) == added
    assert all(key in filter for key in range(added))
    assert caught.value.status == 1 and caught.value.done is None


def test_one_key_again_and_again_is_counted():
    filter = nidus.Filter(1000)
    words = ["heron", "crane", "heron"] * 10_000
    for word in words:
        filter.add(word)
    assert len(filter) == 30_000 and filter.count("heron") == 20_000 and filter.count("crane") == 10_000
    for word in words:
        filter.remove(word)
    assert len(filter) == 0 and "heron" not in filter


def test_a_finished_filter_is_packed():
    filter = nidus.Filter(100, max_capacity=10_000_000, seed=1)
    filter.update(range(5000))
    large = len(filter.to_bytes())
    filter.pack()
    assert len(filter) == 5000 and all(key in filter for key in range(5000))
    assert len(filter.to_bytes()) < large / 2 and filter.info.capacity == filter.info.max_capacity


def test_a_filter_grows_by_itself():
    filter = nidus.Filter(100, max_capacity=100_000, seed=1)
    for key in range(20_000):
        filter.add(key)
    assert filter.info.capacity >= 20_000
    assert all(key in filter for key in range(20_000))
    filter.clear()
    filter.shrink()
    assert filter.info.capacity < 20_000 and len(filter) == 0
    filter.grow(50_000)
    assert filter.info.capacity >= 50_000
    filter.grow(capacity=1_000_000, relaxed=True)
    assert filter.info.capacity >= 1_000_000


def test_entries_are_walked_over_once_each():
    filter = nidus.build(range(1000), seed=1)
    entries = list(filter)
    assert len(entries) == len(filter) == 1000
    assert entries[0].home == entries[0][0] and entries[0].fingerprint == entries[0][1]
    assert list(filter) == entries


def test_a_change_ends_a_walk():
    filter = nidus.build(range(10), capacity=100)
    for change in (lambda: filter.add(11), lambda: filter.add_many([12]), lambda: filter.discard(1), filter.clear):
        filter.add(99)
        walk = iter(filter)
        next(walk)
        change()
        with pytest.raises(RuntimeError, match="changed during iteration"):
            next(walk)
    walk = iter(filter)
    assert list(walk) == [] and list(walk) == []
    filter.add(1)
    walk = iter(filter)
    filter.close()
    with pytest.raises(ValueError, match="closed"):
        next(walk)


def test_a_bloom_filter_has_no_entries_to_walk_over():
    with pytest.raises(nidus.UnsupportedError):
        iter(nidus.Filter(10, family="bloom"))
    with pytest.raises(nidus.UnsupportedError):
        nidus.Filter(10, family="bloom").discard("x")


def test_filters_that_do_not_fit_are_not_merged():
    a, b = nidus.Filter(100, seed=1), nidus.Filter(100, seed=2)
    for merge in (operator.or_, operator.ior, lambda x, y: nidus.merge([x, y])):
        with pytest.raises(nidus.MismatchError, match="seed"):
            merge(a, b)
    for other in (1, None, {1}, "x"):
        for merge in (operator.or_, operator.ior):
            with pytest.raises(TypeError):
                merge(a, other)
            with pytest.raises(TypeError):
                merge(other, a)
    with pytest.raises(nidus.ArgumentError):
        nidus.merge([])
    with pytest.raises(TypeError):
        nidus.merge([a, 1])
    with pytest.raises(TypeError):
        nidus.merge(a.info)


def test_a_closed_filter_answers_nothing():
    with nidus.Filter(10) as filter:
        filter.add(1)
        assert not filter.closed
    assert filter.closed and "closed" in repr(filter)
    filter.close()
    calls = [
        lambda: 1 in filter, lambda: len(filter), lambda: filter.add(1), lambda: filter.contains_many([1]),
        lambda: filter.info, lambda: iter(filter), lambda: filter | filter, filter.copy, filter.clear,
        filter.to_bytes, lambda: filter.save("x"), filter.__enter__, filter.verify,
        lambda: nidus.build([1], like=filter), lambda: filter.grow(5), lambda: nidus.merge([filter]),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match="the filter is closed"):
            call()


def test_options_are_checked():
    refused = [
        (dict(capacity=0), nidus.ArgumentError),
        (dict(capacity=-1), nidus.RangeError),
        (dict(capacity=2**64), nidus.RangeError),
        (dict(capacity=1.5), TypeError),
        (dict(capacity=1, fpr=0), nidus.ArgumentError),
        (dict(capacity=1, fpr=-1), nidus.ArgumentError),
        (dict(capacity=1, fpr=float("nan")), nidus.ArgumentError),
        (dict(capacity=1, fpr=2**-40), nidus.RangeError),
        (dict(capacity=1, fpr="x"), TypeError),
        (dict(capacity=1, family="eagle"), nidus.ArgumentError),
        (dict(capacity=1, family=3), TypeError),
        (dict(capacity=1, seed=0), nidus.ArgumentError),
        (dict(capacity=1, slots=2**40), nidus.RangeError),
        (dict(capacity=1, slots=77), nidus.RangeError),
        (dict(capacity=1, features=1 << 30), nidus.Error),
        (dict(capacity=1, family="bloom", features=nidus.Feature.DELETE), nidus.UnsupportedError),
        (dict(capacity=2**60), nidus.Error),
        (dict(capacity=1, colour=1), TypeError),
    ]
    for options, error in refused:
        with pytest.raises(error):
            nidus.Filter(**options)
        try:  # what only some families refuse is told in their rows
            assert any(row.why_not for row in nidus.plan(**options))
        except error:
            pass


def test_options_reach_the_library():
    filter = nidus.Filter(
        1000, 0.01, family="chunked", seed=7, max_capacity=5000, slots=4, features=nidus.Feature.CONCURRENT,
        max_steps=100, reserve=0, stash=0,
    )  # fmt: skip
    info = filter.info
    assert (info.family, info.seed, info.slots, info.concurrent) == ("chunked", 7, 4, True)
    assert info.max_capacity >= 5000 and info.fpr_target == 0.01 and not info.readonly
    assert info.features & nidus.Feature.GROW
    assert not nidus.Filter(10).info.concurrent


def test_plan_tells_what_filter_takes():
    rows = nidus.plan(10**6, 0.001)
    (chosen,) = [row for row in rows if row.chosen]
    filter = nidus.Filter(10**6, 0.001)
    assert chosen.family == filter.info.family and chosen.why
    assert {row.speed for row in rows} == {"slow", "medium", "fast", "fastest"}
    assert chosen.bytes == pytest.approx(filter.info.bytes, rel=0.01)
    refused = [row for row in nidus.plan(1000, features=nidus.Feature.DELETE) if row.why_not]
    assert {row.family for row in refused} == {"bloom", "blocked-bloom", "ribbon"}


def test_everything_has_a_docstring():
    for name in nidus.__all__:
        assert getattr(nidus, name).__doc__, name
    for name in dir(nidus.Filter):
        if not name.startswith("_"):
            assert getattr(nidus.Filter, name).__doc__, name


def test_a_bytearray_is_the_key_that_its_bytes_are():
    filter = nidus.Filter(100, fpr=2**-24, seed=1)
    filter.add(bytearray(b"heron"))
    assert b"heron" in filter and "heron" in filter and bytearray(b"heron") in filter
    assert filter.contains_many([bytearray(b"heron"), b"heron"]).all()
    assert filter.discard(bytearray(b"heron")) and len(filter) == 0


@pytest.mark.parametrize("fpr", [0.9, 0.0626, 1, 2.0, float("inf")])
def test_a_rate_that_no_filter_is_made_for_is_refused(fpr):
    for call in (nidus.Filter, nidus.plan, lambda n, **options: nidus.build(range(n), **options)):
        with pytest.raises(nidus.RangeError, match=r"from 2\*\*-32 to 2\*\*-4"):
            call(10, fpr=fpr)
    assert nidus.Filter(10, fpr=0.0625).info.fpr_target == 0.0625
    if fpr > 0.5:
        with pytest.raises(nidus.RangeError, match=r"of a ribbon filter it may be up to 2\*\*-1"):
            nidus.build(range(10), fpr, features=nidus.Feature.STATIC)


def test_a_static_filter_is_built_and_only_read(tmp_path):
    keys = [f"bird {i}" for i in range(1000)]
    filter = nidus.build(keys, fpr=2**-10, seed=1, features=nidus.Feature.STATIC)
    assert filter.info.family == "ribbon" and filter.contains_many(keys).all() and len(filter) == 1000
    assert filter == nidus.build(keys[::-1], fpr=2**-10, seed=1, family="ribbon")
    assert filter != nidus.build(keys[1:], fpr=2**-10, seed=1, family="ribbon")
    filter.save(tmp_path / "birds.nidus")
    assert nidus.load(tmp_path / "birds.nidus") == filter
    for change in (lambda: filter.add("fish"), lambda: filter.discard(keys[0]), lambda: filter | filter, lambda: filter.update(["fish"])):
        with pytest.raises(nidus.UnsupportedError, match="ribbon"):
            change()
    assert nidus.build(keys, fpr=0.4, family="ribbon").info.fpr_target == 0.4
    shards = nidus.build(keys, values=range(1000), value_bits=10, family="ribbon")
    assert shards.find(keys[7]) == [7]


def test_a_filter_without_a_capacity_takes_any_number_of_keys():
    filter = nidus.Filter(fpr=0.01, seed=1)
    assert filter.info.max_capacity == nidus.UNLIMITED and filter.info.bytes <= 1024
    filter.update(range(700_000))
    assert filter.contains_many(range(700_000)).all() and len(filter) == 700_000
    assert filter.contains_many(range(10**6, 2 * 10**6)).mean() < 0.01
    assert all(filter.discard(key) for key in range(0, 700_000, 7))
    assert filter.contains_many([key for key in range(700_000) if key % 7]).all()
    assert nidus.from_bytes(filter.to_bytes()) == filter
    assert nidus.Filter(None, seed=1) == nidus.Filter(max_capacity=nidus.UNLIMITED, seed=1)


def test_a_capacity_of_none_is_not_one_of_zero():
    with pytest.raises(nidus.ArgumentError, match="capacity must be at least 1"):
        nidus.Filter(0)
    with pytest.raises(nidus.UnsupportedError, match="cannot remove.* set Feature.NO_DELETE, or take bucketed"):
        nidus.Filter(family="cuckoo")
    assert nidus.Filter(family="cuckoo", features=nidus.Feature.NO_DELETE).info.max_capacity == nidus.UNLIMITED
    assert nidus.Filter(100).info.max_capacity < 1000


def test_a_filter_cannot_be_made_twice():
    filter = nidus.Filter(10)
    filter.add(1)
    with pytest.raises(TypeError):
        type(iter(filter))()
    try:
        filter.__init__(20)
    except TypeError:
        pass
    assert 1 in filter
