# SPDX-License-Identifier: MIT
"""Who may do what: flags of keys, users that may only read or write, and names in messages."""
import redis

import servers

READS = {"cf.exists", "cf.mexists", "cf.count", "cf.info", "cf.scandump", "bf.exists",
         "bf.mexists", "bf.card", "bf.info", "bf.scandump", "nidus.info", "nidus.export", "cf.debug",
         "bf.debug"}


class Permissions(servers.Test):
    def client_of(self, *rules):
        """A client whose user may do what the rules say."""
        self.do("ACL", "SETUSER", "u", "reset", "on", "nopass", *rules)
        return self.server.client(username="u", password="any")

    def names(self):
        return self.server.cli("COMMAND", "LIST", "FILTERBY", "MODULE", "nidus").split("\n")

    def flags(self, *words):
        reply = self.do("COMMAND GETKEYSANDFLAGS", *words)
        return {key.decode(): {flag.decode() for flag in flags} for key, flags in reply}

    def words_for(self, name):
        """Arguments enough for every command."""
        return (name, "k", "1", "2", "3", "4")[:2 + self.arity(name)]

    def arity(self, name):
        return abs(self.do("COMMAND INFO", name)[0][1]) - 2

    def test_the_flags_of_every_key_are_told(self):
        for name in self.names():
            flags = self.flags(*self.words_for(name))
            wanted = "RO" if name in READS else "RW"
            self.assertIn(wanted, flags["k"], name)
        flags = self.flags("CF.MERGE", "to", "a", "b")
        self.assertIn("RW", flags["to"])
        self.assertIn("RO", flags["a"])
        self.assertIn("RO", flags["b"])

    def test_users_that_may_read_keys_read_and_write_nothing(self):
        self.do("CF.ADD", "k1", "x")
        self.do("BF.ADD", "k2", "x")
        with self.client_of("+@all", "%R~k*") as user:
            self.assertEqual(user.execute_command("CF.EXISTS", "k1", "x"), 1)
            self.assertEqual(user.execute_command("BF.MEXISTS", "k2", "x", "y"), [1, 0])
            self.assertEqual(user.execute_command("CF.COUNT", "k1", "x"), 1)
            for words in (("CF.INFO", "k1"), ("BF.INFO", "k2"), ("NIDUS.INFO", "k1"),
                          ("CF.SCANDUMP", "k1", 0)):
                user.execute_command(*words)
            for words in (("CF.ADD", "k1", "y"), ("CF.DEL", "k1", "x"), ("BF.ADD", "k3", "x"),
                          ("CF.MERGE", "k1", "k1"), ("CF.RESERVE", "k4", 100)):
                with self.assertRaises(redis.exceptions.NoPermissionError):
                    user.execute_command(*words)

    def test_merges_need_to_read_one_key_and_to_write_the_other(self):
        self.do("CF.ADD", "from", "x")
        with self.client_of("+@all", "%R~from", "%RW~to") as user:
            user.execute_command("CF.MERGE", "to", "from")
            with self.assertRaises(redis.exceptions.NoPermissionError):
                user.execute_command("CF.MERGE", "from", "to")

    def test_categories_of_the_server_cover_the_commands(self):
        if "cuckoo" not in self.server.cli("ACL", "CAT").split("\n"):
            self.skipTest("this server has no categories for modules")
        self.do("CF.ADD", "k", "x")
        with self.client_of("~*", "+@read") as user:
            self.assertEqual(user.execute_command("CF.EXISTS", "k", "x"), 1)
            with self.assertRaises(redis.exceptions.NoPermissionError):
                user.execute_command("CF.ADD", "k", "x")

    def test_names_are_in_small_letters(self):
        for name in self.names():
            self.assertEqual(name, name.lower())
        self.do("CF.ADD", "k", "x")
        self.assertIn("cmdstat_cf.add", self.r.info("commandstats"))
        with self.client_of("~*", "-@all") as user:
            with self.assertRaises(redis.exceptions.NoPermissionError) as caught:
                user.execute_command("CF.ADD", "k", "x")
        self.assertIn("cf.add", str(caught.exception))


if __name__ == "__main__":
    servers.main()
