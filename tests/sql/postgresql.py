#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PostgreSQL extension in a real server.

usage: postgresql.py EXTENSION_FOLDER NIDUS_COMMAND
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import claims
import postgres_server
from claims import expect, refused

FOLDER, COMMAND = sys.argv[1:3]
postgres_server.skip_without_server()
_server = postgres_server.Server(FOLDER)
_sql = _server.sql
_seed = int(os.environ.get("NIDUS_TEST_SEED", "1"))


def the_extension_is_created_dropped_and_created_again():
    _sql("CREATE EXTENSION nidus; DROP EXTENSION nidus; CREATE EXTENSION nidus;")
    expect(_sql("SELECT extversion FROM pg_extension WHERE extname = 'nidus'") == "0.2.0")
    _sql("CREATE TABLE keys AS SELECT g::bigint AS k FROM generate_series(0, 199999) g;"
         "ALTER TABLE keys SET (parallel_workers = 3); ANALYZE keys;")


def every_key_is_found_and_few_strangers():
    _sql("CREATE TABLE whole AS SELECT nidus_agg(k, 0.01) AS filter FROM keys")
    expect(_sql("SELECT count(*) FROM keys, whole WHERE nidus_contains(filter, k)") == "200000")
    found = int(_sql("SELECT count(*) FROM generate_series(1000000, 1199999) g, whole"
                     " WHERE filter @> g"))
    expect(found < 200000 * 0.0115, found)
    count = int(_sql("SELECT nidus_count(filter) FROM whole"))
    expect(199900 <= count <= 200000, count)


def both_operators_and_the_function_agree():
    answer = _sql("SELECT count(*) FROM generate_series(190000, 400000) g, whole"
                  " WHERE (filter @> g) <> nidus_contains(filter, g)"
                  " OR (g <@ filter) <> (filter @> g)")
    expect(answer == "0", answer)


def every_type_of_key_has_its_aggregate():
    answer = _sql("""
        SELECT nidus_agg(v) @> 'heron'::text, nidus_agg(v) @> 'nobody'::text,
               nidus_agg(v::bytea) @> 'crane'::bytea, nidus_agg(md5(v)::uuid) @> md5('crane')::uuid,
               nidus_agg(length(v)::bigint) @> 5, nidus_agg(length(v)::bigint, 1e-6) @> 6
          FROM (VALUES ('heron'), ('crane')) birds(v)""")
    expect(answer == "t|f|t|t|t|f", answer)
    expect(_sql("SELECT nidus_agg('a'::text, 1e-6) @> 'a'::bytea") == "t")


def nulls_are_passed_over_and_no_key_gives_null():
    expect(_sql("SELECT nidus_agg(v) IS NULL FROM (VALUES (NULL::bigint)) t(v)") == "t")
    expect(_sql("SELECT nidus_agg(k) IS NULL FROM keys WHERE k < 0") == "t")
    expect(_sql("SELECT nidus_count(nidus_agg(v)) FROM (VALUES (NULL::bigint), (1)) t(v)") == "1")
    expect(_sql("SELECT nidus_union_agg(NULL::nidus) IS NULL") == "t")
    expect(_sql("SELECT nidus_contains(NULL::nidus, 1) IS NULL") == "t")


def a_parallel_plan_gives_the_answers_of_a_serial_one():
    force = ("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
             "SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;")
    plan = _sql(force + "EXPLAIN (COSTS OFF) SELECT nidus_agg(k, 0.01) FROM keys")
    expect("Finalize Aggregate" in plan and "Partial Aggregate" in plan and "Gather" in plan, plan)
    _sql(force + "CREATE TABLE parallel AS SELECT nidus_agg(k, 0.01) AS filter FROM keys")
    ran = _sql(force + "EXPLAIN (ANALYZE, COSTS OFF) SELECT nidus_agg(k, 0.01) FROM keys")
    expect("Workers Launched: 3" in ran, ran)
    answer = _sql("SELECT nidus_count(parallel.filter) = nidus_count(whole.filter),"
                  " (SELECT count(*) FROM generate_series(-500000, 500000) g WHERE"
                  "  (parallel.filter @> g) <> (whole.filter @> g)) FROM parallel, whole")
    expect(answer == "t|0", answer)


def filters_of_one_database_unite():
    _sql("CREATE TABLE parts AS SELECT k % 1000 AS part, nidus_agg(k, 0.01) AS filter FROM keys"
         " GROUP BY 1")
    answer = _sql("SELECT nidus_count(u), (SELECT count(*) FROM keys WHERE u @> k),"
                  " (nidus_info(u) ->> 'fpr_target')::float <= 0.0100001"
                  " FROM (SELECT nidus_union_agg(filter) AS u FROM parts) t")
    count, found, kept = answer.split("|")
    expect(found == "200000" and kept == "t" and 199900 <= int(count) <= 200000, answer)
    expect(_sql("SELECT (a.filter | b.filter) @> 1 AND (a.filter | b.filter) @> 2"
                " FROM parts a, parts b WHERE a.part = 1 AND b.part = 2") == "t")
    expect(_sql("SELECT nidus_count(filter | filter) = nidus_count(filter) FROM whole") == "t")


def filters_with_other_rates_or_seeds_are_refused():
    refused("fingerprints differ", _sql, "SELECT nidus_agg(1, 0.01) | nidus_agg(1, 0.0001)")
    _sql("CREATE TABLE seeded AS SELECT nidus_agg(1) AS filter")
    refused("seeds differ", _sql, "SET nidus.seed = 99; SELECT nidus_empty() | filter FROM seeded")
    for seed in ("heron", "", "-1", " -1", "7 ", "18446744073709551616"):
        refused("whole number", _sql, f"LOAD 'nidus'; SET nidus.seed = '{seed}'")
    _sql("CREATE DATABASE other")
    _sql("CREATE EXTENSION nidus", "other")
    ours = _sql("SELECT nidus_info(nidus_agg(1)) ->> 'seed'")
    expect(_sql("SELECT nidus_info(nidus_agg(1)) ->> 'seed'", "other") != ours)
    expect(_sql("SET nidus.seed = 7; SELECT nidus_info(nidus_agg(1)) ->> 'seed'", "other") == "7")


def adding_and_removing_give_new_values():
    answer = _sql("SELECT nidus_add(f, 5) @> 5, f @> 5, nidus_remove(nidus_add(f, 5), 5) @> 5,"
                  " nidus_count(nidus_remove(f, 5)), nidus_count(nidus_add(nidus_add(f, 5), 5))"
                  " FROM nidus_empty(0.0001) f")
    expect(answer == "t|f|f|0|1", answer)
    expect(_sql("SELECT nidus_add(nidus_empty(), 'x'::text) @> 'x'::text") == "t")


def values_go_out_and_in_as_text_binary_and_bytea():
    expect(_sql("SELECT filter::text::nidus::bytea = filter::bytea FROM whole") == "t")
    expect(_sql("SELECT filter::bytea::nidus @> 17 FROM whole") == "t")
    _sql("CREATE TABLE copied (filter nidus)")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "whole")
        _sql(f"COPY (SELECT filter FROM whole) TO '{path}' (FORMAT binary);"
             f"COPY copied FROM '{path}' (FORMAT binary)")
    expect(_sql("SELECT copied.filter::bytea = whole.filter::bytea FROM copied, whole") == "t")


def hostile_values_give_an_error():
    for text in ("", "x", "\\x", "\\x00", "\\x" + "89" * 300):
        refused("ERROR", _sql, f"SELECT '{text}'::nidus")
    value = bytearray(bytes.fromhex(_sql("SELECT nidus_agg(k) FROM keys WHERE k < 300")[2:]))
    chance = random.Random(_seed)
    print("NIDUS_TEST_SEED=%d" % _seed)
    statements = []
    for _ in range(300):
        bad = bytearray(value)
        for _ in range(chance.choice((1, 1, 2, 8, 64))):
            bad[chance.randrange(len(bad))] ^= chance.randrange(1, 256)
        if chance.randrange(4) == 0:
            bad = bad[:chance.randrange(len(bad))]
        statements.append("SELECT refuses('\\x%s')" % bad.hex())
    _sql("CREATE FUNCTION refuses(bytes bytea) RETURNS void LANGUAGE plpgsql AS $$ BEGIN"
         "  PERFORM nidus_count(bytes::nidus); RAISE 'taken in: %', bytes;"
         "EXCEPTION WHEN invalid_binary_representation OR program_limit_exceeded THEN NULL;"
         "END $$")
    _sql(";\n".join(statements))
    expect(_sql("SELECT 1") == "1")


def damage_on_the_disk_is_harmless_to_lookups():
    value = bytearray(bytes.fromhex(_sql("SELECT filter::bytea FROM parts WHERE part = 3")[2:]))
    _sql("CREATE TABLE raw (b bytea); ALTER TABLE raw ALTER b SET STORAGE external")
    chance = random.Random(_seed + 1)
    for _ in range(40):
        bad = bytearray(value)
        for _ in range(16):
            bad[chance.randrange(256, len(bad))] ^= chance.randrange(1, 256)
        _sql("INSERT INTO raw VALUES ('\\x%s')" % bad.hex())
    # A column that a superuser relabels stands for a disk that changed the bits.
    _sql("UPDATE pg_attribute SET atttypid = 'nidus'::regtype"
         " WHERE attrelid = 'raw'::regclass AND attname = 'b'")
    for sql in ("SELECT count(*) FROM raw, generate_series(0, 5000) g WHERE b @> g::bigint",
                "SELECT sum(nidus_count(b)) FROM raw"):
        try:
            _sql(sql)
        except RuntimeError as error:
            expect("ERROR" in str(error), error)
    refused("checksum", _sql, "SELECT nidus_union_agg(b) FROM raw")
    expect(_sql("SELECT 1") == "1")


def senseless_rates_are_refused():
    for rate in ("0", "-1", "1", "2", "'NaN'"):
        refused("between 0 and 1", _sql, f"SELECT nidus_agg(1, {rate})")
    refused("2^-24", _sql, "SELECT nidus_agg(1, 1e-12)")


def a_lookup_sees_the_value_of_its_row():
    # The filter is kept between calls; rows that alternate must not be mixed up.
    wrong = _sql("SELECT count(*) FROM parts, LATERAL generate_series(part, 199999, 1000) g"
                 " WHERE NOT filter @> g")
    expect(wrong == "0", wrong)
    _sql("CREATE TABLE large AS SELECT k % 2 AS side, nidus_agg(k, 0.0001) AS filter FROM keys"
         " GROUP BY 1")
    wrong = _sql("SELECT count(*) FROM keys, large WHERE k % 2 = side AND NOT filter @> k")
    expect(wrong == "0", wrong)
    _sql("UPDATE large SET filter = nidus_add(filter, 777777)")
    expect(_sql("SELECT count(*) FROM large WHERE filter @> 777777") == "2")


def a_prefilter_keeps_every_row_of_a_join():
    answer = _sql("WITH small AS MATERIALIZED (SELECT g * 37 AS k FROM generate_series(1, 1000) g)"
                  " SELECT count(*) = (SELECT count(*) FROM keys JOIN small USING (k))"
                  "  FROM keys JOIN small USING (k)"
                  " WHERE (SELECT nidus_agg(k::bigint) FROM small) @> keys.k")
    expect(answer == "t", answer)


def the_command_reads_what_sql_wrote():
    value = bytes.fromhex(_sql("SELECT nidus_agg('word' || g, 0.001)"
                               " FROM generate_series(1, 1000) g")[2:])
    with tempfile.NamedTemporaryFile(suffix=".nidus") as file:
        file.write(value)
        file.flush()
        lines = "".join(f"word{i}\n" for i in range(1, 1001))
        got = subprocess.run([COMMAND, "query", "-c", file.name], input=lines, text=True,
                             capture_output=True, check=True).stdout
        expect(got.strip() == "1000", got)


def the_session_of_the_manual_runs():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../../docs/postgresql.md")) as page:
        session = re.search(r"```sql\n(.*?)```", page.read(), re.S)[1]
    _sql("CREATE DATABASE manual")
    lines = _sql(session, "manual").split("\n")
    expect(int(lines[-1]) > 70000, lines)


def info_is_json_that_tells_what_it_is():
    info = json.loads(_sql("SELECT nidus_info(filter) FROM whole"))
    expect(info["family"] == "bucketed" and info["fpr_target"] == 0.01, info)


def nothing_was_logged_as_a_crash():
    expect("was terminated by signal" not in _server.log(), _server.log())
    expect("PANIC" not in _server.log())


try:
    claims.run(globals())
finally:
    _server.stop()
