"""What one account can do to another's queues, bindings, deliveries and schedules over the REST API: nothing.

There every name is one of the caller's own account (docs/access.md); what belongs to others is not found. Each way is
tried with all spellings of the other's queue, and has a twin: the same request with a key of the account itself.
"""

from __future__ import annotations

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
    """Calls with a key of one account."""

    http: httpx.Client
    key: str

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        content = {} if body is None else {"json": body}
        return self.http.request(
            method, f"/v1{path}", headers={"authorization": f"Bearer {self.key}"}, **content
        )

    def do(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.ask(method, path, body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


class World(NamedTuple):
    """What the owner has: a queue with two messages, one of which is in flight; bindings of it and of a URL for
    `key`; a
    delivery that waits; a schedule. `other`: a queue with a message in flight that the partner has."""

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
        """All of this, as the owner sees it."""
        at = f"/queues/{self.queue}"
        states = ("visible", "in_flight", "delayed")
        described = self.owner.do("GET", at)
        kept = {
            name: described[name]
            for name in ("queue_length", "in_flight", "total_messages", "attributes", "tags")
        }
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
            made = [next(iter(ring.create(account, "", bearer=True))) for account in (OWNER, PARTNER)]
        with running_service(database.api_dsn, **SETTINGS) as service, service.http() as http:
            owner, partner = (Account(http, line.partition("Bearer ")[2]) for line in made)
            yield owner, partner


@pytest.fixture
def world(accounts: tuple[Account, Account]) -> World:
    owner, partner = accounts
    number = next(_numbers)
    queue, key, other = f"orders-{number}", f"shop.order-{number}", f"mine-{number}"
    owner.do("POST", "/queues", {"name": queue})
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
        one for one in owner.do("GET", "/deliveries?limit=1000") if one["endpoint"] == url["endpoint"]
    ]
    schedule: dict[str, Any] = {
        "name": f"nightly-{number}",
        "fire_at": "2099-01-01T00:00:00Z",
        "target": {"queue": queue, **FORGED},
    }
    owner.do("POST", "/schedules", schedule)
    return World(
        owner, partner, queue, message["id"], message["receipt"], key, binding["id"], delivery["id"], schedule["name"],
        other,
    )  # fmt: skip


# --- queues, by their names ------------------------------------------------------------------------------------------
def spellings(queue: str) -> list[str]:
    """The other account's queue, as paths, addresses and ARNs have it; and what patterns and SQL would make of it."""
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


def at_queue(method: str, rest: str = "", body: Any = None) -> Callable[[World, str], Asked]:
    return lambda world, name: (method, f"/queues/{quote(name, safe='')}{rest.format(world=world)}", body)


def in_transaction(**parts: Any) -> Callable[[World, str], Asked]:
    def asked(world: World, name: str) -> Asked:
        text = (
            json.dumps(parts)
            .replace('"NAME"', json.dumps(name))
            .replace('"RECEIPT"', json.dumps(world.receipt))
        )
        return "POST", "/transactions", json.loads(text.replace('"OTHER"', json.dumps(world.other)))

    return asked


SEND, ACK = {"queue": "NAME", **FORGED}, {"queue": "NAME", "receipt": "RECEIPT"}
# Each with the parts that the owner may ask, too: what is refused to the partner is done for him.
BY_NAME: dict[str, Callable[[World, str], Asked]] = {
    "send": at_queue("POST", "/messages", FORGED), "send a list": at_queue("POST", "/messages", [FORGED, FORGED]),
    "receive": at_queue("GET", "/messages"), "peek": at_queue("GET", "/messages/peek?state=visible"),
    "search": at_queue("POST", "/messages/search", {}), "failures": at_queue("GET", "/failures"),
    "move": at_queue("POST", "/moves", {"filter": {}}), "moves": at_queue("GET", "/moves"),
    "describe": at_queue("GET"), "archive": at_queue("GET", "/archive"), "metrics": at_queue("GET", "/metrics"),
    "minutes": at_queue("GET", "/minutes"),
    "bindings": at_queue("GET", "/subscriptions"),
    "change": at_queue("PATCH", "", {"attributes": {"DelaySeconds": 1}}),
    "hide": at_queue("PATCH", "/messages/{world.message}", {"vt": 0}),
    "delete a message": at_queue("DELETE", "/messages/{world.message}"), "purge": at_queue("POST", "/purge"),
    "delete the queue": at_queue("DELETE"), "send in a transaction": in_transaction(send=[SEND]),
    "acknowledge in a transaction": in_transaction(ack=[ACK]),
    "both in a transaction": in_transaction(ack=[ACK], send=[SEND]),
    "send behind an event": in_transaction(publish=[{"routing_key": "nobody.listens", **FORGED}], send=[SEND]),
    "bind": lambda world, name: ("POST", f"/events/{world.key}.new/subscriptions", {"queue_name": name}),
}  # fmt: skip
HALF = {"queue": "OTHER", "message": "half"}
# What the partner does to a queue of his own in the same request is not done either.
WITH_OWN: dict[str, Callable[[World, str], Asked]] = {
    "own first": in_transaction(send=[HALF, SEND]),
    "own last": in_transaction(send=[SEND, HALF]),
    "own send, acknowledge": in_transaction(ack=[ACK], send=[HALF]),
    "the receipt at the own queue": in_transaction(ack=[{**ACK, "queue": "OTHER"}], send=[HALF]),
}  # fmt: skip


@pytest.mark.parametrize("way", BY_NAME)
def test_a_queue_of_another_account_is_not_there(world: World, way: str) -> None:
    before = world.state()
    asked = [(name, world.partner.ask(*BY_NAME[way](world, name))) for name in spellings(world.queue)]
    assert [
        (name, answer.status_code, answer.text) for name, answer in asked if answer.status_code not in NOTHING
    ] == []
    assert world.state() == before
    assert world.owner.ask(*BY_NAME[way](world, world.queue)).is_success


@pytest.mark.parametrize("way", WITH_OWN)
def test_nor_is_half_of_a_transaction_done(world: World, way: str) -> None:
    before = world.state()
    for name in spellings(world.queue):
        answer = world.partner.ask(*WITH_OWN[way](world, name))
        assert answer.status_code in NOTHING, (name, answer.text)
    assert world.state() == before
    assert world.partner.do("GET", f"/queues/{world.other}")["queue_length"] == 1
    world.partner.do("POST", "/transactions", {"send": [{"queue": world.other, "message": "whole"}]})


# --- by id and receipt -----------------------------------------------------------------------------------------------
BY_ID: dict[str, Callable[[World], Asked]] = {
    "end a binding": lambda w: ("DELETE", f"/events/{w.key}/subscriptions/{w.binding}", None),
    "retry a delivery": lambda w: ("POST", f"/deliveries/{w.delivery}/retry", None),
    "describe a schedule": lambda w: ("GET", f"/schedules/{w.schedule}", None),
    "its runs": lambda w: ("GET", f"/schedules/{w.schedule}/runs", None),
    "run it": lambda w: ("POST", f"/schedules/{w.schedule}/runs", None),
    "change it": lambda w: ("PATCH", f"/schedules/{w.schedule}", {"status": "paused"}),
}  # fmt: skip


@pytest.mark.parametrize("way", BY_ID)
def test_nor_is_what_has_an_id(world: World, way: str) -> None:
    before = world.state()
    answer = world.partner.ask(*BY_ID[way](world))
    assert answer.status_code == 404, answer.text
    assert world.state() == before
    assert world.owner.ask(*BY_ID[way](world)).is_success


@pytest.mark.parametrize("receipts", [["{0}"], ["{0}", "{0}"], ["x", "{0}"]])
def test_a_receipt_of_another_account_is_none(world: World, receipts: list[str]) -> None:
    """It is HMAC over the queue's ARN, in which the account is."""
    before = world.state()
    given = {"receipts": [one.format(world.receipt) for one in receipts]}
    assert world.partner.ask("DELETE", f"/queues/{world.other}/messages", given).status_code in NOTHING
    assert world.partner.ask("DELETE", f"/queues/{world.queue}/messages", given).status_code == 404
    assert world.state() == before
    done = world.owner.do("DELETE", f"/queues/{world.queue}/messages", {"receipts": [world.receipt]})
    assert done == {"deleted": [world.receipt]}


# --- events ----------------------------------------------------------------------------------------------------------
def test_an_event_reaches_the_bindings_of_its_own_account(world: World) -> None:
    before = world.state()
    in_a_transaction = {"publish": [{"routing_key": world.key, **FORGED}]}
    assert world.partner.do("POST", f"/events/{world.key}", FORGED)["queues_matched"] == 0
    assert world.partner.do("POST", f"/events/{world.key}", FORGED)["webhooks_matched"] == 0
    (published,) = world.partner.do("POST", "/transactions", in_a_transaction)["published"]
    assert (published["queues_matched"], published["webhooks_matched"]) == (0, 0)
    assert world.partner.do("GET", f"/events/{world.key}/matches") == {"subscriptions": []}
    assert world.partner.do("GET", f"/events/{world.key}/subscriptions")["subscriptions"] == []
    assert world.state() == before
    assert world.owner.do("POST", f"/events/{world.key}", FORGED)["queues_matched"] == 1
    (published,) = world.owner.do("POST", "/transactions", in_a_transaction)["published"]
    assert (published["queues_matched"], published["webhooks_matched"]) == (1, 1)


@pytest.mark.parametrize("pattern", ["#", "*.*", "shop.#", "{world.key}"])
def test_a_binding_gets_the_events_of_its_own_account(world: World, pattern: str) -> None:
    """Patterns that would get everything of everybody."""
    pattern = quote(pattern.format(world=world), safe="")
    made = world.partner.do("POST", f"/events/{pattern}/subscriptions", {"queue_name": world.other})
    world.owner.do("POST", f"/events/{world.key}", {"message": "of the owner"})
    assert world.partner.do("GET", f"/queues/{world.other}")["queue_length"] == 1
    assert world.partner.do("POST", f"/events/{world.key}", FORGED)["queues_matched"] == 1
    world.partner.do("DELETE", f"/events/{pattern}/subscriptions/{made['id']}")


def test_an_address_of_a_queue_is_no_url(world: World) -> None:
    """A binding delivers to a URL or to a queue of the account."""
    for endpoint in spellings(world.queue):
        for protocol in ("queue", "http"):
            new = {"protocol": protocol, "endpoint": endpoint}
            answer = world.partner.ask("POST", f"/events/{world.key}/subscriptions", new)
            assert answer.status_code in NOTHING or endpoint.startswith(f"{protocol}://"), (new, answer.text)


# --- what would send later -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", [{"queue": "{0}"}, {"topic": "{1}"}])
def test_a_schedule_sends_to_its_own_account(world: World, target: dict[str, str]) -> None:
    """A queue that is not there may be a target: it may be made later, in the account of the schedule."""
    before = world.state()
    for number, name in enumerate(spellings(world.queue)):
        to = {kind: text.format(name, world.key) for kind, text in target.items()}
        schedule = {"name": f"later-{number}", "fire_at": "2099-01-01T00:00:00Z", "target": {**to, **FORGED}}
        for made in (
            world.partner.ask("POST", "/schedules", schedule),
            world.partner.ask("PUT", "/schedules", [schedule]),
        ):
            if made.is_success:
                world.partner.ask("POST", f"/schedules/later-{number}/runs")
    assert world.state() == before
    assert world.owner.ask("POST", f"/schedules/{world.schedule}/runs").is_success
    assert world.owner.do("GET", f"/queues/{world.queue}")["queue_length"] == 3


def test_dead_letters_stay_in_their_account(world: World) -> None:
    """ "The dead-letter queue of a queue must reside in the same account and Region" (SQS Developer Guide)."""
    before = world.state()
    for name in spellings(world.queue):
        policy = {"deadLetterTargetArn": name, "maxReceiveCount": 1}
        new = {"name": f"{world.other}-dead", "attributes": {"RedrivePolicy": policy}}
        assert world.partner.ask("POST", "/queues", new).status_code in NOTHING, name
        change = {"attributes": {"RedrivePolicy": policy}}
        assert world.partner.ask("PATCH", f"/queues/{world.other}", change).status_code in NOTHING, name
    assert world.state() == before
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:{world.queue}"
    own = {"RedrivePolicy": {"deadLetterTargetArn": arn, "maxReceiveCount": 1}}
    world.owner.do("POST", "/queues", {"name": f"{world.queue}-source", "attributes": own})


def test_lists_have_what_the_account_has(world: World) -> None:
    names = {one["name"] for one in world.partner.do("GET", "/queues?limit=1000")["queues"]}
    assert world.other in names
    assert world.queue not in names
    assert world.partner.do("GET", "/deliveries?limit=1000") == []
    assert world.schedule not in {one["name"] for one in world.partner.do("GET", "/schedules")["schedules"]}
    assert world.queue not in {one["name"] for one in world.partner.do("GET", "/metrics/lag")["queues"]}
    assert world.queue in {one["name"] for one in world.owner.do("GET", "/queues?limit=1000")["queues"]}
    assert len(world.owner.do("GET", "/deliveries?limit=1000")) >= 1
