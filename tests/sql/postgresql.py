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


def every_key_is_found_and_few_absent_ones():
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
    refused("the same rate, the same capacity", _sql, "SELECT nidus_agg(1, 0.01, 9) | nidus_agg(1)")
    _sql("CREATE TABLE seeded AS SELECT nidus_agg(1) AS filter")
    refused("seeds differ", _sql, "SET nidus.seed = 99; SELECT nidus_empty() | filter FROM seeded")
    for seed in ("heron", "", "-1", " -1", "7 ", "18446744073709551616"):
        refused("whole number", _sql, f"LOAD 'nidus'; SET nidus.seed = '{seed}'")
    expect(_sql("SET nidus.seed = 7; SELECT nidus_info(nidus_agg(1)) ->> 'seed'") == "7")


def _dump(database, *options):
    done = _server.run("pg_dump", "-h", _server.socket, "-U", "nidus", *options, database)
    expect(done.returncode == 0, done.stderr)
    return done.stdout


def filters_unite_after_dump_and_restore_and_from_a_template():
    _sql("CREATE DATABASE origin")
    _sql("CREATE EXTENSION nidus; CREATE TABLE old AS SELECT nidus_agg(g) AS filter"
         " FROM generate_series(1, 3000) g; CREATE TABLE none (f nidus)", "origin")
    _sql("CREATE DATABASE copied TEMPLATE origin; CREATE DATABASE restored")
    _sql(_dump("origin"), "restored")
    for database in ("copied", "restored"):
        answer = _sql("SELECT nidus_count(nidus_agg(g) | (SELECT filter FROM old))"
                      " FROM generate_series(2001, 5000) g", database)
        expect(4950 <= int(answer) <= 5000, (database, answer))
    expect(_sql("SELECT filter FROM old", "restored") == _sql("SELECT filter FROM old", "origin"))


def adding_and_removing_give_new_values():
    answer = _sql("SELECT nidus_add(f, 5) @> 5, f @> 5, nidus_remove(nidus_add(f, 5), 5) @> 5,"
                  " nidus_count(nidus_remove(f, 5)), nidus_count(nidus_add(nidus_add(f, 5), 5))"
                  " FROM nidus_empty(0.0001) f")
    expect(answer == "t|f|f|0|1", answer)
    expect(_sql("SELECT nidus_add(nidus_empty(), 'x'::text) @> 'x'::text") == "t")


def a_packed_value_is_small_and_finds_its_keys():
    answer = _sql("SELECT octet_length(p::bytea) * 3 < octet_length(f::bytea), nidus_count(p),"
                  " (SELECT count(*) FROM generate_series(1, 5000) k WHERE p @> k) FROM"
                  " (SELECT f, nidus_pack(f) AS p FROM (SELECT nidus_agg(g) AS f FROM generate_series(1, 5000) g) t) u")
    expect(answer == "t|5000|5000", answer)
    refused("merge first", _sql, "SELECT f | nidus_pack(f) FROM (SELECT nidus_agg(g) AS f FROM generate_series(1, 9) g) t")


def values_go_out_and_in_as_text_binary_and_bytea():
    expect(_sql("SELECT filter::text::nidus::bytea = filter::bytea FROM whole") == "t")
    expect(_sql("SELECT nidus(filter::bytea, 'bigint') @> 17 FROM whole") == "t")
    expect(_sql("SELECT filter::text LIKE 'bigint:%' FROM whole") == "t")
    _sql("CREATE TABLE copied (filter nidus)")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "whole")
        _sql(f"COPY (SELECT filter FROM whole) TO '{path}' (FORMAT binary);"
             f"COPY copied FROM '{path}' (FORMAT binary)")
    expect(_sql("SELECT copied.filter::bytea = whole.filter::bytea FROM copied, whole") == "t")


def hostile_values_give_an_error():
    for text in ("", "x", "\\x", "\\x00", "\\x" + "89" * 300, ":", "bigint", "bigint:", "bigint:\\x",
                 "bigint:\\x8", "bigint:\\xgg", "heron:\\x00", "bigint:\\x" + "89" * 300):
        refused("ERROR", _sql, f"SELECT '{text}'::nidus")
    value = bytearray(bytes.fromhex(_sql("SELECT nidus_agg(k)::bytea FROM keys WHERE k < 300")[2:]))
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
         "  PERFORM nidus_count(nidus(bytes, 'bigint')); RAISE 'taken in: %', bytes;"
         "EXCEPTION WHEN invalid_binary_representation OR program_limit_exceeded THEN NULL;"
         "END $$")
    _sql(";\n".join(statements))
    expect(_sql("SELECT 1") == "1")


def input_errors_are_soft_where_the_server_has_them():
    if int(_sql("SHOW server_version_num")) < 160000:
        print("        (skipped: pg_input_is_valid came with PostgreSQL 16)")
        return
    for text in ("", "heron", "heron:\\x00", "bigint:\\x0", "bigint:\\xzz", "bigint:\\x" + "89" * 300):
        expect(_sql(f"SELECT pg_input_is_valid('{text}', 'nidus')") == "f", text)
    expect(_sql("SELECT pg_input_is_valid(nidus_agg(1)::text, 'nidus')") == "t")
    expect("too short" in _sql("SELECT message FROM pg_input_error_info('bigint:\\x00', 'nidus')"))


def damage_on_the_disk_is_harmless_to_lookups():
    value = bytearray(bytes.fromhex(_sql("SELECT filter::bytea FROM parts WHERE part = 3")[2:]))
    _sql("CREATE TABLE raw (b bytea); ALTER TABLE raw ALTER b SET STORAGE external")
    chance = random.Random(_seed + 1)
    for _ in range(40):
        bad = bytearray(value)
        for _ in range(16):
            bad[chance.randrange(256, len(bad))] ^= chance.randrange(1, 256)
        _sql("INSERT INTO raw VALUES ('\\x4e010100%s')" % bad.hex())
    # A column that a superuser relabels stands for a disk that changed the bits.
    _sql("UPDATE pg_attribute SET atttypid = 'nidus'::regtype"
         " WHERE attrelid = 'raw'::regclass AND attname = 'b'")
    for sql in ("SELECT count(*) FROM raw, generate_series(0, 5000) g WHERE b @> g::bigint",
                "SELECT sum(nidus_count(b)) FROM raw", "SELECT sum(nidus_hash(b)) FROM raw",
                "SELECT count(*) FROM raw a, raw b WHERE a.b = b.b AND a.ctid < b.ctid"):
        try:
            _sql(sql)
        except RuntimeError as error:
            expect("ERROR" in str(error), error)
    # Each of them is refused where its contents are handed on: by the directory of its segments, which
    # is looked at first, or by the checksum.
    told = _sql("CREATE FUNCTION complaint(bad nidus) RETURNS text LANGUAGE plpgsql AS $$ BEGIN"
                "  PERFORM nidus_union_agg(bad); RETURN 'none';"
                "EXCEPTION WHEN invalid_binary_representation THEN RETURN sqlerrm; END $$;"
                "SELECT complaint(b) FROM raw").splitlines()[-40:]
    expect(set(told) == {"nidus: the directory of segments makes no sense",
                         "nidus: the checksum of the table does not match"}, told)
    # So does one whose first bytes are wrong, or are all that there is.
    for raw in ("", "4e", "4e0101", "4e010100", "4e02010089", "4e01ff00" + value.hex(),
                  "4e010101" + value.hex(), "00" * 300):
        _sql("CREATE TABLE odd (b bytea); ALTER TABLE odd ALTER b SET STORAGE external;"
             f"INSERT INTO odd VALUES ('\\x{raw}'); UPDATE pg_attribute SET atttypid ="
             " 'nidus'::regtype WHERE attrelid = 'odd'::regclass AND attname = 'b'")
        for call in ("b @> 1", "nidus_count(b)", "b::text", "b::bytea", "nidus_add(b, 1)", "b | b",
                     "nidus_info(b)", "nidus_hash(b)"):
            refused("no value of type nidus", _sql, f"SELECT {call} FROM odd")
        _sql("DROP TABLE odd")
    expect(_sql("SELECT 1") == "1")


def what_a_family_cannot_do_is_not_supported():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bloom.nidus")
        subprocess.run([COMMAND, "build", "-q", "-f", "bloom", "-o", path], input="heron\n",
                       text=True, check=True)
        with open(path, "rb") as file:
            bloom = "nidus('\\x%s', 'text')" % file.read().hex()
    expect(_sql(f"SELECT {bloom} @> 'heron', {bloom} = {bloom}, nidus_hash({bloom}) IS NULL") == "t|t|f")
    refused("0A000", _sql, f"\\set VERBOSITY verbose\nSELECT nidus_remove({bloom}, 'heron')")


def a_full_filter_says_what_to_do():
    refused("larger capacity", _sql, "SELECT nidus_agg(k, 0.01, 1000) FROM keys")
    for keys in (1, 2, 255, 256, 257, 1000, 4097):
        answer = _sql(f"SELECT bool_and(f @> k) FROM keys, (SELECT nidus_agg(k, 0.01, {keys}) AS f"
                      f" FROM keys WHERE k < {keys}) t WHERE k < {keys}")
        expect(answer == "t", keys)


def senseless_rates_are_refused():
    for rate in ("0", "-1", "1", "2", "'NaN'"):
        refused("between 0 and 1", _sql, f"SELECT nidus_agg(1, {rate})")
    refused("2^-32", _sql, "SELECT nidus_agg(1, 1e-12)")


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
    value = bytes.fromhex(_sql("SELECT nidus_agg('word' || g, 0.001)::bytea"
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


def the_examples_print_what_they_must():
    for name, script, wanted in claims.examples("postgresql"):
        printed = _sql(script)
        expect(printed == wanted, (name, printed))


def the_sizes_of_the_manual_are_true():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../../docs/postgresql.md")) as page:
        rows = re.findall(r"^" + r"\| ([0-9,]+) " * 7 + r"\|$", page.read(), re.M)
    expect(len(rows) == 5, rows)
    for row in rows:
        keys, *written = (int(number.replace(",", "")) for number in row)
        made = [value % rate for rate in ("0.01", "0.001")
                for value in ("nidus_agg(g, %s)", "nidus_pack(nidus_agg(g, %s))", f"nidus_agg(g, %s, {keys})")]
        sizes = []
        for value, wanted in zip(made, written):
            sizes.append(int(_sql(f"SELECT octet_length(({value})::bytea) FROM generate_series(1, {keys}) g")))
            expect(abs(sizes[-1] - wanted) <= wanted / 50, (keys, value, wanted, sizes))
        # Packed values are at most 1.3 times what nidus build makes, as those with a capacity are.
        expect(sizes[1] <= 1.3 * sizes[2] and sizes[4] <= 1.3 * sizes[5], sizes)


def info_is_json_that_tells_what_it_is():
    info = json.loads(_sql("SELECT nidus_info(filter) FROM whole"))
    expect(info["family"] == "bucketed" and info["fpr_target"] == 0.01, info)


def _bound(statement, *values):
    """Runs a statement with parameters that have no type, as most drivers send them."""
    return _sql("\n".join(["PREPARE asked AS " + statement, ";",
                           "EXECUTE asked (" + ", ".join(f"'{value}'" for value in values) + ")"]))


def parameters_without_a_type_find_the_keys_that_are_in():
    for key, type in (("550e8400-e29b-41d4-a716-446655440000", "uuid"), ("\\x6162", "bytea"),
                      ("42", "bigint"), ("42", "smallint"), ("heron", "text"), ("1.50", "numeric"),
                      ("2026-11-17", "date"), ("2026-11-17 20:00:00.25", "timestamp"),
                      ("2026-11-17 20:00:00+02", "timestamptz"), ("10.1.0.0/16", "inet"),
                      ("10.1.0.0/16", "cidr")):
        _sql(f"DROP TABLE IF EXISTS one; CREATE TABLE one AS SELECT nidus_agg('{key}'::{type})"
             " AS filter")
        for lookup in ("filter @> $1", "$1 <@ filter", "nidus_contains(filter, $1)"):
            expect(_bound(f"SELECT {lookup} FROM one", key) == "t", (key, type, lookup))
        expect(_sql(f"SELECT filter @> '{key}' FROM one") == "t", (key, type))
        expect(_sql(f"SELECT filter @> '{key}'::{type} FROM one") == "t", (key, type))
        expect(_bound("SELECT nidus_count(nidus_remove(filter, $1)) FROM one", key) == "0", type)
        expect(_bound("SELECT nidus_count(nidus_add(filter, $1)) FROM one", key) == "1", type)


def many_filters_in_turn_are_each_fetched_once():
    _sql("CREATE TABLE turns AS SELECT k % 7 AS turn, nidus_agg(k, 1e-6) AS filter FROM keys"
         " GROUP BY 1; ALTER TABLE keys SET (parallel_workers = 0)")
    expect(int(_sql("SELECT min(octet_length(filter::bytea)) FROM turns")) > 100000)
    # Sorted by the key, so that the filters come in turn.
    ask = ("SELECT count(*) FROM (SELECT k, filter FROM keys JOIN turns ON k % 7 = turn"
           " WHERE k < 7000 ORDER BY k OFFSET 0) t WHERE filter @> k")
    for memory in ("8MB", "64kB"):
        plan = json.loads(_sql(f"SET work_mem = '{memory}'; EXPLAIN (ANALYZE, BUFFERS, FORMAT json,"
                               f" TIMING off) {ask}"))[0]["Plan"]
        blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        whole = int(_sql("SELECT pg_table_size('turns') / 8192"))
        if memory == "8MB":
            expect(blocks < 4 * whole + 2000, (blocks, whole))
        else:
            expect(blocks > 100 * whole, (blocks, whole))
    expect(_sql(ask) == "7000")


def _rows_planned(condition, before=""):
    plan = json.loads(_sql(before + f"EXPLAIN (FORMAT json) SELECT FROM sold WHERE {condition}"))
    return plan[0]["Plan"]["Plan Rows"]


def the_planner_asks_the_filter_how_many_rows_pass():
    # A tenth of the rows have the keys 0 to 9, the others have 10,000 different ones; some have none.
    _sql("CREATE TABLE sold AS SELECT CASE WHEN g % 10 = 0 THEN g / 10 % 10 ELSE 10 + g % 10000 END"
         " AS k, 'item ' || g % 10000 AS item FROM generate_series(1, 100000) g;"
         "INSERT INTO sold SELECT NULL, NULL FROM generate_series(1, 100000); ANALYZE sold;"
         "ALTER TABLE sold SET (parallel_workers = 0)")
    of = {name: "'" + _sql(f"SELECT nidus_agg({key}, 0.0001) FROM {rows}") + "'::nidus"
          for name, key, rows in (
              ("common", "g", "generate_series(0, 9) g"), ("all", "k", "sold"),
              ("absent", "-g", "generate_series(1, 5000) g"),
              ("few", "g", "generate_series(10, 59) g"), ("half", "g", "generate_series(10, 5009) g"),
              ("items", "item", "sold"), ("dates", "date '2026-01-01' + g", "generate_series(1, 9) g"))}
    for lookup in ("%s @> k", "k <@ %s", "nidus_contains(%s, k)", "nidus_in_filter(k, %s)"):
        for name, least, most in (("common", 9000, 11500), ("all", 90000, 101000), ("few", 200, 1500),
                                  ("half", 30000, 60000), ("absent", 1, 1500)):
            rows = _rows_planned(lookup % of[name])
            expect(least <= rows <= most, (lookup % name, rows))
    expect(90000 <= _rows_planned(of["items"] + " @> item") <= 101000)
    # A parameter of a custom plan is seen, too; a subquery is not.
    custom = json.loads(_sql("PREPARE pass(nidus) AS SELECT FROM sold WHERE $1 @> k;"
                             f"EXPLAIN (FORMAT json) EXECUTE pass({of['common']})"))
    expect(9000 <= custom[0]["Plan"]["Plan Rows"] <= 11500, custom)
    expect(_rows_planned("(SELECT nidus_agg(1)) @> k") == 20000)
    # Neither NULL nor a mismatch is an error while planning, nor is a table without statistics.
    expect(_rows_planned("NULL::nidus @> k") <= 1)
    _rows_planned(of["dates"] + " @> k")
    refused("type date", _sql, f"SELECT FROM sold WHERE {of['dates']} @> k")
    _sql("CREATE TABLE fresh (k bigint); ALTER TABLE fresh SET (autovacuum_enabled = off)")
    _sql(f"EXPLAIN SELECT FROM fresh WHERE {of['few']} @> k")


def statistics_are_not_told_to_who_may_not_read_the_column():
    _sql("CREATE ROLE nobody_else LOGIN; CREATE VIEW shown WITH (security_barrier) AS"
         " SELECT k FROM sold WHERE k > 100; GRANT SELECT ON shown TO nobody_else")
    filter = _sql("SELECT nidus_agg(k) FROM sold")
    plan = json.loads(_sql(f"SET ROLE nobody_else; EXPLAIN (FORMAT json) SELECT FROM shown WHERE"
                           f" '{filter}'::nidus @> k"))
    # A tenth, which is assumed of everything, of what the view shows.
    expect(plan[0]["Plan"]["Plan Rows"] < 15000, plan)


def a_lookup_costs_more_where_rows_bring_their_own_filters():
    def cost(sql):
        return json.loads(_sql("EXPLAIN (FORMAT json) " + sql))[0]["Plan"]["Total Cost"]
    _sql("CREATE TABLE own AS SELECT 1 AS k, nidus_agg(1) AS filter FROM generate_series(1, 1000) g"
         " GROUP BY g; ANALYZE own")
    plain, constant, varying = (cost("SELECT FROM own WHERE " + condition) for condition in
                                ("k = 1", "(SELECT nidus_empty()) @> k", "filter @> k"))
    expect(plain < constant and varying - plain > 5 * (constant - plain), (plain, constant, varying))


def nothing_was_logged_as_a_crash():
    expect("was terminated by signal" not in _server.log(), _server.log())
    expect("PANIC" not in _server.log())


try:
    claims.run(globals())
finally:
    _server.stop()
