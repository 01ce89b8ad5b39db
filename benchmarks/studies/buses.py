"""Measures event buses: publishing, filters, replays, and the time from a publication to its delivery.

    bus_publish   100 events a call from 16 connections, through the service and in SQL, beside send_10
    bus_fan_out   0 to 100 subscribers with filters, each of which wants 1 in 100 events
    bus_latency   the time from a publication to the receipt from a subscriber's queue, at 20 events a second
    bus_replay    a replay to a queue, alone and beside 200 live events a second

`studies/stored_events.py` measures the disk, and buses at rest. The goals are in docs/performance/log.md.
"""

import asyncio
import json
from dataclasses import replace
from functools import partial
from statistics import median
from time import perf_counter, sleep

import psycopg
import uvloop

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.events import (
    HUNDRED,
    build_put,
    create_bus,
    create_subscriber,
    note_published,
    put_each_key,
    put_hundreds,
)
from benchmarks.load.fleet import PhaseOrder
from benchmarks.load.flows import Pace, Phase
from benchmarks.load.wire import (
    Action,
    Address,
    Due,
    Requests,
    address_of,
    body_of,
    create_queue,
    decode_delete_batch,
    decode_receive,
)
from benchmarks.measure.cpu import Reading
from benchmarks.measure.outcome import Plan, latency_of
from benchmarks.measure.tally import Progress, Tally
from benchmarks.penstock import Penstock
from benchmarks.pgbench import Pgbench, find_pgbench
from benchmarks.report.rows import Row, text
from benchmarks.scenarios import SCENARIOS

from .hostile import count as count_messages
from .study import Bench, Findings, Study

CONNECTIONS = 16
EVENTS = 200_000
JSON_BYTES = 98  # a JSON string of 100 bytes
SUBSCRIBERS = (0, 1, 10, 100)
REPLAYED = 1_000_000
LIVE_RATE, QUIET_RATE = 200.0, 20.0
LIVE_SECONDS = 30
SETTLE_SECONDS = 300

# Publishes 100 events with the SQL interface.
PUT_IN_SQL = """select count(*) from queue.put_events('{bus}', (
    select jsonb_agg(jsonb_build_object('Data', '{body}')) from generate_series(1, 100)));
"""
# Publishes events without a client, to fill a bus.
FILL = """do $$
declare
    v_types smallint[] := array_fill(1::smallint, array[{batch}]);
    v_data bytea[] := array_fill(convert_to('"{body}"', 'UTF8'), array[{batch}]);
begin
    for i in 1..{calls} loop
        perform count(*) from queue.put_bus_events('{bus}', '000000000000',
            array(select gen_random_uuid() from generate_series(1, {batch})), v_types, v_data);
        commit;
    end loop;
end $$"""
# Whether an event has no place yet, or a running subscriber has not read all pages.
IS_BEHIND = """
select coalesce(pg_sequence_last_value('queue.event_block'), 0) > coalesce((
        select w.number >> 10 from queue.event_watermark w order by w.version desc limit 1), 0)
    or exists (select from queue.event_gap)
    or exists (
        select from queue.event_subscriber s
        cross join lateral (
            select p.page from queue.event_page p where p.bus_id = s.bus_id order by p.page desc limit 1) p
        where s.state = 'RUNNING'
            and p.page > queue.read_event_cursor(s.bus_id, case when s.follows then 0 else s.subscriber_id end))"""


def open_bus(penstock: Penstock, name: str, days: int = 1) -> Address:
    """Creates a bus. Returns its address."""
    address = address_of(penstock.endpoint, name)
    return replace(address, queue=create_bus(address, days))


def open_queue(penstock: Penstock, name: str) -> Address:
    address = address_of(penstock.endpoint, name)
    create_queue(address)
    return address


def settle(penstock: Penstock, seconds: float = SETTLE_SECONDS) -> float:
    """Waits until all events are delivered. Returns the moment (perf_counter). Raises TimeoutError."""
    deadline = perf_counter() + seconds
    with psycopg.connect(penstock.dsn, autocommit=True) as connection:
        while connection.execute(IS_BEHIND).fetchone() != (False,):
            if perf_counter() > deadline:
                raise TimeoutError("the workers have not delivered all events")
            sleep(0.05)
    return perf_counter()


def fill(penstock: Penstock, bus: Address, events: int, body: str) -> None:
    """Publishes this many events on a bus, and waits until they have places."""
    batch = 1_000
    with psycopg.connect(penstock.dsn, autocommit=True) as connection:
        query = FILL.format(bus=bus.queue, body=body, batch=batch, calls=-(-events // batch))
        connection.execute(query.encode())
    settle(penstock)


def spent(before: Reading, after: Reading, events: int) -> Row:
    """Returns the microseconds of CPU an event, of the whole server side and of its parts."""
    used = {part: (after.cpu_seconds[part] - at) / events * 1e6 for part, at in before.cpu_seconds.items()}
    return {"CPU us": round(sum(used.values()), 2), **{f"{part} us": round(each, 2) for part, each in used.items()}}


def findings_of(penstock: Penstock, rows: list[Row]) -> Findings:
    facts = penstock.facts() | {"pss_bytes": penstock.pss_bytes()}
    penstock.stop()
    valid = all(row["verdict"] == "clean" for row in rows)
    return Findings([{"system": "penstock", "facts": facts, "rows": rows, "marks": []}], valid)


# --- bus_publish -----------------------------------------------------------------------------------------------------
def measure_publish(bench: Bench) -> Findings:
    """Measures the three kinds of calls in turn. The CPU of a publication includes the place of its event."""
    penstock = bench.another_penstock()
    bus, events = open_bus(penstock, "publish"), bench.scaled(EVENTS, 2_000) // HUNDRED * HUNDRED
    kinds = {
        "send_10": partial(send_tens, penstock, events),
        "service": partial(publish, bench, penstock, bus, events),
        "SQL": partial(publish_in_sql, penstock, "publish", events),
    }
    for measure in kinds.values():
        measure()
    runs: dict[str, list[Row]] = {kind: [] for kind in kinds}
    for number in range(bench.options.repeat):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            runs[kind].append(kinds[kind]())
    rows = [{"calls": kind} | summarize(found) for kind, found in runs.items()]
    for kind, row in zip(kinds, rows, strict=True):
        quotients = [cpu_of(a) / cpu_of(b) for a, b in zip(runs[kind], runs["send_10"], strict=True)]
        row["CPU : send_10"] = round(median(quotients), 2)
    print(text(rows), flush=True)
    return findings_of(penstock, rows)


def cpu_of(row: Row) -> float:
    return float(str(row["CPU us"]))


def summarize(rows: list[Row]) -> Row:
    """Returns the median of each figure."""
    found: Row = {}
    for name in rows[0]:
        if name != "verdict":
            found[name] = median(float(str(row[name])) for row in rows)
    return found | {"verdict": "clean" if all(row["verdict"] == "clean" for row in rows) else "INVALID"}


def send_tens(penstock: Penstock, messages: int) -> Row:
    run = penstock.run(SCENARIOS["send_10"], Plan(CONNECTIONS, messages, 100))
    return {
        "events/s": round(run.messages_per_second),
        **spent(run.before, run.after, messages),
        "p50 ms": round(run.latency.p50_ms, 2),
        "p99 ms": round(run.latency.p99_ms, 2),
        "verdict": "clean" if run.valid else "INVALID",
    }


def publish(bench: Bench, penstock: Penstock, bus: Address, events: int) -> Row:
    before = count_events(penstock)
    penstock.settle()
    readings: list[Reading] = []
    order = PhaseOrder(bus, body_of(JSON_BYTES), (put_hundreds,), CONNECTIONS, to_send=events)
    tally = bench.fleet.run(order, lambda: readings.append(penstock.meter.read()))
    settle(penstock)
    after = penstock.meter.read()
    latency = latency_of(tally.call_seconds[Action.PUT_EVENTS])
    stored = count_events(penstock) - before
    return {
        "events/s": round(events / tally.seconds_until(Action.PUT_EVENTS)),
        **spent(readings[0], after, events),
        "p50 ms": round(latency.p50_ms, 2),
        "p99 ms": round(latency.p99_ms, 2),
        "verdict": "clean" if stored == events and not tally.bad_answers else f"INVALID: {tally.bad_samples[:1]}",
    }


def publish_in_sql(penstock: Penstock, bus: str, events: int) -> Row:
    pgbench = Pgbench(find_pgbench(penstock.database_binaries()), penstock.dsn)
    opening = pgbench.opening_cpu(CONNECTIONS, penstock.meter)
    before, stored = penstock.meter.read(), count_events(penstock)
    script = PUT_IN_SQL.format(bus=bus, body=body_of(JSON_BYTES))
    run = pgbench.run(script, CONNECTIONS, -(-events // HUNDRED // CONNECTIONS))
    settle(penstock)
    after, published = penstock.meter.read(), run.transactions * HUNDRED
    after.cpu_seconds["postgresql"] -= opening
    latency = latency_of(run.latencies_seconds)
    return {
        "events/s": round(published / run.elapsed_seconds),
        **spent(before, after, published),
        "p50 ms": round(latency.p50_ms, 2),
        "p99 ms": round(latency.p99_ms, 2),
        "verdict": "clean" if count_events(penstock) - stored == published else "INVALID: lost",
    }


def count_events(penstock: Penstock) -> int:
    with psycopg.connect(penstock.dsn, autocommit=True) as connection:
        row = connection.execute("select count(*) from queue.event").fetchone()
    assert row is not None
    return int(row[0])


# --- bus_fan_out -----------------------------------------------------------------------------------------------------
def measure_fan_out(bench: Bench) -> Findings:
    """Measures the CPU of an event with more and more subscribers. Each has a filter that 1 in 100 events passes."""
    penstock = bench.another_penstock()
    bus, queue = open_bus(penstock, "fan-out"), open_queue(penstock, "fan-out")
    events = bench.scaled(EVENTS // 2, 2_000) // HUNDRED * HUNDRED
    rows: list[Row] = []
    expected = existing = 0
    for size in SUBSCRIBERS:
        for key in range(existing, size):
            wanted = {"Filters": [{"Scope": "DATA", "Pattern": json.dumps({"key": [key], "shop": ["a", "b"]})}]}
            create_subscriber(bus, f"subscriber-{key}", queue.queue, FilterConfiguration=wanted)
        existing = size
        found = []
        for _ in range(bench.options.repeat):
            readings: list[Reading] = []
            penstock.settle()
            order = PhaseOrder(bus, body_of(JSON_BYTES), (put_each_key,), CONNECTIONS, to_send=events)
            tally = bench.fleet.run(order, lambda: readings.append(penstock.meter.read()))  # noqa: B023
            settle(penstock)
            expected += events // HUNDRED * size
            right = not tally.bad_answers and count_messages(queue) == expected
            found.append(
                spent(readings[0], penstock.meter.read(), events) | {"verdict": "clean" if right else "INVALID"}
            )
        rows.append({"subscribers": size} | summarize(found))
        rows[-1]["us a subscriber"] = round((cpu_of(rows[-1]) - cpu_of(rows[0])) / size, 3) if size else None
        print(text(rows[-1:]), flush=True)
    return findings_of(penstock, rows)


# --- bus_latency, bus_replay -----------------------------------------------------------------------------------------
class LiveTraffic:
    """Publishes single events at a rate, receives them from a subscriber's queue, and measures the time between."""

    def __init__(self, bus: Address, queue: Address, rate: float, connections: int = 4) -> None:
        self._bus = bus
        self._queue = queue
        self._rate = rate
        self._connections = connections
        self.tally = Tally()
        self.published = 0
        self.until = 0.0

    def run(self, seconds: float) -> Row:
        """Runs for this time. Returns the delays in milliseconds."""
        self.tally, self.published = Tally(), 0
        uvloop.run(self._run(seconds))
        delays = latency_of(self.tally.waits_seconds)
        lost = self.published - len(self.tally.waits_seconds)
        right = not lost and not self.tally.bad_answers
        return {
            "events": self.published,
            "p50 ms": round(delays.p50_ms, 1),
            "p95 ms": round(delays.p95_ms, 1),
            "p99 ms": round(delays.p99_ms, 1),
            "verdict": "clean" if right else f"INVALID: lost {lost}, {self.tally.bad_samples[:1]}",
        }

    async def _run(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        phase = Phase(Requests(self._queue), "", self.tally, Progress(0, 0, [0], 0), Pace(self._rate))
        phase.pace.start()
        self.until = perf_counter() + seconds
        flows = [make(phase) for make in (self._publish, self._receive) for _ in range(self._connections)]
        connections = []
        for flow in flows:
            address = self._queue
            _, connection = await loop.create_connection(lambda: Connection(self.tally), address.host, address.port)
            connection.start(flow)
            connections.append(connection)
        await asyncio.gather(*(connection.finished for connection in connections), return_exceptions=True)
        for connection in connections:
            connection.close()

    def _publish(self, phase: Phase) -> Flow:
        while (at := phase.pace.arrival()) < self.until:
            self.published += 1
            answer = yield Due(build_put(self._bus, [json.dumps({"at": at}).encode()]), at)
            note_published(phase, answer, 1)

    def _receive(self, phase: Phase) -> Flow:
        receive = phase.requests.receive(10, 1)
        while perf_counter() < self.until + SETTLE_SECONDS and not self._has_all():
            answer = phase.decoded(decode_receive, (yield receive))
            now = perf_counter()
            messages = answer.messages if answer is not None else []
            self.tally.waits_seconds += [now - json.loads(message.body)["at"] for message in messages]
            if messages:
                done = yield phase.requests.delete_batch([message.receipt_handle for message in messages])
                phase.decoded(decode_delete_batch, done)

    def _has_all(self) -> bool:
        return perf_counter() > self.until and len(self.tally.waits_seconds) >= self.published


def measure_latency(bench: Bench) -> Findings:
    penstock = bench.another_penstock()
    bus, queue = open_bus(penstock, "latency"), open_queue(penstock, "latency")
    create_subscriber(bus, "latency", queue.queue)
    traffic = LiveTraffic(bus, queue, QUIET_RATE)
    traffic.run(2)
    rows = [{"rate": QUIET_RATE} | traffic.run(bench.scaled(LIVE_SECONDS, 3)) for _ in range(bench.options.repeat)]
    print(text(rows), flush=True)
    return findings_of(penstock, rows)


def measure_replay(bench: Bench) -> Findings:
    """Measures live events alone, a replay alone, and both together."""
    penstock = bench.another_penstock()
    bus, live = open_bus(penstock, "replay"), open_queue(penstock, "live")
    events, seconds = bench.scaled(REPLAYED, 2_000), bench.scaled(LIVE_SECONDS, 3)
    fill(penstock, bus, events, body_of(JSON_BYTES))
    penstock.settle()
    rows: list[Row] = [{"phase": "replay alone"} | replay(penstock, bus, "alone", events)]
    create_subscriber(bus, "live", live.queue)
    traffic = LiveTraffic(bus, live, LIVE_RATE)
    traffic.run(2)
    rows.append({"phase": "live alone"} | traffic.run(seconds))
    start_replay(penstock, bus, "beside")
    rows.append({"phase": "live beside a replay"} | traffic.run(seconds))
    beside = count_messages(address_of(penstock.endpoint, "replay-beside"))
    rows[-1]["replayed"] = beside
    rows[-1]["replayed/s"] = round(beside / seconds)
    print(text(rows), flush=True)
    return findings_of(penstock, rows)


def start_replay(penstock: Penstock, bus: Address, name: str) -> None:
    queue = open_queue(penstock, f"replay-{name}")
    point = {"StartingPosition": "POINT_IN_TIME", "PointInTimeConfiguration": {"PointType": "HORIZON"}}
    create_subscriber(bus, name, queue.queue, **point)


def replay(penstock: Penstock, bus: Address, name: str, events: int) -> Row:
    before, began = penstock.meter.read(), perf_counter()
    start_replay(penstock, bus, name)
    elapsed = settle(penstock, 3_600) - began
    found = count_messages(address_of(penstock.endpoint, f"replay-{name}"))
    return {
        "replayed": found,
        "replayed/s": round(found / elapsed),
        **spent(before, penstock.meter.read(), events),
        "verdict": "clean" if found >= events else "INVALID: lost",
    }


STUDIES = [
    Study("bus_publish", "100 events a call on a bus, beside send_10", measure_publish, alone=True),
    Study("bus_fan_out", "an event for 0 to 100 subscribers with filters", measure_fan_out, alone=True),
    Study("bus_latency", "from a publication on a quiet bus to the receipt from a queue", measure_latency, alone=True),
    Study("bus_replay", "a replay of a bus, alone and beside live events", measure_replay, alone=True),
]
