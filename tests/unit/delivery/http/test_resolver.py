"""Looking up names: slow name servers of one owner do not hold up others."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from penstock.delivery.http.outcome import judge_failure
from penstock.delivery.http.resolver import (
    MOST_LOOKUPS,
    MOST_OF_A_DOMAIN,
    ResolverBusyError,
    find_domain,
    resolve,
)
from penstock.delivery.outcome import NOT_ATTEMPTED

ONE, OTHER = "111111111111", "222222222222"


@pytest.mark.parametrize(
    ("host", "domain"),
    [("a.b.Example.com.", "example.com"), ("example.com", "example.com"), ("localhost", "localhost")],
)
def test_domains(host: str, domain: str) -> None:
    assert find_domain(host) == domain


async def test_a_domain_has_a_share_of_the_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[Any]:
        if host.endswith("tarpit.example"):
            answer.wait(60)
        return [(None, None, None, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    slow = [asyncio.ensure_future(resolve(f"{n}.tarpit.example", ONE)) for n in range(MOST_OF_A_DOMAIN)]
    await asyncio.sleep(0)
    with pytest.raises(ResolverBusyError) as caught:
        await resolve("one-more.tarpit.example", OTHER)
    assert [str(address) for address in await resolve("good.example", ONE)] == ["192.0.2.1"]
    outcome = judge_failure(None, caught.value)  # type: ignore[arg-type]
    assert (outcome.status, outcome.delay_ms, outcome.health) == (NOT_ATTEMPTED, 1_000, 0)
    answer.set()
    await asyncio.gather(*slow)
    for n in range(MOST_OF_A_DOMAIN + 1):  # the places are free again
        await resolve(f"{n}.tarpit.example", ONE)


async def test_an_account_with_many_slow_domains_leaves_look_ups_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[Any]:
        if host.startswith("tarpit"):
            answer.wait(60)
        return [(None, None, None, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    slow = [asyncio.ensure_future(resolve(f"tarpit{n}.example", ONE)) for n in range(MOST_LOOKUPS)]
    await asyncio.sleep(0)
    refused = [look_up for look_up in slow if look_up.done()]
    assert len(refused) == MOST_LOOKUPS // 2  # it has as many as are free
    assert all(isinstance(look_up.exception(), ResolverBusyError) for look_up in refused)
    for n in range(MOST_LOOKUPS):
        assert await resolve(f"good{n}.example", OTHER)
    answer.set()
    await asyncio.gather(*slow, return_exceptions=True)
    assert await resolve("good.example", ONE)
