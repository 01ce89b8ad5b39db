"""Samples the backlog, the rate, the memory and the size of the database every second."""

from dataclasses import dataclass

import psycopg

from benchmarks.measure.outcome import Latency, latency_of
from benchmarks.penstock import Penstock

from .flows import Application

MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Sample:
    """Holds a sample of a run. `at` is in seconds from the start. Backlogs count messages that were pushed but not
    completed. Sizes are in MiB. Latencies cover the time since the previous sample.
    """

    at: float
    pushed: int
    completed: tuple[int, int]
    backlog: tuple[int, int]
    rate: float
    database_mib: float
    memory_mib: dict[str, float]
    connections: int
    waited: Latency
    completed_after: Latency


def sample(app: Application, penstock: Penstock, at: float, since: tuple[int, int], memory: dict[str, float]) -> Sample:
    """Takes a sample. `since` contains the numbers of waits and completions at the previous sample."""
    ledger = app.ledger
    size, connections = database_state(penstock.dsn)
    first, second = ledger.groups
    return Sample(
        at,
        ledger.acknowledged,
        (first.completed, second.completed),
        (ledger.backlog(0), ledger.backlog(1)),
        app.rate if app.pushing else 0.0,
        size / MEBIBYTE,
        memory,
        connections,
        latency_of(app.waits[since[0] :]),
        latency_of(app.completions[since[1] :]),
    )


def memory_of(penstock: Penstock) -> dict[str, float]:
    """Returns each part's memory (PSS). Reading PSS each second would take too much CPU time, because the kernel scans
    all pages.
    """
    return {part: (used or 0) / MEBIBYTE for part, used in penstock.pss_bytes().items()}


def database_state(dsn: str) -> tuple[int, int]:
    """Returns the size of the database in bytes, without the history, and the number of connections of other clients.

    The history keeps messages without bodies until the service drops the day's partition (QUEUE_HISTORY_DAYS).
    """
    query = (
        "select pg_database_size(current_database()) - (select sum(pg_total_relation_size(i.inhrelid)) "
        "from pg_inherits i where i.inhparent = 'queue.history'::regclass), count(*) - 1 "
        "from pg_stat_activity where backend_type = 'client backend'"
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def uptime_of(penstock: Penstock) -> tuple[object, ...]:
    """Returns a value that changes if the database or a process of the service restarts."""
    with psycopg.connect(penstock.dsn, autocommit=True) as connection:
        row = connection.execute("select pg_postmaster_start_time()").fetchone()
    assert row is not None
    services = {process.pid for process in penstock.meter.members()["service"]}
    return row[0], *sorted(services)
