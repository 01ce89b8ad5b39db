"""Compares a queue under pressure with a quiet queue.

Under pressure, millions of messages wait, many are in flight, and another session's old snapshot keeps PostgreSQL from
removing deleted rows. The study measures two equal services alternately. The study does not store the ids of the
waiting messages. The number of remaining messages reveals losses, and the received ids reveal duplicates.
"""

from contextlib import closing
from statistics import median
from typing import cast

import psycopg

from benchmarks.load import flows
from benchmarks.load.driver import order_of, outcome_of
from benchmarks.load.fleet import PhaseOrder
from benchmarks.load.wire import VISIBILITY_SECONDS, Address, address_of, call, create_queue
from benchmarks.measure.cpu import Reading
from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.measure.tally import Tally, Verdict
from benchmarks.penstock import Penstock
from benchmarks.report.rows import Row, text
from benchmarks.report.runs import marks_of
from benchmarks.scenarios import SCENARIOS, Scenario

from .study import Bench, Document, Findings, Study

WAITING = 5_000_000
IN_FLIGHT = 50_000
MESSAGES = 100_000
MAX_VISIBILITY_SECONDS = 43_200  # AWS limits the visibility timeout to 12 hours.
GOAL_RATE, GOAL_P99 = 0.9, 2.0
# receive_delete_1 fills the quiet queue before its measured time. The queue under pressure already contains messages.
MEASURED = ("warski", "receive_delete_1", "send_1")
# These attributes add up to the number of all messages in a queue.
COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class LoadedQueue:
    """Holds the queue under pressure, and the expected number of messages in the queue."""

    def __init__(self, bench: Bench, penstock: Penstock) -> None:
        self._bench = bench
        self._penstock = penstock
        self._address = address_of(penstock.endpoint, "bench-hostile")
        self.expected = 0

    def fill(self) -> None:
        """Creates the backlog and the messages in flight."""
        create_queue(self._address, VisibilityTimeout=str(MAX_VISIBILITY_SECONDS))
        body, waiting = Plan(16, 0, 100).body, self._bench.scaled(WAITING, 2_000) // 10 * 10
        in_flight = self._bench.scaled(IN_FLIGHT, 100)
        self._run(PhaseOrder(self._address, body, (flows.send_without_recording,), 16, to_send=waiting))
        self._run(PhaseOrder(self._address, body, (flows.receive_without_delete,), 4, to_receive=in_flight))
        self.expected = waiting

    def _run(self, order: PhaseOrder) -> Tally:
        tally = self._bench.fleet.run(order)
        if tally.bad_answers:
            raise RuntimeError(f"the study could not create the backlog: {tally.bad_samples}")
        return tally

    def run(self, scenario: Scenario, plan: Plan) -> Outcome:
        readings: list[Reading] = []
        self._penstock.settle()
        order = order_of(scenario, plan, self._address)
        measured = self._bench.fleet.run(order, lambda: readings.append(self._penstock.meter.read()))
        self.expected += len(measured.acknowledged) - measured.deleted
        return outcome_of("hostile", scenario, plan, measured, readings, self._verdict(measured))

    def _verdict(self, measured: Tally) -> Verdict:
        return Verdict(
            lost=abs(self.expected - count(self._address)),
            duplicated=len(measured.received) - len(set(measured.received)),
            phantom=0,
            undeleted=len(measured.received) - measured.deleted,
        )


def count(address: Address) -> int:
    """Returns the number of all messages in a queue."""
    arguments: dict[str, object] = {"QueueUrl": address.queue_url, "AttributeNames": list(COUNTS)}
    found = cast("dict[str, str]", call(address, "GetQueueAttributes", arguments)["Attributes"])
    return sum(int(found[name]) for name in COUNTS)


def measure(bench: Bench) -> Findings:
    """Runs each scenario alternately on both queues. The goals are ratios of the medians of the two queues."""
    quiet, other = bench.penstock, bench.another_penstock()
    bench.measure_insert(other)
    with closing(psycopg.connect(other.dsn)) as foreign:
        foreign.execute("set transaction isolation level repeatable read")
        foreign.execute("select 1 from pg_class limit 1")
        loaded_queue = LoadedQueue(bench, other)
        loaded_queue.fill()
        runs = [pair for name in MEASURED for pair in pairs(SCENARIOS[name], quiet, loaded_queue, bench)]
        facts = other.facts() | {"pss_bytes": other.pss_bytes(), "disk_bytes": other.disk_bytes()}
    bench.measure_insert(other)
    other.stop()
    rows = [row_of(name, [pair for pair in runs if pair[0].scenario == name]) for name in MEASURED]
    print(
        f"{text(rows)}\nVisibilityTimeout {VISIBILITY_SECONDS} s quiet, {MAX_VISIBILITY_SECONDS} s pressed", flush=True
    )
    every = [run for pair in runs for run in pair]
    document: Document = {"system": "penstock", "facts": facts, "rows": rows, "marks": marks_of(every)}
    return Findings([document], all(run.valid for run in every))


def pairs(
    scenario: Scenario, quiet: Penstock, loaded_queue: LoadedQueue, bench: Bench
) -> list[tuple[Outcome, Outcome]]:
    plan = Plan(16, bench.scaled(MESSAGES, 500), 100)
    quiet.run(scenario, plan)
    return [(quiet.run(scenario, plan), loaded_queue.run(scenario, plan)) for _ in range(bench.options.repeat)]


def row_of(name: str, found: list[tuple[Outcome, Outcome]]) -> Row:
    rates = [median(pair[side].messages_per_second for pair in found) for side in (0, 1)]
    p99 = [median(pair[side].latency.p99_ms for pair in found) for side in (0, 1)]
    cpu = [median(pair[side].server_cpu_seconds_per_1000 for pair in found) for side in (0, 1)]
    rate_ratio, p99_ratio = rates[1] / rates[0], p99[1] / p99[0]
    return {
        "scenario": name,
        "quiet msg/s": rates[0],
        "pressed msg/s": rates[1],
        "ratio": round(rate_ratio, 3),
        "quiet p99 ms": p99[0],
        "pressed p99 ms": p99[1],
        "p99 ratio": round(p99_ratio, 2),
        "quiet CPU s/1000": cpu[0],
        "pressed CPU s/1000": cpu[1],
        "goals (0.9, 2)": "reached" if rate_ratio >= GOAL_RATE and p99_ratio <= GOAL_P99 else "MISSED",
        "verdict": "clean" if all(run.valid for pair in found for run in pair) else "INVALID",
    }


STUDIES = [
    Study(
        "hostile",
        "5 M messages wait, 50,000 are in flight, and another session holds an old snapshot",
        measure,
        alone=True,
    )
]
