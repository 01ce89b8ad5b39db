"""Checks the existence and the rights of the roles in sql/grants.sql, and the owner's memberships."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.postgres.roles import list_missing_commands

from .examination import Examination, Finding

ROLES = "roles"
GRANTS = "grants"
_PROBLEMS = "select problem from queue.find_role_problems(%s)"
_MEMBERS = """
select r.rolname::text from pg_roles r where r.rolcanlogin and queue.has_role(r.rolname, to_regrole('penstock_api'))
"""
_OF_APPLICATIONS = ("the application's role ", "the role ")
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
    """Yields a finding for each missing command. Raises the errors of psycopg."""
    connection = examined.direct()
    row = connection.execute(
        "select pg_get_userbyid(nspowner)::text from pg_namespace where nspname = 'queue'"
    ).fetchone()
    for command in list_missing_commands(connection, row[0] if row else None):
        name = command.split()[2]
        is_missing = command.startswith("create role")
        yield Finding(
            ROLES,
            f"the role {name} does not exist" if is_missing else f"the owner lacks: {command}",
            _USES.get(name, "") if is_missing else _OF_OWNER,
            f"a superuser, or a role with CREATEROLE, runs `{command};`, then the owner runs `penstock migrate`",
        )


def check_grants(examined: Examination) -> Iterator[Finding]:
    """Checks each role's rights. Raises psycopg's errors."""
    service = [connection.session.role for connection in examined.service_connections()]
    members = [name for (name,) in examined.direct().execute(_MEMBERS).fetchall()]
    for (problem,) in examined.direct().execute(_PROBLEMS, (service,)).fetchall():
        if role := next((name for name in members if problem.startswith(f"the role {name} may use ")), None):
            yield Finding(
                GRANTS,
                f"the role {role} has the rights of the service (penstock_api)",
                "it can read the keys of all accounts",
                f"nothing, if the service logs in as {role}; otherwise `penstock roles set {role}`, then `grant "
                f"penstock_app to {role}` and `revoke penstock_api from {role}`",
                is_advice=True,
            )
            continue
        is_grant = not problem.startswith(_OF_APPLICATIONS)
        yield Finding(
            GRANTS,
            problem,
            "its rights differ from those of this release (sql/grants.sql)"
            if is_grant
            else "it has fewer rights, or more, than an application should have",
            "the owner of the schema runs `penstock migrate`; `revoke` removes the remaining rights"
            if is_grant
            else "`penstock roles set ROLE` names its account; then `grant penstock_app to ROLE` and "
            "`revoke penstock_api from ROLE`",
        )
