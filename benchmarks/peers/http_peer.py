"""Runs a peer of one process that speaks SQS JSON over HTTP, so Penstock's load generator can measure the peer."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.load.driver import HttpLoad
from benchmarks.load.fleet import Fleet
from benchmarks.measure.cpu import Meter
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages
from benchmarks.scenarios import Scenario
from benchmarks.system import accepts, bytes_below, free_port, stop_process, wait_until


class HttpPeer:
    """A subclass implements `command`, which starts the peer on a port. Each peer has a separate folder."""

    durable = False

    def __init__(self, name: str, fleet: Fleet) -> None:
        self.name = name
        self._fleet = fleet
        self.folder = Path(tempfile.mkdtemp(prefix=name))
        self._process: subprocess.Popen[bytes] | None = None

    def command(self, port: int) -> list[str]:
        """Returns the command that starts the peer, and installs missing packages. Raises UnavailableError."""
        raise NotImplementedError

    def environment(self, port: int) -> dict[str, str]:  # noqa: ARG002 - some subclasses need it
        """Returns environment variables in addition to the caller's."""
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
