"""Tests that an account cannot read or change the queues, bindings, deliveries and schedules of another account over
the REST API.

Every name belongs to the account of the caller (docs/operate/access.md), so the service does not find resources of
other accounts. The tests send each request with every spelling of the other account's queue, and once with the key of
the owner.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, key_ring
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service

SETTINGS = {**SIGV4, "QUEUE_HTTP_DELIVERY_ENABLED": "false", "QUEUE_PURGE_INTERVAL_SECONDS": "0"}
FORGED = {"message": "forged"}
NOTHING = {400, 404, 409, 422}

_numbers = count()
Asked = tuple[str, str, Any]


class Account(NamedTuple):
    """Makes calls with the key of one account."""

    http: httpx.Client
    key: str

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        content = {} if body is None else {"json": body}
        return self.http.request(method, f"/v1{path}", headers={"authorization": f"Bearer {self.key}"}, **content)

    def do(self, method: str, path: str, body: Any = None) -> Any:
        response = self.ask(method, path, body)
        assert response.is_success, response.text
        return response.json() if response.content else None


class Setup(NamedTuple):
    """Holds the resources of the owner: a queue with a visible message and a message in flight, bindings of the queue
    and of a URL to `key`, a waiting delivery, and a schedule. `other` is a queue with a message that is in flight to
    the partner.
    """

    owner: Account
    partner: Account
    queue: str
    message: int
    receipt: str
    key: str
    binding: int
    delivery: int
    schedule: str
    other: str

    def state(self) -> Any:
        """Returns the state of the owner's resources as the owner sees it."""
        at = f"/queues/{self.queue}"
        states = ("visible", "in_flight", "delayed")
        described = self.owner.do("GET", at)
        kept = {name: described[name] for name in ("queue_length", "in_flight", "total_messages", "attributes", "tags")}
        return (
            kept, [self.owner.do("GET", f"{at}/messages/peek?state={state}") for state in states],
            self.owner.do("GET", f"/events/{self.key}/subscriptions"), self.owner.do("GET", "/deliveries?limit=1000"),
            self.owner.do("GET", f"/schedules/{self.schedule}"),
            self.owner.do("GET", f"/schedules/{self.schedule}/runs"),
        )  # fmt: skip


@pytest.fixture(scope="module")
def accounts(postgres: TestServer) -> Iterator[tuple[Account, Account]]:
    with postgres.database() as database:
        with key_ring(database) as ring:
            made = [ring.create(account, "", bearer=True).token for account in (OWNER, PARTNER)]
        with running_service(database.api_dsn, **SETTINGS) as service, service.http() as http:
            owner, partner = (Account(http, token) for token in made)
            yield owner, partner


@pytest.fixture
def setup(accounts: tuple[Account, Account]) -> Setup:
    owner, partner = accounts
    number = next(_numbers)
    queue, key, other = f"orders-{number}", f"shop.order-{number}", f"mine-{number}"
    owner.do("POST", "/queues", {"name": queue})
    owner.do("POST", "/queues", {"name": f"{queue}-copy"})
    partner.do("POST", "/queues", {"name": other})
    for text in ("in flight", "visible"):
        owner.do("POST", f"/queues/{queue}/messages", {"message": text})
    partner.do("POST", f"/queues/{other}/messages", {"message": "in flight"})
    partner.do("GET", f"/queues/{other}/messages?vt=3600")
    (message,) = owner.do("GET", f"/queues/{queue}/messages?vt=3600&max=1")
    url = {"protocol": "https", "endpoint": f"https://hook-{number}.example/"}
    owner.do("POST", f"/events/{key}/subscriptions", url)
    owner.do("POST", f"/events/{key}", {"message": "to the URL"})
    binding = owner.do("POST", f"/events/{key}/subscriptions", {"queue_name": queue})
    (delivery,) = [
        delivery for delivery in owner.do("GET", "/deliveries?limit=1000") if delivery["endpoint"] == url["endpoint"]
    ]
    schedule: dict[str, Any] = {
        "name": f"nightly-{number}",
        "fire_at": "2099-01-01T00:00:00Z",
        "target": {"queue": queue, **FORGED},
    }
    owner.do("POST", "/schedules", schedule)
    return Setup(
        owner, partner, queue, message["id"], message["receipt"], key, binding["id"], delivery["id"], schedule["name"],
        other,
    )  # fmt: skip


# --- queues, by their names ------------------------------------------------------------------------------------------
def spellings(queue: str) -> list[str]:
    """Spells the queue of the other account as a path, an address, an ARN, a pattern, and a fragment of SQL."""
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:{queue}"
    return [
        queue, f"{OWNER}/{queue}", f"/{OWNER}/{queue}", f"{OWNER}:{queue}", f":{OWNER}:{queue}",
        f"us-east-1:{OWNER}:{queue}", arn, f"http://localhost:9324/{OWNER}/{queue}",
        f"https://sqs.us-east-1.amazonaws.com/{OWNER}/{queue}", f"../{OWNER}/{queue}", f"../../{OWNER}/{queue}",
        f"..%2f{OWNER}%2f{queue}", f"x/../{queue}", f"{queue}\x00", queue.upper(), f" {queue}", f"{queue} ",
        f"{queue}\n", f"{queue}/", f"{queue}.fifo", f"{queue}?account={OWNER}", f"{queue}#", f"{queue}%",
        f"{queue[:-1]}_", "%", "*", "#", f"x' or name = '{queue}", f"{queue}'; --",
        f'{{"account":"{OWNER}","name":"{queue}"}}',
    ]  # fmt: skip


def at_queue(method: str, rest: str = "", body: Any = None) -> Callable[[Setup, str], Asked]:
    return lambda setup, name: (method, f"/queues/{quote(name, safe='')}{rest.format(setup=setup)}", body)


def ask_move(setup: Setup, name: str) -> Asked:
    return "POST", f"/queues/{quote(name, safe='')}/moves", {"filter": {}, "to": f"{setup.queue}-copy"}


def in_transaction(**parts: Any) -> Callable[[Setup, str], Asked]:
    def asked(setup: Setup, name: str) -> Asked:
        text = json.dumps(parts).replace('"NAME"', json.dumps(name)).replace('"RECEIPT"', json.dumps(setup.receipt))
        return "POST", "/transactions", json.loads(text.replace('"OTHER"', json.dumps(setup.other)))

    return asked


SEND, ACK = {"queue": "NAME", **FORGED}, {"queue": "NAME", "receipt": "RECEIPT"}
# The service accepts each request in this map from the owner, and refuses it from the partner.
BY_NAME: dict[str, Callable[[Setup, str], Asked]] = {
    "send": at_queue("POST", "/messages", FORGED), "send a list": at_queue("POST", "/messages", [FORGED, FORGED]),
    "receive": at_queue("GET", "/messages"), "peek": at_queue("GET", "/messages/peek?state=visible"),
    "search": at_queue("POST", "/messages/search", {}), "failures": at_queue("GET", "/failures"),
    "move": ask_move,
    "moves": at_queue("GET", "/moves"),
    "describe": at_queue("GET"), "archive": at_queue("GET", "/archive"), "metrics": at_queue("GET", "/metrics"),
    "minutes": at_queue("GET", "/minutes"),
    "bindings": at_queue("GET", "/subscriptions"),
    "change": at_queue("PATCH", "", {"attributes": {"DelaySeconds": 1}}),
    "hide": at_queue("PATCH", "/messages/{setup.message}", {"vt": 0}),
    "delete a message": at_queue("DELETE", "/messages/{setup.message}"), "purge": at_queue("POST", "/purge"),
    "delete the queue": at_queue("DELETE"), "send in a transaction": in_transaction(send=[SEND]),
    "acknowledge in a transaction": in_transaction(ack=[ACK]),
    "both in a transaction": in_transaction(ack=[ACK], send=[SEND]),
    "send behind an event": in_transaction(publish=[{"routing_key": "nobody.listens", **FORGED}], send=[SEND]),
    "bind": lambda setup, name: ("POST", f"/events/{setup.key}.new/subscriptions", {"queue_name": name}),
}  # fmt: skip
HALF = {"queue": "OTHER", "message": "half"}
# Lists requests that also change the partner's own queue. The service does not apply the change of the partner's queue
# either.
WITH_OWN: dict[str, Callable[[Setup, str], Asked]] = {
    "own first": in_transaction(send=[HALF, SEND]),
    "own last": in_transaction(send=[SEND, HALF]),
    "own send, acknowledge": in_transaction(ack=[ACK], send=[HALF]),
    "the receipt at the own queue": in_transaction(ack=[{**ACK, "queue": "OTHER"}], send=[HALF]),
}  # fmt: skip


@pytest.mark.parametrize("way", BY_NAME)
def test_a_queue_of_another_account_is_not_there(setup: Setup, way: str) -> None:
    before = setup.state()
    asked = [(name, setup.partner.ask(*BY_NAME[way](setup, name))) for name in spellings(setup.queue)]
    assert [
        (name, response.status_code, response.text) for name, response in asked if response.status_code not in NOTHING
    ] == []
    assert setup.state() == before
    assert setup.owner.ask(*BY_NAME[way](setup, setup.queue)).is_success


@pytest.mark.parametrize("way", WITH_OWN)
def test_a_denied_operation_undoes_the_transaction(setup: Setup, way: str) -> None:
    before = setup.state()
    for name in spellings(setup.queue):
        response = setup.partner.ask(*WITH_OWN[way](setup, name))
        assert response.status_code in NOTHING, (name, response.text)
    assert setup.state() == before
    assert setup.partner.do("GET", f"/queues/{setup.other}")["queue_length"] == 1
    setup.partner.do("POST", "/transactions", {"send": [{"queue": setup.other, "message": "whole"}]})


# --- by id and receipt -----------------------------------------------------------------------------------------------
BY_ID: dict[str, Callable[[Setup], Asked]] = {
    "end a binding": lambda w: ("DELETE", f"/events/{w.key}/subscriptions/{w.binding}", None),
    "retry a delivery": lambda w: ("POST", f"/deliveries/{w.delivery}/retry", None),
    "describe a schedule": lambda w: ("GET", f"/schedules/{w.schedule}", None),
    "its runs": lambda w: ("GET", f"/schedules/{w.schedule}/runs", None),
    "run it": lambda w: ("POST", f"/schedules/{w.schedule}/runs", None),
    "change it": lambda w: ("PATCH", f"/schedules/{w.schedule}", {"status": "paused"}),
}  # fmt: skip


@pytest.mark.parametrize("way", BY_ID)
def test_an_id_of_another_account_is_not_found(setup: Setup, way: str) -> None:
    before = setup.state()
    response = setup.partner.ask(*BY_ID[way](setup))
    assert response.status_code == 404, response.text
    assert setup.state() == before
    assert setup.owner.ask(*BY_ID[way](setup)).is_success


@pytest.mark.parametrize("receipts", [["{0}"], ["{0}", "{0}"], ["x", "{0}"]])
def test_a_receipt_of_another_account_is_none(setup: Setup, receipts: list[str]) -> None:
    """A receipt is an HMAC over the queue's ARN, which contains the account."""
    before = setup.state()
    given = {"receipts": [receipt.format(setup.receipt) for receipt in receipts]}
    assert setup.partner.ask("DELETE", f"/queues/{setup.other}/messages", given).status_code in NOTHING
    assert setup.partner.ask("DELETE", f"/queues/{setup.queue}/messages", given).status_code == 404
    assert setup.state() == before
    done = setup.owner.do("DELETE", f"/queues/{setup.queue}/messages", {"receipts": [setup.receipt]})
    assert done == {"deleted": [setup.receipt]}


# --- events ----------------------------------------------------------------------------------------------------------
def test_an_event_reaches_the_bindings_of_its_own_account(setup: Setup) -> None:
    before = setup.state()
    in_a_transaction = {"publish": [{"routing_key": setup.key, **FORGED}]}
    assert setup.partner.do("POST", f"/events/{setup.key}", FORGED)["queues_matched"] == 0
    assert setup.partner.do("POST", f"/events/{setup.key}", FORGED)["webhooks_matched"] == 0
    (published,) = setup.partner.do("POST", "/transactions", in_a_transaction)["published"]
    assert (published["queues_matched"], published["webhooks_matched"]) == (0, 0)
    assert setup.partner.do("GET", f"/events/{setup.key}/matches") == {"subscriptions": []}
    assert setup.partner.do("GET", f"/events/{setup.key}/subscriptions")["subscriptions"] == []
    assert setup.state() == before
    assert setup.owner.do("POST", f"/events/{setup.key}", FORGED)["queues_matched"] == 1
    (published,) = setup.owner.do("POST", "/transactions", in_a_transaction)["published"]
    assert (published["queues_matched"], published["webhooks_matched"]) == (1, 1)


@pytest.mark.parametrize("pattern", ["#", "*.*", "shop.#", "{setup.key}"])
def test_a_binding_gets_the_events_of_its_own_account(setup: Setup, pattern: str) -> None:
    pattern = quote(pattern.format(setup=setup), safe="")
    made = setup.partner.do("POST", f"/events/{pattern}/subscriptions", {"queue_name": setup.other})
    setup.owner.do("POST", f"/events/{setup.key}", {"message": "of the owner"})
    assert setup.partner.do("GET", f"/queues/{setup.other}")["queue_length"] == 1
    assert setup.partner.do("POST", f"/events/{setup.key}", FORGED)["queues_matched"] == 1
    setup.partner.do("DELETE", f"/events/{pattern}/subscriptions/{made['id']}")


def test_an_address_of_a_queue_is_no_url(setup: Setup) -> None:
    """A binding delivers to a URL or to a queue of the account."""
    for endpoint in spellings(setup.queue):
        for protocol in ("queue", "http"):
            new = {"protocol": protocol, "endpoint": endpoint}
            response = setup.partner.ask("POST", f"/events/{setup.key}/subscriptions", new)
            assert response.status_code in NOTHING or endpoint.startswith(f"{protocol}://"), (new, response.text)


# --- what would send later -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", [{"queue": "{0}"}, {"topic": "{1}"}])
def test_a_schedule_sends_to_its_own_account(setup: Setup, target: dict[str, str]) -> None:
    """A missing queue can be a target, because the account of the schedule can create the queue later."""
    before = setup.state()
    for number, name in enumerate(spellings(setup.queue)):
        to = {kind: text.format(name, setup.key) for kind, text in target.items()}
        schedule = {"name": f"later-{number}", "fire_at": "2099-01-01T00:00:00Z", "target": {**to, **FORGED}}
        for made in (
            setup.partner.ask("POST", "/schedules", schedule),
            setup.partner.ask("PUT", "/schedules", [schedule]),
        ):
            if made.is_success:
                setup.partner.ask("POST", f"/schedules/later-{number}/runs")
    assert setup.state() == before
    assert setup.owner.ask("POST", f"/schedules/{setup.schedule}/runs").is_success
    assert setup.owner.do("GET", f"/queues/{setup.queue}")["queue_length"] == 3


def test_dead_letters_stay_in_their_account(setup: Setup) -> None:
    """ "The dead-letter queue of a queue must reside in the same account and Region" (SQS Developer Guide)."""
    before = setup.state()
    for name in spellings(setup.queue):
        policy = {"deadLetterTargetArn": name, "maxReceiveCount": 1}
        new = {"name": f"{setup.other}-dead", "attributes": {"RedrivePolicy": policy}}
        assert setup.partner.ask("POST", "/queues", new).status_code in NOTHING, name
        change = {"attributes": {"RedrivePolicy": policy}}
        assert setup.partner.ask("PATCH", f"/queues/{setup.other}", change).status_code in NOTHING, name
    assert setup.state() == before
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:{setup.queue}"
    own = {"RedrivePolicy": {"deadLetterTargetArn": arn, "maxReceiveCount": 1}}
    setup.owner.do("POST", "/queues", {"name": f"{setup.queue}-source", "attributes": own})


def test_lists_have_what_the_account_has(setup: Setup) -> None:
    names = {queue["name"] for queue in setup.partner.do("GET", "/queues?limit=1000")["queues"]}
    assert setup.other in names
    assert setup.queue not in names
    assert setup.partner.do("GET", "/deliveries?limit=1000") == []
    assert setup.schedule not in {schedule["name"] for schedule in setup.partner.do("GET", "/schedules")["schedules"]}
    assert setup.queue not in {queue["name"] for queue in setup.partner.do("GET", "/metrics/lag")["queues"]}
    assert setup.queue in {queue["name"] for queue in setup.owner.do("GET", "/queues?limit=1000")["queues"]}
    assert len(setup.owner.do("GET", "/deliveries?limit=1000")) >= 1
