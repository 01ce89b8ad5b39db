"""Measures the time, memory and transactions of the metrics job for millions of messages, and compares the job with
plain SQL.

    python -m benchmarks.costs.pipeline --messages 1000000,10000000  # starts PostgreSQL and Spark
    python -m benchmarks.costs.pipeline --filled postgresql://…,…    # databases that contain such a history
    python -m benchmarks.costs.pipeline --busy-hour 1000000,54000000 --groups 0  # one queue, in one hour
    python -m benchmarks.costs.pipeline --deltas                     # also an idle run, and the end of an old message
    python -m benchmarks.costs.pipeline --load                       # the service's throughput with and without the job

The benchmark writes a random history of `days` days (tests/support/jobs/history_generator.py). The job computes its
results in a separate process. tests/support/jobs/reference.sql computes the same results from the definitions. The
memory figures are the sampled PSS of the job's processes (driver, JVM, Python workers), and the peak of the largest
Python worker (VmHWM). The longest transaction comes from pg_stat_activity.
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
from typing import Any

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
from penstock_web.local.system_account import SystemAccount
from tests.support.jobs import history_generator, reference

ROOT = Path(__file__).parents[2]
SAMPLE_SECONDS = 0.5
LONGEST_TRANSACTION = """
select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::float8
from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'
"""
LOAD = SCENARIOS["warski"]
LOAD_PLAN = Plan(16, 60_000, 100)
LOAD_HISTORY = 200_000
LOAD_RUNS = 3
LOAD_SECONDS = 180.0  # the job can take longer while the service uses most of the CPU
HISTORY = """
select (select sum(cardinality(sent_at)) from queue.history)::bigint,
    (select sum(pg_table_size(relid)) from pg_partition_tree('queue.history'))::bigint"""


@dataclass(slots=True)
class JobObservation:
    """Samples the time, memory, CPU time and transactions of a job while it runs."""

    seconds: float = 0.0
    peak_bytes: int = 0
    worker_peak_bytes: int = 0
    cpu_seconds: float = 0.0
    postgresql_cpu_seconds: float = 0.0
    longest_transaction_seconds: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)


def main() -> int:
    options = parser().parse_args()
    load = host_load()
    lines = measure_given_databases(options) if options.filled else measure_own_databases(options)
    for line in lines:
        print(line)
    if not options.no_results:
        settings = {"days": options.days, "queues": options.queues, "load": options.load}
        write_results("pipeline", lines, settings, machine(), load)
    return 0


def measure_own_databases(options: argparse.Namespace) -> list[dict[str, object]]:
    """Measures on a separate PostgreSQL, and removes that PostgreSQL afterwards."""
    if options.load:
        return [measure_under_load(shlex.split(options.job_prefix))]
    sizes = [int(size) for size in (options.busy_hour or options.messages).split(",")]
    with ephemeral_state() as folder, server(folder) as postgres:
        facts = facts_of(postgres.service_dsn())
        return [facts | measure(postgres, size, options) for size in sizes]


def measure_given_databases(options: argparse.Namespace) -> list[dict[str, object]]:
    """Measures on databases that already contain a history."""
    return [facts_of(dsn) | measure_database(dsn, options) for dsn in options.filled.split(",")]


def facts_of(dsn: str) -> dict[str, object]:
    return {"commit": commit(), "postgresql": shown_settings(dsn)}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    made.add_argument("--messages", default="1000000", help="sizes, separated by commas; default: %(default)s")
    made.add_argument("--days", type=int, default=7)
    made.add_argument("--queues", type=int, default=9)
    made.add_argument("--filled", default="", metavar="DSN,DSN", help="databases that already contain a history")
    made.add_argument("--busy-hour", default="", metavar="SIZES", help="messages of one queue, all in one hour")
    made.add_argument("--groups", type=int, default=0, help="with --busy-hour: message groups")
    made.add_argument(
        "--deltas", action="store_true", help="measure a first run and later runs with few changes instead"
    )
    made.add_argument("--once", action="store_true", help="skip the second run of the job")
    made.add_argument("--no-sql", action="store_true", help="leave plain SQL out")
    made.add_argument("--load", action="store_true", help="measure the service instead")
    made.add_argument(
        "--job-prefix", default="", metavar="COMMAND", help="with --load: what starts the job, such as systemd-run …"
    )
    made.add_argument("--no-results", action="store_true", help="write no results file")
    return made


@contextmanager
def server(folder: Path) -> Iterator[Postgres]:
    with running_postgres(folder, SystemAccount.choose()) as postgres:
        yield postgres


def measure(postgres: Postgres, messages: int, options: argparse.Namespace) -> dict[str, object]:
    """Fills a new database, runs the job twice, and then runs plain SQL. The second run of the job replaces the results
    of the first run."""
    name = f"metrics_{messages}"
    with psycopg.connect(postgres.superuser_dsn(), autocommit=True) as administration:
        administration.execute(f"create database {name} owner {ROLE}".encode())
    dsn = postgres.service_dsn(name)
    migrate(dsn, role=ROLE)
    span = span_of(options)
    with psycopg.connect(dsn, autocommit=True) as connection:
        if options.busy_hour:
            history_generator.write_busy_hour(connection, span, messages, options.groups)
        else:
            history_generator.write(connection, span, history_generator.Mixture(messages, options.queues))
    line = measure_deltas(dsn, messages) if options.deltas else measure_database(dsn, options)
    with psycopg.connect(postgres.superuser_dsn(), autocommit=True) as administration:
        administration.execute(f"drop database {name} with (force)".encode())
    return line


def span_of(options: argparse.Namespace) -> history_generator.Span:
    return history_generator.Span(date(2026, 3, 25), options.days, "Europe/Berlin")


def measure_database(dsn: str, options: argparse.Namespace) -> dict[str, object]:
    """Measures the job and plain SQL on a filled database."""
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
        line["sql_seconds"] = round(plain_sql_seconds(dsn, span), 1)
    return line | {"rows": result_counts(dsn)}


def measure_deltas(dsn: str, messages: int) -> dict[str, object]:
    """Measures the first run, a run without changes, and a run after the end of a three-day-old message.

    The runs have no time range, so the second and the third run read only changes.
    """
    line: dict[str, object] = {"messages": messages}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select queue.create('old'), queue.send('old', '1')")
        connection.execute("update queue.log set sent_at = sent_at - interval '3 days'")
        for name in ("first", "idle", "one_message_ended"):
            if name == "one_message_ended":
                connection.execute("select queue.delete('old', r.msg_id) from queue.receive('old', 300, 1) r")
            line[name] = figures(job(dsn, []), messages) | changed_rows(connection)
    return line


def changed_rows(connection: psycopg.Connection[Any]) -> dict[str, float]:
    """Returns the number of rows that the last run read, and the number of windows that the run added, changed or
    removed.
    """
    row = connection.execute(
        "select rows_read, rows_written - (select count(*) from queue.metrics_forecast) from queue.metrics_run"
        " order by run_id desc limit 1"
    ).fetchone()
    assert row is not None
    return {"rows_read": row[0], "rows_changed": row[1]}


def job(dsn: str, arguments: list[str], prefix: Sequence[str] = ()) -> JobObservation:
    """Runs the job's command. Raises CalledProcessError."""
    observation, began = JobObservation(), time.monotonic()
    command = [*prefix, sys.executable, "-m", "penstock_metrics", *arguments]
    variables = {**os.environ, "DATABASE_URL": dsn, "QUEUE_METRICS_TIMEZONE": "Europe/Berlin"}
    process = subprocess.Popen(command, cwd=ROOT, env=variables)
    observer = threading.Thread(target=observe, args=(observation, process.pid, dsn))
    observer.start()
    status = process.wait()
    observation.seconds = time.monotonic() - began
    observation.ended.set()
    observer.join()
    if status:
        raise subprocess.CalledProcessError(status, command)
    return observation


def observe(observation: JobObservation, pid: int, dsn: str) -> None:
    """Samples the job until it has ended."""
    meter = Meter({"job": [pid], "postgresql": [postmaster_of(dsn)]})
    before = meter.read().cpu_seconds["postgresql"]
    with psycopg.connect(dsn, autocommit=True) as connection:
        while not observation.ended.wait(SAMPLE_SECONDS):
            try:
                used = meter.read().cpu_seconds
                memory = meter.pss_bytes()["job"] or 0
            except ProcessLookupError:
                return
            row = connection.execute(LONGEST_TRANSACTION.encode()).fetchone()
            assert row is not None
            observation.longest_transaction_seconds = max(observation.longest_transaction_seconds, row[0])
            observation.peak_bytes = max(observation.peak_bytes, memory)
            observation.worker_peak_bytes = max(observation.worker_peak_bytes, worker_peak_bytes(pid))
            observation.cpu_seconds = used["job"]
            observation.postgresql_cpu_seconds = used["postgresql"] - before


def worker_peak_bytes(pid: int) -> int:
    """Returns the peak memory of the job's Python processes, without the driver."""
    found = Meter({"job": [pid]}).members()["job"]
    return max((high_water_mark(p.pid) for p in found if p.pid != pid and "python" in p.command), default=0)


def high_water_mark(pid: int) -> int:
    """Returns VmHWM of /proc/<pid>/status in bytes, or 0 if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    values = [line.split()[1] for line in text.splitlines() if line.startswith("VmHWM")]
    return int(values[0]) * 1024 if values else 0


def figures(observation: JobObservation, messages: int) -> dict[str, float]:
    """Returns the figures to store. The CPU time comes from the last sample, and the memory figure is the maximum of
    all samples.
    """
    return {
        "seconds": round(observation.seconds, 1),
        "messages_per_second": round(messages / observation.seconds),
        "peak_megabytes": round(observation.peak_bytes / 2**20),
        "worker_peak_megabytes": round(observation.worker_peak_bytes / 2**20),
        "cpu_seconds": round(observation.cpu_seconds, 1),
        "postgresql_cpu_seconds": round(observation.postgresql_cpu_seconds, 1),
        "longest_transaction_seconds": round(observation.longest_transaction_seconds, 2),
    }


def plain_sql_seconds(dsn: str, span: history_generator.Span) -> float:
    """Returns the duration of reference.sql, which writes only temporary tables."""
    with psycopg.connect(dsn) as connection:
        began = time.monotonic()
        reference.compute(connection, span.from_at, span.to_at, span.timezone)
        took = time.monotonic() - began
        connection.rollback()
    return took


def result_counts(dsn: str) -> dict[str, int]:
    """Returns the number of rows in each table of results."""
    counts = {}
    with psycopg.connect(dsn) as connection:
        for table in ("metrics_window", "metrics_latency"):
            row = connection.execute(f"select count(*) from queue.{table}".encode()).fetchone()
            counts[table] = row[0] if row else 0
    return counts


def measure_under_load(prefix: list[str]) -> dict[str, object]:
    """Measures the message rate of the service before, during and after the job."""
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
        observation, busy = while_job_runs(penstock, prefix)
        quiet += [rate(penstock) for _ in range(LOAD_RUNS)]
    finally:
        penstock.stop()
        fleet.close()
    ratio = median(busy) / median(quiet)
    figures_ = {
        "without_job": quiet,
        "with_job": busy,
        "ratio": round(ratio, 3),
        "job": figures(observation, LOAD_HISTORY),
    }
    return {"commit": commit(), **figures_}


def while_job_runs(penstock: Penstock, prefix: list[str]) -> tuple[JobObservation, list[int]]:
    """Returns the samples of the job, and the message rates of the load runs that began and ended during the job."""
    ended, observations, rates = threading.Event(), list[JobObservation](), list[int]()

    def work() -> None:
        try:
            observations.append(job(penstock.dsn, ["--quiet"], prefix))
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
    return observations[0], rates


def rate(penstock: Penstock) -> int:
    """Returns the message rate of one run, in messages a second. Raises RuntimeError if a message was lost or received
    twice."""
    outcome = penstock.run(LOAD, LOAD_PLAN)
    if not outcome.valid:
        raise RuntimeError(f"{outcome.verdict}, {outcome.bad_samples}")
    return round(outcome.messages_per_second)


if __name__ == "__main__":
    raise SystemExit(main())
