"""Tests the whole job on PostgreSQL: compares its results with plain SQL, and runs the job twice, late, out of order,
and continuously."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.postgres.migrations import migrate
from penstock_metrics import main, submit
from penstock_metrics.database.ranges import last_range
from penstock_metrics.database.read import SourceDatabase as Source
from penstock_metrics.database.snapshot import share_snapshot
from penstock_metrics.run import RequestedSpan, compute
from penstock_metrics.spark.java import find_java_home
from penstock_metrics.spark.package import write_package
from penstock_metrics.spark.session import DEFAULT_SETTINGS
from penstock_web.local.postgres import ROLE, Postgres, free_port, running_postgres, start
from penstock_web.local.state import cache_directory, ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.integration.jobs.conftest import INTERPRETED
from tests.support.database import Database, TestServer, memory_directory
from tests.support.jobs import history_generator
from tests.support.jobs.history_generator import Mixture, Span
from tests.support.jobs.reference import CHANGING_CLOCKS, Connection, check_against_sql
from tests.support.sql.hostile_settings import Place, give_all
from tests.support.sql.metric_rows import add_window
from tests.support.wait import wait_until

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]

BERLIN = ZoneInfo("Europe/Berlin")
OUTSIDE = datetime(2026, 3, 20, tzinfo=UTC)


@pytest.fixture(scope="module")
def filled(postgres: TestServer) -> Iterator[Database]:
    """Yields 3,000 messages in two days with every outcome, and runs of schedules and webhooks. One day has 23
    hours."""
    with postgres.database() as database:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            history_generator.write(connection, CHANGING_CLOCKS, Mixture(3000, queues=6, groups=150))
            fires_and_webhooks(connection)
        yield database


def fires_and_webhooks(connection: Connection) -> None:
    noon = datetime(2026, 3, 29, 12, tzinfo=UTC)
    connection.execute(
        "insert into queue.schedule_run (schedule_id, scheduled_for, fired_at)"
        " select n, %(at)s, %(at)s + n * interval '7 ms' from generate_series(1, 50) n"
        " union all select 51, %(at)s, null",
        {"at": noon},
    )
    connection.execute(
        "insert into queue.outgoing_delivery_history (recorded_at, outcome, published_at, attempts)"
        " select %(at)s + n * interval '90 ms', o, array[%(at)s, %(at)s - interval '1 second'], array[1, 2]"
        " from generate_series(1, 30) n, unnest(array['delivered', 'exhausted']) o",
        {"at": noon},
    )


def shot(spark: SparkSession, database: Database, span: Span | None = None, mode: str = "once") -> None:
    asked = RequestedSpan(BERLIN) if span is None else RequestedSpan(BERLIN, span.from_at, span.to_at)
    compute(source(spark, database), asked, mode)


def source(spark: SparkSession, database: Database) -> Source:
    return Source(spark, database.dsn)


@pytest.fixture(scope="module")
def computed(spark: SparkSession, filled: Database) -> Iterator[Connection]:
    """Yields the state after a run over all days. Before the run, the tables contained a wrong window, a window of
    another day, and a window of a deleted queue."""
    with psycopg.connect(filled.dsn, autocommit=True) as connection:
        wrong = [(1, "wrong", CHANGING_CLOCKS.from_at), (1, "", OUTSIDE), (99, "", CHANGING_CLOCKS.from_at)]
        for queue_id, group_id, starts_at in wrong:
            add_window(connection, queue_id, starts_at, group_id=group_id)
        shot(spark, filled, CHANGING_CLOCKS)
        yield connection


def test_a_run_corrects_what_it_finds(computed: Connection) -> None:
    """The run records its changes."""
    left = computed.execute(
        "select queue_id, starts_at from queue.metrics_window"
        " where queue_id = 99 or starts_at < %s or group_id = 'wrong' order by 1",
        (CHANGING_CLOCKS.from_at,),
    ).fetchall()
    run = computed.execute(
        "select mode, from_at, to_at, rows_read, error, finished_at > started_at, rows_written - 1 + 2 ="
        " (select count(*) from queue.metrics_window) + (select count(*) from queue.metrics_latency)"
        " from queue.metrics_run order by run_id desc limit 1"
    ).fetchone()
    assert left == [(1, OUTSIDE), (99, CHANGING_CLOCKS.from_at)]
    assert run == ("once", CHANGING_CLOCKS.from_at, CHANGING_CLOCKS.to_at, 3000, None, True, True)


def test_the_job_agrees_with_plain_sql(computed: Connection) -> None:
    computed.execute("delete from queue.metrics_window where queue_id = 99 or starts_at = %s", (OUTSIDE,))
    check_against_sql(computed, CHANGING_CLOCKS)
    days = computed.execute(
        "select distinct ends_at - starts_at from queue.metrics_window where window_seconds = 86400 order by 1"
    ).fetchall()
    measures = computed.execute("select distinct measure from queue.metrics_latency order by 1").fetchall()
    assert days == [(timedelta(hours=23),), (timedelta(hours=24),)]
    assert [name for (name,) in measures] == ["delivery", "fire", "lag", "processing", "wait"]


@pytest.fixture
def recent(database: Database) -> Iterator[Connection]:
    """Yields a queue with an hour-old message that was received, and deleted a minute later."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("select queue.create('orders')")
        record(connection, timedelta(hours=1))
        yield connection


def record(connection: Connection, age: timedelta) -> None:
    """Records a message that was sent the given time ago and deleted within a minute."""
    connection.execute(
        "insert into queue.history (first_received_at, queue_id, receive_count, outcome, sent_at, finished_at)"
        " select now() - %(age)s + interval '10 s', queue_id, 1, 'deleted', array[now() - %(age)s],"
        " array[now() - %(age)s + interval '40 s'] from queue.queues",
        {"age": age},
    )


def hours(connection: Connection) -> tuple[int, int]:
    """Returns all arrivals and deletions in hourly windows."""
    row = connection.execute(
        "select coalesce(sum(arrivals), 0)::int, coalesce(sum(deletions), 0)::int from queue.metrics_window"
        " where window_seconds = 3600 and group_id = ''"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_a_message_in_the_tables_and_in_the_history_counts_once(
    spark: SparkSession, database: Database, recent: Connection
) -> None:
    """Three messages are sent, two are received, and one is deleted. After cleaning, only the history contains the
    deleted message. The queue contained one message before.

    A consumer receives one of the two messages again, and the second receive counts in its own minute.
    """
    recent.execute("select queue.send_batch('orders', array['1', '2', '3']::jsonb[])")
    recent.execute("select queue.receive('orders', 0, 1)")
    received = recent.execute("select msg_id from queue.receive('orders', 300, 2)").fetchall()
    assert len(received) == 2
    recent.execute("select queue.delete('orders', %s)", received[0])
    shot(spark, database)
    assert hours(recent) == (4, 2)
    again = recent.execute(
        "select redeliveries::int from queue.metrics_window w join queue.lease x"
        " on x.redelivered_at[1] >= w.starts_at and x.redelivered_at[1] < w.ends_at"
        " where window_seconds = 60 and redeliveries > 0"
    ).fetchall()
    assert again == [(1,)]
    row = recent.execute(
        "select sum(visible)::int, sum(in_flight)::int, sum(delayed)::int, min(depth) from queue.metrics_window"
        " where window_seconds = 60 and visible is not null"
    ).fetchone()
    assert row == (1, 1, 0, 2)
    forecast = recent.execute("select backlog, reason from queue.metrics_forecast").fetchall()
    assert forecast == [(2, "too_little_past")]


def test_a_snapshot_tells_rows_apart_when_it_is_over(database: Database, recent: Connection) -> None:
    """Rows count if their transaction committed before the snapshot, or if they come from a dump of a cluster with
    higher transaction numbers."""
    query = "select count(*) from queue.finished_message where {}"
    with psycopg.connect(database.dsn) as slow:
        record(slow, timedelta(minutes=5))
        recent.execute("update queue.history set transaction = '9000000000'")
        record(recent, timedelta(minutes=4))
        with share_snapshot(database.dsn) as snapshot:
            pass
        slow.commit()
    record(recent, timedelta(minutes=3))
    assert recent.execute(query.format(snapshot.visibility_condition).encode()).fetchone() == (2,)
    assert recent.execute(query.format("true").encode()).fetchone() == (4,)


def test_an_error_is_recorded(spark: SparkSession, database: Database, recent: Connection) -> None:
    """The next run does not assume that the failed run processed any rows."""
    recent.execute("alter table queue.metrics_latency add constraint nothing check (count < 0)")
    with pytest.raises(Exception, match="nothing"):
        shot(spark, database)
    row = recent.execute("select error ~ 'nothing', finished_at is not null from queue.metrics_run").fetchone()
    assert row == (True, True)
    assert last_range(recent, BERLIN.key) is None


def test_without_a_database(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DATABASE_URL", "DATABASE_DIRECT_URL"):
        monkeypatch.delenv(name, raising=False)
    assert main.main(["--data-dir", str(tmp_path)]) == 1
    assert "set DATABASE_URL to the address that `penstock up` prints" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "zone"), [(["--from", "yesterday"], "UTC"), (["--zone", "Mars/Olympus"], "UTC"), ([], "Mars/Olympus")]
)
def test_bad_arguments(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], zone: str
) -> None:
    monkeypatch.setenv("QUEUE_METRICS_TIMEZONE", zone)
    assert main.main(arguments) == 1
    assert capsys.readouterr().err.startswith("penstock metrics: ")


@pytest.fixture
def compiled(spark: SparkSession) -> Iterator[SparkSession]:
    """Yields a Spark session with default settings."""
    usual = {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": DEFAULT_SETTINGS["spark.sql.shuffle.partitions"],
    }
    for name, value in usual.items():
        spark.conf.set(name, value)
    yield spark
    for name in usual:
        spark.conf.set(name, INTERPRETED[name])


@pytest.mark.slow
def test_a_million_messages(compiled: SparkSession, database: Database) -> None:
    """Spark compiles the code and uses several partitions, and percentiles need a second pass."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        history_generator.write(connection, CHANGING_CLOCKS, Mixture(1_000_000))
        shot(compiled, database, CHANGING_CLOCKS)
        check_against_sql(connection, CHANGING_CLOCKS)


@pytest.mark.parametrize("place", ["database", "role", "environment"])
def test_hostile_settings_of_sessions_change_nothing(
    spark: SparkSession, postgres: TestServer, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All hostile settings apply at once, and come from the database, the role, or libpq's environment."""
    with postgres.database() as database:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            history_generator.write(connection, CHANGING_CLOCKS, Mixture(1000, queues=3, groups=50))
            fires_and_webhooks(connection)
            check = psycopg.connect(database.dsn, autocommit=True)
            for name, value in give_all(connection, place, database.name, "postgres").items():
                monkeypatch.setenv(name, value)
        with check:
            shot(spark, database, CHANGING_CLOCKS)
            check_against_sql(check, CHANGING_CLOCKS)


# --- cluster ---------------------------------------------------------------------------------------------------------
# Runs a cluster with one master and one worker, and submits the job with spark-submit (docs/operate/metrics_job.md).

SPARK = Path(pyspark.__file__).parent
READY = {"Master": "I have been elected leader", "Worker": "Successfully registered with master"}


def variables(work: Path) -> dict[str, str]:
    home = find_java_home(os.environ, cache_directory())
    return {
        **os.environ,
        **({"JAVA_HOME": home} if home else {}),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(work),
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def daemon(role: str, work: Path, *arguments: str) -> Iterator[None]:
    """Runs a Spark master or worker until the end of the block."""
    command = [str(SPARK / "bin/spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}", *arguments]
    with subprocess.Popen(command, env=variables(work), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = next((line for line in process.stderr if READY[role] in line), None)
            assert said is not None, f"the {role} ended"
            yield
        finally:
            process.terminate()


@pytest.mark.slow
def test_spark_submit(database: Database, tmp_path: Path) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        history_generator.write(connection, CHANGING_CLOCKS, Mixture(2_000))
    port = free_port()
    place = ("--host", "127.0.0.1")
    file = tmp_path / "database"
    file.write_text(database.dsn)
    archive = write_package(tmp_path / "penstock_metrics.zip")
    master = f"spark://127.0.0.1:{port}"
    days = [f"--from={CHANGING_CLOCKS.from_at.isoformat()}", f"--to={CHANGING_CLOCKS.to_at.isoformat()}"]
    command = ["--master", master, "--py-files", str(archive), submit.__file__, *days]
    with (
        daemon("Master", tmp_path, *place, "--port", str(port), "--webui-port", "0"),
        daemon("Worker", tmp_path, *place, "--webui-port", "0", "--cores", "2", "--memory", "1g", master),
    ):
        submitted = {
            "DATABASE_URL_FILE": str(file),
            "QUEUE_METRICS_TIMEZONE": CHANGING_CLOCKS.timezone,
            "PYTHONPATH": "",
        }
        done = subprocess.run(
            [str(SPARK / "bin/spark-submit"), *command],
            env=variables(tmp_path) | submitted,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        check_against_sql(connection, CHANGING_CLOCKS)


# --- restart ---------------------------------------------------------------------------------------------------------
# Tests a PostgreSQL that crashes and restarts during the job. Source: docs/operate/metrics_job.md, "When a run fails".


DAYS = [
    f"--from={CHANGING_CLOCKS.from_at.isoformat()}",
    f"--to={CHANGING_CLOCKS.to_at.isoformat()}",
    f"--zone={CHANGING_CLOCKS.timezone}",
]


def job(server: Postgres) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "penstock_web.cli", "metrics", "run", "--nice=0", *DAYS]
    variables = {**os.environ, "DATABASE_URL": server.service_dsn()}
    return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def has_begun(server: Postgres) -> bool:
    with psycopg.connect(server.service_dsn()) as connection:
        begun = "select exists (select from queue.metrics_run where finished_at is null)"
        return connection.execute(begun).fetchone() == (True,)


@pytest.mark.slow
def test_a_run_is_tried_again_after_a_crash_of_the_database() -> None:
    account = SystemAccount.choose()
    with ephemeral_state(memory_directory()) as state, running_postgres(state, account) as server:
        migrate(server.service_dsn(), role=ROLE)
        with psycopg.connect(server.service_dsn(), autocommit=True) as connection:
            history_generator.write(connection, CHANGING_CLOCKS, Mixture(100_000))
        with job(server) as run:
            wait_until(lambda: has_begun(server))
            crashed = account.run(
                [server.binaries.path("pg_ctl"), "-w", "-D", server.data, "-m", "immediate", "stop"],
                log=account.write(state / "stop.log", ""),
            )
            assert crashed.returncode == 0
            again = start(state, account)
            _, said = run.communicate(timeout=1500)
        assert run.returncode == 0, said
        assert "; trying again in 5 s" in said  # PostgreSQL crashed before the job ended.
        assert "Traceback" not in said
        with psycopg.connect(again.service_dsn(), autocommit=True) as connection:
            check_against_sql(connection, CHANGING_CLOCKS)
            runs = connection.execute(
                "select finished_at is not null, error from queue.metrics_run order by run_id"
            ).fetchall()
        assert runs == [(True, "the process ended before the run"), (True, None)]
