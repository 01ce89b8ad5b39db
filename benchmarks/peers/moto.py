"""moto's server (PyPI): SQS in Python, in memory. It answers about a hundred calls a second, so its runs are short."""

import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.cpu import Meter
from benchmarks.fleet import Fleet
from benchmarks.load import HttpLoad
from benchmarks.outcome import Outcome, Plan
from benchmarks.scenarios import Scenario
from benchmarks.system import accepts, free_port, stop_process, wait_until
from benchmarks.watch import Watch, unwatched

from . import packages

VERSION = "5.2.5"
WAITRESS = "3.0.2"
# Its own server closes the connection after every answer; waitress keeps it, which is in moto's favour.
SERVE = """
import sys, waitress
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
application = DomainDispatcherApplication(create_backend_app)
waitress.serve(application, host="127.0.0.1", port=int(sys.argv[1]), threads=16, connection_limit=4000)
"""
MOST_MESSAGES = 1_000


class Moto:
    """The peer `moto`."""

    name = "moto"

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._folder = Path(tempfile.mkdtemp(prefix="moto"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises UnavailableError."""
        interpreter = packages.python("moto", [f"moto[server,sqs]=={VERSION}", f"waitress=={WAITRESS}"])
        port, log = free_port(), self._folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(interpreter), "-c", SERVE, str(port)],
                stdout=output,
                stderr=output,
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
        short = replace(
            plan, messages=min(plan.messages, MOST_MESSAGES), idle_samples=min(plan.idle_samples, 100)
        )
        return self._load.run(scenario, short, watch)

    def facts(self) -> dict[str, object]:
        return {
            "version": VERSION,
            "server": f"waitress {WAITRESS}",
            "storage": "memory",
            "most messages of a run": MOST_MESSAGES,
        }

    def pss_bytes(self) -> dict[str, int | None]:
        return self._meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return None
