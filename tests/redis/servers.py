# SPDX-License-Identifier: MIT
"""Real servers for the tests: on 127.0.0.1, a free port and a temporary folder, stopped at the end."""
import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import redis

MODULE = os.path.abspath(os.environ["NIDUS_REDIS_MODULE"])
PROGRAM = os.environ.get("NIDUS_REDIS_SERVER", "redis-server")
CLI = PROGRAM.replace("-server", "-cli")
SMALL = os.environ.get("NIDUS_TEST_SCALE") == "small"

running = []


def free_port():
    """One whose companion of the cluster bus, 10000 above it, is free too."""
    while True:
        with socket.socket() as probe, socket.socket() as bus:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            try:
                bus.bind(("127.0.0.1", port + 10000))
                return port
            except (OSError, OverflowError):
                continue


def chance():
    """A random number generator; its seed is printed and can be given."""
    seed = int(os.environ.get("NIDUS_TEST_SEED", random.SystemRandom().randrange(2**31)))
    print(f"NIDUS_TEST_SEED={seed}", flush=True)
    return random.Random(seed)


def environment():
    """The server's. A module with sanitizers needs their library before all others."""
    env = dict(os.environ)
    if env.get("NIDUS_REDIS_PRELOAD"):
        env["LD_PRELOAD"] = env["NIDUS_REDIS_PRELOAD"]
        # What the server itself leaves behind when it ends is not our concern.
        env["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1:exitcode=99"
        env["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1:exitcode=99"
    return env


class Server:
    """One server. `options` are those of its configuration, as `--name value` words."""

    def __init__(self, *options, module=True, module_arguments=()):
        self.folder = tempfile.mkdtemp(prefix="nidus-redis-")
        self.port = free_port()
        self.options = list(options)
        if module:
            self.options += ["--loadmodule", MODULE, *module_arguments]
        self.process = None
        running.append(self)
        self.start()

    def start(self):
        command = [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                   "--save", "", "--enable-debug-command", "local", "--logfile", self.log_path(),
                   *self.options]
        with open(os.path.join(self.folder, "stderr"), "ab") as errors:
            self.process = subprocess.Popen(command, env=environment(), stderr=errors,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while True:
            try:
                with self.client() as client:
                    client.ping()
                    return
            except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
                pass
            if self.process.poll() is not None:
                raise RuntimeError(f"{PROGRAM} ended: {self.log()}")
            time.sleep(0.02)

    def log_path(self):
        return os.path.join(self.folder, "log")

    def log(self):
        text = ""
        for name in ("log", "stderr"):
            with open(os.path.join(self.folder, name), errors="replace") as file:
                text += file.read()
        return text

    def client(self, **options):
        return redis.Redis(host="127.0.0.1", port=self.port, **options)

    def cli(self, *words, resp3=False):
        """What the command line client prints; RESP3 on request, which redis-py here lacks."""
        command = [CLI, "-p", str(self.port), "--no-auth-warning"]
        command += ["-3"] if resp3 else ["-2"]
        done = subprocess.run(command + [str(word) for word in words], capture_output=True,
                              check=False)
        return done.stdout.decode().rstrip("\n")

    def kill(self):
        """As a power cut would end it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        code = self.process.returncode
        if code == 99 or "Sanitizer" in self.log() or "runtime error" in self.log():
            raise RuntimeError(f"a sanitizer complained: {self.log()}")

    def restart(self):
        self.stop()
        self.start()


def stop_all():
    while running:
        server = running.pop()
        try:
            server.stop()
        finally:
            shutil.rmtree(server.folder, ignore_errors=True)


atexit.register(stop_all)


class Test(unittest.TestCase):
    """A test case with one empty server for all its tests."""

    options = module_arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options, module_arguments=cls.module_arguments)
        cls.r = cls.server.client()

    @classmethod
    def tearDownClass(cls):
        cls.r.close()
        cls.server.stop()

    def setUp(self):
        self.r.flushall()

    def do(self, *words):
        return self.r.execute_command(*words)

    def refused(self, text, *words):
        """The command is answered with exactly this error."""
        with self.assertRaises(redis.exceptions.ResponseError) as caught:
            self.do(*words)
        self.assertEqual(str(caught.exception), text)

    def digest(self, key, client=None):
        return (client or self.r).execute_command("DEBUG", "DIGEST-VALUE", key)[0]


def wait_for(condition, what, seconds=120):
    """Waits until something is so; a server that never gets there is a failure, not a hang."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.02)


def main():
    unittest.main(verbosity=2)
