"""Tests `penstock metrics run` as users have it (docs/operate/metrics_job.md): the wheel with its extra, in a separate
environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.support.database import Database

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

ROOT = Path(__file__).parents[3]
UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")
ONE_CORE = ["metrics", "run", "--master", "local[1]", "--nice", "0"]


@pytest.fixture(scope="module")
def penstock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the command that the wheel installs. The versions are those of the lock."""
    folder = tmp_path_factory.mktemp("installed")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    python = folder / "environment/bin/python"
    install = [UV, "pip", "install", "--quiet", "--python", str(python)]
    for command in (
        [UV, "venv", "--quiet", "--python", sys.executable, str(folder / "environment")],
        [*install, "--require-hashes", "-r", str(ROOT / "requirements/metrics.lock")],
        [*install, "--no-deps", wheel],
    ):
        subprocess.run(command, check=True, timeout=500)
    return python.parent / "penstock"


@pytest.fixture
def variables(database: Database, tmp_path: Path) -> dict[str, str]:
    """Returns variables with the database in a file, and without our code on the path."""
    (tmp_path / "database").write_text(database.dsn)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("select queue.create('orders')")
        connection.execute("select queue.send_batch('orders', array['1', '2', '3']::jsonb[])")
    usual = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "PYTHONPATH")}
    return {**usual, "DATABASE_URL_FILE": str(tmp_path / "database")}


def ends(database: Database) -> list[tuple[str, bool, str | None]]:
    """Returns for each run its mode, whether it has ended, and its error."""
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(
            "select mode, finished_at is not null, error from queue.metrics_run order by run_id"
        ).fetchall()


def test_a_run(penstock: Path, variables: dict[str, str], database: Database, tmp_path: Path) -> None:
    done = subprocess.run(
        [penstock, *ONE_CORE], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    named = next(line for line in done.stderr.splitlines() if " database: " in line)
    assert f"dbname={psycopg.conninfo.conninfo_to_dict(database.dsn)['dbname']}" in named
    assert ends(database) == [("once", True, None)]
    with psycopg.connect(database.dsn) as connection:
        arrivals = connection.execute(
            "select sum(arrivals)::int from queue.metrics_window where window_seconds = 60 and group_id = ''"
        ).fetchone()
    assert arrivals == (3,)


def test_ctrl_c(penstock: Path, variables: dict[str, str], database: Database, tmp_path: Path) -> None:
    """Ctrl-C ends a run midway with one word, and the run records it."""
    command = [str(penstock), *ONE_CORE, "--continuous"]
    with subprocess.Popen(command, env=variables, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "looking for changes" in line and "rows" not in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130, "".join(lines)[-3000:]
    assert lines[-1].endswith(" stopped\n")
    assert not [line for line in lines if "Traceback" in line or line.startswith("\tat ")]
    assert ends(database) == [("continuous", True, "interrupted")]
