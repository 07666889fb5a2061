# SPDX-License-Identifier: MIT
"""Builds the package nidus: the C library's sources and the module's, in one extension.

The library's sources are those of the repository that this folder is in. A source distribution takes
them along, as library/, with xxhash.h beside them.

NIDUS_LIBRARY   a libnidus.a or libnidus.so of the same version to link with instead
XXHASH_INCLUDE  where xxhash.h is, if not where the compiler looks
"""

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
FLAGS = ["-std=gnu11", "-O2", "-fvisibility=hidden", "-ffp-contract=off", "-fno-semantic-interposition"]


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
    """Compiles the files of a tier for that tier; they are called only where the processor has it."""

    def build_extension(self, extension):
        compile_one = self.compiler._compile

        def compile_for_tier(target, source, suffix, options, arguments, more):
            if source.endswith("_avx2.c") and AVX2:
                arguments = arguments + ["-mavx2", "-mbmi", "-mbmi2", "-mpopcnt"]
            compile_one(target, source, suffix, options, arguments, more)

        self.compiler._compile = compile_for_tier
        try:
            super().build_extension(extension)
        finally:
            self.compiler._compile = compile_one


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
        shutil.copy(in_library("LICENSE"), base_dir)


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
        settings["extra_objects"] = [os.path.abspath(linked)]
    else:
        settings["sources"] += sorted(glob.glob(in_library("src", "*", "*.c")))
        settings["include_dirs"] += [in_library("src"), find_xxhash()]
        if AVX2:
            settings["define_macros"].append(("NIDUS_HAVE_AVX2", None))
    if sys.platform.startswith("linux"):  # nothing of the library is to be seen by other modules
        settings["extra_link_args"] = ["-Wl,--exclude-libs,ALL"]
    return Extension("nidus._nidus", **settings)


setup(
    name="nidus",
    version=version(),
    description="Fingerprint filters: small, fast, approximate sets over arrays, strings and files",
    long_description=open("README.md").read(),
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.9",
    packages=["nidus"],
    package_data={"nidus": ["py.typed", "*.pyi"]},
    ext_modules=[extension()],
    cmdclass={"build_ext": Build, "sdist": SourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
    zip_safe=False,
)
