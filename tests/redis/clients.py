# SPDX-License-Identifier: MIT
"""Client libraries that know these commands from another module work as they are."""
import servers


class Python(servers.Test):
    """redis-py's cf() and bf()."""

    def test_cf(self):
        cf = self.r.cf()
        self.assertTrue(cf.create("f", 1000, expansion=1, bucket_size=4, max_iterations=10))
        self.assertTrue(cf.add("f", "a"))
        self.assertFalse(cf.addnx("f", "a"))
        self.assertTrue(cf.addnx("f", "b"))
        self.assertEqual(cf.insert("g", ["c"], capacity=1000), [1])
        self.assertEqual(cf.insertnx("g", ["c", "d"], capacity=1000), [0, 1])
        self.assertTrue(cf.exists("f", "a"))
        self.assertFalse(cf.exists("f", "nothing"))
        self.assertEqual(cf.count("f", "a"), 1)
        self.assertEqual(cf.count("missing", "a"), 0)
        self.assertTrue(cf.delete("f", "a"))
        self.assertFalse(cf.delete("f", "a"))
        info = cf.info("f")
        self.assertEqual((info.insertedNum, info.deletedNum, info.expansionRate), (1, 1, 1))
        self.assertEqual((info.bucketSize, info.maxIteration), (4, 10))

    def test_bf(self):
        bf = self.r.bf()
        self.assertTrue(bf.create("f", 0.01, 1000, expansion=2))
        self.assertTrue(bf.create("n", 0.01, 1000, noScale=True))
        self.assertEqual(bf.add("f", "a"), 1)
        self.assertEqual(bf.add("f", "a"), 0)
        self.assertEqual(bf.madd("f", "a", "b"), [0, 1])
        self.assertEqual(bf.insert("g", ["a", "b"], capacity=500, error=0.001, expansion=3), [1, 1])
        self.assertEqual(bf.exists("f", "b"), 1)
        self.assertEqual(bf.mexists("f", "a", "z"), [1, 0])
        info = bf.info("f")
        self.assertEqual((info.capacity, info.filterNum, info.insertedNum), (1000, 1, 2))
        self.assertEqual(info.expansionRate, 2)

    def test_dumps(self):
        for name, commands in (("CF", self.r.cf()), ("BF", self.r.bf())):
            self.do(f"{name}.INSERT", "from", "ITEMS", *range(500))
            position, chunks = 0, []
            while True:
                position, data = commands.scandump("from", position)
                if position == 0:
                    break
                chunks.append((position, data))
            self.r.delete("to")
            for position, data in chunks:
                self.assertTrue(commands.loadchunk("to", position, data))
            self.assertEqual(self.digest("to"), self.digest("from"))
            self.r.flushall()


if __name__ == "__main__":
    servers.main()
