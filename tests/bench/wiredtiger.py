#!/usr/bin/env python3
"""nidus bench wiredtiger: a small run has every filter, on disk and in memory.

usage: tests/bench/wiredtiger.py NIDUS FOLDER

Each run checks by itself that keys are found after removes and inserts. Skipped where the
program was built without WiredTiger, and where FOLDER allows no direct I/O.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
UNSUPPORTED = 6


def main():
    nidus, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=folder) as home:
        path = Path(home) / "rows.json"
        command = [nidus, "bench", "wiredtiger", "-n", "20000", "--seconds", "0.01", "--rounds", "2"]
        result = subprocess.run(
            [*command, "--folder", home, "--json", str(path)], capture_output=True, text=True
        )
        if result.returncode == UNSUPPORTED or "no direct I/O" in result.stderr:
            print(result.stderr)
            return SKIPPED
        assert result.returncode == 0, result
        (paper,) = json.loads(path.read_text())["papers"]
        assert [part["id"] for part in paper["experiments"]] == ["table-5-disk", "table-5-memory"]
        for part in paper["experiments"]:
            names = {row["series"] for row in part["rows"]}
            assert "no filter" in names and len(names) == 12, names
            assert all(row["here"] > 0 for row in part["rows"]), part["rows"]
            assert len(part["rows"]) == 3 * len(names), part["rows"]
            assert all(row["samples"] == 2 for row in part["rows"]), part["rows"]
            assert "20,000 keys" in part["title"], part["title"]
        left = [entry.name for entry in Path(home).iterdir()]
        assert left == ["rows.json"], f"left behind: {left}"
        refused = subprocess.run([*command, "--folder", f"{home}/no"], capture_output=True, text=True)
        assert refused.returncode == 1 and "No such file" in refused.stderr, refused
    return 0


sys.exit(main())
