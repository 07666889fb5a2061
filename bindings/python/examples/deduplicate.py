#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Deduplicate a large array in pieces: each row is kept the first time it comes.

usage: python3 deduplicate.py [ROWS [PIECES]]

The rows could as well come from a file or a socket: only one piece and the filter are in memory.
numpy.unique of the whole array, to compare with, needs all of it at once and sorts it. The filter
takes a new row for an old one at its rate, here one of a million, and never keeps a row twice.
"""

import sys
import time

import numpy

import nidus


def rows_in_pieces(rows, pieces):
    """Random rows; about a third of them came before."""
    random = numpy.random.default_rng(1)
    for piece in range(pieces):
        n = rows * (piece + 1) // pieces - rows * piece // pieces
        yield random.integers(0, rows, n, dtype=numpy.int64)


def main():
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    pieces = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    array = list(rows_in_pieces(rows, pieces))

    start = time.perf_counter()
    seen = nidus.Filter(rows, fpr=1e-6, features=nidus.Feature.NO_DELETE)
    kept = 0
    for piece in array:
        new = piece[seen.add_new_many(piece)]  # this is all
        kept += len(new)
    took = time.perf_counter() - start
    print(f"{rows} rows in {pieces} pieces")
    print(f"nidus:        {kept:9} kept in {took:6.2f} s, {seen.info.bytes / 1e6:6.1f} MB for the filter")

    start = time.perf_counter()
    exact = len(numpy.unique(numpy.concatenate(array)))
    took = time.perf_counter() - start
    print(f"numpy.unique: {exact:9} kept in {took:6.2f} s, {rows * 16 / 1e6:6.1f} MB for the rows, twice")
    print(f"{exact - kept} rows were taken for others, {(exact - kept) / rows:.1e} of all")
    if not exact * (1 - 1e-4) - 10 <= kept <= exact:
        sys.exit("that cannot be")


if __name__ == "__main__":
    main()
