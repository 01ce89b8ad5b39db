"""Replaces the records of the migrations before the baseline by the record of the baseline.

Release 0.0.1 (commit f69b3c5) had 20 migrations; 0001_baseline.sql makes the same tables in one. A database with
exactly these 20 only needs another record. Every other history is refused with an error that says what to do. The file
sql/migrations/0001_baseline.replaces has the checksums of the 20, in the form of sha256sum.
"""

from __future__ import annotations

from difflib import ndiff
from pathlib import Path
from typing import Final

import psycopg

from penstock.effects import Row

from .schema_dump import describe_tables

_REPLACED_RELEASE: Final = "0.0.1"
_REPLACED_COMMIT: Final = "f69b3c5"

_HOW_TO_LOAD: Final = (
    "load its rows into an empty database that release 0.0.2 (commit c8b90da) has migrated, and then migrate that, "
    "with pg_dump --data-only --schema=queue --exclude-table-data=queue.migration --load-via-partition-root"
)

# Releases before 0.0.1 compiled filter policies to another form, which 0.0.1 still reads and this release does not.
_OLD_POLICIES: Final = """
select count(*) from (
    select filter from queue.subscription union all select filter from queue.binding
    union all select subscription -> 'filter' from queue.former_subscription
) f where jsonb_typeof(f.filter #> '{0,0,1}') = 'array'
"""


def read_replaced(directory: Path) -> dict[int, str]:
    """The checksums of the migrations that the folder's baseline replaces, by number; none without a list."""
    path = directory / "migrations/0001_baseline.replaces"
    lines = path.read_text().splitlines() if path.exists() else []
    return {int(name[:4]): checksum for checksum, name in (line.split() for line in lines)}


def history_problem(recorded: dict[int, str], replaced: dict[int, str]) -> str:
    """Why a database with these migrations cannot get the baseline's record, and what to do; "" when it can."""
    strange = sorted(number for number, checksum in recorded.items() if replaced.get(number) != checksum)
    if strange:
        return (
            f"migration {strange[0]} of this database is not the one of release {_REPLACED_RELEASE}, "
            f"which 0001_baseline.sql replaces: {_HOW_TO_LOAD}"
        )
    if len(recorded) < len(replaced):
        return (
            f"this database has {len(recorded)} of the {len(replaced)} migrations that 0001_baseline.sql replaces: run "
            f"`penstock migrate` of release {_REPLACED_RELEASE} (commit {_REPLACED_COMMIT}) on it first, then this one"
        )
    return ""


def schema_problem(connection: psycopg.Connection[Row], baseline: bytes) -> str:
    """Why a database with the right migrations cannot get the baseline's record; "" when it can."""
    if difference := first_difference(connection, baseline):
        return (
            f"the tables of this database are not those that its migrations made ({difference}): undo that change, "
            f"or {_HOW_TO_LOAD}"
        )
    row = connection.execute(_OLD_POLICIES.encode()).fetchone()
    if row and row[0]:
        return (
            f"filter policies in the form of a release before {_REPLACED_RELEASE} are stored here ({row[0]}): set them "
            f"again with release {_REPLACED_RELEASE} (commit {_REPLACED_COMMIT}), then migrate"
        )
    return ""


def first_difference(connection: psycopg.Connection[Row], baseline: bytes) -> str:
    """The first line that the tables and types have beyond those that `baseline` makes (+), or lack (-); else "".

    The baseline runs on this very server, in a schema `queue` that is rolled back. Other sessions see nothing of it.
    """
    with connection.transaction(force_rollback=True):
        actual = describe_tables(connection)
        connection.execute("alter schema queue rename to queue_before_the_baseline")
        connection.execute(baseline)
        expected = describe_tables(connection)
    for name in sorted(actual.keys() | expected.keys()):
        for line in ndiff(expected.get(name, []), actual.get(name, [])):
            if line[0] in "+-":
                return f"{name}: {line[0]} {line[2:].strip()}"
    return ""


def record_baseline(connection: psycopg.Connection[Row], name: str, checksum: str) -> None:
    """Replaces the records of the migrations by that of the baseline.

    Release 0.0.1 recorded its functions as those of 0.1.0, which was never released: no release could
    replace them.
    """
    connection.execute("delete from queue.migration where number > 0")
    insert = "insert into queue.migration (number, name, checksum) values (1, %s, %s)"
    connection.execute(insert, (name, checksum))
    update = "update queue.migration set name = %s where number = 0"
    connection.execute(update, (f"functions {_REPLACED_RELEASE}",))
