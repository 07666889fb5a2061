# SPDX-License-Identifier: MIT
"""Random commands with random arguments, sensible and not: the server lives and keeps answering.

    fuzz.py [COMMANDS | SECONDSs]        (60s: for a minute)

Best with a module that was built with sanitizers. A failure prints the last commands.
"""
import collections
import struct
import sys
import time

import redis

import servers

LIMIT = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1].rstrip("s").isdigit() else "4000"
KEYS = ("a", "b", "c", "d", "e")
WORDS = ("CAPACITY", "ERROR", "EXPANSION", "NOCREATE", "NONSCALING", "ITEMS", "BUCKETSIZE", "SEED",
         "MAXITERATIONS", "MAXCAPACITY", "FAMILY", "WINDOW", "WINDOW", "SLICES", "SINCE", "items", "")
FAMILIES = ("auto", "cuckoo", "semisort", "simplified", "chunked", "bucketed", "windowed",
            "breadcrumb", "bloom", "blocked-bloom", "none")
NUMBERS = (0, 1, 2, 3, 4, 7, 100, 1000, 5000, 2**20, 2**30, 2**31, 2**32, 2**40, 2**62, 2**63,
           2**64 - 1, 2**64, -1, -2**63, 0.5, 1e-3, 1e-7, 1e-9, 1e300, "nan", "inf", "1e", "0x10")
SMALL_COMMANDS = ("ADD", "ADDNX", "EXISTS", "COUNT", "DEL")
LISTS = ("MEXISTS", "MDEL", "MADD")


class Fuzz(servers.Test):
    options = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--maxmemory", "300mb",
               "--lazyfree-lazy-user-del", "yes")

    def number(self):
        if self.random.random() < 0.7:
            return self.random.choice((1, 2, 10, 64, 100, 1000, 3000))
        return self.random.choice(NUMBERS)

    def item(self):
        if self.random.random() < 0.05:
            return self.random.randbytes(self.random.choice((0, 1, 17, 300, 5000)))
        return self.random.randrange(self.random.choice((3, 3000)))

    def items(self):
        return [self.item() for _ in range(self.random.choice((1, 1, 5, 300, 1000)))]

    def option(self):
        word = self.random.choice(WORDS)
        if word == "FAMILY":
            return [word, self.random.choice(FAMILIES)]
        if word in ("NOCREATE", "NONSCALING"):
            return [word]
        if word == "ERROR":
            return [word, self.random.choice((0.5, 0.1, 0.01, 1e-3, 1e-5, 2**-24, self.number()))]
        return [word, self.number()]

    def opts(self):
        return sum((self.option() for _ in range(self.random.choice((0, 0, 1, 2, 4)))), [])

    def chunk(self, kind):
        """Something for LOADCHUNK: a real chunk of ours or RedisBloom's, damaged at times."""
        if self.random.random() < 0.3:
            return self.foreign_chunk(kind)
        source = self.random.choice(KEYS)
        position = self.random.choice((0, 0, 1, 2, self.number()))
        try:
            position, data = self.do(f"{kind}.SCANDUMP", source, position)
            if position and self.random.random() < 0.6:
                position, data = self.do(f"{kind}.SCANDUMP", source, position)
        except redis.exceptions.RedisError:
            return self.number(), self.random.randbytes(128)
        return position, self.damage(data or b"")

    def foreign_chunk(self, kind):
        """The header of a filter of RedisBloom with a table of 16 bytes, or the table."""
        if self.random.random() < 0.4:
            return 17, self.random.randbytes(16)
        if kind == "CF":
            return 1, self.damage(struct.pack("<QQQQHHH", 5, 8, 0, 1, 2, 20, 1))
        options = self.random.choice((5, 13))
        return 1, self.damage(struct.pack("<QIII", 3, 1, options, 2) +
                              struct.pack("<QQQddIQB", 16, 128, 3, 0.01, 10.0, 7, 100, 0))

    def damage(self, data):
        data = bytearray(data)
        if data and self.random.random() < 0.4:
            data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        if data and self.random.random() < 0.1:
            del data[self.random.randrange(len(data)):]
        return bytes(data)

    def command(self):
        kind, key = self.random.choice(("CF", "BF")), self.random.choice(KEYS)
        dice = self.random.random()
        if dice < 0.15:
            first = (self.number(),) if kind == "CF" else (self.random.choice((0.01, 1e-6)), self.number())
            return [f"{kind}.RESERVE", key, *first, *self.opts()]
        if dice < 0.35:
            name = self.random.choice(("INSERT", "INSERTNX") if kind == "CF" else ("INSERT",))
            return [f"{kind}.{name}", key, *self.opts(), "ITEMS", *self.items()]
        if dice < 0.50:
            return [f"{kind}.{self.random.choice(SMALL_COMMANDS)}", key, self.item()]
        if dice < 0.65:
            return [f"{kind}.{self.random.choice(LISTS)}", key, *self.items()]
        if dice < 0.72:
            return [f"{kind}.LOADCHUNK", self.random.choice(KEYS), *self.chunk(kind)]
        if dice < 0.76:
            return [f"{kind}.MERGE", *self.random.choices(KEYS, k=self.random.randrange(1, 5))]
        if dice < 0.80:
            name = self.random.choice(("INFO", "COMPACT", "CARD", "SCANDUMP", "DEBUG"))
            return [f"{kind}.{name}", key, *self.opts()[:1]]
        return self.server_command(key)

    def server_command(self, key):
        other = self.random.choice(KEYS)
        return self.random.choice((
            ["COPY", key, other, "REPLACE"], ["RENAME", key, other], ["DEL", key], ["UNLINK", key],
            ["MEMORY", "USAGE", key], ["DEBUG", "DIGEST"], ["NIDUS.INFO", key], ["EXPIRE", key, 100],
            ["NIDUS.TICK", key, self.number()],
            ["NIDUS.IMPORT", other, self.damage(self.exported(key)), *self.random.choice((
                (), ("CF",), ("BF", "REPLACE"), ("REPLACE",), ("x",)))],
            ["CONFIG", "SET", "nidus.max-filter-bytes", self.random.choice((0, 0, 5000, 10**6))],
            ["DEBUG", "RELOAD"] if self.random.random() < 0.1 else ["TYPE", key],
            ["BGREWRITEAOF"] if self.random.random() < 0.1 else ["DBSIZE"],
            ["SET", key, "x"] if self.random.random() < 0.1 else ["EXISTS", key],
            ["RESTORE", other, 0, self.damage(self.dumped(key)), "REPLACE"],
        ))

    def exported(self, key):
        try:
            return self.do("NIDUS.EXPORT", key)
        except redis.exceptions.ResponseError:
            return b""

    def dumped(self, key):
        try:
            return self.r.dump(key) or b"\0"
        except redis.exceptions.ResponseError:
            return b"\0"

    def going_on(self):
        if LIMIT.endswith("s"):
            return time.monotonic() < self.started + int(LIMIT[:-1])
        return self.done < int(LIMIT) // (4 if servers.SMALL else 1)

    def test_the_server_survives_any_commands(self):
        self.random = servers.chance()
        self.started, self.done = time.monotonic(), 0
        answers = collections.Counter()
        last = collections.deque(maxlen=30)
        while self.going_on():
            words = self.command()
            last.append(words)
            self.done += 1
            try:
                self.do(*words)
                answers["taken"] += 1
            except redis.exceptions.ResponseError:
                answers["refused"] += 1
            except redis.exceptions.RedisError as gone:
                told = "\n".join(repr(words)[:500] for words in last)
                self.fail(f"{gone}\nafter\n{told}\n{self.server.log()[-4000:]}")
        print(f"{self.done} commands: {dict(answers)}", flush=True)
        self.assertGreater(answers["taken"], self.done // 10)
        self.r.config_set("maxmemory", 0)
        self.do("DEBUG", "LOADAOF")  # what was written can be read again
        self.r.flushall()
        servers.wait_for(lambda: self.r.info("nidus_filters")["nidus_bytes"] == 0,
                         "all memory to come back")


if __name__ == "__main__":
    servers.main()
