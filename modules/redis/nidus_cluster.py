# SPDX-License-Identifier: MIT
"""One giant filter over the nodes of a cluster, as P filters under P keys.

    import redis.cluster, nidus_cluster
    client = redis.cluster.RedisCluster(host="127.0.0.1", port=7001)
    seen = nidus_cluster.Filter(client, "seen", partitions=256)
    seen.reserve(capacity=10**9, error=0.001)
    seen.add([b"heron", b"crane"])
    seen.exists([b"heron", b"stork"])       # [True, False]

Clients in other languages agree if they do the same: item x, as bytes, belongs to partition

    I = crc32(x) mod P        (CRC-32 as in zlib, gzip and PNG; crc32("123456789") = 0xcbf43926)

whose key is `name:{pI}` (`seen:{p17}`). The braces are a hash tag: Redis Cluster hashes what is
between them, so a partition of any name lies in the slot of `pI`, and equal partitions of several
filters lie together and can be merged. The filters' own hash is keyed and of another kind, so
the partition tells nothing about places in a filter.
"""
import zlib


def as_bytes(item):
    """The bytes that a client sends for an item."""
    if isinstance(item, bytes):
        return item
    return str(item).encode()


def partition_of(item, partitions):
    return zlib.crc32(as_bytes(item)) % partitions


def key_of(name, partition):
    return f"{name}:{{p{partition}}}"


class Filter:
    """A filter in partitions. `client` is a redis.cluster.RedisCluster, or a redis.Redis.

    `kind` is "CF" (items can be deleted) or "BF". Each call sends at most one command per
    partition and `batch` items, in pipelines. Lists of answers are in the order of the items.
    """

    def __init__(self, client, name, partitions=256, kind="CF", batch=2000):
        self.client = client
        self.name = name
        self.partitions = partitions
        self.kind = kind
        self.batch = batch

    def reserve(self, capacity, error=0.01, *options):
        """Makes the partitions, each for its share of the items and six deviations more."""
        share = capacity / self.partitions
        share = max(64, int(share + 6 * share**0.5) + 1)
        pipe = self.client.pipeline()
        for partition in range(self.partitions):
            key = key_of(self.name, partition)
            if self.kind == "CF":
                pipe.execute_command("CF.RESERVE", key, share, "ERROR", error, *options)
            else:
                pipe.execute_command("BF.RESERVE", key, error, share, *options)
        pipe.execute()

    def add(self, items):
        """Adds items; True for each that went in (BF: that was new)."""
        return [answer == 1 for answer in self._ask(f"{self.kind}.INSERT", items, "ITEMS")]

    def exists(self, items):
        """True for each item that is in the filter."""
        return [answer == 1 for answer in self._ask(f"{self.kind}.MEXISTS", items)]

    def delete(self, items):
        """Takes one copy of each item out; True for each that was there. CF only."""
        return [answer == 1 for answer in self._ask("CF.MDEL", items)]

    def _ask(self, command, items, *words):
        items = [as_bytes(item) for item in items]
        answers = [None] * len(items)
        pipe, sent = self.client.pipeline(), []
        for places, key in self._batches(items):
            pipe.execute_command(command, key, *words, *[items[place] for place in places])
            sent.append(places)
        for places, reply in zip(sent, pipe.execute() if sent else []):
            for place, answer in zip(places, reply):
                answers[place] = answer
        return answers

    def _batches(self, items):
        """The places of the items in the list, by partition, `batch` at a time."""
        places = {}
        for place, item in enumerate(items):
            places.setdefault(zlib.crc32(item) % self.partitions, []).append(place)
        for partition in sorted(places):
            mine = places[partition]
            for start in range(0, len(mine), self.batch):
                yield mine[start:start + self.batch], key_of(self.name, partition)
