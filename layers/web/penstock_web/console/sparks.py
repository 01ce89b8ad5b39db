"""Draws small charts of an hour as SVG without styles, which the CSP forbids."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from penstock.verdicts import Minute
from penstock_web.report.svg import Scale, area, element, line, picture

from .charts import trust_picture

HOUR: Final = 60
WIDTH, HEIGHT = 96, 22


def depths(minutes: Sequence[Minute], now: datetime, length: int = HOUR) -> list[int | None]:
    """Returns the visible messages at the end of each of the last minutes, the oldest first. None means unknown."""
    found = {row.starts_at: row.visible for row in minutes}
    start = now.replace(second=0, microsecond=0) - timedelta(minutes=length)
    earlier = [row.visible for row in minutes if row.starts_at < start and row.visible is not None]
    depth = earlier[-1] if earlier else None
    values: list[int | None] = []
    for number in range(length):
        measured = found.get(start + timedelta(minutes=number))
        depth = depth if measured is None else measured
        values.append(depth)
    return values


def spark(values: Sequence[int | None], text: str) -> Markup:
    """Draws a line with the area below it. An unknown value is a gap."""
    known = [value for value in values if value is not None]
    if not known:
        return Markup()
    across, up = Scale(0, len(values) - 1, 1, WIDTH - 1), Scale(0, max(1, *known), HEIGHT - 2, 3)
    points = [(across(n), up(value)) for n, value in enumerate(values) if value is not None]
    shape = element("path", d=area(points, HEIGHT - 1), class_="area first") if len(points) > 1 else ""
    stroke = element("path", d=line(points), class_="line first")
    return trust_picture(picture(text, WIDTH, HEIGHT, shape, stroke, class_="spark"))
