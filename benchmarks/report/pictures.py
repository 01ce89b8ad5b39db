"""The pictures of a summary: which columns of which study are drawn against each other, as charts of lines.

The elements, scales and ticks are those of `penstock_web.report.svg`. The charts are read on light and on dark pages:
the ground is white and stays so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, NamedTuple, cast

from penstock_web.report.svg import Point, Scale, element, joined, label, line, picture, round_ticks

FOLDER = Path(__file__).parents[2] / "docs" / "performance"


@dataclass(frozen=True, slots=True)
class Picture:
    """Columns of the rows of a study; each of `curves` is drawn for every system."""

    name: str
    title: str
    x: str
    curves: tuple[str, ...]
    y_label: str
    logarithmic: bool = False


def growth(name: str, label: str) -> list[Picture]:
    y = ("publish ms",) if name == "subscriptions" else ("received/s",)
    cost = ("CPU ms",) if name == "subscriptions" else ("CPU s/1000",)
    return [
        Picture(f"growth-{name}", f"{y[0]} against {label}", name, y, y[0], logarithmic=True),
        Picture(f"growth-{name}-cost", f"{cost[0]} against {label}", name, cost, cost[0], logarithmic=True),
    ]


ROWS: dict[str, list[Picture]] = {
    "warski_threads": [
        Picture(
            "warski-threads",
            "Warski: received a second against threads",
            "threads",
            ("received/s",),
            "messages/s",
        ),
        Picture(
            "warski-threads-sent",
            "Warski: sent a second against threads",
            "threads",
            ("sent/s",),
            "messages/s",
        ),
    ],
    "warski_nodes_threads": [
        Picture("warski-nodes", "Warski: 25 threads a node", "nodes", ("received/s",), "messages/s"),
    ],
    "growth_backlog": growth("backlog", "waiting messages"),
    "growth_queues": growth("queues", "queues"),
    "growth_groups": growth("groups", "FIFO groups"),
    "growth_subscriptions": growth("subscriptions", "subscriptions"),
    "growth_connections": growth("connections", "connections"),
    "growth_body_bytes": growth("body_bytes", "bytes of a body"),
}
# Of studies that keep series: (picture, its curves, what the axis says).
SERIES = (
    ("backlog", ("backlog of the first group", "backlog of the second group"), "messages"),
    ("rate", ("rate of pushes",), "messages/s"),
    ("latency", ("queue wait p50 ms", "queue wait p99 ms", "completion p50 ms", "completion p99 ms"), "ms"),
    ("database", ("database MiB",), "MiB"),
    ("memory", ("memory of the service MiB",), "MiB"),
)


def draw(document: dict[str, Any]) -> list[Path]:
    """Write the pictures of one summary; their paths."""
    scenario, systems = str(document["scenario"]), cast("list[dict[str, Any]]", document["systems"])
    made = {each.name: drawn(each, systems) for each in ROWS.get(scenario, [])}
    for system in systems:
        made |= over_time(scenario, system.get("series") or {})
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in made.items():
        if text:
            path = FOLDER / f"{name}.svg"
            path.write_text(text)
            paths.append(path)
    return paths


def drawn(wanted: Picture, systems: Sequence[dict[str, Any]]) -> str:
    curves = {
        str(system["system"]) + (f" {column}" if len(wanted.curves) > 1 else ""): points(
            system, wanted.x, column
        )
        for system in systems
        for column in wanted.curves
    }
    kept = {name: curve for name, curve in curves.items() if curve}
    return chart(wanted.title, wanted.x, wanted.y_label, kept, wanted.logarithmic) if kept else ""


def points(system: dict[str, Any], x: str, y: str) -> list[Point]:
    rows = cast("list[dict[str, Any]]", system.get("rows") or [])
    return [
        (float(row[x]), float(row[y])) for row in rows if row.get(x) is not None and row.get(y) is not None
    ]


def over_time(scenario: str, series: dict[str, list[list[float]]]) -> dict[str, str]:
    """A picture for each kind of curve that there is."""
    made = {}
    for name, wanted, y_label in SERIES:
        curves = {curve: [(p[0], p[1]) for p in series[curve]] for curve in wanted if series.get(curve)}
        if curves:
            title = f"{scenario.replace('_', ' ')}: {name} over time"
            made[f"{scenario.replace('_', '-')}-{name}"] = chart(title, "seconds", y_label, curves)
    return made


# --- a chart ---------------------------------------------------------------------------------------------------------
WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 80, 56
COLOURS = (
    "#0b6e99", "#c4421a", "#2e7d32", "#7b3fa0", "#b58900", "#444444", "#00897b", "#ad1457", "#5d4037", "#1a237e",
)  # fmt: skip
MOST_TICKS = 5
FEW_POINTS = 40
"""A curve of fewer points has a dot at each."""


class Axis(NamedTuple):
    """Pixels of a value, and where its ticks are. Logarithmic axes show powers of ten; zero is at the smallest one."""

    scale: Scale
    ticks: list[float]
    logarithmic: bool

    def __call__(self, value: float) -> float:
        return self.scale(log10(max(value, self.ticks[0])) if self.logarithmic else value)


def axis_of(values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> Axis:
    """From zero, or the power of ten below the smallest positive value, to a round number above the largest."""
    most = max(values, default=1.0)
    if not logarithmic:
        ticks = round_ticks(most, MOST_TICKS)
        return Axis(Scale(0.0, ticks[-1], start, end), ticks, False)
    least = min((value for value in values if value > 0), default=1.0)
    low = floor(log10(least))
    high = max(ceil(log10(max(most, least))), low + 1)
    return Axis(Scale(low, high, start, end), [10.0**n for n in range(low, high + 1)], True)


def chart(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Sequence[Point]], logarithmic_x: bool = False
) -> str:
    """Lines in axes with round numbers, one colour a curve, with a legend. Raises ValueError without a point."""
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
        turned(y_label, 18, (TOP + HEIGHT - BOTTOM) / 2),
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
    """The ticks of both axes, and a line across the chart at each of the vertical one."""
    bottom = HEIGHT - BOTTOM
    found = [label(shown(tick), x(tick), bottom + 18, text_anchor="middle") for tick in x.ticks]
    for tick in y.ticks:
        at = y(tick)
        found.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, stroke="#dddddd"))
        found.append(label(shown(tick), LEFT - 8, at + 4, text_anchor="end"))
    return found


def turned(text: str, x: float, y: float) -> str:
    """A label that is read from below."""
    return label(text, x, y, text_anchor="middle", transform=f"rotate(-90 {x} {y})")


def drawn_line(places: Sequence[Point], colour: str) -> str:
    path = element("path", d=line(places), fill="none", stroke=colour, stroke_width=2, stroke_linecap="round")
    if len(places) >= FEW_POINTS:
        return path
    return joined([path, *(element("circle", cx=x, cy=y, r=3, fill=colour) for x, y in places)])


def legend(number: int, name: str, colour: str, longest: int) -> str:
    """`longest`: characters of the longest name; four columns when they are short, else fewer."""
    columns = min(4, 660 // (7 * longest + 20) or 1)
    x, y = LEFT + (number % columns) * (660 // columns), 38 + (number // columns) * 14
    return element("rect", x=x, y=y - 8, width=10, height=8, fill=colour) + label(name, x + 14, y)


def shown(value: float) -> str:
    """A number of a scale: 20k, 5M, 0.25."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{sign}"
    return f"{value:.6g}"
