"""Implements `penstock metrics lag`: shows the verdicts on an account's queues as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

import msgspec
from rich.table import Table
from rich.text import Text

from penstock.aws.arn import resolve_queue_arn
from penstock.drivers import run
from penstock.management.metrics.types import Now, QueueVerdict
from penstock.management.metrics.views import show_verdict
from penstock.management.verdicts import list_queue_names, rank_badness, read_verdicts
from penstock.verdicts import TARGET_LAG_SECONDS, Emptying, Kind, Verdict
from penstock.verdicts.words import name_state
from penstock_web.local.terminal_text import to_printable
from penstock_web.report.formats import rate_with_unit

from . import printing
from .bus_lines import NO_BUSES, BusReading, read_buses
from .client import RefusedError, RestClient

if TYPE_CHECKING:
    from penstock.postgres.database import Database
    from penstock.settings import Settings

WIDTH_OF_A_FILE: Final = 160
"""The width of a table, in characters, if the output is not a terminal."""


class NamedVerdict(msgspec.Struct):
    """A line of JSON."""

    name: str
    verdict: QueueVerdict


def read_all(database: Database, settings: Settings, target_lag_seconds: int) -> list[tuple[str, Verdict]]:
    """Returns the names and verdicts of QUEUE_ACCOUNT_ID's queues, from the worst to the best."""
    found: list[tuple[str, Verdict]] = []
    for names in list_queue_names(database, settings):
        arns = {resolve_queue_arn(settings.queue_region, settings.queue_account_id, name) or "": name for name in names}
        operation = read_verdicts(list(arns), settings.queue_in_flight_limit, target_lag_seconds)
        found += [(arns[arn], verdict) for arn, verdict in run(operation, database).items()]
    return sorted(found, key=lambda queue: (*rank_badness(queue[1]), queue[0]))


class ListedQueue(msgspec.Struct):
    """A queue in the response of GET /v1/metrics/lag."""

    name: str
    now: Now
    verdict: QueueVerdict | None


class _Page(msgspec.Struct):
    """The response of GET /v1/metrics/lag."""

    queues: list[ListedQueue]
    next: str | None = None


def ask_service(endpoint: str | None, target_lag_seconds: int) -> list[tuple[str, Verdict]]:
    """Returns the names and verdicts of the caller's queues, from the worst to the best. Reads over the REST API."""
    queues = list_queues(RestClient(endpoint), target_lag_seconds)
    found = [(queue.name, find_verdict_in(queue.verdict)) for queue in queues if queue.verdict is not None]
    return sorted(found, key=lambda queue: (*rank_badness(queue[1]), queue[0]))


class Reading(NamedTuple):
    """The queues, the number of the concerns that the console's overview and `penstock status` show, and the event
    buses. The number is None if the caller's policies do not allow to read the concerns.
    """

    queues: list[ListedQueue]
    concerns: int | None
    buses: BusReading = NO_BUSES


def read_all_queues(client: RestClient) -> Reading:
    """Returns the caller's queues in the order of their names, the number of concerns, and the event buses."""
    queues = list_queues(client)
    try:
        concerns = client.call_list("/metrics/attention", "concerns")
    except RefusedError:
        return Reading(queues, None, read_buses(client, []))
    return Reading(queues, len(concerns), read_buses(client, concerns))


def list_queues(client: RestClient, target_lag_seconds: int = TARGET_LAG_SECONDS) -> list[ListedQueue]:
    """Returns the caller's queues in the order of their names. Reads over the REST API, 200 queues in a request."""
    path = f"/metrics/lag?limit=200&target_lag_seconds={target_lag_seconds}"
    page = client.call_as(_Page, "GET", path)
    found = page.queues
    while page.next is not None:
        page = client.call_as(_Page, "GET", f"{path}&next={quote(page.next, safe='')}")
        found += page.queues
    return found


def find_verdict_in(document: QueueVerdict) -> Verdict:
    """Converts a document to a verdict. The document omits the number of expired messages."""
    names = {field.name for field in fields(Verdict)} & {*QueueVerdict.__struct_fields__}
    shown = {name: getattr(document, name) for name in names}
    empties = None
    if document.empties_at is not None and document.empties_low is not None:
        empties = Emptying(document.empties_at, document.empties_low, document.empties_high)
    return Verdict(**shown, empties=empties)


def print_json(queues: Sequence[tuple[str, Verdict]], _all: int) -> None:
    """Prints one line of JSON for each queue. The verdict has the format of GET /v1/metrics/lag."""
    for name, verdict in queues:
        printing.print_json(NamedVerdict(name, show_verdict(verdict)))


def print_table(queues: Sequence[tuple[str, Verdict]], number_of_all: int) -> None:
    """Prints a table as wide as the terminal."""
    console = printing.open_console()
    if not console.is_terminal:
        console.width = WIDTH_OF_A_FILE
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("queue", "verdict", "since", "why"):
        table.add_column(title, overflow="fold")
    for title in ("backlog", "in", "out", "empty", "consumers"):
        table.add_column(title, justify="right", no_wrap=True)
    largest = find_largest_rates([verdict for _, verdict in queues])
    for name, verdict in queues:
        table.add_row(*cells(name, verdict, largest))
    console.print(table, soft_wrap=False)
    if len(queues) < number_of_all:
        console.print(f"{number_of_all - len(queues)} more queues")


class Rates(NamedTuple):
    """The largest rates of a table, which choose the units of its columns."""

    arrival: float
    drain: float


def find_largest_rates(verdicts: Sequence[Verdict]) -> Rates:
    arrivals, drains = [one.arrival_rate for one in verdicts], [one.drain_rate for one in verdicts]
    return Rates(max(arrivals, default=0.0), max(drains, default=0.0))


def cells(name: str, verdict: Verdict, largest: Rates) -> Iterator[Text]:
    """Yields the cells of a queue's row."""
    yield Text(to_printable(name))
    yield show_state(verdict)
    yield Text(("before " if verdict.since_or_before else "") + moment(verdict.since))
    yield Text(to_printable(verdict.cause_text))
    yield Text(f"{verdict.backlog:,}")
    yield Text(rate_with_unit(verdict.arrival_rate, largest.arrival))
    yield Text(rate_with_unit(verdict.drain_rate, largest.drain))
    yield Text(emptying(verdict))
    yield Text(consumers(verdict))


def show_state(verdict: Verdict) -> Text:
    """Returns the verdict as coloured words."""
    words = name_state(verdict.kind, verdict.cause)
    return Text(words, printing.STYLES[words])


def moment(at: datetime | None) -> str:
    """Formats a time in UTC, or returns an empty string for None."""
    return "" if at is None else at.astimezone(UTC).strftime("%d %b %H:%M")


def emptying(verdict: Verdict) -> str:
    """Formats the time when the queue will be empty: an estimate and its interval."""
    empties = verdict.empties
    if empties is None:
        return "never" if verdict.kind is Kind.FALLING_BEHIND else ""
    last = "never" if empties.high is None else empties.high.strftime("%H:%M")
    return f"{empties.at:%H:%M} ({empties.low:%H:%M}-{last})"


def consumers(verdict: Verdict) -> str:
    """Formats the current and the needed number of consumers. A question mark replaces an unknown number."""
    if verdict.consumers_needed is None:
        return ""
    return f"{verdict.consumers_now or '?'} of {verdict.consumers_needed}"
