#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command in a control group of its own that may have only so many MiB of memory, page cache included.

    bench/limited_memory.py MIB COMMAND [ARGUMENT...]

The group is made directly below the root of the memory controller (cgroup v1, or v2 where that has the controller) and
removed afterwards, so this needs Linux and root. A command that needs more than the limit is killed by the kernel. Printed are
the most memory that the group had and how much of it was not page cache (looked at every 10 ms), how often the kernel had to
take pages away at the limit, the bytes read and written (/proc/PID/io, of the command and its children that have ended), processor
time, and the exit status, which is this script's, too.
"""
import contextlib
import os
import re
import resource
import signal
import sys
import time

PAUSE = 0.01
MIB = 1 << 20


class Group:
    """A control group for memory: the names of its files in both versions."""

    def __init__(self, limit):
        first = os.path.isdir("/sys/fs/cgroup/memory")
        root = "/sys/fs/cgroup/memory" if first else "/sys/fs/cgroup"
        if not first and "memory" not in open(f"{root}/cgroup.subtree_control").read().split():
            sys.exit("limited_memory: no memory controller here (see cgroup.subtree_control)")
        self.path = f"{root}/nidus-{os.getpid()}"
        self.limit, self.anonymous = ("memory.limit_in_bytes", "rss") if first else ("memory.max", "anon")
        self.peak, self.hits = ("memory.max_usage_in_bytes", "memory.failcnt") if first else ("memory.peak", "memory.events")
        os.mkdir(self.path)
        self.write(self.limit, limit)
        if not first:
            self.write("memory.swap.max", 0)

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w") as file:
            file.write(str(value))

    def read(self, name):
        with open(f"{self.path}/{name}") as file:
            return file.read()

    def memory_of_its_own(self):
        """Bytes that are not page cache; huge pages are inside in both versions."""
        return int(re.search(rf"^{self.anonymous} (\d+)", self.read("memory.stat"), re.M).group(1))

    def times_at_limit(self):
        text = self.read(self.hits)
        return int(re.search(r"^(?:max )?(\d+)", text, re.M).group(1))

    def remove(self):
        os.rmdir(self.path)


def bytes_of(pid):
    with open(f"/proc/{pid}/io") as file:
        text = file.read()
    return [int(re.search(rf"^{name}: (\d+)", text, re.M).group(1)) for name in ("read_bytes", "write_bytes")]


def start(group, command):
    child = os.fork()
    if child != 0:
        return child
    try:
        group.write("cgroup.procs", os.getpid())
        os.execvp(command[0], command)
    except OSError as error:
        print(f"limited_memory: {command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def end_all(group):
    """What is still in the group when this script is told to end."""
    while left := [int(line) for line in group.read("cgroup.procs").split()]:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)
        time.sleep(PAUSE)


def watch(group, child):
    """Waits for the child, which stays a zombie: the most memory of its own, and bytes read and written."""
    most = 0
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        most = max(most, group.memory_of_its_own())
        time.sleep(PAUSE)
    return most, *bytes_of(child)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    limit = int(float(sys.argv[1]) * MIB)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    group = Group(limit)
    try:
        child = start(group, sys.argv[2:])
        own, read, written = watch(group, child)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        peak, hits = int(group.read(group.peak)), group.times_at_limit()
    finally:
        end_all(group)
        group.remove()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"limit {limit / MIB:.0f} MiB: at most {peak / MIB:.0f} MiB in the group, {own / MIB:.0f} of them not page cache; "
        f"{hits} times at the limit; {read / 1e6:.0f} MB read, {written / 1e6:.0f} MB written; "
        f"{usage.ru_utime + usage.ru_stime:.1f} s of processor time; exit status {status}"
    )
    sys.exit(status if status >= 0 else 128 - status)


main()
