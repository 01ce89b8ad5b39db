"""Sends hostile and smuggled requests to the service."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from psycopg import sql

from tests.conformance.conftest import clean_log  # noqa: F401 - a fixture
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import IDLE_WORKERS, Deployments
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.database import TestServer
from tests.support.hostile import smuggled_requests as cases
from tests.support.hostile.attacks import attacks
from tests.support.hostile.connection import Attack, Connection, Outcome
from tests.support.hostile.invalid_members import Target
from tests.support.hostile.smuggled_requests import HEADS, PRIZE, PRIZE_QUEUE, SmugglingCase
from tests.support.programs.penstock_service import running_service

# --- hostile ---------------------------------------------------------------------------------------------------------
# Sends hostile requests from a seed to the service. Each response is 4xx, and the database does not change.
#
# 50,000 hostile names, attributes and bodies must cause no SQL error in PostgreSQL's log (`clean_log` checks the log
# after this module). Each response must be 4xx and take at most 50 ms.

# Tables that processes write to without requests: worker states, listening processes, and measurements. The audit
# records users' attempts.
OF_PROCESSES = {
    "worker_position",
    "watcher",
    "measurement",
    "reading",
    "activity",
    "minute",
    "account_minute",
    "receiver",
    "audit",
}


class Arena(NamedTuple):
    """Provides a new installation, whose deployments contain resources for the attacks."""

    deployments: Deployments
    clock: Clock

    def connection(self, deployment: str) -> Connection:
        return Connection(Sqs(self.deployments, self.clock, deployment, "json").endpoint_url)

    def target(self) -> Target:
        sqs = Sqs(self.deployments, self.clock, "container", "json")
        url, fifo_url = sqs.create(), sqs.create_fifo()
        sqs.send_all(url, "in flight", "waiting")
        sns = Sns(Sqs(self.deployments, self.clock, "container", "query"))
        topic, fifo_topic, arn = sns.create(), sns.create_fifo(), sqs.arn(url)
        sns.publish(topic)
        Scheduler(sqs).client.get_schedule_group(Name="default")
        return Target(
            url, fifo_url, arn, sqs.receive_one(url)["ReceiptHandle"], topic, fifo_topic, sns.subscribe(topic, arn)
        )

    def contents(self) -> dict[str, tuple[Any, ...]]:
        """Returns each table's row count and digest, except for the tables that processes write to without requests."""
        query = "select c.relname from pg_class c where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r'"
        tables = [name for (name,) in self.clock.connection.execute(query) if name not in OF_PROCESSES]
        count = sql.SQL("select count(*), md5(string_agg(t::text, ' ' order by t::text)) from queue.{} t")
        found = {t: self.clock.connection.execute(count.format(sql.Identifier(t))).fetchone() for t in tables}
        return {table: row or () for table, row in found.items()}


@pytest.fixture(scope="module")
def arena(postgres: TestServer) -> Iterator[Arena]:
    with postgres.database() as database, ExitStack() as stack:
        yield Arena(Deployments(database, stack), stack.enter_context(closing(Clock(database.dsn))))


def is_refused(attack: Attack, outcome: Outcome) -> bool:
    """Returns whether the status is 4xx. A client that disconnects during a request receives no response."""
    return 400 <= outcome.status < 500 or (attack.silent and outcome.status == 0)


def assert_refused(arena: Arena, deployment: str, tried: Iterator[Attack]) -> None:
    before = arena.contents()
    with closing(arena.connection(deployment)) as connection:
        outcomes = [(attack, connection.send(attack)) for attack in tried]
    failures = [
        (attack.kind, outcome, attack.data[:2_000]) for attack, outcome in outcomes if not is_refused(attack, outcome)
    ]
    assert failures == []
    assert arena.contents() == before


def test_hostile_requests_are_refused(arena: Arena) -> None:
    assert_refused(arena, "container", attacks(seed=1, number=1_500, target=arena.target()))


def test_functions_refuse_them_too(arena: Arena) -> None:
    """The test sends only requests that API Gateway would pass to a function."""
    tried = attacks(seed=2, number=800, target=arena.target())
    assert_refused(arena, "lambda", (attack for attack in tried if attack.http and len(attack.data) < 2**20))


# --- how long it takes -----------------------------------------------------------------------------------------------
LONGEST_MS = 50.0
# The test retries a slower request and takes the shortest time, because other programs share the machine.
SUSPICIOUS_MS = 20.0
TRIES = 8
# On a machine that is always busy, the test limits the service's CPU time to LONGEST_MS and the wall time to BUSY_MS.
BUSY_MS = 500.0


class Time(NamedTuple):
    """Contains the milliseconds until the response, and the service's CPU milliseconds."""

    wall: float
    cpu: float

    @property
    def is_short(self) -> bool:
        return self.wall <= LONGEST_MS or (self.cpu <= LONGEST_MS and self.wall <= BUSY_MS)


class Stopwatch:
    """Sends attacks to one process, and measures wall time and CPU time."""

    def __init__(self, url: str, pid: int) -> None:
        self.connection = Connection(url)
        self._stat = Path(f"/proc/{pid}/schedstat")  # The first thread runs the event loop.

    def send(self, attack: Attack) -> tuple[Outcome, Time]:
        before = self._cpu()
        outcome = self.connection.send(attack)
        return outcome, Time(outcome.milliseconds, self._cpu() - before)

    def best(self, attack: Attack) -> tuple[Outcome, Time]:
        """Repeats a slow request. Returns the first outcome and the shortest times."""
        outcome, best = self.send(attack)
        for _ in range(TRIES if best.wall > SUSPICIOUS_MS else 0):
            _, again = self.send(attack)
            best = Time(min(best.wall, again.wall), min(best.cpu, again.cpu))
        return outcome, best

    def _cpu(self) -> float:
        return int(self._stat.read_text().split()[0]) / 1e6


@pytest.mark.slow
def test_50_000_hostile_requests_are_refused_in_50_ms(arena: Arena, capsys: pytest.CaptureFixture[str]) -> None:
    target = arena.target()
    with running_service(arena.deployments.database.api_dsn, **IDLE_WORKERS) as service:
        before = arena.contents()
        stopwatch = Stopwatch(service.url, service.process_id)
        tried = [(attack, *stopwatch.best(attack)) for attack in attacks(seed=3, number=50_000, target=target)]
        stopwatch.connection.close()
        after = arena.contents()
    with capsys.disabled():
        slowest = [(f"{max(time[n] for *_, time in tried):.1f} ms", Time._fields[n]) for n in (0, 1)]
        sys.stdout.write(f"\nthe slowest of {len(tried)}: {slowest}\n")
    failures = [(a.kind, o, t, a.data[:2_000]) for a, o, t in tried if not (is_refused(a, o) and t.is_short)]
    assert failures == []
    assert after == before


# --- smuggling -------------------------------------------------------------------------------------------------------
# Tests that no request hides inside or behind another request: the cases in `smuggled_requests.py` over a socket, in
# both protocols.

# The request makes the service close a connection that is still open.
NEXT = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
REFUSALS = {400, 431, 501, 505}
PATIENCE_SECONDS = 20


class Responses(NamedTuple):
    """Contains the statuses of all responses, except 100, until the service closes the connection."""

    name: str
    statuses: tuple[int, ...]


class Listener(NamedTuple):
    """Calls a service that does not verify signatures, and checks whether an attack succeeded."""

    address: tuple[str, int]
    http: httpx.Client

    def tell(self, case: SmugglingCase, head: bytes, *more: bytes) -> Responses:
        with socket.create_connection(self.address, PATIENCE_SECONDS) as connection:
            connection.sendall(b"".join((case.data(head), *more)))
            received = b""
            while part := self.read(connection, case):
                received += part
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", received)]
        return Responses(case.name, tuple(status for status in statuses if status != 100))

    @staticmethod
    def read(connection: socket.socket, case: SmugglingCase) -> bytes:
        """Reads until the service closes the connection. Returns b"" at the end, even if the service closed the
        connection with unread data.
        """
        try:
            return connection.recv(65_536)
        except ConnectionResetError:
            return b""
        except TimeoutError as error:
            raise AssertionError(f"{case.name}: the service waits for more") from error

    def tell_all(self, given: Iterable[SmugglingCase], head: bytes, *more: bytes) -> list[Responses]:
        return [self.tell(case, head, *more) for case in given]

    def take_prize(self) -> bool:
        """Returns whether a smuggled request created its queue, and deletes the queue."""
        return self.http.delete(f"/v1/queues/{PRIZE_QUEUE}").status_code == 204


@pytest.fixture(scope="module")
def target(postgres: TestServer) -> Iterator[Listener]:
    with (
        postgres.database() as database,
        running_service(database.api_dsn, QUEUE_RECREATE_INTERVAL_SECONDS="0") as service,
        service.http() as http,
    ):
        address = urlsplit(service.url)
        yield Listener((address.hostname or "", address.port or 0), http)


protocols = pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)


@protocols
def test_a_faulty_request_is_refused_and_ends_the_connection(target: Listener, head: bytes) -> None:
    responses = target.tell_all(cases.refused(), head, PRIZE)
    assert [
        response for response in responses if len(response.statuses) != 1 or response.statuses[0] not in REFUSALS
    ] == []
    assert not target.take_prize()


@protocols
def test_after_the_last_request_comes_none(target: Listener, head: bytes) -> None:
    responses = target.tell_all(cases.last(), head, PRIZE)
    assert [response for response in responses if len(response.statuses) != 1] == []
    assert not target.take_prize()


@protocols
def test_a_body_is_a_body(target: Listener, head: bytes) -> None:
    responses = target.tell_all(cases.whole(), head, NEXT)
    assert [
        response
        for response in responses
        if len(response.statuses) != 2 or response.statuses[0] < 400 or response.statuses[1] != 200
    ] == []
    assert not target.take_prize()


@protocols
def test_a_valid_request_and_the_next_one_are_answered(target: Listener, head: bytes) -> None:
    """Without this test, the tests above would also pass if the service refused every request."""
    for case in cases.twins():
        responses = target.tell(case, head, PRIZE, NEXT)
        assert responses.statuses[1:] == (200, 200), responses
        assert target.take_prize(), case.name


def test_no_two_are_the_same() -> None:
    given = [case for kind in (cases.refused, cases.last, cases.whole) for case in kind()]
    assert len({case.data(b"") for case in given}) == len(given) >= 118
