# SPDX-License-Identifier: MIT
"""Files, bytes, pickles; and the same files on the command line."""

import copy
import mmap
import os
import pathlib
import pickle
import re

import numpy
import pytest

import nidus
from conftest import FAMILIES


@pytest.fixture
def birds():
    filter = nidus.Filter(100, fpr=0.001, family="windowed", seed=1)
    filter.add_many(["heron", "crane", 7])
    return filter


def test_a_saved_filter_is_loaded_again(birds, tmp_path):
    for path in (str(tmp_path / "a.nidus"), tmp_path / "b.nidus", os.fsencode(tmp_path / "c ä.nidus")):
        birds.save(path)
        again = nidus.load(path)
        assert "heron" in again and again.to_bytes() == birds.to_bytes()
        again.add("stork")
        assert "stork" not in birds


def test_an_opened_filter_answers_and_cannot_change(birds, tmp_path):
    path = tmp_path / "birds.nidus"
    birds.save(path)
    for filter in (nidus.open(path), nidus.open(path, verify=True), nidus.from_bytes(path.read_bytes(), copy=False)):
        assert filter.contains_many(["heron", "crane", 7]).all() and filter.info.readonly
        changes = [
            lambda: filter.add(1), lambda: filter.add_many([1]), lambda: filter.discard("heron"), filter.clear,
            lambda: filter.__ior__(birds), lambda: filter.grow(1000), lambda: filter.add_new_many([1]),
        ]  # fmt: skip
        for change in changes:
            with pytest.raises(nidus.ReadOnlyError):
                change()
        changed = filter.copy()
        changed.add("stork")
        assert "stork" in changed and not changed.info.readonly
        assert len(filter | birds) == len(birds) and len(nidus.merge([filter, birds], copies=True)) == 2 * len(birds)
        filter.close()


def test_bytes_that_are_looked_at_are_kept(birds):
    data = bytearray(birds.to_bytes())
    filter = nidus.from_bytes(data, copy=False)
    with pytest.raises(BufferError):
        data.clear()
    filter.close()
    data.clear()
    shared = mmap.mmap(-1, len(birds.to_bytes()))
    shared.write(birds.to_bytes())
    filter = nidus.from_bytes(shared, copy=False)
    with pytest.raises(BufferError):
        shared.close()
    assert "heron" in filter
    del filter
    shared.close()


def test_copies_and_pickles_are_filters_of_their_own(birds):
    copies = [birds.copy(), copy.copy(birds), copy.deepcopy(birds)]
    copies += [pickle.loads(pickle.dumps(birds, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert other.to_bytes() == birds.to_bytes()
        other.add("stork")
    assert "stork" not in birds
    info = pickle.loads(pickle.dumps(birds.info))
    assert info == birds.info and info.features is birds.info.features


def test_a_concurrent_filter_stays_one():
    filter = nidus.Filter(100, features=nidus.Feature.CONCURRENT)
    for other in (filter, filter.copy(), pickle.loads(pickle.dumps(filter)), filter | filter, nidus.build([], like=filter)):
        assert other.info.concurrent
    assert not nidus.from_bytes(filter.to_bytes(), copy=False).info.concurrent


def test_damage_is_found(birds, tmp_path):
    data = birds.to_bytes()
    damaged = bytearray(data)
    damaged[-1] ^= 1
    for bad, error in [
        (b"", nidus.TruncatedError),
        (data[:-1], nidus.TruncatedError),
        (bytes(damaged), nidus.CorruptError),
        (b"not a filter at all" * 20, nidus.FormatError),
        (data + b"x", nidus.FormatError),
    ]:
        with pytest.raises(error) as caught:
            nidus.from_bytes(bad)
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, nidus.Error)
        path = tmp_path / "bad.nidus"
        path.write_bytes(bad)
        with pytest.raises(error, match="bad.nidus"):
            nidus.load(path)
        with pytest.raises(error):
            nidus.open(path, verify=True)
    for wrong in ("text", None, 7):
        with pytest.raises(TypeError):
            nidus.from_bytes(wrong)
    with pytest.raises(BufferError):
        nidus.from_bytes(memoryview(data)[::2])


def test_what_the_system_refuses_is_an_os_error(birds, tmp_path):
    missing = tmp_path / "none" / "x.nidus"
    for call in (nidus.load, nidus.open, birds.save):
        with pytest.raises(FileNotFoundError) as caught:
            call(missing)
        error = caught.value
        assert isinstance(error, nidus.FileError) and error.errno == 2 and error.filename == missing
        assert re.fullmatch(r"cannot \w+ .*x\.nidus\S*: No such file or directory", str(error))
    with pytest.raises(nidus.Error):
        nidus.load(tmp_path)
    with pytest.raises(nidus.FileError) as caught:
        birds.save(tmp_path)
    assert isinstance(caught.value, OSError)
    for path in (7, None, "a\0b", 1.5):
        with pytest.raises((TypeError, ValueError)):
            nidus.load(path)


def test_repr_says_what_it_is(birds, tmp_path):
    assert repr(birds) == "<nidus.Filter windowed: 3 of 100 keys, fpr 0.001>"
    birds.save(tmp_path / "x.nidus")
    assert repr(nidus.open(tmp_path / "x.nidus")).endswith("read-only>")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_command_answers_for_filters_of_python(family, command, tmp_path):
    path = tmp_path / "keys.nidus"
    keys = numpy.array([0, 1, 2**64 - 1, 2**63], dtype="u8")
    filter = nidus.build(keys, fpr=2**-20, family=family, seed=1)
    filter.save(path)
    lines = "0\n1\n-1\n18446744073709551615\n-9223372036854775808\n"
    assert command("query", "--u64", path, keys=lines) == lines
    assert command("query", path, keys="0\n1\n", code=1) == ""
    assert f'"count": {len(filter)}' in command("info", "--json", path)
    texts = nidus.build(["heron", "Reiher ä", b"\xff"], fpr=2**-20, family=family, seed=1)
    texts.save(path)
    assert command("query", path, keys="heron\nReiher ä\nnone\n") == "heron\nReiher ä\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_python_answers_for_filters_of_the_command(family, command, tmp_path):
    path = tmp_path / "keys.nidus"
    command("build", "--u64", "-f", family, "-p", "2^-20", "--seed", 1, "-o", path, keys="5\n-1\n18446744073709551614\n")
    for filter in (nidus.load(path), nidus.open(path)):
        assert filter.contains_many(numpy.array([5, -1, -2])).all()
        assert 5 in filter and "5" not in filter
    command("build", "-f", family, "-p", "2^-20", "--seed", 1, "-o", path, keys="heron\nReiher ä\n5\n")
    filter = nidus.load(path)
    assert "heron" in filter and "Reiher ä" in filter and "5" in filter and 5 not in filter


def test_the_same_seed_gives_the_same_bytes_as_the_command(command, tmp_path):
    path = tmp_path / "keys.nidus"
    command("build", "--u64", "-p", "2^-10", "--seed", "42", "-o", path, keys="\n".join(map(str, range(5000))))
    assert path.read_bytes() == nidus.build(numpy.arange(5000), fpr=2**-10, seed=42).to_bytes()


def test_paths_may_be_relative(birds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    birds.save("birds.nidus")
    assert "heron" in nidus.open(pathlib.Path("birds.nidus"))
