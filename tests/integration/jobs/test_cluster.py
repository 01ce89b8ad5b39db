"""Runs a cluster of one master and one worker, and submits the job to the cluster by spark-submit, as
docs/operate/metrics_job.md says.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pyspark
import pytest

from penstock.postgres.migrations import migrate
from penstock_metrics import submit
from penstock_metrics.spark.java import find_java_home
from penstock_metrics.spark.package import write_package
from penstock_web.local.postgres import ROLE, Postgres, running_postgres, start
from penstock_web.local.state import cache_directory, ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import Database, memory_directory
from tests.support.jobs import history_generator
from tests.support.jobs.history_generator import Mixture
from tests.support.jobs.reference import CHANGING_CLOCKS, check_against_sql
from tests.support.programs.penstock_service import free_port
from tests.support.wait import wait_until

pytestmark = [pytest.mark.metrics, pytest.mark.slow, pytest.mark.xdist_group("spark")]

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
    """Runs a master or a worker of Spark until the end of the block."""
    command = [str(SPARK / "bin/spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}", *arguments]
    with subprocess.Popen(command, env=variables(work), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = next((line for line in process.stderr if READY[role] in line), None)
            assert said is not None, f"the {role} ended"
            yield
        finally:
            process.terminate()


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
# Tests a PostgreSQL that crashes under the job and starts again. Source: docs/operate/metrics_job.md, "When a run
# fails".


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
        assert "; trying again in 5 s" in said  # The crash came before the end of the job.
        assert "Traceback" not in said
        with psycopg.connect(again.service_dsn(), autocommit=True) as connection:
            check_against_sql(connection, CHANGING_CLOCKS)
            runs = connection.execute(
                "select finished_at is not null, error from queue.metrics_run order by run_id"
            ).fetchall()
        assert runs == [(True, "the process ended before the run"), (True, None)]
