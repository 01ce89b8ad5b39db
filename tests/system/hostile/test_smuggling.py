"""Tests that no request hides within or behind another: the cases of `smuggled_requests.py`, over a socket, in both
protocols."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.database import TestServer
from tests.support.hostile import smuggled_requests as cases
from tests.support.hostile.smuggled_requests import HEADS, PRIZE, PRIZE_QUEUE, SmugglingCase
from tests.support.programs.penstock_service import running_service

# This request ends the connection, if the service has not.
NEXT = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
REFUSALS = {400, 431, 501, 505}
PATIENCE_SECONDS = 20


class Answers(NamedTuple):
    """The statuses of the answers until the service closed the connection, except 100."""

    name: str
    statuses: tuple[int, ...]


class Target(NamedTuple):
    """A service without checks of signatures, and the check whether the prize was won."""

    address: tuple[str, int]
    http: httpx.Client

    def tell(self, case: SmugglingCase, head: bytes, *more: bytes) -> Answers:
        with socket.create_connection(self.address, PATIENCE_SECONDS) as connection:
            connection.sendall(b"".join((case.data(head), *more)))
            received = b""
            while part := self.read(connection, case):
                received += part
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", received)]
        return Answers(case.name, tuple(status for status in statuses if status != 100))

    @staticmethod
    def read(connection: socket.socket, case: SmugglingCase) -> bytes:
        """Returns empty at the end, even if the service closed with unread data."""
        try:
            return connection.recv(65_536)
        except ConnectionResetError:
            return b""
        except TimeoutError as error:
            raise AssertionError(f"{case.name}: the service waits for more") from error

    def tell_all(self, given: Iterable[SmugglingCase], head: bytes, *more: bytes) -> list[Answers]:
        return [self.tell(case, head, *more) for case in given]

    def take_prize(self) -> bool:
        """Returns whether a smuggled request has created its queue, and deletes the queue."""
        return self.http.delete(f"/v1/queues/{PRIZE_QUEUE}").status_code == 204


@pytest.fixture(scope="module")
def target(postgres: TestServer) -> Iterator[Target]:
    with (
        postgres.database() as database,
        running_service(database.api_dsn, QUEUE_RECREATE_INTERVAL_SECONDS="0") as service,
        service.http() as http,
    ):
        address = urlsplit(service.url)
        yield Target((address.hostname or "", address.port or 0), http)


protocols = pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)


@protocols
def test_a_faulty_request_is_refused_and_ends_the_connection(target: Target, head: bytes) -> None:
    answers = target.tell_all(cases.refused(), head, PRIZE)
    assert [answer for answer in answers if len(answer.statuses) != 1 or answer.statuses[0] not in REFUSALS] == []
    assert not target.take_prize()


@protocols
def test_after_the_last_request_comes_none(target: Target, head: bytes) -> None:
    answers = target.tell_all(cases.last(), head, PRIZE)
    assert [answer for answer in answers if len(answer.statuses) != 1] == []
    assert not target.take_prize()


@protocols
def test_a_body_is_a_body(target: Target, head: bytes) -> None:
    answers = target.tell_all(cases.whole(), head, NEXT)
    assert [
        answer
        for answer in answers
        if len(answer.statuses) != 2 or answer.statuses[0] < 400 or answer.statuses[1] != 200
    ] == []
    assert not target.take_prize()


@protocols
def test_a_valid_request_and_the_next_one_are_answered(target: Target, head: bytes) -> None:
    """Without this test, the tests above would prove nothing."""
    for case in cases.twins():
        answers = target.tell(case, head, PRIZE, NEXT)
        assert answers.statuses[1:] == (200, 200), answers
        assert target.take_prize(), case.name


def test_no_two_are_the_same() -> None:
    given = [case for kind in (cases.refused, cases.last, cases.whole) for case in kind()]
    assert len({case.data(b"") for case in given}) == len(given) >= 118
