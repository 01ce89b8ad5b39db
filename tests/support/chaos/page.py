"""Writes the tables of docs/explain/reliability.md from the summary of all runs, in `make generate`."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.chaos.summary import ROOT, runs

PAGE: Final = ROOT / "docs/explain/reliability.md"
BEGIN: Final = "<!-- written by `make generate` from reliability/runs.jsonl -->\n"


def page(path: Path = PAGE) -> str:
    """Returns the whole page with the tables of today's summary."""
    return path.read_text().partition(BEGIN)[0] + BEGIN + "\n" + "\n".join(_tables(runs())) + "\n"


def _tables(every: list[dict[str, Any]]) -> Iterator[str]:
    columns = ("runs", "time", "acknowledged", "delivered", *_GROUPS, "findings")
    yield f"| {' | '.join(columns)} |"
    yield "| --- " * len(columns) + "|"
    for mode in sorted({run["mode"] for run in every}):
        yield _totals(mode, [run for run in every if run["mode"] == mode])
    yield _totals("all", every)
    yield ""
    yield "Seconds until calls, and schedules, work again:"
    yield ""
    yield "| fault | times | calls: half within | 99 % | most | schedules: half within | 99 % | most |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    calls, schedules = _times(every, "recovery"), _times(every, "background")
    for name in sorted(calls):
        yield f"| {name} | {len(calls[name])} | {_shares(calls[name])} | {_shares(schedules[name])} |"
    yield ""
    yield "| run | commit | seed | kind | seconds | acknowledged | findings |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for run in every:
        found = [f"{what} {number}" for what, number in run["violations"].items()]
        found += [error.partition(": ends of the first calls")[0] for error in run["errors"]]
        yield (
            f"| {run['at'][:16]} | {run['commit']} | {run['seed']} | {run['mode']} | {run['seconds']} |"
            f" {run['acknowledged']:,} | {', '.join(found) or 'none'} |"
        )


def _totals(name: str, some: list[dict[str, Any]]) -> str:
    faults = {group: sum(run["faults"].get(group, 0) for run in some) for group in _GROUPS}
    found = sum(sum(run["violations"].values()) + len(run["errors"]) for run in some)
    counts = " | ".join(f"{faults[group]:,}" for group in _GROUPS)
    acknowledged, delivered = (sum(run[what] for run in some) for what in ("acknowledged", "deliveries"))
    minutes = sum(run["seconds"] for run in some) / 60
    return (
        f"| {name}: {len(some)} | {minutes:.0f} min | {acknowledged:,} | {delivered:,} | {counts} | {found} |"
    )


_GROUPS: Final = ("kill", "network", "stop", "lock", "clock", "disk", "failover", "restore")


def _times(every: list[dict[str, Any]], what: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    for run in every:
        for name, counted in run[what].items():
            for seconds, number in counted.items():
                times[name] += [float(seconds)] * number
    return {name: sorted(seconds) for name, seconds in times.items()}


def _shares(times: list[float]) -> str:
    at = (times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)], times[-1])
    return " | ".join(f"{seconds:.1f}" for seconds in at)


def write_page() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    write_page()
