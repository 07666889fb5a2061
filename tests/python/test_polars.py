# SPDX-License-Identifier: MIT
"""nidus.polars in Polars itself; tests/python/with-packages brings it."""

import datetime

import polars as pl
import pyarrow
import pytest

import nidus
import nidus.polars
from test_docs import blocks_of, run

DAY = datetime.date(1970, 1, 2)

# A Series, and the same keys in Python.
KINDS = [
    *[(pl.Series([1, 100], dtype=kind), [1, 100]) for kind in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)],
    (pl.Series([-3, 2**62]), [-3, 2**62]),
    (pl.Series([2**64 - 1], dtype=pl.UInt64), [2**64 - 1]),
    (pl.Series([True, False]), [1, 0]),
    (pl.Series(["", "heron", "Reiher ä", "a text that is longer than twelve bytes"]), ["", "heron", "Reiher ä", "a text that is longer than twelve bytes"]),
    (pl.Series(["heron", "crane"], dtype=pl.Categorical), ["heron", "crane"]),
    (pl.Series(["heron"], dtype=pl.Enum(["crane", "heron"])), ["heron"]),
    (pl.Series([b"\0\xff", b""]), [b"\0\xff", b""]),
    (pl.Series([DAY]), [1]),
    (pl.Series([datetime.datetime(1970, 1, 2)], dtype=pl.Datetime("ms")), [86400 * 10**3]),
    (pl.Series([datetime.timedelta(days=1)], dtype=pl.Duration("us")), [86400 * 10**6]),
    (pl.Series([datetime.time(0, 0, 1)]), [10**9]),
]


def filter_of(keys, **options):
    return nidus.build(keys, fpr=2**-24, seed=1, **options)


@pytest.mark.parametrize("series, keys", KINDS, ids=[str(kind[0].dtype) for kind in KINDS])
def test_keys_are_what_they_are_in_python(series, keys):
    filter = filter_of(keys)
    with_null = pl.concat([series, pl.Series([None], dtype=series.dtype)], rechunk=False).alias("k")
    for column, more in ((series.alias("k"), []), (with_null, [None])):
        expected = [True] * len(keys) + more
        assert column.nidus.build(fpr=2**-24, seed=1) == filter
        assert column.nidus.contains(filter).to_list() == expected
        frame = pl.DataFrame(column)
        assert frame.select(pl.col("k").nidus.contains(filter))["k"].to_list() == expected
        assert frame.lazy().select(pl.col("k").nidus.contains(filter)).collect(engine="streaming")["k"].to_list() == expected


@pytest.mark.parametrize("series", [pl.Series([1.5]), pl.Series([[1]]), pl.Series([{"a": 1}]), pl.Series([1], dtype=pl.Int128), pl.Series([1], dtype=pl.Decimal(9, 2)), pl.Series([None])])
def test_what_cannot_be_keys_is_refused(series):
    with pytest.raises(TypeError, match="keys are integers, text, bytes, booleans or times, not"):
        series.nidus.build()
    with pytest.raises(Exception, match="keys are integers, text, bytes, booleans or times, not"):
        pl.DataFrame({"k": series}).select(pl.col("k").cast(series.dtype).nidus.contains(filter_of([1]))).item()


def address_of(series):
    return [chunk.buffers()[1].address for chunk in pyarrow.chunked_array(series).chunks]


def test_a_column_is_read_where_it_is():
    class Spy(nidus.Filter):
        def contains_many(self, keys):
            self.seen = address_of(keys)
            return super().contains_many(keys)

    spy = Spy(10)
    frame = pl.DataFrame({"k": range(1000)})
    frame.select(pl.col("k").nidus.contains(spy))
    assert spy.seen == address_of(frame["k"])


def test_values_and_counts():
    values = filter_of([1, 2], values=[7, 8], value_bits=8)
    counts = nidus.Filter(100, fpr=2**-24, value_bits=8)
    counts.add_counts([1, 1, 3])
    frame = pl.DataFrame({"k": [1, None, 3]})
    shown = frame.select(pl.col("k").nidus.find(values).alias("find"), pl.col("k").nidus.get_count(counts).alias("count"))
    assert shown.rows() == [(7, 2), (None, None), (None, 1)]
    assert frame["k"].nidus.find(values).to_list() == [7, None, None]
    assert frame["k"].nidus.get_count(counts).to_list() == [2, None, 1]
    with_values = pl.Series([5, 6]).nidus.build(2**-24, values=pl.Series([1, 2]), value_bits=4)
    assert with_values.find(6) == [2]
    with pytest.raises(ValueError, match="keys with values have no nulls"):
        pl.Series([5, None]).nidus.build(values=[1, 2], value_bits=4)


def test_the_first_row_of_each_key():
    seen = nidus.Filter(1000, fpr=2**-24)
    frame = pl.DataFrame({"k": [3, 1, 3, None, 2, 1]})
    assert frame.filter(frame["k"].nidus.add_new(seen))["k"].to_list() == [3, 1, 2]
    assert len(seen) == 3 and not hasattr(pl.col("k").nidus, "add_new")


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_a_semi_join_is_the_join_of_polars(rng, lazy, given):
    orders = pl.DataFrame({"customer": [rng.choice([None, rng.randrange(10**5)]) for _ in range(20000)], "price": range(20000)})
    customers = pl.DataFrame({"id": [None] + rng.sample(range(10**5), 5000), "name": "x"})
    plain = orders.join(customers, left_on="customer", right_on="id", how="semi").sort("price")
    filter = customers["id"].nidus.build(0.01) if given else None
    left, right = (orders.lazy(), customers.lazy()) if lazy else (orders, customers)
    joined = nidus.polars.semi_join(left, right, left_on="customer", right_on="id", filter=filter)
    assert isinstance(joined, pl.LazyFrame) == lazy
    assert (joined.collect(engine="streaming") if lazy else joined).sort("price").equals(plain) and len(plain) > 100
    with_name = nidus.polars.semi_join(orders, customers.rename({"id": "customer"}), "customer")
    assert with_name.sort("price").equals(plain)


def test_a_semi_join_of_types_that_are_different_keys_is_refused():
    numbers, texts = pl.DataFrame({"k": [1]}), pl.DataFrame({"k": ["1"]})
    small, other = pl.DataFrame({"k": [1]}, schema={"k": pl.Int16}), pl.DataFrame({"k": [datetime.datetime(2026, 1, 1)]})
    with pytest.raises(TypeError, match="k is Int64, but k is String"):
        nidus.polars.semi_join(numbers, texts, "k")
    with pytest.raises(TypeError, match="cast one of them"):
        nidus.polars.semi_join(other, other.cast(pl.Datetime("ms")), "k")
    assert nidus.polars.semi_join(small, numbers, "k")["k"].to_list() == [1]
    with pytest.raises(ValueError, match="which columns"):
        nidus.polars.semi_join(numbers, numbers, left_on="k")


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_page_does_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = blocks_of(page, "python polars")
    assert blocks
    for block in blocks:
        run(block, names)
