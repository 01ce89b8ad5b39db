"""`penstock doctor`: looks for damage in the database and for settings that its sessions lack.

It also makes a restored database safe for clients of before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.settings import Settings

if TYPE_CHECKING:
    from penstock.postgres.database import Database

# The checks read every FIFO group, which may take this long.
_CALL_SECONDS: Final = 600.0
_QUEUES_PER_JUMP: Final = 100

app = typer.Typer()


@app.command("doctor", help="look for damage in the database of DATABASE_DIRECT_URL")
def doctor(
    after_restore: Annotated[
        bool,
        typer.Option("--after-restore", help="first let ids go on above all that were lost with a restore"),
    ] = False,
) -> int:
    """Prints a line a problem; 0 when there is none, else 1. Raises SettingError, LocalError."""
    from penstock.postgres.statements.installation import FIND_PROBLEMS

    from .database import service_database

    settings = Settings.read(os.environ)
    with service_database(settings, direct=True, call_seconds=_CALL_SECONDS) as database:
        if after_restore:
            _jump(database)
            print(
                "new messages, topics and schedules get ids above all that were given out before the restore"
            )
        number = _report((row.subject, row.problem) for row in database.call(FIND_PROBLEMS, ()))
        warnings = {database.connection().session.warning}
    if settings.database_url not in ("", settings.direct_url):
        with service_database(settings) as pooled:
            warnings.add(pooled.connection().session.warning)
    number += _report(("settings", warning) for warning in warnings if warning)
    print(f"{number} problems" if number else "no problem found")
    return 1 if number else 0


def _report(problems: Iterable[tuple[str, str]]) -> int:
    """Prints subjects and problems; how many there are."""
    lines = [f"{subject}: {problem}" for subject, problem in problems]
    for line in lines:
        print(line)
    return len(lines)


def _jump(database: Database) -> None:
    """Ids jump as after a change of the server, which a restore into the same cluster does not show."""
    from penstock.postgres.statements.installation import CHECK_SERVER, JUMP_IDS

    database.call(CHECK_SERVER, (True,))
    while any(row.changed for row in database.call(JUMP_IDS, (_QUEUES_PER_JUMP,))):
        pass
