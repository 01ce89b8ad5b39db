"""The pictures of a results file: which columns of which study are drawn against each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .svg import Point, chart

FOLDER = Path(__file__).parents[1] / "docs" / "performance"


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
    """Write the pictures of one results file; their paths."""
    scenario, systems = str(document["scenario"]), cast("list[dict[str, Any]]", document["systems"])
    made = {picture.name: drawn(picture, systems) for picture in ROWS.get(scenario, [])}
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


def drawn(picture: Picture, systems: Sequence[dict[str, Any]]) -> str:
    curves = {
        str(system["system"]) + (f" {column}" if len(picture.curves) > 1 else ""): points(
            system, picture.x, column
        )
        for system in systems
        for column in picture.curves
    }
    kept = {name: curve for name, curve in curves.items() if curve}
    return chart(picture.title, picture.x, picture.y_label, kept, picture.logarithmic) if kept else ""


def points(system: dict[str, Any], x: str, y: str) -> list[Point]:
    rows = cast("list[dict[str, Any]]", system.get("rows") or [])
    return [
        (float(row[x]), float(row[y])) for row in rows if row.get(x) is not None and row.get(y) is not None
    ]


def over_time(scenario: str, series: dict[str, list[list[float]]]) -> dict[str, str]:
    """A picture for each kind of curve that there is."""
    made = {}
    for name, wanted, label in SERIES:
        curves = {curve: [(p[0], p[1]) for p in series[curve]] for curve in wanted if series.get(curve)}
        if curves:
            title = f"{scenario.replace('_', ' ')}: {name} over time"
            made[f"{scenario.replace('_', '-')}-{name}"] = chart(title, "seconds", label, curves)
    return made
