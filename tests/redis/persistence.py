# SPDX-License-Identifier: MIT
"""Snapshots, the AOF, RESTORE and dumps in chunks: filters come back byte for byte, or not at all."""
import redis

import servers

KEYS = ("cf", "cf-small", "bf", "bf-fixed", "growing")


def fill(do):
    """Filters of several kinds, one of them amid growth."""
    do("CF.RESERVE", "cf", 1000, "ERROR", 0.0001, "FAMILY", "cuckoo")
    do("CF.INSERT", "cf", "ITEMS", *range(3000))
    do("CF.MDEL", "cf", *range(100))
    do("CF.ADD", "cf-small", "heron")
    do("BF.RESERVE", "bf", 0.001, 200)
    do("BF.MADD", "bf", *range(5000))
    do("BF.RESERVE", "bf-fixed", 0.001, 200, "NONSCALING", "FAMILY", "bloom")
    do("BF.MADD", "bf-fixed", *range(150))
    do("CF.RESERVE", "growing", 1000)
    do("CF.INSERT", "growing", "ITEMS", *range(1100))


def expect_items(test, do):
    test.assertEqual(do("CF.MEXISTS", "cf", *range(100, 3000)), [1] * 2900)
    test.assertEqual(do("CF.EXISTS", "cf-small", "heron"), 1)
    test.assertEqual(do("BF.MEXISTS", "bf", *range(5000)), [1] * 5000)
    test.assertEqual(do("BF.MEXISTS", "bf-fixed", *range(150)), [1] * 150)
    test.assertEqual(do("CF.MEXISTS", "growing", *range(1100)), [1] * 1100)


class Persistence(servers.Test):
    def digests(self):
        return [self.digest(key) for key in KEYS]

    def expect_back(self, before):
        self.assertEqual(self.digests(), before)
        expect_items(self, self.do)

    def test_snapshots_bring_everything_back(self):
        fill(self.do)
        before = self.digests()
        self.do("DEBUG", "RELOAD")
        self.expect_back(before)

    def test_a_filter_goes_on_after_a_reload_as_it_would_have_without(self):
        for key, family in (("a", "windowed"), ("b", "breadcrumb"), ("c", "cuckoo")):
            self.do("CF.RESERVE", key, 1000, "FAMILY", family)
            self.do("COPY", key, key + "2")
        for start in range(0, 8000, 1000):
            for key in "abc":
                self.do("CF.INSERT", key, "ITEMS", *range(start, start + 1000))
            self.do("DEBUG", "RELOAD")
        for start in range(0, 8000, 1000):
            for key in "abc":
                self.do("CF.INSERT", key + "2", "ITEMS", *range(start, start + 1000))
        for key in "abc":
            self.assertEqual(self.digest(key), self.digest(key + "2"), key)

    def test_a_rewritten_aof_brings_everything_back(self):
        for preamble in ("no", "yes"):
            server = servers.Server("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
            client = server.client()
            fill(client.execute_command)
            before = [self.digest(key, client) for key in KEYS]
            client.bgrewriteaof()
            servers.wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"] and
                             not client.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
            client.execute_command("CF.ADD", "cf-small", "crane")
            before[1] = self.digest("cf-small", client)
            server.restart()
            expect_items(self, client.execute_command)
            self.assertEqual([self.digest(key, client) for key in KEYS], before)
            client.close()
            server.stop()

    def test_an_aof_without_rewrite_brings_everything_back(self):
        server = servers.Server("--appendonly", "yes")
        client = server.client()
        fill(client.execute_command)
        before = [self.digest(key, client) for key in KEYS]
        server.restart()
        self.assertEqual([self.digest(key, client) for key in KEYS], before)
        expect_items(self, client.execute_command)
        client.execute_command("CF.ADD", "new", "x")  # the seed is that of before
        client.execute_command("CF.MERGE", "merged", "new", "cf-small")
        client.close()
        server.stop()

    def test_filters_made_after_a_restart_merge_with_older_ones(self):
        server = servers.Server("--save", "10000 10000")
        client = server.client()
        client.execute_command("CF.ADD", "old", "a")
        client.save()
        server.restart()
        client.execute_command("CF.ADD", "new", "b")
        client.execute_command("CF.MERGE", "all", "old", "new")
        self.assertEqual(client.execute_command("CF.MEXISTS", "all", "a", "b"), [1, 1])
        client.close()
        server.stop()

    def test_damaged_payloads_are_refused(self):
        random = servers.chance()
        fill(self.do)
        self.r.config_set("sanitize-dump-payload", "no")
        tries = 150 if servers.SMALL else 600
        for key in KEYS:
            payload = self.r.dump(key)
            self.r.restore("copy", 0, payload, replace=True)
            self.assertEqual(self.digest("copy"), self.digest(key))
            for _ in range(tries // len(KEYS)):
                self.restore_damaged(random, payload)
        expect_items(self, self.do)

    def restore_damaged(self, random, payload):
        """Flips bits or cuts, with the server's own checksum put right, which only DEBUG can do."""
        body = bytearray(payload[:-10])
        what = random.randrange(3)
        if what == 0:
            body[random.randrange(1, len(body))] ^= 1 << random.randrange(8)
        elif what == 1:
            del body[random.randrange(1, len(body)):]
        else:
            at = random.randrange(1, len(body))
            body[at:at + 8] = random.randbytes(8)
        data = bytes(body) + payload[-10:-8] + crc64(bytes(body) + payload[-10:-8])
        try:
            self.r.restore("damaged", 0, data, replace=True)
        except redis.exceptions.ResponseError:
            self.assertTrue(self.r.ping())
            return
        # Bits that nothing depends on, or the server's compression hides it: whatever was
        # taken must be a filter that works.
        kind = "CF" if self.r.type("damaged") == b"nidus--cf" else "BF"
        try:
            self.do(f"{kind}.ADD", "damaged", "x")
        except redis.exceptions.ResponseError:
            pass
        self.r.delete("damaged")


def crc64(data):
    """The checksum of DUMP: CRC-64/Jones, reflected, starting from 0."""
    crc = 0
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc.to_bytes(8, "little")


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x95AC9329AC4BC9B5 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc_table()


class Chunks(servers.Test):
    def chunks(self, key, kind="CF"):
        position, chunks = 0, []
        while True:
            position, data = self.do(f"{kind}.SCANDUMP", key, position)
            if position == 0:
                self.assertEqual(data, None if kind == "CF" else b"")
                return chunks
            self.assertLessEqual(len(data), 16 << 20)
            chunks.append((position, data))

    def load(self, key, chunks, kind="CF"):
        for position, data in chunks:
            self.assertEqual(self.do(f"{kind}.LOADCHUNK", key, position, data), b"OK")

    def test_filters_travel_in_chunks(self):
        fill(self.do)
        for key in KEYS:
            kind = key[:2].upper().replace("GR", "CF")
            chunks = self.chunks(key, kind)
            self.assertEqual([position % 2**24 for position, _ in chunks], [1, 2])
            self.load("other", chunks, kind)
            self.assertEqual(self.digest("other"), self.digest(key))
            self.r.delete("other")

    def test_a_large_filter_takes_several_chunks(self):
        self.do("CF.RESERVE", "f", 2**24)
        self.do("CF.INSERT", "f", "ITEMS", *range(10000))
        chunks = self.chunks("f")
        self.assertGreater(len(chunks), 2)
        self.load("g", chunks)
        self.assertEqual(self.digest("g"), self.digest("f"))

    def test_a_filter_that_changes_amid_a_dump_is_told_and_nothing_is_lost(self):
        self.do("CF.RESERVE", "f", 2**23)
        self.do("CF.INSERT", "f", "ITEMS", *range(1000))
        changed = ("the filter has changed since the dump began: COPY the key, dump the copy from "
                   "iterator 0, and delete it")
        for words in (("CF.ADD", "f", "x"), ("CF.DEL", "f", "x"), ("CF.MERGE", "f", "g"),
                      ("CF.INSERT", "f", "ITEMS", "y", "z")):
            self.do("CF.RESERVE", "g", 2**23) if not self.r.exists("g") else None
            position, _ = self.do("CF.SCANDUMP", "f", 0)
            position, _ = self.do("CF.SCANDUMP", "f", position)
            self.do(*words)
            self.refused(changed, "CF.SCANDUMP", "f", position)
        self.do("CF.EXISTS", "f", 1)
        self.do("CF.ADDNX", "f", 1)
        self.r.copy("f", "copy")
        chunks = self.chunks("copy")
        self.do("CF.ADD", "f", "meanwhile")
        self.load("loaded", chunks)
        self.assertEqual(self.digest("loaded"), self.digest("copy"))
        position, _ = self.do("CF.SCANDUMP", "copy", 0)
        self.do("DEBUG", "RELOAD")  # what did not change goes on
        self.do("CF.SCANDUMP", "copy", position)

    def test_an_unfinished_load_survives_a_snapshot_and_goes_on(self):
        self.do("CF.INSERT", "f", "ITEMS", *range(2000))
        chunks = self.chunks("f")
        _, image = chunks[1]
        third = len(image) // 3
        parts = [(1, chunks[0][1])]
        for start, end in ((0, third), (third, 2 * third), (2 * third, len(image))):
            parts.append((2, image[start:end]))
        for i, part in enumerate(parts):
            self.load("g", [part])
            self.do("DEBUG", "RELOAD")
            if i < 3:
                unfinished = "this filter is incomplete: more chunks are to be loaded"
                self.refused(unfinished, "CF.EXISTS", "g", 1)
                self.refused(unfinished, "CF.ADD", "g", 1)
                self.refused(unfinished, "CF.SCANDUMP", "g", 0)
                self.refused("Invalid position", "CF.LOADCHUNK", "g", 3, "xyz")
        self.assertEqual(self.do("CF.MEXISTS", "g", *range(2000)), [1] * 2000)
        self.assertEqual(self.digest("g"), self.digest("f"))

    def test_an_unfinished_load_survives_a_rewritten_aof(self):
        server = servers.Server("--appendonly", "yes", "--aof-use-rdb-preamble", "no")
        client = server.client()
        self.do("CF.INSERT", "f", "ITEMS", *range(2000))
        (_, header), (end, image) = self.chunks("f")
        client.execute_command("CF.LOADCHUNK", "g", 1, header)
        client.execute_command("CF.LOADCHUNK", "g", 2, image[:100])
        client.bgrewriteaof()
        servers.wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"] and
                         not client.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
        server.restart()
        client.execute_command("CF.LOADCHUNK", "g", end, image[100:])
        self.assertEqual(self.digest("g", client), self.digest("f"))
        client.close()
        server.stop()

    def test_what_is_no_chunk_is_refused(self):
        self.do("CF.INSERT", "f", "ITEMS", *range(100))
        (_, header), (end, image) = self.chunks("f")
        self.refused("Invalid header", "CF.LOADCHUNK", "g", 1, "rubbish")
        for at in range(0, len(header), 5):
            damaged = bytearray(header)
            damaged[at] ^= 16
            self.refused("Invalid header", "CF.LOADCHUNK", "g", 1, bytes(damaged))
        self.refused("received bad data", "BF.LOADCHUNK", "g", 1, header)
        self.refused("not found", "CF.LOADCHUNK", "g", end, image)
        self.refused("item exists", "CF.LOADCHUNK", "f", 1, header)
        self.refused("Invalid position", "CF.LOADCHUNK", "f", end, image)
        self.refused("Invalid position", "CF.LOADCHUNK", "f", "x", image)
        self.refused("Second argument must be numeric", "BF.SCANDUMP", "b", "x")
        for at in range(0, len(image), len(image) // 50):
            damaged = bytearray(image)
            damaged[at] ^= 1
            self.load("g", [(1, header)])
            self.refused("Invalid position", "CF.LOADCHUNK", "g", end - 1, image)
            self.refused("Couldn't load chunk!", "CF.LOADCHUNK", "g", end, bytes(damaged))
            self.assertEqual(self.r.exists("g"), 0)
        for position in (-1, end + 1, 2**62):
            self.refused("Invalid position", "CF.SCANDUMP", "f", position)


if __name__ == "__main__":
    servers.main()
