#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/space.svg, the bits per key of some families over the false-positive rate, as nidus plan tells.

    tools/plot_space.py NIDUS > docs/space.svg
"""
import json
import subprocess
import sys

KEYS = 10_000_000
BITS = range(4, 21)
LINES = [("bloom", "#b0413e"), ("breadcrumb", "#c77f1a"), ("bucketed", "#4a7ab5"), ("windowed", "#1d6b3a")]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 330, 56, 130, 36, 50
MOST = 30


def bits_per_key(nidus, exponent):
    told = subprocess.run([nidus, "plan", "--json", "-n", str(KEYS), "-p", f"2^-{exponent}"],
                          check=True, capture_output=True, text=True).stdout
    return {row["family"]: row["bits_per_key"] for row in json.loads(told) if row["status"] == "NIDUS_OK"}


def across(exponent):
    return LEFT + (exponent - BITS[0]) / (BITS[-1] - BITS[0]) * (WIDTH - LEFT - RIGHT)


def up(bits):
    return HEIGHT - BOTTOM - bits / MOST * (HEIGHT - TOP - BOTTOM)


def line(points, colour, dashes=""):
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'


def text(x, y, words, anchor="middle", colour="#333"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def apart(labels, least=15):
    """Heights of labels at the ends of lines, moved so that none covers another."""
    placed = []
    for height, name, colour in sorted(labels):
        if placed and height < placed[-1][0] + least:
            height = placed[-1][0] + least
        placed.append((height, name, colour))
    return placed


def main(nidus):
    rows = {exponent: bits_per_key(nidus, exponent) for exponent in BITS}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           text(LEFT, 20, f"bits per key at {KEYS:,} keys", "start")]
    for bits in range(0, MOST + 1, 5):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(bits):.1f}" y2="{up(bits):.1f}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, up(bits) + 4, bits, "end"))
    for exponent in range(BITS[0], BITS[-1] + 1, 4):
        out.append(text(across(exponent), HEIGHT - BOTTOM + 18, f"1 in {2 ** exponent:,}"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "false-positive rate"))
    labels = []
    for name, colour in LINES:
        points = [(exponent, rows[exponent][name]) for exponent in BITS if name in rows[exponent]]
        out.append(line(points, colour))
        labels.append((up(points[-1][1]), name, colour))
    out.append(line([(BITS[0], BITS[0]), (BITS[-1], BITS[-1])], "#777", ' stroke-dasharray="4 4"'))
    labels.append((up(BITS[-1]), "least possible", "#777"))
    out += [text(WIDTH - RIGHT + 8, height + 4, name, "start", colour) for height, name, colour in apart(labels)]
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
