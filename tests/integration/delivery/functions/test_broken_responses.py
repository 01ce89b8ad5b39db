"""Tests incomplete responses. The missing part could name failed messages, which the service must not delete.

Also tests messages and invocations that the service stops retrying.

The source is RetryPolicy (EventBridge Scheduler API Reference). AWS does not document which accounts can make the
service invoke a function, so Penstock chose that rule.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.delivery.http.connection import Response
from penstock.delivery.http.guard import EVERY_NETWORK, AddressGuard
from penstock.delivery.http.sender import Sender
from penstock.endpoint import EndpointRefused, parse_endpoint
from penstock.event_sources.invocation import Failure, FunctionThrottled, Invoker
from penstock.settings import Settings
from tests.support.mappings.harness import Harness
from tests.support.sql.calls import ACCOUNT, Connection, create, receive
from tests.support.tls.certificates import Authority
from tests.support.wait import wait_until

BODY = b'{"batchItemFailures": [{"itemIdentifier": "a"}]}'
HEAD = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(BODY)
CHUNK = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY)
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"

Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def served(respond: Respond, call: Callable[[str], Awaitable[None]]) -> None:
    """Yields the address of a server that reads a request and then sends the given response."""
    ended: list[asyncio.Future[None]] = []

    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.get_running_loop().create_future())
        mine = ended[-1]
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            await respond(writer)
            writer.close()
            await writer.wait_closed()
        mine.set_result(None)

    server = await asyncio.start_server(response, "127.0.0.1", 0)
    async with server:
        await call(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        await asyncio.gather(*ended)


async def invoke(target: str, respond: Respond) -> bytes:
    """Returns an Invoker's result for a response from a URL or from Lambda."""
    bodies: list[bytes] = []

    async def call(address: str) -> None:
        given = {"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8", "QUEUE_LAMBDA_ENDPOINT": address}
        invoker = Invoker(Settings.read(given))
        try:
            bodies.append(await invoker.invoke(target or address, "000000000000", "us-east-1", b"{}", 30.0))
        finally:
            await invoker.close()

    await served(respond, call)
    return bodies[0]


@pytest.mark.parametrize("target", ["", FUNCTION])
@pytest.mark.parametrize("sent", [HEAD + LENGTH, HEAD + LENGTH + BODY[:9], HEAD + CHUNK, HEAD + CHUNK + BODY + b"\r\n"])
@pytest.mark.parametrize("is_reset", [False, True])
async def test_a_body_that_breaks_off(target: str, sent: bytes, is_reset: bool) -> None:
    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        if is_reset:
            writer.transport.abort()

    with pytest.raises(Failure, match=r"is incomplete|cannot be reached"):
        await invoke(target, respond)


@pytest.mark.parametrize("target", ["", FUNCTION])
@pytest.mark.parametrize("body", [b"", BODY])
async def test_a_body_that_ends_with_the_connection(target: str, body: bytes) -> None:
    """HTTP/1.0 servers close the connection to end the body."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)
        await writer.drain()

    assert await invoke(target, respond) == body


async def test_a_body_that_comes_late() -> None:
    """The service waits for the body of an invocation's response, because the body contains the result. The service
    does not wait for the body of a webhook's response."""
    responses: list[Response] = []
    came_late = asyncio.Event()

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + LENGTH)
        await came_late.wait()
        writer.write(BODY)

    async def call(address: str) -> None:
        endpoint = parse_endpoint(address)
        request = f"POST / HTTP/1.1\r\nHost: {endpoint.host_header}\r\nContent-Length: 0\r\n\r\n".encode()
        senders = [Sender(AddressGuard(EVERY_NETWORK), kept_bytes=99, keeps_private=True, drain_seconds=seconds)
                   for seconds in (None, 0.0)]  # fmt: skip
        patient = asyncio.create_task(senders[0].post(endpoint, request, 30.0, ""))
        responses.append(await senders[1].post(endpoint, request, 30.0, ""))
        came_late.set()
        responses.append(await patient)
        for sender in senders:
            await sender.close()

    await served(respond, call)
    assert [(response.start, response.is_complete) for response in responses] == [(b"", False), (BODY, True)]


@pytest.mark.parametrize("target", ["", FUNCTION])
async def test_a_response_of_6_mb_does_not_break_off(target: str) -> None:
    """A response from Lambda can be 6 MB long. The service truncates a longer response."""
    body = b"x" * (6 * 1_048_576)

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    assert await invoke(target, respond) == body[:1_048_576]


@pytest.mark.virtual_time
async def test_a_target_that_cannot_be_connected_to_has_not_had_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If connecting takes more than three seconds, the target is unreachable."""
    invoker = Invoker(Settings.read({"QUEUE_LAMBDA_ENDPOINT": "http://127.0.0.1:1"}))

    async def dial(*_: object) -> None:
        await asyncio.sleep(30)

    monkeypatch.setattr(Sender, "_dial", dial)
    with pytest.raises(FunctionThrottled, match="cannot be reached"):
        await invoker.invoke(FUNCTION, "000000000000", "us-east-1", b"{}", 30.0)


async def fail_to_reach(target: str, **given: str) -> Failure:
    """Invokes the target and returns the failure."""
    invoker = Invoker(Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8", **given}))
    with pytest.raises(Failure) as raised:
        await invoker.invoke(target, "000000000000", "us-east-1", b"{}", 30.0)
    await invoker.close()
    return raised.value


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (TimeoutError("no connection within 3 s"), "no connection within 3 s"),
        (EndpointRefused("fn.example has no address"), "fn.example has no address"),
    ],
)
@pytest.mark.parametrize("is_function", [False, True])
async def test_the_failure_names_why_a_target_is_unreachable(
    monkeypatch: pytest.MonkeyPatch, error: Exception, text: str, is_function: bool
) -> None:
    """The account that owns a mapping reads why the worker does not reach a URL, as for a webhook. For
    QUEUE_LAMBDA_ENDPOINT, only the log contains the reason why the worker does not reach the address."""

    async def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(Sender, "_connect", refuse)
    failure = await fail_to_reach(FUNCTION if is_function else "https://fn.example/", QUEUE_LAMBDA_ENDPOINT="http://x")
    unreached = "the target cannot be reached"
    told = text if isinstance(error, EndpointRefused) else f"{unreached}: {text}"
    assert (str(failure), failure.cause) == (unreached if is_function else told, text)


async def test_the_failure_names_an_untrusted_certificate(tmp_path: Path) -> None:
    made = Authority().server("127.0.0.1")
    (tmp_path / "server.pem").write_text(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context) as server:
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        told, hidden = await fail_to_reach(address), await fail_to_reach(FUNCTION, QUEUE_LAMBDA_ENDPOINT=address)
    assert str(told).startswith("the target cannot be reached: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify")
    assert (str(hidden), str(told)) == ("the target cannot be reached", f"{hidden}: {hidden.cause}")


async def test_a_name_within_the_network_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts can read the last result, so the error must not contain the address."""

    async def refuse(*_: object) -> None:
        raise EndpointRefused("lambda.internal.example has no address")

    invoker = Invoker(Settings.read({"QUEUE_LAMBDA_ENDPOINT": "http://lambda.internal.example"}))
    monkeypatch.setattr(Sender, "_resolve_addresses", refuse)
    with pytest.raises(FunctionThrottled, match=r"^the target cannot be reached$"):
        await invoker.invoke(FUNCTION, "000000000000", "us-east-1", b"{}", 30.0)


async def test_connections_survive_nat_while_a_function_works() -> None:
    """Without keep-alive, a response would never arrive if the function runs longer than 350 seconds."""
    ended = asyncio.Event()

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        ended.set()

    server = await asyncio.start_server(read, "127.0.0.1", 0)
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        sender = Sender(AddressGuard(EVERY_NETWORK))
        connection = await sender._connect(parse_endpoint(address), "000000000000")
        assert connection._transport is not None
        opened = connection._transport.get_extra_info("socket")
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < 350
        await sender.close()
        await ended.wait()


ARN = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"
SCHEDULE = {
    "at": "2026-01-01T00:00:00+00:00",
    "earlier_attempts": 0,
    "schedule": {
        "schedule_id": 7, "account_id": ACCOUNT, "region": "us-east-1", "group_name": "default", "name": "s",
        "target": {"Arn": ARN, "Input": '{"n": "<aws.scheduler.attempt-number>"}'},
    },
}  # fmt: skip


def test_a_function_of_another_account_than_the_subscriber(harness: Harness) -> None:
    """A release that did not invoke functions let any account subscribe any function."""
    name = harness.function(lambda _: None)
    sns = harness.service.client("sns")
    topic = sns.create_topic(Name="foreign")["TopicArn"]
    arn = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:{name}"
    subscription = sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn)["SubscriptionArn"]
    with psycopg.connect(harness.dsn, autocommit=True) as db:
        db.execute("update queue.subscription set owner = '111122223333' where arn = %s", (subscription,))
        sns.publish(TopicArn=topic, Message="m")
        query = "select state, error from queue.outgoing where subscription_arn = %s"
        wait_until(lambda: db.execute(query, (subscription,)).fetchall() == [("failed", "FunctionNotAllowed")])
    assert harness.invocations(name) == []


def paused_invocation(db: Connection, until: float, dead_letters: str) -> None:
    """Creates an invocation by a schedule, which has waited two hours because its function is paused."""
    row = db.execute(
        "insert into queue.notice (kind, message_id, raw, schedule) values ('schedule', gen_random_uuid(), '{}', %s)"
        " returning notice_id", (json.dumps(SCHEDULE),),
    ).fetchone()  # fmt: skip
    assert row is not None
    endpoint_key, policy = f"{ACCOUNT} {ARN}", json.dumps({"MaximumRetryAttempts": 185, "Until": until})
    db.execute(
        "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, retry_policy,"
        " dead_letter_arn, attempts, last_error, due_at, waiting, waits_for)"
        " values (%s, %s, %s, true, %s, %s, 3, 'TooManyRequestsException: 429',"
        " clock_timestamp() - interval '2 hours', true, %s)",
        (row[0], ACCOUNT, ARN, policy, dead_letters, endpoint_key),
    )
    db.execute(
        "insert into queue.delivery_endpoint (endpoint_key, next_at, failures, account_id, host, paused_until)"
        " values (%s, 'infinity', 20, %s, %s, clock_timestamp() + interval '1 minute')",
        (endpoint_key, ACCOUNT, endpoint_key.lower()),
    )


@pytest.mark.parametrize(("until", "dead"), [(4e9, 0), (0, 1)], ids=["young", "old"])
def test_an_invocation_whose_function_is_paused_waits_as_long_as_its_policy_says(
    db: Connection, until: float, dead: int
) -> None:
    """The service stops retrying other webhooks after an hour. The dead letter contains the last attempt's input."""
    dead_letters = create(db, "dead")
    paused_invocation(db, until, dead_letters)
    assert db.execute("select dead_lettered from queue.expire_deliveries(10)").fetchone() == (dead,)
    found: list[Any] = receive(db, dead_letters)
    assert [message.body for message in found] == ['{"n": "3"}'] * dead
    for message in found:
        attributes = json.loads(message.attributes)
        values = {name: value["StringValue"] for name, value in attributes.items()}
        assert values["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"
        assert (values["RETRY_ATTEMPTS"], values["ERROR_CODE"]) == ("2", "TooManyRequestsException")
