"""What open pages of the console cost the receives beside them.

    python -m benchmarks.costs.viewers                      # 100,000 queues; one viewer, then ten
    python -m benchmarks.costs.viewers --queues 1000 --viewers 1 --rounds 8

Fills the database of a `penstock up --ephemeral` as `console_pages` does. A viewer reads a page anew every three
seconds, as an open one does; the pages differ. Runs with and without viewers take turns. Prints, for each number of
viewers, the median quotient (with / without) of received messages a second and of the server side's CPU a message;
the viewers' own CPU is taken from the same cores.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from statistics import median
from typing import Annotated, Final

import typer
import urllib3

from benchmarks.load.fleet import Fleet
from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.penstock import Penstock
from benchmarks.scenarios import SCENARIOS

from .console_pages import fill, wait_until_measured

REFRESH_SECONDS: Final = 3.0
"""As `layers/web/penstock_web/console` says to the browser."""
PAGES: Final = ("", "/queues/large", "/queues", "/queues/dead/failures", "/system")
"""Below /console; viewers have them in turn."""

app = typer.Typer(pretty_exceptions_enable=False)


@contextmanager
def viewing(endpoint: str, viewers: int) -> Iterator[None]:
    """So many pages are open. Raises RuntimeError at the end when one was not answered with 200."""
    ended = threading.Event()
    statuses: list[int] = []

    def view(page: str) -> None:
        pool = urllib3.PoolManager(retries=False, timeout=60)
        while not ended.is_set():
            statuses.append(pool.request("GET", f"{endpoint}/console{page}").status)
            ended.wait(REFRESH_SECONDS)

    threads = [threading.Thread(target=view, args=(PAGES[n % len(PAGES)],)) for n in range(viewers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if set(statuses) - {200}:
        raise RuntimeError(f"a page was answered with {sorted(set(statuses))}")


def run(service: Penstock, plan: Plan, viewers: int) -> Outcome:
    """Receives and deletes one message at a time. Raises ValueError for a run that lost or doubled messages."""
    with viewing(service.endpoint, viewers):
        outcome = service.run(SCENARIOS["receive_delete_1"], plan)
    if not outcome.valid:
        raise ValueError(str(outcome.verdict))
    return outcome


def compare(service: Penstock, plan: Plan, viewers: int, rounds: int) -> None:
    """Prints the quotients of both figures over the rounds, after one that does not count."""
    rates: list[float] = []
    costs: list[float] = []
    for number in range(-1, rounds):
        order = (0, viewers) if number % 2 else (viewers, 0)
        found = {count: run(service, plan, count) for count in order}
        if number >= 0:
            rates.append(found[viewers].messages_per_second / found[0].messages_per_second)
            costs.append(found[viewers].server_cpu_seconds_per_1000 / found[0].server_cpu_seconds_per_1000)
    print(
        f"{viewers} viewers: {median(rates):.3f} of the messages a second ({min(rates):.3f} to {max(rates):.3f}), "
        f"{median(costs):.3f} times the CPU a message ({min(costs):.3f} to {max(costs):.3f})",
        flush=True,
    )


@app.command()
def main(
    queues: Annotated[int, typer.Option(metavar="N")] = 100_000,
    viewers: Annotated[str, typer.Option(help="numbers, with commas between them")] = "1,10",
    rounds: Annotated[int, typer.Option(metavar="N")] = 6,
    connections: Annotated[int, typer.Option(metavar="N")] = 16,
    messages: Annotated[int, typer.Option(metavar="N", help="of each run")] = 30_000,
) -> None:
    with closing(Fleet(1)) as fleet:
        service = Penstock(fleet, settings={"QUOTA_QUEUES": str(2 * queues)})
        service.start()
        try:
            fill(service.dsn, queues, min(queues, 10_000), 100_000)
            wait_until_measured(service.dsn)
            for number in viewers.split(","):
                compare(service, Plan(connections, messages, 100), int(number), rounds)
        finally:
            service.stop()


if __name__ == "__main__":
    app()
