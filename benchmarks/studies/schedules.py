"""Measures the lag of schedules, and the cost of the worker while no schedule is due.

    python -m benchmarks.studies.schedules                    # starts PostgreSQL and worker processes

To measure the lag, `rate` schedules fire at each full second, because 60 times as many schedules fire once a minute.
The lag is the time from the due time of an occurrence until the commit of its message, by PostgreSQL's commit
timestamps. The idle cost is the processor time of one worker process and its connections while as many schedules exist
but are not due.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import psycopg

from benchmarks.measure.cpu import Meter, on_cpu_seconds
from benchmarks.measure.host import host_load, machine
from benchmarks.penstock import commit
from benchmarks.postgres import postmaster_of, shown_settings
from benchmarks.report.runs import write_results
from penstock.postgres.migrations import migrate
from penstock_web.local.postgres import ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount

GOAL_P99_MS = 1000.0
GOAL_IDLE_PERCENT = 0.1
WARM_UP_SECONDS = 5

# next_fire_at is the first time, at least five seconds from now, whose second equals the number of the schedule modulo
# 60.
FILL = """
insert into queue.schedule (account_id, region, name, api, expression_kind,
    expression, canonical, timezone, target, next_fire_at,
    due_at)
select '000000000000', 'us-east-1', 's' || n, 'rest', 'cron', e, e, 'UTC', '{"queue": "jobs", "message": {"a": 1}}',
    at, at
from generate_series(1, %(rate)s * 60) n
cross join lateral (select format('%%s * * * * *', n %% 60) as e) e
cross join lateral (
    select date_trunc('minute', s.start) + interval '1 second' * (n %% 60) as early, s.start
    from (select clock_timestamp() + interval '5 seconds' as start) s) f
cross join lateral (select f.early + case when f.early < f.start then interval '1 minute' else '0' end as at) a
"""
LAGS = """
select extract(epoch from pg_xact_commit_timestamp(xmin) - scheduled_for)::float8 * 1000, schedule_id
from queue.schedule_run where scheduled_for > %(since)s and scheduled_for <= %(until)s
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Holds the rate and the durations of the measurement."""

    rate: int = 1000
    seconds: int = 30
    workers: int = 1
    idle_seconds: int = 60


@contextmanager
def workers(dsn: str, count: int) -> Iterator[list[int]]:
    """Runs this many worker processes, and yields their ids."""
    with ExitStack() as stack:
        processes = []
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-m", "benchmarks.studies.schedule_worker", dsn])
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process)
        yield [process.pid for process in processes]


@contextmanager
def server(folder: Path) -> Iterator[Postgres]:
    """Yields a PostgreSQL with Penstock's normal settings and with commit timestamps."""
    settings = {"track_commit_timestamp": "on"}
    with running_postgres(folder, SystemAccount.choose(), settings=settings) as postgres:
        migrate(postgres.service_dsn(), role=ROLE)
        yield postgres


def measure_lag(postgres: Postgres, plan: Plan) -> dict[str, object]:
    """Measures the lags in ms, and the CPU time of firing."""
    with psycopg.connect(postgres.service_dsn(), autocommit=True) as db:
        db.execute("select queue.create('jobs')")
        db.execute(FILL, {"rate": plan.rate})
        db.execute("analyze")
        with workers(postgres.service_dsn(), plan.workers) as pids:
            meter = Meter({"worker": pids, "postgresql": [postmaster_of(postgres.service_dsn())]})
            time.sleep(WARM_UP_SECONDS)
            since, before = now(db), meter.read()
            time.sleep(plan.seconds)
            until, after = now(db), meter.read()
            time.sleep(WARM_UP_SECONDS)
        rows = db.execute(LAGS, {"since": since, "until": until}).fetchall()
        late = "select count(*) from queue.schedule where next_fire_at <= %(until)s"
        missing = db.execute(late, {"until": until}).fetchone()
    lags = statistics.quantiles([row[0] for row in rows], n=1000)
    cpu = {part: after.cpu_seconds[part] - before.cpu_seconds[part] for part in meter.groups}
    return {
        "fires": len(rows),
        "fires_per_second": len(rows) / (until - since).total_seconds(),
        "twice": len(rows) - len({row[1:] for row in rows}) if plan.seconds < 60 else None,
        "missing": missing[0] if missing else None,
        "p50_ms": lags[499],
        "p99_ms": lags[989],
        "max_ms": max(row[0] for row in rows),
        "cpu_seconds_per_1000": {part: used / len(rows) * 1000 for part, used in cpu.items()},
    }


def measure_idle(postgres: Postgres, plan: Plan) -> dict[str, object]:
    """Measures the idle cost in percent of a core. The schedules of the lag measurement still exist, but are due only
    in an hour."""
    with psycopg.connect(postgres.service_dsn(), autocommit=True) as db:
        db.execute("update queue.schedule set due_at = clock_timestamp() + interval '1 hour'")
        db.execute("vacuum analyze queue.schedule")
        with workers(postgres.service_dsn(), 1) as pids:
            time.sleep(WARM_UP_SECONDS)
            query = "select array_agg(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname is not null"
            backends = db.execute(query).fetchone()
            assert backends is not None
            before = [on_cpu_seconds(pid) for pid in (*pids, *backends[0])]
            time.sleep(plan.idle_seconds)
            used = [on_cpu_seconds(pid) - b for pid, b in zip((*pids, *backends[0]), before, strict=True)]
    return {
        "worker_percent": used[0] / plan.idle_seconds * 100,
        "postgresql_percent": sum(used[1:]) / plan.idle_seconds * 100,
        "connections": len(used) - 1,
    }


def now(db: "psycopg.Connection[tuple[object, ...]]") -> datetime:
    row = db.execute("select clock_timestamp()").fetchone()
    assert row is not None
    assert isinstance(row[0], datetime)
    return row[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the figures. Returns 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    for name, value in asdict(Plan()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    parser.add_argument("--no-results", action="store_true", help="write no results file")
    options = parser.parse_args(argv)
    plan = Plan(**{name: getattr(options, name) for name in asdict(Plan())})
    load = host_load()
    with ephemeral_state() as folder, server(folder) as postgres:
        facts = {"commit": commit(), "postgresql": shown_settings(postgres.service_dsn())}
        lag, idle = measure_lag(postgres, plan), measure_idle(postgres, plan)
    print(f"fire lag: {lag}\nidle: {idle}")
    if not options.no_results:
        line: dict[str, object] = {**facts, "lag": lag, "idle": idle, "rows": [flat_row(lag | idle)]}
        write_results("schedules", [line], asdict(plan), machine(), load)
    return 0 if reaches_goals(lag, idle) else 1


def flat_row(figures: dict[str, object]) -> dict[str, object]:
    """Returns one row. If a figure has parts, each part becomes a column."""
    row: dict[str, object] = {}
    for name, value in figures.items():
        row |= {f"{part} {name}": used for part, used in value.items()} if isinstance(value, dict) else {name: value}
    return row


def reaches_goals(lag: dict[str, object], idle: dict[str, object]) -> bool:
    p99, percent = lag["p99_ms"], idle["worker_percent"]
    assert isinstance(p99, float)
    assert isinstance(percent, float)
    return p99 <= GOAL_P99_MS and percent <= GOAL_IDLE_PERCENT and lag["missing"] == 0


if __name__ == "__main__":
    sys.exit(main())
