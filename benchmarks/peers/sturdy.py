"""A peer whose failure is a line of the table, not the end of the measurement of all others."""

import subprocess
import sys
from urllib.error import URLError

from benchmarks.measure.cpu import Reading
from benchmarks.measure.outcome import Outcome, Plan, latency_of
from benchmarks.measure.watch import Watch, unwatched
from benchmarks.scenarios import Scenario
from benchmarks.system import System

FAILURES = (RuntimeError, OSError, URLError, subprocess.SubprocessError, ValueError)


class Sturdy:
    """Passes everything on; a run that raises becomes an outcome without messages, which is not valid."""

    def __init__(self, peer: System) -> None:
        self._peer = peer
        self.start, self.stop, self.facts = peer.start, peer.stop, peer.facts
        self.supports, self.disk_bytes = peer.supports, peer.disk_bytes

    @property
    def name(self) -> str:
        return self._peer.name

    def pss_bytes(self) -> dict[str, int | None]:
        """Nothing when its processes have ended."""
        try:
            return self._peer.pss_bytes()
        except ProcessLookupError:
            return {}

    def run(self, scenario: Scenario, plan: Plan, watch: Watch = unwatched) -> Outcome:
        try:
            return self._peer.run(scenario, plan, watch)
        except FAILURES as error:
            print(f"{self.name}, {scenario.name}: {error!r}", file=sys.stderr, flush=True)
            return failed(self.name, scenario, plan, error)


def failed(name: str, scenario: Scenario, plan: Plan, error: Exception) -> Outcome:
    nothing = Reading({}, 0.0, 0.0)
    return Outcome(
        system=name,
        scenario=scenario.name,
        plan=plan,
        messages=0,
        elapsed_seconds=1.0,
        sent_per_second=0.0,
        received_per_second=0.0,
        latency=latency_of([]),
        generator_cpu_seconds=0.0,
        before=nothing,
        after=nothing,
        bad_answers=1,
        bad_samples=[repr(error)[:500]],
    )
