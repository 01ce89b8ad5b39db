"""Implements `penstock migrate`: applies this release's migrations to a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from penstock.settings import SettingError, Settings
from penstock_web.cli.database_option import DatabaseAddress, build_variables_with

app = typer.Typer()


@app.command("migrate", help="apply the migrations to the database of DATABASE_DIRECT_URL")
def migrate(
    database: DatabaseAddress = None,
    dump: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=Path, help="write the schema to FILE after the migration")
    ] = None,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="migrate a temporary database")] = False,
    tune_role: Annotated[
        str | None, typer.Option(metavar="NAME", help="apply the service's settings to this role")
    ] = None,
    first_key: Annotated[
        bool, typer.Option("--first-key", help="create and show the first key, with QUEUE_ACCESS=sigv4")
    ] = False,
) -> None:
    from penstock.postgres.migrating import describe_applied
    from penstock.postgres.schema_dump import dump_schema
    from penstock_web.local.migrating import migrate_or_explain

    if database and ephemeral:
        raise typer.BadParameter("not allowed with argument --database", param_hint="--ephemeral")
    variables = build_variables_with(database)
    with _database(ephemeral, variables) as dsn:
        settings = Settings.read({**variables, "DATABASE_DIRECT_URL": dsn})
        for line in describe_applied(migrate_or_explain(dsn, tune_role, settings)):
            print(line)
        if first_key:
            from penstock_web.cli.key_ring import create_first_key

            create_first_key(settings)
        if dump:
            dump.write_text(dump_schema(dsn))


@contextmanager
def _database(ephemeral: bool, variables: Mapping[str, str]) -> Iterator[str]:
    """Yields the address of the configured database, or of a temporary server's database."""
    from penstock_web.local.postgres import running_postgres
    from penstock_web.local.state import ephemeral_state
    from penstock_web.local.system_account import SystemAccount

    if ephemeral:
        with ephemeral_state() as state, running_postgres(state, SystemAccount.choose()) as server:
            yield server.service_dsn()
    elif dsn := Settings.read(variables).direct_url:
        yield dsn
    else:
        raise SettingError("set DATABASE_DIRECT_URL or DATABASE_URL")
