"""The bare INSERT that CPU is compared with, on a real server."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict

from benchmarks.bare_insert import FIGURES, measure_bare_insert, own_database
from benchmarks.postgres import administrator_dsn, postmaster_of
from tests.support.database import Database


def databases(dsn: str) -> set[str]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return {name for (name,) in connection.execute("select datname from pg_database")}


def test_it_is_measured_on_the_services_server_and_leaves_nothing(database: Database) -> None:
    before = databases(database.dsn)
    figures = measure_bare_insert(database.api_dsn, 9_600)
    assert len(figures) == FIGURES
    assert all(0 < seconds < 10 for seconds in figures)
    assert databases(database.dsn) == before


def test_it_has_a_database_of_its_own_although_the_services_role_may_make_none(database: Database) -> None:
    administrator = administrator_dsn(database.api_dsn)
    assert conninfo_to_dict(administrator)["user"] == "postgres"
    assert postmaster_of(administrator) == postmaster_of(database.api_dsn)
    with own_database(administrator) as own:
        name = conninfo_to_dict(own)["dbname"]
        assert name in databases(database.dsn)
    assert name not in databases(database.dsn)


def test_a_role_that_may_make_databases_is_taken_as_it_is(database: Database) -> None:
    assert administrator_dsn(database.dsn) == database.dsn
