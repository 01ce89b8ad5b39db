"""One run: topic and queues, all connections, the adaptive rate, the samples, the drain and the audit."""

import asyncio
import itertools
import json
from dataclasses import dataclass, field
from time import perf_counter, process_time

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.control import call, create_queue
from benchmarks.load.wire import Address, address_of
from benchmarks.measure.cpu import Reading
from benchmarks.measure.tally import Tally
from benchmarks.penstock import Penstock

from .flows import Application, collect, consume, consume_stage2, produce
from .ledger import Books, Group, Ledger, Mark, audit
from .letters import ACCOUNT, REGION, Letters
from .profile import Fate, Profile
from .sampler import Sample, memory_of, sample, uptime_of

SETTLED_SECONDS = 5.0  # this long without a message: the queues are empty
MEMORY_EVERY = 5  # samples
RATE_WINDOW = 10  # samples (seconds) over which consumption is averaged
run_numbers = itertools.count(1)


@dataclass(slots=True)
class Run:
    """What a run gave. CPU readings: at the start, at the end of pushing, at the end of the drain."""

    app: Application
    samples: list[Sample] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    books: list[Books] = field(default_factory=list)
    push_seconds: float = 0.0
    drain_seconds: float = 0.0
    generator_cpu_seconds: float = 0.0
    restarts: int = 0


def arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


def prepared(penstock: Penstock, profile: Profile) -> Application:
    """A topic with two queues, each with a dead-letter queue, and stage 2."""
    end = ".fifo" if profile.groups == "fifo" else ""
    prefix = f"queen-{profile.groups}-{next(run_numbers)}"
    topic, queues = f"{prefix}-events{end}", (f"{prefix}-first{end}", f"{prefix}-second{end}")
    at = address_of(penstock.endpoint, f"{prefix}-stage2")
    create_queue(at, VisibilityTimeout=str(profile.lease_seconds))
    kind = {"FifoTopic": "true", "ContentBasedDeduplication": "false"} if end else {}
    call(at, "CreateTopic", {"Name": topic, "Attributes": kind}, "AmazonSNS")
    for name in queues:
        subscribe(at, topic, name, profile, end)
    ledger = Ledger((Group(bool(end)), Group(bool(end))))
    letters = Letters(at, arn("sns", topic))
    return Application(
        profile, letters, queues, at.queue, ledger, Tally(), profile.rate or profile.first_rate
    )


def subscribe(at: Address, topic: str, name: str, profile: Profile, end: str) -> None:
    fifo = {"FifoQueue": "true"} if end else {}
    dead, queue = (Address(at.host, at.port, each) for each in (dead_letters(name), name))
    create_queue(dead, **fifo)
    redrive = json.dumps(
        {"deadLetterTargetArn": arn("sqs", dead.queue), "maxReceiveCount": profile.retry_limit}
    )
    create_queue(queue, VisibilityTimeout=str(profile.lease_seconds), RedrivePolicy=redrive, **fifo)
    payload: dict[str, object] = {
        "TopicArn": arn("sns", topic),
        "Protocol": "sqs",
        "Endpoint": arn("sqs", name),
        "Attributes": {"RawMessageDelivery": "true"},
    }
    call(at, "Subscribe", payload, "AmazonSNS")


def dead_letters(queue: str) -> str:
    return f"{queue.removesuffix('.fifo')}-dead{'.fifo' if queue.endswith('.fifo') else ''}"


async def played(penstock: Penstock, profile: Profile) -> Run:
    """Push over the rate, drain, read the dead-letter queues, audit."""
    run = Run(prepared(penstock, profile))
    app, before = run.app, uptime_of(penstock)
    began, used = perf_counter(), process_time()
    run.readings.append(penstock.meter.read())
    producers = await started(app, [produce(app, owner) for owner in range(profile.producers)])
    consumers = await started(app, consuming(app))
    watching = asyncio.create_task(watch(run, penstock, began))
    await asyncio.sleep(profile.seconds)
    app.pushing = False
    await finished(producers)
    run.push_seconds = perf_counter() - began
    run.readings.append(penstock.meter.read())
    await drained(app)
    run.drain_seconds = app.last_message_at - began - run.push_seconds
    app.running = False
    await finished(consumers)
    run.readings.append(penstock.meter.read())
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    run.generator_cpu_seconds = process_time() - used
    run.restarts = int(uptime_of(penstock) != before)
    run.books = [await audited(app, group) for group in (0, 1)]
    return run


def consuming(app: Application) -> list[Flow]:
    flows = [consume(app, group, seed) for seed in range(app.profile.consumers) for group in (0, 1)]
    return flows + [consume_stage2(app) for _ in range(app.profile.stage2_consumers)]


async def started(app: Application, flows: list[Flow]) -> list[Connection]:
    """A connection for each flow."""
    loop, address = asyncio.get_running_loop(), app.letters.queue(app.stage2).address
    connections = []
    for flow in flows:
        _, connection = await loop.create_connection(
            lambda: Connection(app.tally), address.host, address.port
        )
        connection.start(flow)
        connections.append(connection)
    return connections


async def finished(connections: list[Connection]) -> None:
    """Broken connections are counted as bad answers by the tally."""
    await asyncio.gather(*(connection.finished for connection in connections), return_exceptions=True)
    for connection in connections:
        connection.close()


async def drained(app: Application) -> None:
    """Until no consumer has had a message for a while, or the time for draining is over."""
    deadline = perf_counter() + app.profile.drain_seconds
    app.last_message_at = max(app.last_message_at, perf_counter())
    while perf_counter() < min(deadline, app.last_message_at + SETTLED_SECONDS):  # noqa: ASYNC110
        # Each message moves the end, so there is no one event to wait for.
        await asyncio.sleep(SETTLED_SECONDS / 20)


async def watch(run: Run, penstock: Penstock, began: float) -> None:
    """A sample a second; an adaptive rate follows what both groups consume."""
    app, since, memory = run.app, (0, 0), dict[str, float]()
    while True:
        now = (len(app.waits), len(app.completions))
        if len(run.samples) % MEMORY_EVERY == 0:
            memory = await asyncio.to_thread(memory_of, penstock)
        run.samples.append(
            await asyncio.to_thread(sample, app, penstock, perf_counter() - began, since, memory)
        )
        since = now
        if app.pushing and not app.profile.rate and len(run.samples) > RATE_WINDOW:
            app.rate = max(app.profile.first_rate / 10, app.profile.over_rate * consumed(run.samples))
        await asyncio.sleep(1)


def consumed(samples: list[Sample]) -> float:
    """Messages a second that the slower group has completed lately."""
    old, new = samples[-1 - RATE_WINDOW], samples[-1]
    return min(b - a for a, b in zip(old.completed, new.completed, strict=True)) / (new.at - old.at)


async def audited(app: Application, group: int) -> Books:
    dead: set[Mark] = set()
    connections = await started(app, [collect(app, dead_letters(app.queues[group]), dead)])
    await finished(connections)
    poison = {mark for mark in dead if app.profile.fate(*mark) is Fate.POISON}
    return audit(app.ledger, group, dead, poison)
