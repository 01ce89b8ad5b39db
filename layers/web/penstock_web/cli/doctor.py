"""`penstock doctor`: examines settings, database and pooler, and says what to do.

It also makes a restored database safe for clients of before.
"""

from __future__ import annotations

from typing import Annotated

import typer

from .database_option import DatabaseAddress, variables_with

app = typer.Typer()


@app.command("doctor", help="examine settings, database and pooler, and say what to do")
def doctor(
    database: DatabaseAddress = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
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
    """0 when there is no problem, else 1."""
    from penstock_web.doctor.checks import IDS, examine
    from penstock_web.doctor.report import as_json, as_lines

    outcome = examine(variables_with(database), after_restore=after_restore, fix=fix)
    if json:
        print(as_json(outcome))
    else:
        if after_restore and IDS in outcome.checked:
            print(
                "new messages, topics and schedules get ids above all that were given out before the restore"
            )
        print(*as_lines(outcome), sep="\n")
    return 1 if outcome.problems else 0
