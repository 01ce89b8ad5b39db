"""sql/schema.sql is what the migrations lead to, on every version of PostgreSQL."""

from __future__ import annotations

from penstock.postgres.migrations import migrate, sql_directory
from penstock.postgres.schema_dump import schema_dump
from penstock_web.local.postgres import running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import Database


def test_the_dump_in_the_repository_is_up_to_date(database: Database) -> None:
    """Remade by `make generate`."""
    assert (sql_directory() / "schema.sql").read_text() == schema_dump(database.api_dsn)


def test_the_dump_is_the_same_on_the_newest_postgresql(database: Database) -> None:
    with ephemeral_state() as state, running_postgres(state, SystemAccount.choose(), "wheel") as newest:
        migrate(newest.service_dsn())
        assert schema_dump(newest.service_dsn()) == schema_dump(database.api_dsn)
