# SPDX-License-Identifier: MIT
"""Filters as sets: unions, updates, equality, and classes derived from them."""

import copy
import gc
import pickle
import weakref

import numpy
import pytest

import nidus
from conftest import FAMILIES

LISTING = [row.family for row in nidus.plan(1000) if row.features & nidus.Feature.ENUMERATE]
MERGING = [row.family for row in nidus.plan(1000) if row.features & nidus.Feature.MERGE]


def pair(**options):
    """Two filters that have half of their keys in common."""
    a = nidus.build(range(100), capacity=400, seed=1, fpr=2**-20, **options)
    return a, nidus.build(range(50, 150), like=a)


@pytest.mark.parametrize("family", MERGING)
def test_a_union_has_an_entry_once(family):
    a, b = pair(family=family)
    unions = [a | b, a.union(b), nidus.merge([a, b]), nidus.merge((f for f in (a, b)), how="unique"), a.union(b, a, b)]
    for other in (a.copy(), a.copy()):
        unions.append(other)
    unions[-1] |= b
    unions[-2].update(b)
    for union in unions:
        assert union.contains_many(range(150)).all()
        assert union == unions[0]
        if family in LISTING:
            assert len(union) <= 150  # keys that look the same share an entry
    assert len(a) == len(b) == 100


def test_in_place_is_in_place():
    a, b = pair()
    kept = a
    a |= b
    assert a is kept and len(a) <= 150
    before = a.copy()
    a |= a
    assert a == before


def test_a_union_refuses_removes_and_says_how_to_have_them():
    a, b = pair()
    update = a.copy()
    update.update(b)
    saved = nidus.from_bytes((a | b).to_bytes())
    for union in (a | b, a.union(b), nidus.merge([a, b]), update, saved, pickle.loads(pickle.dumps(a | b))):
        for remove in (union.discard, union.remove, lambda key: union.remove_many([key])):
            with pytest.raises(nidus.UnsupportedError, match=r"it is a union.*merge\(filters, copies=True\)"):
                remove(7)
        assert 7 in union and not union.info.features & nidus.Feature.DELETE
        union.add(1000)
        assert 1000 in union


def test_merged_copies_can_be_removed_one_by_one():
    a, b = pair()
    both = nidus.merge([a, b], copies=True)
    assert len(both) == 200 and both.count(70) == 2
    assert both == nidus.merge([a, b], "copies") == nidus.merge([a, b], how="copies", copies=True)
    both.remove_many(range(50, 150))
    assert both == a
    with pytest.raises(nidus.ArgumentError, match="otherwise"):
        nidus.merge([a, b], "sum", copies=True)


def test_update_is_a_loop_of_add():
    one, many = nidus.Filter(100, seed=1), nidus.Filter(100, seed=1)
    many.update([1, 2, 1], numpy.array([3, 4]), ["heron"])
    for key in (1, 2, 1, 3, 4, "heron"):
        one.add(key)
    assert one == many and many.count(1) == 2
    many.update()
    assert one == many
    many.remove_many([1, 2, 1, 3, 4, "heron"])
    assert len(many) == 0
    with pytest.raises(TypeError, match="update puts keys in"):
        one.union([1, 2])


@pytest.mark.parametrize("family", FAMILIES)
def test_filters_with_the_same_contents_are_equal(family):
    options = {"fpr": 0.001, "family": family, "seed": 5}
    forward, backward = nidus.Filter(1000, **options), nidus.Filter(1000, **options)
    forward.update(range(1000))
    backward.update(range(999, -1, -1))
    assert forward == backward and not forward != backward
    assert forward == forward.copy() == nidus.from_bytes(backward.to_bytes())
    backward.add("one more")
    assert forward != backward and not forward == backward


def test_filters_that_cannot_be_compared_are_not_equal():
    a = nidus.build([1], seed=1)
    assert a != nidus.build([1], seed=2)
    assert a != {1} and a is not None and not a == 1
    assert a != nidus.build([1], seed=1, values=[5], value_bits=4)
    assert nidus.Filter(10) == nidus.Filter(2000)  # nothing in either
    with pytest.raises(TypeError):
        a < a
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    a.close()
    with pytest.raises(ValueError, match="closed"):
        a == nidus.Filter(10)


class Named(nidus.Filter):
    """A class of a user."""

    def __new__(cls, name, *args, **named):
        self = super().__new__(cls, *args, **named)
        self.name = name
        return self

    def __init__(self, *args, **named):
        self.started = True

    def add(self, key):
        super().add(f"{key}!")


def test_classes_can_be_derived(tmp_path):
    birds = Named("birds", 100, fpr=0.001, seed=1)
    birds.add("heron")
    assert "heron!" in birds and "heron" not in birds and birds.started
    birds.save(tmp_path / "birds.nidus")
    for other in (birds.copy(), Named.load(tmp_path / "birds.nidus"), Named.from_bytes(birds.to_bytes()), birds | birds, birds.union(birds)):
        assert type(other) is Named and "heron!" in other
    assert type(nidus.build(["heron!"], like=birds)) is nidus.Filter
    assert birds == nidus.build(["heron!"], like=birds)
    with Named.open(tmp_path / "birds.nidus") as mapped:
        assert type(mapped) is Named
    restored = pickle.loads(pickle.dumps(birds))
    assert type(restored) is Named and restored.name == "birds" and restored == birds
    assert type(copy.copy(birds)) is Named and type(copy.deepcopy(birds)) is Named
    birds.me = birds  # a circle, which the garbage collector finds
    gone = weakref.ref(birds)
    del birds
    gc.collect()
    assert gone() is None


def test_filters_have_weak_references():
    called = []
    filter = nidus.Filter(10)
    reference = weakref.ref(filter, lambda _: called.append(1))
    kept = weakref.WeakValueDictionary(seen=filter)
    assert reference() is filter and kept["seen"] is filter
    del filter
    assert reference() is None and called == [1] and not kept
