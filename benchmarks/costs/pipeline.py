"""The metrics job: time, memory and transactions for 1, 10, 50 million messages, beside plain SQL; and under load.

    python -m benchmarks.costs.pipeline --messages 1000000,10000000  # a PostgreSQL and a Spark of its own
    python -m benchmarks.costs.pipeline --filled postgresql://…,…    # databases with such a history
    python -m benchmarks.costs.pipeline --load                       # the service's throughput with and without the job

A history of random fates over `days` days is written (tests/support/jobs/history_generator.py), and computed by the
job in a process of its own, and by tests/support/jobs/reference.sql, which was written from the definitions alone.
Memory is the PSS of the job's processes (driver, JVM, Python workers), sampled. The longest transaction is read from
pg_stat_activity.
"""

import argparse
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.load.fleet import Fleet
from benchmarks.measure.cpu import Meter
from benchmarks.measure.host import host_load, machine
from benchmarks.measure.outcome import Plan
from benchmarks.penstock import Penstock, commit
from benchmarks.postgres import postmaster_of, shown_settings
from benchmarks.report.runs import write_results
from benchmarks.scenarios import SCENARIOS
from penstock.postgres.migrations import migrate
from penstock_web.local.postgres import ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.jobs import history_generator, reference

ROOT = Path(__file__).parents[2]
SAMPLE_SECONDS = 0.5
LONGEST = """
select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::float8
from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'
"""
LOAD = SCENARIOS["warski"]
LOAD_PLAN = Plan(16, 60_000, 100)
LOAD_HISTORY = 200_000
LOAD_RUNS = 3
LOAD_SECONDS = 180.0  # the job may take longer, while the service takes what it can get
HISTORY = """
select (select sum(cardinality(sent_at)) from queue.history)::bigint,
    (select sum(pg_table_size(relid)) from pg_partition_tree('queue.history'))::bigint"""


@dataclass(slots=True)
class Watch:
    """What was seen of a job while it ran."""

    seconds: float = 0.0
    peak_bytes: int = 0
    cpu_seconds: float = 0.0
    postgresql_cpu_seconds: float = 0.0
    longest_transaction_seconds: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)


def main() -> int:
    """Prints the figures and writes the results file."""
    options = parser().parse_args()
    load = host_load()
    lines = measured_filled(options) if options.filled else measured_own(options)
    for line in lines:
        print(line)
    if not options.no_results:
        settings = {"days": options.days, "queues": options.queues, "load": options.load}
        write_results("pipeline", lines, settings, machine(), load)
    return 0


def measured_own(options: argparse.Namespace) -> list[dict[str, object]]:
    """With a PostgreSQL of its own, which is gone afterwards."""
    if options.load:
        return [under_load(shlex.split(options.job_prefix))]
    sizes = [int(size) for size in options.messages.split(",")]
    with ephemeral_state() as folder, server(folder) as postgres:
        facts = facts_of(postgres.service_dsn())
        return [facts | measure(postgres, size, options) for size in sizes]


def measured_filled(options: argparse.Namespace) -> list[dict[str, object]]:
    """What `measure` would have filled is there."""
    return [facts_of(dsn) | measure_database(dsn, options) for dsn in options.filled.split(",")]


def facts_of(dsn: str) -> dict[str, object]:
    return {"commit": commit(), "postgresql": shown_settings(dsn)}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    made.add_argument(
        "--messages", default="1000000", help="sizes, separated by commas; default: %(default)s"
    )
    made.add_argument("--days", type=int, default=7)
    made.add_argument("--queues", type=int, default=9)
    made.add_argument("--filled", default="", metavar="DSN,DSN", help="databases that are filled already")
    made.add_argument("--once", action="store_true", help="leave the second run of the job out")
    made.add_argument("--no-sql", action="store_true", help="leave plain SQL out")
    made.add_argument("--load", action="store_true", help="measure the service instead")
    made.add_argument(
        "--job-prefix",
        default="",
        metavar="COMMAND",
        help="with --load: what starts the job, such as systemd-run …",
    )
    made.add_argument("--no-results", action="store_true", help="write no results file")
    return made


@contextmanager
def server(folder: Path) -> Iterator[Postgres]:
    with running_postgres(folder, SystemAccount.choose()) as postgres:
        yield postgres


def measure(postgres: Postgres, messages: int, options: argparse.Namespace) -> dict[str, object]:
    """A database of its own, filled; then the job twice (the second replaces), then plain SQL."""
    name = f"metrics_{messages}"
    with psycopg.connect(postgres.superuser_dsn(), autocommit=True) as administration:
        administration.execute(f"create database {name} owner {ROLE}".encode())
    dsn = postgres.service_dsn(name)
    migrate(dsn, role=ROLE)
    span = span_of(options)
    with psycopg.connect(dsn, autocommit=True) as connection:
        history_generator.write(connection, span, history_generator.Mixture(messages, options.queues))
    line = measure_database(dsn, options)
    with psycopg.connect(postgres.superuser_dsn(), autocommit=True) as administration:
        administration.execute(f"drop database {name} with (force)".encode())
    return line


def span_of(options: argparse.Namespace) -> history_generator.Span:
    return history_generator.Span(date(2026, 3, 25), options.days, "Europe/Berlin")


def measure_database(dsn: str, options: argparse.Namespace) -> dict[str, object]:
    """The job and plain SQL on a filled database."""
    span = span_of(options)
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(HISTORY.encode()).fetchone()
    assert row is not None
    messages, size = row
    arguments = ["--from", span.from_at.isoformat(), "--to", span.to_at.isoformat()]
    line: dict[str, object] = {"messages": messages, "history_bytes": size}
    for name in ("first",) if options.once else ("first", "again"):
        line[name] = figures(job(dsn, arguments), messages)
    if not options.no_sql:
        line["sql_seconds"] = round(plain_sql(dsn, span), 1)
    return line | {"rows": written(dsn)}


def job(dsn: str, arguments: list[str], prefix: Sequence[str] = ()) -> Watch:
    """The job as a user starts it; raises CalledProcessError."""
    watch, began = Watch(), time.monotonic()
    command = [*prefix, sys.executable, "-m", "jobs.queue_metrics", *arguments]
    variables = {**os.environ, "DATABASE_URL": dsn, "QUEUE_METRICS_TIMEZONE": "Europe/Berlin"}
    process = subprocess.Popen(command, cwd=ROOT, env=variables)
    observer = threading.Thread(target=observe, args=(watch, process.pid, dsn))
    observer.start()
    status = process.wait()
    watch.seconds = time.monotonic() - began
    watch.ended.set()
    observer.join()
    if status:
        raise subprocess.CalledProcessError(status, command)
    return watch


def observe(watch: Watch, pid: int, dsn: str) -> None:
    """Samples until the job has ended."""
    meter = Meter({"job": [pid], "postgresql": [postmaster_of(dsn)]})
    before = meter.read().cpu_seconds["postgresql"]
    with psycopg.connect(dsn, autocommit=True) as connection:
        while not watch.ended.wait(SAMPLE_SECONDS):
            try:
                used = meter.read().cpu_seconds
                memory = meter.pss_bytes()["job"] or 0
            except ProcessLookupError:
                return
            row = connection.execute(LONGEST.encode()).fetchone()
            assert row is not None
            watch.longest_transaction_seconds = max(watch.longest_transaction_seconds, row[0])
            watch.peak_bytes = max(watch.peak_bytes, memory)
            watch.cpu_seconds = used["job"]
            watch.postgresql_cpu_seconds = used["postgresql"] - before


def figures(watch: Watch, messages: int) -> dict[str, float]:
    """As stored. CPU and memory are those of the last sample and of the highest one."""
    return {
        "seconds": round(watch.seconds, 1),
        "messages_per_second": round(messages / watch.seconds),
        "peak_megabytes": round(watch.peak_bytes / 2**20),
        "cpu_seconds": round(watch.cpu_seconds, 1),
        "postgresql_cpu_seconds": round(watch.postgresql_cpu_seconds, 1),
        "longest_transaction_seconds": round(watch.longest_transaction_seconds, 2),
    }


def plain_sql(dsn: str, span: history_generator.Span) -> float:
    """Seconds that oracle.sql takes; it writes temporary tables only."""
    with psycopg.connect(dsn) as connection:
        began = time.monotonic()
        reference.compute(connection, span.from_at, span.to_at, span.timezone)
        took = time.monotonic() - began
        connection.rollback()
    return took


def written(dsn: str) -> dict[str, int]:
    """How many rows the results have."""
    counts = {}
    with psycopg.connect(dsn) as connection:
        for table in ("metrics_window", "metrics_latency"):
            row = connection.execute(f"select count(*) from queue.{table}".encode()).fetchone()
            counts[table] = row[0] if row else 0
    return counts


def under_load(prefix: list[str]) -> dict[str, object]:
    """Messages a second through the service without the job, while it runs, and without again."""
    fleet = Fleet(1)
    penstock = Penstock(fleet)
    penstock.start()
    try:
        yesterday = (datetime.now(UTC) - timedelta(days=1)).date()
        with psycopg.connect(penstock.dsn, autocommit=True) as connection:
            span = history_generator.Span(yesterday, 1)
            history_generator.write(connection, span, history_generator.Mixture(LOAD_HISTORY))
        penstock.run(LOAD, LOAD_PLAN)
        quiet = [rate(penstock) for _ in range(LOAD_RUNS)]
        watch, busy = while_job_runs(penstock, prefix)
        quiet += [rate(penstock) for _ in range(LOAD_RUNS)]
    finally:
        penstock.stop()
        fleet.close()
    ratio = median(busy) / median(quiet)
    figures_ = {
        "without_job": quiet,
        "with_job": busy,
        "ratio": round(ratio, 3),
        "job": figures(watch, LOAD_HISTORY),
    }
    return {"commit": commit(), **figures_}


def while_job_runs(penstock: Penstock, prefix: list[str]) -> tuple[Watch, list[int]]:
    """What was seen of the job, and the rates of runs that began and ended while it ran."""
    ended, watches, rates = threading.Event(), list[Watch](), list[int]()

    def work() -> None:
        try:
            watches.append(job(penstock.dsn, ["--quiet"], prefix))
        finally:
            ended.set()

    worker = threading.Thread(target=work)
    worker.start()
    until = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < until:
        found = rate(penstock)
        if ended.is_set():
            break
        rates.append(found)
    worker.join()
    return watches[0], rates


def rate(penstock: Penstock) -> int:
    """Of one run. Raises RuntimeError when a message was lost or came twice."""
    outcome = penstock.run(LOAD, LOAD_PLAN)
    if not outcome.valid:
        raise RuntimeError(f"{outcome.verdict}, {outcome.bad_samples}")
    return round(outcome.messages_per_second)


if __name__ == "__main__":
    raise SystemExit(main())
