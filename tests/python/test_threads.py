# SPDX-License-Identifier: MIT
"""Python threads and one filter: the GIL is released, and nothing is lost."""

import threading

import numpy
import pytest

import nidus


def run(*calls):
    """Runs the calls at the same time, and passes on what they raise."""
    failures = []

    def guarded(call):
        try:
            call()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("features", [0, nidus.Feature.CONCURRENT])
def test_changes_by_several_threads_are_all_there(features):
    filter = nidus.Filter(60_000, fpr=0.001, features=features, seed=1)
    parts = numpy.arange(40_000).reshape(4, 10_000)

    def single():
        for key in range(100_000, 105_000):
            filter.add(key)
            assert key in filter

    def look():
        for _ in range(20):
            filter.contains_many(parts[0])
            filter.info
            filter.copy()
            nidus.from_bytes(filter.to_bytes()).verify()

    run(*(lambda part=part: filter.add_many(part) for part in parts), single, look)
    assert len(filter) == 45_000
    assert filter.contains_many(parts.ravel()).all() and filter.contains_many(range(100_000, 105_000)).all()
    filter.verify()


def test_a_filter_that_grows_is_waited_for():
    filter = nidus.Filter(100, max_capacity=10**6, seed=1)

    def grow():
        for size in (1000, 10_000, 100_000):
            filter.grow(size)

    def ask():
        for key in range(2000):
            filter.add(key)
            assert key in filter

    run(grow, ask, ask)
    assert len(filter) == 4000


def test_merges_in_a_ring_do_not_wait_for_each_other():
    a = nidus.build(range(50), capacity=100, seed=1)
    b = nidus.build(range(50, 100), like=a)
    kept = b.copy()

    def into(left, right):
        for _ in range(10):
            left |= right
            left.clear()

    run(lambda: into(a, b), lambda: into(b, a), lambda: [a | b for _ in range(10)])
    a.clear()
    a |= kept
    assert len(a) == 50


def test_close_waits_for_those_inside():
    keys = numpy.arange(300_000)
    for _ in range(3):
        filter = nidus.build(keys)
        started = threading.Event()

        def look():
            started.set()
            try:
                while True:
                    assert filter.contains_many(keys).all()
            except ValueError as failure:
                assert "closed" in str(failure)

        def close():
            started.wait()
            filter.close()

        run(look, look, close)


def test_other_threads_run_while_an_array_is_looked_up():
    keys = numpy.arange(1_000_000)
    filter = nidus.build(keys)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(None)

    def look():
        before = len(ticks)
        while len(ticks) == before:  # ends as soon as the other thread runs
            filter.contains_many(keys)
        done.set()

    run(tick, look)
    assert ticks
