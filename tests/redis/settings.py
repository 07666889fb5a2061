# SPDX-License-Identifier: MIT
"""What an operator sets and sees: CONFIG, arguments of the module, INFO, and other modules."""
import os
import re

import redis

import servers

OTHER = os.path.join(os.path.dirname(servers.MODULE), "nidus_redis_other.so")


class Settings(servers.Test):
    def tearDown(self):
        for name, value in self.defaults.items():
            self.r.config_set(name, value)

    def setUp(self):
        super().setUp()
        self.defaults = self.r.config_get("nidus.*")

    def told(self, key):
        reply = self.do("NIDUS.INFO", key)
        return dict(zip((name.decode() for name in reply[::2]), reply[1::2]))

    def test_defaults_are_those_of_the_manual(self):
        wanted = {"bf-error-rate": "0.01", "bf-initial-size": "100", "bf-expansion-factor": "2",
                  "cf-error-rate": "0.01", "cf-initial-size": "1024", "cf-bucket-size": "2",
                  "cf-max-iterations": "20", "cf-expansion-factor": "1", "cf-max-expansions": "32",
                  "max-capacity": "0", "max-filter-bytes": "0", "family": "auto"}
        self.assertEqual(self.defaults, {f"nidus.{name}": value for name, value in wanted.items()})
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs",
                               "redis.md")) as page:
            text = page.read()
        for name in wanted:
            self.assertIn(f"`nidus.{name}`", text)

    def test_they_decide_about_filters_that_are_made_without_options(self):
        for name, value in (("bf-error-rate", 0.001), ("bf-initial-size", 500),
                            ("cf-error-rate", 0.0001), ("cf-initial-size", 5000),
                            ("cf-bucket-size", 4), ("cf-max-iterations", 30),
                            ("cf-expansion-factor", 2), ("max-capacity", 2**27),
                            ("family", "bucketed")):
            self.r.config_set(f"nidus.{name}", value)
        self.do("BF.ADD", "b", "x")
        self.do("CF.ADD", "c", "x")
        self.do("CF.RESERVE", "own", 70, "ERROR", 0.01, "FAMILY", "windowed")
        self.assertEqual(self.do("BF.INFO", "b", "CAPACITY"), [500])
        self.assertEqual(float(self.do("BF.INFO", "b", "ERROR")[0]), 0.001)
        self.assertEqual(float(self.told("b")["Error rate asked for"]), 0.001)
        self.assertEqual(float(self.told("c")["Error rate asked for"]), 0.0001)
        self.assertEqual(self.told("c")["Family"], b"bucketed")
        self.assertGreaterEqual(self.told("c")["Most items"], 2**27)
        reply = self.do("CF.INFO", "c")
        info = dict(zip(reply[::2], reply[1::2]))
        self.assertEqual([info[name] for name in (b"Bucket size", b"Max iterations",
                                                  b"Expansion rate")], [4, 30, 2])
        self.assertEqual(self.told("own")["Family"], b"windowed")

    def test_filters_have_no_size_by_default(self):
        self.do("CF.ADD", "c", "x")
        self.do("BF.ADD", "b", "x")
        self.do("CF.RESERVE", "fixed", 100, "EXPANSION", 0)
        self.do("CF.RESERVE", "given", 100, "MAXCAPACITY", 5000)
        self.do("CF.RESERVE", "cuckoo", 100, "FAMILY", "cuckoo")  # it has to have a size
        self.do("BF.RESERVE", "low", 2**-24, 100)
        for key in "cb":
            self.assertEqual(self.told(key)["Most items"], 2**63 - 1)
        self.assertLess(self.told("fixed")["Most items"], 1000)
        self.assertLess(self.told("given")["Most items"], 20000)
        self.assertEqual(self.told("cuckoo")["Family"], b"cuckoo")
        self.assertGreaterEqual(self.told("cuckoo")["Most items"], 10000)
        self.assertLess(self.told("cuckoo")["Most items"], 2**44)
        self.assertGreaterEqual(self.told("low")["Most items"], 10000)

    def test_values_that_make_no_sense_are_refused(self):
        for name, value in (("bf-error-rate", "x"), ("bf-error-rate", 0), ("cf-error-rate", 1),
                            ("bf-initial-size", 0), ("cf-initial-size", 2**30 + 1),
                            ("cf-bucket-size", 256), ("family", "bloom"), ("family", "none"),
                            ("max-filter-bytes", -1)):
            with self.assertRaises(redis.exceptions.ResponseError):
                self.r.config_set(f"nidus.{name}", value)
        self.assertEqual(self.r.config_get("nidus.*"), self.defaults)

    def test_one_filter_takes_no_more_bytes_than_allowed(self):
        self.r.config_set("nidus.max-filter-bytes", 100000)
        with self.assertRaises(redis.exceptions.ResponseError) as caught:
            self.do("CF.RESERVE", "large", 10**6)
        self.assertIn("OOM", str(caught.exception))
        with self.assertRaises(redis.exceptions.ResponseError) as caught:
            for i in range(10**6):
                self.do("CF.ADD", "f", i)
        self.assertIn("nidus.max-filter-bytes", str(caught.exception))
        self.assertLess(self.r.memory_usage("f"), 105000)
        self.assertGreater(i, 5000)  # a list and the segments made of it are there together
        self.assertEqual(self.do("CF.EXISTS", "f", 77), 1)
        self.assertIn(-1, self.do("CF.INSERT", "f", "ITEMS", *range(i, i + 5000)))
        self.r.config_set("nidus.max-filter-bytes", 0)
        self.assertEqual(self.do("CF.INSERT", "f", "ITEMS", *range(i, i + 5000)), [1] * 5000)

    def test_info_counts_families_growth_and_what_was_refused(self):
        def info():
            return self.r.info("nidus_filters")
        servers.wait_for(lambda: info()["nidus_filters"] == 0, "filters of before")
        before = info()
        self.do("CF.RESERVE", "a", 100, "FAMILY", "windowed")
        self.do("CF.RESERVE", "b", 100, "FAMILY", "windowed")
        self.do("BF.RESERVE", "c", 0.01, 100, "NONSCALING", "FAMILY", "blocked-bloom")
        self.r.copy("c", "d")
        self.do("DEBUG", "RELOAD")
        self.do("CF.MERGE", "a", "b")
        self.do("CF.INSERT", "a", "ITEMS", *range(5000))
        self.do("BF.INSERT", "c", "ITEMS", *range(150))
        now = info()
        self.assertEqual((now["nidus_filters_windowed"], now["nidus_filters_blocked_bloom"]), (2, 2))
        self.assertGreater(now["nidus_growth_steps"], before["nidus_growth_steps"])
        self.assertGreater(now["nidus_refused_full"], before["nidus_refused_full"] + 40)
        self.assertEqual((now["nidus_refused_copies"], now["nidus_refused_memory"]),
                         (before["nidus_refused_copies"], before["nidus_refused_memory"]))
        self.r.flushall()
        servers.wait_for(lambda: "nidus_filters_windowed" not in info() and
                         "nidus_filters_blocked_bloom" not in info(), "filters to go")

    def test_debug_describes_filters_and_dumps_keep_it(self):
        self.do("BF.RESERVE", "b", 0.01, 100)
        self.do("BF.MADD", "b", *range(1000))
        self.do("CF.INSERT", "c", "ITEMS", *range(1000))
        self.assertTrue(self.do("BF.DEBUG", "b")[0].startswith(b"size:"))
        self.assertIn(b"items:1000 deletes:0 filters:1 max_iterations:20 expansion:1",
                      self.do("CF.DEBUG", "c"))
        for key, kind in (("b", "BF"), ("c", "CF")):
            before, position = self.described(kind, key), 0
            chunks = []
            while True:
                position, data = self.do(f"{kind}.SCANDUMP", key, position)
                if position == 0:
                    break
                chunks.append((position, data))
            self.r.delete(key)
            for chunk in chunks:
                self.do(f"{kind}.LOADCHUNK", key, *chunk)
            self.assertEqual(self.described(kind, key), before)
        self.refused("not found", "BF.DEBUG", "none")

    def described(self, kind, key):
        """What DEBUG tells, without the memory: a list of a few items has room for some more until it is loaded."""
        told = self.do(f"{kind}.DEBUG", key)
        lines = told if isinstance(told, list) else [told]
        return [re.sub(rb"(bytes|bits):[0-9]+", b"", line) for line in lines]

    def test_bf_filters_merge(self):
        for i, key in enumerate("abc"):
            self.do("BF.MADD", key, *range(1000 * i, 1000 * i + 1100))
        self.assertEqual(self.do("BF.MERGE", "all", "a", "b", "c"), b"OK")
        self.assertEqual(self.do("BF.MEXISTS", "all", *range(3100)), [1] * 3100)
        self.assertAlmostEqual(self.do("BF.CARD", "all"), 3100, delta=120)
        self.do("BF.MADD", "all", *range(3100, 9000))
        self.assertEqual(self.do("BF.MEXISTS", "all", *range(9000)), [1] * 9000)


class Arguments(servers.Test):
    def test_those_of_redisbloom_and_the_settings_are_taken(self):
        server = servers.Server(module_arguments=(
            "ERROR_RATE", "0.005", "INITIAL_SIZE", "400", "CF_MAX_EXPANSIONS", "64",
            "cf-initial-size", "2000", "CF_BUCKET_SIZE", "4", "FAMILY", "windowed", "SEED", "77"))
        with server.client() as client:
            told = client.config_get("nidus.*")
            self.assertEqual([told[f"nidus.{name}"] for name in (
                "bf-error-rate", "bf-initial-size", "cf-max-expansions", "cf-initial-size",
                "cf-bucket-size", "family")], ["0.005", "400", "64", "2000", "4", "windowed"])
            client.execute_command("BF.ADD", "b", "x")
            self.assertEqual(client.execute_command("BF.INFO", "b", "CAPACITY"), [400])
        server.stop()

    def test_settings_stand_in_the_configuration_file(self):
        server = servers.Server("--nidus.cf-initial-size", "3000")
        with server.client() as client:
            self.assertEqual(client.config_get("nidus.cf-initial-size"),
                             {"nidus.cf-initial-size": "3000"})
        server.stop()

    def test_wrong_ones_stop_the_server_with_a_reason(self):
        for arguments in (("SEED",), ("SEED", "x"), ("COLOUR", "red"), ("ERROR_RATE", "2"),
                          ("INITIAL_SIZE", "0"), ("COMMANDS", "XF"), ("FAMILY", "bloom")):
            with self.assertRaises(RuntimeError) as caught:
                servers.Server(module_arguments=arguments)
            self.assertIn("wrong arguments of the module", str(caught.exception))


class Neighbours(servers.Test):
    """Another module that has some of our commands. It is loaded first."""

    def beside(self, *names, arguments=()):
        options = ("--loadmodule", OTHER, *names) if names else ()
        return servers.Server(*options, module_arguments=arguments)

    def commands(self, server):
        return set(server.cli("COMMAND", "LIST", "FILTERBY", "MODULE", "nidus").split("\n"))

    def test_what_another_module_has_is_left_to_it(self):
        for taken, left in (("bf", "cf"), ("cf", "bf")):
            server = self.beside(f"{taken}.reserve", f"{taken}.add")
            names = self.commands(server)
            self.assertIn(f"{left}.add", names)
            self.assertIn("nidus.info", names)
            self.assertFalse([name for name in names if name.startswith(taken)])
            with server.client() as client:
                self.assertEqual(client.execute_command(f"{taken}.add", "k", "x"),
                                 b"the other module")
                self.assertEqual(client.execute_command(f"{left}.add", "l", "x"), 1)
            self.assertIn(f"another module has the commands {taken}.*", server.log())
            server.stop()

    def test_an_argument_says_which_commands_to_serve(self):
        for serve, other in (("CF", "bf."), ("BF", "cf.")):
            server = servers.Server("--enable-module-command", "yes",
                                    module_arguments=("COMMANDS", serve))
            names = self.commands(server)
            self.assertTrue([name for name in names if name.startswith(serve.lower())])
            self.assertFalse([name for name in names if name.startswith(other)])
            with server.client() as client:  # there is room for another one
                client.execute_command("MODULE", "LOAD", OTHER, other + "reserve")
                self.assertEqual(client.execute_command(other + "reserve", "k"),
                                 b"the other module")
            server.stop()
        with self.assertRaises(RuntimeError) as caught:
            self.beside("bf.reserve", arguments=("COMMANDS", "ALL"))
        self.assertIn("another module has the commands bf.*", str(caught.exception))

    def test_two_modules_that_have_everything_do_not_fit(self):
        with self.assertRaises(RuntimeError):
            self.beside("bf.reserve", "cf.reserve")

    def test_the_types_of_redisbloom_are_left_to_it(self):
        server = self.beside("TYPE")
        with server.client() as client:
            self.assertEqual(client.execute_command("BF.ADD", "k", "x"), 1)
        self.assertIn("another module has RedisBloom's type MBbloom--", server.log())
        server.stop()


if __name__ == "__main__":
    servers.main()
