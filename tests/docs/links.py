#!/usr/bin/env python3
"""Every link of every page leads somewhere: to a file of the tree, and to a heading of it where one is named.

usage: tests/docs/links.py ROOT
Links to other sites are not followed.
"""
import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def headings(page):
    """Anchors as the common hosting sites make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = set()
    for title in re.findall(r"^#+ +(.*)$", text, re.M):
        title = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower())
        anchor, n = title.strip().replace(" ", "-"), 0
        while anchor in found:
            n += 1
            anchor = f"{title.strip().replace(' ', '-')}-{n}"
        found.add(anchor)
    return found


def complaints(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            check=True, capture_output=True, text=True).stdout
    for page in (root / name for name in listed.splitlines()):
        if not page.exists():
            continue
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in LINK.findall(text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{page.relative_to(root)}: {link} leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in headings(target):
                yield f"{page.relative_to(root)}: {link}: there is no such heading"


def main(root):
    found = list(complaints(Path(root).resolve()))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
