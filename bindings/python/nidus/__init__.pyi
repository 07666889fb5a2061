# SPDX-License-Identifier: MIT
import enum
import os
from typing import Any, ClassVar, Iterable, Iterator, List, Optional, SupportsFloat, SupportsIndex, Tuple, Type, TypeVar, Union, final

_Key = Union[str, bytes, bytearray, SupportsIndex]
# An array with the buffer protocol (integers, fixed-width bytes or text), an Arrow array, a Series, or any iterable of keys.
_Keys = Union[Iterable[_Key], Any]
_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
# A NumPy array of bool, or a memoryview of format "?" where there is no NumPy.
_Bools = Any
# The same of integers. Where they go in: an array of integers or any iterable of them.
_Numbers = Any

__version__: str

class Feature(enum.IntFlag):
    DELETE = 1
    ENUMERATE = 2
    MERGE = 4
    GROW = 8
    CONCURRENT = 16
    FAST = 32
    MULTISET = 64
    NO_DELETE = 128
    COMPACT = 256
    STATIC = 512

@final
class Info(Tuple[Any, ...]):
    family: str
    count: int  # type: ignore[assignment]  # hides tuple.count, at run time too
    capacity: int
    max_capacity: int
    bytes: int
    seed: int
    load: float
    headroom: float
    bits_per_key: float
    fpr_target: float
    fpr_now: float
    slots: int
    fingerprint_bits: int
    slot_bits: int
    growth_bits: int
    total_slots: int
    chunks: int
    stashed: int
    features: Feature
    readonly: bool
    concurrent: bool
    value_bits: int

@final
class PlanRow(Tuple[Any, ...]):
    family: str
    why_not: Optional[str]
    chosen: bool
    bytes: int
    capacity: int
    bits_per_key: float
    overhead: float
    fpr: float
    load: float
    lines_per_lookup: float
    slots: int
    fingerprint_bits: int
    copies: int
    features: Feature
    speed: str
    why: str

@final
class Entry(Tuple[Any, ...]):
    home: int
    fingerprint: int
    value: int

_Self = TypeVar("_Self", bound="Filter")

class Filter:
    def __new__(
        cls: Type[_Self],
        capacity: SupportsIndex,
        fpr: SupportsFloat = ...,
        *,
        family: str = ...,
        seed: Optional[SupportsIndex] = ...,
        max_capacity: SupportsIndex = ...,
        slots: SupportsIndex = ...,
        features: SupportsIndex = ...,
        max_steps: SupportsIndex = ...,
        reserve: Optional[SupportsIndex] = ...,
        stash: Optional[SupportsIndex] = ...,
        value_bits: SupportsIndex = ...,
    ) -> _Self: ...
    @property
    def info(self) -> Info: ...
    @property
    def closed(self) -> bool: ...
    def __contains__(self, key: _Key) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Entry]: ...
    def __or__(self: _Self, other: "Filter") -> _Self: ...
    def __ior__(self: _Self, other: "Filter") -> _Self: ...
    def __eq__(self, other: object) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]  # it changes, as a set does
    def __enter__(self: _Self) -> _Self: ...
    def __exit__(self, *args: object) -> None: ...
    def __copy__(self: _Self) -> _Self: ...
    def __deepcopy__(self: _Self, memo: Any) -> _Self: ...
    def add(self, key: _Key, /, value: Optional[SupportsIndex] = ...) -> None: ...
    def add_new(self, key: _Key, /) -> bool: ...
    def discard(self, key: _Key, /, value: Optional[SupportsIndex] = ...) -> bool: ...
    def remove(self, key: _Key, /, value: Optional[SupportsIndex] = ...) -> None: ...
    def replace(self, key: _Key, old: SupportsIndex, new: SupportsIndex, /) -> None: ...
    def find(self, key: _Key, /) -> List[int]: ...
    def add_count(self, key: _Key, /, delta: Optional[SupportsIndex] = ...) -> None: ...
    def get_count(self, key: _Key, /) -> int: ...
    def count(self, key: _Key, /) -> int: ...
    def contains_many(self, keys: _Keys, /) -> _Bools: ...
    def find_many(self, keys: _Keys, /) -> Tuple[_Numbers, _Numbers]: ...
    def add_counts(self, keys: _Keys, deltas: Optional[_Numbers] = ...) -> None: ...
    def counts(self, keys: _Keys, /) -> _Numbers: ...
    def add_many(self, keys: _Keys, values: Optional[_Numbers] = ...) -> None: ...
    def add_new_many(self, keys: _Keys, /) -> _Bools: ...
    def remove_many(self, keys: _Keys, /) -> None: ...
    def clear(self) -> None: ...
    def update(self, *others: Union["Filter", _Keys]) -> None: ...
    def union(self: _Self, *others: "Filter") -> _Self: ...
    def copy(self: _Self) -> _Self: ...
    def grow(self, capacity: SupportsIndex, *, relaxed: bool = ...) -> None: ...
    def shrink(self, capacity: SupportsIndex = ...) -> None: ...
    def verify(self) -> None: ...
    def save(self, path: _Path, /) -> None: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def load(cls: Type[_Self], path: _Path, /) -> _Self: ...
    @classmethod
    def open(cls: Type[_Self], path: _Path, *, verify: bool = ...) -> _Self: ...
    @classmethod
    def from_bytes(cls: Type[_Self], data: Any, *, copy: bool = ...) -> _Self: ...
    def close(self) -> None: ...

def build(
    keys: _Keys,
    fpr: SupportsFloat = ...,
    *,
    values: Optional[_Numbers] = ...,
    capacity: SupportsIndex = ...,
    threads: SupportsIndex = ...,
    like: Optional[Filter] = ...,
    family: str = ...,
    seed: Optional[SupportsIndex] = ...,
    max_capacity: SupportsIndex = ...,
    slots: SupportsIndex = ...,
    features: SupportsIndex = ...,
    max_steps: SupportsIndex = ...,
    reserve: Optional[SupportsIndex] = ...,
    stash: Optional[SupportsIndex] = ...,
    value_bits: SupportsIndex = ...,
) -> Filter: ...
def merge(filters: Iterable[Filter], how: str = ..., *, copies: bool = ...) -> Filter: ...
def plan(
    capacity: SupportsIndex,
    fpr: SupportsFloat = ...,
    *,
    family: str = ...,
    seed: Optional[SupportsIndex] = ...,
    max_capacity: SupportsIndex = ...,
    slots: SupportsIndex = ...,
    features: SupportsIndex = ...,
    max_steps: SupportsIndex = ...,
    reserve: Optional[SupportsIndex] = ...,
    stash: Optional[SupportsIndex] = ...,
    value_bits: SupportsIndex = ...,
) -> List[PlanRow]: ...

load = Filter.load
open = Filter.open
from_bytes = Filter.from_bytes

class Error(Exception):
    status: int
    done: Optional[int]

class FullError(Error): ...
class NotFoundError(Error, KeyError): ...
class CopiesError(Error): ...
class ArgumentError(Error, ValueError): ...
class RangeError(Error, ValueError): ...
class UnsupportedError(Error): ...
class ReadOnlyError(Error): ...
class MismatchError(Error, ValueError): ...
class NoMemoryError(Error, MemoryError): ...
class FileError(Error, OSError): ...
class MissingFileError(FileError, FileNotFoundError): ...
class FormatError(Error, ValueError): ...
class VersionError(Error, ValueError): ...
class TruncatedError(Error, ValueError): ...
class CorruptError(Error, ValueError): ...
