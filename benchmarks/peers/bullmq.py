"""Runs BullMQ (npm) on a Redis (Debian) that writes every command to its append-only file before it responds."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.measure.cpu import Meter
from benchmarks.system import accepts, bytes_below, free_port, stop_process, wait_until

from . import packages
from .library_peer import LibraryPeer

VERSION = "6.7.0"
CLIENT = "ioredis@5"
DEBIAN = ["redis-tools", "redis-server", "liblzf1", "libjemalloc2", "libatomic1"]
SETTINGS = {"appendonly": "yes", "appendfsync": "always", "save": "", "bind": "127.0.0.1", "daemonize": "no"}


class Bullmq(LibraryPeer):
    """Implements the peer `bullmq`. The library's CPU counts, because the library does the work of a service."""

    name = "bullmq"

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="bullmq"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises UnavailableError."""
        packages.require("node")
        library = packages.npm("bullmq", [f"bullmq@{VERSION}", CLIENT])
        os.environ["BULLMQ_FOLDER"] = str(library)
        self.command = ["node", str(Path(__file__).with_name("bullmq_driver.cjs"))]
        self._port, log = free_port(), self._folder / "log"
        options = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
        program, environment = redis()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [program, *options, "--port", str(self._port), "--dir", str(self._folder)],
                stdout=output,
                stderr=output,
                env=environment,
            )
        wait_until(lambda: accepts(self._port), self._process, log)
        self.meter = Meter({"redis": [self._process.pid]})

    def stop(self) -> None:
        stop_process(self._process)
        shutil.rmtree(self._folder, ignore_errors=True)

    def details(self) -> dict[str, object]:
        return {"port": self._port}

    def facts(self) -> dict[str, object]:
        text = subprocess.run([redis()[0], "--version"], env=redis()[1], capture_output=True, text=True, check=False)
        return {"version": VERSION, "client": CLIENT, "redis": text.stdout.strip(), "settings": SETTINGS}

    def pss_bytes(self) -> dict[str, int | None]:
        return self.meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(self._folder)


def redis() -> tuple[str, dict[str, str]]:
    """Returns the installed program, or Debian's program below .tools, and its environment variables."""
    if (installed := shutil.which("redis-server")) is not None:
        return installed, dict(os.environ)
    root = packages.debian("redis", DEBIAN)
    libraries = ":".join(str(path) for path in (root / "usr/lib").glob("*-linux-gnu"))
    return str(root / "usr/bin/redis-server"), {**os.environ, "LD_LIBRARY_PATH": libraries}
