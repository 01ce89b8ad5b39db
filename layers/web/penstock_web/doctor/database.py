"""Checks that the database can be reached, that Penstock can work on it, and that it has the schema of this release."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.postgres.server_check import server_problem, version_problem

from .examination import Examination
from .finding import Finding

SUBJECT = "database"


def check_database(examined: Examination) -> Iterator[Finding]:
    """Checks version, standby and encoding. Raises psycopg's errors if the database cannot be reached."""
    connection = examined.direct()
    if problem := server_problem(connection):
        is_old = bool(version_problem(connection.info.server_version))
        yield Finding(
            SUBJECT,
            problem,
            "the service does not start on it",
            "upgrade the server with `pg_upgrade`, or with the procedure of its provider"
            if is_old
            else "correct DATABASE_URL and DATABASE_DIRECT_URL, or make this server the primary: `select pg_promote()`"
            if "standby" in problem
            else "`alter database NAME reset default_transaction_read_only`, and the same for the role and the server",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        yield Finding(
            SUBJECT,
            f"the database's encoding is {encoding}; it must be UTF8",
            "other encodings refuse some messages",
            "`create database NAME encoding 'UTF8' template template0`, and migrate the new database",
        )
