"""Tests /v1/queues/{name}: moves, pauses, searches and receivers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httpx
import psycopg
import pytest

from penstock.errors import ServiceUnavailable
from penstock.http import HttpRequest
from penstock.observing.reports import ReceivedBy
from penstock_web.metrics import receivers as module
from penstock_web.metrics.receivers import Receivers
from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sql.calls import Connection, arn_of, create
from tests.support.wait import wait_until

# --- moves -----------------------------------------------------------------------------------------------------------
# Tests move tasks over the REST API, which first move one message and then, on request, the other messages. Also tests
# audit rows and refusals.

NO_MOVE = "00000000-0000-4000-8000-000000000000"
MOVES = "/v1/queues/dead/moves"


@pytest.fixture(scope="module")
def moving(shared_service: Service) -> Iterator[httpx.Client]:
    """Provides a service with the queue `orders`, whose messages become dead letters after one receive."""
    with shared_service.http() as moving:
        moving.post("/v1/queues", json={"name": "dead"}).raise_for_status()
        policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}
        attributes = {"RedrivePolicy": policy}
        moving.post("/v1/queues", json={"name": "orders", "attributes": attributes}).raise_for_status()
        yield moving


def depth(moving: httpx.Client, queue: str) -> int:
    return int(moving.get(f"/v1/queues/{queue}").json()["visible"])


def move_of(moving: httpx.Client, move: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = moving.get(f"{MOVES}/{move['id']}").json()
    return found


@pytest.mark.shared
def test_one_first_then_the_rest_at_a_rate(moving: httpx.Client, shared_database: Database) -> None:
    messages = [{"message": {"n": n, "kind": "late" if n % 2 else "broken"}} for n in range(8)]
    moving.post("/v1/queues/orders/messages", json=messages).raise_for_status()
    moving.get("/v1/queues/orders/messages", params={"max": 100, "vt": 0}).raise_for_status()
    assert moving.get("/v1/queues/orders/messages").json() == []
    assert depth(moving, "dead") == 8
    late = {"json": {"path": "kind", "equals": "late"}, "source_queue": "orders"}
    response = moving.post(MOVES, json={"filter": late, "canary": 1, "per_second": 500})
    assert response.status_code == 201, response.text
    move = response.json()
    assert response.headers["location"] == f"{MOVES}/{move['id']}"
    assert (move["filter"], move["of"], move["to"], move["per_second"]) == (
        {"json": {"path": ["kind"], "equals": "late"}, "source_queue": "orders"}, 4, None, 500,
    )  # fmt: skip
    wait_until(lambda: move_of(moving, move)["state"] == "waiting")
    assert move_of(moving, move)["of"] == 4
    assert (move_of(moving, move)["moved"], depth(moving, "orders"), depth(moving, "dead")) == (1, 1, 7)
    assert moving.post(MOVES, json={"filter": {}}).json()["error"]["code"] == "move_conflict"
    response = moving.post(f"{MOVES}/{move['id']}/continue", json={"per_second": 100})
    assert (response.status_code, response.json()["per_second"]) == (200, 100), response.text
    wait_until(lambda: move_of(moving, move)["state"] == "completed")
    done = move_of(moving, move)
    assert (done["moved"], done["of"], done["skipped"], done["looked_at"], done["problem"]) == (4, 4, 0, 8, None)
    assert [move["id"] for move in moving.get(MOVES).json()["moves"]] == [move["id"]]
    assert (depth(moving, "orders"), depth(moving, "dead")) == (4, 4)
    for again in ("continue", "cancel"):
        assert moving.post(f"{MOVES}/{move['id']}/{again}").status_code == 409
    with psycopg.connect(shared_database.dsn) as connection:
        rows = connection.execute(
            "select action, target, details from queue.audit where action like '%Move%' order by audit_id"
        ).fetchall()
    started, continued = rows  # A refused request does not store a row.
    assert started[:2] == ("sqs:StartMessageMoveTask", "arn:aws:sqs:us-east-1:000000000000:dead")
    assert started[2]["filter"]["source_queue"] == "orders"
    assert continued[2]["move"] == move["id"]


@pytest.mark.shared
def test_by_ids_to_a_named_queue_and_cancel(moving: httpx.Client) -> None:
    moving.post("/v1/queues", json={"name": "other"}).raise_for_status()
    ids = moving.post("/v1/queues/other/messages", json=[{"message": 1}, {"message": 2}]).json()["ids"]
    at = "/v1/queues/other/moves"
    move = moving.post(at, json={"ids": [*ids, ids[0]], "to": "dead", "canary": 1}).json()
    assert (move["ids"], move["of"], move["to"]) == (sorted(ids), 2, "dead")
    wait_until(lambda: moving.get(f"{at}/{move['id']}").json()["state"] == "waiting")
    cancelled = moving.post(f"{at}/{move['id']}/cancel").json()
    assert (cancelled["state"], cancelled["moved"], depth(moving, "other")) == ("cancelled", 1, 1)


@pytest.mark.shared
def test_messages_without_a_source_queue_need_a_destination(moving: httpx.Client) -> None:
    """ "All messages sent directly to a dead-letter queue" have no source ("StartMessageMoveTask", API reference)."""
    moving.post("/v1/queues", json={"name": "direct"}).raise_for_status()
    ids = moving.post("/v1/queues/direct/messages", json=[{"message": 1}, {"message": 2}]).json()["ids"]
    selections: list[tuple[dict[str, object], str]] = [({"filter": {}}, "2 of 2"), ({"ids": ids[:1]}, "1 of 1")]
    for selection, number in selections:
        refused = moving.post("/v1/queues/direct/moves", json={**selection, "canary": 1})
        assert refused.status_code == 400
        assert f"{number} message" in refused.json()["error"]["message"]
        assert "Choose the queue to which they move (to)." in refused.json()["error"]["message"]
    assert moving.get("/v1/queues/direct/moves").json() == {"moves": []}
    assert depth(moving, "direct") == 2


@pytest.mark.shared
@pytest.mark.parametrize("body", [
    {}, {"ids": [1], "filter": {}}, {"ids": []}, {"ids": [-1]}, {"ids": ["x"]}, {"filter": {}, "canary": 0},
    {"filter": {}, "per_second": 501}, {"filter": {}, "to": "dead"}, {"filter": {}, "to": "a.fifo"},
    {"filter": {}, "x": 1},
    {"filter": {"states": ["in_flight"]}}, {"filter": {}, "to": ""},
])  # fmt: skip
def test_an_invalid_move_is_refused(moving: httpx.Client, body: Any) -> None:
    moving.post("/v1/queues", json={"name": "a.fifo"})
    response = moving.post(MOVES, json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request"), response.text


@pytest.mark.shared
@pytest.mark.parametrize(("method", "path", "code"), [
    ("GET", f"{MOVES}/{NO_MOVE}", "move_not_found"), ("POST", f"{MOVES}/{NO_MOVE}/continue", "move_not_found"),
    ("POST", f"{MOVES}/{NO_MOVE}/cancel", "move_not_found"), ("GET", "/v1/queues/missing/moves", "queue_not_found"),
    ("GET", f"/v1/queues/missing/moves/{NO_MOVE}", "queue_not_found"),
])  # fmt: skip
def test_a_missing_queue_or_move_is_404(moving: httpx.Client, method: str, path: str, code: str) -> None:
    response = moving.request(method, path)
    assert (response.status_code, response.json()["error"]["code"]) == (404, code), response.text


@pytest.mark.shared
def test_a_destination_that_is_not_there(moving: httpx.Client) -> None:
    response = moving.post(MOVES, json={"filter": {}, "to": "missing"})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "queue_not_found")


# --- pause -----------------------------------------------------------------------------------------------------------
# Tests that a paused queue accepts messages and returns no message to any receiver (docs/operate/waiting.md).


@pytest.fixture
def service(database: Database) -> Iterator[Service]:
    with running_service(database.pooled_dsn, database.api_dsn, QUEUE_METRICS_INTERVAL_MS="100") as service:
        yield service


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_a_paused_queue_hands_out_messages_only_when_resumed(
    service: Service, http: httpx.Client, db: Connection, name: str
) -> None:
    sqs = service.sqs()
    group = {"MessageGroupId": "g", "MessageDeduplicationId": "1"} if name.endswith(".fifo") else {}
    http.post("/v1/queues", json={"name": name}).raise_for_status()
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="before", **group)
    before = sqs.receive_message(QueueUrl=url)["Messages"][0]
    assert http.post(f"/v1/queues/{name}/pause").status_code == 204
    sqs.send_message(
        QueueUrl=url, MessageBody="meanwhile", **group | ({"MessageDeduplicationId": "2"} if group else {})
    )
    sqs.delete_message(QueueUrl=url, ReceiptHandle=before["ReceiptHandle"])
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    assert http.get(f"/v1/queues/{name}/messages").json() == []
    taken = "select * from queue.receive_messages(%s, 10, 10, null, 120000, false) m where m.id is not null"
    assert db.execute(taken, (arn_of(name),)).fetchall() == []
    assert (
        sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["ApproximateNumberOfMessages"]
        == "1"
    )
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        wait_until(lambda: waits(db, name))
        db.execute(
            "select * from queue.set_queue_attributes(%s, %s, null, null)", (arn_of(name), '{"paused": "false"}')
        )
        assert [message["Body"] for message in waiting.result()["Messages"]] == ["meanwhile"]
    assert http.post(f"/v1/queues/{name}/resume").status_code == 204
    audited = db.execute("select action, target from queue.audit order by audit_id").fetchall()
    assert audited[-2:] == [("penstock:PauseQueue", arn_of(name)), ("penstock:ResumeQueue", arn_of(name))]


def test_a_verdict_says_so(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "orders", "attributes": {"paused": True}}).raise_for_status()
    http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()

    def verdict() -> Any:
        (queue,) = http.get("/v1/metrics/lag").json()["queues"]
        return queue["verdict"]

    wait_until(lambda: verdict()["backlog"] == 1)
    assert (verdict()["kind"], verdict()["cause"]) == ("throttled", "queue_paused")
    assert http.post("/v1/queues/none/pause").status_code == 404


def waits(db: Connection, name: str) -> bool:
    """Returns whether a process has registered for notifications about the queue."""
    found = db.execute(
        "select from queue.watcher w join queue.queues q using (queue_id) where q.arn = %s", (arn_of(name),)
    )
    return bool(found.fetchall())


# --- search ----------------------------------------------------------------------------------------------------------
# Tests searches over the REST API: requests, responses and refusals.

SEARCH = "/v1/queues/orders/messages/search"


@pytest.fixture(scope="module")
def searched(postgres: TestServer) -> Iterator[httpx.Client]:
    """Provides a service whose queue `orders` contains three messages."""
    with postgres.database() as database, running_service(database.api_dsn) as service, service.http() as searched:
        searched.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        for number in range(3):
            message = {"message": {"order": {"id": number}}, "headers": {"tenant": "a"}, "group_id": "g"}
            searched.post("/v1/queues/orders/messages", json=message).raise_for_status()
        yield searched


def test_a_search_by_json_shows_the_message_and_how_many_it_looked_at(searched: httpx.Client) -> None:
    response = searched.post(SEARCH, json={"filter": {"json": {"path": "order.id", "equals": 1}}})
    assert response.status_code == 200, response.text
    found = response.json()
    (message,) = found.pop("messages")
    assert found == {"looked_at": 3, "of": 3, "next": None}
    shown = [message[name] for name in ("message", "headers", "group_id", "state", "receive_count")]
    assert shown == [{"order": {"id": 1}}, {"tenant": "a"}, "g", "visible", 0]


def test_pages_go_on_where_the_last_one_ended(searched: httpx.Client) -> None:
    first = searched.post(SEARCH, json={"limit": 2}).json()
    assert first["looked_at"] == 2
    rest = searched.post(SEARCH, json={"limit": 2, "after": first["next"]}).json()
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
def test_an_invalid_search_is_refused(searched: httpx.Client, body: Any) -> None:
    response = searched.post(SEARCH, json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request"), response.text


def test_a_queue_that_is_not_there(searched: httpx.Client) -> None:
    response = searched.post("/v1/queues/missing/messages/search", json={})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "queue_not_found")


def test_failures_in_groups_have_a_filter_that_finds_them(searched: httpx.Client) -> None:
    response = searched.get("/v1/queues/orders/failures", params={"by": ["shape", "receive_count"]})
    assert response.status_code == 200, response.text
    found = response.json()
    (group,) = found.pop("groups")
    assert found == {"group_count": 1, "looked_at": 3, "of": 3, "next": None}
    assert (group["count"], group["by"]["receive_count"], len(group["samples"])) == (3, 0, 3)
    assert group["samples"][0]["message"]["order"]["id"] in range(3)
    again = searched.post(SEARCH, json={"filter": group["filter"]}).json()
    assert len(again["messages"]) == 3
    # The messages have no source queue, so the group has no filter.
    assert not searched.get("/v1/queues/orders/failures").json()["groups"][0]["filter"]


@pytest.mark.parametrize("query", ["by=x", "by=attribute", "attribute=a", "scan=0", "groups=0", "after=x"])
def test_which_groups_are_refused(searched: httpx.Client, query: str) -> None:
    response = searched.get(f"/v1/queues/orders/failures?{query}")
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request"), response.text


def test_a_long_sample_is_cut(searched: httpx.Client) -> None:
    searched.post("/v1/queues", json={"name": "long"}).raise_for_status()
    searched.post("/v1/queues/long/messages", json={"message": {"a": "x" * 20_000}}).raise_for_status()
    (group,) = searched.get("/v1/queues/long/failures?by=shape").json()["groups"]
    (sample,) = group["samples"]
    assert (sample["truncated"], len(sample["message"])) == (True, 16_384)


# --- receivers -------------------------------------------------------------------------------------------------------
# Tests GET /v1/queues/{name}/receivers, which returns the receivers that the processes store for a queue.


def test_each_client_is_listed_with_what_it_got(database: Database) -> None:
    often = {"penstock_web.metrics.receivers.WRITE_SECONDS": 0.1}
    with running_service(database.api_dsn, constants=often) as service, service.http() as http:
        for name in ("orders", "idle"):
            http.post("/v1/queues", json={"name": name}).raise_for_status()
        for _ in range(3):
            http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()
        got = len(http.get("/v1/queues/orders/messages", params={"max": 2}, headers={"user-agent": "worker/2"}).json())
        sqs = service.sqs()
        while got < 3:
            got += len(sqs.receive_message(QueueUrl="orders", WaitTimeSeconds=20).get("Messages", []))

        def listed() -> list[dict[str, Any]]:
            response = http.get("/v1/queues/orders/receivers")
            assert response.status_code == 200, response.text
            found: list[dict[str, Any]] = response.json()
            return found

        wait_until(lambda: sum(row["messages"] for row in listed()) == 3)
        last, first = listed()
        assert (first["user_agent"], last["user_agent"].partition("/")[0]) == ("worker/2", "Boto3")
        assert last["address"] == first["address"] == "127.0.0.1"
        assert last["caller"].startswith("arn:aws:iam::000000000000:user/")
        assert last["last_received_at"] >= last["first_received_at"] > first["last_received_at"][:10]
        assert http.get("/v1/queues/idle/receivers").json() == []
        assert http.get("/v1/queues/none/receivers").status_code == 404


def report(agent: bytes, count: int = 1) -> ReceivedBy:
    headers = {b"user-agent": agent}
    context = SimpleNamespace(
        http=HttpRequest("POST", "/", b"", headers, b"", "10.0.0.7"),
        user=None,
        caller_arn="arn:aws:iam::000000000000:root",
        client_address="10.0.0.7",
    )
    return ReceivedBy(arn_of("orders"), count, context)


async def test_the_counts_of_a_process_are_added_up(database: Database) -> None:
    """Two writes about one receiver create one row, even if botocore lists the features in another order. The service
    stores malicious user agents, and omits deleted queues.
    """
    with psycopg.connect(database.api_dsn, autocommit=True) as db:

        async def write(statement: Any, arguments: Any) -> list[Any]:
            marks = ", ".join(f"%s::{kind}" for kind in statement.types)
            return db.execute(f"select {statement.name}({marks})", arguments).fetchall()

        create(db, "orders")
        receivers = Receivers()
        for agent, count in ((b"a md/x m/b,E", 2), (b"a md/x m/E,b", 3), (b"\0\xff<script>" * 40, 0)):
            receivers.note(report(agent, count), 0.0)
        await receivers.flush(write)
        receivers.note(report(b"a md/x m/b,E", 5), 0.0)
        await receivers.flush(write)
        rows = db.execute("select agent, received from queue.receiver order by received desc").fetchall()
        assert [received for _, received in rows] == [10, 0]
        assert rows[1][0].startswith("\u00ff<script>")
        assert len(rows[1][0]) <= module.MAX_AGENT_LENGTH
        db.execute("update queue.receiver set last_at = now() - interval '25 hours'")
        db.execute("select queue.maintain_installation(1000, 30)")
        assert db.execute("select from queue.receiver").fetchall() == []


def test_a_long_agent_keeps_the_application() -> None:
    """SDKs write the application id at the end of the header."""
    agent = b"aws-sdk-java/2.25.0 " + b"md/x#" + b"y" * 300 + b" app/orders"
    short = module.shorten_agent(agent)
    assert len(short) == module.MAX_AGENT_LENGTH
    assert short.startswith(b"aws-sdk-java/2.25.0 ")
    assert short.endswith(b" app/orders")
    assert module.shorten_agent(b"curl/8") == b"curl/8"


async def test_an_outage_loses_only_what_was_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECEIVERS", 2)
    written: list[Any] = []

    async def refuse(*_: Any) -> list[Any]:
        raise ServiceUnavailable

    async def write(_: Any, columns: Any) -> list[Any]:
        written.extend(columns[2])
        return []

    receivers = Receivers()
    receivers.note(report(b"lost"), 0.0)
    await receivers.flush(refuse)
    for agent in (b"a", b"b", b"one too many"):
        receivers.note(report(agent), 0.0)
    await receivers.flush(write)
    assert written == ["a", "b"]


# --- audit -----------------------------------------------------------------------------------------------------------
# Tests that the audit contains one row for each change over the REST API.


def test_acts_leave_a_row(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()
        target = {"queue": "orders", "message": 1}
        http.post("/v1/schedules", json={"name": "daily", "cron": "0 3 * * *", "target": target}).raise_for_status()
        http.patch("/v1/queues/orders", json={"attributes": {"DelaySeconds": 5}}).raise_for_status()
        http.post("/v1/queues/orders/purge").raise_for_status()
        http.post("/v1/schedules/daily/runs").raise_for_status()
        http.delete("/v1/schedules/daily").raise_for_status()
        new = {"queue": "orders", "function": "http://127.0.0.1:1/", "enabled": False}
        mapping = http.post("/v1/mappings", json=new).json()["id"]
        http.delete(f"/v1/mappings/{mapping}").raise_for_status()
        http.delete("/v1/queues/orders").raise_for_status()
        assert http.post("/v1/queues/orders/purge").status_code == 404
    with psycopg.connect(database.api_dsn) as db:
        rows = db.execute(
            "select action, target, details, affected, interface, actor from queue.audit order by audit_id"
        ).fetchall()
    queue, schedule = "arn:aws:sqs:us-east-1:000000000000:orders", "schedule/default/daily"
    schedule = f"arn:aws:scheduler:us-east-1:000000000000:{schedule}"
    of_mapping = f"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:{mapping}"
    assert {row[4:] for row in rows} == {("rest", None)}  # The service did not require a key.
    assert [row[:4] for row in rows] == [
        ("sqs:CreateQueue", queue, {"attributes": {}, "tags": {}}, 1),
        ("scheduler:CreateSchedule", schedule, {}, 1),
        ("sqs:SetQueueAttributes", queue, {"attributes": ["DelaySeconds"]}, 1),
        ("sqs:PurgeQueue", queue, {}, 1),
        ("penstock:RunSchedule", schedule, {}, 1),
        ("scheduler:DeleteSchedule", schedule, {}, 1),
        ("lambda:CreateEventSourceMapping", queue, {"function": new["function"], "enabled": False}, 1),
        ("lambda:DeleteEventSourceMapping", of_mapping, {}, 1),
        ("sqs:DeleteQueue", queue, {}, 1),
    ]
