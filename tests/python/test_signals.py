# SPDX-License-Identifier: MIT
"""Signals, the GIL and forks: what long calls owe to the rest of the process.

No test here depends on how fast the machine is. Where a call must be long enough for something to happen in it,
it is made with twice as many keys until it is.
"""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest

import nidus


class Enough(Exception):
    """What our signal's handler raises."""


@pytest.fixture
def alarms():
    """Alarms every few milliseconds. The third that is handled within one call raises Enough: of a list that begins
    with None, which ends_early puts there before it calls."""
    handled = []

    def handler(number, frame):
        handled.append(number)
        if handled[0] is None and len(handled) == 4:
            raise Enough

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    yield handled
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def ends_early(alarms, make_call):
    """Whether a call handles signals while it works, for which it must work long enough."""
    n = 500_000
    while n < 10**8:
        call = make_call(n)
        alarms[:] = [None]
        try:
            call()
        except Enough:
            return True
        alarms[:] = [0]
        n *= 2
    return False


def same_key(n):
    """An array of n keys that takes no memory: it is one key, again and again."""
    return numpy.lib.stride_tricks.as_strided(numpy.zeros(1, dtype="i8"), shape=(n,), strides=(0,))


def test_batches_handle_signals_while_they_work(alarms):
    filter = nidus.Filter(100, value_bits=32)
    assert ends_early(alarms, lambda n: lambda: filter.add_counts(same_key(n)))
    assert ends_early(alarms, lambda n: lambda: filter.contains_many(same_key(n)))
    assert ends_early(alarms, lambda n: lambda: filter.add_new_many(same_key(n)))
    filter.verify()


@pytest.mark.parametrize("make", [numpy.arange, lambda n: numpy.arange(n, dtype="u4"), lambda n: numpy.arange(n).astype("S10")])
def test_builds_handle_signals_while_they_work(alarms, make):
    def call(n):
        keys = make(n)
        return lambda: nidus.build(keys)

    assert ends_early(alarms, call)


def test_iterables_handle_signals_while_they_are_read(alarms):
    filter = nidus.Filter(100)

    def call(n):
        keys = [7] * n
        return lambda: filter.contains_many(iter(keys))

    assert ends_early(alarms, call)


def test_ctrl_c_ends_a_batch():
    filter = nidus.Filter(100, value_bits=32)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        filter.add_counts(same_key(10**10))
    timer.join()
    assert filter.get_count(0) < 2**32 - 1  # it did not go on to the end
    filter.add(1)


def test_a_handler_may_read_the_filter_of_the_call_but_not_change_it(alarms):
    filter = nidus.Filter(100, value_bits=32)
    filter.add(5)

    def look(number, frame):
        assert 5 in filter and len(filter) == 1
        alarms.append(number)
        if alarms[0] is None and len(alarms) == 4:
            raise Enough

    signal.signal(signal.SIGALRM, look)
    assert ends_early(alarms, lambda n: lambda: filter.contains_many(same_key(n)))

    def change(number, frame):
        filter.add(6)

    signal.signal(signal.SIGALRM, change)
    with pytest.raises(RuntimeError, match="handler cannot use the filter"):
        filter.add_counts(same_key(10**10))
    signal.setitimer(signal.ITIMER_REAL, 0)
    filter.verify()


def test_other_threads_run_while_a_list_is_hashed():
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            time.sleep(0.0005)
            ticks[0] += 1

    class Marker:
        """A key that notes how often the other thread has run."""

        def __init__(self):
            self.seen = None

        def __index__(self):
            self.seen = ticks[0]
            return 1

    thread = threading.Thread(target=tick)
    thread.start()
    n, most = 10**6, 0
    while most < 5 and n < 10**8:
        first, last = Marker(), Marker()
        nidus.build([first] + [7] * n + [last])
        most = last.seen - first.seen
        n *= 2
    done.set()
    thread.join()
    assert most >= 5  # once could be while the last key was asked for its number


def in_a_process(code):
    """Runs a program that might wait for ever if something is wrong."""
    code = "import nidus, numpy, os, sys, threading, time\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_change_that_waits_for_a_save_does_not_hold_the_gil(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    in_a_process(f"""
        filter = nidus.Filter(10**5, features=nidus.Feature.CONCURRENT)
        filter.update(range(1000))
        save = threading.Thread(target=filter.save, args=({str(tmp_path / "pipe")!r},))
        save.start()                       # goes on when somebody reads
        with open({str(tmp_path / "pipe")!r}, "rb") as pipe:
            first = pipe.read(1)           # so it is inside by now
            changes = [
                lambda: filter.add(10**6), lambda: filter.add_new(10**6 + 1), lambda: filter.discard(5), lambda: 7 in filter,
                lambda: filter.add_many(range(2 * 10**6, 2 * 10**6 + 9)), lambda: filter.count(5),
            ]
            threads = [threading.Thread(target=change) for change in changes]
            for thread in threads:
                thread.start()
            time.sleep(0.05)               # they wait, and we do not
            saved = first + pipe.read()
        for thread in threads + [save]:
            thread.join()
        assert len(nidus.from_bytes(saved)) == 1000
        assert len(filter) == 1000 + 1 + 1 - 1 + 9
    """)


def test_a_child_can_use_what_another_thread_only_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    in_a_process(f"""
        filter = nidus.build(range(10**5), capacity=2 * 10**5, seed=1)
        save = threading.Thread(target=filter.save, args=({str(tmp_path / "pipe")!r},))
        save.start()
        with open({str(tmp_path / "pipe")!r}, "rb") as pipe:
            pipe.read(1)
            child = os.fork()
            if child == 0:
                assert 7 in filter and filter.contains_many(range(1000)).all()
                filter.add("heron")
                filter.update(range(10**6, 10**6 + 100))
                filter.verify()
                copy = filter | filter
                filter.close()
                os._exit(17 if len(copy) > 10**5 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
            pipe.read()
        save.join()
        assert len(filter) == 10**5
    """)


@pytest.mark.parametrize("features", [0, nidus.Feature.CONCURRENT])
def test_a_child_is_told_of_a_change_that_the_fork_cut_short(features):
    in_a_process(f"""
        filter, other = nidus.Filter(100, value_bits=32, features={int(features)}), nidus.Filter(100)
        one = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, dtype="i8"), shape=(10**12,), strides=(0,))
        threading.Thread(target=filter.add_counts, args=(one,), daemon=True).start()
        code = 0
        while code != 17:                  # until the thread is inside
            child = os.fork()
            if child == 0:
                refused = 0
                for call in (lambda: filter.get_count(0), lambda: filter.add(1), lambda: filter.copy(), lambda: filter | other):
                    try:
                        call()
                    except RuntimeError as failure:
                        refused += "forked" in str(failure)
                    except nidus.MismatchError:
                        pass
                other.add(1)
                filter.close()
                assert filter.closed
                del filter
                os._exit(17 if refused == 4 and 1 in other else 1 if refused else 3)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code in (3, 17), code
        os._exit(0)
    """)


def test_a_child_of_a_child_works_too():
    in_a_process("""
        filter = nidus.build(range(1000))
        for _ in range(3):
            child = os.fork()
            if child:
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            assert filter.contains_many(range(1000)).all()
            filter = filter.copy()
    """)
