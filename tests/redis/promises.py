# SPDX-License-Identifier: MIT
"""The rate through growth, items without end, and sizes that nobody can mean."""
import math
import struct

import servers

SCALE = 10 if servers.SMALL else 2
ABSENT = 200000 // SCALE


class Promises(servers.Test):
    def told(self, key):
        reply = self.do("NIDUS.INFO", key)
        return dict(zip((name.decode() for name in reply[::2]), reply[1::2]))

    def add(self, kind, key, n):
        """Adds 0 to n - 1; answers how many were new."""
        new = 0
        for start in range(0, n, 5000):
            new += sum(self.do(f"{kind}.INSERT", key, "ITEMS", *range(start, min(start + 5000, n))))
        return new

    def expect_all(self, kind, key, n):
        for start in range(0, n, 5000):
            end = min(start + 5000, n)
            self.assertNotIn(0, self.do(f"{kind}.MEXISTS", key, *range(start, end)))

    def expect_rate(self, kind, key, rate):
        """At most this many absent items; the odds of a false alarm are below 10^-8."""
        found = 0
        for start in range(0, ABSENT, 5000):
            items = [f"absent {i}" for i in range(start, start + 5000)]
            found += sum(self.do(f"{kind}.MEXISTS", key, *items))
        bound = ABSENT * rate + 6 * math.sqrt(ABSENT * rate) + 6
        self.assertLessEqual(found, bound)

    def test_the_rate_is_kept_through_growth_by_a_factor_of_100(self):
        for key, family in (("a", "auto"), ("b", "cuckoo"), ("c", "breadcrumb"), ("d", "bucketed")):
            self.do("CF.RESERVE", key, 1000, "MAXCAPACITY", 200000 // SCALE, "FAMILY", family)
            most = self.told(key)["Most items"]
            self.assertEqual(self.add("CF", key, most), most)
            self.expect_all("CF", key, most)
            self.expect_rate("CF", key, 0.01)

    def test_bf_keeps_its_rate_while_it_scales(self):
        for key, rate in (("a", 0.01), ("b", 0.0001)):
            n = 200000 // SCALE
            self.do("BF.RESERVE", key, rate, 100, "MAXCAPACITY", n)
            new = self.add("BF", key, n)
            self.assertEqual(self.do("BF.CARD", key), new)
            self.assertGreater(new, n * (1 - 2 * rate) - 10)
            self.expect_all("BF", key, n)
            self.expect_rate("BF", key, rate)

    def test_plain_filters_have_room_for_a_hundredfold_and_67_million(self):
        self.do("CF.ADD", "auto", "x")
        self.do("CF.RESERVE", "small", 1000)
        self.do("CF.RESERVE", "large", 10**6)
        self.assertGreaterEqual(self.told("auto")["Most items"], 2**26)
        self.assertGreaterEqual(self.told("small")["Most items"], 2**26)
        self.assertGreaterEqual(self.told("large")["Most items"], 10**8)
        for key in ("auto", "small", "large"):
            self.assertLessEqual(float(self.told(key)["Error rate promised"]), 0.01)

    def test_one_item_without_end_neither_fills_nor_grows_a_filter(self):
        self.do("CF.RESERVE", "f", 1000)
        self.do("CF.INSERT", "f", "ITEMS", *range(500))
        before = self.r.memory_usage("f")
        added = 0
        for _ in range(1000):
            reply = self.do("CF.INSERT", "f", "ITEMS", *["again"] * 1000)
            added += reply.count(1)
            self.assertEqual(reply.count(1) + reply.count(-1), 1000)
        self.assertEqual(added, 10**6)
        self.assertEqual(self.do("CF.ADDNX", "f", "again"), 0)
        self.assertLessEqual(self.r.memory_usage("f"), 1.5 * before + 4096)
        self.assertGreaterEqual(self.do("CF.COUNT", "f", "again"), added)
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", *range(500, 5000)), [1] * 4500)
        self.expect_all("CF", "f", 5000)
        self.assertEqual(self.do("CF.MDEL", "f", *["again"] * added), [1] * added)
        self.expect_all("CF", "f", 5000)

    def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(self):
        self.do("CF.ADD", "f", "x")
        header = bytearray(self.do("CF.SCANDUMP", "f", 0)[1])
        before = self.r.info("memory")["used_memory"]
        self.do("CF.LOADCHUNK", "g", 1, forged(header, {}))
        self.r.delete("g")
        for size in (2**45, 2**62, 2**63, 2**64 - 1):
            for number in (8, 9):  # the legacy part, and the image
                with self.assertRaises(servers.redis.exceptions.ResponseError):
                    self.do("CF.LOADCHUNK", "g", 1, forged(header, {number: size}))
        self.assertEqual(self.r.exists("g"), 0)
        self.assertLess(self.r.info("memory")["used_memory"] - before, 2**20)

    def test_the_largest_capacity_is_made_or_refused_with_a_reason(self):
        try:
            capacity = 2**24 if servers.SMALL else 2**30  # a gigabyte and more
            self.assertEqual(self.do("CF.RESERVE", "f", capacity, "EXPANSION", 0), b"OK")
            self.assertEqual(self.do("CF.ADD", "f", "x"), 1)
            self.r.unlink("f")
        except servers.redis.exceptions.ResponseError as refused:
            self.assertIn("OOM", str(refused))
        self.assertTrue(self.r.ping())


def forged(header, changes):
    """A header of modules/redis/dump.h with other numbers, and the checksum that belongs to it."""
    numbers, at = [], 14
    while len(numbers) < 10:
        number, shift = 0, 0
        while True:
            number |= (header[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if header[at - 1] < 128:
                break
        numbers.append(number)
    data = bytearray(header[:14])
    for i, number in enumerate(numbers):
        number = changes.get(i, number)
        while number >= 128:
            data.append(number & 127 | 128)
            number >>= 7
        data.append(number)
    total = 0xCBF29CE484222325
    for byte in data:
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return bytes(data) + struct.pack("<I", (total ^ total >> 32) & 0xFFFFFFFF)


if __name__ == "__main__":
    servers.main()
