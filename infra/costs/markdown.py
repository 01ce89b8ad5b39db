"""Figures as text, and tables of Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from .figures import month_seconds
from .inputs import Inputs

WIDTH = 120


def paragraph(text: str) -> Iterator[str]:
    """The lines of a paragraph, or of one item of a list."""
    yield from wrap(
        text,
        WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
        subsequent_indent="  " * text.startswith("- "),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def dollars(value: float) -> str:
    """Whole dollars from 1,000."""
    return f"${value:,.0f}" if value >= 1000 else f"${value:,.2f}"


def rate(inputs: Inputs, messages: float) -> str:
    """Messages a month, as so many a second."""
    second = messages / month_seconds(inputs)
    return f"{second:,.0f}" if second >= 10 else f"{second:.1f}"
