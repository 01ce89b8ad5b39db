"""Checks whether the worker `deliver` may connect to the addresses for alerts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from penstock.delivery.http.guard import AddressGuard, read_networks
from penstock.endpoint import Endpoint, EndpointRefused, parse_endpoint
from penstock.settings.alert_url import parse_alert_url

from .examination import Examination, Finding

if TYPE_CHECKING:
    from penstock.endpoint import Address
    from penstock.settings import Settings

ALERTS: Final = "alerts"
ACCOUNT_ALERTS: Final = "account alerts"
MAX_ACCOUNTS: Final = 100
_WHY: Final = "alerts wait, and the service gives them up after six hours"


def check_alerts(settings: Settings) -> Iterator[Finding]:
    """Yields a finding if no alert can reach QUEUE_ALERT_URL. Looks up the host's name, and opens no connection."""
    if not settings.queue_http_delivery_enabled:
        yield Finding(
            ALERTS, "QUEUE_HTTP_DELIVERY_ENABLED is false, so this process sends no alerts", "",
            "run a process or function that delivers", is_advice=True,
        )  # fmt: skip
    if settings.queue_alert_url:
        yield from _find_unreachable(ALERTS, "QUEUE_ALERT_URL", settings.queue_alert_url, settings)


def check_account_alerts(examined: Examination) -> Iterator[Finding]:
    """Yields a finding for each account whose address no alert can reach. Checks the first MAX_ACCOUNTS accounts, and
    opens no connection to an address. Raises psycopg's errors.
    """
    query = "select account_id, url from queue.alert_target where account_id <> '' order by 1 limit %s"
    for account_id, url in examined.connect_directly().execute(query, (MAX_ACCOUNTS,)).fetchall():
        name = f"the address of the account {account_id}"
        try:
            yield from _find_unreachable(ACCOUNT_ALERTS, name, url, examined.settings)
        except ValueError:
            yield Finding(ACCOUNT_ALERTS, f"{name} is no URL", "the account receives no alerts",
                          "set it again: `penstock alerts set URL`")  # fmt: skip


def _find_unreachable(subject: str, name: str, url: str, settings: Settings) -> Iterator[Finding]:
    """Yields a finding if no alert can reach the URL. Raises ValueError for an invalid URL."""
    endpoint = parse_endpoint(parse_alert_url(url).url)
    try:
        networks = read_networks(settings.webhook_allow_cidrs)
    except ValueError as error:
        yield Finding(subject, f"WEBHOOK_ALLOW_CIDRS is invalid: {error}", _WHY, "write networks such as 10.0.0.0/8")
        return
    try:
        AddressGuard(networks).check(_find_addresses(endpoint))
    except OSError as error:
        yield Finding(subject, f"the host {endpoint.host} of {name} has no address: {error}", _WHY,
                      "correct the address, or the name server of this machine")  # fmt: skip
    except EndpointRefused as error:
        yield Finding(subject, f"no alert reaches {endpoint.host}: {error} ({name})", _WHY,
                      "add the network of the host to WEBHOOK_ALLOW_CIDRS")  # fmt: skip


def _find_addresses(endpoint: Endpoint) -> list[Address]:
    """Returns the addresses of the host. Raises OSError."""
    if endpoint.address is not None:
        return [endpoint.address]
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    return [ip_address(address[0]) for *_, address in found]
