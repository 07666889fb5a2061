#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The SQLite extension, loaded into Debian's sqlite3 through Python's own module.

usage: sqlite.py EXTENSION NIDUS_COMMAND
"""
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import claims
from claims import expect, refused

EXTENSION, COMMAND = sys.argv[1:3]
_seed = int(os.environ.get("NIDUS_TEST_SEED", "1"))


def connect():
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(os.path.splitext(EXTENSION)[0])
    db.enable_load_extension(False)
    return db


def one(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def numbers(db, table, begin, end):
    db.execute(f"CREATE TABLE {table}(k)")
    db.executemany(f"INSERT INTO {table} VALUES (?)", ((i,) for i in range(begin, end)))


def every_key_is_found_and_few_absent_ones():
    db = connect()
    numbers(db, "keys", 0, 20000)
    numbers(db, "absent", 20000, 120000)
    db.execute("CREATE TABLE f AS SELECT nidus_build(k, 0.01) AS filter FROM keys")
    expect(one(db, "SELECT count(*) FROM keys, f WHERE nidus_contains(filter, k)") == 20000)
    found = one(db, "SELECT count(*) FROM absent, f WHERE nidus_contains(filter, k)")
    expect(found < 100000 * 0.012, found)
    expect(one(db, "SELECT nidus_count(filter) FROM f") <= 20000)
    expect(one(db, "SELECT nidus_count(filter) FROM f") > 19990)


def integers_texts_and_blobs_are_different_keys():
    db = connect()
    filter = one(db, "SELECT nidus_build(v, 1e-6) FROM (SELECT 7 AS v UNION ALL SELECT 'seven'"
                     " UNION ALL SELECT x'0700')")
    for key, wanted in ((7, 1), ("seven", 1), (b"\x07\x00", 1), ("7", 0), (b"seven", 1), (8, 0),
                        (-7, 0), ("", 0)):
        expect(one(db, "SELECT nidus_contains(?, ?)", filter, key) == wanted, key)


def nulls_are_passed_over():
    db = connect()
    expect(one(db, "SELECT nidus_build(v) FROM (SELECT NULL AS v)") is None)
    expect(one(db, "SELECT nidus_build(1) WHERE 0") is None)
    filter = one(db, "SELECT nidus_build(v) FROM (SELECT NULL AS v UNION ALL SELECT 1)")
    expect(one(db, "SELECT nidus_count(?)", filter) == 1)
    expect(one(db, "SELECT nidus_contains(?, NULL)", filter) is None)
    expect(one(db, "SELECT nidus_contains(NULL, 1)") is None)
    expect(one(db, "SELECT nidus_merge(NULL)") is None)
    expect(one(db, "SELECT nidus_info(NULL)") is None)


def an_empty_text_is_a_key():
    db = connect()
    filter = one(db, "SELECT nidus_build('', 1e-6)")
    expect(one(db, "SELECT nidus_contains(?, '')", filter) == 1)
    expect(one(db, "SELECT nidus_contains(?, x'')", filter) == 1)
    expect(one(db, "SELECT nidus_contains(?, 'x')", filter) == 0)


def reals_that_are_whole_numbers_are_integers():
    db = connect()
    filter = one(db, "SELECT nidus_build(v, 1e-6) FROM (SELECT 7 AS v UNION ALL SELECT -3.0"
                     " UNION ALL SELECT 9007199254740993)")
    for key, wanted in ((7.0, 1), (-3, 1), (-3.0, 1), (8.0, 0), (9007199254740992.0, 0), (-0.0, 0)):
        expect(one(db, "SELECT nidus_contains(?, ?)", filter, key) == wanted, key)
    expect(one(db, "SELECT nidus_contains(nidus_build(0), ?)", -0.0) == 1)
    expect(one(db, "SELECT nidus_contains(nidus_build(-9223372036854775808), -9223372036854775808.0)"))


def adding_and_removing_give_new_blobs():
    db = connect()
    empty = one(db, "SELECT nidus_empty(0.0001)")
    expect(one(db, "SELECT nidus_count(?)", empty) == 0)
    added = one(db, "SELECT nidus_add(nidus_add(nidus_add(?, 5), 5), 'heron')", empty)
    expect(one(db, "SELECT nidus_count(?)", added) == 2)
    expect(one(db, "SELECT nidus_contains(?1, 5) AND nidus_contains(?1, 'heron')", added) == 1)
    removed = one(db, "SELECT nidus_remove(nidus_remove(?, 5), 'nobody')", added)
    expect(one(db, "SELECT nidus_contains(?, 5)", removed) == 0)
    expect(one(db, "SELECT nidus_contains(?, 'heron')", removed) == 1)
    expect(one(db, "SELECT nidus_add(?, NULL)", added) is None)
    expect(one(db, "SELECT nidus_remove(NULL, 5)") is None)
    for name in ("add", "remove"):
        refused("", one, db, f"SELECT nidus_{name}(x'00', 1)")
        refused("whole number", one, db, f"SELECT nidus_{name}(?, 0.5)", added)


def two_filters_merge_without_an_aggregate():
    db = connect()
    a = one(db, "SELECT nidus_build(v) FROM (SELECT 1 AS v UNION ALL SELECT 2)")
    b = one(db, "SELECT nidus_build(v) FROM (SELECT 2 AS v UNION ALL SELECT 3)")
    both = one(db, "SELECT nidus_merge(?, ?)", a, b)
    expect(one(db, "SELECT nidus_count(?)", both) == 3)
    expect([one(db, "SELECT nidus_contains(?, ?)", both, i) for i in (1, 2, 3)] == [1, 1, 1])
    expect(one(db, "SELECT nidus_merge(?, NULL)", a) is None)
    refused("fingerprints differ", one, db, "SELECT nidus_merge(?, nidus_build(1, 0.001))", a)
    refused("", one, db, "SELECT nidus_merge(?, x'00')", a)


def a_packed_filter_is_small_and_finds_its_keys():
    db = connect()
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
    filter = one(db, many + "SELECT nidus_build(i) FROM n")
    packed = one(db, "SELECT nidus_pack(?)", filter)
    expect(len(packed) < len(filter) / 3, (len(filter), len(packed)))
    expect(one(db, "SELECT nidus_count(?)", packed) == 5000)
    expect(one(db, many + "SELECT count(*) FROM n WHERE nidus_contains(?, i)", packed) == 5000)
    expect(one(db, "SELECT nidus_pack(NULL)") is None)
    refused("merge first", one, db, "SELECT nidus_merge(?, ?)", filter, packed)
    refused("", one, db, "SELECT nidus_pack(x'00')")


FRAMES = ("ROWS 9 PRECEDING", "ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING",
          "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
          "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
          "ROWS BETWEEN 3 FOLLOWING AND 9 FOLLOWING", "RANGE BETWEEN 4 PRECEDING AND 2 FOLLOWING",
          "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW")


def a_window_holds_the_keys_of_its_frame_and_no_others():
    db = connect()
    chance = random.Random(_seed)
    db.execute("CREATE TABLE t(i, k)")
    # Few different keys, so that most are in a frame several times, and NULLs.
    db.executemany("INSERT INTO t VALUES (?, ?)",
                   ((i, chance.choice([None, *range(40)])) for i in range(400)))
    for frame in FRAMES:
        rows = db.execute("SELECT nidus_build(k, 1e-7) OVER w, group_concat(k) OVER w FROM t"
                          f" WINDOW w AS (ORDER BY i {frame})").fetchall()
        expect(len(rows) == 400)
        for filter, keys in rows:
            keys = set(map(int, keys.split(","))) if keys else set()
            expect((filter is None) == (not keys), frame)
            for key in range(40) if filter else ():
                expect(one(db, "SELECT nidus_contains(?, ?)", filter, key) == (key in keys), frame)
    # Each partition begins anew.
    rows = db.execute("SELECT nidus_count(nidus_build(i, 1e-7) OVER (PARTITION BY i % 4 ORDER BY i"
                      " ROWS 9 PRECEDING)) FROM t").fetchall()
    expect(sorted(rows) == sorted([(min(n, 10),) for n in range(1, 101)] * 4), rows)


def a_window_of_filters_holds_those_of_its_frame():
    db = connect()
    numbers(db, "keys", 0, 3000)
    db.execute("CREATE TABLE days AS SELECT k / 100 AS day, nidus_build(k, 1e-7) AS filter"
               " FROM keys GROUP BY 1")
    db.execute("UPDATE days SET filter = NULL WHERE day = 7")
    for frame in FRAMES:
        rows = db.execute("SELECT nidus_merge(filter) OVER w, group_concat(iif(filter IS NULL, NULL,"
                          f" day)) OVER w FROM days WINDOW w AS (ORDER BY day {frame})").fetchall()
        expect(len(rows) == 30)
        for filter, days in rows:
            days = set(map(int, days.split(","))) if days else set()
            expect((filter is None) == (not days), frame)
            for day in range(30) if filter else ():
                found = one(db, "SELECT count(*) FROM keys WHERE k / 100 = ?2"
                                " AND nidus_contains(?1, k)", filter, day)
                expect(found == (100 if day in days else 0), (frame, day, found))


def a_frame_that_is_too_large_to_move_says_so():
    db = connect()
    db.execute("CREATE TABLE one AS SELECT nidus_empty() AS filter")
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
    refused("2^20 rows", one, db, many % 1050000 + "SELECT count(x) FROM (SELECT nidus_build(i % 9)"
            " OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS x FROM n)")
    refused("1024 filters", one, db, many % 1100 + "SELECT count(x) FROM (SELECT nidus_merge(filter)"
            " OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS x FROM n, one)")
    # Without a window any number will do.
    expect(one(db, many % 1050000 + "SELECT nidus_count(nidus_build(i, 1e-7)) FROM n") > 1049900)
    expect(one(db, many % 3000 + "SELECT nidus_count(nidus_merge(nidus_add(filter, i))) FROM n, one")
           > 2900)


def results_are_as_large_as_their_keys():
    db = connect()
    for keys in (300, 1000, 10000, 11000, 50000, 200000):
        many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) " % keys
        filter = one(db, many + "SELECT nidus_build(i) FROM n")
        # The hashes themselves are below 64 bits; a filter that may have 2^30 keys keeps 30 to 13 more
        # bits of each than one of this size.
        expect(8 * len(filter) < 64 * keys + 8 * 1024, len(filter))


def a_thousand_filters_merge_into_one():
    db = connect()
    numbers(db, "keys", 0, 100000)
    db.execute("CREATE TABLE parts AS SELECT nidus_build(k, 0.001) AS filter FROM keys"
               " GROUP BY k % 1000")
    whole = one(db, "SELECT nidus_merge(filter) FROM parts")
    expect(one(db, "SELECT count(*) FROM keys WHERE nidus_contains(?, k)", whole) == 100000)
    info = json.loads(one(db, "SELECT nidus_info(?)", whole))
    expect(info["fpr_target"] <= 0.001 * 1.0001, info)
    expect(99900 <= info["count"] <= 100000, info)
    at_once = json.loads(one(db, "SELECT nidus_info(nidus_build(k, 0.001)) FROM keys"))
    expect(info["bits_per_key"] <= 2.1 * at_once["bits_per_key"], (info, at_once))


def a_key_in_both_is_in_the_merge_once():
    db = connect()
    a = one(db, "SELECT nidus_build(v) FROM (SELECT 1 AS v UNION ALL SELECT 2)")
    whole = one(db, "SELECT nidus_merge(f) FROM (SELECT ?1 AS f UNION ALL SELECT ?1)", a)
    expect(one(db, "SELECT nidus_count(?)", whole) == 2)


def filters_that_do_not_fit_are_refused_with_the_reason():
    db = connect()
    a = one(db, "SELECT nidus_build(1, 0.01)")
    b = one(db, "SELECT nidus_build(1, 0.001)")
    c = one(db, "SELECT nidus_build(1, 0.01, 99)")
    merge = "SELECT nidus_merge(f) FROM (SELECT ? AS f UNION ALL SELECT ?)"
    refused("fingerprints differ", one, db, merge, a, b)
    refused("seeds differ", one, db, merge, a, c)


def senseless_arguments_are_refused():
    db = connect()
    for real in ("0.5", "1e300", "-1e300", "9e999", "9223372036854775808.0"):
        refused("whole number of 64 bits", one, db, f"SELECT nidus_build({real})")
    refused("between 0 and 1", one, db, "SELECT nidus_empty(0)")
    refused("seed", one, db, "SELECT nidus_empty(0.01, 'x')")
    refused("between 0 and 1", one, db, "SELECT nidus_build(1, 2)")
    refused("between 0 and 1", one, db, "SELECT nidus_build(1, 'x')")
    refused("2^-32", one, db, "SELECT nidus_build(1, 1e-12)")
    refused("seed", one, db, "SELECT nidus_build(1, 0.01, 0)")
    for value in (b"", b"x", b"\x89nidus" * 100, "text", 5):
        refused("", one, db, "SELECT nidus_contains(?, 1)", value)
        refused("", one, db, "SELECT nidus_merge(?)", value)
        refused("", one, db, "SELECT nidus_info(?)", value)
        refused("", one, db, "SELECT nidus_count(?)", value)


def damaged_blobs_are_refused_or_harmless():
    db = connect()
    numbers(db, "keys", 0, 500)
    whole = one(db, "SELECT nidus_build(k) FROM keys")
    merges = 0
    for at in range(0, len(whole), 11):
        bad = bytearray(whole)
        bad[at] ^= 0x41
        for sql in ("SELECT nidus_contains(?, 7)", "SELECT nidus_info(?)", "SELECT nidus_merge(?)"):
            try:
                one(db, sql, bytes(bad))
                merges += "merge" in sql
            except sqlite3.OperationalError:
                pass
    expect(merges == 0, merges)
    for size in range(0, len(whole), 37):
        refused("", one, db, "SELECT nidus_contains(?, 7)", whole[:size])


def a_filter_that_stays_the_same_is_asked_again_and_again():
    db = connect()
    numbers(db, "keys", 0, 1000)
    filter = one(db, "SELECT nidus_build(k, 0.0001) FROM keys WHERE k % 2 = 0")
    evens = one(db, "SELECT count(*) FROM keys WHERE nidus_contains(?, k)", filter)
    expect(500 <= evens <= 502, evens)
    # Two filters that alternate are never mixed up.
    other = one(db, "SELECT nidus_build(k, 0.0001) FROM keys WHERE k % 2 = 1")
    db.execute("CREATE TABLE both(side, filter)")
    db.executemany("INSERT INTO both VALUES (?, ?)", ((0, filter), (1, other)))
    wrong = one(db, "SELECT count(*) FROM keys, both WHERE k % 2 = side"
                    " AND NOT nidus_contains(filter, k)")
    expect(wrong == 0, wrong)


def the_command_reads_what_sql_wrote_and_the_other_way_round():
    db = connect()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "words.nidus")
        db.execute("CREATE TABLE words(w)")
        db.executemany("INSERT INTO words VALUES (?)", ((f"word{i}",) for i in range(1000)))
        with open(path, "wb") as file:
            file.write(one(db, "SELECT nidus_build(w, 0.001) FROM words"))
        lines = "".join(f"word{i}\n" for i in range(1000))
        got = subprocess.run([COMMAND, "query", "-c", path], input=lines, text=True,
                             capture_output=True, check=True).stdout
        expect(got.strip() == "1000", got)
        made = os.path.join(folder, "made.nidus")
        subprocess.run([COMMAND, "build", "-q", "-p", "0.001", "-o", made], input=lines, text=True,
                       check=True)
        with open(made, "rb") as file:
            blob = file.read()
        expect(one(db, "SELECT count(*) FROM words WHERE nidus_contains(?, w)", blob) == 1000)


def _shell(script, folder):
    shell = shutil.which("sqlite3")
    if shell is None:
        print("        (skipped: no sqlite3 shell here; Debian: sqlite3)")
        return None
    script = script.replace("build/nidus_sqlite", os.path.splitext(os.path.abspath(EXTENSION))[0])
    done = subprocess.run([shell, "-bail"], input=script, text=True, capture_output=True, cwd=folder)
    expect(done.returncode == 0 and done.stderr == "", done)
    return done.stdout


def the_session_of_the_manual_runs():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../../docs/sqlite.md")) as page:
        session = re.search(r"```sql\n(.*?)```", page.read(), re.S)[1]
    with tempfile.TemporaryDirectory() as folder:
        printed = _shell(session, folder)
        if printed is None:
            return
        lines = printed.split()
        expect(len(lines) == 3 and int(lines[1]) > 25000, lines)
        verified = subprocess.run([COMMAND, "verify", os.path.join(folder, "seen.nidus")])
        expect(verified.returncode == 0)


def the_examples_print_what_they_must():
    with tempfile.TemporaryDirectory() as folder:
        for name, script, wanted in claims.examples("sqlite"):
            printed = _shell(script, folder)
            expect(printed is None or printed.strip() == wanted, (name, printed))


claims.run(globals())
