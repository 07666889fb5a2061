# SPDX-License-Identifier: MIT
"""Moving from RedisBloom: its snapshots, its chunks and its commands.

data/redisbloom.rdb was written by Redis 7.0.15 with RedisBloom itself: `b` is a Bloom filter
(BF.RESERVE 0.01 500, then key-0 to key-2999, 3 layers), `c` a cuckoo filter (CF.RESERVE 500, then
key-0 to key-2999, then key-0 to key-49 deleted, 7 sub-filters).
"""
import os
import shutil
import struct

import redis

import servers

RDB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "redisbloom.rdb")
ITEMS = [f"key-{i}" for i in range(3000)]
LEFT = ITEMS[50:]
STRANGERS = [f"stranger-{i}" for i in range(5000)]
MASK = 2**64 - 1


def start(*options):
    """A server with the fixture as its snapshot."""
    server = servers.Server(*options)
    server.stop()
    shutil.copy(RDB, os.path.join(server.folder, "dump.rdb"))
    server.start()
    return server


def murmur(item, seed):
    """MurmurHash64A, the hash of RedisBloom: from its description, as a second opinion."""
    m = 0xC6A4A7935BD1E995
    data = item.encode()
    h = seed ^ len(data) * m & MASK
    for at in range(0, len(data) - 7, 8):
        k = int.from_bytes(data[at:at + 8], "little") * m & MASK
        h = (h ^ (k ^ k >> 47) * m & MASK) * m & MASK
    tail = data[len(data) // 8 * 8:]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * m & MASK
    h = (h ^ h >> 47) * m & MASK
    return h ^ h >> 47


class Bloom:
    """What RedisBloom answers, computed from its chunks. `chunks` is [(iterator, bytes)]."""

    def __init__(self, header, tables):
        self.size, layers, _, _ = struct.unpack_from("<QIII", header)
        self.layers = []
        for i in range(layers):
            size, bits, _, _, _, hashes, _, _ = struct.unpack_from("<QQQddIQB", header, 20 + 53 * i)
            self.layers.append((bits, hashes, tables[:size]))
            tables = tables[size:]

    def has(self, item):
        a = murmur(item, 0xC6A4A7935BD1E995)
        b = murmur(item, a)
        return any(all(table[x >> 3] >> (x & 7) & 1
                       for x in (((a + i * b) & MASK) % bits for i in range(hashes)))
                   for bits, hashes, table in self.layers)


class Cuckoo:
    def __init__(self, header, tables):
        _, buckets, _, n, self.slots, _, expansion = struct.unpack("<QQQQHHH", header)
        self.layers = []
        for _ in range(n):
            self.layers.append((buckets, tables[:buckets * self.slots]))
            tables = tables[buckets * self.slots:]
            buckets *= max(expansion, 1)

    def count(self, item):
        h = murmur(item, 0)
        fp = h % 255 + 1
        total = 0
        for buckets, table in self.layers:
            for at in {h % buckets, (h ^ fp * 0x5BD1E995) % buckets}:
                total += table[at * self.slots:(at + 1) * self.slots].count(fp)
        return total


def chunks_of(server, key):
    """The chunks of RedisBloom for a filter that was not touched, from a rewritten AOF."""
    from limits import aof_commands
    with server.client() as client:
        client.config_set("aof-use-rdb-preamble", "no")
        client.config_set("appendonly", "yes")
        servers.wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"] and
                         not client.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
    return [(int(words[2]), words[3]) for words in aof_commands(server, "base")
            if words[0].endswith(b"LOADCHUNK") and words[1] == key.encode()]


class Moving(servers.Test):
    @classmethod
    def setUpClass(cls):
        cls.server = start()
        cls.r = cls.server.client()
        cls.chunks = {key: chunks_of(cls.server, key) for key in "bc"}

    def setUp(self):
        self.r.flushall()

    def load(self, key, kind, name=None):
        for position, data in self.chunks[kind]:
            command = "BF.LOADCHUNK" if kind == "b" else "CF.LOADCHUNK"
            self.assertEqual(self.do(command, name or key, position, data), b"OK")

    def tables(self, kind):
        header, *rest = [data for _, data in self.chunks[kind]]
        return header, b"".join(rest)

    def test_a_snapshot_of_redisbloom_is_loaded(self):
        server = start()
        with server.client() as client:
            self.expect_answers(client)
            self.assertEqual(client.type("b"), b"MBbloom--")
            self.assertEqual(client.type("c"), b"MBbloomCF")
        server.stop()

    def expect_answers(self, client):
        self.assertEqual(client.execute_command("BF.MEXISTS", "b", *ITEMS), [1] * 3000)
        self.assertEqual(client.execute_command("CF.MEXISTS", "c", *LEFT), [1] * 2950)

    def test_chunks_of_redisbloom_are_loaded(self):
        self.load("b", "b")
        self.load("c", "c")
        self.expect_answers(self.r)
        self.assertEqual(self.r.type("b"), b"MBbloom--")

    def test_every_answer_is_that_of_redisbloom(self):
        self.load("b", "b")
        self.load("c", "c")
        bloom, cuckoo = Bloom(*self.tables("b")), Cuckoo(*self.tables("c"))
        asked = ITEMS + STRANGERS
        self.assertEqual(self.do("BF.MEXISTS", "b", *asked), [int(bloom.has(i)) for i in asked])
        self.assertEqual([self.do("CF.COUNT", "c", item) for item in asked],
                         [cuckoo.count(item) for item in asked])
        self.assertEqual(self.do("BF.CARD", "b"), 2976)

    def test_information_is_that_of_redisbloom(self):
        self.load("b", "b")
        self.load("c", "c")
        told = dict(zip(*[iter(self.do("BF.INFO", "b"))] * 2))
        self.assertEqual((told[b"Capacity"], told[b"Number of filters"]), (3500, 3))
        self.assertEqual((told[b"Number of items inserted"], told[b"Expansion rate"]), (2976, 2))
        self.assertEqual(float(self.do("BF.INFO", "b", "ERROR")[0]), 0.01)
        told = dict(zip(*[iter(self.do("CF.INFO", "c"))] * 2))
        self.assertEqual((told[b"Number of buckets"], told[b"Number of filters"]), (7 * 256, 7))
        self.assertEqual(told[b"Number of items inserted"], 2950)
        self.assertEqual(told[b"Number of items deleted"], 50)
        self.assertEqual((told[b"Bucket size"], told[b"Max iterations"]), (2, 20))

    def test_new_items_go_beside_it_and_the_key_keeps_its_expiry(self):
        self.load("b", "b")
        self.load("c", "c")
        self.r.expire("b", 1000)
        self.assertEqual(self.do("BF.ADD", "b", "key-7"), 0)
        self.assertEqual(self.r.type("b"), b"MBbloom--")
        new = [item for item in STRANGERS if not self.do("BF.EXISTS", "b", item)]
        added = self.do("BF.MADD", "b", *new)
        self.assertGreater(sum(added), len(new) - 60)
        self.assertEqual(self.r.type("b"), b"nidus--bf")
        self.assertGreater(self.r.ttl("b"), 900)
        self.assertEqual(self.do("BF.MEXISTS", "b", *ITEMS, *STRANGERS), [1] * 8000)
        self.assertEqual(self.do("BF.CARD", "b"), 2976 + sum(added))
        self.assertEqual(self.do("CF.INSERT", "c", "ITEMS", *STRANGERS), [1] * 5000)
        self.assertEqual(self.do("CF.ADDNX", "c", "key-100"), 0)
        before = self.do("CF.COUNT", "c", "key-100")
        self.assertEqual(self.do("CF.ADD", "c", "key-100"), 1)
        self.assertEqual(self.do("CF.COUNT", "c", "key-100"), before + 1)
        self.assertEqual(self.do("CF.MEXISTS", "c", *LEFT, *STRANGERS), [1] * 7950)

    def test_items_are_deleted_from_an_untouched_filter_only(self):
        self.load("c", "c")
        before = self.do("CF.COUNT", "c", "key-100")
        self.assertEqual(self.do("CF.DEL", "c", "key-100"), 1)
        self.assertEqual(self.do("CF.COUNT", "c", "key-100"), before - 1)
        self.assertEqual(self.do("CF.MDEL", "c", *LEFT[100:200]), [1] * 100)
        self.assertEqual(self.do("CF.MEXISTS", "c", *LEFT[200:]), [1] * 2750)
        self.assertEqual(self.r.type("c"), b"MBbloomCF")
        self.do("DEBUG", "RELOAD")
        self.assertEqual(self.do("CF.MEXISTS", "c", *LEFT[200:]), [1] * 2750)
        self.do("CF.ADD", "c", "new")
        for words in (("CF.DEL", "c", "key-2000"), ("CF.MDEL", "c", "new")):
            with self.assertRaises(redis.exceptions.ResponseError) as caught:
                self.do(*words)
            self.assertIn("nothing can be deleted", str(caught.exception))
        self.assertEqual(self.do("CF.EXISTS", "c", "key-2000"), 1)

    def test_what_cannot_be_done_with_it_is_told(self):
        self.load("c", "c")
        self.do("CF.ADD", "d", "x")
        self.refused("a filter of RedisBloom cannot be merged", "CF.MERGE", "d", "c")
        self.refused("a filter of RedisBloom cannot be merged", "CF.MERGE", "c", "d")
        self.assertEqual(self.do("CF.COMPACT", "c"), b"OK")
        self.refused("item exists", "CF.RESERVE", "c", 100)
        self.assertIn(b"redisbloom", self.do("NIDUS.INFO", "c")[1])

    def test_it_survives_snapshots_rewrites_copies_and_our_own_chunks(self):
        for touched in (False, True):
            self.r.flushall()
            self.load("b", "b")
            self.load("c", "c")
            if touched:
                self.do("BF.MADD", "b", *STRANGERS)
                self.do("CF.INSERT", "c", "ITEMS", *STRANGERS)
            before = [self.digest(key) for key in "bc"]
            self.do("DEBUG", "RELOAD")
            self.assertEqual([self.digest(key) for key in "bc"], before)
            self.do("COPY", "b", "b2")
            self.do("COPY", "c", "c2")
            self.assertEqual([self.digest(key) for key in ("b2", "c2")], before)
            for key, kind in (("b", "BF"), ("c", "CF")):
                position = 0
                while True:
                    position, data = self.do(f"{kind}.SCANDUMP", key, position)
                    if position == 0:
                        break
                    self.do(f"{kind}.LOADCHUNK", key + "3", position, data)
                self.r.restore(key + "4", 0, self.r.dump(key))
                self.assertEqual(self.r.type(key + "3"), self.r.type(key))
            self.assertEqual([self.digest(key) for key in ("b3", "c3", "b4", "c4")], before * 2)
            server = servers.Server("--appendonly", "yes", "--aof-use-rdb-preamble", "no")
            with server.client() as client:
                for key in "bc":
                    client.restore(key, 0, self.r.dump(key))
                client.bgrewriteaof()
                servers.wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"]
                                 and not client.info("persistence")["aof_rewrite_scheduled"],
                                 "the rewrite")
                server.restart()
                self.assertEqual([self.digest(key, client) for key in "bc"], before)
            server.stop()

    def test_replicas_and_the_aof_get_the_same_filter_beside_it(self):
        master = start("--appendonly", "yes", "--aof-use-rdb-preamble", "yes")
        replica = servers.Server("--replicaof", "127.0.0.1", str(master.port),
                                 "--repl-diskless-sync-delay", "0")
        here, there = master.client(), replica.client()
        if not here.exists("b"):  # the AOF has precedence over the snapshot
            for key in "bc":
                for position, data in self.chunks[key]:
                    here.execute_command("BF.LOADCHUNK" if key == "b" else "CF.LOADCHUNK", key,
                                         position, data)
        servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "link")
        here.execute_command("BF.ADD", "b", "new item")
        here.execute_command("CF.INSERT", "c", "ITEMS", *STRANGERS)
        here.wait(1, 0)
        before = [self.digest(key, here) for key in "bc"]
        self.assertEqual([self.digest(key, there) for key in "bc"], before)
        master.restart()
        self.assertEqual([self.digest(key, here) for key in "bc"], before)
        here.close()
        there.close()
        replica.stop()
        master.stop()

    def test_odd_numbers_of_a_header_reach_replicas_as_they_are(self):
        replica = servers.Server("--replicaof", "127.0.0.1", str(self.server.port),
                                 "--repl-diskless-sync-delay", "0")
        there = replica.client()
        servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "link")
        bloom = struct.pack("<QIII", 3, 1, 5, 0) + struct.pack("<QQQddIQB", 16, 128, 3, 1e-9, 10.0, 7, 0, 0)
        cuckoo = struct.pack("<QQQQHHH", 5, 8, 0, 1, 300, 0, 40000)
        self.do("BF.LOADCHUNK", "b", 1, bloom)
        self.do("BF.LOADCHUNK", "b", 17, bytes(16))
        self.do("CF.LOADCHUNK", "c", 1, cuckoo)
        self.do("CF.LOADCHUNK", "c", 2401, bytes(2400))
        self.do("BF.ADD", "b", "x")
        self.do("CF.ADD", "c", "x")
        self.r.wait(1, 0)
        for key in "bc":
            self.assertEqual(self.digest(key, there), self.digest(key), key)
            self.assertEqual(there.type(key), b"nidus--" + key.encode() + b"f")
        there.close()
        replica.stop()

    def test_adds_of_an_aof_of_redisbloom_make_filters_and_the_same_each_time(self):
        server = servers.Server("--appendonly", "yes")
        server.stop()
        commands = [("BF.ADD", "b", item) for item in ITEMS] + [("CF.ADD", "c", i) for i in ITEMS]
        folder = os.path.join(server.folder, "appendonlydir")
        (path,) = [name for name in os.listdir(folder) if name.endswith(".incr.aof")]
        with open(os.path.join(folder, path), "ab") as file:
            for words in (("SELECT", "0"), *commands):
                file.write(b"*%d\r\n" % len(words))
                for word in words:
                    file.write(b"$%d\r\n%s\r\n" % (len(word), word.encode()))
        server.start()
        with server.client() as client:
            self.assertEqual(client.execute_command("BF.MEXISTS", "b", *ITEMS), [1] * 3000)
            self.assertEqual(client.execute_command("CF.MEXISTS", "c", *ITEMS), [1] * 3000)
            client.execute_command("BF.MADD", "b", *STRANGERS)
            client.execute_command("CF.ADD", "new", "x")
            before = [self.digest(key, client) for key in ("b", "c", "new")]
            server.restart()
            self.assertEqual([self.digest(key, client) for key in ("b", "c", "new")], before)
            self.assertEqual(client.execute_command("BF.MEXISTS", "b", *STRANGERS), [1] * 5000)
        server.stop()

    def test_an_unfinished_load_survives_and_goes_on(self):
        for kind, command in (("b", "BF"), ("c", "CF")):
            header, tables = self.tables(kind)
            self.do(f"{command}.LOADCHUNK", kind, 1, header)
            for start_at in range(0, len(tables), 1000):
                self.do("DEBUG", "RELOAD")
                with self.assertRaises(redis.exceptions.ResponseError):
                    self.do(f"{command}.EXISTS", kind, "x")
                piece = tables[start_at:start_at + 1000]
                self.refused("Invalid position", f"{command}.LOADCHUNK", kind, start_at + 2, piece)
                self.do(f"{command}.LOADCHUNK", kind, 1 + start_at + len(piece), piece)
        self.expect_answers(self.r)

    def test_headers_that_make_no_sense_are_refused_before_memory_is_taken(self):
        random = servers.chance()
        before = self.r.info("memory")["used_memory"]
        for kind, command, error in (("b", "BF", "received bad data"), ("c", "CF", "Invalid header")):
            header, _ = self.tables(kind)
            for size in range(len(header)):
                self.refused(error, f"{command}.LOADCHUNK", "x", 1, header[:size])
            for _ in range(2000):
                damaged = bytearray(header)
                for _ in range(random.randrange(1, 4)):
                    damaged[random.randrange(len(header))] = random.choice((0, 1, 127, 128, 255))
                try:
                    self.do(f"{command}.LOADCHUNK", "x", 1, bytes(damaged))
                    self.do("DEL", "x")
                except redis.exceptions.ResponseError:
                    pass
        servers.wait_for(lambda: self.r.info("memory")["used_memory"] - before < 2**22,
                         "memory of filters that were deleted")

    def test_damaged_snapshots_are_refused(self):
        from persistence import crc64
        random = servers.chance()
        self.load("b", "b")
        self.load("c", "c")
        for key in "bc":
            payload = self.r.dump(key)
            for _ in range(100 if servers.SMALL else 500):
                body = bytearray(payload[:-10])
                body[random.randrange(10, 60)] = random.randrange(256)
                data = bytes(body) + payload[-10:-8] + crc64(bytes(body) + payload[-10:-8])
                try:
                    self.r.restore("damaged", 0, data, replace=True)
                    self.do("BF.ADD" if key == "b" else "CF.ADD", "damaged", "x")
                except redis.exceptions.ResponseError:
                    pass
                self.assertTrue(self.r.ping())

    def test_a_filter_that_does_not_grow_takes_what_it_has_room_for(self):
        header, tables = self.tables("b")
        header = bytearray(header)
        struct.pack_into("<I", header, 12, 13)
        self.do("BF.LOADCHUNK", "f", 1, bytes(header))
        self.do("BF.LOADCHUNK", "f", 1 + len(tables), tables)
        reply = self.do("BF.INSERT", "f", "ITEMS", *STRANGERS)
        self.assertEqual(sum(1 for answer in reply if answer == 1), 3500 - 2976)
        refused = [item for item, answer in zip(STRANGERS, reply) if answer not in (0, 1)]
        self.refused("non scaling filter is full", "BF.ADD", "f", refused[0])
        self.assertEqual(self.do("BF.MEXISTS", "f", *ITEMS), [1] * 3000)


if __name__ == "__main__":
    servers.main()
