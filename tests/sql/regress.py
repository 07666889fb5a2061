#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scripts in bindings/postgresql/sql by pg_regress, in a server of our own.

usage: regress.py EXTENSION_FOLDER [--write]        (--write: takes the output as expected)
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import postgres_server

SCRIPTS = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                       "../../bindings/postgresql"))
ORDER = ("keys", "values")  # the first makes the extension


def program():
    folder = subprocess.run(["pg_config", "--pkglibdir"], capture_output=True,
                            text=True).stdout.strip()
    path = os.path.join(folder, "pgxs/src/test/regress/pg_regress")
    if not os.path.exists(path):
        print("skipped: no pg_regress here (Debian: postgresql-server-dev-all)")
        sys.exit(77)
    return path


def main():
    postgres_server.skip_without_server()
    regress = program()
    found = {os.path.basename(path)[:-4] for path in glob.glob(SCRIPTS + "/sql/*.sql")}
    if found != set(ORDER):
        sys.exit(f"sql/ has {sorted(found)}, but these are run: {ORDER}")
    with tempfile.TemporaryDirectory() as out, postgres_server.Server(sys.argv[1]) as server:
        done = subprocess.run([regress, "--inputdir=" + SCRIPTS, "--outputdir=" + out,
                               "--bindir=" + server.bin, "--host=" + server.socket, "--user=nidus",
                               "--dbname=regress", "--encoding=UTF8", "--no-locale", *ORDER])
        if "--write" in sys.argv:
            for name in ORDER:
                shutil.copy(f"{out}/results/{name}.out", f"{SCRIPTS}/expected/{name}.out")
        elif done.returncode != 0:
            with open(out + "/regression.diffs") as diffs:
                print(diffs.read())
            sys.exit(1)


main()
