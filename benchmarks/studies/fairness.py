"""Measures how long messages of quiet groups wait while a noisy group sends a hundred times as many messages.

    python -m benchmarks.studies.fairness                     # three phases, repeated, on a separate service

A fixed number of consumers receive one message at a time, handle the message for a while, and delete the message. The
quiet groups alone keep the consumers busy for two thirds of the time. The noisy group sends as many messages as all
quiet groups together, so a backlog grows. With more consumers, the processors become the bottleneck. On a small
machine, the processors become the bottleneck with 200 consumers and 800 messages a second.

The phase `quiet` is without the noisy group. The phase `fair` has the noisy group and uses MessageGroupId, and the
phase `unfair` has the noisy group but no MessageGroupId. Each phase has a separate queue. A wait is the time from the
due time of a send until a consumer has the message, so the delay of a late send counts (open loop). All waits count,
including waits when the noisy group starts.
"""

import argparse
import asyncio
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from time import perf_counter

import msgspec
import uvloop

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.fleet import Fleet
from benchmarks.load.wire import (
    Action,
    Address,
    Request,
    Requests,
    address_of,
    create_queue,
    decode_receive,
    delete_queue,
)
from benchmarks.measure.host import host_load, machine
from benchmarks.measure.tally import Tally
from benchmarks.penstock import Penstock
from benchmarks.report.runs import write_results
from benchmarks.system import UnavailableError

SENDERS = 32
NOISY = "noisy"
PHASES = ("quiet", "fair", "unfair")


@dataclass(frozen=True, slots=True)
class Workload:
    """Describes the load. Rates are messages a second. The noisy group sends `noise` times as many messages as a quiet
    group.
    """

    groups: int = 100
    group_rate: float = 2.0
    noise: float = 100.0
    consumers: int = 12
    handler_seconds: float = 0.04
    seconds: float = 30.0

    @property
    def capacity(self) -> float:
        return self.consumers / self.handler_seconds


@dataclass(slots=True)
class Phase:
    """Holds the numbers of sent messages in a running phase, and the messages' waits in seconds."""

    name: str
    workload: Workload
    address: Address
    tally: Tally = field(default_factory=Tally)
    quiet_waits: list[float] = field(default_factory=list)
    noisy_waits: list[float] = field(default_factory=list)
    sent: int = 0
    quiet_sent: int = 0
    cpu_seconds: float = 0.0
    all_sent: bool = False
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def received(self, body: str, now: float) -> None:
        group, due = body.split("|")
        (self.noisy_waits if group == NOISY else self.quiet_waits).append(now - float(due))
        if self.all_sent and self.quiet_missing == 0:
            self.complete.set()

    @property
    def quiet_missing(self) -> int:
        return self.quiet_sent - len(self.quiet_waits)


async def consume(phase: Phase, connection: Connection, rng: random.Random) -> None:
    """Until cancelled, runs a consumer that receives, handles and deletes one message at a time."""
    requests = Requests(phase.address)
    receive = requests.receive(1, 20)
    while True:
        handles: list[str] = []
        connection.start(receive_flow(phase, receive, handles.append))
        await connection.finished
        for handle in handles:
            await asyncio.sleep(phase.workload.handler_seconds * rng.uniform(0.8, 1.2))
            connection.start(request_flow(requests.delete(handle)))
            await connection.finished


def receive_flow(phase: Phase, request: Request, keep: Callable[[str], None]) -> Flow:
    answer = yield request
    now = perf_counter()
    if answer is not None:
        for message in decode_receive(answer).messages:
            phase.received(message.body, now)
            keep(message.receipt_handle)


def request_flow(request: Request) -> Flow:
    yield request


def due_times(workload: Workload, noise: bool) -> Iterator[tuple[float, str]]:
    """Yields the times at which a group sends (in seconds from the start), and the group.

    The arrivals are independent of each other, as if they came from many customers.
    """
    rng = random.Random(1)
    quiet = workload.groups * workload.group_rate
    total = quiet + (workload.group_rate * workload.noise if noise else 0.0)
    at = 0.0
    while (at := at + rng.expovariate(total)) < workload.seconds:
        group = f"group{rng.randrange(workload.groups)}" if rng.random() < quiet / total else NOISY
        yield at, group


async def produce(phase: Phase, connections: list[Connection]) -> None:
    """Sends every message at its due time, or as soon as a connection is free."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in connections:
        free.put_nowait(connection)
    start = perf_counter()
    tasks: set[asyncio.Task[None]] = set()
    for at, group in due_times(phase.workload, phase.name != "quiet"):
        if (pause := start + at - perf_counter()) > 0:
            await asyncio.sleep(pause)
        task = asyncio.create_task(send(phase, await free.get(), free, group, start + at))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


async def send(phase: Phase, connection: Connection, free: "asyncio.Queue[Connection]", group: str, due: float) -> None:
    payload = {"QueueUrl": phase.address.queue_url, "MessageBody": f"{group}|{due!r}"}
    if phase.name != "unfair":
        payload["MessageGroupId"] = group
    connection.start(request_flow(Requests(phase.address).of(Action.SEND, msgspec.json.encode(payload))))
    await connection.finished
    phase.sent += 1
    phase.quiet_sent += group != NOISY
    free.put_nowait(connection)


async def run(phase: Phase) -> None:
    """Runs the phase until all messages from quiet groups have arrived, or 30 s after the last send."""
    loop = asyncio.get_running_loop()
    host, port = phase.address.host, phase.address.port
    count = phase.workload.consumers + SENDERS
    connections = [(await loop.create_connection(lambda: Connection(phase.tally), host, port))[1] for _ in range(count)]
    rng = random.Random(2)
    consumers = [asyncio.create_task(consume(phase, connection, rng)) for connection in connections[SENDERS:]]
    await produce(phase, connections[:SENDERS])
    phase.all_sent = True
    with suppress(TimeoutError):
        await asyncio.wait_for(phase.complete.wait(), 0 if phase.quiet_missing == 0 else 30)
    for consumer in consumers:
        consumer.cancel()
    await asyncio.gather(*consumers, return_exceptions=True)
    for connection in connections:
        connection.close()


def figures_of_phase(phase: Phase) -> dict[str, object]:
    """Returns the figures of a phase, with waits in ms."""
    quiet = statistics.quantiles(phase.quiet_waits, n=1000)
    return {
        "phase": phase.name,
        "sent": phase.sent,
        "quiet_received": len(phase.quiet_waits),
        "quiet_missing": phase.quiet_missing,
        "quiet_p50_ms": quiet[499] * 1000,
        "quiet_p99_ms": quiet[989] * 1000,
        "noisy_received": len(phase.noisy_waits),
        "noisy_p50_ms": statistics.median(phase.noisy_waits) * 1000 if phase.noisy_waits else None,
        "server_cpu_seconds_per_1000": phase.cpu_seconds / phase.sent * 1000,
        "bad_answers": phase.tally.bad_answers,
    }


def format_figures(figures: dict[str, object]) -> str:
    noisy = figures["noisy_p50_ms"]
    return (
        f"{figures['phase']:7} quiet p50 {figures['quiet_p50_ms']:8.2f} ms, p99 {figures['quiet_p99_ms']:8.2f} ms, "
        f"missing {figures['quiet_missing']}; noisy received {figures['noisy_received']}, "
        f"p50 {'-' if noisy is None else f'{noisy:.0f} ms'}; "
        f"CPU {figures['server_cpu_seconds_per_1000']:.3f} s/1,000 sent; bad answers {figures['bad_answers']}"
    )


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    for name, value in asdict(Workload()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--repeat", type=int, default=3, help="the median of the ratios counts")
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=list(PHASES))
    parser.add_argument("--no-results", action="store_true", help="write no results file")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints each phase, and the ratio of the p99 of the quiet groups in the phases `fair` and `quiet`. Returns 1 if
    the ratio is more than 2."""
    options = arguments(argv)
    workload = Workload(**{name: getattr(options, name) for name in asdict(Workload())})
    load, fleet = host_load(), Fleet(1)
    service = Penstock(fleet)
    try:
        service.start()
        runs = [run_phases(service, workload, options.phases, number) for number in range(options.repeat)]
        facts = service.facts()
    except UnavailableError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 2
    finally:
        service.stop()
        fleet.close()
    ratios = [ratio for run in runs if (ratio := ratio_of(run)) is not None]
    if not options.no_results:
        document: dict[str, object] = {"facts": facts, "runs": runs, "ratios": ratios, "rows": runs[-1]}
        write_results("fairness", [document], asdict(workload), machine(), load)
    if not ratios:
        return 0
    print(f"p99 of quiet groups, fair : quiet = {statistics.median(ratios):.2f} (goal: at most 2)")
    return 0 if statistics.median(ratios) <= 2 else 1


def run_phases(service: Penstock, workload: Workload, names: list[str], number: int) -> list[dict[str, object]]:
    results = []
    for name in names:
        phase = Phase(name, workload, address_of(service.endpoint, f"fairness-{name}-{number}"))
        create_queue(phase.address)
        before = sum(service.meter.read().cpu_seconds.values())
        uvloop.run(run(phase))
        phase.cpu_seconds = sum(service.meter.read().cpu_seconds.values()) - before
        delete_queue(phase.address)
        results.append(figures_of_phase(phase))
        print(format_figures(results[-1]), flush=True)
    return results


def ratio_of(run: list[dict[str, object]]) -> float | None:
    p99 = {str(figures["phase"]): figures["quiet_p99_ms"] for figures in run}
    fair, quiet = p99.get("fair"), p99.get("quiet")
    return fair / quiet if isinstance(fair, float) and isinstance(quiet, float) else None


if __name__ == "__main__":
    sys.exit(main())
