"""Runs operations without a database, and returns what they report."""

from collections.abc import Sequence

from penstock.drivers import run
from penstock.effects import Operation
from penstock.observing.reports import Report
from penstock.postgres.statement import Row, Statement


class Responses:
    """Imitates a database that returns the same rows for each call of a function."""

    def __init__(self, *responses: tuple[Statement[Row], Sequence[Sequence[object]]]) -> None:
        self._rows = {statement: statement.build_rows(rows) for statement, rows in responses}

    def call(self, statement: Statement[Row], _arguments: Sequence[object]) -> list[Row]:
        return self._rows[statement]


def reports(
    operation: Operation[object], *responses: tuple[Statement[Row], Sequence[Sequence[object]]]
) -> list[Report]:
    found: list[Report] = []
    run(operation, Responses(*responses), found.append)  # type: ignore[arg-type]
    return found
