"""Checks the group roles: whether the roles of sql/grants.sql exist, and the owner's memberships."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.postgres.roles import missing_commands

from .examination import Examination
from .finding import Finding

SUBJECT = "roles"
_USES: Final = {
    "penstock_api": "a service that logs in with another role than the owner has no rights",
    "penstock_app": "no application can use the SQL interface with a separate role",
    "penstock_metrics": "the metrics job has no role with only the rights that it needs",
    "penstock_owner": "no application can use the SQL interface with a separate role: the functions run with the "
    "rights of this role",
    "penstock_reader": "dashboards have no role that only reads",
}
_OF_OWNER: Final = "functions of the SQL interface cannot belong to penstock_owner, whose rights they need"


def check_roles(examined: Examination) -> Iterator[Finding]:
    """Yields a finding for each missing command. Raises psycopg's errors."""
    connection = examined.direct()
    row = connection.execute(
        "select pg_get_userbyid(nspowner)::text from pg_namespace where nspname = 'queue'"
    ).fetchone()
    for command in missing_commands(connection, row[0] if row else None):
        name = command.split()[2]
        is_missing = command.startswith("create role")
        yield Finding(
            SUBJECT,
            f"the role {name} does not exist" if is_missing else f"the owner lacks: {command}",
            _USES.get(name, "") if is_missing else _OF_OWNER,
            f"a superuser, or a role with CREATEROLE, runs `{command};`, then the owner runs `penstock migrate`",
        )
