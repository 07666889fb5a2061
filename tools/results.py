#!/usr/bin/env python3
"""Runs the commands of docs/results/ again, and fills in what they print.

usage: tools/results.py BUILD PAGE...

A block of kind sh and the next plain block after it belong together: the first has the command, the second its
output, without the head that every benchmark prints. Text may stand between them; of several
commands in one block each has a plain block of its own. `<!-- composed -->` before the command says that the output was put together
from several runs, by hand: it is left as it is. The block that begins with `cpu` says where and when: it is made of the
first command's head, the commit and today.
Take a quiet machine and an evening: some commands fill tables of 10^8 keys.
"""

import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?P<composed><!-- composed -->\n)?^```(?P<kind>[a-z]*)\n(?P<text>.*?)^```$", re.S | re.M)
HEAD = re.compile(r"(?:^(?:cpu|compiler|nidus|isa|threads) .*\n)+\n?", re.M)


def commands_of(build, text):
    """The lines of a block, their programs found in BUILD."""
    lines = text.replace("\\\n", " ").splitlines()
    return [re.sub(r"\./dev (bench|soak) (\w+)", rf"{build}/\1_\2", line) for line in lines]


def output_of(command):
    print(f"  {command}", file=sys.stderr, flush=True)
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    if result.returncode != 0:
        sys.exit(f"results: {command}: exit code {result.returncode}\n{result.stderr}")
    head = HEAD.match(result.stdout)
    return (head[0].rstrip(), result.stdout[head.end() :]) if head else ("", result.stdout)


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT).stdout.strip()


def place(head):
    commit = git("describe", "--always") or "unknown"
    dirty = "-dirty" if git("status", "--porcelain", "--", ".", ":!docs") else ""  # pages before this one may have changed
    return f"{head}\ncommit    {commit}{dirty}, {datetime.date.today()}\n"


def filled(build, page):
    text = page.read_text()
    parts, at, waiting, head_at, head = [], 0, [], None, None
    for block in BLOCK.finditer(text):
        parts.append(text[at : block.start()])
        at = block.end()
        whole = block.group(0)
        if block["kind"] == "" and block["text"].startswith("cpu"):
            head_at = len(parts)
        elif block["kind"] == "sh":
            waiting = [] if block["composed"] else commands_of(build, block["text"])
        elif block["kind"] == "" and waiting:
            first, output = output_of(waiting.pop(0))
            head = head or first
            whole = f"```\n{output.rstrip()}\n```"
        parts.append(whole)
    if head_at is not None and head:
        parts[head_at] = f"```\n{place(head)}```"
    return "".join(parts) + text[at:]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    for name in sys.argv[2:]:
        page = Path(name)
        print(f"{page}", file=sys.stderr)
        page.write_text(filled(build, page))


main()
