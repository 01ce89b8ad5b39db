"""Checks that the roles of sql/grants.sql exist, that they have the right privileges, and that the owner has its
memberships.
"""

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
    "penstock_api": "a service that does not log in as the owner has no rights",
    "penstock_app": "no application can use the SQL interface with a separate role",
    "penstock_metrics": "the metrics job has to run with a role that has more rights than necessary",
    "penstock_owner": "no application can use the SQL interface with a separate role, because the functions run "
    "with the rights of this role",
    "penstock_reader": "dashboards have to use a role that can also write",
}
_OF_OWNER: Final = "the functions of the SQL interface need the rights of penstock_owner, but cannot belong to it"


def check_roles(examined: Examination) -> Iterator[Finding]:
    """Yields a finding for each command that the owner or an administrator has not run. Raises psycopg's errors."""
    connection = examined.connect_directly()
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
            f"run `{command};` as a superuser or a role with CREATEROLE, then `penstock migrate` as the owner",
        )


def check_grants(examined: Examination) -> Iterator[Finding]:
    """Checks each role's rights. Raises psycopg's errors."""
    service = [connection.session.role for connection in examined.connect_to_service()]
    members = [name for (name,) in examined.connect_directly().execute(_MEMBERS).fetchall()]
    for (problem,) in examined.connect_directly().execute(_PROBLEMS, (service,)).fetchall():
        if role := next((name for name in members if problem.startswith(f"the role {name} may use ")), None):
            yield Finding(
                GRANTS,
                f"the role {role} has the rights of the service (penstock_api)",
                "this role can read the keys of all accounts",
                f"nothing, if the service logs in as {role}; otherwise run `penstock roles set {role}`, then `grant "
                f"penstock_app to {role}` and `revoke penstock_api from {role}`",
                is_advice=True,
            )
            continue
        is_grant = not problem.startswith(_OF_APPLICATIONS)
        yield Finding(
            GRANTS,
            problem,
            "the role's rights differ from the rights that this release grants (sql/grants.sql)"
            if is_grant
            else "the role has more or fewer rights than an application should have",
            "run `penstock migrate` as the owner of the schema, and remove other rights with `revoke`"
            if is_grant
            else "create the role if it does not exist (`create role ROLE login`), assign an account with "
            "`penstock roles set ROLE`, then run `grant penstock_app to ROLE` and `revoke penstock_api from ROLE`",
        )
