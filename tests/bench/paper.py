#!/usr/bin/env python3
"""nidus bench paper: a small run of every experiment has what it should have.

usage: tests/bench/paper.py NIDUS

Sizes are tiny, so speeds are not looked at; loads, rates and counts are.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PAPERS = ["windowed", "cpcf", "cuckoo", "simplified", "breadcrumb"]
SMALL = ["--quick", "-n", "20000", "--slots", "20000", "--fills", "20", "--rounds", "1"]

# What is not measured everywhere: cache misses; a load that short fingerprints do not reach;
# a churn of filters that cannot be filled so far.
MAY_BE_EMPTY = {"table-1-misses", "figure-4", "table-2-efficiency", "table-2-load"}


def run(nidus, *arguments):
    return subprocess.run([nidus, "bench", "paper", *arguments], capture_output=True, text=True)


def rows_of(report, paper, experiment):
    for one in report["papers"]:
        for part in one["experiments"]:
            if (one["name"], part["id"]) == (paper, experiment):
                return part["rows"]
    raise AssertionError(f"{paper} has no {experiment}")


def every_experiment_has_values(report):
    assert [paper["name"] for paper in report["papers"]] == PAPERS
    for paper in report["papers"]:
        ids = [part["id"] for part in paper["experiments"]]
        assert len(set(ids)) == len(ids), f"{paper['name']}: ids are not unique: {ids}"
        for part in paper["experiments"]:
            assert part["rows"], f"{paper['name']} {part['id']}: no rows"
            for row in part["rows"]:
                assert row["here"] is not None or part["id"] in MAY_BE_EMPTY, (part["id"], row)
                assert (row["x"] is None) == (part["x"] is None), (part["id"], row)


def speeds_are_compared_by_ratios(report):
    for paper in report["papers"]:
        for part in paper["experiments"]:
            if part["unit"].startswith("M ") or part["unit"].startswith("ns"):
                assert part["compare"] == "ratio", part["id"]
            names = {row["series"] for row in part["rows"]}
            assert part["reference"] is None or part["reference"] in names, part["id"]


def figures_of_small_tables_are_near_the_papers(report):
    for row in rows_of(report, "windowed", "table-2"):
        assert 0.95 < row["here_ratio"] < 1.01, row
    for row in rows_of(report, "cuckoo", "figure-2"):
        assert row["paper"] is None or 0.99 < row["here_ratio"] < 1.01, row
    for row in rows_of(report, "cpcf", "table-1-kicks"):
        if row["series"] in ("better-choice walk", "CPCF walk, p = 1"):
            assert 0.8 < row["here_ratio"] < 1.25, row
    for row in rows_of(report, "cpcf", "table-3"):
        assert row["series"] != "Algorithm 1" or row["here_ratio"] == 1, row
    for row in rows_of(report, "simplified", "lemmas-4"):
        assert row["series"] != "with a stash" or row["here"] == 0, row
    # The same rate wherever the entries lie; a stash of bare fingerprints would have four times as much.
    families = rows_of(report, "simplified", "theorem-5-1-families")
    assert len(families) == 6, families
    for row in families:
        assert row["x"] > 30 and 0.9 < row["here_ratio"] < 1.1, row
    for row in rows_of(report, "windowed", "figure-3-right") + rows_of(report, "windowed", "figure-4-left"):
        assert 0.98 < row["here_ratio"] < 1.02, row
    for row in rows_of(report, "windowed", "figure-4-middle"):
        assert row["x"] < 8 or 0.97 < row["here_ratio"] < 1.01, row
        assert row["x"] > 4 or row["here"] < 0.97, row  # many keys are found before they are put in
    for row in rows_of(report, "windowed", "figure-1b"):
        assert row["here_ratio"] in (0.5, 1) if row["series"] == "cuckoo" else 0.9 < row["here_ratio"] < 1.1, row
    for row in rows_of(report, "cuckoo", "table-1-absent") + rows_of(report, "cuckoo", "table-1-present"):
        assert 0.95 < row["here_ratio"] < 1.05, row
    printed, mended = rows_of(report, "cpcf", "equation-4")
    assert printed["most"] < 3500 < mended["least"], (printed, mended)
    for row in rows_of(report, "breadcrumb", "section-3-3"):
        assert 1 < row["here"] < 20, row
    for row in rows_of(report, "breadcrumb", "section-5"):
        assert 0.8 < row["here"] < 0.96, row
    for row in rows_of(report, "breadcrumb", "figure-8"):
        assert row["paper"] is None or 0.9 < row["here_ratio"] < 1.05, row


def blocks_say_what_else_happened(report, retries):
    """Each round is there; of its attempts the last counts."""
    kept = {}
    for block in report["blocks"]:
        name = (block["paper"], block["of"], block["round"])
        assert block["seconds"] >= 0 and block["attempt"] <= retries, block
        assert block["others"] is None or block["others"] >= 0, block
        assert name not in kept, block  # nothing comes after the one that counts
        if block["kept"]:
            kept[name] = block
    for block in report["blocks"]:
        assert (block["paper"], block["of"], block["round"]) in kept, block
    experiments = {(paper["name"], part["id"]) for paper in report["papers"] for part in paper["experiments"]}
    assert experiments <= {name[:2] for name in kept}, experiments


def disturbed_rounds_are_made_again(nidus, folder):
    """Beside a program that takes a processor, each round has as many attempts as are allowed, until that is in vain."""
    path = Path(folder) / "again.json"
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        result = run(nidus, "cpcf", *SMALL[:2], "100000", *SMALL[3:], "--rounds", "2", "--retries", "1", "--json", str(path))
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert result.returncode == 0, result.stderr
    report = json.loads(path.read_text())
    blocks_say_what_else_happened(report, 1)
    again = [block for block in report["blocks"] if block["attempt"] == 1]
    assert again, report["blocks"]
    for part in report["papers"][0]["experiments"]:
        for row in part["rows"]:
            assert part["id"] != "figure-7" or row["samples"] == 2, row  # a disturbed round leaves nothing behind


def nonsense_is_refused(nidus, folder):
    for arguments, code in [
        (["ostrich"], 2),
        (["--frobnicate", "1"], 2),
        (["-n", "7"], 2),
        (["-n", "-1"], 2),
        (["-n"], 2),
        (["--hours", "0"], 2),
        (["--rounds", "9"], 2),
        (["simplified", "--json", f"{folder}/no/such/folder"], 3),
    ]:
        result = run(nidus, *arguments)
        assert result.returncode == code and result.stderr.startswith("bench_paper: "), (
            arguments,
            result,
        )
        assert result.stdout == "", arguments


def where_the_program_is_missing_the_command_says_so(nidus, folder):
    alone = Path(folder) / "nidus"
    alone.write_bytes(Path(nidus).read_bytes())
    alone.chmod(0o755)
    for name in ("paper", "wiredtiger"):
        result = subprocess.run([alone, "bench", name], capture_output=True, text=True)
        assert result.returncode == 6 and "-DNIDUS_BUILD_BENCH=ON" in result.stderr, result


def main():
    nidus = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.json"
        result = run(nidus, "all", *SMALL, "--json", str(path), "--note", 'with a "quote"')
        assert result.returncode == 0, result.stderr
        report = json.loads(path.read_text())
        assert report["note"] == 'with a "quote"'
        every_experiment_has_values(report)
        blocks_say_what_else_happened(report, 0)
        disturbed_rounds_are_made_again(nidus, folder)
        speeds_are_compared_by_ratios(report)
        figures_of_small_tables_are_near_the_papers(report)
        for paper in report["papers"]:
            for part in paper["experiments"]:
                assert part["title"] in result.stdout, part["title"]
        nonsense_is_refused(nidus, folder)
        where_the_program_is_missing_the_command_says_so(nidus, folder)


main()
