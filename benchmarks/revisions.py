"""Two commits beside each other: what a message costs the whole server side, in alternating runs.

    python -m benchmarks.revisions BASE [NEW] --scenario send_1,receive_delete_1 --rounds 20

Each commit gets a work tree and an environment of its own, and a running service with a database of its own; both are
up all the time, and the order of the two changes each round, since the machine's speed changes within the hour. The
figure is the median over the rounds of the quotient of both. With `--log FILE` every round is a line of JSON there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import typer

from .load.fleet import Fleet
from .measure.outcome import Outcome, Plan
from .penstock import Penstock
from .scenarios import SCENARIOS, Scenario

ROOT = Path(__file__).parents[1]
app = typer.Typer(pretty_exceptions_enable=False)


@contextmanager
def running(revision: str, folder: Path, fleet: Fleet) -> Iterator[Penstock]:
    """The service of a commit. Its environment is made by its own `make`."""
    tree = folder / revision.replace("/", "-")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
    try:
        subprocess.run(["make", "--silent", "-C", tree, ".venv/service.stamp"], check=True)
        service = Penstock(fleet, programs=tree / ".venv/bin")
        service.start()
        try:
            yield service
        finally:
            service.stop()
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def cost(outcome: Outcome) -> float:
    """CPU seconds of the server side for a thousand messages. Raises ValueError for a run that lost or doubled any."""
    if not outcome.valid:
        raise ValueError(f"{outcome.scenario}: {outcome.verdict}")
    return outcome.server_cpu_seconds_per_1000


def compare(
    scenario: Scenario, plan: Plan, base: Penstock, new: Penstock, rounds: int
) -> Iterator[tuple[float, float]]:
    """The costs of both in each round, after one that does not count."""
    for number in range(rounds + 1):
        pair = (base, new) if number % 2 == 0 else (new, base)
        costs = {id(service): cost(service.run(scenario, plan)) for service in pair}
        if number:
            yield costs[id(base)], costs[id(new)]


@app.command()
def main(
    base: str,
    new: Annotated[str, typer.Argument()] = "HEAD",
    scenario: Annotated[
        str, typer.Option(help="names, with commas between them")
    ] = "send_1,receive_delete_1",
    rounds: Annotated[int, typer.Option(min=2)] = 10,
    connections: int = 16,
    messages: Annotated[int, typer.Option(help="of each run")] = 8000,
    log: Annotated[Path | None, typer.Option(help="file that every round is appended to")] = None,
) -> None:
    """What a message costs: BASE, NEW, and the quotient."""
    with tempfile.TemporaryDirectory(prefix="penstock-revisions-") as folder, ExitStack() as stack:
        fleet = Fleet(1)
        stack.callback(fleet.close)
        services = [stack.enter_context(running(each, Path(folder), fleet)) for each in (base, new)]
        for each in (SCENARIOS[name] for name in scenario.split(",")):
            pairs = []
            for costs in compare(each, Plan(connections, messages, 100), services[0], services[1], rounds):
                pairs.append(costs)
                if log is not None:
                    line = {
                        "scenario": each.name,
                        "connections": connections,
                        "base": base,
                        "new": new,
                        "costs": costs,
                    }
                    with log.open("a") as file:
                        file.write(json.dumps(line) + "\n")
            report(each, connections, pairs)


def report(scenario: Scenario, connections: int, pairs: list[tuple[float, float]]) -> None:
    """A line: medians in CPU seconds a thousand messages, and the quotient with its quartiles."""
    low, middle, high = quantiles([after / before for before, after in pairs], n=4)
    before, after = median(before for before, _ in pairs), median(after for _, after in pairs)
    sys.stdout.write(
        f"{scenario.name:20} {connections:4} connections  {before:.4f} {after:.4f}"
        f"  {middle:.3f} ({low:.3f} to {high:.3f})\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    app()
