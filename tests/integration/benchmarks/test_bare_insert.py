"""Tests the bare INSERT on a real server. The benchmarks compare the CPU time of a bare INSERT with the CPU time of a
send.

Also runs the benchmark for the pytest fixtures (benchmarks/README.md) on a few tests.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from benchmarks.pgbench import FIGURES, measure_bare_insert, own_database
from benchmarks.postgres import administrator_dsn, postmaster_of
from tests.support.database import Database
from tests.support.testing.projects import temporary_files


def databases(dsn: str) -> set[str]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return {name for (name,) in connection.execute("select datname from pg_database")}


def test_a_bare_insert_is_measured_on_the_services_server_and_leaves_nothing(database: Database) -> None:
    before = databases(database.dsn)
    figures = measure_bare_insert(database.api_dsn, 9_600)
    assert len(figures) == FIGURES
    assert all(0 < seconds < 10 for seconds in figures)
    assert databases(database.dsn) == before


def test_a_bare_insert_has_a_separate_database_without_the_services_role(database: Database) -> None:
    administrator = administrator_dsn(database.api_dsn)
    assert conninfo_to_dict(administrator)["user"] == "postgres"
    assert postmaster_of(administrator) == postmaster_of(database.api_dsn)
    with own_database(administrator) as own:
        name = conninfo_to_dict(own)["dbname"]
        assert name in databases(database.dsn)
    assert name not in databases(database.dsn)


def test_a_role_that_may_make_databases_is_taken_as_it_is(database: Database) -> None:
    assert administrator_dsn(database.dsn) == database.dsn


ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_each_kind_is_measured_once_a_round() -> None:
    with temporary_files() as temporary:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.fixtures", "--tests", "2", "--rounds", "1"],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            check=True,
        )
    lines = done.stdout.splitlines()
    assert [re.sub(r"\s+[\d.]+ s$", "", line) for line in lines] == [
        "round 1 penstock",
        "round 1 moto",
        "round 1 moto, one session of boto3",
    ]
