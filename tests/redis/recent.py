# SPDX-License-Identifier: MIT
"""Filters that forget: CF.RESERVE with a WINDOW, and what replicas and files keep of it."""
import time

import redis

import servers

LONG = 10**6  # seconds: no slice of it ends while a test runs
NEVER_DELETED = ("nothing can be deleted from a filter with a WINDOW: it could take another item that "
                 "looks the same. Items go when their time is over")


def milliseconds():
    return int(time.time() * 1000)


def numbers_of(header):
    """The numbers of variable length in the header of a dump: modules/redis/dump.h."""
    numbers, shift = [0], 0
    for byte in header[14:-4]:
        numbers[-1] |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(0)
            shift = 0
    return numbers[:-1]


def with_numbers(header, numbers):
    changed = bytearray(header[:14])
    for number in numbers:
        while number >= 128:
            changed.append(number & 127 | 128)
            number >>= 7
        changed.append(number)
    checksum = 0xcbf29ce484222325
    for byte in changed:
        checksum = (checksum ^ byte) * 0x100000001b3 % 2**64
    return bytes(changed) + ((checksum ^ checksum >> 32) % 2**32).to_bytes(4, "little")


def with_since(header, since):
    numbers = numbers_of(header)
    return with_numbers(header, numbers[:6] + [since] + numbers[7:])


def with_window(header, window, slices):
    return with_numbers(header, numbers_of(header)[:10] + [window, slices])


class Recent(servers.Test):
    def info(self, key, client=None):
        reply = (client or self.r).execute_command("CF.INFO", key)
        return {name.decode(): value for name, value in zip(reply[::2], reply[1::2])}

    def gone(self, key, item, client=None):
        return (client or self.r).execute_command("CF.EXISTS", key, item) == 0

    def wait_until_gone(self, key, item, client=None):
        servers.wait_for(lambda: self.gone(key, item, client), f"{item} to be forgotten")

    def reserve_aged(self, key, slices_ago, *words, slices=4, window=3 * LONG, capacity=1000):
        """A filter whose slices are a million seconds long and began so many of them ago."""
        since = milliseconds() - slices_ago * window * 1000 // (slices - 1) - 1000
        self.do("CF.RESERVE", key, capacity, "WINDOW", window, "SLICES", slices, "SINCE", since, *words)


class Commands(Recent):
    def test_items_are_forgotten_and_what_is_refreshed_stays(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 5)
        start = last = time.monotonic()
        self.do("CF.ADD", "f", "kept")
        self.assertEqual(self.do("CF.ADD", "f", "once"), 1)
        while not self.gone("f", "once"):
            last = time.monotonic()
            self.do("CF.ADD", "f", "kept")
        self.assertGreater(time.monotonic() - start, 0.99)
        added = self.do("CF.ADD", "f", "kept")
        if time.monotonic() - last < 0.99:  # otherwise the machine was busy, and it may be forgotten
            self.assertEqual(added, 0)
        self.wait_until_gone("f", "kept")
        self.assertEqual(self.do("CF.ADD", "f", "kept"), 1)

    def test_adds_answer_whether_the_item_is_new(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", LONG)
        self.assertEqual(self.do("CF.ADD", "f", "a"), 1)
        self.assertEqual(self.do("CF.ADD", "f", "a"), 0)
        self.assertEqual(self.do("CF.ADDNX", "f", "a"), 0)
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", "a", "b", "b"), [0, 1, 0])
        self.assertEqual(self.do("CF.INSERTNX", "f", "ITEMS", "b", "c", "c"), [0, 1, 0])
        self.assertEqual(self.do("CF.COUNT", "f", "a"), 1)
        self.assertEqual(self.do("CF.MEXISTS", "f", "a", "b", "c", "d"), [1, 1, 1, 0])
        self.assertEqual(self.info("f")["Number of items inserted"], 3)

    def test_reads_judge_by_the_clock_and_change_nothing(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 2)
        self.do("CF.INSERT", "f", "ITEMS", *range(600))
        digest = self.digest("f")
        self.wait_until_gone("f", 0)
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(600)), [0] * 600)
        self.assertEqual(self.do("CF.COUNT", "f", 1), 0)
        info = self.info("f")
        self.assertEqual(info["Number of items inserted"], 0)
        self.assertEqual(info["Items per slice"], [0, 0])
        self.assertEqual(self.digest("f"), digest)
        self.assertEqual(self.do("CF.ADDNX", "f", 0), 1)
        self.assertNotEqual(self.digest("f"), digest)

    def test_ages_are_those_of_a_model_before_a_tick_and_after_it(self):
        slices, length, since = 5, 500, milliseconds()
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 2, "SLICES", slices, "ERROR", 1e-6, "SEED", 5, "SINCE", since)

        def now():
            seconds, microseconds = self.r.time()
            return (seconds * 1000 + microseconds // 1000 - since) // length

        def in_one_slice(action):
            """What an action answers that begins and ends in one slice, and which. It may be done again."""
            while True:
                begun = now()
                answer = action()
                if now() == begun:
                    return begun, answer

        batches = [range(i * 100, (i + 1) * 100) for i in range(4)]
        places = []
        for batch in batches:
            place, _ = in_one_slice(lambda batch=batch: self.do("CF.INSERT", "f", "ITEMS", *batch))
            places.append(place)
            servers.wait_for(lambda place=place: now() > place, "the next slice")

        def expect_model(at, counts, found):
            ages = [at - place for place in places]
            self.assertEqual(counts, [100 * ages.count(age) for age in range(slices)])
            self.assertEqual(found, [int(age < slices) for age in ages for _ in range(100)])

        def read():
            return self.info("f")["Items per slice"], self.do("CF.MEXISTS", "f", *range(400))

        due = 0
        while now() - places[-1] <= slices:
            at, told = in_one_slice(read)
            expect_model(at, *told)
            if at % 2 == 0:
                due += self.do("NIDUS.TICK", "f", 1000)
                at, told = in_one_slice(read)
                expect_model(at, *told)
            servers.wait_for(lambda at=at: now() > at, "the next slice")
        self.assertGreater(due, 0)

    def test_info_tells_the_window(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", LONG, "SLICES", 3)
        self.do("CF.INSERT", "f", "ITEMS", *range(10))
        info = self.info("f")
        self.assertEqual(len(info), 11)
        self.assertEqual((info["Window"], info["Slices"], info["Items per slice"]), (LONG, 3, [10, 0, 0]))
        self.assertEqual(info["Number of items deleted"], 0)
        self.do("CF.RESERVE", "g", 1000, "WINDOW", LONG)
        self.assertEqual(self.info("g")["Slices"], 16)
        self.do("CF.ADD", "plain", "x")
        self.assertEqual(len(self.info("plain")), 8)
        self.assertIn("Items per slice", self.server.cli("CF.INFO", "f", resp3=True))

    def test_an_insert_makes_one_too(self):
        self.do("CF.INSERT", "f", "CAPACITY", 500, "WINDOW", LONG, "SLICES", 7, "ITEMS", "a")
        self.assertEqual(self.info("f")["Items per slice"], [1] + [0] * 6)

    def test_options_that_make_no_sense_are_refused(self):
        for words, text in (
                (("WINDOW", 0), "WINDOW: value must be in the range [1, 1000000000]"),
                (("WINDOW", 10**9 + 1), "WINDOW: value must be in the range [1, 1000000000]"),
                (("WINDOW", "x"), "Couldn't parse WINDOW"),
                (("WINDOW", 5, "SLICES", 1), "SLICES: value must be in the range [2, 254]"),
                (("WINDOW", 5, "SLICES", 255), "SLICES: value must be in the range [2, 254]"),
                (("SLICES", 5), "SLICES and SINCE: only a filter with a WINDOW has them"),
                (("SINCE", 5), "SLICES and SINCE: only a filter with a WINDOW has them"),
                (("WINDOW", 5, "SINCE", 2**47), "SINCE: value must not be in the future"),
                (("WINDOW", 5, "SINCE", 2**49), "SINCE: value must be milliseconds since 1970"),
                (("WINDOW", 5, "SINCE"), "Unknown argument received"),
                (("WINDOW", 5, "MAXCAPACITY", 0),
                 "MAXCAPACITY: a filter with a WINDOW needs one, the most items that are there at a time")):
            self.refused(text, "CF.RESERVE", "f", 1000, *words)
        self.refused("Unknown argument received", "BF.RESERVE", "f", 0.01, 100, "WINDOW", 5)
        for family in ("cuckoo", "semisort", "simplified", "chunked"):
            with self.assertRaises(redis.exceptions.ResponseError):
                self.do("CF.RESERVE", "f", 1000, "WINDOW", 5, "FAMILY", family)
        self.assertEqual(self.do("EXISTS", "f"), 0)
        for family in ("windowed", "bucketed", "breadcrumb"):
            self.do("CF.RESERVE", family, 1000, "WINDOW", LONG, "FAMILY", family)
            self.do("CF.ADD", family, "x")
            self.assertEqual(self.do("CF.EXISTS", family, "x"), 1)

    def test_what_cannot_be_done_is_refused(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", LONG)
        self.do("CF.ADD", "f", "x")
        self.do("CF.ADD", "plain", "y")
        self.refused(NEVER_DELETED, "CF.DEL", "f", "x")
        self.refused(NEVER_DELETED, "CF.MDEL", "f", "x", "y")
        for words in (("CF.MERGE", "f", "plain"), ("CF.MERGE", "plain", "f"), ("CF.MERGE", "new", "f")):
            self.refused("a filter with a WINDOW cannot be merged: slices of two begin at different times", *words)
        self.refused("this filter forgets nothing: it was made without a WINDOW", "NIDUS.TICK", "plain", 1)
        self.refused("not found", "NIDUS.TICK", "none", 1)
        for n in (0, -1, "x", 2**62):
            self.refused("bad number of slices", "NIDUS.TICK", "f", n)
        self.refused("this filter forgets, and its file does not tell how long a slice lasts: use DUMP and RESTORE, "
                     "or SCANDUMP and LOADCHUNK", "NIDUS.IMPORT", "g", self.do("NIDUS.EXPORT", "f"))
        self.assertEqual(self.do("CF.EXISTS", "f", "x"), 1)
        self.do("CF.COMPACT", "f")
        self.assertEqual(self.do("CF.EXISTS", "f", "x"), 1)

    def test_a_client_ticks_only_what_is_due(self):
        self.reserve_aged("f", 3)
        self.assertEqual(self.do("NIDUS.TICK", "f", 2), 2)
        self.do("CF.ADD", "f", "x")  # the third
        self.assertEqual(self.do("NIDUS.TICK", "f", 5), 0)
        self.assertEqual(self.info("f")["Items per slice"], [1, 0, 0, 0])

    def test_growth_goes_on_up_to_the_bound_and_expired_items_make_room(self):
        self.do("CF.RESERVE", "f", 100, "WINDOW", 1, "SLICES", 2, "MAXCAPACITY", 3000)
        servers.wait_for(lambda: -1 in self.do("CF.INSERT", "f", "ITEMS", *range(20000)), "a full filter")
        self.refused_by_full()
        servers.wait_for(lambda: self.do("CF.INSERT", "f", "ITEMS", *range(50000, 51000)).count(-1) == 0, "room")
        self.assertEqual(self.do("EXISTS", "f"), 1)

    def refused_by_full(self):
        self.do("CF.RESERVE", "full", 100, "WINDOW", LONG, "EXPANSION", 0)
        answers = self.do("CF.INSERT", "full", "ITEMS", *range(2000))
        self.assertIn(-1, answers)
        self.assertGreaterEqual(answers.count(1), 100)
        item = answers.index(-1)
        self.refused("Filter is full", "CF.ADD", "full", item)
        self.assertEqual(self.do("CF.ADD", "full", answers.index(1)), 0)  # a refresh needs no room

    def test_the_clock_never_goes_back(self):
        """A slice that began in the future, by the clock of another server, goes on until then."""
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 2)
        self.do("CF.ADD", "f", "x")
        begin, header = self.do("CF.SCANDUMP", "f", 0)
        end, image = self.do("CF.SCANDUMP", "f", begin)
        later = with_since(header, milliseconds() + LONG * 1000)
        self.do("CF.LOADCHUNK", "later", begin, later)
        self.do("CF.LOADCHUNK", "later", end, image)
        self.wait_until_gone("f", "x")
        self.assertFalse(self.gone("later", "x"))
        self.assertEqual(self.do("NIDUS.TICK", "later", 5), 0)
        self.assertEqual(self.do("CF.ADD", "later", "x"), 0)
        self.assertEqual(self.do("CF.SCANDUMP", "later", 0)[1], later)

    def test_a_header_that_makes_no_sense_is_refused(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1)
        begin, header = self.do("CF.SCANDUMP", "f", 0)
        for wrong in (with_since(header, 2**49), with_window(header, 0, 16), with_window(header, 1, 0),
                      with_window(header, 1, 1), with_window(header, 1, 255), with_window(header, 2**31, 16)):
            self.refused("Invalid header", "CF.LOADCHUNK", "g", begin, wrong)
        other = with_window(header, 1, 17)  # the body says 16
        end, image = self.do("CF.SCANDUMP", "f", begin)
        self.do("CF.LOADCHUNK", "g", begin, other)
        self.refused("Couldn't load chunk!", "CF.LOADCHUNK", "g", end, image)

    def test_a_file_holds_what_is_there_by_the_clock(self):
        def count():
            """By the counts of the slices in the file: docs/format.md."""
            data = self.do("NIDUS.EXPORT", "f")
            table = int.from_bytes(data[136:144], "little")
            return sum(int.from_bytes(data[table + at:table + at + 8], "little") for at in (64, 72))

        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 2)
        self.do("CF.INSERT", "f", "ITEMS", *range(5))
        digest = self.digest("f")
        self.assertIn(count(), (5, 0))
        servers.wait_for(lambda: count() == 0, "a file without items")
        self.assertEqual(self.digest("f"), digest)

    def test_copies_and_dumps_have_the_same_time(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 3)
        self.do("CF.INSERT", "f", "ITEMS", *range(2000))
        self.r.copy("f", "copy")
        self.r.restore("restored", 0, self.r.dump("f"))
        begin, header = self.do("CF.SCANDUMP", "f", 0)
        self.do("CF.LOADCHUNK", "loaded", begin, header)
        end, image = self.do("CF.SCANDUMP", "f", begin)
        self.do("CF.LOADCHUNK", "loaded", end, image)
        for key in ("copy", "restored", "loaded"):
            self.assertEqual(self.digest(key), self.digest("f"), key)
        self.wait_until_gone("f", 7)
        for key in ("copy", "restored", "loaded"):
            self.assertTrue(self.gone(key, 7), key)

    def test_the_default_family_may_be_one_that_cannot_forget(self):
        self.do("CONFIG SET", "nidus.family", "cuckoo")
        try:
            self.do("CF.RESERVE", "f", 1000, "WINDOW", LONG)
            self.assertEqual(self.do("CF.ADD", "f", "x"), 1)
        finally:
            self.do("CONFIG SET", "nidus.family", "auto")


class Persistence(Recent):
    options = ("--appendonly", "yes", "--appendfsync", "always")

    def test_an_aof_gives_the_same_filters_rewritten_or_not(self):
        self.do("CF.RESERVE", "old", 1000, "WINDOW", 1, "SLICES", 3)
        self.do("CF.INSERT", "old", "ITEMS", *range(1500))
        self.do("CF.RESERVE", "new", 1000, "WINDOW", LONG)
        self.do("CF.INSERT", "new", "ITEMS", *range(1500))
        self.reserve_aged("aged", 2)
        self.do("CF.ADD", "aged", "x")
        self.wait_until_gone("old", 3)
        self.do("CF.ADD", "old", "x")
        for rewrite in (False, True):
            if rewrite:
                self.r.bgrewriteaof()
                servers.wait_for(lambda: not self.r.info("persistence")["aof_rewrite_in_progress"] and
                                 not self.r.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
            digests = {key: self.digest(key) for key in ("old", "new", "aged")}
            self.server.kill()
            self.server.start()
            self.assertEqual({key: self.digest(key) for key in digests}, digests, rewrite)
            self.assertEqual(self.do("CF.MEXISTS", "new", *range(1500)), [1] * 1500)

    def test_downtime_counts(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 3)
        self.do("CF.RESERVE", "long", 1000, "WINDOW", LONG)
        self.do("CF.ADD", "f", "x")
        self.do("CF.ADD", "long", "x")
        end = time.monotonic() + 1.6  # two slices and a bit: what was put in is forgotten by then
        self.server.kill()
        servers.wait_for(lambda: time.monotonic() > end, "the window")
        self.server.start()
        self.assertTrue(self.gone("f", "x"))
        self.assertFalse(self.gone("long", "x"))

    def test_a_snapshot_keeps_ages(self):
        self.reserve_aged("f", 2)
        self.do("CF.INSERT", "f", "ITEMS", *range(3000))
        digest, info = self.digest("f"), self.info("f")
        self.do("DEBUG", "RELOAD")
        self.assertEqual(self.digest("f"), digest)
        self.assertEqual(self.info("f"), info)
        self.assertEqual(self.do("CF.MEXISTS", "f", *range(3000)), [1] * 3000)


class Replication(Recent):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.replica = servers.Server("--replicaof", "127.0.0.1", str(cls.server.port),
                                     "--repl-diskless-sync-delay", "0")
        cls.there = cls.replica.client()
        servers.wait_for(lambda: cls.there.info("replication")["master_link_status"] == "up", "the link")

    @classmethod
    def tearDownClass(cls):
        cls.there.close()
        super().tearDownClass()
        cls.replica.stop()

    def expect_same(self):
        self.r.wait(1, 0)
        for key in self.r.keys():
            self.assertEqual(self.digest(key, self.there), self.digest(key), key)

    def test_a_replica_equals_its_master_and_answers_by_its_own_clock(self):
        self.do("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 3)
        self.do("CF.INSERT", "f", "ITEMS", *range(500))
        self.expect_same()
        digest = self.digest("f")
        self.wait_until_gone("f", 4, self.there)
        self.assertEqual(self.digest("f", self.there), digest)
        self.do("CF.ADD", "f", "x")
        self.expect_same()
        self.assertNotEqual(self.digest("f"), digest)
        self.assertNotIn("CRITICAL", self.replica.log())

    def test_ticks_go_before_the_writes_that_found_them(self):
        self.reserve_aged("f", 2)
        self.r.wait(1, 0)
        with self.there.monitor() as there:
            self.do("CF.ADD", "f", "x")
            names = []
            while "CF.ADD" not in names:
                names.append(there.next_command()["command"].split()[0])
        self.assertLess(names.index("NIDUS.TICK"), names.index("CF.ADD"))
        self.expect_same()

    def test_random_histories_leave_both_equal(self):
        random = servers.chance()
        for key, capacity, family, words in (
                ("a", 64, "windowed", ("MAXCAPACITY", 2000)), ("b", 300, "bucketed", ("EXPANSION", 0)),
                ("c", 64, "breadcrumb", ("MAXCAPACITY", 700)), ("d", 1000, "auto", ())):
            self.do("CF.RESERVE", key, capacity, "WINDOW", 1, "SLICES", random.choice((2, 5, 60)), "FAMILY", family,
                    *words)
        for _ in range(150 if servers.SMALL else 800):
            key = random.choice("abcd")
            items = [random.randrange(4000) for _ in range(random.randrange(1, 300))]
            command = random.choice(("CF.INSERT", "CF.INSERT", "CF.INSERTNX", "CF.ADD", "CF.ADDNX", "CF.COMPACT",
                                     "NIDUS.TICK"))
            words = {"CF.INSERT": ("ITEMS", *items), "CF.INSERTNX": ("ITEMS", *items), "CF.COMPACT": (),
                     "NIDUS.TICK": (random.randrange(1, 9),)}.get(command, (items[0],))
            try:
                self.do(command, key, *words)
            except redis.exceptions.ResponseError as error:
                self.assertIn(str(error), ("Maximum expansions reached", "Filter is full"))
            if random.random() < 0.05:
                self.expect_same()
        self.expect_same()
        self.assertNotIn("CRITICAL", self.replica.log())

    def test_a_promoted_replica_goes_on_where_the_master_was(self):
        master = servers.Server()
        replica = servers.Server("--replicaof", "127.0.0.1", str(master.port), "--repl-diskless-sync-delay", "0")
        here, there = master.client(), replica.client()
        servers.wait_for(lambda: there.info("replication")["master_link_status"] == "up", "link")
        here.execute_command("CF.RESERVE", "f", 1000, "WINDOW", 1, "SLICES", 3)
        here.execute_command("CF.ADD", "f", "a")
        here.wait(1, 0)
        master.kill()
        there.replicaof("NO", "ONE")
        self.wait_until_gone("f", "a", there)
        self.assertEqual(there.execute_command("CF.ADD", "f", "a"), 1)
        here.close()
        there.close()
        replica.stop()


if __name__ == "__main__":
    servers.main()
