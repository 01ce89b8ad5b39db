"""The table of `penstock top`: its columns, its order, the keys that change the order, and the lines above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.management.verdicts import QUEUE_LEVELS, rank_badness
from penstock.verdicts import Verdict
from penstock_web.local.terminal_text import to_printable
from penstock_web.report.formats import plural, rate_with_unit

from .bus_lines import NO_BUSES, BusReading, build_lines, build_problem_lines
from .lag import ListedQueue, Rates, emptying, find_largest_rates, find_verdict_in, show_state

_HEAD_LINES: Final = 4
"""The lines above the first queue without problems and event buses: the summary, the keys, an empty line or an error,
and the titles."""
_LEAST_QUEUES: Final = 3
"""At least this many queues have a line below the problems and the event buses."""
_BUS_SHARE: Final = 4
"""Event buses have at most this part of the terminal's lines: one in four."""


class Row(NamedTuple):
    """A queue with its verdict, which is None if the queue was created just now."""

    queue: ListedQueue
    verdict: Verdict | None


class Column(NamedTuple):
    """A column by which the table can be sorted. `falls` says whether the highest value comes first."""

    key: str
    title: str
    sort_key: Callable[[Row], tuple[float, ...] | str]
    falls: bool = True


def _badness(row: Row) -> tuple[float, ...]:
    return rank_badness(row.verdict) if row.verdict else (float("inf"),)


COLUMNS: Final = {
    "queue": Column("n", "queue", lambda row: row.queue.name, falls=False),
    "verdict": Column("t", "verdict", _badness, falls=False),
    "visible": Column("v", "visible", lambda row: (row.queue.now.visible,)),
    "in_flight": Column("f", "in flight", lambda row: (row.queue.now.in_flight,)),
    "delayed": Column("d", "delayed", lambda row: (row.queue.now.delayed,)),
    "oldest": Column("a", "oldest", lambda row: (row.queue.now.oldest_age_us,)),
    "in": Column("i", "in", lambda row: (row.verdict.arrival_rate if row.verdict else 0.0,)),
    "out": Column("o", "out", lambda row: (row.verdict.drain_rate if row.verdict else 0.0,)),
}
_TITLES: Final = {name: column.title for name, column in COLUMNS.items()} | {"empty": "empty", "why": "why"}
_DISPENSABLE: Final = ("empty", "delayed", "in_flight", "why", "out", "in", "oldest")
"""The columns that a narrow terminal does not show if they do not fit, the least important first."""
_LEAST: Final = {"queue": 40, "why": 32}
"""The least widths of columns that are shortened, if a text is longer."""
_GAP: Final = 2
KEYS: Final = {column.key: name for name, column in COLUMNS.items()}
HELP: Final = (
    "q quit", "space refresh", "↑ ↓ scroll", "sort: t verdict", "n name", "v visible", "a age", "r reverse", "i in",
    "o out", "f in flight", "d delayed",
)  # fmt: skip
"""The keys. A narrow terminal shows as many of the first as fit."""


class QueueTable:
    """The queues, and what the user has chosen."""

    def __init__(self, endpoint: str, order: str = "verdict") -> None:
        self.endpoint = endpoint
        self.order = order
        self.is_reversed = False
        self.first = 0
        self.rows: list[Row] = []
        self.largest = find_largest_rates([])
        self.read_at = datetime.now(UTC)
        self.error = ""
        self.width = 80
        self.concerns: int | None = None
        self.buses = NO_BUSES

    def take(self, queues: Sequence[ListedQueue], concerns: int | None = None, buses: BusReading = NO_BUSES) -> None:
        """Replaces the queues and the event buses. `concerns` is the number of everything that needs attention, or None
        if unknown."""
        self.concerns, self.buses = concerns, buses
        self.rows = [Row(queue, find_verdict_in(queue.verdict) if queue.verdict else None) for queue in queues]
        self.largest = find_largest_rates([row.verdict for row in self.rows if row.verdict])
        self.read_at, self.error = datetime.now(UTC), ""

    def press(self, key: str, height: int) -> bool:
        """Applies a key on a terminal with `height` lines. Returns False if the key ends the program. Ignores unknown
        keys.
        """
        page = self.visible_rows(height)
        last = max(0, len(self.rows) - page)
        places = {
            "up": self.first - 1,
            "down": self.first + 1,
            "page up": self.first - page,
            "page down": self.first + page,
            "home": 0,
            "end": last,
        }
        if key in KEYS:
            self.order, self.is_reversed, self.first = KEYS[key], False, 0
        elif key == "r":
            self.is_reversed, self.first = not self.is_reversed, 0
        elif key in places:
            self.first = max(0, min(places[key], last))
        return key != "q"

    def visible_rows(self, height: int) -> int:
        """Returns the number of queues that a terminal with `height` lines shows."""
        return max(1, height - _HEAD_LINES - len(self.list_lines(height)))

    def list_lines(self, height: int) -> list[Text]:
        """Returns the lines about problems and event buses, which a terminal with `height` lines shows above the
        queues."""
        buses = build_lines(self.buses, height // _BUS_SHARE)
        free_lines = height - _HEAD_LINES - _LEAST_QUEUES - len(buses)
        return build_problem_lines(self.buses.troubled, self.width, free_lines) + buses

    def sort(self) -> list[Row]:
        """Returns the rows in the chosen order. Equal rows are in the order of their names."""
        column = COLUMNS[self.order]
        rows = sorted(self.rows, key=lambda row: row.queue.name)
        return sorted(rows, key=column.sort_key, reverse=column.falls is not self.is_reversed)

    def render(self, width: int, height: int) -> RenderableType:
        """Returns what a terminal with `width` columns and `height` lines shows."""
        self.width = width
        page = self.visible_rows(height)
        self.first = max(0, min(self.first, len(self.rows) - page))
        error = Text(to_printable(self.error), "red", no_wrap=True, overflow="ellipsis")
        keys = _join_fitting([Text(part, "dim") for part in HELP], width, "  ")
        lines = self.list_lines(height)
        queues = self.table(width, self.sort()[self.first : self.first + page])
        return Group(self._summary(width), keys, *lines, error, queues)

    def table(self, width: int, rows: Sequence[Row]) -> Table:
        """Returns a table that is at most `width` characters wide: leaves out columns that do not fit."""
        cells = [_cells(row, self.largest) for row in rows]
        titles = {name: self._title(name) for name in _TITLES}
        widths = {name: max([len(titles[name]), *(row[name].cell_len for row in cells)]) for name in titles}
        shown = self._fitting(widths, width)
        rest = sum(min(widths[name], _LEAST.get(name, width)) + _GAP for name in shown if name != "queue")
        found = Table(
            box=None, pad_edge=False, header_style="bold", expand="why" in shown and widths["why"] > _LEAST["why"]
        )
        for name in shown:
            found.add_column(
                titles[name],
                justify="left" if name in {"queue", "verdict", "why"} else "right",
                no_wrap=True,
                overflow="ellipsis",
                width=max(1, min(widths["queue"], width - rest)) if name == "queue" else None,
                ratio=1 if name == "why" else None,
            )
        for row in cells:
            found.add_row(*(row[name] for name in shown))
        return found

    def _title(self, name: str) -> str:
        """Returns a column's title. An arrow marks the column by which the table is sorted."""
        column = COLUMNS.get(name)
        if column is None or name != self.order:
            return _TITLES[name]
        return f"{column.title}{'▲' if column.falls is self.is_reversed else '▼'}"

    def _fitting(self, widths: dict[str, int], width: int) -> list[str]:
        """Returns the names of the columns that fit. Keeps the column by which the table is sorted."""
        needed = {name: min(known, _LEAST.get(name, width)) + _GAP for name, known in widths.items()}
        shown = {name for name in widths if name not in _DISPENSABLE or name == self.order}
        for name in reversed(_DISPENSABLE):
            if sum(needed[each] for each in shown | {name}) - _GAP <= width:
                shown.add(name)
        return [name for name in widths if name in shown]

    def describe_rows(self) -> list[dict[str, object]]:
        """Returns the rows in the chosen order for a table in a file."""
        return [describe_row(row, self.largest) for row in self.sort()]

    def _summary(self, width: int) -> Text:
        verdicts = [row.verdict for row in self.rows if row.verdict]
        queues = sum(verdict.kind in QUEUE_LEVELS for verdict in verdicts)
        bad = queues if self.concerns is None else self.concerns
        shown_bad = plural(bad, "queue") if self.concerns is None else f"{bad:,}"
        arrivals, drained = (sum(getattr(verdict, name) for verdict in verdicts) for name in _RATES)
        parts = [
            Text(
                to_printable(self.endpoint),
                "bold",
            ),
            Text(plural(len(self.rows), "queue")),
            Text(f"{shown_bad} need{'s' if bad == 1 else ''} attention", "red" if bad else "green"),
            Text(f"in {rate_with_unit(arrivals)}  out {rate_with_unit(drained)}"),
            Text(f"{self.read_at:%H:%M:%S} UTC"),
        ]
        return _join_fitting(parts, width, "   ")


def _join_fitting(parts: Sequence[Text], width: int, gap: str) -> Text:
    """Joins as many of the first parts as fit, and at least one."""
    number = len(parts)
    while number > 1 and sum(part.cell_len + len(gap) for part in parts[:number]) - len(gap) > width:
        number -= 1
    shown = Text(gap).join(parts[:number])
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


_RATES: Final = ("arrival_rate", "drain_rate")


def _cells(row: Row, largest: Rates) -> dict[str, Text]:
    now, verdict = row.queue.now, row.verdict
    cells = {
        "queue": Text(to_printable(row.queue.name)),
        "verdict": Text() if verdict is None else show_state(verdict),
        "visible": Text(f"{now.visible:,}"),
        "in_flight": Text(f"{now.in_flight:,}"),
        "delayed": Text(f"{now.delayed:,}"),
        "oldest": Text(show_age(now.oldest_age_us // 1_000_000)),
    }
    shown = ("", "", "", "")
    if verdict is not None:
        arrivals = rate_with_unit(verdict.arrival_rate, largest.arrival)
        shown = arrivals, rate_with_unit(verdict.drain_rate, largest.drain), emptying(verdict), verdict.cause_text
    return cells | dict(zip(("in", "out", "empty", "why"), map(Text, map(to_printable, shown)), strict=True))


def describe_row(row: Row, largest: Rates) -> dict[str, object]:
    """Returns a row for a table in a file, with the age in seconds."""
    texts: dict[str, object] = {name: cell.plain for name, cell in _cells(row, largest).items()}
    now = row.queue.now
    counts = {"visible": now.visible, "in_flight": now.in_flight, "delayed": now.delayed}
    return texts | counts | {"oldest_seconds": now.oldest_age_us // 1_000_000}


def show_age(seconds: int) -> str:
    """Returns an age in its largest unit, such as 3 min, or "" for 0."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return ""
