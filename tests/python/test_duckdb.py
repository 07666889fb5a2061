# SPDX-License-Identifier: MIT
"""nidus.duckdb in DuckDB itself; tests/python/with-packages brings it."""

import datetime
import random
import uuid

import duckdb
import pytest

import nidus
import nidus.duckdb
from test_docs import blocks_of, run

U = uuid.UUID("550e8400-e29b-41d4-a716-446655440000")
EPOCH = datetime.date(1970, 1, 1)

# A type, items of it in SQL, and the same keys in Python.
KINDS = [
    ("TINYINT", ["-3", "5"], [-3, 5]),
    ("SMALLINT", ["-3", "500"], [-3, 500]),
    ("INTEGER", ["-3", "70000"], [-3, 70000]),
    ("BIGINT", ["-3", "9223372036854775807"], [-3, 2**63 - 1]),
    ("UTINYINT", ["200"], [200]),
    ("UBIGINT", ["18446744073709551615"], [2**64 - 1]),
    ("BOOLEAN", ["true"], [1]),
    ("VARCHAR", ["''", "'heron'", "'Reiher ä'", "'a text that is longer than twelve bytes'"], ["", "heron", "Reiher ä", "a text that is longer than twelve bytes"]),
    ("BLOB", ["'\\x00\\xFFx'", "''"], [b"\0\xffx", b""]),
    ("UUID", [f"'{U}'"], [str(U)]),
    ("ENUM('heron', 'crane')", ["'crane'"], ["crane"]),
    ("DATE", ["'2026-11-17'"], [(datetime.date(2026, 11, 17) - EPOCH).days]),
    ("TIMESTAMP", ["'1970-01-02'"], [86400 * 10**6]),
    ("TIMESTAMP_S", ["'1970-01-02'"], [86400]),
    ("TIMESTAMPTZ", ["'1970-01-02 00:00:00+00'"], [86400 * 10**6]),
    ("TIME", ["'00:00:01'"], [10**6]),
]


@pytest.fixture
def con():
    with duckdb.connect() as connection:
        yield connection


def filter_of(keys, **options):
    return nidus.build(keys, fpr=2**-24, seed=1, **options)


@pytest.mark.parametrize("kind, items, keys", KINDS, ids=[kind[0] for kind in KINDS])
@pytest.mark.parametrize("settings", [[], ["arrow_lossless_conversion"], ["arrow_large_buffer_size", "produce_arrow_string_view"]])
def test_keys_are_what_they_are_in_python(con, kind, items, keys, settings):
    for setting in settings:
        con.execute(f"SET {setting} = true")
    con.execute(f"CREATE TABLE t (k {kind})")
    con.execute(f"INSERT INTO t VALUES {', '.join(f'({item})' for item in items)}, (NULL)")
    filters = nidus.duckdb.register(con)
    filters["f"] = filter_of(keys)
    asked = con.sql("SELECT nidus_contains('f', k) FROM t").fetchall()
    assert asked == [(True,)] * len(items) + [(None,)]
    assert nidus.duckdb.build(con.sql("SELECT k FROM t"), fpr=2**-24, seed=1) == filters["f"]


@pytest.mark.parametrize("item", ["1.5", "1.5::DOUBLE", "1::HUGEINT", "[1]", "{'a': 1}", "INTERVAL 1 DAY"])
def test_what_cannot_be_a_key_is_refused(con, item):
    nidus.duckdb.register(con)["f"] = filter_of([1])
    with pytest.raises(duckdb.Error, match="keys are integers, text, bytes, booleans or times, not"):
        con.sql(f"SELECT nidus_contains('f', {item})").fetchall()
    with pytest.raises(TypeError, match="cast them"):
        nidus.duckdb.build(con.sql(f"SELECT {item}"))


def test_null_gives_null_in_every_function(con):
    filters = nidus.duckdb.register(con)
    filters["f"] = filter_of([1, 2], values=[7, 8], value_bits=8)
    for name in nidus.duckdb.FUNCTIONS:
        assert con.sql(f"SELECT {name}('f', NULL), {name}(NULL, 1), {name}('f', NULL::BIGINT)").fetchall() == [(None, None, None)]
        nidus.duckdb.create_function(con, "one", filters["f"], name)
        assert con.sql("SELECT one(NULL), one(NULL::VARCHAR)").fetchall() == [(None, None)]
    rows = con.sql("SELECT i, nidus_contains('f', CASE WHEN i % 3 > 0 THEN i END) FROM range(10000) t(i) ORDER BY i").fetchall()
    assert all(answer == (None if i % 3 == 0 else i in (1, 2)) for i, answer in rows)


def test_values_and_counts(con):
    filters = nidus.duckdb.register(con)
    filters["v"] = filter_of([1, 2], values=[7, 8], value_bits=8)
    filters["c"] = nidus.Filter(100, fpr=2**-24, value_bits=8)
    filters["c"].add_counts([1, 1, 3])
    rows = con.sql("SELECT nidus_find('v', i), nidus_get_count('c', i) FROM range(5) t(i) ORDER BY i").fetchall()
    assert rows == [(None, 0), (7, 2), (8, 0), (None, 1), (None, 0)]


def test_one_query_may_ask_several_filters(con):
    filters = nidus.duckdb.register(con)
    filters["even"], filters["odd"] = filter_of(range(0, 6000, 2)), filter_of(range(1, 6000, 2))
    rows = con.sql("SELECT i, nidus_contains(CASE i % 3 WHEN 0 THEN 'even' WHEN 1 THEN 'odd' END, CASE WHEN i % 5 > 0 THEN i END) FROM range(6000) t(i)").fetchall()
    for i, answer in rows:
        assert answer == (None if i % 3 == 2 or i % 5 == 0 else (i % 2 == 0) == (i % 3 == 0))


def test_each_key_is_new_once_whatever_the_threads(con):
    con.execute("SET threads = 4")
    filters = nidus.duckdb.register(con)
    filters["seen"] = nidus.Filter(10**5, fpr=2**-24, seed=1)
    con.execute("CREATE TABLE t AS SELECT i % 70000 AS k FROM range(300000) t(i)")
    assert con.sql("SELECT count(*), count(DISTINCT k) FROM t WHERE nidus_add_new('seen', k)").fetchall() == [(70000, 70000)]
    assert len(filters["seen"]) == 70000
    assert con.sql("SELECT count(*) FROM t WHERE nidus_add_new('seen', k)").fetchall() == [(0,)]


def test_filters_come_and_go_by_name(con):
    filters = nidus.duckdb.register(con)
    with pytest.raises(duckdb.Error, match="there is no filter 'wanted'"):
        con.sql("SELECT nidus_contains('wanted', 1)").fetchall()
    filters["wanted"] = filter_of([1])
    assert con.cursor().sql("SELECT nidus_contains('wanted', 1)").fetchall() == [(True,)]
    del filters["wanted"]
    with pytest.raises(duckdb.Error, match="there is no filter 'wanted'"):
        con.sql("SELECT nidus_contains('wanted', 1)").fetchall()
    mine = {"wanted": filter_of([2])}
    assert nidus.duckdb.register(con, mine) is mine
    assert con.sql("SELECT nidus_contains('wanted', 1), nidus_contains('wanted', 2)").fetchall() == [(False, True)]


def test_a_function_for_one_filter(con):
    nidus.duckdb.create_function(con, "wanted", filter_of(range(100)))
    assert con.sql("SELECT count(*) FROM range(5000) t(i) WHERE wanted(i)").fetchall() == [(100,)]
    nidus.duckdb.create_function(con, "wanted", filter_of(range(50)))
    assert con.sql("SELECT count(*) FROM range(5000) t(i) WHERE wanted(i)").fetchall() == [(50,)]
    with pytest.raises(ValueError, match="there is no function nidus_guess"):
        nidus.duckdb.create_function(con, "wanted", filter_of([1]), "nidus_guess")


def test_a_filter_that_was_closed_is_an_error_of_the_query(con):
    filters = nidus.duckdb.register(con)
    filters["f"] = filter_of([1])
    filters["f"].close()
    with pytest.raises(duckdb.Error, match="closed"):
        con.sql("SELECT nidus_contains('f', 1)").fetchall()


def test_a_relation_of_several_columns_is_refused(con):
    with pytest.raises(ValueError, match="keys are one column, not 2"):
        nidus.duckdb.build(con.sql("SELECT 1, 2"))


def test_a_join_behind_a_filter_is_the_same_join(con, rng):
    wanted = rng.sample(range(10**6), 3000)
    con.execute("CREATE TABLE customers AS SELECT unnest($1)::BIGINT AS id", [wanted])
    con.execute("CREATE TABLE orders AS SELECT (i * 7919) % 1000000 AS customer, i AS price FROM range(300000) t(i)")
    filters = nidus.duckdb.register(con)
    filters["wanted"] = nidus.duckdb.build(con.sql("SELECT id FROM customers"), fpr=0.01)
    plain = con.execute("SELECT count(*), sum(price) FROM orders SEMI JOIN customers ON customer = id").fetchall()[0]
    asked = con.sql("SELECT count(*), sum(price) FROM (SELECT * FROM orders WHERE nidus_contains('wanted', customer)) SEMI JOIN customers ON customer = id")
    assert asked.fetchall() == [plain] and plain[0] > 0
    passed = con.execute("SELECT count(*) FROM orders WHERE nidus_contains('wanted', customer)").fetchall()[0][0]
    assert plain[0] <= passed < plain[0] + 0.015 * 300000


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_page_does_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = blocks_of(page, "python duckdb")
    assert blocks
    for block in blocks:
        run(block, names)
