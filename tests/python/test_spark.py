# SPDX-License-Identifier: MIT
"""nidus.spark in Spark itself, with workers that are processes of their own; tests/python/with-packages brings it."""

import datetime
import os
import shutil
import sys

import pytest

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession, functions as F, types as T  # noqa: E402

import nidus  # noqa: E402
import nidus.spark  # noqa: E402
from test_docs import blocks_of, run  # noqa: E402


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not here")
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("nidus")
    for name, value in {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "3", "spark.sql.warehouse.dir": str(folder),
        "spark.local.dir": str(folder), "spark.driver.memory": "1g", "spark.sql.session.timeZone": "UTC",
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def frame_of(spark, keys, kind, partitions=3):
    schema = T.StructType([T.StructField("k", kind)])
    return spark.createDataFrame([Row(k=key) for key in keys], schema).repartition(partitions)


# A type, keys in Spark, and the same in Python.
KINDS = [
    (T.ByteType(), [1, -100], [1, -100]),
    (T.ShortType(), [1, -3000], [1, -3000]),
    (T.IntegerType(), [1, -(2**31)], [1, -(2**31)]),
    (T.LongType(), [-3, 2**62 + 1], [-3, 2**62 + 1]),
    (T.BooleanType(), [True, False], [1, 0]),
    (T.StringType(), ["", "heron", "Reiher ä"], ["", "heron", "Reiher ä"]),
    (T.BinaryType(), [b"\0\xff", b""], [b"\0\xff", b""]),
    (T.DateType(), [datetime.date(1970, 1, 2), datetime.date(1969, 12, 31)], [1, -1]),
    (T.TimestampType(), [datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc)], [86400 * 10**6]),
]


@pytest.mark.parametrize("kind, keys, python", KINDS, ids=[kind[0].simpleString() for kind in KINDS])
def test_keys_are_what_they_are_in_python(spark, kind, keys, python):
    frame = frame_of(spark, keys + [None], kind)
    built = nidus.spark.build(frame, "k", 2**-20, seed=1)
    assert len(built) == len(keys) and all(key in built for key in python)
    filter = nidus.build(python[:1], fpr=2**-20, seed=1)
    rows = frame.withColumn("yes", nidus.spark.contains(frame, "k", filter)).collect()
    same = {bytes(row.k) if isinstance(row.k, bytearray) else row.k: row.yes for row in rows}
    first = rows[0].k if isinstance(kind, T.TimestampType) and rows[0].k else next((row.k for row in rows if row.yes), None)
    assert len(rows) == len(keys) + 1 and same[None] is None
    assert [yes for key, yes in same.items() if key is not None].count(True) == 1 and first is not None


@pytest.mark.parametrize("kind, key", [(T.DoubleType(), 1.5), (T.ArrayType(T.LongType()), [1]), (T.DecimalType(9, 2), None), (T.TimestampNTZType(), None)])
def test_what_cannot_be_keys_is_refused(spark, kind, key):
    frame = frame_of(spark, [key], kind)
    for call in (lambda: nidus.spark.build(frame, "k"), lambda: nidus.spark.contains(frame, "k", nidus.Filter(1))):
        with pytest.raises(TypeError, match="keys are integers, text, bytes, booleans or times, not"):
            call()


@pytest.mark.parametrize("partitions, branches, depth", [(1, 8, 2), (7, 2, 1), (20, 3, 2), (20, 2, 3)])
def test_partitions_and_trees_give_the_same_filter(spark, partitions, branches, depth):
    frame = spark.range(0, 60_000, 3, partitions).union(spark.range(0, 3000, 3, 2))
    filter = nidus.spark.build(frame, "id", 2**-12, capacity=20_000, seed=7, branches=branches, depth=depth)
    assert filter.contains_many(range(0, 60_000, 3)).all() and filter.info.seed == 7
    assert filter.contains_many(range(1, 60_000, 3)).sum() < 40  # 5 are expected
    whole = nidus.Filter(20_000, 2**-12, seed=7)
    whole.add_new_many(range(0, 60_000, 3))
    assert {(entry.home, entry.fingerprint) for entry in filter} == {(entry.home, entry.fingerprint) for entry in whole}
    with pytest.raises(nidus.UnsupportedError):
        filter.remove(3)


def test_the_rows_are_counted_where_no_capacity_is_given(spark):
    filter = nidus.spark.build(spark.range(10_000), "id", 0.001, family="windowed")
    assert 10_000 <= filter.info.capacity < 11_000 and 9_900 < len(filter) <= 10_000 and filter.info.family == "windowed"
    empty = nidus.spark.build(spark.range(0), "id")
    assert len(empty) == 0 and 1 not in empty


def test_builds_that_cannot_be_are_refused(spark):
    frame = spark.range(1000)
    with pytest.raises(ValueError, match="do not merge"):
        nidus.spark.build(frame, "id", family="ribbon")
    with pytest.raises(ValueError, match="at least 1"):
        nidus.spark.build(frame, "id", branches=0)
    with pytest.raises(nidus.RangeError):
        nidus.spark.build(frame, "id", fpr=1e-12)
    with pytest.raises(Exception, match="filter is full|FullError"):
        nidus.spark.build(frame, "id", capacity=10, stash=None)


def test_filters_are_broadcast_or_mapped(spark, tmp_path):
    filter = nidus.build(range(0, 10_000, 5), fpr=2**-20, seed=1)
    path = tmp_path / "five.nidus"
    filter.save(path)
    frame = spark.range(10_000)
    for source in (filter, spark.sparkContext.broadcast(filter.to_bytes()), path, str(path)):
        asked = nidus.spark.contains(frame, "id", source)
        assert frame.filter(asked).count() == 2000
        assert frame.filter(~asked).count() == 8000
    nidus.build(range(0, 10_000, 2), fpr=2**-20, seed=1).save(path)  # another file by that name is read anew
    assert frame.filter(nidus.spark.contains(frame, "id", path)).count() == 5000
    with pytest.raises(Exception, match="No such file"):
        frame.filter(nidus.spark.contains(frame, "id", tmp_path / "none")).count()
    with pytest.raises(TypeError, match="a filter, a broadcast of its bytes, or the path"):
        nidus.spark.contains(frame, "id", 7)


def test_many_filters_in_one_query(spark):
    frame = spark.range(100)
    parts = [nidus.spark.contains(frame, "id", nidus.build([i], fpr=2**-24)) for i in range(6)]
    any_of = parts[0]
    for part in parts[1:]:
        any_of = any_of | part
    assert sorted(row.id for row in frame.filter(any_of).collect()) == list(range(6))


@pytest.mark.parametrize("given", [False, True])
def test_a_semi_join_is_the_join_of_spark(spark, rng, given):
    keys = [rng.choice([None, rng.randrange(10**4)]) for _ in range(3000)]
    orders = frame_of(spark, keys, T.LongType()).withColumn("price", F.monotonically_increasing_id()).withColumnRenamed("k", "customer").cache()
    customers = frame_of(spark, [None] + rng.sample(range(10**4), 1000), T.IntegerType()).withColumnRenamed("k", "id")
    plain = orders.join(customers, orders.customer == customers.id, "left_semi")
    filter = nidus.spark.build(customers, "id", 0.01) if given else None
    joined = nidus.spark.semi_join(orders, customers, left_on="customer", right_on="id", filter=filter)
    assert sorted(row.price for row in joined.collect()) == sorted(row.price for row in plain.collect()) and plain.count() > 50
    assert joined.columns == ["customer", "price"]
    same = nidus.spark.semi_join(orders, orders, "customer")
    assert same.count() == len([key for key in keys if key is not None])


def test_a_semi_join_of_types_that_are_different_keys_is_refused(spark):
    numbers, texts = spark.range(5), frame_of(spark, ["1"], T.StringType()).withColumnRenamed("k", "id")
    with pytest.raises(TypeError, match="id is bigint, but id is string: cast one of them"):
        nidus.spark.semi_join(numbers, texts, "id")
    with pytest.raises(ValueError, match="which columns"):
        nidus.spark.semi_join(numbers, numbers, left_on="id")


def test_the_page_does_what_it_shows(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"spark": spark}
    blocks = blocks_of("docs/python.md", "python spark")
    assert blocks
    for block in blocks:
        run(block, names)
