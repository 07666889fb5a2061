# SPDX-License-Identifier: MIT
"""What users type to install the package, with a package index; skipped where none can be reached."""

import os
import subprocess
import sys

import pytest

from test_package import copy_of_tree

LIBRARY = os.environ.get("NIDUS_STATIC_LIBRARY")
pytestmark = pytest.mark.skipif(not LIBRARY, reason="NIDUS_STATIC_LIBRARY does not name libnidus.a, and compiling all of it takes long")


def pip(folder, *arguments, **environment):
    """pip of a fresh environment, with the index that it finds; the test is skipped where there is none."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    run = [os.path.join(folder, "bin", "pip"), "-q", "--disable-pip-version-check", "--retries", "0"]
    if subprocess.run([*run, "download", "--no-deps", "-d", folder, "wheel"], capture_output=True).returncode != 0:
        pytest.skip("no package index can be reached")
    done = subprocess.run([*run, *arguments], text=True, capture_output=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return os.path.join(folder, "bin", "python")


def test_pip_installs_it_into_a_fresh_environment_without_flags(tmp_path):
    folder = copy_of_tree(tmp_path / "tree")
    python = pip(str(tmp_path / "env"), "install", str(folder), NIDUS_LIBRARY=LIBRARY)
    code = "import nidus; f = nidus.build(range(1000)); assert 7 in f and len(f) == 1000"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([python, "-c", code], check=True, env=clean, cwd=tmp_path)


def test_the_wheel_for_others_has_a_manylinux_tag(tmp_path):
    script = copy_of_tree(tmp_path / "tree") / "wheel"
    made = subprocess.run([script, tmp_path / "out"], text=True, capture_output=True, env={**os.environ, "NIDUS_LIBRARY": LIBRARY, "PYTHON": sys.executable})
    if made.returncode == 77:
        pytest.skip("no package index can be reached")
    assert made.returncode == 0, made.stderr
    assert "manylinux" in made.stdout
