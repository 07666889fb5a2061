# SPDX-License-Identifier: MIT
"""Packaging: the wheel, the source distribution and the type stubs."""

import ast
import glob
import inspect
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

import nidus

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(ROOT, "bindings", "python")

pytest.importorskip("setuptools")
pytest.importorskip("wheel")


def build(kind, folder, target, **environment):
    """Does what pip does without build isolation: asks the build backend."""
    code = f"from setuptools import build_meta as b; print(b.build_{kind}({str(target)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, text=True, capture_output=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return os.path.join(target, done.stdout.split()[-1])


def copy_of_tree(folder):
    """What a build needs of the repository, in a folder that it may litter."""
    for part in ("src", "include", os.path.join("bindings", "python")):
        shutil.copytree(os.path.join(ROOT, part), folder / part)
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(os.path.join(ROOT, name), folder)
    return folder / "bindings" / "python"


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    archive = build("sdist", copy_of_tree(folder), folder)
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    (unpacked,) = glob.glob(str(folder / "nidus-*[0-9]"))
    return unpacked


def test_the_source_distribution_has_all_that_its_sources_include(source_distribution):
    include = [f"-I{os.path.join(source_distribution, 'library', part)}" for part in ("include", "src")]
    python = subprocess.check_output([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))"], text=True).strip()
    sources = glob.glob(os.path.join(source_distribution, "library", "src", "*", "*.c"))
    assert len(sources) == len(glob.glob(os.path.join(ROOT, "src", "*", "*.c"))) > 20
    sources += glob.glob(os.path.join(source_distribution, "src", "*.c"))
    listed = subprocess.run(
        [os.environ.get("CC", "cc"), "-M", "-D_DEFAULT_SOURCE", *include, f"-I{python}", *sources], text=True, capture_output=True
    )
    assert listed.returncode == 0, listed.stderr
    # xxhash.h is the one that was taken along, and nothing comes from the repository itself.
    assert os.path.join(source_distribution, "library", "include", "xxhash.h") in listed.stdout
    assert os.path.join(ROOT, "src") not in listed.stdout and os.path.join(ROOT, "include") not in listed.stdout
    for name in ("LICENSE", "NOTICE", "README.md", "PKG-INFO", "pyproject.toml"):
        assert os.path.isfile(os.path.join(source_distribution, name)), name


def test_a_wheel_of_the_source_distribution_works(source_distribution, tmp_path):
    library = os.environ.get("NIDUS_STATIC_LIBRARY")
    if not library:
        pytest.skip("NIDUS_STATIC_LIBRARY does not name libnidus.a, and compiling all of it takes long")
    wheel = build("wheel", source_distribution, tmp_path, NIDUS_LIBRARY=library)
    if sys.version_info >= (3, 11):
        assert "-cp311-abi3-" in wheel
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    # Python's own flags ask for debug information, which takes as long to compile as everything else.
    (module,) = (tmp_path / "site" / "nidus").glob("_nidus*.so")
    assert b".debug_info" not in module.read_bytes()
    assert {"nidus/__init__.py", "nidus/__init__.pyi", "nidus/py.typed", "nidus/_base.py"} <= names
    assert {f"nidus/{name}.py" for name in ("cluster", "duckdb", "polars", "spark")} <= names
    with open(os.path.join(ROOT, "NOTICE")) as notice:  # xxHash's code is inside
        (carried,) = (tmp_path / "site" / f"nidus-{nidus.__version__}.dist-info").glob("**/NOTICE")
        assert carried.read_text() == notice.read()
    code = "import nidus; f = nidus.build(range(1000)); assert all(i in f for i in range(1000)); print(nidus.__version__)"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})
    assert printed.strip() == nidus.__version__ and f"nidus-{nidus.__version__}-" in wheel


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name).decode()


def test_the_wheel_says_what_it_is(source_distribution, tmp_path):
    library = os.environ.get("NIDUS_STATIC_LIBRARY")
    if not library:
        pytest.skip("NIDUS_STATIC_LIBRARY does not name libnidus.a")
    metadata = metadata_of(build("wheel", source_distribution, tmp_path, NIDUS_LIBRARY=library, NIDUS_URL="https://example.org/nidus/"))
    assert "Project-URL: Homepage, https://example.org/nidus\n" in metadata
    assert "Project-URL: Changelog, https://example.org/nidus/blob/main/CHANGELOG.md\n" in metadata
    assert "Classifier: Programming Language :: Python :: 3\n" in metadata and "Classifier: Typing :: Typed\n" in metadata


def stubs():
    with open(os.path.join(SOURCE, "nidus", "__init__.pyi")) as file:
        return ast.parse(file.read()).body


def names_in(body):
    names = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
    return names | {name.id for node in body if isinstance(node, ast.Assign) for name in node.targets}


def test_the_stubs_name_what_there_is():
    assert set(nidus.__all__) <= names_in(stubs())
    for node in stubs():
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(nidus, node.name), nidus.Error):
            real = getattr(nidus, node.name)
            for name in names_in(node.body):
                assert hasattr(real, name), (node.name, name)
    (filter,) = [node for node in stubs() if isinstance(node, ast.ClassDef) and node.name == "Filter"]
    public = {name for name in dir(nidus.Filter) if not name.startswith("_")}
    assert public == {name for name in names_in(filter.body) if not name.startswith("_")}
    for record in ("Info", "PlanRow", "Entry"):
        (node,) = [node for node in stubs() if isinstance(node, ast.ClassDef) and node.name == record]
        fields = [field.target.id for field in node.body]
        assert fields == list(getattr(nidus, record).__match_args__) and len(fields) == getattr(nidus, record).n_fields


def test_the_stubs_have_the_parameters_that_there_are():
    functions = {node.name: node for node in stubs() if isinstance(node, ast.FunctionDef)}
    (filter,) = [node for node in stubs() if isinstance(node, ast.ClassDef) and node.name == "Filter"]
    pairs = [(functions[name], getattr(nidus, name)) for name in ("build", "merge", "plan")]
    pairs += [(node, getattr(nidus.Filter, node.name)) for node in filter.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    for node, real in pairs:
        if isinstance(inspect.getattr_static(nidus.Filter, node.name, None), property) or not callable(real):
            continue
        arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        arguments += [node.args.vararg] if node.args.vararg else []
        names = [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
        signature = [name for name in inspect.signature(real).parameters if name not in ("self", "type")]
        assert names == signature, node.name
