"""The dump of the schema is the same on every version of PostgreSQL, and shows tables and functions."""

from __future__ import annotations

from penstock.postgres.migrations import migrate
from penstock.postgres.schema_dump import schema_dump
from penstock_web.local.postgres import running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import Database


def test_the_dump_shows_tables_and_functions(database: Database) -> None:
    dump = schema_dump(database.api_dsn)
    for text in ("create table queue.log (", "\nfunction queue.send(name text"):
        assert text in dump


def test_the_dump_is_the_same_on_the_newest_postgresql(database: Database) -> None:
    with ephemeral_state() as state, running_postgres(state, SystemAccount.choose(), "wheel") as newest:
        migrate(newest.service_dsn())
        assert schema_dump(newest.service_dsn()) == schema_dump(database.api_dsn)
