# SPDX-License-Identifier: MIT
"""What is plain Python in nidus: the exceptions, one per status, and the names of the features."""

import enum
import errno as _errno
import os
import re


#: As max_capacity: the filter need not be sized and grows without an end.
UNLIMITED = 2**64 - 1


class Feature(enum.IntFlag):
    """What a filter can do, or must be able to do: ``Feature.MERGE | Feature.GROW``."""

    DELETE = 1 << 0  #: discard and remove
    ENUMERATE = 1 << 1  #: iteration over the entries
    MERGE = 1 << 2  #: ``|`` and merge
    GROW = 1 << 3  #: grow, shrink, max_capacity
    CONCURRENT = 1 << 4  #: threads may change the filter at the same time
    FAST = 1 << 5  #: the quickest family, not the smallest
    MULTISET = 1 << 6  #: build keeps copies of equal keys
    NO_DELETE = 1 << 7  #: nothing will be removed; breadcrumb is smaller then
    COMPACT = 1 << 8  #: bucketed with sorted, coded buckets: a bit per key smaller, and slower
    STATIC = 1 << 9  #: made by build and never changed: ribbon, the smallest


class Error(Exception):
    """Any failure that nidus reports. The text says what was wrong."""

    #: The status of the C library, a number; 0 where there is none.
    status = 0
    #: How many keys of an array were taken before the one that failed; None for other calls.
    done = None


class FullError(Error):
    """No place was found for a key; nothing changed."""


class NotFoundError(Error, KeyError):
    """The key to remove is not in the filter; nothing changed."""

    __str__ = Error.__str__  # KeyError's would put quotes around the text


class CopiesError(Error):
    """No room for another copy of this key; nothing changed. add_new stores a key once."""


class ArgumentError(Error, ValueError):
    """An argument that makes no sense."""


class RangeError(Error, ValueError):
    """A number that the family cannot do."""


class UnsupportedError(Error):
    """A feature that the family does not have."""


class ReadOnlyError(Error):
    """A change to a filter that was opened, not loaded. Its copy() can be changed."""


class MismatchError(Error, ValueError):
    """Filters that do not fit together: family, seed, rate or size differ."""


class NoMemoryError(Error, MemoryError):
    """The memory could not be had."""


class FileError(Error, OSError):
    """The system refused; errno, strerror and filename are those of OSError."""

    def __str__(self):
        return self.strerror or super().__str__()


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class FormatError(Error, ValueError):
    """Not a nidus file, or one whose fields contradict each other."""


class VersionError(Error, ValueError):
    """A nidus file of another format version."""


class TruncatedError(Error, ValueError):
    """The file ends too early."""


class CorruptError(Error, ValueError):
    """A checksum or an invariant does not hold: the bytes are damaged."""


# NIDUS_PRESENT is no failure (add_new answers False). NIDUS_STOPPED becomes the exception of the signal's handler,
# KeyboardInterrupt for example, and NIDUS_E_BUFFER cannot happen here.
_BY_STATUS = {
    1: FullError,
    2: NotFoundError,
    4: CopiesError,
    10: ArgumentError,
    11: RangeError,
    12: UnsupportedError,
    13: ReadOnlyError,
    14: MismatchError,
    20: NoMemoryError,
    30: FileError,
    31: FormatError,
    32: VersionError,
    33: TruncatedError,
    34: CorruptError,
}


_FEATURE_NAME = re.compile(rf"\bNIDUS_({'|'.join(Feature.__members__)})\b")


def _in_words(kind, reason, path):
    if kind is CopiesError:
        return f"{reason}; add_new() stores a key once"
    if kind is UnsupportedError and reason.startswith("nothing can be removed"):
        return (
            "nothing can be removed: the filter was made with Feature.NO_DELETE, or it is a union, in which keys that "
            "look the same share an entry; merge(filters, copies=True) keeps all copies, and they can be removed"
        )
    if "NIDUS_" in reason:
        reason = _FEATURE_NAME.sub(r"Feature.\1", reason)
    name = os.fsdecode(path) if path is not None else ""
    return reason if name in reason else f"{name}: {reason}"


def error(status, reason, errno=0, path=None, done=None):
    """Makes the exception of a status; the C module raises it."""
    kind = _BY_STATUS.get(status, Error)
    if kind is FileError and errno == _errno.ENOENT:
        kind = MissingFileError
    if kind is FileError or kind is MissingFileError:
        made = kind(errno, reason, path)
    else:
        made = kind(_in_words(kind, reason, path))
    made.status = status
    made.done = done
    return made
