"""Runs the library of a peer in a separate driver process (see `driver`), and compares the message ids."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Timer
from typing import Any, cast

from benchmarks.measure.cpu import Meter, Reading
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages, latency_of
from benchmarks.measure.tally import compare_ids
from benchmarks.scenarios import Scenario

LONGEST_PHASE_SECONDS = 1_800
EVERYTHING = 10**9  # messages to receive in a drain, which ends when the queue is empty
ROOT = Path(__file__).resolve().parents[2]
queue_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Shape:
    """Describes a library's scenario: messages in a call (0: 1 to 10 at random), and whether the library sends and
    receives.
    """

    size: int
    sends: bool
    receives: bool
    single: bool = False  # one caller, regardless of the plan's connections
    idle: bool = False  # single messages with pauses, for a waiting consumer


SHAPES = {
    "send_1": Shape(1, sends=True, receives=False),
    "send_10": Shape(10, sends=True, receives=False),
    "warski": Shape(0, sends=True, receives=True),
    "receive_delete_1": Shape(1, sends=False, receives=True),
    "receive_delete_10": Shape(10, sends=False, receives=True),
    "idle_latency": Shape(1, sends=True, receives=True, single=True, idle=True),
    "queue_add": Shape(1, sends=True, receives=False, single=True),
    "queue_add_bulk": Shape(50, sends=True, receives=False, single=True),
    "worker_generic": Shape(1, sends=False, receives=True, single=True),
    "worker_concurrent": Shape(10, sends=False, receives=True),
}
FILL = Shape(100, sends=True, receives=False)
DRAIN = Shape(10, sends=False, receives=True)


class LibraryPeer:
    """Implements a peer with a client library. A subclass sets `name`, `meter` and `command`, and implements `details`.

    If `library_counts` is true, the library does a service's work in the client, so the library's CPU time counts as
    the server's.
    """

    name: str
    library_counts = True
    pushes = False  # whether a waiting consumer receives new messages at once, as idle_latency requires
    max_messages = EVERYTHING  # the limit of messages in a run, for libraries that take minutes
    meter: Meter
    command: list[str]

    def details(self) -> dict[str, object]:
        """Returns the members of the driver's order that contain the server's address."""
        raise NotImplementedError

    def settle(self) -> None:
        """Prepares the server just before the measured time."""

    def supports(self, scenario: Scenario) -> bool:
        return scenario.name in SHAPES and (self.pushes or not SHAPES[scenario.name].idle)

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        """Makes one run on a new queue."""
        queue, shape = f"bench{next(queue_numbers)}", SHAPES[scenario.name]
        plan = replace(plan, messages=min(plan.messages, self.max_messages))
        watch("empty")
        waiting = plan.held + (plan.messages if scenario.filled else 0)
        with_eight_connections = replace(plan, connections=8)
        fill = self._run_driver(queue, FILL, replace(with_eight_connections, messages=waiting)) if waiting else {}
        self.settle()
        watch("filled")
        readings: list[Reading] = []
        measured = self._run_driver(queue, shape, plan, lambda: readings.append(self.meter.read()))
        watch("measured")
        rest = self._run_driver(queue, DRAIN, replace(with_eight_connections, messages=EVERYTHING))
        watch("drained")
        return self._outcome(scenario, plan, (fill, measured, rest), readings)

    def _run_driver(
        self, queue: str, shape: Shape, plan: Plan, mark: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:
        """Runs a driver process, and calls `mark` just before and just after the measured time. Raises RuntimeError."""
        order = self.order_of(queue, shape, plan)
        process = subprocess.Popen(
            [*self.command, json.dumps(order)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process, ended_after(LONGEST_PHASE_SECONDS, process):
            for word in ("ready", "finished"):
                if (reply := process.stdout.readline().strip()) != word:
                    process.kill()
                    raise RuntimeError(f"{self.name}: the driver said {reply!r} and not {word!r}")
                mark()
                process.stdin.write("go\n")
                process.stdin.flush()
            answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.name}: the driver ended without an answer")
        return cast("dict[str, Any]", json.loads(answer))

    def order_of(self, queue: str, shape: Shape, plan: Plan) -> dict[str, object]:
        callers = 1 if shape.single else plan.connections
        messages = plan.idle_samples if shape.idle else plan.messages
        half = max(1, callers // 2) if shape.sends and shape.receives else callers
        return self.details() | {
            "queue": queue,
            "size": shape.size,
            "body": plan.body,
            "senders": half if shape.sends else 0,
            "receivers": half if shape.receives else 0,
            "to_send": messages if shape.sends else 0,
            "to_receive": messages if shape.receives else 0,
            "idle": shape.idle,
            "stall_seconds": 4 if plan.messages == EVERYTHING else 10,
        }

    def _outcome(
        self, scenario: Scenario, plan: Plan, results: tuple[dict[str, Any], ...], readings: list[Reading]
    ) -> Outcome:
        measured = results[1]
        sent, received, used = len(measured["sent"]), len(measured["received"]), measured["cpu_seconds"]
        elapsed = measured["receive_seconds" if scenario.drains else "send_seconds"]
        received_ids = [message for result in results for message in result.get("received", [])]
        sent_ids = [message for result in results for message in result.get("sent", [])]
        return Outcome(
            system=self.name,
            scenario=scenario.name,
            plan=plan,
            messages=received if scenario.drains else sent,
            elapsed_seconds=elapsed,
            sent_per_second=sent / measured["send_seconds"] if sent else 0.0,
            received_per_second=received / elapsed if scenario.drains and elapsed else 0.0,
            latency=latency_of(measured["call_seconds"]),
            generator_cpu_seconds=0.0 if self.library_counts else used,
            before=self._with_client(readings[0], 0.0),
            after=self._with_client(readings[1], used),
            verdict=compare_ids(sent_ids, received_ids, len(received_ids)),
        )

    def _with_client(self, reading: Reading, used: float) -> Reading:
        """Returns the reading. If `library_counts` is true, adds the library's CPU time to the server side."""
        if not self.library_counts:
            return reading
        return replace(reading, cpu_seconds=reading.cpu_seconds | {"library": used})


@contextmanager
def ended_after(seconds: float, process: "subprocess.Popen[str]") -> Iterator[None]:
    """Kills a driver after `seconds`. The driver's caller then reads an empty line."""
    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def python_driver(interpreter: Path | str, module: str) -> list[str]:
    return [str(interpreter or sys.executable), "-m", f"benchmarks.peers.{module}"]
