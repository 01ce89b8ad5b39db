"""Tests which functions a request passes through. A reader who follows a request must read all these functions.

The module counts distinct functions below layers/ between the bytes of the request and the first write of the response.
The numbers count functions that receive the text of the message (or the name of the queue) in an argument other than
`self`, and all other functions. A `NamedQueue` does not count as the name of a queue.
"""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg
import pytest

from penstock.postgres.statements.long_polls import POLL_QUEUES
from tests.support.database import Database
from tests.support.wait import wait_until
from tests.support.web.walk import Function, Recorder, Walk, recorded_service

QUEUE, BODY = "orders-of-the-walk", "the-body-of-the-walk"
MEASUREMENTS = 10
# The limits on the functions and files that receive the text.
SENT = (18, 11)
RECEIVED = (24, 16)
# The limits on all functions and files of a request.
ALL_OF_A_SEND = (100, 37)
ALL_OF_A_RECEIVE = (155, 44)


class WalkedClient(AbstractContextManager["WalkedClient"]):
    """Sends each request in one write, as SDKs send short requests."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname, address.port), timeout=30)
        self._responses = self._socket.makefile("rb")

    def __exit__(self, *error: object) -> None:
        self._responses.close()
        self._socket.close()

    def __call__(self, action: str, **members: object) -> dict[str, object]:
        body = json.dumps(members).encode()
        head = f"POST / HTTP/1.1\r\nHost: t\r\nX-Amz-Target: AmazonSQS.{action}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body)
        status, *headers = iter(self._responses.readline, b"\r\n")
        assert b" 200 " in status
        (length,) = [int(line.split(b":")[1]) for line in headers if line.startswith(b"content-length")]
        response: dict[str, object] = json.loads(self._responses.read(length) or b"{}")
        return response


def common(recorder: Recorder) -> Walk:
    """Returns the functions that all the recorded requests have in common. This leaves out the event loop's other work,
    such as timers and checks of idle connections, which a slow machine adds to many requests."""
    first, *others = recorder.walks
    return replace(
        first,
        carriers={function: None for function in first.carriers if all(function in other.carriers for other in others)},
        functions={
            function: None for function in first.functions if all(function in other.functions for other in others)
        },
    )


def check(walk: Walk, carriers: tuple[int, int], functions: tuple[int, int]) -> None:
    """Compares the numbers of functions and files that receive the text, and of all, with the limits."""
    for walked, limit in ((walk.carriers, carriers), (walk.functions, functions)):
        found = len(walked), len(files(walked))
        assert walked, "the recorder recorded no function"
        assert found[0] <= limit[0], listing(found, walked)
        assert found[1] <= limit[1], listing(found, walked)


def files(functions: dict[Function, None]) -> set[str]:
    return {function.file for function in functions}


def listing(found: tuple[int, int], functions: dict[Function, None]) -> str:
    return f"{found[0]} functions in {found[1]} files:\n" + "\n".join(map(str, functions))


def test_the_walk_of_a_sent_message(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded_service(database, monkeypatch) as (url, recorder), WalkedClient(url) as call:
        call("CreateQueue", QueueName=QUEUE)

        def send() -> bool:
            recorder.expected = (BODY.encode(),)
            call("SendMessage", QueueUrl=f"{url}/000000000000/{QUEUE}", MessageBody=BODY)
            return len(recorder.walks) >= MEASUREMENTS

        wait_until(send)
        # access/hosts.py, which core and container share, checks the Host and the Origin of each request. The rate
        # limiter receives only the address of the client.
        check(common(recorder), carriers=SENT, functions=ALL_OF_A_SEND)


def test_the_walk_of_a_receive_that_waits(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process sends the message by SQL."""
    with (
        recorded_service(database, monkeypatch) as (url, recorder),
        psycopg.connect(database.dsn, autocommit=True) as sql,
        WalkedClient(url) as call,
        ThreadPoolExecutor(1) as thread,
    ):
        call("CreateQueue", QueueName=QUEUE)

        def receive() -> bool:
            recorder.expected = (QUEUE.encode(), BODY.encode())
            response = thread.submit(call, "ReceiveMessage", QueueUrl=f"{url}/000000000000/{QUEUE}", WaitTimeSeconds=20)
            wait_until(lambda: recorder.has_called(POLL_QUEUES))  # the queue is registered
            sql.execute("select queue.send(%s, %s)", (QUEUE, json.dumps(BODY)))
            assert BODY in json.dumps(response.result(30))
            return len(recorder.walks) >= MEASUREMENTS

        wait_until(receive)
        # Three files in long_poll contain the waiting requests, the registrations and the shared check.
        check(common(recorder), carriers=RECEIVED, functions=ALL_OF_A_RECEIVE)
