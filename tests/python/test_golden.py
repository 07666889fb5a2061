# SPDX-License-Identifier: MIT
"""The golden files answer as in C, damaged ones are refused as files, and builds give the bytes of the command."""

import pathlib

import numpy
import pytest

import nidus

FOLDER = pathlib.Path(__file__).parents[1] / "golden"
FILES = sorted(FOLDER.glob("*.nidus"))
OF_A_FILE = (nidus.FormatError, nidus.VersionError, nidus.TruncatedError, nidus.CorruptError)


def lines_of(path):
    return path.read_text().splitlines()


def key_of(line):
    """What a line names; None for a hash, on which Python has no calls."""
    what, key = line.split(" ", 1)
    return {"text": str, "u64": int}.get(what, lambda _: None)(key)


def test_there_are_golden_files():
    assert len(FILES) > 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_answers_as_in_c(path):
    expected = lines_of(path.with_suffix(".expected"))
    told = dict(line.split(" ", 1) for line in expected)
    found = dict(line.rsplit(" ", 1) for line in expected if line.split(" ", 1)[0] in ("text", "u64"))
    asked = [(line, key_of(line)) for line in lines_of(FOLDER / "keys")]
    for filter in (nidus.load(path), nidus.open(path)):
        info = filter.info
        for name in {"family", "seed", "capacity", "max_capacity", "slots", "count"} & told.keys():
            assert str(getattr(info, name)) == told[name], name
        assert f"{numpy.float64(info.fpr_target).view('u8'):#018x}" == told["fpr"]
        for line, key in asked:
            if key is not None:
                assert (key in filter) == (line in found), line
                assert line not in found or filter.count(key) == int(found[line])
    assert nidus.load(path).to_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_that_was_damaged_is_refused(path):
    data = path.read_bytes()
    for end in range(0, len(data), len(data) // 50 + 1):
        with pytest.raises(OF_A_FILE):
            nidus.from_bytes(data[:end])
    for at in [*range(192), *range(192, len(data), 97)]:
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(OF_A_FILE):
            nidus.from_bytes(damaged)
        try:
            assert nidus.from_bytes(damaged, copy=False).contains_many([1, 2, 3]).size == 3
        except OF_A_FILE:
            pass


@pytest.mark.parametrize("family", ["auto", *(row.family for row in nidus.plan(1000))])
def test_a_build_gives_the_bytes_of_the_command(family, command, tmp_path):
    path = tmp_path / "keys.nidus"
    words, numbers = [f"word {i}" for i in range(5000)], numpy.arange(5000, dtype="u8") ** 2
    for keys, more in ((words, []), (numbers, ["--u64"])):
        lines = "".join(f"{key}\n" for key in keys)
        command("build", *more, "-f", family, "-p", "0.002", "--seed", 77, "--force", "-o", path, keys=lines)
        assert nidus.build(keys, family=family, fpr=0.002, seed=77).to_bytes() == path.read_bytes()
