"""Measures how throughput, CPU time and p99 change while one size of the workload grows.

The sizes are backlog, queues, groups, subscriptions, connections and body size. Each value of the size has a row. As in
all studies, the load generator compares the message ids.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random
from uuid import uuid4

import psycopg

from benchmarks.load import flows
from benchmarks.load.connection import Flow
from benchmarks.load.driver import order_of, outcome_of
from benchmarks.load.fleet import PhaseOrder
from benchmarks.load.flows import Phase
from benchmarks.load.wire import address_of, create_queue, decode_send_batch, delete_queue
from benchmarks.measure.cpu import Reading, peak_of
from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.measure.tally import Verdict
from benchmarks.penstock import Penstock
from benchmarks.report.rows import Row, figures_of, text
from benchmarks.report.runs import marks_of
from benchmarks.scenarios import SCENARIOS

from .fan_out import prepare, publish_figures
from .hostile import count as messages_of
from .study import Bench, Findings, Study

MESSAGES = 50_000
SIZES = {
    "backlog": (0, 10_000, 100_000, 1_000_000, 5_000_000),
    "queues": (1, 100, 1_000, 10_000, 100_000),
    "groups": (1, 100, 10_000, 100_000),
    "subscriptions": (1, 10, 100, 1_000, 10_000),
    "connections": (1, 4, 16, 64, 256, 1_000, 2_000),
    "body_bytes": (100, 1_000, 10_000, 100_000, 1_048_576),
}
# Creates many standard queues, which no client uses, with the SQL interface.
MAKE_QUEUES = """
select queue.create_queue('000000000000', 'us-east-1', format('growth-%%s', n), '{}',
    queue.default_attributes(false), null, 1, 0)
from generate_series(%s::int, %s::int) n"""

Measured = Callable[[Bench, Penstock, int], Row]


def measure_backlog(bench: Bench, penstock: Penstock, size: int) -> Row:
    """Runs `warski` on a queue that contains this many waiting messages.

    The study counts the remaining messages, but does not compare their ids.
    """
    address = address_of(penstock.endpoint, f"bench-growth-backlog-{size}")
    create_queue(address, VisibilityTimeout="43200")
    plan = Plan(16, bench.scaled(MESSAGES, 500), 100)
    waiting = size // 10 * 10
    if waiting:
        bench.fleet.run(PhaseOrder(address, plan.body, (flows.send_without_recording,), 16, to_send=waiting))
    scenario, readings = SCENARIOS["warski"], list[Reading]()
    penstock.settle()
    measured = bench.fleet.run(order_of(scenario, plan, address), lambda: readings.append(penstock.meter.read()))
    duplicated = len(measured.received) - len(set(measured.received))
    left = waiting + len(measured.acknowledged) - measured.deleted
    verdict = Verdict(abs(left - messages_of(address)), duplicated, 0, len(measured.received) - measured.deleted)
    delete_queue(address)
    return row_of("backlog", size, outcome_of("penstock", scenario, plan, measured, readings, verdict))


def measure_queues(bench: Bench, penstock: Penstock, size: int) -> Row:
    """Runs `warski` on one queue while this many queues exist."""
    existing = queues_made.get(penstock.dsn, 0)
    if size - 1 > existing:
        with psycopg.connect(penstock.dsn, autocommit=True) as connection:
            for first in range(existing + 1, size, 1_000):
                connection.execute(MAKE_QUEUES, [first, min(first + 999, size - 1)])
            connection.execute("analyze")
        queues_made[penstock.dsn] = size - 1
    return row_of("queues", size, penstock.run(SCENARIOS["warski"], Plan(16, bench.scaled(MESSAGES, 500), 100)))


queues_made: dict[str, int] = {}


def measure_groups(bench: Bench, penstock: Penstock, size: int) -> Row:
    """Runs a FIFO queue that has this many groups and at least as many messages."""
    address = address_of(penstock.endpoint, f"bench-growth-groups-{size}.fifo")
    create_queue(address, FifoQueue="true")
    messages = max(size, bench.scaled(MESSAGES, 500))
    plan, readings = Plan(16, messages, 100), list[Reading]()
    penstock.settle()
    order = PhaseOrder(
        address, plan.body, (partial(send_in_groups, size), flows.receive_delete_tens), 16, messages, messages
    )
    measured = bench.fleet.run(order, lambda: readings.append(penstock.meter.read()))
    duplicated = len(measured.received) - len(set(measured.received))
    lost = len(set(measured.acknowledged) - set(measured.received))
    verdict = Verdict(lost, duplicated, 0, len(measured.received) - measured.deleted)
    delete_queue(address)
    return row_of("groups", size, outcome_of("penstock", SCENARIOS["warski"], plan, measured, readings, verdict))


def send_in_groups(groups: int, phase: Phase) -> Flow:
    """Sends batches of ten, with each message in a random group."""
    dice, writer = Random(), uuid4().hex
    for batch_number in count():
        taken = phase.progress.claim(flows.BATCH_LIMIT)
        if not taken:
            return
        entries = [
            {
                "Id": str(n),
                "MessageBody": phase.body,
                "MessageGroupId": str(dice.randrange(groups)),
                "MessageDeduplicationId": f"{writer}-{batch_number}-{n}",
            }
            for n in range(taken)
        ]
        answer = yield phase.requests.batch_of(entries)
        batch = phase.decoded(decode_send_batch, answer)
        for entry in batch.successful if batch is not None else []:
            phase.record_acknowledged(entry, answer)


def measure_connections(bench: Bench, penstock: Penstock, size: int) -> Row:
    """Runs `warski` with this many connections."""
    messages = bench.scaled(MESSAGES, 500)
    return row_of("connections", size, penstock.run(SCENARIOS["warski"], Plan(max(2, size), messages, 100)))


def measure_body_bytes(bench: Bench, penstock: Penstock, size: int) -> Row:
    """Runs `send_1` and then `receive_delete_1` with bodies of this size.

    Longer bodies mean fewer messages.
    """
    messages = max(100, min(bench.scaled(MESSAGES, 500), bench.scaled(500_000_000, 500_000) // size))
    outcomes = [run(penstock, scenario, Plan(16, messages, size)) for scenario in ("send_1", "receive_delete_1")]
    sent, received = outcomes
    row = row_of("body_bytes", size, received)
    return row | {"sent/s": round(sent.sent_per_second, 1), "CPU s/1000 sent": sent.server_cpu_seconds_per_1000}


def run(penstock: Penstock, scenario: str, plan: Plan) -> Outcome:
    return penstock.run(SCENARIOS[scenario], plan)


def measure_subscriptions(bench: Bench, penstock: Penstock, size: int) -> Row:
    """Publishes to a topic with this many queues."""
    topic = prepare(penstock.dsn, size)
    figures = publish_figures(penstock, topic, size, bench.scaled(20, 3), "x" * 100)
    return {"subscriptions": size, **figures}


def row_of(name: str, size: int, run: Outcome) -> Row:
    marks = marks_of([run])
    return {name: size, **figures_of(run), "marks": ", ".join(marks)[:60] if marks else ""}


MEASURES: dict[str, Measured] = {
    "backlog": measure_backlog,
    "queues": measure_queues,
    "groups": measure_groups,
    "subscriptions": measure_subscriptions,
    "connections": measure_connections,
    "body_bytes": measure_body_bytes,
}


def measure(name: str, bench: Bench) -> Findings:
    """Runs the study on a separate service. --scale multiplies all sizes except the numbers of connections and
    bytes."""
    penstock = bench.another_penstock()
    bench.measure_insert(penstock)
    run(penstock, "warski", Plan(16, bench.scaled(MESSAGES, 500) // 5, 100))
    rows: list[Row] = []
    for size in sizes_of(name, bench):
        with peak_of(penstock.meter, "service") as peak:
            row = MEASURES[name](bench, penstock, size)
        rows.append(row | {"service at most MiB": round(peak[0] / 2**20) if peak else None})
        print(text([rows[-1]]), flush=True)
    facts = penstock.facts() | {"pss_bytes": penstock.pss_bytes()}
    bench.measure_insert(penstock)
    penstock.stop()
    valid = all(row.get("verdict", "clean") == "clean" for row in rows)
    return Findings([{"system": "penstock", "facts": facts, "rows": rows, "marks": []}], valid)


def sizes_of(name: str, bench: Bench) -> list[int]:
    if name in {"connections", "body_bytes"}:
        return [size for size in SIZES[name] if size <= max(16, SIZES[name][-1] * float(bench.options.scale))]
    return sorted({0 if size == 0 else bench.scaled(size) for size in SIZES[name]})


WHAT = {
    "backlog": "0 to 5 M messages wait",
    "queues": "1 to 100,000 queues",
    "groups": "1 to 100,000 groups of a FIFO queue",
    "subscriptions": "1 to 10,000 subscriptions of a topic",
    "connections": "1 to 2,000 connections",
    "body_bytes": "bodies of 100 B to 1 MiB",
}
STUDIES = [
    Study(f"growth_{name}", f"cost growth: {what}", partial(measure, name), alone=True) for name, what in WHAT.items()
]
