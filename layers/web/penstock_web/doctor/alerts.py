"""Checks whether the worker `deliver` may connect to the installation's address for alerts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from penstock.delivery.http.guard import AddressGuard, read_networks
from penstock.endpoint import Endpoint, EndpointRefused, parse_endpoint
from penstock.settings.alert_url import parse_alert_url

from .examination import Finding

if TYPE_CHECKING:
    from penstock.endpoint import Address
    from penstock.settings import Settings

ALERTS: Final = "alerts"
_WHY: Final = "alerts wait, and the service gives them up after six hours"


def check_alerts(settings: Settings) -> Iterator[Finding]:
    """Yields a finding if no alert can reach QUEUE_ALERT_URL. Looks up the host's name, and opens no connection."""
    if not settings.queue_http_delivery_enabled:
        yield Finding(
            ALERTS, "QUEUE_HTTP_DELIVERY_ENABLED is false, so this process sends no alerts", "",
            "run a process or function that delivers", is_advice=True,
        )  # fmt: skip
    if not settings.queue_alert_url:
        return
    endpoint = parse_endpoint(parse_alert_url(settings.queue_alert_url).url)
    try:
        AddressGuard(read_networks(settings.webhook_allow_cidrs)).check(_find_addresses(endpoint))
    except OSError as error:
        yield Finding(ALERTS, f"the host {endpoint.host} of QUEUE_ALERT_URL has no address: {error}", _WHY,
                      "correct QUEUE_ALERT_URL, or the name server of this machine")  # fmt: skip
    except EndpointRefused as error:
        yield Finding(ALERTS, f"no alert reaches {endpoint.host}: {error}", _WHY,
                      "add the network of the host to WEBHOOK_ALLOW_CIDRS")  # fmt: skip
    except ValueError as error:
        yield Finding(ALERTS, f"WEBHOOK_ALLOW_CIDRS is invalid: {error}", _WHY, "write networks such as 10.0.0.0/8")


def _find_addresses(endpoint: Endpoint) -> list[Address]:
    """Returns the addresses of the host. Raises OSError."""
    if endpoint.address is not None:
        return [endpoint.address]
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    return [ip_address(address[0]) for *_, address in found]
