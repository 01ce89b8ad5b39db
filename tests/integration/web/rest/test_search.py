"""Tests searches over the REST API: requests, answers and refusals."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service

SEARCH = "/v1/queues/orders/messages/search"


@pytest.fixture(scope="module")
def http(postgres: TestServer) -> Iterator[httpx.Client]:
    """Provides a service whose queue `orders` holds three messages."""
    with postgres.database() as database, running_service(database.api_dsn) as service, service.http() as http:
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        for number in range(3):
            message = {"message": {"order": {"id": number}}, "headers": {"tenant": "a"}, "group_id": "g"}
            http.post("/v1/queues/orders/messages", json=message).raise_for_status()
        yield http


def test_a_search_by_json_shows_the_message_and_how_many_it_looked_at(http: httpx.Client) -> None:
    answer = http.post(SEARCH, json={"filter": {"json": {"path": "order.id", "equals": 1}}})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    (message,) = found.pop("messages")
    assert found == {"looked_at": 3, "of": 3, "next": None}
    shown = [message[name] for name in ("message", "headers", "group_id", "state", "receive_count")]
    assert shown == [{"order": {"id": 1}}, {"tenant": "a"}, "g", "visible", 0]


def test_pages_go_on_where_the_last_one_ended(http: httpx.Client) -> None:
    first = http.post(SEARCH, json={"limit": 2}).json()
    assert first["looked_at"] == 2
    rest = http.post(SEARCH, json={"limit": 2, "after": first["next"]}).json()
    bodies = [message["message"]["order"]["id"] for message in first["messages"] + rest["messages"]]
    assert (sorted(bodies), rest["next"]) == ([0, 1, 2], None)  # shard after shard


@pytest.mark.parametrize("body", [
    {"typo": 1}, {"limit": 0}, {"limit": 1_001}, {"scan": 100_001}, {"after": "x"}, {"after": 1}, [],
    {"filter": {"typo": 1}}, {"filter": {"states": ["dead"]}}, {"filter": {"states": []}}, {"filter": {"text": ""}},
    {"filter": {"text": "a\u0000b"}}, {"filter": {"json": {"path": "a"}}},
    {"filter": {"json": {"path": [], "equals": 1}}},
    {"filter": {"json": {"path": ["a"], "equals": {}}}}, {"filter": {"json": {"path": ["a\u0001"], "equals": 1}}},
    {"filter": {"attribute": {"name": "\ufffe"}}}, {"filter": {"min_receive_count": -1}},
    {"filter": {"older_than_seconds": 1e9}}, {"filter": {"source_queue": "not a name"}}, {"filter": {"shape": "x"}},
])  # fmt: skip
def test_an_invalid_search_is_refused(http: httpx.Client, body: Any) -> None:
    answer = http.post(SEARCH, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), answer.text


def test_a_queue_that_is_not_there(http: httpx.Client) -> None:
    answer = http.post("/v1/queues/missing/messages/search", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "queue_not_found")


def test_failures_in_groups_have_a_filter_that_finds_them(http: httpx.Client) -> None:
    answer = http.get("/v1/queues/orders/failures", params={"by": ["shape", "receive_count"]})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    (group,) = found.pop("groups")
    assert found == {"group_count": 1, "looked_at": 3, "of": 3, "next": None}
    assert (group["count"], group["by"]["receive_count"], len(group["samples"])) == (3, 0, 3)
    assert group["samples"][0]["message"]["order"]["id"] in range(3)
    again = http.post(SEARCH, json={"filter": group["filter"]}).json()
    assert len(again["messages"]) == 3
    # These messages have no source queue.
    assert not http.get("/v1/queues/orders/failures").json()["groups"][0]["filter"]


@pytest.mark.parametrize("query", ["by=x", "by=attribute", "attribute=a", "scan=0", "groups=0", "after=x"])
def test_which_groups_are_refused(http: httpx.Client, query: str) -> None:
    answer = http.get(f"/v1/queues/orders/failures?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), answer.text


def test_a_long_sample_is_cut(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "long"}).raise_for_status()
    http.post("/v1/queues/long/messages", json={"message": {"a": "x" * 20_000}}).raise_for_status()
    (group,) = http.get("/v1/queues/long/failures?by=shape").json()["groups"]
    (sample,) = group["samples"]
    assert (sample["truncated"], len(sample["message"])) == (True, 16_384)
