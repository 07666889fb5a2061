#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Semi-joins in DuckDB and in Polars, with a filter before them and without.

usage: PYTHONPATH=build/python python3 bindings/python/bench/tables.py [ROWS [CUSTOMERS [ROUNDS]]]

Many orders, one in fifty by the customers of interest. Prints processor time of the whole process, all threads, the
median of some rounds in turns, and what building the filter took. Needs duckdb, polars, pyarrow and numpy.
"""

import os
import statistics
import sys
import time

import duckdb
import numpy
import polars as pl
import pyarrow

import nidus
import nidus.duckdb
import nidus.polars


def tables(rows, wanted):
    random = numpy.random.default_rng(1)
    customers = numpy.unique(random.integers(0, 2**62, wanted))
    orders = random.integers(0, 2**62, rows)
    orders[::50] = random.choice(customers, len(orders[::50]))
    return pyarrow.table({"id": customers}), pyarrow.table({"customer": orders, "price": random.integers(1, 100, rows)})


def timed(call):
    start = time.process_time()
    answer = call()
    return time.process_time() - start, answer


def compare(ways, rounds):
    """The ways in turns; all must give the same, but those whose name has an asterisk."""
    took = {name: [] for name in ways}
    answers = set()
    for _ in range(rounds):
        for name, way in ways.items():
            seconds, answer = timed(way)
            took[name].append(seconds)
            if "*" not in name:
                answers.add(answer)
    for name, seconds in took.items():
        print(f"  {name:58} {statistics.median(seconds):7.3f} s  ({min(seconds):.3f} to {max(seconds):.3f})")
    if len(answers) != 1:
        sys.exit(f"the joins differ: {answers}")


def in_duckdb(customers, orders, rounds):
    con = duckdb.connect()
    con.register("c", customers)
    con.register("o", orders)
    con.execute("CREATE TABLE customers AS SELECT * FROM c")
    con.execute("CREATE TABLE orders AS SELECT * FROM o")
    filters = nidus.duckdb.register(con)
    took, filters["wanted"] = timed(lambda: nidus.duckdb.build(con.sql("SELECT id FROM customers"), threads=1))
    nidus.duckdb.create_function(con, "wanted", filters["wanted"])
    print(f"DuckDB {duckdb.__version__}; building the filter of {filters['wanted'].info.bytes / 1e6:.1f} MB took {took:.3f} s")

    def ask(query):
        return lambda: con.sql(f"SELECT count(*), sum(price) FROM {query}").fetchall()[0]

    join = "SEMI JOIN customers ON customer = id"
    compare(
        {
            "semi-join": ask(f"orders {join}"),
            "nidus_contains('wanted', customer), semi-join": ask(f"(SELECT * FROM orders WHERE nidus_contains('wanted', customer)) {join}"),
            "wanted(customer), semi-join": ask(f"(SELECT * FROM orders WHERE wanted(customer)) {join}"),
            "wanted(customer) *": ask("orders WHERE wanted(customer)"),
        },
        rounds,
    )


def in_polars(customers, orders, rounds):
    customers, orders = pl.from_arrow(customers), pl.from_arrow(orders)
    took, wanted = timed(lambda: customers["id"].nidus.build(threads=1))
    print(f"Polars {pl.__version__}; building the filter took {took:.3f} s")

    def seen(frame):
        frame = frame.select(pl.len(), pl.col("price").sum())
        return (frame.collect(engine="streaming") if isinstance(frame, pl.LazyFrame) else frame).row(0)

    def join(frame):
        return frame.join(customers.lazy() if isinstance(frame, pl.LazyFrame) else customers, left_on="customer", right_on="id", how="semi")

    asked = pl.col("customer").nidus.contains(wanted)
    compare(
        {
            "semi-join": lambda: seen(join(orders)),
            "nidus.contains, semi-join": lambda: seen(join(orders.filter(asked))),
            "nidus.polars.semi_join, which builds the filter, too": lambda: seen(nidus.polars.semi_join(orders, customers, left_on="customer", right_on="id")),
            "nidus.contains *": lambda: seen(orders.filter(asked)),
            "semi-join, streaming": lambda: seen(join(orders.lazy())),
            "nidus.contains, semi-join, streaming": lambda: seen(join(orders.lazy().filter(asked))),
        },
        rounds,
    )


def main():
    rows, wanted, rounds = (int(float(word)) for word in (sys.argv[1:] + ["1e7", "1e6", "5"][len(sys.argv) - 1 :]))
    customers, orders = tables(rows, wanted)
    print(f"{rows} orders, {wanted} customers, {os.cpu_count()} processors; * lets false positives pass")
    in_duckdb(customers, orders, rounds)
    in_polars(customers, orders, rounds)


if __name__ == "__main__":
    main()
