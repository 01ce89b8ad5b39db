"""Implements `penstock roles`: assigns accounts to database roles for the SQL interface (docs/reference/sql.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.settings import Settings
from penstock_web.cli.options import Account

if TYPE_CHECKING:
    from penstock.postgres.database import Database

app = typer.Typer(name="roles", help="assign accounts to the database roles that use the SQL interface")

Role = Annotated[str, typer.Argument(metavar="ROLE")]


@app.command("set", help="assign an account to a database role")
def set_(
    role: Role,
    account: Account = None,
    region: Annotated[
        str | None, typer.Option(metavar="NAME", help="region of names without a region (default: QUEUE_REGION)")
    ] = None,
) -> None:
    from penstock_web.cli.database import service_database
    from penstock_web.cli.printing import print_lines

    settings = Settings.read(os.environ)
    with service_database(settings) as database:
        names = account or settings.queue_account_id, region or settings.queue_region
        print_lines(set_role(database, role, *names))


@app.command("list", help="show every database role that has an account")
def list_() -> None:
    from penstock_web.cli.database import service_database
    from penstock_web.cli.printing import print_lines

    with service_database(Settings.read(os.environ)) as database:
        print_lines(list_roles(database))


@app.command("unset", help="remove a database role's account")
def unset(role: Role) -> None:
    from penstock_web.cli.database import service_database
    from penstock_web.cli.printing import print_lines

    with service_database(Settings.read(os.environ)) as database:
        print_lines(unset_role(database, role))


def set_role(database: Database, role: str, account_id: str, region: str) -> Iterator[str]:
    """Assigns an account to a role. Yields the result and the rights that the role lacks. Raises LocalError for an
    invalid account, region or role.
    """
    from penstock.aws.arn import is_region
    from penstock.postgres.statements.access import SET_ROLE_ACCOUNT
    from penstock_web.cli.key_ring import check_account
    from penstock_web.local_error import LocalError

    check_account(account_id)
    if not is_region(region):
        raise LocalError(f"a region has 1 to 32 of a-z 0-9 -, not {region!r}")
    rows = database.call(SET_ROLE_ACCOUNT, (role, account_id, region)) if "\0" not in role else []
    if not rows:
        raise LocalError(f"there is no database role {role!r}")
    yield f"role {role} has the account {account_id} in {region}"
    yield from (row.problem for row in rows if row.problem)


def list_roles(database: Database) -> Iterator[str]:
    """Yields one line for each role."""
    from penstock.postgres.statements.access import LIST_ROLE_ACCOUNTS
    from penstock_web.cli.key_ring import table

    return table(
        ("ROLE", "ACCOUNT", "REGION", "PROBLEM"),
        (
            (row.role_name, row.account_id, row.region, row.problem or "-")
            for row in database.call(LIST_ROLE_ACCOUNTS, ())
        ),
    )


def unset_role(database: Database, role: str) -> Iterator[str]:
    """Removes a role's account, and yields the result. Raises LocalError for a role without an account."""
    from penstock.postgres.statements.access import UNSET_ROLE_ACCOUNT
    from penstock_web.local_error import LocalError

    rows = database.call(UNSET_ROLE_ACCOUNT, (role,)) if "\0" not in role else []
    if not any(row.found for row in rows):
        raise LocalError(f"the role {role!r} has no account")
    yield f"role {role} has no account now"
