#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the declarations of the Rust crate nidus-sys from the public header.

    tools/rust_sys.py include/nidus.h nidus.rs

Its build script does that in the repository, ./dev rust for packages. The header has few forms: enums, structs of plain fields, function pointers, macros that are numbers, and functions.
Whatever else it has one day is an error here.
"""
import re
import sys

HEAD = """// SPDX-License-Identifier: MIT
// nidus.h in Rust, made by tools/rust_sys.py.
"""

TYPES = {"void": "c_void", "char": "c_char", "bool": "bool", "size_t": "usize", "ptrdiff_t": "isize", "uint64_t": "u64",
         "uint32_t": "u32", "uint8_t": "u8", "unsigned": "c_uint", "int": "c_int", "double": "f64"}
KEYWORDS = {"type", "move", "ref", "in", "fn", "self", "use", "match", "box", "loop"}


def type_of(text):
    """A type of C: names and stars, each star perhaps const."""
    words = text.replace("*", " * ").split()
    at = words.index("*") if "*" in words else len(words)
    const = "const" in words[:at]
    (name,) = [word for word in words[:at] if word not in ("const", "struct")]
    made = TYPES.get(name, name)
    for word in words[at:]:
        if word == "const":
            const = True
        else:
            made, const = ("*const " if const else "*mut ") + made, False
    return made


def named(declaration):
    """The name and the type of a parameter or a field."""
    text, name, count = re.fullmatch(r"(.*?)(\w+)(\[\d+\])?", declaration.strip(), re.S).groups()
    made = type_of(text)
    if count:
        made = f"[{made}; {count[1:-1]}]"
    return name + "_" * (name in KEYWORDS), made


def function(result, parameters):
    """The parameters and the result of a function, in Rust."""
    parameters = "" if parameters.strip() == "void" else ", ".join(": ".join(named(one)) for one in parameters.split(","))
    return f"({parameters})" + ("" if result.strip() == "void" else f" -> {type_of(result)}")


def callback(result, parameters):
    """The same for a pointer, which may be null."""
    return f'Option<unsafe extern "C" fn{function(result, parameters)}>'


def value_of(text, known):
    """What a constant of the header is."""
    text = re.sub(r"\b(0x[0-9a-f]+|\d+)u\b", r"\1", text.strip())
    if not re.fullmatch(r"[\w\s<|.x]+", text):
        raise SystemExit(f"rust_sys: what is {text}?")
    return eval(text, {}, dict(known))  # numbers, shifts and names of constants before


def enum(name, body):
    known, at = {}, 0
    kind = name or "u32"
    for item in filter(None, (part.strip() for part in body.split(","))):
        constant, _, value = item.partition("=")
        at = value_of(value, known) if value else at
        known[constant.strip()] = at
        at += 1
    lines = [f"pub type {name} = c_uint;"] if name else []
    return lines + [f"pub const {constant}: {kind} = {value};" for constant, value in known.items()]


def struct(name, body):
    lines = ["#[repr(C)]", "#[derive(Clone, Copy, Debug)]", f"pub struct {name} {{"]
    for field in filter(None, (part.strip() for part in body.split(";"))):
        pointer = re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", field, re.S)
        field, kind = (pointer[2], callback(pointer[1], pointer[3])) if pointer else named(field)
        lines.append(f"    pub {field}: {kind},")
    return lines + ["}"]


def declarations(header):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?(#else|#endif)", "", text, flags=re.S)
    out, functions = [], []
    for name, number in re.findall(r"^#define (NIDUS_\w+) ((?:0x)?[0-9a-f.]+u?)$", text, re.M):
        kind = "f64" if "." in number else "c_uint"
        out.append(f"pub const {name}: {kind} = {number.rstrip('u')};")
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    forms = re.compile(r"""
        typedef\ enum\ (?P<enum>\w+)\s*\{(?P<items>[^}]*)\}\s*\w+; | enum\s*\{(?P<bits>[^}]*)\};
        | typedef\ struct\ (?P<struct>\w+)\s*\{(?P<fields>[^}]*)\}\s*\w+; | typedef\ struct\ (?P<opaque>\w+)\ \w+;
        | typedef\ (?P<result>[\w\s*]+?)\(\*(?P<pointer>\w+)\)\((?P<takes>[^)]*)\);
        | NIDUS_API\ (?P<returns>[\w\s*]+?)(?P<function>\bnidus_\w+)\((?P<parameters>[^)]*)\);""", re.X)
    for found in forms.finditer(text):
        if found["enum"]:
            out += ["", *enum(found["enum"], found["items"])]
        elif found["bits"]:
            out += ["", *enum(None, found["bits"])]
        elif found["struct"]:
            out += ["", *struct(found["struct"], found["fields"])]
        elif found["opaque"]:
            out += ["", "#[repr(C)]", f"pub struct {found['opaque']} {{", "    _opaque: [u8; 0],", "}"]
        elif found["pointer"]:
            out += ["", f"pub type {found['pointer']} = {callback(found['result'], found['takes'])};"]
        else:
            functions.append(f"    pub fn {found['function']}{function(found['returns'], found['parameters'])};")
    left = forms.sub("", text).replace('extern "C" {', "").replace("}", "")
    if left.strip():
        raise SystemExit(f"rust_sys: this form is unknown: {left.strip()[:200]}")
    return HEAD + "\n" + "\n".join(out) + '\n\nextern "C" {\n' + "\n".join(functions) + "\n}\n"


def main(header, target):
    with open(header, encoding="utf-8") as file:
        made = declarations(file.read())
    with open(target, "w", encoding="utf-8") as file:
        file.write(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
