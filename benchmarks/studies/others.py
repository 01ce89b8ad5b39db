"""Benchmarks that also run as separate programs. They start their services and write their results."""

from collections.abc import Callable
from functools import partial

from . import fairness, schedules
from .study import Bench, Findings, Study


def measure(main: Callable[[list[str]], int], bench: Bench) -> Findings:
    """Runs a program with its defaults; for a shorter time with a small --scale."""
    scale = float(bench.options.scale)
    seconds = [] if scale >= 1 else ["--seconds", f"{max(5, round(30 * scale))}"]
    return Findings([], main(seconds + ["--no-results"] * bool(bench.options.no_results)) == 0)


STUDIES = [
    Study(
        "fairness",
        "how long quiet tenants wait beside a noisy one",
        partial(measure, fairness.main),
        alone=True,
    ),
    Study(
        "schedules",
        "how late schedules fire, and what idle ones cost",
        partial(measure, schedules.main),
        alone=True,
    ),
]
