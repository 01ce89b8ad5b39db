"""No connection goes to an address that is not public, whatever a URL looks like and whatever a resolver answers.

Every dial is counted where sockets connect: at the event loop's `sock_connect`. Nothing is really connected to.
"""

from __future__ import annotations

import socket
from asyncio.selector_events import BaseSelectorEventLoop
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

import pytest

from penstock.delivery.webhooks.endpoint import Address, EndpointInvalid, EndpointRefused, parse_endpoint
from penstock.delivery.webhooks.guard import AddressGuard, read_networks
from penstock.delivery.webhooks.sender import Sender

# Addresses that must not be reached, with the registry's or the cloud's reason.
FORBIDDEN_4 = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.1.2.3", "127.255.255.254", "168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255",
    "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255",
]  # fmt: skip
FORBIDDEN_6 = [
    "::", "::1", "::7f00:1", "::ffff:0:7f00:1", "100::1", "64:ff9b:1::1", "2001::1", "2001:10::1", "2001:db8::1",
    "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1",
          "198.17.255.255", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"]  # fmt: skip


def number_forms(text: str) -> list[str]:
    """The spellings of an IPv4 address that inet_aton understands."""
    value = int(IPv4Address(text))
    a, b, c, d = IPv4Address(text).packed
    return [
        str(value), hex(value), f"0{value:o}", f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a}.{(b << 16) + (c << 8) + d}", f"{a}.{b}.{(c << 8) + d}", f"0{a:03o}.{b}.{c}.{d}", f"{text}.",
        f"00000{a}.{b}.{c}.{d}", f"0X{value:X}",
    ]  # fmt: skip


def embedded(text: str) -> list[str]:
    """IPv6 addresses that carry this IPv4 address: mapped, compatible, translated, NAT64, 6to4, Teredo."""
    a, b, c, d = IPv4Address(text).packed
    high, low = f"{a:02x}{b:02x}", f"{c:02x}{d:02x}"
    masked = f"{(a << 8 | b) ^ 0xFFFF:x}:{(c << 8 | d) ^ 0xFFFF:x}"
    return [
        f"::ffff:{text}", f"::ffff:{high}:{low}", f"0:0:0:0:0:ffff:{high}:{low}", f"::{high}:{low}",
        f"::ffff:0:{high}:{low}", f"64:ff9b::{text}", f"64:ff9b::{high}:{low}", f"64:ff9b:1::{high}:{low}",
        f"2002:{high}:{low}::1", f"2001:0:{high}:{low}::", f"2001::{masked}",
    ]  # fmt: skip


METADATA, LOOPBACK, PRIVATE = "169.254.169.254", "127.0.0.1", "10.0.0.1"
NAMES = ["localhost", "localhost.", "LOCALHOST", "metadata.google.internal", "two.example", "xn--e1afmkfd.example",
         "127.0.0.1.nip.example", "a" * 60 + ".example"]  # fmt: skip
ODD = [
    "http://user@127.0.0.1/", "http://user:password@127.0.0.1/", "http://8.8.8.8@127.0.0.1/",
    "http://127.0.0.1@8.8.8.8/", "http://8.8.8.8#@127.0.0.1/", "http://8.8.8.8?@127.0.0.1/", "http://8.8.8.8\\@127.0.0.1/",
    "http://127.0.0.1\\@8.8.8.8/", "http://127.0.0.1:80\\@8.8.8.8/", "http:///127.0.0.1/", "http:127.0.0.1/",
    "http:/127.0.0.1/", "http:\\\\127.0.0.1\\", "//127.0.0.1/", "127.0.0.1", "", "http://", "http://:80/", "http://./",
    "http://../", "http://a..b/", "http://127。0。0。1/", "http://127.0.0。1/", "http://①②⑦.⓪.⓪.①/",
    "http://\uff11\uff12\uff17.0.0.1/", "http://١٢٧.0.0.1/", "http://ⓛocalhost/", "http://loc\u00adalhost/", "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/", "http://127.0.0.1%00.example/", "http://127.0.0.1\x00.example/", "http://127.0.0.1\t/",
    "http://127.0.0.1 /", " http://127.0.0.1/", "http://127.0.0.1\r\nX-Other: 1/", "http://127.0.0.1\n/", "http://[::1/",
    "http://::1/", "http://[::1]]/", "http://[[::1]]/", "http://[::1%25lo]/", "http://[fe80::1%25eth0]/", "http://[v1.a]/",
    "http://[127.0.0.1]/", "http://[::ffff:127.1]/", "http://[0:0:0:0:0:0:0:0:1]/", "http://127.0.0.1:0/",
    "http://127.0.0.1:65536/", "http://127.0.0.1:99999/", "http://127.0.0.1:-1/", "http://127.0.0.1:8o/",
    "http://127.0.0.1:80:80/", "http://127.0.0.1:\u0661/", "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/",
    "unix:/var/run/docker.sock", "data:text/plain,a", "javascript:0", "dict://127.0.0.1:11211/", "httpx://127.0.0.1/",
    "http+unix://%2Frun/", "HTTP://127.0.0.1/", "hTTps://127.0.0.1/", "http://127.0.0.1./", "http://127.0.0.1:80/",
    "http://127.0.0.256/", "http://1.2.3.4.5/", "http://0x/", "http://0x7f.example.0x1/", "http://1e3/", "http://..127.0.0.1/",
    "http://127.0.0.1/" + "a" * 2100, "http://[::ffff:8.8.8.8]/", "http://[64:ff9b::808:808]/",
]  # fmt: skip
ALL = [
    *(f"http://{address}/" for address in FORBIDDEN_4),
    *(f"https://[{address}]:8443/x" for address in FORBIDDEN_6),
    *(f"http://{form}/" for text in (METADATA, LOOPBACK, PRIVATE) for form in number_forms(text)),
    *(
        f"http://[{form}]/"
        for text in (METADATA, LOOPBACK, PRIVATE, "192.168.1.1")
        for form in embedded(text)
    ),
    *(f"http://{name}/" for name in NAMES),
    *ODD,
]
CORPUS = list(dict.fromkeys(ALL))
ALLOWED_CORPUS_DIALS = {"8.8.8.8"}


class Dialled(list[str]):
    """The addresses that sockets were to connect to; each connection fails."""


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> Dialled:
    found = Dialled()

    async def sock_connect(self: Any, sock: socket.socket, address: tuple[Any, ...]) -> None:
        found.append(str(address[0]))
        raise ConnectionRefusedError("not in a test")

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", sock_connect)
    return found


async def poisoned(host: str) -> list[Address]:
    """Every name has a public address and a forbidden one."""
    return [ip_address("8.8.8.8"), ip_address(METADATA)]


async def post(url: str, resolver: Any = poisoned, allowed: str = "") -> str:
    """How it ended."""
    sender = Sender(AddressGuard(read_networks(allowed)), resolver)
    try:
        endpoint = parse_endpoint(url)
        await sender.post(endpoint, b"POST / HTTP/1.1\r\n\r\n", 5)
    except (EndpointRefused, OSError) as error:
        return type(error).__name__
    finally:
        await sender.close()
    raise AssertionError("it cannot succeed: nothing connects")


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 200


@pytest.mark.parametrize("url", CORPUS, ids=ascii)
async def test_nothing_forbidden_is_dialled(url: str, dialled: Dialled) -> None:
    ended = await post(url)
    assert set(dialled) <= ALLOWED_CORPUS_DIALS
    assert ended in ("EndpointRefused", "EndpointInvalid") or dialled


@pytest.mark.parametrize("text", PUBLIC)
async def test_public_addresses_are_dialled(text: str, dialled: Dialled) -> None:
    assert await post(f"http://[{text}]/" if ":" in text else f"http://{text}/") == "ConnectionRefusedError"
    assert dialled == [str(ip_address(text))]


async def test_what_was_judged_is_what_is_dialled(dialled: Dialled) -> None:
    """A resolver that answers something else the second time is not asked a second time."""
    asked = []

    async def rebinding(host: str) -> list[Address]:
        asked.append(host)
        return [ip_address("8.8.4.4" if len(asked) == 1 else LOOPBACK)]

    await post("http://rebind.example/", rebinding)
    assert dialled == ["8.8.4.4"]
    assert asked == ["rebind.example"]


async def test_a_name_that_turns_bad_is_judged_anew(dialled: Dialled) -> None:
    answers = iter(["8.8.4.4", METADATA])

    async def rebinding(host: str) -> list[Address]:
        return [ip_address(next(answers))]

    ended = [await post("http://rebind.example/", rebinding) for _ in range(2)]
    assert ended == ["ConnectionRefusedError", "EndpointRefused"]
    assert dialled == ["8.8.4.4"]


async def test_no_system_resolver_sees_the_name_again(
    dialled: Dialled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a second look-up")

    monkeypatch.setattr(socket, "getaddrinfo", forbidden)

    async def fixed(host: str) -> list[Address]:
        return [ip_address("8.8.4.4"), ip_address("8.8.8.8")]

    assert await post("https://two.example/", fixed) == "ConnectionRefusedError"
    assert dialled == ["8.8.4.4", "8.8.8.8"]


async def test_the_system_resolver_finds_loopback(dialled: Dialled) -> None:
    from penstock.delivery.webhooks.resolver import resolve

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


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://a.example", ("http", "a.example", 80, "/")),
        ("HTTPS://A.example:8443/x?y=1#z", ("https", "a.example", 8443, "/x?y=1")),
        ("http://[2606:4700:0::1111]?q", ("http", "2606:4700::1111", 80, "/?q")),
    ],
)
def test_parts_of_a_url(url: str, parts: tuple[str, str, int, str]) -> None:
    assert parse_endpoint(url) == parts


def test_host_headers() -> None:
    urls = ["http://a.example:80/", "https://a.example:80/", "http://[::1]:81/"]
    assert [parse_endpoint(url).host_header for url in urls] == ["a.example", "a.example:80", "[::1]:81"]


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "private", "10.0.0.0-10.1.0.0"])
def test_bad_networks_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is Python's
        read_networks(text)


def test_every_allowed_network_permits_only_itself() -> None:
    guard = AddressGuard([ip_network("10.0.0.0/8")])
    assert guard.permits(ip_address("10.9.9.9"))
    assert not guard.permits(ip_address("192.168.0.1"))
    assert issubclass(EndpointInvalid, EndpointRefused)
