"""Compares this program's release with the schema's release and the running processes' releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.version import InvalidVersion, Version

from penstock.postgres.migrations import RELEASE, MigrationError, find_missing

from .examination import Examination, Finding

MIGRATIONS = "migrations"
VERSIONS = "versions"
# Connections for LISTEN have application names that begin with "penstock " (database/listener.py).
_RUNNING: Final = """
select substr(application_name, 10), count(*) from pg_stat_activity
where datname = current_database() and application_name like 'penstock %%' group by 1 order by 1
"""


def check_migrations(examined: Examination) -> Iterator[Finding]:
    """Checks that the schema belongs to this release. Raises psycopg's errors."""
    try:
        missing = find_missing(examined.connect_directly())
    except MigrationError as error:
        yield Finding(
            MIGRATIONS,
            str(error),
            "the schema does not belong to this release",
            "install the release that last migrated this database, or a newer release",
        )
        return
    if missing.warning:
        yield Finding(
            VERSIONS,
            missing.warning,
            "this release should use the functions of a newer release only during an upgrade",
            "upgrade this program with `pip install --upgrade penstock-queue`",
        )
    elif missing.migrations or missing.functions:
        names = ", ".join(missing.migrations) or f"functions of {missing.release or 'no release'}"
        yield Finding(
            MIGRATIONS,
            f"the schema does not belong to release {RELEASE}: {names}"
            + (" not applied" if missing.migrations else " instead"),
            "database calls of the service fail",
            "run `penstock migrate` as the owner of the schema",
        )


def check_running(examined: Examination) -> Iterator[Finding]:
    """Yields a finding for each other release that running processes have. Raises psycopg's errors."""
    for release, sessions in examined.connect_directly().execute(_RUNNING).fetchall():
        if _is_other(release):
            yield Finding(
                VERSIONS,
                f"{sessions} running processes have release {release}; this program has release {RELEASE}",
                "two releases should run together only during an upgrade",
                f"restart these processes with release {RELEASE}",
                is_advice=True,
            )


def _is_other(release: str) -> bool:
    try:
        return Version(release) != Version(RELEASE)
    except InvalidVersion:  # The sessions belong to another program.
        return False
