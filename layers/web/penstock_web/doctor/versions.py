"""Compares this program's release with the schema's release and the running processes' releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.version import InvalidVersion, Version

from penstock.postgres.migrations import RELEASE, MigrationError, find_missing

from .examination import Examination, Finding

MIGRATIONS = "migrations"
VERSIONS = "versions"
# The LISTEN connection has this application name (database/listener.py).
_RUNNING: Final = """
select substr(application_name, 10), count(*) from pg_stat_activity
where datname = current_database() and application_name like 'penstock %%' group by 1 order by 1
"""


def check_migrations(examined: Examination) -> Iterator[Finding]:
    """Checks that the schema belongs to this release. Raises psycopg's errors."""
    try:
        missing = find_missing(examined.direct())
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
            "this release was tested with the functions of a newer release only for the time of an upgrade",
            "upgrade this program: `pip install --upgrade penstock-queue`",
        )
    elif missing.migrations or missing.functions:
        names = ", ".join(missing.migrations) or f"functions of {missing.release or 'no release'}"
        yield Finding(
            MIGRATIONS,
            f"the schema does not belong to release {RELEASE}: {names}"
            + (" not applied" if missing.migrations else " instead"),
            "calls of the service fail",
            "run `penstock migrate` as the owner of the schema",
        )


def check_running(examined: Examination) -> Iterator[Finding]:
    """Yields processes of other releases that listen in this database. Raises psycopg's errors."""
    for release, sessions in examined.direct().execute(_RUNNING).fetchall():
        if _is_other(release):
            yield Finding(
                VERSIONS,
                f"{sessions} running processes have release {release}; this program has {RELEASE}",
                "two releases may run together only during an upgrade",
                f"stop them, and start them with release {RELEASE}",
                is_advice=True,
            )


def _is_other(release: str) -> bool:
    try:
        return Version(release) != Version(RELEASE)
    except InvalidVersion:  # the name of another program
        return False
