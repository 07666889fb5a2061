#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/growth.svg, the bits per key of growing filters over the number of keys.

    build/bench_memory lines 1e7 | tools/plot_growth.py > docs/growth.svg
"""
import math
import sys

from plot_space import apart, text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 330, 56, 180, 36, 50
MOST, STEP = 50, 10
LINES = [("fixed, made for them", "#777"), ("reserved up to {}", "#4a7ab5"), ("without a size", "#1d6b3a")]


def main():
    rows = [[float(word) for word in line.split()] for line in sys.stdin]
    first, last = math.log10(rows[0][0]), math.log10(rows[-1][0])

    def across(keys):
        return LEFT + (math.log10(keys) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def up(bits):
        return HEIGHT - BOTTOM - min(bits, MOST) / MOST * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           text(LEFT, 20, "bits per key at a rate of 1 %", "start")]
    for bits in range(0, MOST + 1, STEP):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(bits):.1f}" y2="{up(bits):.1f}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, up(bits) + 4, bits, "end"))
    for power in range(math.ceil(first), math.floor(last) + 1):
        out.append(text(across(10 ** power), HEIGHT - BOTTOM + 18, f"{10 ** power:,}"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "keys"))
    labels = []
    for column, (name, colour) in enumerate(LINES, 1):
        path = " ".join(f"{across(row[0]):.1f},{up(row[column]):.1f}" for row in rows)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        labels.append((up(rows[-1][column]), name.format(f"{int(rows[-1][0]):,}"), colour))
    out += [text(WIDTH - RIGHT + 8, height + 4, name, "start", colour) for height, name, colour in apart(labels)]
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
