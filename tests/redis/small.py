# SPDX-License-Identifier: MIT
"""A filter per user: ten thousand small filters."""
import servers

N = 4000 if servers.SMALL else 10000
SORTS = {
    "BF.ADD": (("BF.ADD", "x"), ("BF.MADD", *range(99))),
    "CF.ADD": (("CF.ADD", "x"), ("CF.INSERT", "ITEMS", *range(979))),
    "CF.RESERVE 64": (("CF.INSERT", "CAPACITY", 64, "ITEMS", "x"), ("CF.INSERT", "ITEMS", *range(59))),
}

# Bytes of each, when full, by MEMORY USAGE.
FULL = {"BF.ADD": 780, "CF.ADD": 2600, "CF.RESERVE 64": 680}


class Small(servers.Test):
    # With one seed in thirty two of 980 items are twins, and each filter has a list of copies.
    module_arguments = ("SEED", "11400714819323198485")

    def each(self, words, n=N):
        """Sends a command to each of the keys, in pipelines."""
        replies = []
        for start in range(0, n, 500):
            pipe = self.r.pipeline(transaction=False)
            for i in range(start, min(start + 500, n)):
                pipe.execute_command(words[0], f"user:{i:06d}", *words[1:])
            replies += pipe.execute()
        return replies

    def used(self):
        servers.wait_for(lambda: self.r.info("memory")["lazyfree_pending_objects"] == 0, "memory")
        return self.r.info("memory")["used_memory"]

    def expect_usage(self, empty, what, most):
        taken = (self.used() - empty) / N
        told = sum(self.each(("MEMORY USAGE",))) / N
        print(f"{what}: {taken:.0f} bytes each, {told:.0f} by MEMORY USAGE, "
              f"{len(self.r.dump('user:000007'))} in a DUMP", flush=True)
        self.assertLessEqual(told, most)
        # The server's own buffers come and go; of many filters they are nothing.
        self.assertLess(abs(told - taken), 0.05 * taken + 40000 / N)

    def test_memory_usage_tells_the_truth(self):
        for name, (one, more) in SORTS.items():
            self.r.flushall()
            empty = self.used()
            self.each(one)
            self.expect_usage(empty, f"{name} with one item", 520)
            self.assertLessEqual(len(self.r.dump("user:000007")), 160)
            self.each(more)
            self.expect_usage(empty, f"{name} when full", FULL[name])
            self.assertEqual(self.each((one[0][:3] + "EXISTS", "x")), [1] * N)

    def test_all_of_them_survive_a_reload_byte_by_byte_and_go_on(self):
        for one, more in SORTS.values():
            self.r.flushall()
            self.each(one)
            before = self.r.execute_command("DEBUG", "DIGEST")
            self.do("DEBUG", "RELOAD")
            self.assertEqual(self.r.execute_command("DEBUG", "DIGEST"), before)
            self.each(more)
            self.assertEqual(self.each((one[0][:3] + "EXISTS", "50")), [1] * N)


if __name__ == "__main__":
    servers.main()
