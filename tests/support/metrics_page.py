"""Writes the table of /metrics in docs/reference/prometheus.md from the code.

The module also finds promtool, either the installed program or the program in Debian's package `prometheus`, which it
unpacks without root.
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from penstock_web.local.debian import unpack_package
from penstock_web.local.state import cache_directory
from penstock_web.metrics.families import (
    BLOCKS,
    DATABASE_UP,
    MEASUREMENT_AGE,
    QUEUE_GAUGES,
    QUEUE_VERDICTS,
    QUEUES_MEASURED,
    READINGS,
    Family,
)


def families() -> list[tuple[Family, tuple[str, ...]]]:
    """Returns every metric with its labels in the order of /metrics."""
    own = [(family, block.labels) for block in BLOCKS.values() for family in block.families]
    read = [(family, (label,) if label else ()) for family, label in READINGS.values()]
    queues: list[tuple[Family, tuple[str, ...]]] = [(family, ("queue",)) for family, _ in QUEUE_GAUGES]
    of_all = [(MEASUREMENT_AGE, ()), (QUEUES_MEASURED, ())]
    return [*own, (DATABASE_UP, ()), *queues, *of_all, *QUEUE_VERDICTS.items(), *read]


def table() -> list[str]:
    """Returns a line for each metric."""
    return [line(family, labels) for family, labels in families()]


def line(family: Family, labels: tuple[str, ...]) -> str:
    """Returns name, type, labels, meaning, and the bounds of a histogram."""
    bounds = f" Buckets: {', '.join(f'{bound:g}' for bound in family.buckets)}." if family.buckets else ""
    names = ", ".join(f"`{label}`" for label in labels)
    return f"| `{family.name}` | {family.kind} | {names or '—'} | {family.help}{bounds} |"


@cache
def promtool() -> str:
    """Returns the program. Raises LocalError if promtool is not installed and cannot be fetched, so no check is
    skipped.
    """
    if installed := shutil.which("promtool"):
        return installed
    return str(unpack_package("prometheus", cache_directory() / "prometheus") / "usr/bin/promtool")


def check(*arguments: str | Path, text: str = "") -> str:
    """Returns its output. promtool must succeed without remarks."""
    command = [promtool(), *map(str, arguments)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
