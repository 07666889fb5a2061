#!/usr/bin/env python3
"""Draws docs/lookups.svg and docs/inserts.svg from the table of speeds in docs/performance-reference.md.

usage: tools/speed_plots.py PAGE FOLDER
"""
import re
import sys
from pathlib import Path

# Rows of the table, and what they are called in a plot.
ROWS = {
    "blocked-bloom-12": "blocked-bloom (no delete)",
    "breadcrumb-k8": "breadcrumb",
    "cuckoo-f12": "cuckoo",
    "chunked-f12": "chunked",
    "simplified-k8": "simplified",
    "bucketed-4-k8": "bucketed, 4 slots",
    "windowed-2-k8": "windowed, 2 slots",
    "bucketed-compact-k8": "bucketed, compact",
    "semisort-f12": "semisort",
    "bloom-12": "bloom (no delete)",
}
PLOTS = {
    "lookups.svg": ("million lookups of absent keys per second, 10^8 keys, one thread", 2, 4),
    "inserts.svg": ("million inserts per second, filling up to 10^8 keys, one thread", 7, 8),
}
COLOURS = {"in batches": "#2f6f9f", "one by one": "#d98b2b"}
LEFT, WIDTH, BAR, STEP, TOP = 170, 400, 9, 26, 50


def table_of(page):
    """{row: [M keys/s, ...]} of the table of 10^8 keys: the first whose head begins with | row |."""
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith("| row | lookup, batch, present | absent | single"):
            break
    next(lines)
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = [re.search(r"\d+(\.\d+)?", cell) for cell in cells[1:]]
        rows[cells[0]] = [float(number.group()) if number else None for number in numbers]
    return rows


def text(x, y, words, anchor="start"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#333">{words}</text>'


def plot(title, rows, batch, single):
    most = max(rows[row][batch - 1] for row in ROWS)
    scale = WIDTH / (10 * (most // 10 + 1))
    height = TOP + STEP * len(ROWS) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="640" height="{height}" fill="#fff"/>', text(10, 20, title)]
    for at, (name, colour) in enumerate(COLOURS.items()):
        out += [f'<rect x="{LEFT + 120 * at}" y="30" width="10" height="10" fill="{colour}"/>',
                text(LEFT + 120 * at + 15, 40, name)]
    for at, (row, name) in enumerate(ROWS.items()):
        y = TOP + STEP * at
        out.append(text(LEFT - 8, y + 14, name, "end"))
        for i, (column, colour) in enumerate(zip((batch, single), COLOURS.values())):
            value = rows[row][column - 1]
            out += [f'<rect x="{LEFT}" y="{y + BAR * i + 1}" width="{value * scale:.1f}" height="{BAR}" fill="{colour}"/>',
                    text(round(LEFT + value * scale + 4, 1), y + BAR * i + 10, f"{value:g}")]
    return "\n".join(out + ["</svg>", ""])


def main():
    page, folder = sys.argv[1:]
    rows = table_of(Path(page).read_text(encoding="utf-8"))
    for name, (title, batch, single) in PLOTS.items():
        Path(folder, name).write_text(plot(title, rows, batch, single), encoding="utf-8")


main()
