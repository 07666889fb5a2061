# SPDX-License-Identifier: MIT
"""What nidus.duckdb, nidus.polars and nidus.spark share."""

import importlib
from typing import Any


def need(package: str, module: str) -> Any:
    """A package that only one module here needs, or an error that tells how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise ImportError(f"{module} needs {name}, which could not be imported ({error}): pip install {name}") from error


def refuse(kind: Any) -> TypeError:
    """What to raise for a column whose items cannot be keys."""
    return TypeError(f"keys are integers, text, bytes, booleans or times, not {kind}: cast them")
