"""Writes elements of SVG and HTML. Every function escapes its texts."""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]

_TIME_STEPS = [timedelta(minutes=n) for n in (1, 5, 10, 30, 60, 180, 360, 720, 1440)] + [
    timedelta(days=n) for n in (2, 7, 14, 30, 90, 180, 365)
]
_MAX_TIME_TICKS = 7
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def element(name: str, /, *content: str, **attributes: object) -> str:
    """Returns `<name …>content</name>`. Writes the attribute `class_` as `class`, and `stroke_width` as `stroke-width`.
    `content` is markup, which the function does not escape.
    """
    written = "".join(f' {key.strip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(content)}</{name}>" if content else f"<{name}{written}/>"


def label(value: str, x: float, y: float, **attributes: object) -> str:
    """Returns a text element at a position."""
    return element("text", escape(value), x=x, y=y, **attributes)


def tooltip(value: str) -> str:
    """Returns a title for the surrounding element. Browsers show the title as a tooltip, and screen readers read the
    title.
    """
    return element("title", escape(value))


def picture(description: str, width: float, height: float, *content: str, **attributes: object) -> str:
    """Returns an SVG picture. The picture shrinks if its column is narrow."""
    return element(
        "svg", tooltip(description), *content,
        role="img", aria_label=description, viewBox=f"0 0 {_value(width)} {_value(height)}", width=width, **attributes,
    )  # fmt: skip


def _value(value: object) -> str:
    """Formats an attribute's value. Rounds numbers to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else escape(str(value))


class Scale(NamedTuple):
    """Maps the values between `low` and `high` to the pixels between `start` and `end`. Maps other values to the nearer
    end.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def paths(points: Sequence[tuple[datetime, Point]], gap: timedelta) -> Iterator[list[Point]]:
    """Splits points into segments. Two points more than `gap` apart belong to different segments, because the values
    between them are unknown.
    """
    segment: list[Point] = [point for _, point in points[:1]]
    for (earlier, _), (later, point) in pairwise(points):
        if later - earlier > gap:
            yield segment
            segment = []
        segment.append(point)
    if segment:
        yield segment


def line(points: Sequence[Point]) -> str:
    """Returns the path data of a line. A single point appears as a dot, because lines have round caps."""
    written = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M{written}h.01" if len(points) == 1 else f"M{written}"


def area(points: Sequence[Point], base: float) -> str:
    """Returns the path data of the area between the points and the base line."""
    return f"{line(points)}L{points[-1][0]:.1f} {base:.1f}L{points[0][0]:.1f} {base:.1f}Z"


def count_ticks(greatest: float, most: int = 4) -> list[float]:
    """Returns ticks for counts. Ticks are whole numbers. The last tick is at least 1."""
    return round_ticks(max(1.0, greatest), most, least_step=1.0)


def round_ticks(greatest: float, most: int = 4, least_step: float = 0.0) -> list[float]:
    """Returns ticks from 0 to `greatest` or more: multiples of 1, 2 or 5 times a power of ten."""
    rough = max(greatest / most, least_step, 1e-9)
    power = math.floor(math.log10(rough))
    step = next(n for n in (1, 2, 5, 10) if n * 10.0**power >= rough * (1 - 1e-9)) * 10.0**power
    return [step * n for n in range(max(1, math.ceil(greatest / step - 1e-9)) + 1)]


def time_ticks(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Returns at most eight times in UTC, at multiples of a step, with their labels. The label at midnight is the
    date.
    """
    step = next((s for s in _TIME_STEPS if (end - start) / s <= _MAX_TIME_TICKS), _TIME_STEPS[-1])
    first = math.ceil((start - _EPOCH) / step)
    moments = [_EPOCH + step * n for n in range(first, math.floor((end - _EPOCH) / step) + 1)]
    return [(at, _time_label(at, step)) for at in moments]


def _time_label(at: datetime, step: timedelta) -> str:
    if step >= timedelta(days=90):
        return f"{at:%b %Y}"
    return f"{at.day} {at:%b}" if at.hour == at.minute == 0 else f"{at:%H:%M}"


def join_markup(parts: Iterable[str]) -> str:
    return "".join(parts)


def clip_name(name: str) -> str:
    """Returns markup for a name. The browser cuts the name at the end of the column, and a tooltip shows the whole
    name.
    """
    return f'<span class="name" title="{escape(name)}">{escape(name)}</span>'


def figure(caption: str, picture: str) -> str:
    """Returns a picture with a caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


def key(kind: str, text: str) -> str:
    """Returns an entry of a legend: a stroke with the CSS class `kind`, and its meaning."""
    stroke = element("path", d="M1 4H27", class_=f"line {kind}")
    return f'<li><svg viewBox="0 0 28 8" aria-hidden="true">{stroke}</svg>{escape(text)}</li>'


def small(markup: str) -> str:
    """Returns markup for a second line in small letters. Returns an empty string for empty markup."""
    return f"<small>{markup}</small>" if markup else ""
