#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Joins the library to one file that any program can take into its own build.

    tools/amalgamate.py ROOT XXHASH.H OUTPUT_FOLDER

writes nidus.c and nidus.h there; `cc -O2 -c nidus.c` compiles them, xxHash's code included. The files of
src/ are found by looking and put into order by their #includes, so that nothing here knows one by name.

Four things need care when translation units become one:

- Names that are local to a file (static functions, types, enumerators) may occur in several. Where one does,
  it gets the file's name as an ending: `insert` of src/api/keys.c becomes insert_in_api_keys. Macros of a .c file
  end with it (#undef).
- A header without an include guard is a template. It is a part of each file that includes it, renamed as that.
- Files called *_avx2.c are for processors with AVX2: they come last, under a target pragma, and with them a second
  copy of the inline functions of every header that asks for __AVX2__ or __BMI2__, or includes one that does.
  Types are not repeated.
- What files of the library share is nobody else's: the declarations of our headers become static, and with them what
  they declare; objects that they share get a name that begins with nidus_. Nothing else is left for the linker.
"""
import re
import sys
from pathlib import Path

TOKEN = re.compile(r"""
    /\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'   # what is left alone
    | [A-Za-z_]\w* | \d[\w.]* | \s+ | ->|\#\#|. """, re.X | re.S)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
STATIC = r"(?:static|ALWAYS_INLINE|NEVER_INLINE)\b"
TIER = {"__AVX2__": "NIDUS_TIER_AVX2", "__BMI2__": "NIDUS_TIER_AVX2", "__POPCNT__": "NIDUS_TIER_AVX2"}
TARGET = "avx2,bmi,bmi2,popcnt"
BODY = re.compile(r"^(?:typedef )?(?:static )?(?:const )?(struct|union|enum)(?: (\w+))?\s*\{", re.M)


# The declaration of a function.
PROTOTYPE = re.compile(r"^(?!static|typedef|struct \w+ \{|return)[a-z][\w *]*\b\w+\([^;{}#]*?\)[^;{}#=()]*;", re.M)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n") or " ", text, flags=re.S)


def end_of_body(text, brace):
    depth = 0
    for at in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError("a brace is not closed")


class Source:
    """A file of the library: its text, what it includes, and the names it defines at file scope."""

    def __init__(self, root, path):
        self.path = path
        self.name = str(path.relative_to(root))
        self.id = re.sub(r"\W+", "_", str(path.relative_to(root).with_suffix("")))
        self.text = path.read_text(encoding="utf-8")
        plain = without_comments(self.text)
        self.includes = re.findall(r'^#include "(.*?)"', plain, re.M)
        self.guarded = re.search(r"^#ifndef (\w+_H)\n#define \1", plain, re.M) is not None
        self.asks_for_tier = any(macro in plain for macro in TIER)
        self.macros = set(re.findall(r"^#\s*define (\w+)", plain, re.M))
        self.ordinary, self.enumerators, self.types = self.names(plain)
        self.ordinary |= self.enumerators

    @staticmethod
    def names(plain):
        """Local functions and objects; enumerators; tags and type names."""
        code = re.sub(r"^#(?:.*\\\n)*.*$", "", plain, flags=re.M)
        code = re.sub(r"__attribute__\(\(.*?\)\)", "", code)
        ordinary = set(re.findall(rf"^{STATIC}[^;{{}}()=]*?\b(\w+)\s*(?:\[[^\n]*)?(?:\(|=|;)", code, re.M))
        ordinary = {name for name in ordinary if not name.isupper()}  # macros that make names of others
        enumerators, types = set(), set()
        for found in BODY.finditer(code):
            end = end_of_body(code, found.end() - 1)
            if found[2]:
                types.add(found[2])
            if found[0].startswith("typedef"):
                types.add(re.match(r"\s*(\w+)", code[end + 1:])[1])
        for body in re.findall(r"\benum\b[^;{}()]*(\{[^{}]*\})", code):  # in a struct too
            enumerators |= set(re.findall(r"[{,]\s*(\w+)\s*(?=[,=}])", body))
        types |= set(re.findall(r"^typedef [^;{}]*?\b(\w+);", code, re.M))
        return ordinary, enumerators, types


def pasted_names(parts):
    """Names that the macros of a unit make by ##: beginnings (contains_##name), and whole ones (name##_8)."""
    text = "".join(without_comments(part.text) for part in parts)
    beginnings = set(re.findall(r"\b(\w+_)##", text))
    pasting = set(re.findall(r"#define (\w+)\((\w+)\) \2##(\w+)", text))
    heads = {head for macro, own, _ in pasting for head in re.findall(rf"\b{macro}\((\w+)\)", text) if head != own}
    whole = {head + ending: (head, ending) for head in heads for _, _, ending in pasting}
    return beginnings, heads, whole


def renamed(text, ordinary, types):
    """The text with names exchanged: not after . or ->, and not the members of a struct."""
    out, before, bodies, pending = [], "", [], False
    for token in TOKEN.findall(text):
        if token.isspace() or token.startswith(("/*", "//")):
            out.append(token)
            continue
        inside = bool(bodies) and bodies[-1]
        if token == "{":
            bodies.append(pending)
            pending = False
        elif token == "}":
            bodies and bodies.pop()
        elif token in (";", "(", ")", "="):
            pending = False
        elif token in ("struct", "union"):
            pending = True
        if IDENTIFIER.match(token) and before not in (".", "->"):
            if before in ("struct", "union", "enum"):
                token = types.get(token, token)
            elif not inside or token in types:
                token = ordinary.get(token) or types.get(token, token)
        out.append(token)
        before = token
    return "".join(out)


def without_types(text):
    """A header without the types and declarations of its first copy: all for which no tier is asked."""
    out, at, spans = [], 0, []
    for found in BODY.finditer(text):
        if found.start() < at or in_tier(text, found.start()):
            continue
        end = text.index(";", end_of_body(text, found.end() - 1)) + 1
        spans.append((found.start(), end))
        at = end
    # What is declared once more would be declared for the tier.
    for found in re.finditer(rf"^typedef [^;{{}}]*;|{PROTOTYPE.pattern}", text, re.M):
        if not in_tier(text, found.start()):
            spans.append(found.span())
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            out.append(text[at:start])
            at = end
    return "".join(out) + text[at:]


def in_tier(text, at):
    """Whether this place is under an #if that asks for a tier."""
    stack = []
    for found in re.finditer(r"^#\s*(if\w*|else|elif|endif)\b(.*)$", text[:at], re.M):
        if found[1].startswith("if"):
            stack.append(any(macro in found[2] for macro in TIER))
        elif found[1] == "endif":
            stack.pop()
    return any(stack)


class Amalgamation:
    def __init__(self, root, xxhash):
        self.root, self.xxhash = root, xxhash
        src = root / "src"
        self.sources = {str(path.relative_to(src)): Source(src, path) for path in sorted(src.glob("*/*.[ch]"))}
        self.objects = {name: f"nidus_its_{name}" for source in self.sources.values() if source.name.endswith(".h")
                        for name in re.findall(r"^extern [^;(]*?\b(\w+)(?:\[[^]]*\])?;", source.text, re.M)}
        self.seen = set()
        self.out = []

    def header(self, name):
        return self.sources.get(name) if name != "nidus.h" else None

    def tiered(self, source, path=()):
        """Whether a header's code depends on the tier, by itself or by what it includes."""
        return source.name not in path and (source.asks_for_tier or any(
            self.tiered(self.header(name), path + (source.name,)) for name in source.includes if self.header(name)))

    def unit(self, source):
        """A .c file and the templates in it: they have their names in common."""
        parts, queue = [], [source]
        while queue:
            part = queue.pop()
            parts.append(part)
            queue += [self.header(name) for name in part.includes
                      if self.header(name) and not self.header(name).guarded and self.header(name) not in parts]
        return parts

    def clashes(self):
        """For each .c file, the local names that occur at file scope anywhere else."""
        where = {}
        units = {source.name: self.unit(source) for source in self.sources.values() if source.name.endswith(".c")}
        for name, parts in units.items():
            for part in parts:
                for word in part.ordinary | part.types:
                    where.setdefault(word, set()).add(name)
        for source in self.sources.values():
            if source.name.endswith(".h") and source.guarded:
                plain = without_comments(source.text)
                declared = set(re.findall(r"^[a-z][^;{}()#=]*?\b(\w+)\(", plain, re.M))
                for word in source.ordinary | source.types | source.macros | declared:
                    where.setdefault(word, set()).add(source.name)
        return {name: {word for part in parts for word in part.ordinary | part.types if len(where[word]) > 1}
                for name, parts in units.items()}

    def line(self, text):
        self.out.append(text)

    def include(self, name, seen, emit, tier):
        """What stands for an #include of one of our headers; "" if it is there already."""
        header = self.header(name)
        if header is None:  # nidus.h stands at the top
            return
        if tier and not self.tiered(header):
            seen = self.seen
        if header.guarded and name in seen:
            return
        if not header.guarded:
            self.body(header, seen, emit, tier)
            return
        seen.add(name)
        second = tier and self.tiered(header)
        endings = dict(self.objects)
        if second:
            endings.update({word: f"{word}_avx2" for word in self.tier_names})
        self.body(header, seen, lambda text: self.line(renamed(text, endings, {})), tier, second)

    def body(self, source, seen, emit, tier, second=False):
        """A file's text, with what it includes in place of the #includes."""
        text = source.text
        if second:
            text = without_types(text)
            text = re.sub(r"^(#\s*define (\w+))", r"#undef \2\n\1", text, flags=re.M)
            text = re.sub(r"^#ifndef (\w+_H)\n#undef \1\n#define \1\n", "#if 1\n", text, count=1, flags=re.M)
        elif source.name.endswith(".h"):
            text = PROTOTYPE.sub(lambda found: "static " + found[0], text)
        text = re.sub(r"^#define _(?:GNU|POSIX_C|DEFAULT|XOPEN)_SOURCE.*\n", "", text, flags=re.M)
        text = re.sub(r"\b(?:" + "|".join(TIER) + r")\b", lambda m: TIER[m[0]], text)
        # What the system declares is not ours to hide.
        text = re.sub(r"^(#\s*include <(?!xxhash).*\n)", VISIBLE.format(r"\1"), text, flags=re.M)
        self.line(f"\n/* ==== src/{source.name} ==== */\n")
        at = 0
        for found in re.finditer(r'^#include (?:"(.*?)"|<xxhash\.h>).*\n', text, re.M):
            emit(text[at:found.start()])
            at = found.end()
            if found[1]:
                self.include(found[1], seen, emit, tier)
            else:
                self.line(VISIBLE.format(self.xxhash.read_text(encoding="utf-8")))
        emit(text[at:])

    def c_file(self, source, clashes, tier, seen):
        ordinary = {word: f"{word}_in_{source.id}" for word in clashes}
        types = dict(ordinary)
        if tier:
            for word in self.tier_names - set(clashes):
                ordinary[word] = f"{word}_avx2"
        parts = self.unit(source)
        if len(parts) > 1:  # a template in it: other files have the same names
            beginnings, heads, whole = pasted_names(parts)
            for word in heads | {word[:-1] for word in beginnings}:
                ordinary.setdefault(word, f"{word}_in_{source.id}")
            for word, (head, ending) in whole.items():
                ordinary[word] = ordinary[head] + ending
            for word in beginnings:
                ordinary[word] = ordinary[word[:-1]] + "_"
            for word in re.findall(r"\b(\w+?_)\d+\b", "".join(part.text for part in parts)):
                if word in beginnings:
                    for number in re.findall(rf"\b{word}(\d+)\b", "".join(part.text for part in parts)):
                        ordinary[word + number] = ordinary[word] + number
        all_types = set().union(*(part.types for part in self.unit(source)))
        types = {word: new for word, new in types.items() if word in all_types}
        functions = {word: new for word, new in {**self.objects, **ordinary}.items()
                     if word not in all_types or word in set().union(*(p.ordinary for p in self.unit(source)))}
        self.body(source, seen, lambda text: self.line(renamed(text, functions, types)), tier)
        for macro in sorted(set().union(*(part.macros for part in self.unit(source)))):
            if macro not in ordinary:
                self.line(f"#undef {macro}\n")
            else:
                self.line(f"#undef {ordinary[macro]}\n")

    def text(self):
        clashes = self.clashes()
        self.tier_names = set().union(*(source.ordinary - source.enumerators for source in self.sources.values()
                                        if source.name.endswith(".h") and source.guarded and self.tiered(source)))
        units = [source for source in self.sources.values() if source.name.endswith(".c")]
        plain = [source for source in units if not source.name.endswith("_avx2.c")]
        self.line(HEAD.replace("{licences}", licences(self.root)))
        for source in plain:
            self.c_file(source, clashes[source.name], False, self.seen)
        self.line(TIER_BEGIN)
        seen = set()
        for source in units:
            if source not in plain:
                self.c_file(source, clashes[source.name], True, seen)
        self.line(TIER_END)
        return "".join(self.out)


def licences(root):
    """Ours and that of xxHash, as the lines of a comment."""
    texts = [(root / name).read_text(encoding="utf-8") for name in ("LICENSE", "NOTICE")]
    lines = "\n".join(texts).splitlines()
    return "".join(f" * {line}".rstrip() + "\n" for line in lines)


HEAD = """/* SPDX-License-Identifier: MIT AND BSD-2-Clause */
/*
 * nidus in one file, made by tools/amalgamate.py; xxHash, by Yann Collet, is inside under its own licence.
 * Compile it with nidus.h beside it: cc -O2 -c nidus.c
 * Link with -lpthread -lm.
 *
{licences} */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
/* Sizes are computed with doubles and must come out the same everywhere: no fused multiply-adds. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__FP_FAST_FMA)
#pragma GCC optimize("fp-contract=off")
#endif
#include "nidus.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#if defined(__x86_64__)
#define NIDUS_HAVE_AVX2
#include <immintrin.h>
#endif
#pragma GCC visibility push(hidden)
"""

VISIBLE = "#pragma GCC visibility push(default)\n{}#pragma GCC visibility pop\n"

TIER_BEGIN = f"""
/* ==== for processors with AVX2; called only there ==== */

#ifdef NIDUS_HAVE_AVX2
#define NIDUS_TIER_AVX2 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("{TARGET}"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("{TARGET}")
#endif
"""

TIER_END = """
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef NIDUS_TIER_AVX2
#endif
#pragma GCC visibility pop
#pragma GCC diagnostic pop
"""


def main(root, xxhash, folder):
    root, folder = Path(root), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = Amalgamation(root, Path(xxhash)).text()
    (folder / "nidus.c").write_text(text, encoding="utf-8")
    (folder / "nidus.h").write_text((root / "include/nidus.h").read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
