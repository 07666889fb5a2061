# SPDX-License-Identifier: MIT
"""What the pages show is so: their Python runs, and `# -> VALUE` is what comes out. Examples run too."""

import ast
import os
import re
import subprocess
import sys

import pytest

import nidus

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "bindings", "python", "examples")


def blocks_of(page, kind="python"):
    with open(os.path.join(ROOT, page)) as file:
        return re.findall(rf"^```{kind}\n(.*?)^```$", file.read(), re.S | re.M)


def run(block, names):
    """Runs a block, and checks each line that tells its value."""
    lines = block.splitlines()
    for node in ast.parse(block).body:
        told = re.search(r"# -> (.*)$", lines[node.end_lineno - 1])
        code = compile(ast.Module([node], []), "page", "exec")
        if told:
            assert isinstance(node, ast.Expr), f"only expressions have a value: {lines[node.lineno - 1]}"
            value = eval(compile(ast.Expression(node.value), "page", "eval"), names)
            assert value == ast.literal_eval(told[1]), lines[node.lineno - 1]
        else:
            exec(code, names)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_the_page_does_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nidus.build(["heron"], seed=1).save("birds.nidus")
    blocks = blocks_of(page)
    assert blocks
    names = {}
    for block in blocks:
        run(block, names)


def test_a_value_that_is_wrong_is_noticed():
    with pytest.raises(AssertionError):
        run("1 + 1  # -> 3\n", {})


def test_the_page_names_every_function_and_exception():
    with open(os.path.join(ROOT, "docs", "python.md")) as file:
        page = file.read()
    for name in nidus.__all__:
        if name not in ("Entry", "Info", "PlanRow", "Feature", "Error"):
            assert re.search(rf"`{name}\b", page), name
    for name in dir(nidus.Filter):
        if not name.startswith("_"):
            assert re.search(rf"\b{name}\b", page), name


@pytest.mark.parametrize("arguments", [("deduplicate.py", "20000", "7"), ("join.py", "20000", "500"), ("deduplicate_frame.py", "20000", "7")])
def test_the_examples_run(arguments):
    if "frame" in arguments[0]:
        pytest.importorskip("pandas")
    subprocess.run([sys.executable, os.path.join(EXAMPLES, arguments[0]), *arguments[1:]], check=True)
