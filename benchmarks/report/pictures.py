"""Draws the line charts of a summary, and defines the study and the columns of each chart.

The elements, scales and ticks come from `penstock_web.report.svg`. The background is always white, because the charts
appear on light pages and on dark pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, NamedTuple, cast

from penstock_web.report.svg import Point, Scale, element, join_markup, label, line, picture, round_ticks

FOLDER = Path(__file__).parents[2] / "docs" / "performance"


@dataclass(frozen=True, slots=True)
class Picture:
    """Describes a chart of columns in a study's rows. Every system has each of `curves`."""

    name: str
    title: str
    x: str
    curves: tuple[str, ...]
    y_label: str
    logarithmic: bool = False


def growth(name: str, label: str) -> list[Picture]:
    y = "publish ms" if name == "subscriptions" else "received/s"
    return [Picture(f"growth-{name}", f"{y} against {label}", name, (y,), y, logarithmic=True)]


ROWS: dict[str, list[Picture]] = {
    "warski_threads": [
        Picture("warski-threads", "Warski: received a second against threads", "threads", ("received/s",), "messages/s")
    ],
    "warski_nodes_threads": [
        Picture("warski-nodes", "Warski: 25 threads a node", "nodes", ("received/s",), "messages/s")
    ],
    "growth_backlog": growth("backlog", "waiting messages"),
    "growth_queues": growth("queues", "queues"),
    "growth_groups": growth("groups", "FIFO groups"),
    "growth_subscriptions": growth("subscriptions", "subscriptions"),
    "growth_connections": growth("connections", "connections"),
}
# Lists the charts of stored series: name, curves, and the label of the axis.
SERIES = (
    ("backlog", ("backlog of the first group", "backlog of the second group"), "messages"),
    ("rate", ("rate of pushes",), "messages/s"),
    ("latency", ("queue wait p50 ms", "queue wait p99 ms", "completion p50 ms", "completion p99 ms"), "ms"),
)
DRAWN_OVER_TIME = {"queen_fifo"}
"""The repository contains at most ten charts. Studies that this list omits have only tables."""


def draw(document: dict[str, Any]) -> list[Path]:
    """Writes the charts of a summary, and returns their paths."""
    scenario, systems = str(document["scenario"]), cast("list[dict[str, Any]]", document["systems"])
    texts = {each.name: draw_picture(each, systems) for each in ROWS.get(scenario, [])}
    for system in systems:
        texts |= over_time(scenario, system.get("series") or {})
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in texts.items():
        if text:
            path = FOLDER / f"{name}.svg"
            path.write_text(text)
            paths.append(path)
    return paths


def draw_picture(wanted: Picture, systems: Sequence[dict[str, Any]]) -> str:
    curves = {
        str(system["system"]) + (f" {column}" if len(wanted.curves) > 1 else ""): points(system, wanted.x, column)
        for system in systems
        for column in wanted.curves
    }
    kept = {name: curve for name, curve in curves.items() if curve}
    return chart(wanted.title, wanted.x, wanted.y_label, kept, wanted.logarithmic) if kept else ""


def points(system: dict[str, Any], x: str, y: str) -> list[Point]:
    rows = cast("list[dict[str, Any]]", system.get("rows") or [])
    return [(float(row[x]), float(row[y])) for row in rows if row.get(x) is not None and row.get(y) is not None]


def over_time(scenario: str, series: dict[str, list[list[float]]]) -> dict[str, str]:
    """Returns a chart for each series of a scenario in DRAWN_OVER_TIME, and no charts for other scenarios."""
    texts: dict[str, str] = {}
    if scenario not in DRAWN_OVER_TIME:
        return texts
    for name, wanted, y_label in SERIES:
        curves = {curve: [(p[0], p[1]) for p in series[curve]] for curve in wanted if series.get(curve)}
        if curves:
            title = f"{scenario.replace('_', ' ')}: {name} over time"
            texts[f"{scenario.replace('_', '-')}-{name}"] = chart(title, "seconds", y_label, curves)
    return texts


# --- a chart ---------------------------------------------------------------------------------------------------------
WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 80, 56
COLOURS = (
    "#0b6e99", "#c4421a", "#2e7d32", "#7b3fa0", "#b58900", "#444444", "#00897b", "#ad1457", "#5d4037", "#1a237e",
)  # fmt: skip
MAX_TICKS = 5
MIN_POINTS_WITHOUT_DOTS = 40
"""If a curve has fewer points than this, each point is drawn as a dot."""


class Axis(NamedTuple):
    """Maps values to pixels.

    A logarithmic axis shows powers of ten, and puts zero at the smallest power.
    """

    scale: Scale
    ticks: list[float]
    logarithmic: bool

    def __call__(self, value: float) -> float:
        return self.scale(log10(max(value, self.ticks[0])) if self.logarithmic else value)


def axis_of(values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> Axis:
    """Returns an axis from zero to a round number above the largest value.

    A logarithmic axis starts at the power of ten below the smallest positive value.
    """
    most = max(values, default=1.0)
    if not logarithmic:
        ticks = round_ticks(most, MAX_TICKS)
        return Axis(Scale(0.0, ticks[-1], start, end), ticks, False)
    least = min((value for value in values if value > 0), default=1.0)
    low = floor(log10(least))
    high = max(ceil(log10(max(most, least))), low + 1)
    return Axis(Scale(low, high, start, end), [10.0**n for n in range(low, high + 1)], True)


def chart(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Sequence[Point]], logarithmic_x: bool = False
) -> str:
    """Draws a line chart with a legend and a different colour for each curve. Raises ValueError if there are no
    points."""
    values = [point for curve in curves.values() for point in curve]
    if not values:
        raise ValueError("nothing to draw")
    x = axis_of([point[0] for point in values], LEFT, WIDTH - RIGHT, logarithmic_x)
    y = axis_of([point[1] for point in values], HEIGHT - BOTTOM, TOP)
    longest = max(map(len, curves))
    parts = [
        element("rect", width=WIDTH, height=HEIGHT, fill="white"),
        label(title, LEFT, 20, font_size=15),
        *marks(x, y),
        label(x_label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, text_anchor="middle"),
        vertical_label(y_label, 18, (TOP + HEIGHT - BOTTOM) / 2),
    ]
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [(x(at), y(value)) for at, value in sorted(curve)]
        parts += [drawn_line(places, colour), legend(number, name, colour, longest)]
    return picture(
        title, WIDTH, HEIGHT, "\n", "\n".join(parts), "\n",
        xmlns="http://www.w3.org/2000/svg", font_family="sans-serif", font_size=12,
    ) + "\n"  # fmt: skip


def marks(x: Axis, y: Axis) -> list[str]:
    """Draws the ticks of both axes, and a line across the chart at each tick of the vertical axis."""
    bottom = HEIGHT - BOTTOM
    found = [label(format_tick(tick), x(tick), bottom + 18, text_anchor="middle") for tick in x.ticks]
    for tick in y.ticks:
        at = y(tick)
        found.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, stroke="#dddddd"))
        found.append(label(format_tick(tick), LEFT - 8, at + 4, text_anchor="end"))
    return found


def vertical_label(text: str, x: float, y: float) -> str:
    """Draws a rotated label, which the reader reads upwards."""
    return label(text, x, y, text_anchor="middle", transform=f"rotate(-90 {x} {y})")


def drawn_line(places: Sequence[Point], colour: str) -> str:
    path = element("path", d=line(places), fill="none", stroke=colour, stroke_width=2, stroke_linecap="round")
    if len(places) >= MIN_POINTS_WITHOUT_DOTS:
        return path
    return join_markup([path, *(element("circle", cx=x, cy=y, r=3, fill=colour) for x, y in places)])


def legend(number: int, name: str, colour: str, longest: int) -> str:
    """Draws the entry of a curve in the legend. The legend has four columns for short names, and fewer for long names.

    `longest` is the number of characters of the longest name.
    """
    columns = min(4, 660 // (7 * longest + 20) or 1)
    x, y = LEFT + (number % columns) * (660 // columns), 38 + (number // columns) * 14
    return element("rect", x=x, y=y - 8, width=10, height=8, fill=colour) + label(name, x + 14, y)


def format_tick(value: float) -> str:
    """Returns the text of a tick, such as 20k, 5M or 0.25."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{sign}"
    return f"{value:.6g}"
