# SPDX-License-Identifier: MIT
"""The modules for tables without their packages: what they say. With them: test_duckdb.py, test_polars.py,
test_spark.py."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module, package", [("duckdb", "duckdb"), ("duckdb", "pyarrow"), ("polars", "polars"), ("spark", "pyspark")])
def test_a_package_that_is_missing_is_named(module, package):
    # A stand-in for what else it imports, which may be missing here, too.
    code = f"import sys, types; sys.modules.update(dict(duckdb=types.ModuleType('duckdb')) | dict({package}=None)); import nidus.{module}"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 1
    assert f"ImportError: nidus.{module} needs {package}" in done.stderr and f"pip install {package}" in done.stderr


def test_the_package_itself_needs_none_of_them():
    code = "import sys; sys.modules.update(duckdb=None, polars=None, pyspark=None, pyarrow=None, pandas=None); import nidus; nidus.build([1, 2])"
    subprocess.run([sys.executable, "-c", code], check=True)
