# SPDX-License-Identifier: MIT
"""What the commands cost the server, by its own processor time.

    /usr/bin/python3 modules/redis/bench.py build/nidus_redis.so build/nidus_redis_noop.so
        [--items N] [--rounds N] [--family NAME] [--growth N] [--large N]

redis-benchmark sends pipelines of 64. Each round measures every command once, one after the other;
the figures are medians over the rounds. NOOP.READ and NOOP.WRITE (modules/redis/noop/) only open
the key, answer, and replicate if they are writes: what the server itself takes for any command.
--growth adds that many items to a filter that was made for 1000 and lists the longest commands.
--large does the same in lists of 100, and measures adds and lookups there, a snapshot, loading it, and a
replica's first copy.
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("module")
parser.add_argument("noop")
parser.add_argument("--items", type=int, default=10**5)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--commands", type=int, default=100000)
parser.add_argument("--family", default="auto")
parser.add_argument("--growth", type=int, default=0)
parser.add_argument("--large", type=int, default=0)
arguments = parser.parse_args()

os.environ["NIDUS_REDIS_MODULE"] = arguments.module
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tests", "redis"))

import servers  # noqa: E402

BENCHMARK = servers.PROGRAM.replace("-server", "-benchmark")
N = arguments.commands
ITEM = "item:__rand_int__"
MANY = 1000


def cpu(client):
    info = client.info("cpu")
    return info["used_cpu_user"] + info["used_cpu_sys"]


def cost(server, client, n, *words, pipeline=64, spread=10**9):
    """Nanoseconds of the server's processor time per command."""
    before = cpu(client)
    subprocess.run([BENCHMARK, "-p", str(server.port), "-P", str(pipeline), "-n", str(n), "-c", "8",
                    "-r", str(spread), "-q", *words], check=True, stdout=subprocess.DEVNULL)
    return (cpu(client) - before) * 1e9 / n


def fill(client, key, n):
    for start in range(0, n, 10000):
        client.execute_command("CF.INSERT", key, "ITEMS", *[
            f"item:{i:012d}" for i in range(start, min(start + 10000, n))])


def measure(server, client):
    items = arguments.items
    client.flushall()
    client.execute_command("CF.RESERVE", "f", items, "FAMILY", arguments.family)
    fill(client, "f", items)
    client.execute_command("CF.RESERVE", "full", 2 * (items + N), "FAMILY",
                           arguments.family)
    fill(client, "full", items)
    client.set("s", "x")
    rows = {
        "GET": lambda: cost(server, client, N, "GET", ITEM),
        "SET": lambda: cost(server, client, N, "SET", "s", ITEM),
        "NOOP.READ": lambda: cost(server, client, N, "NOOP.READ", "f", ITEM),
        "CF.EXISTS": lambda: cost(server, client, N, "CF.EXISTS", "f", ITEM, spread=2 * items),
        "NOOP.WRITE": lambda: cost(server, client, N, "NOOP.WRITE", "full", ITEM),
        "CF.ADD": lambda: cost(server, client, N, "CF.ADD", "w", ITEM),
        "CF.MEXISTS": lambda: cost(server, client, max(200, N // 200), "CF.MEXISTS", "f",
                                   *[ITEM] * MANY, pipeline=1, spread=2 * items) / MANY,
    }
    table = {name: [] for name in rows}
    for _ in range(arguments.rounds):
        client.copy("full", "w", replace=True)
        for name, run in rows.items():
            table[name].append(run())
    return table


def ratio(table, a, b):
    return statistics.median(x / y for x, y in zip(table[a], table[b]))


def report(table):
    print(f"{arguments.items} items, {arguments.rounds} rounds of {N} commands in pipelines of 64")
    print(f"{'command':12} {'ns each':>8} {'least':>7} {'most':>7}")
    for name, values in table.items():
        print(f"{name:12} {statistics.median(values):8.0f} {min(values):7.0f} {max(values):7.0f}")
    print(f"CF.EXISTS / NOOP.READ    {ratio(table, 'CF.EXISTS', 'NOOP.READ'):.2f}  (bar: 1.10)")
    print(f"CF.ADD / NOOP.WRITE      {ratio(table, 'CF.ADD', 'NOOP.WRITE'):.2f}  (bar: 1.10)")
    print(f"CF.EXISTS / CF.MEXISTS per item {ratio(table, 'CF.EXISTS', 'CF.MEXISTS'):.1f}  (bar: 4)")


def growth(server, client):
    client.flushall()
    client.execute_command("CONFIG", "RESETSTAT")
    client.config_set("slowlog-log-slower-than", 500)
    client.config_set("slowlog-max-len", 1000)
    client.execute_command("SLOWLOG", "RESET")
    client.execute_command("CF.RESERVE", "g", 1000, "MAXCAPACITY", max(2000, arguments.growth))
    per_add = cost(server, client, arguments.growth, "CF.ADD", "g", ITEM, spread=2 * 10**9)
    slow = [entry["duration"] for entry in client.slowlog_get(1000)
            if entry["command"].startswith(b"CF.ADD")]
    items = client.execute_command("NIDUS.INFO", "g")[3]
    print(f"growth from 1000 to {items} items: {per_add:.0f} ns per CF.ADD; "
          f"{len(slow)} commands took more than 0.5 ms; the longest, in ms: "
          f"{[round(us / 1000, 1) for us in sorted(slow)[-5:]]}")


def send_items(connection, command, start, end):
    """Lists of 100 items in pipelines of 50, without a client library: Python would be the slowest."""
    answers = connection.makefile("rb")
    for at in range(start, end, 5000):
        words = []
        for first in range(at, min(at + 5000, end), 100):
            count = min(first + 100, end) - first
            words.append(b"*%d\r\n%s" % (count + command[0], command[1]))
            words.extend(b"$9\r\n%09d\r\n" % item for item in range(first, first + count))
        connection.sendall(b"".join(words))
        for first in range(at, min(at + 5000, end), 100):
            for _ in range(int(answers.readline()[1:])):
                answers.readline()


def per_item(server, client, command, start, end):
    """Nanoseconds of the server's processor time for each item."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        before = cpu(client)
        send_items(connection, command, start, end)
        return (cpu(client) - before) * 1e9 / (end - start)


def large(n):
    server = servers.Server()
    insert = (4, b"$9\r\nCF.INSERT\r\n$1\r\ng\r\n$8\r\nNOCREATE\r\n$5\r\nITEMS\r\n")
    exists = (2, b"$10\r\nCF.MEXISTS\r\n$1\r\ng\r\n")
    with server.client(socket_timeout=None) as client:
        client.config_set("slowlog-log-slower-than", 1000)
        client.config_set("slowlog-max-len", 1000)
        client.execute_command("CF.RESERVE", "g", 1000, "MAXCAPACITY", n + n // 50)
        last = n // 10
        print(f"adds up to {n - last}: {per_item(server, client, insert, 0, n - last):.0f} ns each")
        print(f"adds up to {n}: {per_item(server, client, insert, n - last, n):.0f} ns each")
        print(f"lookups there: {per_item(server, client, exists, 0, last):.0f} ns each", flush=True)
        slow = sorted(entry["duration"] / 1000 for entry in client.slowlog_get(1000)
                      if entry["command"].upper().startswith(b"CF.INSERT"))
        told = client.execute_command("NIDUS.INFO", "g")
        print(f"{told[3]} items in {told[9]} bytes; {len(slow)} lists of 100 took more than 1 ms; "
              f"the longest, in ms: {[round(ms, 1) for ms in slow[-5:]]}", flush=True)
        start = client.info("cpu")
        client.bgsave()
        servers.wait_for(lambda: not client.info("persistence")["rdb_bgsave_in_progress"], "a snapshot", 3600)
        end = client.info("cpu")
        path = os.path.join(server.folder, "dump.rdb")
        print("snapshot: %.2f s of processor time, %d bytes" % (
            sum(end[name] - start[name] for name in ("used_cpu_user_children", "used_cpu_sys_children")),
            os.path.getsize(path)), flush=True)
        before = cpu(client)
        client.execute_command("DEBUG", "RELOAD", "NOSAVE")
        print(f"loading it: {cpu(client) - before:.2f} s of processor time", flush=True)
        replica = servers.Server("--replicaof", "127.0.0.1", str(server.port), "--repl-diskless-sync-delay", "0")
        with replica.client(socket_timeout=None) as there:
            before = cpu(there)
            servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "a copy", 3600)
            print(f"a replica's first copy: {cpu(there) - before:.2f} s of its processor time", flush=True)
        replica.stop()
    server.stop()


def main():
    if arguments.large > 0:
        large(arguments.large)
        return
    server = servers.Server("--loadmodule", os.path.abspath(arguments.noop), "--appendonly", "yes",
                            "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0")
    with server.client() as client:
        if arguments.rounds > 0:
            report(measure(server, client))
        if arguments.growth > 0:
            growth(server, client)
    server.stop()


if __name__ == "__main__":
    main()
