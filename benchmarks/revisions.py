"""Compares commits in alternating runs, by the CPU time of the whole server side for each message.

    python -m benchmarks.revisions BASE [NEW…] --scenario send_1,receive_delete_1 --rounds 20 --connections 16,64

Each commit has a separate work tree and environment, and a running service with a separate database. All services run
all the time. The order of the services changes each round, because the machine's speed changes within an hour. The
result for a NEW is the median of its quotients with BASE over all rounds. With `--log FILE`, the program writes every
round as a line of JSON to the file. With `--plain`, each service uses a PostgreSQL with its defaults
(`peers/plain_postgres.py`). With `--waiting N`, N messages wait in another queue.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import psycopg
import typer

from .load.fleet import Fleet
from .measure.outcome import Outcome, Plan
from .peers.plain_postgres import PlainPostgres
from .penstock import Penstock
from .scenarios import SCENARIOS, Scenario

ROOT = Path(__file__).parents[1]
IDLE_CONNECTIONS = 2
CHUNK = 1000
app = typer.Typer(pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """Holds a run's figures: the server side's CPU seconds for 1,000 messages, and latencies."""

    cpu_seconds: float
    p50_ms: float
    p99_ms: float


@contextmanager
def running(revision: str, tree: Path, fleet: Fleet, plain: bool) -> Iterator[Penstock]:
    """Yields a service that runs a commit from a new work tree. The Makefile of the work tree builds the environment of
    the service."""
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
    try:
        # All revisions run on the same interpreter, because another build of Python can need a seventh more CPU time.
        interpreter = "PYTHON={}/bin/python{}.{}".format(sys.base_prefix, *sys.version_info)
        subprocess.run(["make", "--silent", "-C", tree, interpreter, ".venv/service.stamp"], check=True)
        service = (PlainPostgres if plain else Penstock)(fleet, programs=tree / ".venv/bin")
        service.start()
        try:
            yield service
        finally:
            service.stop()
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def fill(service: Penstock, messages: int) -> None:
    with psycopg.connect(service.dsn, autocommit=True) as connection:
        connection.execute("select queue.create('waiting')")
        for _ in range(0, messages, CHUNK):
            connection.execute("select queue.send_batch('waiting', array_fill(%s::jsonb, %s))", ['"x"', [CHUNK]])
        connection.execute("analyze")


def cost(outcome: Outcome) -> Cost:
    """Returns the cost of a run. Raises ValueError if the run lost or duplicated messages."""
    if not outcome.valid:
        raise ValueError(f"{outcome.scenario}: {outcome.verdict}")
    return Cost(outcome.server_cpu_seconds_per_1000, outcome.latency.p50_ms, outcome.latency.p99_ms)


def places(count: int, number: int) -> list[int]:
    """Returns the order of the services in a round. Every second round reverses the order, and the first service
    changes after every two rounds.
    """
    order = [(number // 2 + place) % count for place in range(count)]
    return order[::-1] if number % 2 else order


def compare(scenario: Scenario, plan: Plan, services: Sequence[Penstock], rounds: int) -> Iterator[list[Cost]]:
    """Yields the costs of all services in each round, after a warm-up round."""
    for number in range(-1, rounds):
        costs = {place: cost(services[place].run(scenario, plan)) for place in places(len(services), number)}
        if number >= 0:
            yield [costs[place] for place in range(len(services))]


def plans(scenario: Scenario, connections: Sequence[int], messages: int, samples: int) -> list[Plan]:
    """Returns one plan for each number of connections, or a single plan if the scenario has a fixed number."""
    numbers = connections if scenario.measured else [IDLE_CONNECTIONS]
    return [Plan(number, messages, 100, idle_samples=samples) for number in numbers]


@app.command()
def main(  # noqa: PLR0913, PLR0917 - options of the command
    base: str,
    new: Annotated[list[str] | None, typer.Argument(help="one or more commits; HEAD by default")] = None,
    scenario: Annotated[str, typer.Option(help="names of scenarios, separated by commas")] = "send_1,receive_delete_1",
    rounds: Annotated[int, typer.Option(min=2)] = 10,
    connections: Annotated[str, typer.Option(help="numbers of connections, separated by commas")] = "16",
    messages: Annotated[
        int,
        typer.Option(help="messages in each run; in short runs, the background workers use a larger share of the CPU"),
    ] = 40_000,
    samples: Annotated[int, typer.Option(help="messages in each run of idle_latency")] = 300,
    plain: Annotated[bool, typer.Option("--plain", help="use a PostgreSQL with its defaults")] = False,
    waiting: Annotated[int, typer.Option(help="number of messages that wait in another queue")] = 0,
    log: Annotated[Path | None, typer.Option(help="file to which the program appends every round")] = None,
) -> None:
    """Prints a line for each NEW, with the costs of BASE and NEW, their quotient, and both latencies."""
    revisions = [base, *(new or ["HEAD"])]
    scenarios = [SCENARIOS[name] for name in scenario.split(",")]
    numbers = [int(number) for number in connections.split(",")]
    with tempfile.TemporaryDirectory(prefix="penstock-revisions-") as folder, ExitStack() as stack:
        fleet = Fleet(1)
        stack.callback(fleet.close)
        services = [
            stack.enter_context(running(revision, Path(folder) / f"{place}-{revision.replace('/', '-')}", fleet, plain))
            for place, revision in enumerate(revisions)
        ]
        for service in services if waiting else ():
            fill(service, waiting)
        for each in scenarios:
            for plan in plans(each, numbers, messages, samples):
                found = []
                for costs in compare(each, plan, services, rounds):
                    found.append(costs)
                    append_round(log, each, plan, revisions, costs)
                report(each, plan, revisions, found)


def append_round(log: Path | None, scenario: Scenario, plan: Plan, revisions: list[str], costs: list[Cost]) -> None:
    """If `log` is given, appends a line with the costs of all commits, starting with BASE."""
    if log is None:
        return
    line = {
        "scenario": scenario.name,
        "connections": plan.connections,
        "costs": [{"revision": revision, **asdict(each)} for revision, each in zip(revisions, costs, strict=True)],
    }
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")


def report(scenario: Scenario, plan: Plan, revisions: list[str], rounds: list[list[Cost]]) -> None:
    """Prints a line for each NEW.

    The line contains the median CPU seconds of BASE and NEW for 1,000 messages, the quotient, and the latencies.
    """
    base, *others = zip(*rounds, strict=True)
    for revision, new in zip(revisions[1:], others, strict=True):
        quotients = [after.cpu_seconds / before.cpu_seconds for before, after in zip(base, new, strict=True)]
        low, middle, high = quantiles(quotients, n=4)
        cpu, p50, p99 = (
            [median(getattr(each, name) for each in costs) for costs in (base, new)]
            for name in ("cpu_seconds", "p50_ms", "p99_ms")
        )
        sys.stdout.write(
            f"{scenario.name:20} {plan.connections:4} connections  {revision}  {cpu[0]:.4f} {cpu[1]:.4f}"
            f"  {middle:.3f} ({low:.3f} to {high:.3f})"
            f"  p50 {p50[0]:.2f} {p50[1]:.2f} ms  p99 {p99[0]:.2f} {p99[1]:.2f} ms\n"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    app()
