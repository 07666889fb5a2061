#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A semi-join in Spark with and without a filter: processor time of all its processes, and elapsed time.

    PYTHONPATH=build/python python3 bindings/python/bench/spark.py [ROWS [KEYS [ROUNDS [WORKERS]]]]

One row in fifty has a partner. Rows have a text of 32 bytes, which a join without a filter carries through its shuffle.
Spark runs here, with two threads (local[2]); or, with a number of WORKERS, as a cluster: a standalone master and so many workers of
one core and 1 GiB each, on 127.0.0.1, from the programs that the package pyspark has inside. They end with this script.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
import pyspark  # noqa: E402
from pyspark.sql import SparkSession, functions as F  # noqa: E402

import nidus.spark  # noqa: E402

os.environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(os.path.abspath(nidus.__file__)))  # workers have folders of their own
TICK = os.sysconf("SC_CLK_TCK")


def processes():
    """Every process: its parent, and its processor time in seconds, that of children which have ended included."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
    return found


def processor_time():
    """Of this process and all that it has started."""
    found, total = processes(), 0.0
    for pid in found:
        at = pid
        while at in found and at != os.getpid():
            at = found[at][0]
        total += found[pid][1] if at == os.getpid() else 0
    return total


def measured(name, work):
    processor, elapsed = processor_time(), time.monotonic()
    answer = work()
    print(f"{name:<40} {processor_time() - processor:8.1f} {time.monotonic() - elapsed:8.1f}   {answer:,}", flush=True)
    return answer


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(path, text, seconds=120):
    end = time.monotonic() + seconds
    while text not in open(path, errors="replace").read():
        if time.monotonic() > end:
            sys.exit(f"no '{text}' after {seconds} s:\n{open(path, errors='replace').read()}")
        time.sleep(0.2)


@contextlib.contextmanager
def cluster(workers):
    """The address of a new standalone master with so many workers."""
    run, here = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class"), ["--host", "127.0.0.1", "--webui-port", "0"]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as started:

        def start(name, kind, *arguments):
            log = os.path.join(folder, name)
            with open(log, "w") as file:
                process = subprocess.Popen([run, f"org.apache.spark.deploy.{kind}", *here, *arguments], stdout=file, stderr=file)
            started.callback(process.wait)
            started.callback(process.terminate)
            return log

        port = str(free_port())
        address = f"spark://127.0.0.1:{port}"
        wait_for(start("master", "master.Master", "--port", port), "New state: ALIVE")
        for i in range(workers):
            own = os.path.join(folder, f"worker-{i}.d")
            wait_for(start(f"worker-{i}", "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", own, address), "registered with master")
        yield address


def main(rows=10**7, keys=2 * 10**6, rounds=2, workers=0):
    with cluster(workers) if workers else contextlib.nullcontext("local[2]") as master:
        run(master, rows, keys, rounds)


def run(master, rows, keys, rounds):
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "3g" if master == "local[2]" else "1g")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "16").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    step = 50
    customer, text = F.pmod(F.xxhash64("id"), F.lit(keys * step)), F.lpad(F.col("id").cast("string"), 32, "x")
    orders = spark.range(rows).select(customer.alias("customer"), text.alias("text"))
    customers = spark.range(0, keys * step, step)
    print(f"{master}: {spark.sparkContext.defaultParallelism} cores")
    print(f"{rows:,} rows, {keys:,} keys{'':<16} processor  elapsed   rows")
    for _ in range(rounds):  # the first one warms Java
        plain = measured("left_semi", lambda: orders.join(customers, orders.customer == customers.id, "left_semi").agg(F.count("text")).first()[0])
        made = []
        measured("nidus.spark.build", lambda: made.append(nidus.spark.build(customers, "id", capacity=keys)) or len(made[0]))
        joined = nidus.spark.semi_join(orders, customers, left_on="customer", right_on="id", filter=made[0])
        assert measured("nidus.spark.semi_join, filter given", lambda: joined.agg(F.count("text")).first()[0]) == plain
        passed = orders.filter(nidus.spark.contains(orders, "customer", made[0]))
        measured("nidus.spark.contains alone", lambda: passed.agg(F.count("text")).first()[0])
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
