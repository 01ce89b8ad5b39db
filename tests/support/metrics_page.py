"""Generates the table of metrics in docs/reference/prometheus.md.

Also finds promtool: the installed program, or the program in Debian's package `prometheus`, which it unpacks without
root.

Also lists the metrics that exist, and the metrics in a Prometheus query.
"""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from penstock_web.local.debian import unpack_package
from penstock_web.local.state import cache_directory
from penstock_web.metrics.families import (
    BLOCKS,
    DATABASE_UP,
    DATABASE_WRITABLE,
    MEASUREMENT_AGE,
    QUEUE_GAUGES,
    QUEUE_VERDICTS,
    QUEUES_MEASURED,
    READINGS,
)
from penstock_web.metrics.family import Family


def families() -> list[tuple[Family, tuple[str, ...]]]:
    """Returns every metric with its labels in the order of /metrics."""
    own = [(family, block.labels) for block in BLOCKS.values() for family in block.families]
    read = [(family, tuple(label.split())) for family, label in READINGS.values()]
    queues: list[tuple[Family, tuple[str, ...]]] = [(family, ("queue",)) for family, _ in QUEUE_GAUGES]
    of_all = [(MEASUREMENT_AGE, ()), (QUEUES_MEASURED, ())]
    return [*own, (DATABASE_UP, ()), (DATABASE_WRITABLE, ()), *queues, *of_all, *QUEUE_VERDICTS.items(), *read]


def table() -> list[str]:
    return [line(family, labels) for family, labels in families()]


def line(family: Family, labels: tuple[str, ...]) -> str:
    """Returns a table row: name, type, labels, meaning, and a histogram's buckets."""
    bounds = f" Buckets: {', '.join(f'{bound:g}' for bound in family.buckets)}." if family.buckets else ""
    names = ", ".join(f"`{label}`" for label in labels)
    return f"| `{family.name}` | {family.kind} | {names or '—'} | {family.help}{bounds} |"


@cache
def promtool() -> str:
    """Returns the path of promtool. Raises LocalError, instead of skipping a check, if promtool is missing and a
    download fails.
    """
    if installed := shutil.which("promtool"):
        return installed
    return str(unpack_package("prometheus", cache_directory() / "prometheus") / "usr/bin/promtool")


def check(*arguments: str | Path, text: str = "") -> str:
    """Runs promtool and returns its output. promtool must succeed."""
    command = [promtool(), *map(str, arguments)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def exposed() -> set[str]:
    """Returns every metric name that a query may use."""
    names = {"up"}
    for family, _ in families():
        endings = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
        names |= {family.name + ending for ending in endings}
    return names


def named(query: str) -> set[str]:
    """Returns the metrics in a query: names with an underscore that are not functions, labels or time ranges."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|on|without|ignoring|group_left|group_right) ?\([^)]*\)", " ", query)
    return {name for name in re.findall(r"\b[a-z_]+\b(?! *\()", bare) if "_" in name or name == "up"}


def labels_of(query: str) -> dict[str, set[str]]:
    """Returns the labels that a query uses to select each metric's series."""
    return {
        name: set(re.findall(r"(\w+) *(?:=~|!~|!=|=) *\"", matchers))
        for name, matchers in re.findall(r"\b([a-z_]+)\{([^}]*)\}", query)
    }
