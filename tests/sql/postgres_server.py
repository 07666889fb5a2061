# SPDX-License-Identifier: MIT
"""A PostgreSQL server of our own in a temporary folder, with the extension installed in it.

The server's tree is copied, so that nothing is installed on the machine: PostgreSQL finds its
extensions by the place of its program. It refuses to run as root, so root runs it as another user.
"""
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile


def _pg_config():
    return shutil.which("pg_config")


def find_binaries():
    """The folder with initdb and postgres, or None."""
    config = _pg_config()
    if config:
        folder = subprocess.run([config, "--bindir"], capture_output=True, text=True).stdout.strip()
        if os.path.exists(os.path.join(folder, "initdb")):
            return folder
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


class Server:
    def __init__(self, extension_folder):
        self.folder = tempfile.mkdtemp(prefix="nidus-pg-")
        os.chmod(self.folder, 0o755)
        self.user = None
        if os.geteuid() == 0:
            self.user = pwd.getpwnam("postgres" if _has_user("postgres") else "nobody")
        self.process = None
        self._copy_server(extension_folder)
        self._start()

    # The tree keeps its shape: share/ is found from bin/ by the same steps as before.
    def _copy_server(self, extension_folder):
        binaries = find_binaries()
        config = _pg_config()
        where = {}
        for what in ("sharedir", "pkglibdir"):
            where[what] = subprocess.run([config, "--" + what], capture_output=True, text=True,
                                         check=True).stdout.strip()
        root = os.path.join(self.folder, "root")
        for source in (binaries, where["sharedir"], where["pkglibdir"]):
            shutil.copytree(source, root + source, symlinks=False, ignore=_useless)
        self.bin = root + binaries
        shutil.copy(os.path.join(extension_folder, "nidus.so"), root + where["pkglibdir"])
        for file in glob.glob(os.path.join(extension_folder, "nidus*")):
            if not file.endswith(".so"):
                shutil.copy(file, root + where["sharedir"] + "/extension")

    def run(self, *command, **options):
        return subprocess.run(command, preexec_fn=self._become, capture_output=True, text=True,
                              cwd=self.folder, **options)

    def _become(self):
        if self.user:
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)

    def _start(self):
        self.data = os.path.join(self.folder, "data")
        self.socket = os.path.join(self.folder, "socket")
        for folder in (self.data, self.socket):
            os.mkdir(folder, 0o700)
            if self.user:
                os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        made = self.run(self.bin + "/initdb", "-D", self.data, "-U", "nidus", "-A", "trust",
                         "-E", "UTF8", "--locale=C", "--no-sync")
        if made.returncode != 0:
            raise RuntimeError(made.stdout + made.stderr)
        log = open(os.path.join(self.folder, "log"), "w")
        self.process = subprocess.Popen(
            [self.bin + "/postgres", "-D", self.data, "-k", self.socket, "-c", "listen_addresses=",
             "-c", "fsync=off", "-c", "max_parallel_workers=4", "-c", "jit=off"],
            stdout=log, stderr=log, preexec_fn=self._become, cwd=self.folder)
        for _ in range(600):
            if self.run(self.bin + "/pg_isready", "-h", self.socket).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            subprocess.run(["sleep", "0.1"])
        raise RuntimeError("the server did not start:\n" + self.log())

    def log(self):
        with open(os.path.join(self.folder, "log")) as file:
            return file.read()

    def sql(self, text, database="postgres"):
        """Runs statements in one session; the answer of the last one as text."""
        done = self.run("psql", "-h", self.socket, "-U", "nidus", "-d", database, "-X", "-A", "-t",
                         "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", input=text)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def _has_user(name):
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False


def _useless(_, names):
    return [name for name in names if name in ("bitcode", "man", "pgxs") or "llvmjit" in name]


def skip_without_server():
    if not find_binaries() or not _pg_config() or not shutil.which("psql"):
        print("skipped: no PostgreSQL server here (Debian: postgresql)")
        sys.exit(77)
