# SPDX-License-Identifier: MIT
"""Builds the package nidus: the C library's sources and the module's, in one extension.

The library's sources are those of the repository that this folder is in. A source distribution takes
them along, as library/, with xxhash.h beside them.

NIDUS_LIBRARY   a libnidus.a or libnidus.so of the same version to link with instead
NIDUS_URL       where the repository is published: the URLs of the package
XXHASH_INCLUDE  where xxhash.h is, if not where the compiler looks
"""

import concurrent.futures
import glob
import os
import platform
import re
import shutil
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)
# In a source distribution, or in the repository.
LIBRARY = "library" if os.path.isdir("library") else os.path.join("..", "..")
STABLE = sys.version_info >= (3, 11)  # Py_buffer is in the stable ABI from there on
AVX2 = platform.machine() in ("x86_64", "AMD64")
# Python's own flags ask for debug information, which takes as long to compile as everything else.
FLAGS = ["-std=gnu11", "-O2", "-g0", "-fvisibility=hidden", "-ffp-contract=off", "-fno-semantic-interposition"]
CLASSIFIERS = [
    "Development Status :: 4 - Beta",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3 :: Only",
    "Programming Language :: Python :: Implementation :: CPython",
    "Topic :: Database",
    "Topic :: Scientific/Engineering",
    "Topic :: Software Development :: Libraries",
    "Typing :: Typed",
]


def in_library(*parts):
    return os.path.join(LIBRARY, *parts)


def version():
    """Written once, in the public header."""
    with open(in_library("include", "nidus.h")) as header:
        numbers = dict(re.findall(r"#define NIDUS_VERSION_(\w+) +(\d+)", header.read()))
    return "{MAJOR}.{MINOR}.{PATCH}".format(**numbers)


def find_xxhash():
    """The folder of xxhash.h."""
    folders = [in_library("include"), os.environ.get("XXHASH_INCLUDE"), "/usr/include", "/usr/local/include"]
    for folder in filter(None, folders):
        if os.path.isfile(os.path.join(folder, "xxhash.h")):
            return folder
    sys.exit("xxhash.h (0.8 or newer) was not found: on Debian install libxxhash-dev, or set XXHASH_INCLUDE")


class Build(build_ext):
    """Compiles the files side by side, those of a tier for that tier, and leaves no object outside of build/."""

    def build_extension(self, extension):
        compiler = self.compiler
        compile_one, compile_all = compiler._compile, compiler.compile
        jobs = []

        def compile_later(target, source, suffix, options, arguments, more):
            if source.endswith("_avx2.c") and AVX2:  # called only where the processor has it
                arguments = arguments + ["-mavx2", "-mbmi", "-mbmi2", "-mpopcnt"]
            jobs.append((target, source, suffix, options, arguments, more))

        def compile_side_by_side(*arguments, **named):
            objects = compile_all(*arguments, **named)
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                for _ in pool.map(lambda job: compile_one(*job), jobs):
                    pass
            return objects

        def object_names(sources, strip_dir=0, output_dir=""):
            inside = [re.sub(r"^([.][.]/)+", "", source) for source in sources]
            return [os.path.join(output_dir, os.path.splitext(name)[0] + ".o") for name in inside]

        compiler._compile, compiler.compile = compile_later, compile_side_by_side
        compiler.object_filenames = object_names
        super().build_extension(extension)


class SourceDistribution(sdist):
    """Takes the library's sources along."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = os.path.join(base_dir, "library")
        if os.path.isdir(target):  # made from a source distribution
            return
        for folder in ("include", "src"):
            shutil.copytree(in_library(folder), os.path.join(target, folder))
        shutil.copy(os.path.join(find_xxhash(), "xxhash.h"), os.path.join(target, "include"))
        for name in ("LICENSE", "NOTICE"):
            shutil.copy(in_library(name), base_dir)


def extension():
    settings = {
        "sources": sorted(glob.glob("src/*.c")),
        "include_dirs": [in_library("include")],
        "define_macros": [("_DEFAULT_SOURCE", None), ("_FILE_OFFSET_BITS", "64"), ("NDEBUG", None)],
        "extra_compile_args": list(FLAGS),
        "libraries": ["m", "pthread"],
        "py_limited_api": STABLE,
    }
    if STABLE:
        settings["define_macros"].append(("Py_LIMITED_API", "0x030B0000"))
    linked = os.environ.get("NIDUS_LIBRARY")
    if linked:
        if not os.path.isfile(linked):
            sys.exit(f"NIDUS_LIBRARY: there is no {os.path.abspath(linked)}; give the whole path")
        settings["extra_objects"] = [os.path.abspath(linked)]
    else:
        settings["sources"] += sorted(glob.glob(in_library("src", "*", "*.c")))
        settings["include_dirs"] += [in_library("src"), find_xxhash()]
        if AVX2:
            settings["define_macros"].append(("NIDUS_HAVE_AVX2", None))
    if sys.platform.startswith("linux"):  # nothing of the library is to be seen by other modules
        settings["extra_link_args"] = ["-Wl,--exclude-libs,ALL"]
    return Extension("nidus._nidus", **settings)


def urls():
    """The pages of the package, if the repository has an address."""
    home = os.environ.get("NIDUS_URL", "").rstrip("/")
    pages = {
        "Homepage": "",
        "Source": "",
        "Documentation": "/blob/main/docs/python.md",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
    }
    return {name: home + page for name, page in pages.items()} if home else {}


setup(
    name="nidus",
    version=version(),
    description="Fingerprint filters: small, fast, approximate sets over arrays, strings and files",
    long_description=open("README.md").read(),
    long_description_content_type="text/markdown",
    keywords=["bloom filter", "cuckoo filter", "approximate set", "deduplication", "membership", "numpy", "arrow"],
    classifiers=CLASSIFIERS,
    project_urls=urls(),
    license="MIT AND BSD-2-Clause",
    license_files=["LICENSE", "NOTICE"],
    python_requires=">=3.9",
    packages=["nidus"],
    package_data={"nidus": ["py.typed", "*.pyi"]},
    ext_modules=[extension()],
    cmdclass={"build_ext": Build, "sdist": SourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
    zip_safe=False,
)
