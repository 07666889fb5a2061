#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Deduplicate a pandas DataFrame that comes in pieces, by some of its columns: each row is kept the first time it comes.

usage: python3 deduplicate_frame.py [ROWS [PIECES]]

Only one piece and the filter are in memory, so the pieces may come from pandas.read_csv(..., chunksize=10**6) or from the
files of a folder. DataFrame.drop_duplicates of all rows, to compare with, needs all of them at once.

A row becomes one key: a 64-bit hash of the columns that count. The filter takes a new row for an old one at its rate,
here one of a million, and never keeps a row twice.
"""

import sys
import time

import numpy
import pandas

import nidus

BY = ["user", "page"]


def visits_in_pieces(rows, pieces):
    """Random visits, some of them of the same user to the same page."""
    random = numpy.random.default_rng(1)
    for piece in range(pieces):
        n = rows * (piece + 1) // pieces - rows * piece // pieces
        users = random.integers(0, rows // 8 + 1, n)
        pages = numpy.array([f"/page/{i}" for i in range(50)], dtype=object)[random.integers(0, 50, n)]
        yield pandas.DataFrame({"user": users, "page": pages, "at": random.integers(0, 10**9, n)})


def first_visits(pieces, expected):
    """The rows of each piece that did not come before."""
    seen = nidus.Filter(expected, fpr=1e-6, features=nidus.Feature.NO_DELETE)
    for piece in pieces:
        keys = pandas.util.hash_pandas_object(piece[BY], index=False)
        yield piece[seen.add_new_many(keys)]


def main():
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    pieces = list(visits_in_pieces(rows, int(sys.argv[2]) if len(sys.argv) > 2 else 20))

    start = time.perf_counter()
    kept = sum(len(piece) for piece in first_visits(pieces, rows))
    print(f"nidus:           {kept:9} of {rows} rows kept in {time.perf_counter() - start:6.2f} s")

    start = time.perf_counter()
    exact = len(pandas.concat(pieces).drop_duplicates(BY))
    print(f"drop_duplicates: {exact:9} of {rows} rows kept in {time.perf_counter() - start:6.2f} s")
    if not exact * (1 - 1e-4) - 10 <= kept <= exact:
        sys.exit("that cannot be")


if __name__ == "__main__":
    main()
