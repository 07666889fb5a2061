# SPDX-License-Identifier: MIT
"""node's redis package works as it is. Needs a download, so ./dev soak redis runs it and ctest does not."""
import os
import shutil
import subprocess
import tempfile

import servers


class Node(servers.Test):
    def test_nodes_redis_package_works_as_it_is(self):
        if not shutil.which("node") or not shutil.which("npm"):
            self.skipTest("node or npm is missing")
        with tempfile.TemporaryDirectory(prefix="nidus-node-") as folder:
            fetched = subprocess.run(["npm", "install", "--silent", "redis"], cwd=folder, check=False,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if fetched.returncode:
                self.skipTest("npm could not fetch the package redis")
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_client.js")
            done = subprocess.run(["node", script, str(self.server.port)], cwd=folder, check=False,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            print(done.stdout.decode().strip(), flush=True)


if __name__ == "__main__":
    servers.main()
