# SPDX-License-Identifier: MIT
"""Load, many clients, and servers killed amid it: nothing that was acknowledged is lost.

    soak.py [MINUTES]      (./dev soak redis MINUTES; the default is 2)

The server writes its AOF with appendfsync always and rewrites it all the time. Threads add and
delete items of their own and remember what was acknowledged; redis-benchmark adds noise with
pipelines. After some seconds the server gets SIGKILL, starts again, and must know every item.
"""
import subprocess
import sys
import threading
import time
import unittest

import redis

import servers

MINUTES = float(sys.argv.pop(1)) if len(sys.argv) > 1 else 2
BENCHMARK = servers.PROGRAM.replace("-server", "-benchmark")


class Writer(threading.Thread):
    """Adds and deletes its own items until the server is gone."""

    def __init__(self, server, name, random):
        super().__init__()
        self.client = server.client()
        self.name, self.random = name, random
        self.next, self.sure, self.trouble = 0, set(), None

    def run(self):
        try:
            while True:
                self.add()
                if self.random.random() < 0.2 and len(self.sure) > 100:
                    self.delete()
        except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError, OSError):
            pass  # killed, as planned; what was under way is in or not
        except Exception as trouble:  # pylint: disable=broad-except
            self.trouble = trouble

    def add(self):
        n = self.random.choice((1, 1, 10, 500))
        items = [f"{self.name}-{self.next + i}" for i in range(n)]
        self.next += n
        if n == 1:
            assert self.client.execute_command("CF.ADD", "soak", items[0]) == 1
        else:
            reply = self.client.execute_command("CF.INSERT", "soak", "ITEMS", *items)
            assert reply == [1] * n
        self.sure.update(items)
        self.client.execute_command("BF.MADD", "soak-bf", *items)

    def delete(self):
        items = self.random.sample(sorted(self.sure), 50)
        self.sure.difference_update(items)  # before: an answer that never came may mean deleted
        self.client.execute_command("CF.MDEL", "soak", *items)


class Soak(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_when_the_server_is_killed(self):
        random = servers.chance()
        server = servers.Server("--appendonly", "yes", "--appendfsync", "always",
                                "--auto-aof-rewrite-percentage", "50",
                                "--auto-aof-rewrite-min-size", "1mb")
        end, rounds = time.monotonic() + 60 * MINUTES, 0
        sure = set()
        while time.monotonic() < end:
            writers = [Writer(server, f"{rounds}-{i}", random) for i in range(4)]
            noise = self.noise(server)
            for writer in writers:
                writer.start()
            time.sleep(random.uniform(1, 5))
            server.kill()
            for writer in writers:
                writer.join()
                self.assertIsNone(writer.trouble)
                sure |= writer.sure
                writer.client.close()
            for process in noise:
                process.kill()
                process.wait()
            server.start()
            self.expect_all(server, sure)
            rounds += 1
            print(f"round {rounds}: {len(sure)} items, all there", flush=True)
        server.stop()

    @staticmethod
    def noise(server):
        """Pipelined adds and lookups on another key."""
        return [subprocess.Popen([BENCHMARK, "-p", str(server.port), "-P", "64", "-n", "100000000",
                                  "-r", "1000000000", "-q", command, "noise", "item:__rand_int__"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for command in ("CF.ADD", "CF.EXISTS")]

    def expect_all(self, server, sure):
        items = sorted(sure)
        with server.client() as client:
            for start in range(0, len(items), 5000):
                some = items[start:start + 5000]
                self.assertNotIn(0, client.execute_command("CF.MEXISTS", "soak", *some))


if __name__ == "__main__":
    servers.main()
