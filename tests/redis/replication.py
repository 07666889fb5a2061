# SPDX-License-Identifier: MIT
"""A replica has the same filters as its master, byte for byte."""
import redis

import servers


class Replication(servers.Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.replica = servers.Server("--replicaof", "127.0.0.1", str(cls.server.port),
                                     "--repl-diskless-sync-delay", "0")
        cls.there = cls.replica.client()
        servers.wait_for(lambda: cls.there.info("replication")["master_link_status"] == "up",
                         "the link")

    @classmethod
    def tearDownClass(cls):
        cls.there.close()
        super().tearDownClass()
        cls.replica.stop()

    def expect_same(self):
        self.r.wait(1, 0)
        here = sorted(self.r.keys())
        self.assertEqual(sorted(self.there.keys()), here)
        for key in here:
            self.assertEqual(self.digest(key, self.there), self.digest(key), key)

    def test_every_change_arrives(self):
        self.do("CF.ADD", "auto", "a")
        self.do("CF.ADDNX", "auto", "b")
        self.do("CF.RESERVE", "f", 200, "ERROR", 0.001, "FAMILY", "breadcrumb", "BUCKETSIZE", 4)
        self.do("CF.INSERT", "f", "ITEMS", *range(3000))
        self.do("CF.INSERT", "new", "CAPACITY", 99, "ITEMS", 1, 2, 3)
        self.do("CF.INSERTNX", "f", "ITEMS", *range(2900, 3100))
        self.do("CF.MDEL", "f", *range(500, 2800))
        self.do("CF.COMPACT", "f")
        self.do("CF.INSERT", "auto2", "ITEMS", 4, 5)
        self.do("CF.MERGE", "merged", "auto", "auto2")
        self.do("BF.ADD", "b", 1)
        self.do("BF.RESERVE", "b2", 0.0001, 100, "EXPANSION", 3)
        self.do("BF.MADD", "b2", *range(1000))
        self.do("BF.MADD", "b2", *range(500, 1500))
        self.do("BF.INSERT", "b3", "NONSCALING", "CAPACITY", 5, "ITEMS", *range(20))
        self.do("BF.INSERT", "b4", "EXPANSION", 0, "CAPACITY", 5, "ITEMS", *range(20))
        self.r.copy("f", "copy")
        self.expect_same()

    def test_filters_without_a_size_arrive(self):
        self.do("CF.INSERT", "c", "ITEMS", *range(3000))
        self.do("BF.MADD", "b", *range(3000))
        self.do("CF.RESERVE", "large", 2 * 10**6)
        self.do("CF.ADD", "large", "x")
        self.do("CF.RESERVE", "cuckoo", 100, "FAMILY", "cuckoo")
        self.do("CF.INSERT", "cuckoo", "ITEMS", *range(3000))
        self.do("CF.INSERT", "c2", "ITEMS", *range(500))
        self.do("CF.MERGE", "merged", "c", "c2")
        self.expect_same()

    def test_a_replica_that_joins_amid_growth_stays_equal(self):
        families = ("windowed", "cuckoo", "breadcrumb", "chunked")
        for family in families:
            self.do("CF.RESERVE", family, 1000, "FAMILY", family)
            self.do("CF.INSERT", family, "ITEMS", *range(1100))
        late = servers.Server("--replicaof", "127.0.0.1", str(self.server.port),
                              "--repl-diskless-sync-delay", "0")
        client = late.client()
        servers.wait_for(lambda: client.info("replication")["master_link_status"] == "up",
                         "the late link")
        for i in range(1100, 9000, 100):
            for family in families:
                self.do("CF.INSERT", family, "ITEMS", *range(i, i + 100))
        self.r.wait(2, 0)
        for family in families:
            self.assertEqual(self.digest(family, client), self.digest(family), family)
        client.close()
        late.stop()

    def test_random_histories_leave_both_equal(self):
        random = servers.chance()
        for key, family in (("a", "auto"), ("b", "cuckoo"), ("c", "breadcrumb"), ("d", "semisort")):
            self.do("CF.RESERVE", key, 64, "FAMILY", family, "MAXCAPACITY", 5000)
        for _ in range(60 if servers.SMALL else 200):
            key = random.choice("abcd")
            items = [random.randrange(3000) for _ in range(random.randrange(1, 300))]
            command = random.choice(("CF.INSERT", "CF.INSERT", "CF.INSERTNX", "CF.MDEL",
                                     "CF.COMPACT", "CF.ADD", "CF.ADDNX", "CF.DEL"))
            words = {"CF.INSERT": ("ITEMS", *items), "CF.INSERTNX": ("ITEMS", *items),
                     "CF.MDEL": tuple(item for item in items
                                      if self.do("CF.EXISTS", key, item)) or ("none",),
                     "CF.COMPACT": ()}.get(command, (items[0],))
            try:
                self.do(command, key, *words)
            except redis.exceptions.ResponseError:
                pass
        self.expect_same()

    def test_a_filter_in_chunks_arrives(self):
        self.do("CF.INSERT", "f", "ITEMS", *range(500))
        begin, header = self.do("CF.SCANDUMP", "f", 0)
        end, image = self.do("CF.SCANDUMP", "f", begin)
        self.do("CF.LOADCHUNK", "g", 1, header)
        self.do("CF.LOADCHUNK", "g", 2, image[:50])
        self.expect_same()
        self.do("CF.LOADCHUNK", "g", end, image[50:])
        self.do("CF.LOADCHUNK", "h", 1, header)
        damaged = image[:-1] + bytes([image[-1] ^ 1])
        self.refused("Couldn't load chunk!", "CF.LOADCHUNK", "h", end, damaged)
        self.expect_same()

    def test_what_changes_nothing_is_not_replicated(self):
        self.do("BF.ADD", "b", "x")
        self.do("CF.ADD", "f", "x")
        offset = self.r.info("replication")["master_repl_offset"]
        self.do("BF.ADD", "b", "x")
        self.do("BF.MADD", "b", "x", "x")
        self.do("CF.ADDNX", "f", "x")
        self.do("CF.INSERTNX", "f", "ITEMS", "x")
        self.do("CF.DEL", "f", "y")
        self.assertLess(self.r.info("replication")["master_repl_offset"] - offset, 60)  # pings

    def test_a_promoted_replica_makes_filters_that_merge_with_the_old_ones(self):
        master = servers.Server()
        replica = servers.Server("--replicaof", "127.0.0.1", str(master.port),
                                 "--repl-diskless-sync-delay", "0")
        here, there = master.client(), replica.client()
        servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "link")
        here.execute_command("CF.ADD", "old", "a")
        here.wait(1, 0)
        master.kill()
        there.replicaof("NO", "ONE")
        there.execute_command("CF.ADD", "new", "b")
        there.execute_command("CF.MERGE", "all", "old", "new")
        self.assertEqual(there.execute_command("CF.MEXISTS", "all", "a", "b"), [1, 1])
        here.close()
        there.close()
        replica.stop()


if __name__ == "__main__":
    servers.main()
