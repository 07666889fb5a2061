# SPDX-License-Identifier: MIT
"""Files of the library, out of the server and into it: NIDUS.EXPORT and NIDUS.IMPORT."""
import os
import subprocess
import tempfile

import redis

import servers

PROGRAM = os.path.join(os.path.dirname(servers.MODULE), "nidus")
ITEMS = [f"item {i}" for i in range(2000)]


class Files(servers.Test):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="nidus-redis-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def nidus(self, *words, items=()):
        """What the command prints."""
        return subprocess.run([PROGRAM, *words], input="\n".join(items).encode(), check=False,
                              capture_output=True).stdout

    def needs_program(self):
        if not os.path.exists(PROGRAM):
            self.skipTest("the nidus command is not built")

    def test_the_command_opens_what_the_server_exports(self):
        self.needs_program()
        self.do("CF.INSERT", "c", "ITEMS", *ITEMS)
        self.do("BF.INSERT", "b", "NONSCALING", "CAPACITY", 3000, "ITEMS", *ITEMS)
        for key in "bc":
            path = self.write("f", self.do("NIDUS.EXPORT", key))
            found = self.nidus("query", path, items=ITEMS).decode().split("\n")
            self.assertEqual([line for line in found if line], ITEMS)

    def test_the_server_imports_what_the_command_builds(self):
        self.needs_program()
        for family, kind in (("windowed", "CF"), ("blocked-bloom", "BF"), ("ribbon", "BF")):
            path = self.path(family)
            self.nidus("build", "-o", path, "--family", family, items=ITEMS)
            with open(path, "rb") as file:
                data = file.read()
            self.assertEqual(self.do("NIDUS.IMPORT", family, data), b"OK")
            self.assertEqual(self.do(f"{kind}.MEXISTS", family, *ITEMS), [1] * 2000)
            self.assertEqual(self.do("NIDUS.EXPORT", family), data)
            self.do("DEBUG", "RELOAD")
            self.assertEqual(self.do("NIDUS.EXPORT", family), data)

    def test_a_static_filter_is_served_but_not_made_or_changed_here(self):
        self.needs_program()
        self.nidus("build", "-o", self.path("f"), "--family", "ribbon", items=ITEMS)
        with open(self.path("f"), "rb") as file:
            self.do("NIDUS.IMPORT", "f", file.read())
        with self.assertRaises(redis.exceptions.ResponseError):
            self.do("BF.ADD", "f", "surely new")
        self.assertEqual(self.do("BF.MADD", "f", ITEMS[0]), [0])
        self.refused("FAMILY: filters of this one are built at once and never changed; build it "
                     "elsewhere and use NIDUS.IMPORT",
                     "BF.RESERVE", "g", 0.01, 100, "NONSCALING", "FAMILY", "ribbon")

    def test_a_filter_goes_out_and_comes_back_the_same(self):
        self.do("CF.RESERVE", "c", 1000, "ERROR", 0.001)
        self.do("CF.INSERT", "c", "ITEMS", *ITEMS)
        self.do("BF.MADD", "b", *ITEMS)
        for key in "bc":
            data = self.do("NIDUS.EXPORT", key)
            self.do("NIDUS.IMPORT", "copy", data, "BF" if key == "b" else "CF")
            self.assertEqual(self.do("NIDUS.EXPORT", "copy"), data)
            self.r.delete("copy")
        self.do("NIDUS.IMPORT", "c2", self.do("NIDUS.EXPORT", "c"))
        self.assertEqual(self.do("CF.INSERT", "c2", "ITEMS", *range(5000)), [1] * 5000)
        self.assertEqual(self.do("CF.MDEL", "c2", *ITEMS), [1] * 2000)
        self.do("CF.MERGE", "c", "c2")
        self.assertEqual(self.do("CF.MEXISTS", "c", *ITEMS, *range(5000)), [1] * 7000)

    def test_an_existing_key_is_replaced_only_on_request(self):
        self.do("CF.ADD", "f", "x")
        data = self.do("NIDUS.EXPORT", "f")
        self.refused("item exists", "NIDUS.IMPORT", "f", data)
        self.do("CF.ADD", "f", "y")
        self.do("NIDUS.IMPORT", "f", data, "REPLACE")
        self.assertEqual(self.do("CF.INFO", "f")[7], 1)
        self.r.set("s", "text")
        self.refused("item exists", "NIDUS.IMPORT", "s", data)
        self.do("NIDUS.IMPORT", "s", data, "BF", "REPLACE")
        self.assertEqual(self.do("BF.EXISTS", "s", "x"), 1)

    def test_what_is_no_file_is_refused(self):
        self.do("CF.ADD", "f", "x")
        data = self.do("NIDUS.EXPORT", "f")
        for at in range(0, len(data), 7):
            damaged = bytearray(data)
            damaged[at] ^= 32
            for bytes_ in (bytes(damaged), data[:at], data + b"x" * (at + 1)):
                with self.assertRaises(redis.exceptions.ResponseError):
                    self.do("NIDUS.IMPORT", "g", bytes_)
        self.assertEqual(self.r.exists("g"), 0)
        self.refused("Unknown argument received", "NIDUS.IMPORT", "g", data, "AS")
        self.refused("a filter is for CF or for BF, not both", "NIDUS.IMPORT", "g", data, "CF", "BF")
        self.do("BF.RESERVE", "b", 0.01, 100, "NONSCALING", "FAMILY", "bloom")
        self.refused("this filter cannot delete; it is for BF.* only", "NIDUS.IMPORT", "g",
                     self.do("NIDUS.EXPORT", "b"), "CF")
        self.refused("not found", "NIDUS.EXPORT", "none")
        self.r.set("s", "x")
        self.refused("WRONGTYPE Operation against a key holding the wrong kind of value",
                     "NIDUS.EXPORT", "s")


if __name__ == "__main__":
    servers.main()
