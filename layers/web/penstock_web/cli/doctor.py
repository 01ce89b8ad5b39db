"""`penstock doctor`: looks for damage in the database and for settings that its sessions lack.

It also makes a restored database safe for clients of before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
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
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="end subscriptions that the policies of other accounts' queues do not allow"
        ),
    ] = False,
) -> int:
    """Prints a line a problem; 0 when there is none, else 1. Raises SettingError, LocalError."""
    from penstock.postgres.statements.installation import FIND_PROBLEMS

    from .database import service_database

    settings = Settings.read(os.environ)
    warnings: set[str] = set()
    service_roles = []
    if settings.database_url not in ("", settings.direct_url):
        with service_database(settings) as pooled:
            session = pooled.connection().session
            warnings |= set(session.warnings)
            service_roles.append(session.role)
    with service_database(settings, direct=True, call_seconds=_CALL_SECONDS) as database:
        if after_restore:
            _jump(database)
            print(
                "new messages, topics and schedules get ids above all that were given out before the restore"
            )
        number = _report((row.subject, row.problem) for row in database.call(FIND_PROBLEMS, (service_roles,)))
        if settings.queue_access == "sigv4":
            number += _report(_refused_subscriptions(database, fix=fix))
        warnings |= set(database.connection().session.warnings)
    number += _report(("settings", warning) for warning in sorted(warnings))
    print(f"{number} problems" if number else "no problem found")
    return 1 if number else 0


def _report(problems: Iterable[tuple[str, str]]) -> int:
    """Prints subjects and problems; how many there are."""
    lines = [f"{subject}: {problem}" for subject, problem in problems]
    for line in lines:
        print(line)
    return len(lines)


def _refused_subscriptions(database: Database, *, fix: bool) -> Iterator[tuple[str, str]]:
    """Subscriptions, of before policies were asked, that deliver to queues whose policies do not allow it."""
    from penstock.access.deliveries import allows_delivery
    from penstock.postgres.statements.subscriptions import (
        DROP_SUBSCRIPTION,
        FOREIGN_SUBSCRIPTIONS,
        REFUSE_DEAD_LETTER_QUEUE,
    )

    for row in database.call(FOREIGN_SUBSCRIPTIONS, ()):
        if allows_delivery(row.policy, row.queue_arn, row.topic_arn, row.owner):
            continue
        kind = "dead letters" if row.is_dead_letter_queue else "messages"
        problem = f"sends {kind} to the queue {row.queue_arn}, whose policy does not allow it"
        if fix and row.is_dead_letter_queue:
            database.call(REFUSE_DEAD_LETTER_QUEUE, (row.arn,))
        elif fix:
            database.call(DROP_SUBSCRIPTION, (row.arn, False, None))
        yield row.arn, f"{problem}: ended" if fix else problem


def _jump(database: Database) -> None:
    """Ids jump as after a change of the server, which a restore into the same cluster does not show."""
    from penstock.postgres.statements.installation import CHECK_SERVER, JUMP_IDS

    database.call(CHECK_SERVER, (True,))
    while any(row.changed for row in database.call(JUMP_IDS, (_QUEUES_PER_JUMP,))):
        pass
