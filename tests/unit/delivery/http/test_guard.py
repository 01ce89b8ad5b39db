"""Tests that the client connects only to public addresses, for every form of URL and every DNS response.

The tests record each connection at the event loop's `sock_connect`, and open no real connection.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from asyncio.selector_events import BaseSelectorEventLoop
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from penstock.delivery.http.guard import AddressGuard, read_networks
from penstock.delivery.http.outcome import judge_failure
from penstock.delivery.http.resolver import MAX_LOOKUPS, MAX_OF_A_DOMAIN, ResolverBusyError, find_domain, resolve
from penstock.delivery.http.sender import Sender
from penstock.delivery.outcome import NOT_ATTEMPTED
from penstock.endpoint import (
    Address,
    EndpointInvalid,
    EndpointRefused,
    parse_endpoint,
)
from tests.support.delivery.forbidden_urls import ALLOWED_4, ALLOWED_6, LOOPBACK, METADATA, PUBLIC, forbidden

CORPUS = forbidden()
# If a resolver returns a forbidden and a public address, the client connects to neither address.
MIXED = [
    [PUBLIC, METADATA], [METADATA, PUBLIC], [PUBLIC, "1.1.1.1", "2606:4700::1111", LOOPBACK], [PUBLIC, "::1"],
    ["::1", PUBLIC], [PUBLIC, "::ffff:127.0.0.1"], [PUBLIC, "64:ff9b::a9fe:a9fe"], [PUBLIC, "fe80::1"],
    [PUBLIC, "2600::5efe:7f00:1"], [PUBLIC, "0.0.0.0"], [PUBLIC, "10.0.0.1", PUBLIC], ["255.255.255.255", PUBLIC],
    [LOOPBACK], ["::1"], [METADATA], ["fd00:ec2::254"], ["192.168.1.1", "192.168.1.2"],
]  # fmt: skip


class Dialled(list[str]):
    """Records the addresses of connection attempts, and fails each attempt."""


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> Dialled:
    found = Dialled()

    async def sock_connect(self: Any, sock: socket.socket, address: tuple[Any, ...]) -> None:
        found.append(str(address[0]))
        raise ConnectionRefusedError("not in a test")

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", sock_connect)
    return found


async def poisoned(host: str, account_id: str) -> list[Address]:
    """Returns a public and a forbidden address for every name."""
    return [ip_address(PUBLIC), ip_address(METADATA)]


async def post(url: str, resolver: Any = poisoned, allowed: str = "") -> str:
    sender = Sender(AddressGuard(read_networks(allowed)), resolver)
    try:
        endpoint = parse_endpoint(url)
        await sender.post(endpoint, b"POST / HTTP/1.1\r\n\r\n", 5, "000000000000")
    except (EndpointRefused, OSError) as error:
        return type(error).__name__
    finally:
        await sender.close()
    raise AssertionError("The request cannot succeed, because each connection fails.")


def test_the_corpus_is_large() -> None:
    assert len(set(CORPUS)) >= 300


@pytest.mark.parametrize("url", CORPUS, ids=ascii)
async def test_nothing_forbidden_is_dialled(url: str, dialled: Dialled) -> None:
    ended = await post(url)
    assert set(dialled) <= {PUBLIC}
    assert ended in ("EndpointRefused", "EndpointInvalid") or dialled


@pytest.mark.parametrize("text", [*ALLOWED_4, *ALLOWED_6])
async def test_public_addresses_are_dialled(text: str, dialled: Dialled) -> None:
    assert await post(f"http://[{text}]/" if ":" in text else f"http://{text}/") == "ConnectionRefusedError"
    assert dialled == [str(ip_address(text))]


@pytest.mark.parametrize("responses", MIXED, ids=str)
@pytest.mark.parametrize("url", ["http://mixed.example/", "https://mixed.example:8443/x"])
async def test_one_forbidden_address_of_a_name_is_enough(url: str, responses: list[str], dialled: Dialled) -> None:
    async def mixed(host: str, account: str) -> list[Address]:
        return [ip_address(response) for response in responses]

    assert await post(url, mixed) == "EndpointRefused"
    assert dialled == []


async def test_the_checked_address_is_dialled(dialled: Dialled) -> None:
    """The client resolves the name only once, so a different second response has no effect."""
    asked = []

    async def rebinding(host: str, account_id: str) -> list[Address]:
        asked.append(host)
        return [ip_address("8.8.4.4" if len(asked) == 1 else LOOPBACK)]

    await post("http://rebind.example/", rebinding)
    assert dialled == ["8.8.4.4"]
    assert asked == ["rebind.example"]


async def test_a_name_that_turns_bad_is_judged_anew(dialled: Dialled) -> None:
    responses = iter(["8.8.4.4", METADATA])

    async def rebinding(host: str, account_id: str) -> list[Address]:
        return [ip_address(next(responses))]

    ended = [await post("http://rebind.example/", rebinding) for _ in range(2)]
    assert ended == ["ConnectionRefusedError", "EndpointRefused"]
    assert dialled == ["8.8.4.4"]


async def test_no_system_resolver_sees_the_name_again(dialled: Dialled, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a second look-up")

    monkeypatch.setattr(socket, "getaddrinfo", forbidden)

    async def fixed(host: str, account_id: str) -> list[Address]:
        return [ip_address("8.8.4.4"), ip_address("8.8.8.8")]

    assert await post("https://two.example/", fixed) == "ConnectionRefusedError"
    assert dialled == ["8.8.4.4", "8.8.8.8"]


async def test_the_system_resolver_finds_loopback(dialled: Dialled) -> None:
    from penstock.delivery.http.resolver import resolve

    assert await post("http://localhost/", resolve) == "EndpointRefused"
    assert dialled == []


async def test_allowed_networks_are_dialled_and_their_neighbours_are_not(dialled: Dialled) -> None:
    allowed = "10.1.0.0/16, fd00:1::/32 127.0.0.1"
    urls = ["http://10.1.2.3/", "http://[fd00:1::5]/", "http://[::ffff:10.1.2.3]/", "http://10.2.0.1/",
            "http://[fd00:2::5]/", "http://127.0.0.2/", "http://127.0.0.1/"]  # fmt: skip
    for url in urls:
        await post(url, allowed=allowed)
    expected = ["10.1.2.3", "fd00:1::5", "::ffff:10.1.2.3", "127.0.0.1"]
    assert [ip_address(text) for text in dialled] == [ip_address(text) for text in expected]


async def test_a_network_with_nat64_is_allowed_as_such(dialled: Dialled) -> None:
    for url in ("http://[64:ff9b::808:808]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b::a00:1]/"):
        await post(url, allowed="64:ff9b::/96")
    assert dialled == ["64:ff9b::808:808"]


async def test_no_proxy_of_the_environment_is_used(dialled: Dialled, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:3128")
    await post("http://8.8.8.8/")
    await post("https://8.8.8.8/")
    assert dialled == ["8.8.8.8", "8.8.8.8"]


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "private", "10.0.0.0-10.1.0.0"])
def test_bad_networks_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is Python's
        read_networks(text)


def test_every_allowed_network_permits_only_itself() -> None:
    guard = AddressGuard([ip_network("10.0.0.0/8")])
    assert guard.permits(ip_address("10.9.9.9"))
    assert not guard.permits(ip_address("192.168.0.1"))
    assert issubclass(EndpointInvalid, EndpointRefused)


# --- resolver --------------------------------------------------------------------------------------------------------
# Tests that slow name servers of one owner do not delay the name resolution of other owners.


ONE, OTHER = "111111111111", "222222222222"


@pytest.mark.parametrize(
    ("host", "domain"),
    [("a.b.Example.com.", "example.com"), ("example.com", "example.com"), ("localhost", "localhost")],
)
def test_a_host_belongs_to_its_last_two_labels(host: str, domain: str) -> None:
    assert find_domain(host) == domain


async def test_a_domain_has_a_share_of_the_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    response = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[Any]:
        if host.endswith("tarpit.example"):
            response.wait(60)
        return [(None, None, None, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    slow = [asyncio.ensure_future(resolve(f"{n}.tarpit.example", ONE)) for n in range(MAX_OF_A_DOMAIN)]
    await asyncio.sleep(0)
    with pytest.raises(ResolverBusyError) as caught:
        await resolve("one-more.tarpit.example", OTHER)
    assert [str(address) for address in await resolve("good.example", ONE)] == ["192.0.2.1"]
    outcome = judge_failure(None, caught.value)  # type: ignore[arg-type]
    assert (outcome.status, outcome.delay_ms, outcome.health) == (NOT_ATTEMPTED, 1_000, 0)
    response.set()
    await asyncio.gather(*slow)
    for n in range(MAX_OF_A_DOMAIN + 1):  # The slots of the slow look-ups are free again.
        await resolve(f"{n}.tarpit.example", ONE)


async def test_an_account_with_many_slow_domains_leaves_look_ups_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    response = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[Any]:
        if host.startswith("tarpit"):
            response.wait(60)
        return [(None, None, None, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    slow = [asyncio.ensure_future(resolve(f"tarpit{n}.example", ONE)) for n in range(MAX_LOOKUPS)]
    await asyncio.sleep(0)
    refused = [look_up for look_up in slow if look_up.done()]
    assert len(refused) == MAX_LOOKUPS // 2  # The other owner uses the free slots.
    assert all(isinstance(look_up.exception(), ResolverBusyError) for look_up in refused)
    for n in range(MAX_LOOKUPS):
        assert await resolve(f"good{n}.example", OTHER)
    response.set()
    await asyncio.gather(*slow, return_exceptions=True)
    assert await resolve("good.example", ONE)
