# SPDX-License-Identifier: MIT
"""Tests named as claims: run() calls every function of a script that takes no argument."""
import glob
import inspect
import os
import sys
import traceback


def expect(condition, what=""):
    if not condition:
        raise AssertionError(what)


def refused(words, call, *arguments):
    """The call must raise an error that has these words in it."""
    try:
        answer = call(*arguments)
    except AssertionError:
        raise
    except Exception as error:  # each database has its own class
        expect(words in str(error), f"{error!r} does not say {words!r}")
        return
    raise AssertionError(f"{arguments!r} was not refused but answered {str(answer)[:80]!r}")


def examples(kind):
    """Of each script examples/KIND_NAME.sql: its text, and what it must print."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    paths = sorted(glob.glob(f"{root}/examples/{kind}_*.sql"))
    expect(paths, f"no examples/{kind}_*.sql")
    for path in paths:
        name = os.path.basename(path)[:-len(".sql")]
        with open(path) as script, open(f"{root}/tests/examples/{name}.out") as wanted:
            yield name, script.read(), wanted.read().strip()


def run(names):
    claims = [value for value in list(names.values())
              if inspect.isfunction(value) and value.__module__ == "__main__"
              and value.__code__.co_argcount == 0 and not value.__name__.startswith("_")
              and value.__name__ not in ("connect", "main")]
    failed = 0
    for claim in claims:
        try:
            claim()
            print("ok    ", claim.__name__)
        except Exception:
            failed += 1
            print("FAILED", claim.__name__)
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    print(f"{len(claims) - failed} of {len(claims)} claims hold")
    sys.exit(1 if failed or not claims else 0)
