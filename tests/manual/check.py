#!/usr/bin/env python3
"""The manual page nidus(1) and the command's --help tell of the same commands and options.

usage: tests/manual/check.py NIDUS nidus.1
"""
import re
import subprocess
import sys


def help_of(nidus, *arguments):
    return subprocess.run([nidus, "help", *arguments], check=True, capture_output=True, text=True).stdout


def commands(nidus):
    listed = help_of(nidus).split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.M)


def options_in_help(text):
    """The options of a command's help: {"--fpr": "-p"}; the letter is "" where there is none."""
    found = re.findall(r"^  (?:(-\w), |    )(--[a-z0-9-]+)", text.split("\nOptions:\n")[1], re.M)
    return {name: letter for letter, name in found}


def plain(roff):
    """A page's source without fonts: what a reader sees of it, macros and all."""
    return re.sub(r"\\f[A-Z]", "", roff).replace("\\-", "-")


def sections(page, macro):
    """Title and text of each part of the page that begins with the macro."""
    parts = re.split(rf"^\.(SH|SS) (.*)$", page, flags=re.M)[1:]
    return [(title.strip('"'), text) for kind, title, text in zip(parts[::3], parts[1::3], parts[2::3])
            if kind == macro]


def tags(text):
    """The options that a part of the page explains: those in the line after .TP."""
    return set(re.findall(r"--[a-z0-9][a-z0-9-]*", "\n".join(re.findall(r"^\.TP\n(.*)$", text, re.M))))


def complaints(nidus, page):
    common = dict(sections(page, "SH"))["COMMON OPTIONS"]
    synopsis = dict(sections(page, "SH"))["SYNOPSIS"]
    parts = sections(page, "SS")
    everywhere = None
    for command in commands(nidus):
        text = "".join(text for title, text in parts if (title + " ").startswith(f"nidus {command} "))
        if not text:
            yield f"nidus {command} has no part in the manual page"
        if not re.search(rf"^nidus {command}\b", synopsis, re.M):
            yield f"nidus {command} is not in the manual page's synopsis"
        options = options_in_help(help_of(nidus, command))
        everywhere = set(options) if everywhere is None else everywhere & set(options)
        for name, letter in options.items():
            known = [name] + ([letter] if letter else [])
            if not any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text + common) for word in known):
                yield f"nidus {command} {name} is not in the manual page"
        for name in sorted(tags(text) - set(options)):
            yield f"nidus {command} has no option {name}, but the manual page explains it"
    usage = help_of(nidus, "bench").split("\n")[0].split()[3]
    for benchmark in usage.split("|"):
        if not any(f"nidus bench {benchmark}" in title for title, _ in parts):
            yield f"nidus bench {benchmark} has no part in the manual page"
    for name in sorted(everywhere - tags(common)):
        yield f"every command takes {name}, but COMMON OPTIONS does not explain it"


def main(nidus, path):
    with open(path, encoding="utf-8") as file:
        found = list(complaints(nidus, plain(file.read())))
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
