#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command reads from the disk if a file that it maps may have only so many MiB of memory.

    bench/limited_reads.py FILE MIB COMMAND [ARGUMENT...]

bench/limited_memory.py uses a control group; where there is none to be had, this takes its part. It watches how much of
FILE the command has in memory and, beyond the limit, has the kernel take the pages away (process_madvise with
MADV_PAGEOUT, and POSIX_FADV_DONTNEED for what was only read ahead). So the limit is exceeded for some milliseconds at a
time, and bytes read are a little fewer than under a hard limit. Printed are the bytes read (/proc/PID/io), processor
time, and the largest share of FILE that was seen in memory. Needs Linux 5.10 and the right to do that.
"""
import ctypes
import os
import re
import resource
import subprocess
import sys
import time

PIDFD_OPEN, PROCESS_MADVISE, MADV_PAGEOUT = 434, 440, 21
PAUSE = 0.002

libc = ctypes.CDLL(None, use_errno=True)


class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def mapped(pid, path):
    """Address, length and resident bytes of the file's mapping; None if there is none."""
    try:
        with open(f"/proc/{pid}/smaps") as file:
            lines = file.readlines()
    except OSError:
        return None
    for i, line in enumerate(lines):
        if line.rstrip().endswith(path):
            start, end = (int(x, 16) for x in re.match(r"(\w+)-(\w+) ", line).groups())
            rss = next(int(rest.split()[1]) for rest in lines[i:] if rest.startswith("Rss:"))
            return start, end - start, rss * 1024
    return None


def read_bytes(pid):
    with open(f"/proc/{pid}/io") as file:
        return int(re.search(r"^read_bytes: (\d+)", file.read(), re.M).group(1))


def main():
    path, limit = os.path.realpath(sys.argv[1]), int(float(sys.argv[2]) * (1 << 20))
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    child = subprocess.Popen(sys.argv[3:])
    watched = libc.syscall(PIDFD_OPEN, child.pid, 0)
    most, read = 0, 0
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        read = read_bytes(child.pid)
        found = mapped(child.pid, path)
        if found and found[2] > most:
            most = found[2]
        if found and found[2] > limit:
            span = Span(found[0], found[1])
            if libc.syscall(PROCESS_MADVISE, watched, ctypes.byref(span), 1, MADV_PAGEOUT, 0) < 0:
                sys.exit(f"process_madvise: {os.strerror(ctypes.get_errno())}")
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        time.sleep(PAUSE)
    read = max(read, read_bytes(child.pid))  # of a process that has ended and is still there
    child.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{read / 1e6:.0f} MB read, {usage.ru_utime + usage.ru_stime:.1f} s of processor time, "
          f"at most {most / (1 << 20):.0f} MiB of the file in memory")


main()
