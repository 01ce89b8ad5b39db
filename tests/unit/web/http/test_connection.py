"""Tests the order of responses, time limits, connection limits, back-pressure, and the end of a connection, in virtual
time.

The sources are RFC 9112, 9, and RFC 9110 where a test names it. `limits.py` defines the limits.
"""

import asyncio

import pytest

from penstock_web.http.limits import HttpLimits
from tests.support.web.http_connection import Client, Message, Receive, Recorder, Send, response
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

LIMITS = HttpLimits()
GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


class Gate:
    """Responds when the test sends a signal. `ends` contains the results of requests whose client disconnected."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.begun: list[str] = []
        self.ends: list[str] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        await self.opened.wait()
        while (message := await receive())["type"] != "http.disconnect" and message["more_body"]:
            pass
        self.ends.append(message["type"])
        await response(send, scope["path"].encode())


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# --- order -----------------------------------------------------------------------------------------------------------
async def test_pipelined_requests_are_begun_one_at_a_time_and_answered_in_their_order() -> None:
    """Source: RFC 9112, 9.3.2."""
    gate = Gate()
    client = Client(gate)
    paths = [f"/{n}" for n in range(20)]
    requests = [b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode() for path in paths]
    await client.say(b"".join(requests[:10]), *requests[10:])
    assert gate.begun == ["/0"]
    gate.opened.set()
    await settle()
    await asyncio.sleep(0)
    while len(gate.begun) < 20:
        await settle()
    await settle()
    assert gate.begun == paths
    bodies = [part.split(b"HTTP/1.1")[0] for part in client.transport.written.split(b"\r\n\r\n")[1:]]
    assert bodies == [path.encode() for path in paths]


async def test_more_than_100_waiting_requests_are_503_after_these() -> None:
    gate = Gate()
    client = Client(gate)
    await client.say(GET * 150, GET)
    gate.opened.set()
    while not client.transport.closed:
        await settle()
    assert client.statuses == [200] * 101 + [503]


async def test_a_response_is_one_write() -> None:
    client = Client(Recorder())
    await client.say(GET)
    assert len(client.transport.writes) == 1


# --- time ------------------------------------------------------------------------------------------------------------
async def test_a_connection_without_a_request_is_closed_after_75_seconds() -> None:
    client = Client(Recorder())
    await asyncio.sleep(LIMITS.idle_seconds - 1)
    assert not client.transport.closed
    await asyncio.sleep(1)
    assert client.transport.closed
    assert client.transport.writes == []


@pytest.mark.parametrize("before", [b"", GET])
async def test_a_head_that_takes_longer_than_60_seconds_is_408(before: bytes) -> None:
    """Source: RFC 9110, 15.5.9. Single bytes do not extend the time limit."""
    client = Client(Recorder())
    begun_at = asyncio.get_running_loop().time()
    await client.say(*[before] * bool(before), b"GET /")
    for _ in range(11):
        await asyncio.sleep(5)
        await client.say(b"a")
    assert client.statuses == [200] * bool(before)
    await asyncio.sleep(5)
    assert client.statuses == [200] * bool(before) + [408]
    assert client.transport.closed
    assert asyncio.get_running_loop().time() - begun_at == LIMITS.head_seconds


@pytest.mark.parametrize("framing", [b"Content-Length: 100\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n64\r\n"])
async def test_a_body_of_which_nothing_comes_for_60_seconds_is_408(framing: bytes) -> None:
    """Source: RFC 9110, 15.5.9. The application has started, and receives the disconnect of its client."""
    ends = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        await wait_for_disconnect(receive)
        ends.append(asyncio.get_running_loop().time())
        await response(send, b"too late")

    client = Client(application)
    await client.say(b"POST /a HTTP/1.1\r\nHost: x\r\n" + framing)
    for _ in range(3):
        await asyncio.sleep(LIMITS.body_seconds - 1)
        await client.say(b"a")
    await asyncio.sleep(LIMITS.body_seconds - 1)
    assert client.transport.writes == []
    await asyncio.sleep(1)
    await settle()
    assert client.statuses == [408]
    assert client.transport.closed
    assert ends == [asyncio.get_running_loop().time()]


async def test_the_time_of_a_body_does_not_run_while_the_application_leaves_it() -> None:
    """A client cannot send data while the server does not read."""
    gate = Gate()
    client = Client(gate)
    await client.say(POST % 200_000 + b"a" * 100_000)
    await asyncio.sleep(LIMITS.body_seconds * 3)
    assert not client.transport.reading
    gate.opened.set()
    await settle()
    assert client.transport.reading
    await asyncio.sleep(LIMITS.body_seconds - 1)
    await client.say(b"a" * 100_000)
    assert client.statuses == [200]


async def test_a_request_under_way_does_not_make_its_connection_idle() -> None:
    gate = Gate()
    client = Client(gate)
    await client.say(GET)
    await asyncio.sleep(LIMITS.idle_seconds * 3)
    gate.opened.set()
    await settle()
    assert client.statuses == [200]
    await asyncio.sleep(LIMITS.idle_seconds - 1)
    assert not client.transport.closed
    await asyncio.sleep(1)
    assert client.transport.closed


async def test_a_refusal_waits_for_the_request_that_is_under_way() -> None:
    gate = Gate()
    client = Client(gate)
    await client.say(GET, b"GET /")
    await asyncio.sleep(LIMITS.head_seconds * 2)
    assert client.transport.writes == []
    gate.opened.set()
    await settle()
    assert client.statuses == [200, 408]
    assert client.transport.closed


# --- number ----------------------------------------------------------------------------------------------------------
async def test_a_connection_too_many_is_503_and_makes_room() -> None:
    """Source: RFC 9110, 15.6.4."""
    client = Client(Recorder(), limits=HttpLimits(max_connections=2, max_share_of_an_address=1.0))
    others = [another(client), another(client)]
    assert [other.statuses for other in others] == [[], [503]]
    assert b"retry-after: 1\r\n" in others[1].transport.written
    assert others[1].transport.closed
    assert await others[1].say(GET) == others[1].transport.written
    assert others[1].statuses == [503]
    for other in others:
        await other.leave()
    assert another(client).statuses == []


async def test_one_address_cannot_take_all_connections() -> None:
    client = Client(Recorder(), limits=HttpLimits(max_connections=4, max_share_of_an_address=0.5))
    others = [another(client, "192.0.2.1") for _ in range(3)]
    assert [other.statuses for other in others] == [[], [], [503]]
    await others[0].leave()
    assert another(client, "192.0.2.2").statuses == []
    for other in others:
        await other.leave()
    assert another(client, "192.0.2.1").statuses == []
    assert client.state.of_addresses == {"127.0.0.1": 1, "192.0.2.1": 1, "192.0.2.2": 1}


def another(client: Client, address: str = "127.0.0.1") -> Client:
    """Opens another connection to the same server."""
    other = Client(client.state.application)
    other.connection = type(client.connection)(client.state)
    other.transport = type(client.transport)(address)
    other.connection.connection_made(other.transport)
    return other


def test_the_limit_of_connections_leaves_files_for_the_database() -> None:
    """Source: getrlimit(2), RLIMIT_NOFILE."""
    assert 1 <= LIMITS.max_connections <= 65_536


# --- back-pressure ---------------------------------------------------------------------------------------------------
async def test_a_body_is_read_as_fast_as_the_application_takes_it() -> None:
    taken = []
    goes_on = asyncio.Event()

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        more = True
        while more:
            await goes_on.wait()
            goes_on.clear()
            message = await receive()
            taken.append(len(message["body"]))
            more = message["more_body"]
        await response(send, b"")

    client = Client(application)
    await client.say(POST % 150_000 + b"a" * 60_000)
    assert client.transport.reading
    await client.say(b"a" * 40_000)
    assert not client.transport.reading
    goes_on.set()
    await settle()
    assert (taken, client.transport.reading) == ([100_000], True)
    goes_on.set()
    await client.say(b"a" * 50_000)
    assert taken == [100_000, 50_000]
    assert client.statuses == [200]


async def test_an_application_waits_for_a_client_that_does_not_read() -> None:
    sent = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
            sent.append(b"a")
        await send({"type": "http.response.body"})

    client = Client(application)
    client.connection.pause_writing()
    await client.say(GET, GET)
    assert sent == []
    client.connection.resume_writing()
    await settle()
    await settle()
    assert client.statuses == [200, 200]
    assert len(sent) == 6


async def test_a_client_that_does_not_read_its_response_gets_no_other_and_is_not_read() -> None:
    gate = Gate()
    client = Client(gate)
    await client.say(POST % 100_000)
    client.connection.pause_writing()
    gate.opened.set()
    await client.say(b"a" * 100_000 + GET)
    assert client.transport.writes == []
    client.connection.resume_writing()
    await settle()
    assert client.statuses == [200, 200]
    assert client.transport.reading


# --- the client leaves -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parts", "begun"),
    [
        pytest.param([], 0, id="before a request"),
        pytest.param([b"GET /"], 0, id="in a head"),
        pytest.param([POST % 100 + b"a"], 1, id="in a body"),
        pytest.param([GET, GET], 1, id="before a response"),
    ],
)
async def test_a_client_may_disconnect_at_any_time(parts: list[bytes], begun: int) -> None:
    gate = Gate()
    client = Client(gate)
    await client.say(*parts)
    await client.leave()
    gate.opened.set()
    await settle()
    assert len(gate.begun) == begun
    assert gate.ends == ["http.disconnect"] * begun
    assert client.transport.writes == []
    assert not client.state.connections
    assert not client.state.tasks


async def test_an_application_that_waits_for_a_disconnect_learns_of_it() -> None:
    """The source is the ASGI specification, "Disconnect - receive event"."""
    ends = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        await wait_for_disconnect(receive)
        ends.append(scope["path"])
        await response(send, b"this is never read")

    client = Client(application)
    await client.say(GET, GET)
    assert client.transport.reading
    await client.leave()
    assert ends == ["/a"]
    assert client.transport.writes == []


async def test_a_client_that_disconnects_while_the_application_writes_stops_it_from_waiting() -> None:
    async def application(scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        while True:
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
            if (await receive())["type"] == "http.disconnect":
                break

    client = Client(application)
    client.connection.pause_writing()
    await client.say(GET)
    await client.leave()
    assert not client.state.tasks


# --- the end of the server -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("begin", [b"", b"GET /"])
async def test_stop_closes_a_connection_without_a_request(begin: bytes) -> None:
    client = Client(Recorder())
    await client.say(GET, *[begin] * bool(begin))
    client.connection.stop()
    assert client.transport.closed
    assert client.statuses == [200]


@pytest.mark.parametrize("last", [b"", b"bc"], ids=["whole", "in its body"])
async def test_stop_lets_the_request_under_way_finish_and_no_other(last: bytes) -> None:
    """The last response has the option close (RFC 9112, 9.6)."""
    gate = Gate()
    client = Client(gate)
    whole = POST % 3 + b"abc"
    await client.say(whole[: len(whole) - len(last)])
    client.connection.stop()
    gate.opened.set()
    await client.say(last + GET)
    assert client.statuses == [200]
    assert b"connection: close\r\n" in client.transport.written
    assert client.transport.closed
    assert gate.begun == ["/a"]


async def test_all_that_is_under_way_is_known_until_it_ends() -> None:
    gate = Gate()
    client = Client(gate)
    await client.say(GET)
    empty = asyncio.create_task(client.state.wait_until_empty())
    await client.leave()
    assert not empty.done()
    gate.opened.set()
    await settle()
    assert empty.done()
