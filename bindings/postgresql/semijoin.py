#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a prefilter brings to a semi-join, in a PostgreSQL server of its own: processor time, as the
server counts it (log_executor_stats), which other programs on the machine change little.

usage: semijoin.py [ROWS [KEYS]]        (after ./dev build; default 10000000 100000)
"""
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tests/sql"))
import postgres_server

ROUNDS = 5


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10000000
    keys = int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    with postgres_server.Server(os.path.join(HERE, "../../build/postgresql")) as server:
        prepare(server, rows, keys)
        compare(server, "hash semi-join", "EXISTS (SELECT FROM few WHERE few.k = many.k)")
        server.sql("ALTER SYSTEM SET enable_hashjoin = off; SELECT pg_reload_conf()")
        compare(server, "merge semi-join", "EXISTS (SELECT FROM few WHERE few.k = many.k)")


def prepare(server, rows, keys):
    server.sql(f"""
        CREATE EXTENSION nidus;
        CREATE TABLE many AS SELECT (hashint8extended(g, 1) & 1099511627775) AS k,
               repeat('x', 40) AS payload FROM generate_series(1, {rows}) g;
        CREATE TABLE few AS SELECT k FROM many ORDER BY hashint8(k) LIMIT {keys};
        CREATE TABLE filter AS SELECT nidus_agg(k, 0.001, {keys}) AS f FROM few;
        VACUUM ANALYZE;
        ALTER SYSTEM SET max_parallel_workers_per_gather = 0;
        ALTER SYSTEM SET work_mem = '4MB';
        SELECT pg_reload_conf()""")
    print(f"{rows} rows, {keys} keys, filter", server.sql(
        "SELECT pg_size_pretty(octet_length(f::bytea)::bigint) FROM filter"))


def timed(server, sql):
    """Milliseconds of the processor."""
    done = server.run("psql", "-h", server.socket, "-U", "nidus", "-d", "postgres", "-X", "-q", "-c",
                      "SET log_executor_stats = on", "-c", "SET client_min_messages = log", "-c", sql)
    user, system = re.search(r"([0-9.]+) s user, ([0-9.]+) s system", done.stderr).groups()
    return 1000 * (float(user) + float(system))


def compare(server, name, condition):
    plain = f"SELECT count(*), max(payload) FROM many WHERE {condition}"
    asked = plain + " AND (SELECT f FROM filter) @> many.k"
    if server.sql(plain) != server.sql(asked):
        sys.exit("the prefilter changed the answer")
    times = {plain: [], asked: []}
    for _ in range(ROUNDS):
        for sql in times:
            times[sql].append(timed(server, sql))
    for sql, label in ((plain, "without"), (asked, "with")):
        print(f"{name}, {label:7} the filter: median {statistics.median(times[sql]):7.0f} ms"
              f"  ({min(times[sql]):.0f} to {max(times[sql]):.0f})")


main()
