"""Creates the group roles to which sql/grants.sql grants privileges, if the migrating role has CREATEROLE.

Roles belong to the whole cluster. Superusers and roles with CREATEROLE, such as RDS's master user, can create them.
Since PostgreSQL 16 a role with CREATEROLE can only grant roles that it has created, or that it has received with the
admin option (PostgreSQL's manual, "Role Attributes"). For a role without CREATEROLE, such as a plain owner of the
database, this module returns the commands for an administrator. Until an administrator runs them, only the SQL
interface for applications with separate roles fails.
"""

from contextlib import suppress
from typing import Final

import psycopg

from .statement import Row

Connection = psycopg.Connection[Row]

ROLES: Final = ("penstock_api", "penstock_app", "penstock_metrics", "penstock_owner", "penstock_reader")

# Lists the commands, in order, that the migrating role still needs. To create functions of penstock_owner, the role
# must inherit its privileges and be able to SET ROLE to it. Superusers can do both. Before version 16 the member role
# decides whether it inherits.
_MISSING: Final = """
with migrating as (
    select m.rolname, m.rolinherit, to_regrole('penstock_owner') as owner,
        current_setting('server_version_num')::int >= 160000 as since_16
    from pg_roles m where m.rolname = coalesce(%s::name, current_user) and not m.rolsuper)
select format('create role %%I nologin', r.name)
from unnest(%s::text[]) r(name)
where to_regrole(r.name) is null
union all
select format(case when m.since_16 then 'grant penstock_owner to %%I with inherit true, set true'
    else 'grant penstock_owner to %%I' end, m.rolname)
from migrating m where case
    when m.owner is null then true
    when m.since_16 then not (pg_has_role(m.rolname, m.owner, 'USAGE') and pg_has_role(m.rolname, m.owner, 'SET'))
    else not pg_has_role(m.rolname, m.owner, 'MEMBER') end
union all
select format('alter role %%I inherit', m.rolname) from migrating m where not (m.since_16 or m.rolinherit)
"""

_UNSAFE: Final = """
select 'is a superuser' from pg_roles where rolname = 'penstock_owner' and rolsuper
union all
select 'may log in' from pg_roles where rolname = 'penstock_owner' and rolcanlogin
"""

_FUNCTIONS_OF_OWNER: Final = """
select count(*) from pg_proc
where pronamespace = to_regnamespace('queue') and proowner = to_regrole('penstock_owner')
"""

_REFUSALS: Final = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.UndefinedObject,  # the role that could not be created
    psycopg.errors.DuplicateObject,  # another runner is migrating a database of the cluster at the same moment
    psycopg.errors.UniqueViolation,
    psycopg.errors.InternalError_,  # the same: "tuple concurrently updated"
)


def list_missing_commands(connection: Connection, role: str | None = None) -> list[str]:
    """Returns the commands, in order, that `role` needs before it can migrate a database. None means the
    connection's role."""
    return [command for (command,) in connection.execute(_MISSING, (role, list(ROLES))).fetchall()]


def create_roles(connection: Connection, role: str | None = None) -> list[str]:
    """Runs the missing commands for `role` if the connection's role has the rights. Returns the commands that are still
    missing.

    Attributes of existing roles stay unchanged.
    """
    for command in list_missing_commands(connection, role):
        if not command.startswith("alter role"):
            with suppress(*_REFUSALS):
                connection.execute(command.encode())
    return list_missing_commands(connection, role)


def find_owner_problem(connection: Connection, missing: list[str]) -> str:
    """Returns the reason why the database cannot be migrated, with a remedy, or "" if it can. `missing` is the result
    of `create_roles`."""
    for (reason,) in connection.execute(_UNSAFE).fetchall():
        return (
            f"the role penstock_owner, with whose rights applications call the SQL interface, {reason}: "
            "`alter role penstock_owner nosuperuser nologin`, then migrate"
        )
    (functions,) = connection.execute(_FUNCTIONS_OF_OWNER).fetchone() or (0,)
    memberships = [command for command in missing if not command.startswith("create role")]
    if functions and memberships:
        return (
            "functions of this database belong to the role penstock_owner, whose rights the migrating role lacks; "
            f"someone who may runs first: `{'; '.join(memberships)}`"
        )
    return ""
