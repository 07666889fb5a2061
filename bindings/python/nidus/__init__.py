# SPDX-License-Identifier: MIT
"""Small approximate sets: no key that is in one is ever missed.

>>> import nidus
>>> birds = nidus.Filter(1000, fpr=0.001)
>>> birds.add("heron")
>>> "heron" in birds
True

A filter keeps a few bits per key and never the key itself. For other keys it says yes with the
probability fpr, which you choose. Whole arrays go in and are asked at once: nidus.build(array),
filter.contains_many(array).
"""

from ._base import (
    UNLIMITED,
    ArgumentError,
    CopiesError,
    CorruptError,
    Error,
    Feature,
    FileError,
    FormatError,
    FullError,
    MismatchError,
    MissingFileError,
    NoMemoryError,
    NotFoundError,
    RangeError,
    ReadOnlyError,
    TruncatedError,
    UnsupportedError,
    VersionError,
)
from ._nidus import Entry, Filter, Info, PlanRow, __version__, build, merge, plan

load = Filter.load
open = Filter.open
from_bytes = Filter.from_bytes


def _restore(data, kind=Filter):
    """What unpickling a Filter, or an object of a subclass, calls."""
    return kind.from_bytes(data)


__all__ = [
    "UNLIMITED",
    "ArgumentError",
    "CopiesError",
    "CorruptError",
    "Entry",
    "Error",
    "Feature",
    "FileError",
    "Filter",
    "FormatError",
    "FullError",
    "Info",
    "MismatchError",
    "MissingFileError",
    "NoMemoryError",
    "NotFoundError",
    "PlanRow",
    "RangeError",
    "ReadOnlyError",
    "TruncatedError",
    "UnsupportedError",
    "VersionError",
    "build",
    "from_bytes",
    "load",
    "merge",
    "open",
    "plan",
]
