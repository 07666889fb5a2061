# SPDX-License-Identifier: MIT
"""./dev redis: a server with the module, and a session to copy; it runs until it is interrupted.

    session.py             starts a server and shows the session of docs/redis.md with its answers
    session.py --check     only checks that the answers are those of docs/redis.md
"""
import os
import re
import shlex
import sys
import unittest

import servers

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = "--check" in sys.argv


def session():
    """The commands of the page, each with the answer that stands below it."""
    with open(os.path.join(TREE, "docs", "redis.md")) as page:
        blocks = re.findall(r"```redis\n(.*?)```", page.read(), re.S)
    for block in blocks:
        for part in re.split(r"^> ", block, flags=re.M)[1:]:
            command, _, answer = part.partition("\n")
            yield command, answer.rstrip("\n")


class Session(unittest.TestCase):
    def test_the_session_of_the_manual_is_true(self):
        server, n = servers.Server(), 0
        for command, answer in session():
            told = server.cli(*shlex.split(command))
            self.assertEqual(told, answer, command)
            n += 1
        self.assertGreater(n, 15)
        server.stop()


def show():
    server = servers.Server()
    print(f"{servers.PROGRAM} with {servers.MODULE}\n\n    {servers.CLI} -p {server.port}\n")
    for command, _ in session():
        print(f"127.0.0.1:{server.port}> {command}")
        print(server.cli(*shlex.split(command)))
    print("\nInterrupt (Ctrl-C) to stop the server.", flush=True)
    try:
        server.process.wait()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    if CHECK:
        sys.argv.remove("--check")
        servers.main()
    else:
        show()
