#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A join that asks the filter first.

usage: python3 join.py [ROWS [CUSTOMERS]]

Many orders, few of them by the customers of interest. The join itself looks each order up by binary
search in a sorted array; with the filter before it, only the orders that may have a partner get
that far. The result is the same: a filter never says no for a key that is in it.
"""

import sys
import time

import numpy

import nidus


def join(orders, customers, prices):
    """What customers of the sorted array spent: their rows, and the sum of the prices."""
    at = numpy.searchsorted(customers, orders)
    at[at == len(customers)] = 0
    match = customers[at] == orders
    return int(match.sum()), int(prices[match].sum())


def main():
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    wanted = int(float(sys.argv[2])) if len(sys.argv) > 2 else 5 * 10**5
    random = numpy.random.default_rng(1)
    customers = numpy.unique(random.integers(0, 2**62, wanted))
    orders = random.integers(0, 2**62, rows)
    orders[:: 50] = random.choice(customers, len(orders[::50]))  # 2 % have a partner
    prices = random.integers(1, 100, rows)

    start = time.perf_counter()
    plain = join(orders, customers, prices)
    plain_took = time.perf_counter() - start

    start = time.perf_counter()
    filter = nidus.build(customers, fpr=2**-8, features=nidus.Feature.FAST)
    build_took = time.perf_counter() - start

    start = time.perf_counter()
    maybe = filter.contains_many(orders)
    filtered = join(orders[maybe], customers, prices[maybe])
    filter_took = time.perf_counter() - start

    print(f"{rows} orders, {len(customers)} customers")
    print(f"join alone:        {plain_took:6.2f} s")
    print(f"filter, then join: {filter_took:6.2f} s, and {build_took:.2f} s to build the filter of {filter.info.bytes / 1e6:.1f} MB")
    print(f"{maybe.sum()} orders passed the filter, {plain[0]} have a partner, worth {plain[1]}")
    if filtered != plain:
        sys.exit("the joins differ")


if __name__ == "__main__":
    main()
