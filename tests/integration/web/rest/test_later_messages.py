"""The service stores a message as a schedule if its delay is longer than SQS's maximum of 900 s. Source: our choice."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.database import Database

pytestmark = [pytest.mark.shared, pytest.mark.settings(QUOTA_SCHEDULES="20", QUEUE_PURGE_INTERVAL_SECONDS="0")]

YEAR = 31_536_000
EMPTY = {"visible": 0, "in_flight": 0, "delayed": 0}
MAKE_DUE = "update queue.schedule set next_fire_at = date_trunc('second', now()), due_at = now()"


@pytest.fixture
def db(shared_database: Database) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_database.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def http(http: httpx.Client, db: psycopg.Connection[Any]) -> httpx.Client:
    """Creates the empty queues `orders` and `o.fifo`, and removes all schedules."""
    db.execute("delete from queue.schedule; delete from queue.schedule_run")
    for name in ("orders", "o.fifo"):
        http.post("/v1/queues", json={"name": name, "fifo": name == "o.fifo"})
        http.post(f"/v1/queues/{name}/purge").raise_for_status()
    return http


def send(http: httpx.Client, body: Any, queue: str = "orders") -> Any:
    response = http.post(f"/v1/queues/{queue}/messages", json=body)
    assert response.status_code == 201, response.text
    return response.json()


def schedules(http: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/v1/schedules").json()["schedules"]
    return found


def counts(http: httpx.Client) -> dict[str, int]:
    queue = http.get("/v1/queues/orders").json()
    return {state: queue[state] for state in EMPTY}


def receive(http: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/v1/queues/orders/messages", params={"wait": 20, "max": 10}).json()
    return found


def test_a_later_message_waits_as_a_schedule_and_enters_its_queue_when_due(
    http: httpx.Client, db: psycopg.Connection[Any]
) -> None:
    before = datetime.now(UTC)
    # The message already has the maximum number of attributes, so the service adds none.
    headers = {f"h{n}": {"n": n} for n in range(10)}
    message = {"message": {"a": [1.50, "ü"]}, "headers": headers, "group_id": "tenant", "delay": 7 * 86_400}
    sent = send(http, message)
    assert sent["id"] is None
    assert counts(http) == EMPTY
    (schedule,) = schedules(http)
    assert schedule["name"] == sent["schedule"]
    assert schedule["target"]["queue"] == "orders"
    assert schedule["target"]["message"] == {"a": [1.5, "ü"]}
    late = datetime.fromisoformat(schedule["fire_at"]) - before - timedelta(days=7)
    assert timedelta(0) <= late < timedelta(minutes=5)
    db.execute(MAKE_DUE)
    (received,) = receive(http)
    assert received["id"] > 0
    assert (received["message"], received["headers"]) == ({"a": [1.5, "ü"]}, headers)
    assert received["group_id"] == "tenant"
    assert datetime.fromisoformat(received["enqueued_at"]) > before + timedelta(milliseconds=1)
    assert schedules(http) == []


@pytest.mark.parametrize(("delay", "waits"), [(900, False), (901, True), (YEAR, True)])
def test_a_delay_that_sqs_allows_stays_in_the_queue(http: httpx.Client, delay: int, waits: bool) -> None:
    sent = send(http, {"message": 1, "delay": delay})
    assert (sent["id"] is None) == waits == ("schedule" in sent)
    assert counts(http) == EMPTY | {"delayed": 0 if waits else 1}


def test_a_list_may_have_all_kinds(http: httpx.Client) -> None:
    sent = send(http, [{"message": 1}, {"message": 2, "delay": YEAR}, {"message": 3, "delay": 60}])
    first, later, third = sent["ids"]
    assert (later, first > 0, third > 0) == (None, True, True)
    assert [name is not None for name in sent["schedules"]] == [False, True, False]
    assert counts(http) == EMPTY | {"visible": 1, "delayed": 1}
    assert [schedule["target"]["message"] for schedule in schedules(http)] == [2]


def test_with_its_schedule_it_is_gone(http: httpx.Client) -> None:
    name = send(http, {"message": 1, "delay": 1_000})["schedule"]
    assert http.delete(f"/v1/schedules/{name}").status_code == 204
    assert schedules(http) == []


def test_pruning_schedules_spares_messages(http: httpx.Client) -> None:
    """An exported file does not contain delayed messages."""
    name = send(http, {"message": 1, "delay": 1_000})["schedule"]
    every = {"name": "nightly", "cron": "0 0 * * *", "target": {"queue": "orders", "message": 1}}
    for wanted in ([every], []):
        synced = http.put("/v1/schedules", params={"prune": "true"}, json=wanted)
        assert synced.status_code == 200, synced.text
        assert [schedule["name"] for schedule in schedules(http)] == [name, *(schedule["name"] for schedule in wanted)]


def test_in_a_transaction(http: httpx.Client) -> None:
    send(http, {"message": "work"})
    (work,) = receive(http)
    later = {"queue": "orders", "message": "again", "delay": 86_400}
    body = {"ack": [{"queue": "orders", "receipt": work["receipt"]}], "send": [later, {**later, "delay": 0}]}
    done = http.post("/v1/transactions", json=body).json()
    assert (done["acked"], done["sent"][0]["id"], done["sent"][1]["id"] > 0) == (1, None, True)
    assert [schedule["name"] for schedule in schedules(http)] == [done["sent"][0]["schedule"]]
    in_order = [{"queue": "o.fifo", "message": n, "group_id": f"g{n}", "dedup_id": f"{n}"} for n in (1, 2)]
    mixed = http.post("/v1/transactions", json={"send": [in_order[0], later, in_order[1]]}).json()["sent"]
    assert [sent["id"] is None for sent in mixed] == [False, True, False]
    assert [
        message["group_id"] for message in http.get("/v1/queues/o.fifo/messages", params={"max": 10, "vt": 0}).json()
    ] == ["g1", "g2"]
    http.delete(f"/v1/schedules/{mixed[1]['schedule']}")
    refused = http.post("/v1/transactions", json={**body, "send": [later]})
    assert refused.status_code == 409
    assert len(schedules(http)) == 1


@pytest.mark.parametrize(
    ("queue", "body", "status"),
    [
        ("orders", {"message": 1, "delay": YEAR + 1}, 400),
        ("orders", {"message": 1, "delay": 1e9}, 400),
        ("o.fifo", {"message": 1, "delay": 901, "group_id": "g", "dedup_id": "d"}, 400),
        ("orders", {"message": 1, "delay": 901, "dedup_id": "d"}, 400),
        ("never-made", {"message": 1, "delay": 901}, 404),
        ("orders", [{"message": 1}, {"message": "x" * 1_048_576, "delay": 901}], 413),
        ("orders", [{"message": 1}, *[{"message": 1, "delay": 901}] * 21], 429),
    ],
)
def test_a_refused_request_changes_nothing(http: httpx.Client, queue: str, body: Any, status: int) -> None:
    response = http.post(f"/v1/queues/{queue}/messages", json=body)
    assert response.status_code == status, response.text
    assert (schedules(http), counts(http)) == ([], EMPTY)


@pytest.mark.parametrize("delay", [1, 900, 901, YEAR])
@pytest.mark.parametrize("form", ["single", "list", "transaction"])
def test_a_fifo_queue_refuses_a_delay_and_names_it(http: httpx.Client, form: str, delay: int) -> None:
    """The error contains the client's value ("SendMessage", API Reference: DelaySeconds cannot be set for a message of
    a FIFO queue).
    """
    message = {"message": 1, "delay": delay, "group_id": "g", "dedup_id": "d"}
    if form == "transaction":
        response = http.post("/v1/transactions", json={"send": [{"queue": "o.fifo", **message}]})
    else:
        path = "/v1/queues/o.fifo/messages"
        response = http.post(path, json=message if form == "single" else [{**message, "delay": None}, message])
    assert response.status_code == 400
    assert f"Value {delay} for parameter DelaySeconds is invalid" in response.text
    assert http.get("/v1/queues/o.fifo/messages").json() == []


def test_in_sql(http: httpx.Client, db: psycopg.Connection[Any]) -> None:
    """The application sends the message in a separate transaction."""
    with db.transaction(force_rollback=True):
        assert db.execute("""select queue.send('orders', '{"a": 1}', delay => 86400)""").fetchall() == [(None,)]
    assert schedules(http) == []
    batch = "select * from queue.send_batch('orders', array['1', '2']::jsonb[], delay => 901, group_id => 'tenant')"
    assert db.execute(batch.encode()).fetchall() == [(None,), (None,)]
    assert {schedule["target"]["message"] for schedule in schedules(http)} == {1, 2}
    db.execute(MAKE_DUE)
    found: list[Any] = []
    while len(found) < 2:
        found += receive(http)
    assert sorted((message["message"], message["group_id"], *message["headers"]) for message in found) == [
        (1, "tenant"),
        (2, "tenant"),
    ]


FIFO_BATCH = "_batch('o.fifo', array['1']::jsonb[], group_id => 'g', delay => {})".format


@pytest.mark.parametrize(
    "call", ["('orders', '1', delay => 31536001)", FIFO_BATCH(1), FIFO_BATCH(900), FIFO_BATCH(901)]
)
def test_sql_refuses_an_invalid_delay(http: httpx.Client, db: psycopg.Connection[Any], call: str) -> None:
    with pytest.raises(psycopg.Error, match="a delay is 0 to 31536000 seconds") as refused:
        db.execute(f"select queue.send{call}".encode())
    assert refused.value.sqlstate == "QU003"
