# SPDX-License-Identifier: MIT
"""maxmemory: on masters, on replicas, while an AOF is loaded, and with eviction."""
import glob
import os

import redis

import servers

LARGE = 2_000_000 if servers.SMALL else 20_000_000  # items of a filter well beyond 1 MiB


class Replicas(servers.Test):
    def test_a_replica_takes_what_its_master_took_whatever_its_own_maxmemory(self):
        replica = servers.Server("--replicaof", "127.0.0.1", str(self.server.port),
                                 "--repl-diskless-sync-delay", "0", "--maxmemory", "8mb")
        there = replica.client()
        servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "link")
        self.do("CF.RESERVE", "f", LARGE, "ERROR", 0.0001, "EXPANSION", 0)
        self.do("CF.INSERT", "f", "ITEMS", *range(1000))
        self.do("CF.RESERVE", "g", LARGE)
        self.do("CF.ADD", "g", "x")
        self.do("CF.MERGE", "h", "g")
        self.r.wait(1, 0)
        for key in "fgh":
            self.assertEqual(self.digest(key, there), self.digest(key), key)
        there.close()
        replica.stop()

    def test_adds_that_are_replicated_cannot_make_a_filter(self):
        replica = servers.Server("--replicaof", "127.0.0.1", str(self.server.port),
                                 "--repl-diskless-sync-delay", "0", "--replica-read-only", "no")
        there = replica.client()
        servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "link")
        self.do("CF.ADD", "c", "x")
        self.do("BF.ADD", "b", "x")
        self.r.wait(1, 0)
        self.assertEqual(there.delete("b", "c"), 2)
        for words in (("CF.ADD", "c", "y"), ("CF.ADDNX", "c", "z"), ("BF.ADD", "b", "y"),
                      ("CF.INSERT", "c", "ITEMS", "p", "q"), ("CF.INSERTNX", "c", "ITEMS", "r"),
                      ("BF.MADD", "b", "p", "q"), ("BF.INSERT", "b", "ITEMS", "r", "p")):
            self.do(*words)
        self.r.wait(1, 0)
        self.assertEqual(there.dbsize(), 0)
        there.close()
        replica.stop()

    def test_an_aof_is_loaded_whatever_maxmemory_is_now(self):
        server = servers.Server("--appendonly", "yes")
        client = server.client()
        client.execute_command("CF.RESERVE", "f", LARGE, "ERROR", 0.0001, "EXPANSION", 0)
        client.execute_command("CF.INSERT", "f", "ITEMS", *range(1000))
        before = self.digest("f", client)
        server.options += ["--maxmemory", "8mb"]
        server.restart()
        self.assertEqual(client.dbsize(), 1)
        self.assertEqual(self.digest("f", client), before)
        client.close()
        server.stop()


def aof_commands(server, part="incr"):
    """The commands of a server's AOF ("base": since it was rewritten), each a list of words in bytes, the name in capitals."""
    data = b""
    for path in sorted(glob.glob(os.path.join(server.folder, "appendonlydir", f"*.{part}.aof"))):
        with open(path, "rb") as file:
            data += file.read()
    commands, at = [], 0
    while at < len(data):
        end = data.index(b"\r\n", at)
        count, at, words = int(data[at + 1:end]), end + 2, []
        for _ in range(count):
            end = data.index(b"\r\n", at)
            size = int(data[at + 1:end])
            words.append(data[end + 2:end + 2 + size])
            at = end + 4 + size
        commands.append([words[0].upper()] + words[1:])
    return commands


class Eviction(servers.Test):
    options = ("--maxmemory", "64mb")

    def fill(self, policy):
        """A cache that is full: the server evicts already."""
        self.r.config_set("maxmemory-policy", policy)
        pipe = self.r.pipeline(transaction=False)
        for i in range(9000):
            pipe.set(f"k{i}", b"x" * 8192, ex=3600)
        pipe.execute()
        self.assertGreater(self.r.info("stats")["evicted_keys"], 0)

    def test_a_full_cache_makes_room_for_a_filter(self):
        self.fill("allkeys-lru")
        self.assertEqual(self.do("CF.RESERVE", "f", 10**7, "EXPANSION", 0), b"OK")
        self.r.flushall()
        self.fill("volatile-lru")
        self.assertEqual(self.do("CF.RESERVE", "f", 10**7, "EXPANSION", 0), b"OK")
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", *range(10000)), [1] * 10000)
        for i in range(100):
            self.r.set(f"more{i}", b"x" * 8192, ex=3600)
        self.assertLess(self.r.info("memory")["used_memory"], 66 * 2**20)
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(10000)), [1] * 10000)

    def test_growth_evicts_as_any_write_does(self):
        self.fill("volatile-lru")
        for start in range(0, 2_000_000, 5000):
            self.do("CF.INSERT", "f", "ITEMS", *range(start, start + 5000))
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(5000)), [1] * 5000)
        self.assertLess(self.r.info("memory")["used_memory"], 80 * 2**20)

    def test_what_is_larger_than_maxmemory_is_refused(self):
        self.r.config_set("maxmemory-policy", "allkeys-lru")
        self.r.set("kept", "x")
        with self.assertRaises(redis.exceptions.ResponseError) as caught:
            self.do("CF.RESERVE", "f", 2**28)
        self.assertIn("OOM", str(caught.exception))
        self.assertEqual(self.r.get("kept"), b"x")


if __name__ == "__main__":
    servers.main()
