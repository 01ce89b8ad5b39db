"""Defines the plan and the outcome of a scenario's run against a system."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.load.wire import body_of, nested_uuids

from .cpu import Reading
from .tally import Verdict, percentile_of_sorted


@dataclass(frozen=True, slots=True)
class Plan:
    """Describes a scenario's run.

    `processes` is the number of load processes (0 means the default number). `rate` is the number of messages sent each
    second (open loop). 0 means that each connection has one request in flight. `held` is the number of additional
    messages that wait from the start.
    """

    connections: int
    messages: int
    body_bytes: int
    idle_samples: int = 300
    processes: int = 0
    rate: float = 0.0
    held: int = 0
    payload: str = "text"

    @property
    def body(self) -> str:
        return nested_uuids() if self.payload == "uuids" else body_of(self.body_bytes)


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies in milliseconds. `samples` is the number of calls or, for idle_latency, the number of messages."""

    p50_ms: float
    p99_ms: float
    samples: int
    p95_ms: float = 0.0


@dataclass(slots=True)
class Outcome:
    """Holds the outcome of a run.

    `messages` is the number of messages within `elapsed_seconds`: sent messages in send scenarios, and received and
    deleted messages in all other scenarios.
    """

    system: str
    scenario: str
    plan: Plan
    messages: int
    elapsed_seconds: float
    sent_per_second: float
    received_per_second: float
    latency: Latency
    generator_cpu_seconds: float
    before: Reading
    after: Reading
    calls: dict[str, Latency] = field(default_factory=dict)
    verdict: Verdict | None = None
    empty_receives: int = 0
    bad_answers: int = 0
    bad_samples: list[str] = field(default_factory=list)

    @property
    def messages_per_second(self) -> float:
        return self.messages / self.elapsed_seconds if self.elapsed_seconds else 0.0

    @property
    def server_cpu_seconds(self) -> dict[str, float]:
        """Maps the parts of the server side (service, postgresql, pgbouncer) to their CPU time in seconds."""
        return {part: used - self.before.cpu_seconds.get(part, 0.0) for part, used in self.after.cpu_seconds.items()}

    @property
    def server_cpu_seconds_per_1000(self) -> float:
        return sum(self.server_cpu_seconds.values()) / self.messages * 1000 if self.messages else 0.0

    @property
    def foreign_cpu_share(self) -> float:
        """Returns the CPU time of other programs as a share of all cores, without the server side and the load
        generator."""
        ours = sum(self.server_cpu_seconds.values()) + self.generator_cpu_seconds
        busy = self.after.host_busy_seconds - self.before.host_busy_seconds
        capacity = self.after.host_seconds - self.before.host_seconds
        return max(0.0, busy - ours) / capacity if capacity else 0.0

    @property
    def valid(self) -> bool:
        """Returns whether the run moved messages, lost and duplicated none of them, and received no bad response."""
        return self.messages > 0 and self.bad_answers == 0 and (self.verdict is None or self.verdict.clean)


def latency_of(seconds: Sequence[float]) -> Latency:
    ordered = sorted(seconds)
    p50, p95, p99 = (percentile_of_sorted(ordered, fraction) * 1000 for fraction in (0.5, 0.95, 0.99))
    return Latency(p50, p99, len(ordered), p95)


StageCallback = Callable[[str], None]
"""The run calls this function at each stage, outside the measured time."""


def ignore_stages(stage: str) -> None:
    """Does nothing at any stage."""
