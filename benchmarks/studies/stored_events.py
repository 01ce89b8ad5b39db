"""Measures the disk that events use, and event buses at rest.

bus_stored   bytes of an event, publishing beside 20 M stored events, and the end of a day's retention
bus_idle     transactions and connections without a bus, and with 10,000 subscribers that have nothing to receive
"""

from threading import Thread
from time import perf_counter, sleep

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.load.events import put_hundreds, put_singly
from benchmarks.load.fleet import PhaseOrder
from benchmarks.load.wire import ACCOUNT, REGION, Action, Address, body_of
from benchmarks.measure.outcome import Latency, latency_of
from benchmarks.penstock import Penstock
from benchmarks.postgres import administrator_dsn
from benchmarks.report.rows import Row, text

from .buses import CONNECTIONS, findings_of, open_bus, open_queue, settle
from .long_polls import client_connections
from .study import Bench, Findings, Study

STORED = 20_000_000
MEASURED = 200_000
STORED_BYTES = 298  # a JSON string of 300 bytes
RATE, SECONDS = 500.0, 20
CHUNK = 100_000
SUBSCRIBERS = 10_000
REST_SECONDS = 60

# Adds events of one day without publishing them: they have numbers, but no places.
ADD = """
insert into queue.%(table)s (number, bus_id, ingested_at, event_id, retention_class, content_type, data,
    run_events, run_bytes)
select nextval('queue.event_block') << 10, b.bus_id, %(at)s, gen_random_uuid(), 1, 1, convert_to(%(body)s, 'UTF8'),
    1, octet_length(%(body)s)
from queue.event_bus b, generate_series(1, %(count)s::int) where b.arn = %(bus)s"""
SIZES = """
select sum(pg_table_size(c.oid))::float8, sum(pg_indexes_size(c.oid))::float8,
    pg_total_relation_size('queue.event_page')::float8, (select count(*) from queue.event)
from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'queue.event'::regclass"""
OLD_DAY = "date_trunc('day', now() at time zone 'utc') - interval '3 days'"
OLD_BOUNDS = f"({OLD_DAY}) at time zone 'utc', ({OLD_DAY} + interval '1 day') at time zone 'utc'"
# The constraint makes `attach partition` read no rows. The service would drop an attached partition during the filling.
CREATE_OLD_DAY = f"""
do $$ begin
    execute format('create table queue.old_day (like queue.event including all, check (
        retention_class = 1 and ingested_at is not null and ingested_at >= %L and ingested_at < %L))', {OLD_BOUNDS});
    execute format('alter table queue.old_day owner to %I', (
        select t.tableowner from pg_tables t where t.schemaname = 'queue' and t.tablename = 'event'));
end $$"""
ATTACH_OLD_DAY = f"""
do $$ begin
    execute format('alter table queue.old_day rename to event_1_%s', to_char({OLD_DAY}, 'YYYYMMDD'));
    execute format('alter table queue.event attach partition queue.event_1_%s for values from (1, %L) to (1, %L)',
        to_char({OLD_DAY}, 'YYYYMMDD'), {OLD_BOUNDS});
end $$"""
FIND_OLD_DAY = f"select count(to_regclass('queue.event_1_' || to_char({OLD_DAY}, 'YYYYMMDD')))"
SUBSCRIBE = """
select count(s.error) from generate_series(1, %(count)s::int) n
cross join lateral queue.create_event_subscriber(%(bus)s, %(account)s, %(region)s, 'idle-' || n,
    replace(%(queue)s, ':sqs:', ':events:') || '/' || n, jsonb_build_object('type', 'UNORDERED', 'starting_position',
    'LATEST', 'state', 'RUNNING', 'target_arn', %(queue)s::text, 'tags', '{}'::jsonb, 'configuration',
    %(configuration)s::jsonb || jsonb_build_object('FilterConfiguration', jsonb_build_object('Filters',
        jsonb_build_array(jsonb_build_object('Scope', 'DATA', 'Pattern', format('{"key": [%%s]}', n)))))),
    null, null) s"""
CONFIGURATION = """{"Transformer": {"Type": "RAW"}, "InvokeConfiguration": {}, "RetryPolicy": {"MaxRetryAttempts": 5,
    "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}}"""


def connect(penstock: Penstock, *, as_administrator: bool = False) -> "psycopg.Connection[tuple[object, ...]]":
    dsn = make_conninfo(administrator_dsn(penstock.dsn), dbname="penstock") if as_administrator else penstock.dsn
    return psycopg.connect(dsn, autocommit=True)


# --- bus_stored ------------------------------------------------------------------------------------------------------
def measure_stored(bench: Bench) -> Findings:
    """Measures the bytes of events that 16 connections publish, and compares publishing on an empty bus and on a bus
    with millions of events. Then a day's partition is dropped while publishing continues."""
    quiet, penstock = bench.another_penstock(), bench.another_penstock()
    empty, bus = open_bus(quiet, "empty"), open_bus(penstock, "stored")
    rows = [{"figure": "bytes", **measure_bytes(bench, penstock, bus), "verdict": "clean"}]
    events = bench.scaled(STORED, 2_000)
    add_events(penstock, bus, events, "clock_timestamp()")
    with connect(penstock, as_administrator=True) as connection:
        connection.execute("set lock_timeout = 0")  # autovacuum may hold the table
        connection.execute("vacuum analyze queue.event")
    found: dict[str, list[Latency]] = {"empty bus": [], "full bus": []}
    for _ in range(bench.options.repeat + 1):
        for name, service, address in (("empty bus", quiet, empty), ("full bus", penstock, bus)):
            service.settle()
            found[name].append(publish_at_rate(bench, address))
    for name, runs in found.items():
        best = sorted(run.p99_ms for run in runs[1:])
        middle = sorted(run.p50_ms for run in runs[1:])[len(best) // 2]
        p99 = best[len(best) // 2]
        rows.append({"figure": name, "p50 ms": round(middle, 2), "p99 ms": round(p99, 2), "verdict": "clean"})
    rows[-1]["stored"] = events
    rows.append({"figure": "drop of a day", **drop_day(bench, penstock, bus, events)})
    print(text(rows), flush=True)
    quiet.stop()
    return findings_of(penstock, rows)


def measure_bytes(bench: Bench, penstock: Penstock, bus: Address) -> Row:
    events = bench.scaled(MEASURED, 10_000)
    bench.fleet.run(PhaseOrder(bus, body_of(STORED_BYTES), (put_hundreds,), CONNECTIONS, to_send=events))
    settle(penstock)
    with connect(penstock) as connection:
        row = connection.execute(SIZES).fetchone()
    assert row is not None
    table, index, pages, count = (float(str(value)) for value in row)
    return {
        "row bytes": round(table / count, 1),
        "index bytes": round(index / count, 1),
        "place bytes": round(pages / count, 1),
        "all : row": round((table + index + pages) / table, 3),
    }


def add_events(penstock: Penstock, bus: Address, events: int, at: str, table: str = "event") -> None:
    """Adds events with the time of the expression `at`. The sequence of their numbers then counts as read."""
    with connect(penstock, as_administrator=True) as connection:
        query = ADD.replace("%(at)s", at).replace("%(table)s", table).encode()
        for start in range(0, events, CHUNK):
            count = min(CHUNK, events - start)
            body = f'"{body_of(STORED_BYTES)}"'
            connection.execute(query, {"body": body, "count": count, "bus": bus.queue})
            while connection.execute("select queue.sequence_events(20000, true)").fetchone() != (0,):
                pass


def publish_at_rate(bench: Bench, bus: Address, seconds: float = 0) -> Latency:
    """Publishes single events in an open loop. Returns the latency of the calls."""
    events = int(RATE * (seconds or bench.scaled(SECONDS, 3)))
    order = PhaseOrder(bus, body_of(STORED_BYTES), (put_singly,), CONNECTIONS, to_send=events, rate=RATE)
    return latency_of(bench.fleet.run(order).call_seconds[Action.PUT_EVENTS])


def drop_day(bench: Bench, penstock: Penstock, bus: Address, events: int) -> Row:
    """Fills the partition of a day whose retention is over, and drops the partition while events are published."""
    with connect(penstock, as_administrator=True) as connection:
        connection.execute(CREATE_OLD_DAY.encode())
        add_events(penstock, bus, events, f"({OLD_DAY} + interval '1 hour') at time zone 'utc'", "old_day")
        connection.execute("checkpoint")
        seconds: list[float] = []

        def drop() -> None:
            sleep(2)
            connection.execute(ATTACH_OLD_DAY.encode())
            began = perf_counter()
            connection.execute("select queue.maintain_events(10000)")
            seconds.append(perf_counter() - began)

        thread = Thread(target=drop)
        thread.start()
        order = PhaseOrder(bus, body_of(STORED_BYTES), (put_singly,), CONNECTIONS, to_send=int(RATE * 6), rate=RATE)
        calls = bench.fleet.run(order).call_seconds[Action.PUT_EVENTS]
        thread.join()
        left = connection.execute(FIND_OLD_DAY.encode()).fetchone()
    return {
        "stored": events,
        "drop ms": round(seconds[0] * 1e3, 1),
        "p99 ms": round(latency_of(calls).p99_ms, 2),
        "longest ms": round(max(calls) * 1e3, 1),
        "verdict": "clean" if left == (0,) else "INVALID: the day is still there",
    }


# --- bus_idle --------------------------------------------------------------------------------------------------------
def measure_idle(bench: Bench) -> Findings:
    """Measures a service at rest, first without a bus, and then with many subscribers that wait."""
    penstock = bench.another_penstock()
    seconds = bench.scaled(REST_SECONDS, 30)
    rows = [rest(penstock, "no bus", seconds)]
    bus, queue = open_bus(penstock, "idle"), open_queue(penstock, "idle")
    rows.append(rest(penstock, "a bus", seconds))
    count = bench.scaled(SUBSCRIBERS, 100)
    parameters = {
        "count": count, "bus": bus.queue, "account": ACCOUNT, "region": REGION, "configuration": CONFIGURATION,
        "queue": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue.queue}",
    }  # fmt: skip
    with connect(penstock) as connection:
        refused = connection.execute(SUBSCRIBE, parameters).fetchone()
    # The worker reads all subscribers, and then rests again.
    bench.fleet.run(PhaseOrder(bus, body_of(STORED_BYTES), (put_singly,), 1, to_send=1))
    settle(penstock)
    rows.append(rest(penstock, f"{count:,} subscribers", seconds))
    if refused != (0,):
        rows[-1]["verdict"] = f"INVALID: {refused}"
    print(text(rows), flush=True)
    return findings_of(penstock, rows)


def rest(penstock: Penstock, what: str, seconds: int) -> Row:
    """Returns what a service at rest uses. The first seconds do not count."""
    sleep(15)
    with connect(penstock) as connection:
        query = (
            "select xact_commit + xact_rollback from pg_stat_database, lateral pg_stat_clear_snapshot() "
            "where datname = current_database()"
        )
        before, reading = transactions(connection, query), penstock.meter.read()
        sleep(seconds)
        after, later = transactions(connection, query), penstock.meter.read()
    used = sum(later.cpu_seconds.values()) - sum(reading.cpu_seconds.values())
    return {
        "state": what,
        "transactions in 30 s": round((after - before - 1) / seconds * 30, 1),
        "CPU % of a core": round(used / seconds * 100, 2),
        "connections": client_connections(penstock.dsn),
        "verdict": "clean",
    }


def transactions(connection: "psycopg.Connection[tuple[object, ...]]", query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(str(row[0]))


STUDIES = [
    Study("bus_stored", "the disk of events, and publishing beside 20 M stored events", measure_stored, alone=True),
    Study("bus_idle", "buses at rest, with up to 10,000 subscribers", measure_idle, alone=True),
]
