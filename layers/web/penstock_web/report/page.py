"""Writes the report as HTML. Reads the database section by section. The report does not contain scripts, fonts or
links. The first part shows the current state of the queues, from the service's per-minute data (now.py, last_hours.py).
The second part shows the results of the metrics job (history.py).
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from .formats import moment
from .history import build_history_section
from .last_hours import build_last_hours
from .now import build_now_section
from .read import Reader

STYLE = files(__package__).joinpath("report.css")


def build_page(reader: Reader) -> Iterator[str]:
    """Yields the document in pieces. Raises QueueDoesNotExist before the first piece if the requested queue does not
    exist.
    """
    reader.check_queue()
    now = datetime.now(UTC)
    yield from _head(reader, now)
    shown: list[str] = []
    if reader.is_past(now):
        yield f'<p class="notice">This report ends at {moment(reader.span.end)} UTC and omits the current state.</p>'
    else:
        state = reader.read_state()
        yield from build_now_section(state)
        yield from build_last_hours(state.shown)
        shown = [queue.name for queue in state.shown]
    yield from build_history_section(reader, shown, now)
    yield "</main></body></html>\n"


def _head(reader: Reader, now: datetime) -> Iterator[str]:
    title = f"Penstock: {reader.queue or 'queues'}"
    account, region = reader.account_and_region
    yield f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{STYLE.read_text()}</style></head><body><main><header><h1>{escape(title)}</h1>"""
    yield f'<p class="quiet">Account {escape(account)}, {escape(region)}. Written {moment(now)} UTC.</p></header>'


def write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """Writes a file atomically. Replaces an existing file only when the new file is complete. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
