# SPDX-License-Identifier: MIT
"""What the tests share: the command, a seed, and every family."""

import os
import random
import subprocess

import pytest

import nidus

#: Those that take keys one by one.
FAMILIES = [row.family for row in nidus.plan(1000) if not row.features & nidus.Feature.STATIC]


@pytest.fixture
def rng():
    """Random numbers, the same in every run unless NIDUS_TEST_SEED says otherwise."""
    seed = os.environ.get("NIDUS_TEST_SEED") or os.environ.get("NIDUS_TEST_PINNED_SEED") or "1"
    seed = random.SystemRandom().randrange(2**32) if seed == "random" else int(seed)
    print(f"NIDUS_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def command():
    """Runs the nidus command: its output, as text."""
    path = os.environ.get("NIDUS_COMMAND")
    if not path:
        pytest.skip("NIDUS_COMMAND does not name the nidus command")

    def run(*arguments, keys="", code=0):
        # A sanitizer's library is for Python alone; the command has its own inside.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([path, *map(str, arguments)], input=keys, text=True, capture_output=True, env=environment)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run
