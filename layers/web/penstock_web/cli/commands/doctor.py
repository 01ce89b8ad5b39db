"""Implements `penstock doctor`: examines settings, database and pooler, and suggests remedies. With --after-restore,
the command first raises ids above all ids that a restore from a backup lost.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock_web.cli.database_option import DatabaseAddress, build_variables_with

app = typer.Typer()


@app.command("doctor", help="examine settings, database and pooler, and suggest remedies")
def doctor(
    database: DatabaseAddress = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    after_restore: Annotated[
        bool, typer.Option("--after-restore", help="first raise the ids above all ids that the restore lost")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="end subscriptions that other accounts' queue policies do not allow")
    ] = False,
) -> int:
    """Runs the checks and prints the findings. Returns 1 if there are problems, and 0 otherwise."""
    from penstock_web.cli.printing import print_lines
    from penstock_web.doctor.checks import IDS, examine
    from penstock_web.doctor.report import as_json, as_lines

    outcome = examine(build_variables_with(database), after_restore=after_restore, fix=fix)
    if json:
        print(as_json(outcome))
    else:
        if after_restore and IDS in outcome.checked:
            print("new messages, topics and schedules will have higher ids than all ids from before the restore")
        print_lines(as_lines(outcome), style=_choose_style)
    return 1 if outcome.problems else 0


def _choose_style(line: str) -> str:
    """Returns the style of a line of the report: a problem, an advice, the result, or an explanation."""
    if line.startswith((" ", "checked:", "not checked")):
        return ""
    if line == "no problem found":
        return "green"
    return "yellow" if line.startswith("advice:") else "red"
