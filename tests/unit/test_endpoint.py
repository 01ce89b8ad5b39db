"""Tests the parser of endpoints' URLs, and the masking of passwords. `delivery/http/test_guard.py` tests the hosts."""

from __future__ import annotations

import pytest

from penstock.endpoint import (
    EndpointInvalid,
    fill_in_password,
    find_endpoint_problem,
    mask_password,
    parse_endpoint,
    split_password,
)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://a.example", ("http", "a.example", 80, "/")),
        ("HTTPS://A.example:8443/x?y=1#z", ("https", "a.example", 8443, "/x?y=1")),
        ("http://[2606:4700:0::1111]?q", ("http", "2606:4700::1111", 80, "/?q")),
    ],
)
def test_parts_of_a_url(url: str, parts: tuple[str, str, int, str]) -> None:
    assert parse_endpoint(url)[:4] == parts


@pytest.mark.parametrize(
    ("url", "user", "password"),
    [
        ("https://max:secret@a.example/x", "max", "secret"),
        ("HTTP://m%40x:p%3A%C3%BC%2F@a.example:81", "m@x", "p:ü/"),
        ("https://:@a.example/", "", ""),
    ],
)
def test_a_url_with_user_and_password(url: str, user: str, password: str) -> None:
    endpoint = parse_endpoint(url)
    assert (endpoint.host, endpoint.credentials) == ("a.example", (user, password))
    stored, hidden = split_password(url)
    assert (mask_password(stored), hidden is not None) == (stored, True)
    assert ":****@a.example" in stored
    assert fill_in_password(parse_endpoint(stored), hidden) == (user, password)
    assert not password or password not in repr(endpoint)
    assert find_endpoint_problem(url, takes_credentials=True) is None
    assert "user and a password" in (find_endpoint_problem(url, takes_credentials=False) or "")


@pytest.mark.parametrize(
    "url",
    [
        "https://max@a.example/", "https://a:b@c:d@a.example/", "https://a:b\\@a.example/", "https://a%3Ab:c@a.example/",
        "https://a:%00@a.example/", "https://a:%ff@a.example/", "https://a:b@/", "https://a:b/c@a.example/",
        "https://a.example:0/", "https://exa_mple..com/", "https://1.2.3/", "https://a.example:port/",
    ],
)  # fmt: skip
def test_urls_that_no_api_takes(url: str) -> None:
    """The service refuses to store a URL if a delivery to the URL would be refused."""
    assert find_endpoint_problem(url, takes_credentials=True) is not None
    with pytest.raises(EndpointInvalid):
        parse_endpoint(url)


def test_host_headers() -> None:
    urls = ["http://a.example:80/", "https://a.example:80/", "http://[::1]:81/"]
    assert [parse_endpoint(url).host_header for url in urls] == ["a.example", "a.example:80", "[::1]:81"]
