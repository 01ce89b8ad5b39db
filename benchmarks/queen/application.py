"""Runs the application mode once: creates the topic and queues, adapts the rate, takes samples, drains and audits."""

import asyncio
import itertools
import json
from dataclasses import dataclass, field
from time import perf_counter, process_time

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.wire import Address, address_of, call, create_queue
from benchmarks.measure.cpu import Reading
from benchmarks.measure.tally import Tally
from benchmarks.penstock import Penstock

from .flows import Application, collect_dead_letters, consume, consume_stage2, produce
from .ledger import AuditResult, ConsumerGroup, Ledger, MessageKey, audit
from .profile import Fate, Profile
from .requests import ACCOUNT, REGION, ApplicationRequests
from .sampler import Sample, memory_of, sample, uptime_of

SETTLED_SECONDS = 5.0  # If no message arrives for this time, the queues count as empty.
MEMORY_EVERY = 5  # the number of samples between two memory readings
RATE_WINDOW = 10  # the number of samples (seconds) for the average consumption
run_numbers = itertools.count(1)


@dataclass(slots=True)
class Run:
    """Holds a run's results. CPU readings are from the start, the end of the push phase, and the end of the drain."""

    app: Application
    samples: list[Sample] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    books: list[AuditResult] = field(default_factory=list)
    push_seconds: float = 0.0
    drain_seconds: float = 0.0
    generator_cpu_seconds: float = 0.0
    restarts: int = 0


def arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


def prepare(penstock: Penstock, profile: Profile) -> Application:
    """Creates a topic with two queues, their dead-letter queues, and the queue of stage 2."""
    suffix = ".fifo" if profile.groups == "fifo" else ""
    prefix = f"queen-{profile.groups}-{next(run_numbers)}"
    topic, queues = f"{prefix}-events{suffix}", (f"{prefix}-first{suffix}", f"{prefix}-second{suffix}")
    at = address_of(penstock.endpoint, f"{prefix}-stage2")
    create_queue(at, VisibilityTimeout=str(profile.lease_seconds))
    kind = {"FifoTopic": "true", "ContentBasedDeduplication": "false"} if suffix else {}
    call(at, "CreateTopic", {"Name": topic, "Attributes": kind}, "AmazonSNS")
    for name in queues:
        subscribe(at, topic, name, profile, suffix)
    ledger = Ledger((ConsumerGroup(bool(suffix)), ConsumerGroup(bool(suffix))))
    requests = ApplicationRequests(at, arn("sns", topic))
    return Application(profile, requests, queues, at.queue, ledger, Tally(), profile.rate or profile.first_rate)


def subscribe(at: Address, topic: str, name: str, profile: Profile, suffix: str) -> None:
    fifo = {"FifoQueue": "true"} if suffix else {}
    dead, queue = (Address(at.host, at.port, each) for each in (dead_letter_queue(name), name))
    create_queue(dead, **fifo)
    redrive = json.dumps({"deadLetterTargetArn": arn("sqs", dead.queue), "maxReceiveCount": profile.retry_limit})
    create_queue(queue, VisibilityTimeout=str(profile.lease_seconds), RedrivePolicy=redrive, **fifo)
    payload: dict[str, object] = {
        "TopicArn": arn("sns", topic),
        "Protocol": "sqs",
        "Endpoint": arn("sqs", name),
        "Attributes": {"RawMessageDelivery": "true"},
    }
    call(at, "Subscribe", payload, "AmazonSNS")


def dead_letter_queue(queue: str) -> str:
    return f"{queue.removesuffix('.fifo')}-dead{'.fifo' if queue.endswith('.fifo') else ''}"


async def run_application(penstock: Penstock, profile: Profile) -> Run:
    """Pushes faster than the consumers receive, drains the queues, reads the dead-letter queues, and audits the
    messages."""
    run = Run(prepare(penstock, profile))
    app, before = run.app, uptime_of(penstock)
    began, used = perf_counter(), process_time()
    run.readings.append(penstock.meter.read())
    producers = await start_flows(app, [produce(app, owner) for owner in range(profile.producers)])
    consumers = await start_flows(app, consumer_flows(app))
    sampling = asyncio.create_task(take_samples(run, penstock, began))
    await asyncio.sleep(profile.seconds)
    app.pushing = False
    await wait_until_finished(producers)
    run.push_seconds = perf_counter() - began
    run.readings.append(penstock.meter.read())
    await wait_until_drained(app)
    run.drain_seconds = app.last_message_at - began - run.push_seconds
    app.running = False
    await wait_until_finished(consumers)
    run.readings.append(penstock.meter.read())
    sampling.cancel()
    await asyncio.gather(sampling, return_exceptions=True)
    run.generator_cpu_seconds = process_time() - used
    run.restarts = int(uptime_of(penstock) != before)
    run.books = [await audit_group(app, group) for group in (0, 1)]
    return run


def consumer_flows(app: Application) -> list[Flow]:
    flows = [consume(app, group, seed) for seed in range(app.profile.consumers) for group in (0, 1)]
    return flows + [consume_stage2(app) for _ in range(app.profile.stage2_consumers)]


async def start_flows(app: Application, flows: list[Flow]) -> list[Connection]:
    """Opens a connection for each flow, and starts the flow."""
    loop, address = asyncio.get_running_loop(), app.requests.queue(app.stage2).address
    connections = []
    for flow in flows:
        _, connection = await loop.create_connection(lambda: Connection(app.tally), address.host, address.port)
        connection.start(flow)
        connections.append(connection)
    return connections


async def wait_until_finished(connections: list[Connection]) -> None:
    """Waits until the flows have ended. Broken connections count as bad responses in the tally."""
    await asyncio.gather(*(connection.finished for connection in connections), return_exceptions=True)
    for connection in connections:
        connection.close()


async def wait_until_drained(app: Application) -> None:
    """Waits until no consumer has received a message for a while, or until the deadline of the drain has passed."""
    deadline = perf_counter() + app.profile.drain_seconds
    app.last_message_at = max(app.last_message_at, perf_counter())
    while perf_counter() < min(deadline, app.last_message_at + SETTLED_SECONDS):  # noqa: ASYNC110
        # Each message postpones the end, so the loop cannot wait for a single event.
        await asyncio.sleep(SETTLED_SECONDS / 20)


async def take_samples(run: Run, penstock: Penstock, began: float) -> None:
    """Takes a sample each second. An adaptive rate follows the consumption of the slower group."""
    app, since, memory = run.app, (0, 0), dict[str, float]()
    while True:
        now = (len(app.waits), len(app.completions))
        if len(run.samples) % MEMORY_EVERY == 0:
            memory = await asyncio.to_thread(memory_of, penstock)
        run.samples.append(await asyncio.to_thread(sample, app, penstock, perf_counter() - began, since, memory))
        since = now
        if app.pushing and not app.profile.rate and len(run.samples) > RATE_WINDOW:
            app.rate = max(app.profile.first_rate / 10, app.profile.over_rate * consumption_rate(run.samples))
        await asyncio.sleep(1)


def consumption_rate(samples: list[Sample]) -> float:
    """Returns the number of messages a second that the slower group completed in the last RATE_WINDOW samples."""
    old, new = samples[-1 - RATE_WINDOW], samples[-1]
    return min(b - a for a, b in zip(old.completed, new.completed, strict=True)) / (new.at - old.at)


async def audit_group(app: Application, group: int) -> AuditResult:
    dead: set[MessageKey] = set()
    connections = await start_flows(app, [collect_dead_letters(app, dead_letter_queue(app.queues[group]), dead)])
    await wait_until_finished(connections)
    poison = {mark for mark in dead if app.profile.fate(*mark) is Fate.POISON}
    return audit(app.ledger, group, dead, poison)
