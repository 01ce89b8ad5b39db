"""Implements `penstock watch`: shows the changes of a queue's verdict."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from penstock_web.cli.client import RefusedError, RestClient, build_queue_path
from penstock_web.cli.options import Endpoint, Json, Name
from penstock_web.cli.printing import STYLES, print_cells, print_json, print_lines
from penstock_web.cli.values import whole_number
from penstock_web.local_error import LocalError

if TYPE_CHECKING:
    from penstock.management.metrics.types import QueueVerdict

app = typer.Typer()

_COUNT = "end after this many lines: the first is the present verdict, and each other line is a change"


@app.command("watch", help="show a queue's verdict and every change of the verdict, until Ctrl-C")
def watch(
    name: Name,
    interval: Annotated[
        int,
        typer.Option(metavar="SECONDS", parser=whole_number(1, 3_600), help="time between two requests to the service"),
    ] = 5,
    count: Annotated[int | None, typer.Option(metavar="N", parser=whole_number(1, 1_000_000), help=_COUNT)] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints the current verdict, and then a line each time the verdict or its cause changes. The first line says that
    the command waits, because a queue can keep its verdict for days.
    """
    try:
        for before, verdict in islice(_watch_changes(RestClient(endpoint), name, interval), count):
            at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            if json:
                print_json({"at": at, "queue": name, "verdict": verdict})
            else:
                waits = before is None and count != 1
                print_cells(
                    [[(at, "dim"), (f"watching {name}:" if waits else name, "bold"), *_describe(before, verdict)]]
                )
            sys.stdout.flush()
    except KeyboardInterrupt:
        return


def _watch_changes(client: RestClient, name: str, interval: int) -> Iterator[tuple[QueueVerdict | None, QueueVerdict]]:
    """Yields the verdict before and the verdict after each change. Raises LocalError for an unknown queue, or if the
    first request fails. Reports a later outage of the service once on standard error, and continues.
    """
    before, is_away = None, False
    while True:
        try:
            verdict = _read(client, name)
        except LocalError as error:
            if before is None or not _is_outage(error):
                raise
            if not is_away:
                print_lines([f"penstock: {error}"], file=sys.stderr, style="red")
            is_away = True
        else:
            if is_away:
                print_lines(["penstock: the service responds again"], file=sys.stderr, style="green")
            is_away = False
            if verdict and (before is None or (verdict.kind, verdict.cause) != (before.kind, before.cause)):
                yield before, verdict
                before = verdict
        time.sleep(interval)


def _is_outage(error: LocalError) -> bool:
    return not isinstance(error, RefusedError) or error.code == "service_unavailable"


def _read(client: RestClient, name: str) -> QueueVerdict | None:
    """Returns the verdict, or None for a queue that was created just now."""
    import msgspec

    from penstock.management.metrics.types import QueueVerdict

    found = client.call("GET", build_queue_path(name, "/lag"))["verdict"]
    return None if found is None else msgspec.convert(found, QueueVerdict)


def _describe(before: QueueVerdict | None, verdict: QueueVerdict) -> Iterator[tuple[str, str]]:
    """Yields the texts of a line with their styles."""
    from penstock.verdicts.words import name_state

    words = name_state(verdict.kind, verdict.cause)
    former = words if before is None else name_state(before.kind, before.cause)
    yield words, STYLES[words]
    if former != words:
        yield f"(was {former})", ""
    if verdict.since is not None:
        start = verdict.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f"since {'before ' if verdict.since_or_before else ''}{start}", ""
    yield f"{verdict.backlog} visible", ""
    if verdict.cause_text:
        yield verdict.cause_text, ""
