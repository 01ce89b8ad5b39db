"""Tests move tasks over the REST API, which move one message first and the rest on request, their audit, and
refusals.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.database import Database
from tests.support.programs.penstock_service import Service
from tests.support.wait import wait_until

pytestmark = pytest.mark.shared

NO_MOVE = "00000000-0000-4000-8000-000000000000"
MOVES = "/v1/queues/dead/moves"


@pytest.fixture(scope="module")
def http(shared_service: Service) -> Iterator[httpx.Client]:
    """Provides a service with the queue `orders`, whose messages become dead letters after one receive."""
    with shared_service.http() as http:
        http.post("/v1/queues", json={"name": "dead"}).raise_for_status()
        policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}
        attributes = {"RedrivePolicy": policy}
        http.post("/v1/queues", json={"name": "orders", "attributes": attributes}).raise_for_status()
        yield http


def depth(http: httpx.Client, queue: str) -> int:
    return int(http.get(f"/v1/queues/{queue}").json()["visible"])


def move_of(http: httpx.Client, move: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = http.get(f"{MOVES}/{move['id']}").json()
    return found


def test_one_first_then_the_rest_at_a_rate(http: httpx.Client, shared_database: Database) -> None:
    messages = [{"message": {"n": n, "kind": "late" if n % 2 else "broken"}} for n in range(8)]
    http.post("/v1/queues/orders/messages", json=messages).raise_for_status()
    http.get("/v1/queues/orders/messages", params={"max": 100, "vt": 0}).raise_for_status()
    assert http.get("/v1/queues/orders/messages").json() == []
    assert depth(http, "dead") == 8
    late = {"json": {"path": "kind", "equals": "late"}, "source_queue": "orders"}
    answer = http.post(MOVES, json={"filter": late, "canary": 1, "per_second": 500})
    assert answer.status_code == 201, answer.text
    move = answer.json()
    assert answer.headers["location"] == f"{MOVES}/{move['id']}"
    assert (move["filter"], move["of"], move["to"], move["per_second"]) == (
        {"json": {"path": ["kind"], "equals": "late"}, "source_queue": "orders"}, 8, None, 500,
    )  # fmt: skip
    wait_until(lambda: move_of(http, move)["state"] == "waiting")
    assert (move_of(http, move)["moved"], depth(http, "orders"), depth(http, "dead")) == (1, 1, 7)
    assert http.post(MOVES, json={"filter": {}}).json()["error"]["code"] == "move_conflict"
    answer = http.post(f"{MOVES}/{move['id']}/continue", json={"per_second": 100})
    assert (answer.status_code, answer.json()["per_second"]) == (200, 100), answer.text
    wait_until(lambda: move_of(http, move)["state"] == "completed")
    done = move_of(http, move)
    assert (done["moved"], done["skipped"], done["looked_at"], done["problem"]) == (4, 0, 8, None)
    assert [move["id"] for move in http.get(MOVES).json()["moves"]] == [move["id"]]
    assert (depth(http, "orders"), depth(http, "dead")) == (4, 4)
    for again in ("continue", "cancel"):
        assert http.post(f"{MOVES}/{move['id']}/{again}").status_code == 409
    with psycopg.connect(shared_database.dsn) as connection:
        rows = connection.execute(
            "select action, target, details from queue.audit where action like '%Move%' order by audit_id"
        ).fetchall()
    started, continued = rows  # A refused request leaves no row.
    assert started[:2] == ("sqs:StartMessageMoveTask", "arn:aws:sqs:us-east-1:000000000000:dead")
    assert started[2]["filter"]["source_queue"] == "orders"
    assert continued[2]["move"] == move["id"]


def test_by_ids_to_a_named_queue_and_cancel(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "other"}).raise_for_status()
    ids = http.post("/v1/queues/other/messages", json=[{"message": 1}, {"message": 2}]).json()["ids"]
    at = "/v1/queues/other/moves"
    move = http.post(at, json={"ids": [*ids, ids[0]], "to": "dead", "canary": 1}).json()
    assert (move["ids"], move["of"], move["to"]) == (sorted(ids), 2, "dead")
    wait_until(lambda: http.get(f"{at}/{move['id']}").json()["state"] == "waiting")
    cancelled = http.post(f"{at}/{move['id']}/cancel").json()
    assert (cancelled["state"], cancelled["moved"], depth(http, "other")) == ("cancelled", 1, 1)


@pytest.mark.parametrize("body", [
    {}, {"ids": [1], "filter": {}}, {"ids": []}, {"ids": [-1]}, {"ids": ["x"]}, {"filter": {}, "canary": 0},
    {"filter": {}, "per_second": 501}, {"filter": {}, "to": "dead"}, {"filter": {}, "to": "a.fifo"},
    {"filter": {}, "x": 1},
    {"filter": {"states": ["in_flight"]}}, {"filter": {}, "to": ""},
])  # fmt: skip
def test_an_invalid_move_is_refused(http: httpx.Client, body: Any) -> None:
    http.post("/v1/queues", json={"name": "a.fifo"})
    answer = http.post(MOVES, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), answer.text


@pytest.mark.parametrize(("method", "path", "code"), [
    ("GET", f"{MOVES}/{NO_MOVE}", "move_not_found"), ("POST", f"{MOVES}/{NO_MOVE}/continue", "move_not_found"),
    ("POST", f"{MOVES}/{NO_MOVE}/cancel", "move_not_found"), ("GET", "/v1/queues/missing/moves", "queue_not_found"),
    ("GET", f"/v1/queues/missing/moves/{NO_MOVE}", "queue_not_found"),
])  # fmt: skip
def test_a_missing_queue_or_move_is_404(http: httpx.Client, method: str, path: str, code: str) -> None:
    answer = http.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, code), answer.text


def test_a_destination_that_is_not_there(http: httpx.Client) -> None:
    answer = http.post(MOVES, json={"filter": {}, "to": "missing"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "queue_not_found")
