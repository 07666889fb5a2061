# SPDX-License-Identifier: MIT
"""Filters in DuckDB: functions of SQL that ask them, a batch of rows at a time, by Arrow.

    import duckdb, nidus, nidus.duckdb

    con = duckdb.connect("shop.db")
    filters = nidus.duckdb.register(con)
    filters["wanted"] = nidus.duckdb.build(con.sql("SELECT id FROM customers"), fpr=0.001)
    con.sql("SELECT * FROM orders WHERE nidus_contains('wanted', customer)")

A NULL key gives NULL. Keys are what they are in Python:

    TINYINT to BIGINT, UTINYINT to UBIGINT, BOOLEAN    the integer
    VARCHAR, ENUM                                      the text
    BLOB                                               the bytes
    UUID                                               its text, as str(uuid.UUID(...)) writes it
    DATE, TIME, TIMESTAMP and their variants           the integer that they are kept as: days, or their unit

Any other type is an error: cast it.
"""

from typing import Any, Callable, Dict, MutableMapping, Optional, Tuple

from ._base import Error
from ._nidus import Filter
from ._nidus import build as _build
from ._tables import need, refuse

need("duckdb", "nidus.duckdb")
pyarrow: Any = need("pyarrow", "nidus.duckdb")
compute: Any = need("pyarrow.compute", "nidus.duckdb")

_Filters = MutableMapping[str, Filter]
_Call = Callable[[Filter, Any], Any]


def _contains(filter: Filter, keys: Any) -> Any:
    return pyarrow.array(filter.contains_many(keys))


def _add_new(filter: Filter, keys: Any) -> Any:
    return pyarrow.array(filter.add_new_many(keys))


def _find(filter: Filter, keys: Any) -> Any:
    values, found = filter.find_many(keys)
    return pyarrow.array(values, mask=found == 0)


def _get_count(filter: Filter, keys: Any) -> Any:
    return pyarrow.array(filter.counts(keys))


_TYPES = {"BOOLEAN": pyarrow.bool_(), "UBIGINT": pyarrow.uint64()}

#: The functions of SQL: what each does with a batch, what it returns, and whether it changes the filter.
FUNCTIONS: Dict[str, Tuple[_Call, str, bool]] = {
    "nidus_contains": (_contains, "BOOLEAN", False),
    "nidus_add_new": (_add_new, "BOOLEAN", True),
    "nidus_find": (_find, "UBIGINT", False),
    "nidus_get_count": (_get_count, "UBIGINT", False),
}


def register(con: Any, filters: Optional[_Filters] = None) -> _Filters:
    """Makes the functions, for all connections to the database of `con`, and returns the filters by name.

    nidus_contains(name, key)    whether the key is in the filter
    nidus_add_new(name, key)     puts the key in unless the filter says yes already; whether it was
    nidus_find(name, key)        the value of an entry that looks like the key, or NULL
    nidus_get_count(name, key)   the count of the key

    Names are looked up when a query runs: `filters["wanted"] = filter` adds a filter, `del filters["wanted"]` takes it
    away. After a second call on the same connection the functions ask the filters of that one.
    """
    named: _Filters = {} if filters is None else filters
    for name, (call, kind, changes) in FUNCTIONS.items():
        _make(con, name, _of_names_and_keys(named, call, _TYPES[kind]), kind, changes)
    return named


def create_function(con: Any, name: str, filter: Filter, function: str = "nidus_contains") -> None:
    """Makes one function of one argument, the key, for one filter: `WHERE wanted(customer)`.

    It saves what the name of the filter costs in each row. `function` is one of those that register makes.
    """
    if function not in FUNCTIONS:
        raise ValueError(f"there is no function {function}: take one of {', '.join(FUNCTIONS)}")
    call, kind, changes = FUNCTIONS[function]
    _make(con, name, _of_keys(filter, call, _TYPES[kind]), kind, changes)


def build(relation: Any, fpr: float = 2**-8, **options: Any) -> Filter:
    """A filter of a relation of one column, con.sql("SELECT id FROM customers"); NULLs are left out.

    The options are those of nidus.build.
    """
    table = pyarrow.table(relation)
    if table.num_columns != 1:
        raise ValueError(f"keys are one column, not {table.num_columns}: SELECT the one that has them")
    column = table.column(0)
    return _build(_keys(column.drop_null() if column.null_count else column), fpr, **options)


def _make(con: Any, name: str, function: Callable[..., Any], kind: str, changes: bool) -> None:
    """DuckDB cannot replace a function, and to remove one that is not there is an error."""
    try:
        con.remove_function(name)
    except Exception:  # pylint: disable=broad-except
        pass
    con.create_function(name, function, None, kind, type="arrow", null_handling="special", side_effects=changes)


def _keys(column: Any) -> Any:
    """A column of DuckDB as one that a filter reads: itself, unless its items are coded."""
    kind, types = column.type, pyarrow.types
    if types.is_dictionary(kind):  # an ENUM
        return column.cast(kind.value_type)
    # After SET arrow_lossless_conversion; otherwise they come as text and as what Arrow itself calls booleans.
    coded = getattr(kind, "extension_name", "")
    if coded == "arrow.uuid":
        return pyarrow.array(map(str, column.to_pylist()), pyarrow.string())
    if coded == "arrow.bool8":
        return pyarrow.chunked_array([chunk.storage for chunk in column.chunks], pyarrow.int8())
    if types.is_integer(kind) or types.is_boolean(kind) or (types.is_temporal(kind) and not types.is_interval(kind)):
        return column
    if any(check(kind) for check in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)):
        return column
    if kind in (pyarrow.string_view(), pyarrow.binary_view()):
        return column
    raise refuse(kind)


def _of_keys(filter: Filter, call: _Call, kind: Any) -> Callable[[Any], Any]:
    def ask(keys: Any) -> Any:
        if keys.null_count == 0:
            return call(filter, _keys(keys))
        chosen = compute.is_valid(keys)
        return _answer_some(filter, call, keys, chosen, pyarrow.nulls(len(keys), kind))

    return ask


def _of_names_and_keys(filters: _Filters, call: _Call, kind: Any) -> Callable[[Any, Any], Any]:
    """In most batches all names are the same, and no key is NULL."""

    def ask(names: Any, keys: Any) -> Any:
        different = compute.unique(names).to_pylist()
        if len(different) == 1 and different[0] is not None and keys.null_count == 0:
            return call(_named(filters, different[0]), _keys(keys))
        answers = pyarrow.nulls(len(keys), kind)
        for name in different:
            if name is not None:
                chosen = compute.and_(compute.fill_null(compute.equal(names, name), False), compute.is_valid(keys))
                answers = _answer_some(_named(filters, name), call, keys, chosen, answers)
        return answers

    return ask


def _answer_some(filter: Filter, call: _Call, keys: Any, chosen: Any, answers: Any) -> Any:
    """The answers, with those for the keys that are chosen written in."""
    some = keys.filter(chosen)
    return compute.replace_with_mask(answers, chosen.combine_chunks(), call(filter, _keys(some))) if len(some) else answers


def _named(filters: _Filters, name: str) -> Filter:
    try:
        return filters[name]
    except KeyError:
        raise Error(f"there is no filter {name!r} among those that nidus.duckdb.register returned") from None
