# SPDX-License-Identifier: MIT
"""What the commands answer, in RESP2 and RESP3, and their error texts."""
import servers

NOT_A_NUMBER = "seven"


class Cuckoo(servers.Test):
    def test_reserve_answers_ok_once(self):
        self.assertEqual(self.do("CF.RESERVE", "f", 1000), b"OK")
        self.refused("item exists", "CF.RESERVE", "f", 1000)

    def test_items_are_added_found_counted_and_deleted(self):
        self.assertEqual(self.do("CF.ADD", "f", "heron"), 1)
        self.assertEqual(self.do("CF.ADD", "f", "heron"), 1)
        self.assertEqual(self.do("CF.EXISTS", "f", "heron"), 1)
        self.assertEqual(self.do("CF.EXISTS", "f", "crane"), 0)
        self.assertEqual(self.do("CF.COUNT", "f", "heron"), 2)
        self.assertEqual(self.do("CF.ADDNX", "f", "heron"), 0)
        self.assertEqual(self.do("CF.ADDNX", "f", "crane"), 1)
        self.assertEqual(self.do("CF.DEL", "f", "heron"), 1)
        self.assertEqual(self.do("CF.COUNT", "f", "heron"), 1)
        self.assertEqual(self.do("CF.DEL", "f", "heron"), 1)
        self.assertEqual(self.do("CF.DEL", "f", "heron"), 0)
        self.assertEqual(self.do("CF.EXISTS", "f", "crane"), 1)

    def test_lists_of_items(self):
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", "a", "b", "a"), [1, 1, 1])
        self.assertEqual(self.do("CF.INSERTNX", "f", "ITEMS", "a", "c", "c"), [0, 1, 0])
        self.assertEqual(self.do("CF.MEXISTS", "f", "a", "b", "c", "d"), [1, 1, 1, 0])
        self.assertEqual(self.do("CF.MDEL", "f", "a", "d", "a", "a"), [1, 0, 1, 0])
        self.refused("not found", "CF.INSERT", "g", "NOCREATE", "ITEMS", "a")
        many = [str(i) for i in range(1000)]
        self.assertEqual(self.do("CF.INSERT", "g", "CAPACITY", 2000, "ITEMS", *many), [1] * 1000)
        self.assertEqual(self.do("CF.MEXISTS", "g", *many), [1] * 1000)

    def test_a_missing_key_has_no_items(self):
        self.assertEqual(self.do("CF.EXISTS", "f", "a"), 0)
        self.assertEqual(self.do("CF.MEXISTS", "f", "a", "b"), [0, 0])
        self.assertEqual(self.do("CF.COUNT", "f", "a"), 0)
        self.refused("Not found", "CF.DEL", "f", "a")
        self.refused("Not found", "CF.MDEL", "f", "a")
        self.refused("Cuckoo filter was not found", "CF.COMPACT", "f")
        self.refused("not found", "CF.INFO", "f")
        self.refused("not found", "CF.SCANDUMP", "f", 0)
        self.assertEqual(self.r.exists("f"), 0)

    def test_info_is_a_flat_list_of_eight_pairs(self):
        self.do("CF.RESERVE", "f", 1000, "BUCKETSIZE", 4, "MAXITERATIONS", 30, "EXPANSION", 3)
        self.do("CF.INSERT", "f", "ITEMS", "a", "b")
        self.do("CF.DEL", "f", "a")
        reply = self.do("CF.INFO", "f")
        info = dict(zip(reply[::2], reply[1::2]))
        self.assertEqual(len(reply), 16)
        self.assertEqual(reply[0], b"Size")
        self.assertEqual(info[b"Number of filters"], 1)
        self.assertEqual(info[b"Number of items inserted"], 1)
        self.assertEqual(info[b"Number of items deleted"], 1)
        self.assertEqual((info[b"Bucket size"], info[b"Max iterations"]), (4, 30))
        self.assertEqual(info[b"Expansion rate"], 3)
        self.assertGreater(info[b"Number of buckets"], 0)

    def test_errors_of_reserve(self):
        self.refused("Bad capacity", "CF.RESERVE", "f", NOT_A_NUMBER)
        bounds = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
        for capacity in (-1, 0, 3, 2**30 + 1, 2**62):
            self.refused(bounds, "CF.RESERVE", "f", capacity)
        self.refused(bounds, "CF.RESERVE", "f", 100, "BUCKETSIZE", 51)
        for name, low, high in (("BUCKETSIZE", 1, 255), ("MAXITERATIONS", 1, 65535),
                                ("EXPANSION", 0, 32768)):
            self.refused(f"Couldn't parse {name}", "CF.RESERVE", "f", 1000, name, NOT_A_NUMBER)
            for value in (low - 1, high + 1):
                self.refused(f"{name}: value must be in the range [{low}, {high}]",
                             "CF.RESERVE", "f", 1000, name, value)
        self.refused("Unknown argument received", "CF.RESERVE", "f", 1000, "COLOUR", "red")
        self.refused("Unknown argument received", "CF.RESERVE", "f", 1000, "EXPANSION")
        self.refused("ERROR: value must be in the range (0.000000, 1.000000)",
                     "CF.RESERVE", "f", 1000, "ERROR", 0)
        self.refused("ERROR: value must be at least 2^-32 (0.000000000233)",
                     "CF.RESERVE", "f", 1000, "ERROR", 2**-33)
        self.refused("Couldn't parse ERROR", "CF.RESERVE", "f", 1000, "ERROR", "small")
        self.refused("FAMILY: this one cannot delete; it is for BF.* only",
                     "CF.RESERVE", "f", 1000, "FAMILY", "bloom")
        self.refused("Couldn't parse SEED", "CF.RESERVE", "f", 1000, "SEED", "-1")
        self.refused("Couldn't parse SEED", "CF.RESERVE", "f", 1000, "SEED", 2**64)
        self.refused("MAXCAPACITY: value must be at least the capacity",
                     "CF.RESERVE", "f", 1000, "MAXCAPACITY", 999)
        self.assertEqual(self.r.exists("f"), 0)

    def test_every_family_that_deletes_can_be_chosen(self):
        for family in ("cuckoo", "semisort", "simplified", "chunked", "bucketed", "windowed",
                       "breadcrumb"):
            self.do("CF.RESERVE", family, 1000, "FAMILY", family)
            self.do("CF.INSERT", family, "ITEMS", *range(1000))
            self.assertEqual(self.do("CF.MEXISTS", family, *range(1000)), [1] * 1000)
            self.assertEqual(self.do("NIDUS.INFO", family)[1], family.encode())

    def test_wrong_numbers_of_arguments_are_refused(self):
        for name in ("RESERVE", "ADD", "ADDNX", "INSERT", "INSERTNX", "EXISTS", "MEXISTS", "COUNT",
                     "DEL", "MDEL", "COMPACT", "MERGE", "INFO", "SCANDUMP", "LOADCHUNK"):
            command = "CF." + name
            self.refused(f"wrong number of arguments for '{command.lower()}' command", command)
        self.refused("wrong number of arguments for 'cf.insert' command",
                     "CF.INSERT", "f", "NOCREATE", "ITEMS")

    def test_other_types_are_refused(self):
        wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
        self.r.set("s", "x")
        self.do("BF.ADD", "b", "x")
        for key in ("s", "b"):
            for words in (("RESERVE", key, 100), ("ADD", key, "x"), ("EXISTS", key, "x"),
                          ("INFO", key), ("DEL", key, "x"), ("COMPACT", key), ("MERGE", key, "f"),
                          ("MERGE", "f", key), ("SCANDUMP", key, 0), ("LOADCHUNK", key, 1, "x")):
                self.refused(wrong, "CF." + words[0], *words[1:])
        self.refused(wrong, "NIDUS.INFO", "s")

    def test_a_fixed_filter_becomes_full(self):
        self.do("CF.RESERVE", "f", 100, "EXPANSION", 0)
        most = self.most("f")
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", *range(most)), [1] * most)
        self.refused("Filter is full", "CF.ADD", "f", "one more")
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", "one more", "and more"), [-1, -1])
        self.assertEqual(self.do("CF.INSERTNX", "f", "ITEMS", "0"), [0])
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(most)), [1] * most)
        self.do("CF.DEL", "f", "7")
        self.assertEqual(self.do("CF.ADD", "f", "one more"), 1)

    def test_a_growing_filter_ends_at_its_max_capacity(self):
        self.do("CF.RESERVE", "f", 100, "MAXCAPACITY", 1000)
        most = self.most("f")
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", *range(most)), [1] * most)
        self.refused("Maximum expansions reached", "CF.ADD", "f", "one more")
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(most)), [1] * most)

    def most(self, key):
        reply = self.do("NIDUS.INFO", key)
        return dict(zip(reply[::2], reply[1::2]))[b"Most items"]

    def test_compact_gives_memory_back(self):
        self.do("CF.RESERVE", "f", 100)
        self.do("CF.INSERT", "f", "ITEMS", *range(10000))
        before = self.r.memory_usage("f")
        self.do("CF.MDEL", "f", *range(50, 10000))
        self.assertEqual(self.do("CF.COMPACT", "f"), b"OK")
        self.assertLess(self.r.memory_usage("f"), before / 8)
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(50)), [1] * 50)

    def test_filters_of_one_server_merge(self):
        for i, key in enumerate("abc"):
            self.do("CF.INSERT", key, "ITEMS", *range(1000 * i, 1000 * i + 1100))
        self.assertEqual(self.do("CF.MERGE", "all", "a", "b", "c"), b"OK")
        self.assertEqual(self.do("CF.MEXISTS", "all", *range(3100)), [1] * 3100)
        self.assertEqual(self.do("CF.COUNT", "all", 1050), 2)
        self.assertEqual(self.do("CF.MERGE", "a", "b"), b"OK")
        self.assertEqual(self.do("CF.MEXISTS", "a", *range(2100)), [1] * 2100)
        self.assertEqual(self.do("CF.MERGE", "a", "a"), b"OK")
        self.assertEqual(self.do("CF.COUNT", "a", 5), 1)
        self.refused("not found", "CF.MERGE", "a", "nothing")
        self.do("CF.ADD", "a", "goes on")
        self.assertEqual(self.do("CF.EXISTS", "a", "goes on"), 1)

    def test_filters_of_different_capacities_merge(self):
        capacities = 4, 500, 1024, 20000, 300000
        for group in "CF", "BF":
            for capacity in capacities:
                options = (f"{group}{capacity}", capacity) if group == "CF" else (f"{group}{capacity}", 0.01, capacity)
                self.do(group + ".RESERVE", *options)
                items = range(capacity, capacity + 3)
                self.do(group + ".INSERT", options[0], "ITEMS", *items)
            self.do(group + ".MERGE", group, *(f"{group}{capacity}" for capacity in capacities))
            items = [item for capacity in capacities for item in range(capacity, capacity + 3)]
            self.assertEqual(self.do(group + ".MEXISTS", group, *items), [1] * len(items))

    def test_filters_without_a_size(self):
        for key, capacity in (("a", 4), ("b", 500), ("c", 20000)):
            self.do("CF.RESERVE", key, capacity, "MAXCAPACITY", 0)
        self.do("CF.INSERT", "a", "ITEMS", *range(3000))
        self.do("CF.INSERT", "b", "ITEMS", *range(2000, 5000))
        self.assertEqual(self.most("a"), 2**63 - 1)
        self.do("CF.MERGE", "c", "a", "b")
        self.assertEqual(self.do("CF.MEXISTS", "c", *range(5000)), [1] * 5000)
        self.assertEqual(self.do("CF.MDEL", "c", *range(5000)), [1] * 5000)
        self.assertEqual(self.do("CF.COUNT", "c", 2500), 1)
        self.do("BF.RESERVE", "d", 0.01, 100, "MAXCAPACITY", 0)
        self.do("BF.MADD", "d", *range(3000))
        for key in "acd":
            before, dump = self.digest(key), self.r.dump(key)
            self.r.delete(key)
            self.r.restore(key, 0, dump)
            self.assertEqual(self.digest(key), before)
            self.assertEqual(self.most(key), 2**63 - 1)

    def test_filters_without_a_size_are_refused_where_that_cannot_be(self):
        for family in "cuckoo", "semisort", "simplified", "chunked":
            with self.assertRaises(servers.redis.exceptions.ResponseError) as caught:
                self.do("CF.RESERVE", "f", 100, "FAMILY", family, "MAXCAPACITY", 0)
            self.assertIn("unlimited size cannot remove", str(caught.exception))
        fixed = "MAXCAPACITY: this filter does not grow (NONSCALING or EXPANSION 0)"
        self.refused(fixed, "CF.RESERVE", "f", 100, "EXPANSION", 0, "MAXCAPACITY", 0)
        self.refused(fixed, "BF.RESERVE", "f", 0.01, 100, "NONSCALING", "MAXCAPACITY", 0)
        self.assertEqual(self.r.exists("f"), 0)

    def test_filters_that_do_not_fit_are_left_alone(self):
        self.do("CF.RESERVE", "a", 1000, "SEED", 1)
        self.do("CF.RESERVE", "b", 1000, "SEED", 2)
        self.do("CF.ADD", "a", "x")
        before = self.digest("a")
        with self.assertRaises(servers.redis.exceptions.ResponseError) as caught:
            self.do("CF.MERGE", "a", "b")
        self.assertIn("seed", str(caught.exception))
        self.assertEqual(self.digest("a"), before)


class Bloom(servers.Test):
    def test_items_are_added_and_found(self):
        self.assertEqual(self.do("BF.RESERVE", "f", 0.001, 1000), b"OK")
        self.refused("item exists", "BF.RESERVE", "f", 0.001, 1000)
        self.assertEqual(self.do("BF.ADD", "f", "heron"), 1)
        self.assertEqual(self.do("BF.ADD", "f", "heron"), 0)
        self.assertEqual(self.do("BF.MADD", "f", "heron", "crane", "crane"), [0, 1, 0])
        self.assertEqual(self.do("BF.EXISTS", "f", "crane"), 1)
        self.assertEqual(self.do("BF.MEXISTS", "f", "heron", "stork"), [1, 0])
        self.assertEqual(self.do("BF.INSERT", "f", "ITEMS", "stork", "heron"), [1, 0])
        self.assertEqual(self.do("BF.CARD", "f"), 3)

    def test_a_missing_key_has_no_items(self):
        self.assertEqual(self.do("BF.EXISTS", "f", "a"), 0)
        self.assertEqual(self.do("BF.MEXISTS", "f", "a", "b"), [0, 0])
        self.assertEqual(self.do("BF.CARD", "f"), 0)
        self.refused("not found", "BF.INFO", "f")
        self.refused("not found", "BF.INSERT", "f", "NOCREATE", "ITEMS", "a")

    def test_info_is_a_flat_list_of_five_pairs(self):
        self.do("BF.RESERVE", "f", 0.01, 500, "EXPANSION", 4)
        self.do("BF.MADD", "f", "a", "b")
        reply = self.do("BF.INFO", "f")
        self.assertEqual(reply[::2], [b"Capacity", b"Size", b"Number of filters",
                                      b"Number of items inserted", b"Expansion rate"])
        self.assertEqual((reply[1], reply[5], reply[7], reply[9]), (500, 1, 2, 4))
        self.assertEqual(self.do("BF.INFO", "f", "capacity"), [500])
        self.assertEqual(self.do("BF.INFO", "f", "ITEMS"), [2])
        self.assertEqual(self.do("BF.INFO", "f", "EXPANSION"), [4])
        self.refused("Invalid information value", "BF.INFO", "f", "COLOUR")
        self.do("BF.RESERVE", "g", 0.01, 500, "NONSCALING")
        self.assertIsNone(self.do("BF.INFO", "g")[9])

    def test_errors_of_reserve(self):
        self.refused("bad error rate", "BF.RESERVE", "f", "small", 100)
        for rate in (0, 1, -0.5, 2, "inf"):
            self.refused("error rate must be in the range (0.000000, 1.000000)",
                         "BF.RESERVE", "f", rate, 100)
        self.refused("error rate must be at least 2^-32 (0.000000000233)",
                     "BF.RESERVE", "f", 1e-10, 100)
        self.refused("bad capacity", "BF.RESERVE", "f", 0.1, NOT_A_NUMBER)
        for capacity in (0, -5, 2**30 + 1):
            self.refused("capacity must be in the range [1, 1073741824]",
                         "BF.RESERVE", "f", 0.1, capacity)
        self.refused("bad expansion", "BF.RESERVE", "f", 0.1, 100, "EXPANSION", NOT_A_NUMBER)
        self.refused("no expansion", "BF.RESERVE", "f", 0.1, 100, "EXPANSION")
        self.refused("expansion must be in the range [0, 32768]",
                     "BF.RESERVE", "f", 0.1, 100, "EXPANSION", 32769)
        self.refused("Nonscaling filters cannot expand",
                     "BF.RESERVE", "f", 0.1, 100, "NONSCALING", "EXPANSION", 2)
        self.refused("Unknown argument received", "BF.INSERT", "f", "COLOUR", "ITEMS", "a")
        self.refused("FAMILY: this one cannot grow; it needs NONSCALING",
                     "BF.RESERVE", "f", 0.1, 100, "FAMILY", "bloom")

    def test_every_rate_that_is_accepted_makes_a_filter_that_grows(self):
        for i, rate in enumerate((0.9, 0.3, 2**-4, 0.01, 1e-4, 1e-6, 2**-24)):
            self.do("BF.RESERVE", i, rate, 100)
            self.do("BF.MADD", i, *range(5000))
            self.assertEqual(self.do("BF.MEXISTS", i, *range(5000)), [1] * 5000)

    def test_a_nonscaling_filter_takes_what_was_asked_for(self):
        for family in ("auto", "bloom", "blocked-bloom", "windowed"):
            self.r.flushall()
            self.do("BF.RESERVE", "f", 0.001, 500, "NONSCALING", "FAMILY", family)
            while self.do("BF.CARD", "f") < 500:
                self.do("BF.ADD", "f", f"item {self.do('BF.CARD', 'f')} {self.more()}")
            self.refused("non scaling filter is full", "BF.ADD", "f", "surely new 1")
            self.assertEqual(self.do("BF.CARD", "f"), 500)
            reply = self.do("BF.INSERT", "f", "ITEMS", "surely new 1", "surely new 2")
            self.assertEqual([str(error) for error in reply], ["non scaling filter is full"] * 2)

    def more(self):
        self.counter = getattr(self, "counter", 0) + 1
        return self.counter

    def test_insert_takes_the_options_of_reserve(self):
        self.do("BF.INSERT", "f", "CAPACITY", 777, "ERROR", 0.0001, "EXPANSION", 3, "ITEMS", "a")
        self.assertEqual(self.do("BF.INFO", "f", "CAPACITY"), [777])
        self.assertEqual(self.do("BF.INFO", "f", "EXPANSION"), [3])


class Resp3(servers.Test):
    def says(self, wanted, *words):
        wanted = wanted.replace("true", "(true)").replace("false", "(false)")
        self.assertEqual(self.server.cli(*words, resp3=True), wanted)

    def test_single_answers_are_booleans(self):
        self.says("true", "CF.ADD", "f", "a")
        self.says("false", "CF.ADDNX", "f", "a")
        self.says("true", "CF.EXISTS", "f", "a")
        self.says("true", "CF.DEL", "f", "a")
        self.says("true", "BF.ADD", "g", "a")
        self.says("false", "BF.EXISTS", "g", "b")

    def test_lists_are_of_booleans_but_insertnx_counts(self):
        self.says("true\ntrue", "CF.INSERT", "f", "ITEMS", "a", "b")
        self.says("0\n1", "CF.INSERTNX", "f", "ITEMS", "a", "c")
        self.says("true\nfalse", "CF.MEXISTS", "f", "a", "d")
        self.says("true\nfalse", "BF.MADD", "g", "a", "a")
        self.do("CF.RESERVE", "h", 4, "EXPANSION", 0, "MAXCAPACITY", 4)
        answers = self.server.cli("CF.INSERT", "h", "ITEMS", *range(100), resp3=True)
        self.assertIn("-1", answers.split("\n"))

    def test_info_is_a_map(self):
        self.do("CF.ADD", "f", "a")
        self.do("BF.ADD", "g", "a")
        lines = self.server.cli("CF.INFO", "f", resp3=True).split("\n")
        self.assertEqual(len(lines), 8)
        self.assertIn("Number of items inserted 1", lines)
        self.assertEqual(len(self.server.cli("BF.INFO", "g", resp3=True).split("\n")), 5)
        self.says("Capacity 100", "BF.INFO", "g", "CAPACITY")


class Citizen(servers.Test):
    options = ("--notify-keyspace-events", "KEA")

    def test_docs_are_there(self):
        names = [line for line in self.server.cli("COMMAND", "LIST", "FILTERBY", "MODULE",
                                                  "nidus").split("\n")]
        self.assertEqual(len(names), 32)
        for name in names:
            docs = self.server.cli("COMMAND", "DOCS", name)
            self.assertIn("summary", docs, name)
            self.assertIn("arguments", docs, name)
        self.assertNotIn("no docs", self.server.log())

    def test_flags_keys_and_arity_are_told(self):
        for name, flags in (("cf.add", {"write", "denyoom", "fast"}),
                            ("cf.exists", {"readonly", "fast"}), ("cf.del", {"write", "fast"}),
                            ("bf.madd", {"write", "denyoom"})):
            told = self.server.cli("COMMAND", "INFO", name).split("\n")
            self.assertLessEqual(flags, set(told), name)
        keys = self.server.cli("COMMAND", "GETKEYS", "CF.MERGE", "a", "b", "c")
        self.assertEqual(keys, "a\nb\nc")

    def test_acl_categories_are_there_where_the_server_can(self):
        categories = self.server.cli("ACL", "CAT").split("\n")
        if "valkey" in servers.PROGRAM:
            self.assertIn("cuckoo", categories)
        if "cuckoo" in categories:
            for name, wanted in (("cf.add", {"@cuckoo", "@write", "@fast"}),
                                 ("bf.madd", {"@bloom", "@write", "@slow"}),
                                 ("cf.exists", {"@cuckoo", "@read", "@fast"})):
                told = self.server.cli("COMMAND", "INFO", name).split("\n")
                self.assertLessEqual(wanted, set(told), name)
        self.assertNotIn("no ACL categories", self.server.log())

    def test_changes_are_announced(self):
        listener = self.r.pubsub(ignore_subscribe_messages=True)
        listener.psubscribe("__keyspace@0__:f")
        listener.get_message(timeout=5)
        told = []
        for words, event in ((("CF.RESERVE", "f", 100), b"cf.reserve"),
                             (("CF.ADD", "f", "a"), b"cf.add"),
                             (("CF.INSERT", "f", "ITEMS", "b"), b"cf.insert"),
                             (("CF.DEL", "f", "a"), b"cf.del"),
                             (("CF.COMPACT", "f"), b"cf.compact")):
            self.do(*words)
            message = None
            while message is None:
                message = listener.get_message(timeout=5)
            told.append((message["data"], event))
        self.do("CF.DEL", "f", "never added")
        self.assertIsNone(listener.get_message(timeout=0.2))
        listener.close()
        self.assertEqual([got for got, _ in told], [event for _, event in told])

    def test_memory_is_the_servers_and_all_of_it_comes_back(self):
        servers.wait_for(lambda: self.info("nidus_bytes") == 0, "memory of earlier filters")
        before = self.r.info("memory")["used_memory"]
        self.do("CF.RESERVE", "f", 10**6)
        bytes_told = self.r.memory_usage("f")
        self.assertGreater(bytes_told, 10**6)
        self.assertGreater(self.r.info("memory")["used_memory"] - before, 0.9 * bytes_told)
        self.assertGreater(self.info("nidus_bytes"), 0.9 * bytes_told)
        self.assertEqual(self.info("nidus_filters"), 1)
        self.do("COPY", "f", "g")
        self.assertEqual(self.digest("f"), self.digest("g"))
        self.do("CF.ADD", "g", "x")
        self.assertNotEqual(self.digest("f"), self.digest("g"))
        self.do("CF.MERGE", "h", "f", "g")
        self.r.unlink("f")
        self.r.flushall()
        servers.wait_for(lambda: self.info("nidus_bytes") == 0, "memory of unlinked filters")
        self.assertEqual(self.info("nidus_filters"), 0)

    def info(self, field):
        return self.r.info("nidus_filters")[field]

    def test_maxmemory_is_kept(self):
        self.r.config_set("maxmemory", self.r.info("memory")["used_memory"] + 3 * 2**20)
        try:
            with self.assertRaises(servers.redis.exceptions.ResponseError) as caught:
                self.do("CF.RESERVE", "f", 2**30)
            self.assertIn("OOM", str(caught.exception))
            i = 0
            with self.assertRaises(servers.redis.exceptions.ResponseError) as caught:
                while True:
                    self.do("CF.INSERT", "f", "ITEMS", *range(i, i + 5000))
                    i += 5000
            self.assertIn("OOM", str(caught.exception))
            self.assertGreater(i, 10**5)
            self.assertEqual(self.do("CF.EXISTS", "f", 1), 1)
            self.assertEqual(self.do("CF.DEL", "f", 1), 1)
        finally:
            self.r.config_set("maxmemory", 0)

    def test_commands_work_in_transactions_and_scripts(self):
        pipe = self.r.pipeline(transaction=True)
        pipe.execute_command("CF.ADD", "f", "a")
        pipe.execute_command("CF.EXISTS", "f", "a")
        self.assertEqual(pipe.execute(), [1, 1])
        script = "redis.call('BF.ADD', KEYS[1], 'x') return redis.call('BF.EXISTS', KEYS[1], 'x')"
        self.assertEqual(self.r.eval(script, 1, "g"), 1)


if __name__ == "__main__":
    servers.main()
