# SPDX-License-Identifier: MIT
"""One giant filter over the nodes of a Redis or Valkey cluster, as P filters under P keys.

    import redis.cluster
    from nidus.cluster import Filter

    client = redis.cluster.RedisCluster(host="127.0.0.1", port=7001)
    seen = Filter.reserve(client, "seen", capacity=10**9, error=0.001, partitions=256)
    seen.add([b"heron", b"crane"])
    seen.exists([b"heron", b"stork"])       # [True, False]

The nodes need the module of nidus (docs/redis.md), and this needs redis-py 4.1 or newer. Clients in other
languages agree if they do the same: item x, as bytes, belongs to partition

    I = crc32(x) mod P        (CRC-32 as in zlib, gzip and PNG; crc32("123456789") = 0xcbf43926)

whose key is `name:{pI}` (`seen:{p17}`). The braces are a hash tag: a cluster hashes what is between
them, so partition I of any filter lies in the slot of `pI`, and equal partitions of several filters lie
together and can be merged. What the partitions have in common is in the string `name:{nidus}`, as JSON:
partitions, kind ("CF" or "BF"), capacity, error and seed.
"""

import json
import os
import zlib
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

Item = Union[bytes, str, int, float]
Answer = Union[bool, Exception]

# Runs a command once, however often it is sent: KEYS[2] keeps the answer until the call has all of
# them, or for an hour.
ONCE = """
local before = redis.call('GET', KEYS[2])
if before then return cjson.decode(before) end
local answer = redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
redis.call('SET', KEYS[2], cjson.encode(answer), 'EX', 3600)
return answer
"""


def as_bytes(item: Item) -> bytes:
    """The bytes that a client sends for an item."""
    if isinstance(item, bytes):
        return item
    return str(item).encode()


def partition_of(item: Item, partitions: int) -> int:
    """The partition that an item belongs to."""
    return zlib.crc32(as_bytes(item)) % partitions


def key_of(name: str, partition: int) -> str:
    """The key of a partition."""
    return f"{name}:{{p{partition}}}"


class BatchError(Exception):
    """Some commands of a call failed, others did not.

    answers has an entry for each item, in order: True or False, or the exception that its command
    ended with. retry() sends those commands again and nothing else. Items are added and deleted once,
    even if the first attempt arrived and only its answer was lost.
    """

    def __init__(self, batch: "_Batch") -> None:
        self.answers = batch.answers
        errors = [answer for answer in batch.answers if isinstance(answer, Exception)]
        super().__init__(f"{len(errors)} of {len(batch.answers)} items failed: {errors[0]}")
        self._batch = batch

    def retry(self) -> List[bool]:
        """Sends what failed again. All answers, or another BatchError."""
        return self._batch.send()


class _Batch:
    """The commands of one call, and what has been answered so far."""

    def __init__(self, client: Any, items: int) -> None:
        self.client = client
        self.answers: List[Answer] = [False] * items
        self.commands: List[Tuple[List[int], Tuple[Any, ...]]] = []
        self.tokens: List[str] = []

    def send(self) -> List[bool]:
        if not self.commands:
            return [bool(answer) for answer in self.answers]
        pipe = _pipeline(self.client)
        for _, words in self.commands:
            pipe.execute_command(*words)
        failed = []
        for (places, words), reply in zip(self.commands, _execute(pipe, len(self.commands))):
            if isinstance(reply, Exception):
                failed.append((places, words))
                reply = [reply] * len(places)
            for place, answer in zip(places, reply):
                self.answers[place] = answer if isinstance(answer, Exception) else answer == 1
        self.commands = failed
        if failed:
            raise BatchError(self)
        self.forget()
        return [answer is True for answer in self.answers]

    def forget(self) -> None:
        """Nothing will be sent again. What cannot be deleted goes by itself."""
        pipe = _pipeline(self.client)
        for token in self.tokens:
            pipe.execute_command("UNLINK", token)
        if self.tokens:
            _execute(pipe, len(self.tokens))
        self.tokens = []


def _pipeline(client: Any) -> Any:
    """Commands that are sent together; none depends on another."""
    cluster = hasattr(client, "nodes_manager")
    return client.pipeline() if cluster else client.pipeline(transaction=False)


def _execute(pipe: Any, n: int) -> Sequence[Any]:
    """The replies of a pipeline; if it fails as a whole, that for each command."""
    try:
        return list(pipe.execute(raise_on_error=False))
    except Exception as error:  # pylint: disable=broad-except
        return [error] * n


class Filter:
    """A filter in partitions. Make one with Filter.reserve, find one with Filter.open.

    client is a redis.cluster.RedisCluster, or a redis.Redis. Each call sends at most one command per
    partition and `batch` items, in pipelines. Lists of answers are in the order of the items. If some
    commands fail, BatchError tells what became of each item.
    """

    def __init__(self, client: Any, name: str, about: Dict[str, Any], batch: int = 2000) -> None:
        if not 1 <= batch <= 5000:
            raise ValueError("batch must be from 1 to 5000")
        self.client = client
        self.name = name
        self.partitions = int(about["partitions"])
        self.kind = str(about["kind"])
        self.about = about
        self.batch = batch

    @staticmethod
    def _about_key(name: str) -> str:
        return f"{name}:{{nidus}}"

    @classmethod
    def reserve(cls, client: Any, name: str, capacity: int, error: float = 0.01,
                partitions: int = 256, kind: str = "CF", options: Sequence[Any] = (),
                batch: int = 2000) -> "Filter":
        """Makes the partitions, each for its share of the items and six deviations more.

        Can be called again with the same arguments: what is there stays, what is missing is made.
        Other arguments are a ValueError. options are more words for CF.RESERVE or BF.RESERVE.
        """
        if partitions < 1 or kind not in ("CF", "BF"):
            raise ValueError("partitions must be at least 1, and kind CF or BF")
        about = {"partitions": partitions, "kind": kind, "capacity": capacity, "error": error}
        seed = int.from_bytes(os.urandom(8), "little") >> 1 or 1
        fresh = json.dumps(dict(about, seed=seed), sort_keys=True)
        client.set(cls._about_key(name), fresh, nx=True)
        found = cls.open(client, name, batch)
        if any(found.about.get(word) != value for word, value in about.items()):
            raise ValueError(f"there is a filter {name} with {found.about}")
        found._make(list(options))
        return found

    @classmethod
    def open(cls, client: Any, name: str, batch: int = 2000) -> "Filter":
        """The filter of this name. KeyError: there is none."""
        text = client.get(cls._about_key(name))
        if text is None:
            raise KeyError(f"there is no filter {name}: Filter.reserve makes one")
        return cls(client, name, json.loads(text), batch)

    def _make(self, options: List[Any]) -> None:
        share = self.about["capacity"] / self.partitions
        share = max(64, int(share + 6 * share**0.5) + 1)
        error, words = self.about["error"], ["SEED", self.about["seed"], *options]
        first = [share, "ERROR", error] if self.kind == "CF" else [error, share]
        for reply in self._ask_all(f"{self.kind}.RESERVE", *first, *words):
            if isinstance(reply, Exception) and "item exists" not in str(reply):
                raise reply

    def add(self, items: Iterable[Item]) -> List[bool]:
        """Adds items; True for each that went in (BF: that was new), False if it was refused (BF: there)."""
        return self._send(f"{self.kind}.INSERT", items, "NOCREATE", "ITEMS", once=self.kind == "CF")

    def exists(self, items: Iterable[Item]) -> List[bool]:
        """True for each item that is in the filter."""
        return self._send(f"{self.kind}.MEXISTS", items)

    def delete(self, items: Iterable[Item]) -> List[bool]:
        """Takes one copy of each item out; True for each that was there. CF only.

        Delete only what was added: an item that never was may take another one away that looks the same.
        """
        if self.kind != "CF":
            raise ValueError("items of a BF filter cannot be deleted")
        return self._send("CF.MDEL", items, once=True)

    def info(self) -> Dict[str, Any]:
        """Items, bytes and capacity of all partitions together, and how full the fullest is."""
        items = size = capacity = most = 0
        fullest = 0.0
        for told in self._tell_all():
            items += told["Items"]
            size += told["Bytes"]
            capacity += told["Capacity"]
            most += told["Most items"]
            fullest = max(fullest, told["Items"] / told["Most items"])
        return dict(self.about, items=items, bytes=size, capacity_now=capacity, most_items=most,
                    fullest=fullest)

    def card(self) -> int:
        """How many items there are; copies count."""
        return sum(told["Items"] for told in self._tell_all())

    def drop(self) -> None:
        """Deletes the filter. Nothing happens if it is not there."""
        for reply in self._ask_all("UNLINK"):
            if isinstance(reply, Exception):
                raise reply
        self.client.unlink(self._about_key(self.name))

    def _tell_all(self) -> Iterator[Dict[str, int]]:
        for reply in self._ask_all("NIDUS.INFO"):
            if isinstance(reply, Exception):
                raise reply
            pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
            told = {_text(word): value for word, value in pairs}
            yield {word: int(told[word]) for word in ("Items", "Bytes", "Capacity", "Most items")}

    def _ask_all(self, command: str, *words: Any) -> Sequence[Any]:
        """The replies of all partitions to a command; errors are among them."""
        pipe = _pipeline(self.client)
        for partition in range(self.partitions):
            pipe.execute_command(command, key_of(self.name, partition), *words)
        return _execute(pipe, self.partitions)

    def _send(self, command: str, items: Iterable[Item], *words: str, once: bool = False) -> List[bool]:
        sent = [as_bytes(item) for item in items]
        batch = _Batch(self.client, len(sent))
        for places, key in self._batches(sent):
            mine = [sent[place] for place in places]
            asked: Tuple[Any, ...] = (command, key, *words, *mine)
            if once:
                token = f"{key}:{os.urandom(12).hex()}"
                asked = ("EVAL", ONCE, 2, key, token, command, *words, *mine)
                batch.tokens.append(token)
            batch.commands.append((places, asked))
        return batch.send()

    def _batches(self, items: List[bytes]) -> Iterator[Tuple[List[int], str]]:
        """The places of the items in the list, by partition, `batch` at a time."""
        places: Dict[int, List[int]] = {}
        for place, item in enumerate(items):
            places.setdefault(zlib.crc32(item) % self.partitions, []).append(place)
        for partition in sorted(places):
            mine = places[partition]
            for start in range(0, len(mine), self.batch):
                yield mine[start:start + self.batch], key_of(self.name, partition)


def _text(word: Optional[Union[bytes, str]]) -> str:
    return word.decode() if isinstance(word, bytes) else str(word)
