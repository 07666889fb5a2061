#!/usr/bin/env python3
"""Runs the commands of pages and compares what they print with what the pages say.

usage: tests/docs/snippets.py NIDUS [--write] PAGE.md...

A block of kind `console` is a session: lines that begin with "$ " are run by bash, in a folder that the blocks
of a page share and with the command on the PATH, and the lines after each are what it must print, stderr
included. Numbers after a command with the comment "# about" may differ by a fifth. With --write the pages get what is printed. A block of kind `sh` is not run, and says why in a
comment before it: <!-- not run: why -->. Other kinds are data.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(<!-- not run: .*? -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


def session(text, folder, environment):
    """The block's text with what its commands print here."""
    out, lines = [], text.splitlines()
    for at, line in enumerate(lines):
        if not line.startswith("$ "):
            continue
        out.append(line)
        command = line[2:]
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        out += done.stdout.splitlines()
    return "".join(line + "\n" for line in out)


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def agree(said, printed):
    """Whether two texts of a session are the same, but for numbers that are only about so."""
    said, printed, about = said.splitlines(), printed.splitlines(), False
    if len(said) != len(printed):
        return False
    for one, other in zip(said, printed):
        if one.startswith("$ "):
            about = "# about" in one
        if one == other:
            continue
        pairs = list(zip(NUMBER.findall(one), NUMBER.findall(other)))
        if not about or NUMBER.sub("", one) != NUMBER.sub("", other) or len(pairs) != len(NUMBER.findall(one)):
            return False
        if any(abs(float(a) - float(b)) > 0.2 * float(a) for a, b in pairs):
            return False
    return True


def check(page, nidus, write):
    """Complaints about one page."""
    text = page.read_text(encoding="utf-8")
    complaints, new, at = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        bin_folder = Path(folder, "bin")
        bin_folder.mkdir()
        (bin_folder / "nidus").symlink_to(nidus)
        work = Path(folder, "work")
        work.mkdir()
        extension = nidus.with_name("nidus_sqlite.so")
        if extension.exists():
            (work / extension.name).symlink_to(extension)
        elif ".load ./nidus_sqlite" in text:
            print(f"{page.name} needs the extension for SQLite, which was not built")
            sys.exit(77)
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", LC_ALL="C")
        for block in BLOCK.finditer(text):
            excuse, kind, body = block.groups()
            if kind == "sh" and not excuse:
                complaints.append(f"{page.name}: a block of commands is neither run nor excused:\n{body}")
            if kind != "console":
                continue
            truth = session(body, work, environment)
            if not agree(body, truth):
                complaints.append(f"{page.name} says\n{body}and this is printed\n{truth}")
            new += [text[at:block.start(3)], truth]
            at = block.end(3)
    if write:
        page.write_text("".join(new) + text[at:], encoding="utf-8")
        return []
    return complaints


def main(nidus, *pages):
    write = "--write" in pages
    found = [complaint for page in pages if page != "--write"
             for complaint in check(Path(page), Path(nidus).resolve(), write)]
    print("\n".join(found))
    if found:
        print("tests/docs/snippets.py NIDUS --write PAGE... fills in what is printed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
