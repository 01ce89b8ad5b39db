"""The worker itself, with URLs that lead to this machine: no worker connects to the receiver there.

The spellings of all addresses are tried in `tests/unit/delivery/http/test_guard.py`, where nothing really connects.
"""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.integration.delivery.http.conftest import Deliver
from tests.support.delivery.receiver import Receiver
from tests.support.delivery.rows import deliveries, publish
from tests.support.sql.calls import Connection

HOSTS = (
    "127.0.0.1", "127.255.255.254", "127.0.0.1.", "127.1", "127.0.1", "0.0.0.0", "0", "2130706433", "0x7f000001",
    "0x7f.0.0.1", "017700000001", "0177.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]",
    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "[2600::5efe:7f00:1]", "user@127.0.0.1", "8.8.8.8@127.0.0.1", socket.gethostname(),
)  # fmt: skip
ANSWERS = {
    "private.example": ["127.0.0.1"], "mixed.example": ["8.8.8.8", "127.0.0.1"],
    "mixed6.example": ["2606:4700::1", "::1"], "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.example": ["169.254.169.254", "127.0.0.1"],
    "last.example": ["8.8.8.8", "8.8.4.4", "1.1.1.1", "127.0.0.1"],
}  # fmt: skip


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system's resolver says of ANSWERS."""
    ask = socket.getaddrinfo

    def answer(host: Any, port: Any, *more: Any, **given: Any) -> Any:
        found = ANSWERS.get(host)
        return (
            ask(host, port, *more, **given) if found is None else [(0, 0, 0, "", (one, 0)) for one in found]
        )

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@pytest.mark.usefixtures("names")
def test_nobody_connects_to_this_machine(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    urls = [f"http://{host}:{receiver.port}/200" for host in (*HOSTS, *ANSWERS)]
    publish(db, *urls)
    tried = sum(deliver(webhook_allow_cidrs="").values())
    assert (tried, receiver.connections) == (len(urls), 0)
    found = deliveries(db)
    assert [row for row in found if not row.last_error or row.last_status is not None] == []


@pytest.mark.usefixtures("names")
def test_where_a_name_leads_is_not_told(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """The owner of a webhook must not learn names within the network."""
    publish(db, *(f"http://{host}:{receiver.port}/200" for host in ANSWERS))
    deliver(webhook_allow_cidrs="")
    told = {row.last_error for row in deliveries(db)}
    assert told == {"an address of the host is not public and not in WEBHOOK_ALLOW_CIDRS"}


@pytest.mark.usefixtures("names")
def test_where_it_is_allowed_it_does(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """Else the test above would show nothing."""
    publish(
        db, *(f"http://{host}:{receiver.port}/200" for host in ("127.0.0.1", "localhost", "private.example"))
    )
    deliver(webhook_allow_cidrs="127.0.0.0/8,::1/128")
    assert (receiver.count("/200"), deliveries(db)) == (3, [])
