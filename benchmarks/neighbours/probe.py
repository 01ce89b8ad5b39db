"""Measures the latencies of the quiet account's sends, schedules and webhooks, whose rates are low."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter, process_time

import psycopg

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.flows import Pace
from benchmarks.load.wire import Action, Due, Request, Requests, body_of
from benchmarks.measure.tally import Tally, percentile

from .clients import Account, Receiver, connect, event_request

SENDS_PER_SECOND = 50.0
EVENTS_PER_SECOND = 10.0
SCHEDULES = 20  # Each schedule fires every second.
CONNECTIONS = 16
FIRST_CLIENT = 50_000  # The noisy account uses other addresses.
LATE_SECONDS = 60.0

Make = Callable[[float], Request]
"""Returns the request that is due at a given time."""

FIRED = """
select extract(epoch from r.fired_at - r.scheduled_for)::float8
from queue.schedule_run r join queue.schedule s using (schedule_id)
where s.account_id = %(account)s and not r.out_of_band and r.fired_at is not null
    and r.scheduled_for > %(since)s and r.scheduled_for <= %(until)s
"""
MOMENT = "select date_trunc('second', clock_timestamp())"


@dataclass(frozen=True, slots=True)
class Target:
    """Holds the quiet account's resources. The account sends to `queue`, and receives events with `routing_key` at
    `port`.
    """

    endpoint: str
    dsn: str
    account: Account
    queue: str
    routing_key: str
    port: int


@dataclass(slots=True)
class Sample:
    """Holds the latencies of each kind in seconds, and the numbers of refused messages and of messages that took more
    than LATE_SECONDS.
    """

    sends: list[float] = field(default_factory=list)
    fires: list[float] = field(default_factory=list)
    webhooks: list[float] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    refusals: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def p99_ms(self, kind: str) -> float:
        """Returns the 99th percentile in ms. A missing message counts as LATE_SECONDS."""
        values = [*getattr(self, kind), *[LATE_SECONDS] * self.missing.get(kind, 0)]
        return percentile(values, 0.99) * 1000


class Probe:
    def __init__(self, target: Target, seconds: float) -> None:
        self._target = target
        self._seconds = seconds
        self._sends, self._events = Tally(), Tally()
        self._due = 0
        self._sample = Sample()
        self._arrived = asyncio.Event()

    async def run(self) -> Sample:
        """Measures for `seconds`, and then waits at most LATE_SECONDS for the remaining messages."""
        loop, target = asyncio.get_running_loop(), self._target
        server = await loop.create_server(lambda: Receiver(self._received), "127.0.0.1", target.port)
        address = target.account.address(target.endpoint, target.queue)
        send = Requests(address).send(body_of(100))
        sending = [await connect(address, self._sends, FIRST_CLIENT + n) for n in range(CONNECTIONS)]
        publishing = [await connect(address, self._events, FIRST_CLIENT + n) for n in range(CONNECTIONS)]
        since, cpu_before = moment(target.dsn), process_time()
        self._start(sending, SENDS_PER_SECOND, lambda _due: send)
        self._start(publishing, EVENTS_PER_SECOND, self._event)
        every = [*sending, *publishing]
        await asyncio.gather(*(connection.finished for connection in every), return_exceptions=True)
        until = moment(target.dsn)
        self._sample.cpu_seconds = process_time() - cpu_before
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wait_for_webhooks(), LATE_SECONDS)
        await self._read_fires(since, until)
        server.close()
        for connection in every:
            connection.close()
        return self._result()

    def _start(self, connections: list[Connection], rate: float, make: Make) -> None:
        pace, until = Pace(rate), perf_counter() + self._seconds
        pace.start()
        for connection in connections:
            connection.start(requests_at(pace, until, make))

    def _event(self, due: float) -> Request:
        self._due += 1
        target = self._target
        address = target.account.address(target.endpoint)
        return event_request(address, target.account.bearer, target.routing_key, {"due": due})

    def _received(self, body: bytes) -> None:
        self._sample.webhooks.append(perf_counter() - float(json.loads(body)["due"]))
        self._arrived.set()

    async def _wait_for_webhooks(self) -> None:
        while len(self._sample.webhooks) < self._due:
            self._arrived.clear()
            await self._arrived.wait()

    async def _read_fires(self, since: datetime, until: datetime) -> None:
        expected = SCHEDULES * round((until - since).total_seconds())
        period = {"account": self._target.account.key.account, "since": since, "until": until}
        give_up = perf_counter() + LATE_SECONDS
        with psycopg.connect(self._target.dsn, autocommit=True) as connection:
            while True:
                self._sample.fires = [row[0] for row in connection.execute(FIRED, period)]
                if len(self._sample.fires) >= expected or perf_counter() > give_up:
                    break
                await asyncio.sleep(0.5)
        self._sample.missing["fires"] = max(0, expected - len(self._sample.fires))

    def _result(self) -> Sample:
        sample = self._sample
        sample.sends = self._sends.call_seconds[Action.SEND]
        sample.refused = self._sends.bad_answers + self._events.bad_answers
        sample.refusals = self._sends.bad_samples + self._events.bad_samples
        sample.missing["webhooks"] = max(0, self._due - len(sample.webhooks))
        return sample


def requests_at(pace: Pace, until: float, make: Make) -> Flow:
    """Sends requests at the given pace. The latency of a request counts from its due time."""
    while (due := pace.arrival()) < until:
        yield Due(make(due), due)


def moment(dsn: str) -> datetime:
    """Returns the current second by the clock of the database, which determines when a schedule is due."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(MOMENT).fetchone()
    assert row is not None
    assert isinstance(row[0], datetime)
    return row[0]
