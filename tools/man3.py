#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual page nidus(3) from the comments of include/nidus.h.

    tools/man3.py include/nidus.h FOLDER

writes FOLDER/nidus.3, and for every function a page that leads there (FOLDER/nidus_create.3). What the
header's comments may contain: paragraphs, lists ("- " and "1. "), code that is indented by four blanks,
`code`, "## headings", and @param.
"""
import re
import sys
from pathlib import Path

SECTION = re.compile(r"/\* -+ (.+?) -- \*/")


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def marked(text):
    """Running text: `code` is bold, and so are the names of functions and statuses."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    out = []
    for i, part in enumerate(parts):
        part = escaped(part)
        if i % 2 == 0:
            part = re.sub(r"\b(nidus_[a-z0-9_]+|NIDUS_[A-Z0-9_]+)\b", r"\\fB\1\\fR", part)
        out.append(f"\\fB{part}\\fR" if i % 2 else part)
    return wrapped("".join(out))


def wrapped(text):
    """A sentence per line, as roff likes it, and no line too long to edit."""
    lines = []
    for sentence in re.sub(r"(?<=[.:;?])(\)?) (?=[A-Z\\(])", r"\1\n", text).split("\n"):
        while len(sentence) > 78 and " " in sentence[20:78]:
            at = sentence.rindex(" ", 20, 78)
            lines.append(sentence[:at])
            sentence = sentence[at + 1:]
        lines.append(sentence)
    return "\n".join(re.sub(r"^([.'])", r"\\&\1", line) for line in lines)


def verbatim(lines):
    code = escaped("\n".join(line.replace("\t", "    ") for line in lines))
    return [".RS 4", ".nf", code, ".fi", ".RE"]


class Text:
    """A comment, line by line, as roff."""

    def __init__(self):
        self.out, self.words, self.code, self.start = [], [], [], [".PP"]

    def flush(self):
        if self.words:
            self.out += self.start + [marked(" ".join(self.words))]
        if self.code:
            while self.code and not self.code[-1]:
                self.code.pop()
            self.out += [".PP"] + verbatim(self.code)
        self.words, self.code, self.start = [], [], [".PP"]

    def begin(self, start, text):
        self.flush()
        self.start, self.words = start, [text]

    def line(self, line):
        heading, item = re.match(r"## (.*)", line), re.match(r"(-|\d+\.) +(.*)", line)
        param, code = re.match(r"@param +(\w+) +(.*)", line), re.match(r"    (.*)", line)
        if line.startswith("@file"):
            return
        if heading:
            self.flush()
            self.out.append(f".SS {escaped(heading[1])}")
        elif param:
            self.begin([".TP", f".I {escaped(param[1])}"], param[2])
        elif item:
            mark = "\\(bu 2" if item[1] == "-" else f"{item[1]} 4"
            self.begin([f".IP {mark}"], item[2])
        elif code and (self.code or not self.words):
            if not self.code:
                self.flush()
            self.code.append(code[1])
        elif not line.strip():
            if self.code:
                self.code.append("")
            else:
                self.flush()
        elif self.start[0] == ".TP" and not line.startswith(" "):
            self.begin([".PP"], line)
        else:
            if self.code:
                self.flush()
            self.words.append(line.strip())

    def lines(self, comment):
        for line in comment:
            self.line(line)
        self.flush()
        return self.out


def comment_lines(block):
    """The text of a /** comment */."""
    body = re.sub(r"^/\*\*?|\*/$", "", block.strip())
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in body.split("\n")]
    lines[0] = lines[0].lstrip()
    return lines


def declaration(code):
    """What a reader needs of a piece of code: prototypes without NIDUS_API, types as they are."""
    code = re.sub(r"^NIDUS_API ", "", code.strip("\n"), flags=re.M)
    return code.rstrip().split("\n") if code.strip() else []


def page(header):
    """The parts of the header after its head: (kind, text), a section's name, a comment or code."""
    header = header[header.index("/**\n * @file"):]
    header = re.sub(r"#ifdef __cplusplus\n(extern \"C\" \{|\})\n#endif\n|^#include.*\n", "", header, flags=re.M)
    header = re.sub(r"#ifdef __cplusplus\n.*?#else\n(.*?)#endif\n", r"\1", header, flags=re.S)
    header = re.sub(r"#if defined\(_WIN32\).*?#endif\n", "", header, flags=re.S)
    header = re.sub(r"\n#endif\s*$", "\n", header)
    for part in re.split(r"^(/\*.*?\*/)\n", header, flags=re.M | re.S):
        section = SECTION.fullmatch(part.strip())
        if section:
            yield "section", section[1].strip()
        elif part.startswith("/*"):
            yield "comment", part
        elif part.strip():
            yield "code", part


def manual(header):
    version = ".".join(re.findall(r"#define NIDUS_VERSION_\w+ +(\d+)", header))
    out = ['.\\" SPDX-License-Identifier: MIT', '.\\" Made by tools/man3.py from include/nidus.h.',
           f'.TH NIDUS 3 "" "nidus {version}" "Library Functions Manual"',
           ".SH NAME", "nidus \\- fingerprint filters: small, fast, approximate sets",
           ".SH SYNOPSIS", ".nf", "\\fB#include <nidus.h>\\fR", "", "cc ... \\-lnidus", ".fi",
           ".SH DESCRIPTION"]
    pending = []
    for kind, text in page(header):
        if kind == "code":
            # What a declaration says comes before what is said about it.
            code = declaration(text)
            if code:
                out += [".PP", ".nf", "\\fB" + escaped("\n".join(line.replace("\t", "    ") for line in code)) +
                        "\\fR", ".fi"]
            out += pending
            pending = []
            continue
        out += pending
        pending = []
        if kind == "section":
            out.append(f".SH {escaped(text.upper())}")
        else:
            pending = Text().lines(comment_lines(text))
            if "@file" in text:  # it is about all of the header, not about what comes next
                out += pending
                pending = []
    out += pending + [".SH SEE ALSO", ".BR nidus (1)"]
    return re.sub(r"(\.(?:SH|SS)[^\n]*\n)\.PP\n", r"\1", "\n".join(out) + "\n")


def main(path, folder):
    header = Path(path).read_text(encoding="utf-8")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("nidus*.3"):
        old.unlink()
    (folder / "nidus.3").write_text(manual(header), encoding="utf-8")
    for name in re.findall(r"NIDUS_API [^;(]*?\b(nidus_\w+)\(", header):
        (folder / f"{name}.3").write_text(".so man3/nidus.3\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
