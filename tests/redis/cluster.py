# SPDX-License-Identifier: MIT
"""One filter of 64 partitions on three masters with a replica each: moved, killed, and complete.

    cluster.py [ITEMS]
"""
import importlib.util
import logging
import os
import re
import subprocess
import sys
import time
import unittest

import redis
import redis.cluster

import servers

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_package():
    """nidus.cluster, which needs no compiled part of the Python package."""
    path = os.path.join(TREE, "bindings", "python", "nidus", "cluster.py")
    spec = importlib.util.spec_from_file_location("nidus_cluster", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["nidus_cluster"] = module
    spec.loader.exec_module(module)
    return module


nidus_cluster = load_package()
logging.getLogger("redis").setLevel(logging.CRITICAL)  # nodes that are gone are the point here

ITEMS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10**6
ITEMS = ITEMS // 20 if servers.SMALL else ITEMS
MOVES = 12  # partitions, of about 21 on each master
STEP = 50000
PARTITIONS = 64
OPTIONS = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
           "--cluster-node-timeout", "4000", "--repl-diskless-sync-delay", "0",
           "--cluster-replica-validity-factor", "0")


class Partitions(unittest.TestCase):
    def test_items_spread_evenly(self):
        for partitions in (64, 100, 256):
            counts = [0] * partitions
            for item in range(200000):
                counts[nidus_cluster.partition_of(item, partitions)] += 1
            share = 200000 / partitions
            self.assertLess(max(abs(count - share) for count in counts), 8 * share**0.5)

    def test_the_hash_is_the_documented_one(self):
        self.assertEqual(nidus_cluster.partition_of("123456789", 2**32), 0xCBF43926)
        self.assertEqual(nidus_cluster.key_of("seen", 17), "seen:{p17}")

    def test_the_vectors_of_the_manual_are_true(self):
        with open(os.path.join(TREE, "docs", "redis.md")) as page:
            rows = re.findall(r"^\| `([0-9a-f ]*)` \| `0x([0-9a-f]{8})` \| (\d+) \| (\d+) \|",
                              page.read(), re.M)
        self.assertGreaterEqual(len(rows), 5)
        for digits, crc, of_256, of_1000 in rows:
            item = bytes.fromhex(digits)
            self.assertEqual([nidus_cluster.partition_of(item, n) for n in (2**32, 256, 1000)],
                             [int(crc, 16), int(of_256), int(of_1000)], digits)


class Lossy:
    """A client whose connection breaks after some commands of a pipeline: before or after they run."""

    def __init__(self, client):
        self.client = client
        self.lose = []

    def __getattr__(self, name):
        return getattr(self.client, name)

    def pipeline(self, **options):
        pipe, lossy = self.client.pipeline(**options), self

        class Pipe:
            execute_command = staticmethod(pipe.execute_command)

            @staticmethod
            def execute(**options):
                commands = [command[0] for command in pipe.command_stack]
                lost, lossy.lose = (lossy.lose, []) if commands[0][0] == "EVAL" else ([], lossy.lose)
                replies = pipe.execute(**options)
                for place in lost:
                    replies[place] = redis.exceptions.ConnectionError("lost")
                return replies
        return Pipe()


class OneServer(servers.Test):
    """What needs no cluster."""

    def test_reserve_can_be_called_again_and_open_finds_the_partitions(self):
        made = nidus_cluster.Filter.reserve(self.r, "f", 10000, 0.001, partitions=32)
        made.add(range(1000))
        self.r.delete(nidus_cluster.key_of("f", 5))
        again = nidus_cluster.Filter.reserve(self.r, "f", 10000, 0.001, partitions=32)
        self.assertEqual(again.about, made.about)
        self.assertEqual(self.do("NIDUS.INFO", nidus_cluster.key_of("f", 5))[3], 0)
        found = nidus_cluster.Filter.open(self.r, "f")
        self.assertEqual((found.partitions, found.kind), (32, "CF"))
        left = [item for item in range(1000) if nidus_cluster.partition_of(item, 32) != 5]
        self.assertEqual(found.exists(left), [True] * len(left))
        for wrong in ({"partitions": 64}, {"error": 0.01}, {"kind": "BF"}):
            with self.assertRaises(ValueError):
                nidus_cluster.Filter.reserve(self.r, "f", **{"capacity": 10000, "error": 0.001,
                                                             "partitions": 32, **wrong})
        with self.assertRaises(KeyError):
            nidus_cluster.Filter.open(self.r, "none")

    def test_info_card_and_drop(self):
        for kind in ("CF", "BF"):
            made = nidus_cluster.Filter.reserve(self.r, kind, 5000, partitions=16, kind=kind)
            made.add(range(3000))
            self.assertAlmostEqual(made.card(), 3000, delta=60)
            info = made.info()
            self.assertEqual(info["items"], made.card())
            self.assertGreaterEqual(info["most_items"], 5000)
            self.assertGreater(info["bytes"], 3000)
            made.drop()
            made.drop()
            self.assertEqual(self.r.dbsize(), 0)
        with self.assertRaises(ValueError):
            made.delete([1])

    def test_a_batch_that_fails_halfway_tells_of_each_item_and_is_sent_again_once(self):
        client = Lossy(self.r)
        made = nidus_cluster.Filter.reserve(client, "f", 10000, partitions=8)
        client.lose = [2, 5]  # these run, but nobody hears of it
        items = list(range(1000))
        with self.assertRaises(nidus_cluster.BatchError) as caught:
            made.add(items)
        failed = [item for item, answer in zip(items, caught.exception.answers)
                  if isinstance(answer, Exception)]
        self.assertEqual({nidus_cluster.partition_of(item, 8) for item in failed}, {2, 5})
        self.assertEqual(caught.exception.retry(), [True] * 1000)
        self.assertEqual(made.card(), 1000)
        client.lose = [0]
        with self.assertRaises(nidus_cluster.BatchError) as caught:
            made.delete(items[:500])
        self.assertEqual(caught.exception.retry(), [True] * 500)
        self.assertEqual(made.card(), 500)
        self.assertEqual(self.r.dbsize(), 9)  # nothing else is left behind

    def test_a_missing_partition_is_an_error_and_not_made_by_chance(self):
        made = nidus_cluster.Filter.reserve(self.r, "f", 10000, partitions=8)
        self.r.delete(nidus_cluster.key_of("f", 3))
        with self.assertRaises(nidus_cluster.BatchError) as caught:
            made.add(range(1000))
        answers = caught.exception.answers
        for item in range(1000):
            lost = nidus_cluster.partition_of(item, 8) == 3
            self.assertEqual(isinstance(answers[item], Exception), lost)
        nidus_cluster.Filter.reserve(self.r, "f", 10000, partitions=8)
        self.assertEqual(caught.exception.retry(), [True] * 1000)
        self.assertEqual(made.card(), 1000)


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nodes = [servers.Server(*OPTIONS) for _ in range(6)]
        addresses = [f"127.0.0.1:{node.port}" for node in cls.nodes]
        cls.cli("--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes")
        for node in cls.nodes:
            servers.wait_for(lambda: b"cluster_state:ok" in cls.raw(node, "CLUSTER", "INFO"),
                             "the cluster")
        servers.wait_for(lambda: all(
            b"master_link_status:up" in cls.raw(node, "INFO", "replication") or
            b"connected_slaves:1" in cls.raw(node, "INFO", "replication")
            for node in cls.nodes), "six nodes in pairs")
        cls.client = redis.cluster.RedisCluster(host="127.0.0.1", port=cls.nodes[0].port)
        cls.filter = nidus_cluster.Filter.reserve(cls.client, "seen", ITEMS // 2,
                                                  partitions=PARTITIONS)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    @staticmethod
    def raw(node, *words):
        return subprocess.run([servers.CLI, "-p", str(node.port), *words], check=False,
                              capture_output=True).stdout

    @staticmethod
    def cli(*words):
        done = subprocess.run([servers.CLI, *words], check=False, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout.decode()} {done.stderr.decode()}")

    def masters(self):
        return [node for node in self.nodes if node.process.poll() is None and
                b"role:master" in self.raw(node, "INFO", "replication")]

    def expect_all(self, end):
        for start in range(0, end, STEP):
            items = range(start, min(start + STEP, end))
            found = self.filter.exists(items)
            self.assertEqual(found.count(False), 0, f"of {start} to {items[-1]}")

    def add(self, start, end):
        for at in range(start, end, STEP):
            self.assertTrue(all(self.filter.add(range(at, min(at + STEP, end)))))

    def test_items_are_found_before_while_and_after_slots_move_and_a_master_dies(self):
        half = ITEMS // 2
        self.add(0, half)
        self.expect_all(half)
        self.move_slots_while_asking(half)
        self.add(half, ITEMS)
        self.expect_all(ITEMS)
        self.kill_a_master()
        self.expect_all(ITEMS)
        self.add(ITEMS, ITEMS + 1000)
        self.expect_all(ITEMS + 1000)

    def move_slots_while_asking(self, end):
        """Moves partitions from one master to another as resharding does, half-way states too."""
        giver, taker = self.masters()[:2]
        rounds, moved = 0, 0
        with giver.client() as here, taker.client() as there:
            names = [client.execute_command("CLUSTER MYID").decode() for client in (here, there)]
            for key in here.keys()[:MOVES]:
                slot = here.execute_command("CLUSTER KEYSLOT", key)
                there.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", names[0])
                here.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", names[1])
                rounds = self.ask_somewhere(rounds, end)
                here.execute_command("MIGRATE", "127.0.0.1", taker.port, key, 0, 60000)
                rounds = self.ask_somewhere(rounds, end)
                for client in (there, here):
                    client.execute_command("CLUSTER SETSLOT", slot, "NODE", names[1])
                rounds = self.ask_somewhere(rounds, end)
                moved += 1
        print(f"{moved} partitions moved, {rounds} rounds of 2000 lookups meanwhile", flush=True)
        self.assertEqual(moved, MOVES)
        self.expect_all(end)

    def ask_somewhere(self, rounds, end):
        start = rounds * 7919 % (end - 2000)
        self.assertEqual(self.filter.exists(range(start, start + 2000)).count(False), 0)
        return rounds + 1

    def kill_a_master(self):
        servers.wait_for(self.agreed, "all nodes to agree about the slots")
        for master in self.masters():
            servers.wait_for(lambda: self.replicated(master), "a replica")
        victim = self.masters()[0]
        victim.kill()
        servers.wait_for(lambda: len(self.masters()) == 3 and all(
            b"cluster_state:ok" in self.raw(node, "CLUSTER", "INFO") for node in self.masters()),
            "a replica to take over")
        servers.wait_for(self.reachable, "all partitions to be reachable")

    def agreed(self):
        address = f"127.0.0.1:{self.masters()[0].port}"
        return b"All nodes agree" in subprocess.run([servers.CLI, "--cluster", "check", address],
                                                    check=False, capture_output=True).stdout

    def replicated(self, master):
        """Whether the replica has all that was written. WAIT would speak of its own connection."""
        info = self.raw(master, "INFO", "replication").decode()
        written = re.search(r"master_repl_offset:(\d+)", info)
        taken = re.search(r"slave0:.*offset=(\d+)", info)
        return taken is not None and taken[1] == written[1]

    def reachable(self):
        try:
            self.filter.exists(range(1000))
            return True
        except (redis.exceptions.RedisError, nidus_cluster.BatchError, OSError):
            self.client.nodes_manager.initialize()
            time.sleep(0.2)
            return False


if __name__ == "__main__":
    servers.main()
