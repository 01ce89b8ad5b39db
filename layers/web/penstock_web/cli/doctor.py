"""`penstock doctor`: looks for damage in the database, and makes a restored one safe for clients of before."""

from __future__ import annotations

import os
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

    with service_database(Settings.read(os.environ), direct=True, call_seconds=_CALL_SECONDS) as database:
        if after_restore:
            _jump(database)
            print(
                "new messages, topics and schedules get ids above all that were given out before the restore"
            )
        problems = database.call(FIND_PROBLEMS, ())
    for row in problems:
        print(f"{row.subject}: {row.problem}")
    print("no problem found" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


def _jump(database: Database) -> None:
    """Ids jump as after a change of the server, which a restore into the same cluster does not show."""
    from penstock.postgres.statements.installation import CHECK_SERVER, JUMP_IDS

    database.call(CHECK_SERVER, (True,))
    while any(row.changed for row in database.call(JUMP_IDS, (_QUEUES_PER_JUMP,))):
        pass
