# SPDX-License-Identifier: MIT
"""Filters in Spark: built in the workers' partitions and merged by tree, and asked by pandas UDFs.

    import nidus.spark

    wanted = nidus.spark.build(customers, "id", fpr=0.001)
    orders.filter(nidus.spark.contains(orders, "customer", wanted))
    nidus.spark.semi_join(orders, customers, left_on="customer", right_on="id")

The workers need this package, too, and pyarrow and pandas, as Spark's pandas UDFs do. Keys are what they are in Python:
integers and booleans, text, binary; a date is its days, a timestamp its microseconds since 1970. Any other type is a
TypeError. A null is no key, and asking for it gives null. Rows never go to the driver: filters do.
"""

import os
import uuid
from collections import OrderedDict
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

from ._base import Feature
from ._nidus import Filter
from ._nidus import merge as _merge
from ._tables import need, refuse

_sql: Any = need("pyspark.sql", "nidus.spark")
_types: Any = need("pyspark.sql.types", "nidus.spark")
_functions: Any = need("pyspark.sql.functions", "nidus.spark")
_pa: Any = need("pyarrow", "nidus.spark")
_pd: Any = need("pandas", "nidus.spark")

_COLUMN = "filter"  # of frames whose rows are filters
_INTEGERS = (_types.ByteType, _types.ShortType, _types.IntegerType, _types.LongType)
_BLANKS = {"bigint": 0, "string": "", "binary": bytearray()}

_Path = Union[str, "os.PathLike[str]"]
_Source = Tuple[str, Any]


# ------------------------------------------------------------------------------- keys


def _key(frame: Any, column: str) -> Tuple[Any, str]:
    """A column as one that a filter reads, and its type in SQL: bigint, string or binary."""
    kind, item = frame.select(column).schema[0].dataType, _functions.col(column)
    if isinstance(kind, _INTEGERS + (_types.BooleanType,)):
        return item.cast("bigint"), "bigint"
    if isinstance(kind, _types.DateType):
        return _functions.unix_date(item).cast("bigint"), "bigint"
    if isinstance(kind, _types.TimestampType):
        return _functions.unix_micros(item), "bigint"
    if isinstance(kind, _types.BinaryType):
        return item, "binary"
    if isinstance(kind, (_types.StringType, _types.CharType, _types.VarcharType)):
        return item.cast("string"), "string"
    raise refuse(kind.simpleString())


# ------------------------------------------------------------------------------ builds


def _row(filter: Filter) -> Any:
    return _pa.RecordBatch.from_pydict({_COLUMN: _pa.array([filter.to_bytes()], _pa.binary())})


def _build_partition(options: Dict[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """The filter of a partition's keys, or nothing if it has none."""
    filter = None
    for batch in batches:
        if batch.num_rows > 0:
            filter = filter or Filter(**options)
            filter.add_new_many(batch.column(0))
    if filter is not None:
        yield _row(filter)


def _merge_partition(batches: Iterator[Any]) -> Iterator[Any]:
    """All filters of a partition as one: at any time there are two in memory, and what Spark has sent."""
    merged = None
    for batch in batches:
        for data in batch.column(0):
            one = Filter.from_bytes(data.as_buffer(), copy=False)
            merged = one.copy() if merged is None else _merge([merged, one])
    if merged is not None:
        yield _row(merged)


def build(
    frame: Any, column: str, fpr: float = 2**-8, *, capacity: Optional[int] = None, branches: int = 8, depth: int = 2, **options: Any
) -> Filter:
    """A filter of all keys in a column of a DataFrame, without the nulls.

    Each partition is made a filter where it lies. These are merged by a tree of so many levels: into at most `branches` filters in
    the level below the driver, which merges those, into at most branches**2 in the one below that. With a depth of 1 the
    driver merges all.

    The capacity is the number of rows if it is not given, which counts them first: give it where you know it, or where keys
    come often. Every filter on the way has that capacity, and its size. The other options are those of nidus.Filter; the family
    must be one that merges. Equal entries are kept once, so the filter refuses removes.
    """
    if branches < 1 or depth < 1:
        raise ValueError("branches and depth must be at least 1")
    key, _ = _key(frame, column)
    keys = frame.select(key.alias("key")).where("key IS NOT NULL")
    if capacity is None:
        capacity = max(keys.count(), 1)
    empty = Filter(capacity, fpr, **options)
    if not empty.info.features & Feature.MERGE:
        raise ValueError(f"filters of the family {empty.info.family} do not merge")
    same = dict(options, capacity=capacity, fpr=fpr, family=empty.info.family, seed=empty.info.seed)
    parts = keys.mapInArrow(_with(_build_partition, same), f"{_COLUMN} binary")
    for level in range(depth - 1, 0, -1):
        parts = parts.repartition(branches**level).mapInArrow(_merge_partition, f"{_COLUMN} binary")
    merged = empty
    for row in parts.toLocalIterator():
        merged = _merge([merged, Filter.from_bytes(bytes(row[0]), copy=False)])
    return merged


def _with(function: Callable[..., Any], first: Any) -> Callable[[Any], Any]:
    """A function of one argument, as Spark wants it; what it calls is found by its name where it runs."""

    def call(second: Any) -> Any:
        return function(first, second)

    return call


# ----------------------------------------------------------------------------- lookups

#: What this worker has read, the last used at the end. Workers live for many tasks.
_read: "OrderedDict[Any, Filter]" = OrderedDict()
_READ_MOST = 4


def _filter_of(source: _Source) -> Filter:
    """The filter of a source: a mapped file, or broadcast bytes, which are not copied."""
    name, sent = source
    where: Any = name
    if sent is None:
        status = os.stat(name)
        where = name, status.st_ino, status.st_mtime_ns, status.st_size
    if where not in _read:
        _read[where] = Filter.open(name) if sent is None else Filter.from_bytes(sent.value, copy=False)
    _read.move_to_end(where)
    while len(_read) > _READ_MOST:
        _read.popitem(last=False)
    return _read[where]


def _ask(source: _Source, keys: Any) -> Any:
    return _pd.Series(_filter_of(source).contains_many(keys), dtype=bool)


def _source_of(frame: Any, filter: Any) -> _Source:
    if isinstance(filter, (str, os.PathLike)):
        return os.path.abspath(os.fspath(filter)), None
    if isinstance(filter, Filter):
        context = getattr(frame.sparkSession, "sparkContext", None)
        filter = context.broadcast(filter.to_bytes())
    if not hasattr(filter, "value"):
        raise TypeError(f"a filter, a broadcast of its bytes, or the path of its file is needed, not {type(filter).__name__}")
    return uuid.uuid4().hex, filter


def contains(frame: Any, column: str, filter: Any) -> Any:
    """Whether each key of a column is in a filter, as a Column: for frame.filter, withColumn and so on. Null for null.

    `filter` is a nidus.Filter, whose bytes are broadcast; a broadcast of such bytes, spark.sparkContext.broadcast(filter.to_bytes()),
    which several queries can share; or the path of a file that every worker can read, and maps: the workers of a machine
    share its pages.
    """
    key, kind = _key(frame, column)
    source = _source_of(frame, filter)

    def ask(keys: _pd.Series) -> _pd.Series:
        return _ask(source, keys)

    # With nulls among them pandas would make floating-point numbers of integers.
    asked = _functions.pandas_udf(ask, "boolean")(_functions.coalesce(key, _functions.lit(_BLANKS[kind])))
    return _functions.when(key.isNotNull(), asked)


def semi_join(
    left: Any,
    right: Any,
    on: Optional[str] = None,
    *,
    left_on: Optional[str] = None,
    right_on: Optional[str] = None,
    fpr: float = 2**-8,
    filter: Any = None,
) -> Any:
    """The rows of `left` whose key is in `right`: left.join(right, ..., "left_semi"), which asks a filter of the keys first.

    Exact: the join decides about the rows that pass. The filter is built now, of the keys in `right`, unless one is given as
    `contains` takes it, which must have all of them.
    """
    mine, theirs = left_on or on, right_on or on
    if mine is None or theirs is None:
        raise ValueError("which columns? give on, or left_on and right_on")
    kinds = [frame.select(name).schema[0].dataType for frame, name in ((left, mine), (right, theirs))]
    if kinds[0] != kinds[1] and not all(isinstance(kind, _INTEGERS) for kind in kinds):
        raise TypeError(f"{mine} is {kinds[0].simpleString()}, but {theirs} is {kinds[1].simpleString()}: cast one of them")
    if filter is None:
        filter = build(right, theirs, fpr)
    keys = right.select(_functions.col(theirs).alias("nidus key"))
    passed = left.filter(contains(left, mine, filter))
    return passed.join(keys, _functions.col(mine) == _functions.col("`nidus key`"), "left_semi")
