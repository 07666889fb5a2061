# SPDX-License-Identifier: MIT
"""Filters in Polars: a namespace for expressions and Series, and a semi-join that asks a filter first.

    import polars as pl, nidus.polars

    wanted = customers["id"].nidus.build(fpr=0.001)
    orders.filter(pl.col("customer").nidus.contains(wanted))
    orders.lazy().filter(pl.col("customer").nidus.contains(wanted)).collect(engine="streaming")
    nidus.polars.semi_join(orders, customers, left_on="customer", right_on="id")

Columns are read where they are, by the Arrow PyCapsule interface. Of a column that has nulls the other items are copied
first; a null gives a null. Keys are what they are in Python: integers and booleans, text (categories, too), binary;
dates, times and durations are the integers that they are kept as, so the unit matters. Any other type is a TypeError.
"""

from typing import Any, Callable, Optional

from ._nidus import Filter
from ._nidus import build as _build
from ._tables import need, refuse

pl: Any = need("polars", "nidus.polars")


_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def _keys(series: Any) -> Any:
    """A Series as one that a filter reads: itself, unless its items are coded."""
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if dtype in _INTEGERS or dtype in (pl.Boolean, pl.String, pl.Binary) or dtype.is_temporal():
        return series
    raise refuse(dtype)


def _answer(series: Any, call: Callable[[Any], Any], kind: Any) -> Any:
    """What `call` answers for each item, and null for each null."""
    if series.null_count() == 0:
        return pl.Series(series.name, call(_keys(series)), dtype=kind)
    valid = series.is_not_null()
    some = pl.Series(call(_keys(series.filter(valid))), dtype=kind)
    return pl.repeat(None, len(series), dtype=kind, eager=True).scatter(valid.arg_true(), some).alias(series.name)


def _contains(series: Any, filter: Filter) -> Any:
    return _answer(series, filter.contains_many, pl.Boolean)


def _get_count(series: Any, filter: Filter) -> Any:
    return _answer(series, filter.counts, pl.UInt64)


def _find(series: Any, filter: Filter) -> Any:
    def values(keys: Any) -> Any:
        first, found = filter.find_many(keys)
        return pl.Series(first).set(pl.Series(found == 0), None)

    return _answer(series, values, pl.UInt64)


@pl.api.register_expr_namespace("nidus")
class ExprNamespace:
    """pl.col("customer").nidus: in any query, lazy and streaming ones too."""

    def __init__(self, expr: Any) -> None:
        self._expr = expr

    def _map(self, function: Callable[[Any, Filter], Any], filter: Filter, kind: Any) -> Any:
        return self._expr.map_batches(lambda series: function(series, filter), return_dtype=kind, is_elementwise=True)

    def contains(self, filter: Filter) -> Any:
        """Whether each key is in the filter."""
        return self._map(_contains, filter, pl.Boolean)

    def find(self, filter: Filter) -> Any:
        """The value of an entry that looks like each key, or null."""
        return self._map(_find, filter, pl.UInt64)

    def get_count(self, filter: Filter) -> Any:
        """The count of each key."""
        return self._map(_get_count, filter, pl.UInt64)


@pl.api.register_series_namespace("nidus")
class SeriesNamespace:
    """customers["id"].nidus: the same for a Series, and what makes filters or changes them."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def build(self, fpr: float = 2**-8, **options: Any) -> Filter:
        """A filter of all items, without the nulls. The options are those of nidus.build, but for values."""
        if "values" in options and self._series.null_count() > 0:
            raise ValueError("keys with values have no nulls: drop them, and their values")
        return _build(_keys(self._series.drop_nulls()), fpr, **options)

    def contains(self, filter: Filter) -> Any:
        """Whether each key is in the filter."""
        return _contains(self._series, filter)

    def find(self, filter: Filter) -> Any:
        """The value of an entry that looks like each key, or null."""
        return _find(self._series, filter)

    def get_count(self, filter: Filter) -> Any:
        """The count of each key."""
        return _get_count(self._series, filter)

    def add_new(self, filter: Filter) -> Any:
        """Puts each key in unless the filter says yes already; whether it was. For the first row of each key:
        frame.filter(frame["id"].nidus.add_new(seen)). An expression cannot do it, as a query may run it twice."""
        return _answer(self._series, filter.add_new_many, pl.Boolean)


def _alike(one: Any, other: Any) -> bool:
    """Whether equal items of two types are one key."""
    return one == other or any(one in kinds and other in kinds for kinds in (_INTEGERS, _TEXTS))


def semi_join(
    left: Any,
    right: Any,
    on: Optional[str] = None,
    *,
    left_on: Optional[str] = None,
    right_on: Optional[str] = None,
    fpr: float = 2**-8,
    filter: Optional[Filter] = None,
) -> Any:
    """The rows of `left` whose key is in `right`: left.join(right, how="semi"), which asks a filter of the keys first.

    Exact: the join decides about the rows that pass. Frames may be eager or lazy; the result is what `left` is. The
    filter is built now, of the keys in `right`, unless one is given, which must have all of them.
    """
    mine, theirs = left_on or on, right_on or on
    if mine is None or theirs is None:
        raise ValueError("which columns? give on, or left_on and right_on")
    keys = right.lazy().select(theirs)
    kinds = left.lazy().collect_schema()[mine], keys.collect_schema()[theirs]
    if not _alike(*kinds):
        raise TypeError(f"{mine} is {kinds[0]}, but {theirs} is {kinds[1]}: cast one of them")
    if filter is None:
        column = keys.collect().to_series()
        keys, filter = column.to_frame().lazy(), column.nidus.build(fpr)
    passed = left.lazy().filter(pl.col(mine).nidus.contains(filter))
    joined = passed.join(keys, left_on=mine, right_on=theirs, how="semi")
    return joined.collect() if isinstance(left, pl.DataFrame) else joined
