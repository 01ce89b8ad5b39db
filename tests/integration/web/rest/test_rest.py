"""Tests the REST API on a real service. Shapes: /v1/openapi.json."""

import json
import re
from typing import Any

import httpx
import pytest

from tests.support.conformance.requests import error_of, receive, send
from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(QUEUE_PURGE_INTERVAL_SECONDS="0", QUEUE_RECREATE_INTERVAL_SECONDS="0"),
]

JSON = {"content-type": "application/json"}
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch


@pytest.fixture
def http(http: httpx.Client) -> httpx.Client:
    """Provides the empty queue `orders` as the only queue."""
    for queue in http.get("/v1/queues").json()["queues"]:
        http.delete(f"/v1/queues/{queue['name']}").raise_for_status()
    http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
    return http


# --- queues ----------------------------------------------------------------------------------------------------------
def test_create_answers_where_the_queue_is(http: httpx.Client) -> None:
    response = http.post("/v1/queues", json={"name": "bills", "tags": {"team": "a"}})
    assert response.status_code == 201
    assert response.headers["location"] == "/v1/queues/bills"
    assert http.get("/v1/queues/bills").json()["tags"] == {"team": "a"}


def test_a_fifo_queue_gets_its_suffix(http: httpx.Client) -> None:
    response = http.post("/v1/queues", json={"name": "bills", "fifo": True})
    assert response.headers["location"] == "/v1/queues/bills.fifo"
    assert http.get("/v1/queues/bills.fifo").json()["fifo"] is True


def test_a_taken_name_is_409(http: httpx.Client) -> None:
    assert error_of(http.post("/v1/queues", json={"name": "orders"})) == (409, "queue_exists")


def test_a_description_has_every_count(http: httpx.Client) -> None:
    for number in range(3):
        send(http, number)
    send(http, "later", delay=900)
    assert len(receive(http, max=1)) == 1
    queue = http.get("/v1/queues/orders").json()
    assert set(queue) == {
        "name", "arn", "fifo", "queue_length", "visible", "in_flight", "delayed", "newest_msg_age_sec",
        "oldest_msg_age_sec", "total_messages", "created_at", "scrape_time", "attributes", "tags",
    }  # fmt: skip
    counts = {name: queue[name] for name in ("queue_length", "visible", "in_flight", "delayed")}
    assert counts == {"queue_length": 4, "visible": 2, "in_flight": 1, "delayed": 1}
    assert RFC_3339(queue["created_at"])
    assert RFC_3339(queue["scrape_time"])
    assert queue["attributes"]["VisibilityTimeout"] == "30"


def test_queues_are_listed_in_pages(http: httpx.Client) -> None:
    for name in ("a", "b", "c"):
        http.post("/v1/queues", json={"name": name}).raise_for_status()
    first = http.get("/v1/queues", params={"limit": 2}).json()
    assert [queue["name"] for queue in first["queues"]] == ["a", "b"]
    second = http.get("/v1/queues", params={"limit": 2, "next": first["next"]}).json()
    assert [queue["name"] for queue in second["queues"]] == ["c", "orders"]
    assert "next" not in second


def test_patch_changes_only_what_is_named(http: httpx.Client) -> None:
    change = {"attributes": {"VisibilityTimeout": 5, "archive": True}}
    assert http.patch("/v1/queues/orders", json=change).status_code == 200
    attributes = http.get("/v1/queues/orders").json()["attributes"]
    assert attributes["VisibilityTimeout"] == "5"
    assert attributes["archive"] == "true"
    assert attributes["DelaySeconds"] == "0"


def test_delete_is_204_then_404(http: httpx.Client) -> None:
    assert http.delete("/v1/queues/orders").status_code == 204
    assert error_of(http.delete("/v1/queues/orders")) == (404, "queue_not_found")


def test_purge_says_how_many(http: httpx.Client) -> None:
    for number in range(4):
        send(http, number)
    assert http.post("/v1/queues/orders/purge").json() == {"deleted": 4}
    assert receive(http) == []


# --- messages --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    ['{"a": 1.10, "b": [1e400, 12345678901234567890123]}', "null", "true", '"text"', "0", "[]", '"\\u0000\\n"', '"é"'],
)
def test_a_message_comes_back_as_it_was_sent(http: httpx.Client, text: str) -> None:
    response = http.post("/v1/queues/orders/messages", content=f'{{"message": {text}}}', headers=JSON)
    assert response.status_code == 201
    body = http.get("/v1/queues/orders/messages").text
    assert f'"message":{text.replace(": ", ":").replace(", ", ",")}' in body


def test_a_received_message_has_its_shape(http: httpx.Client) -> None:
    headers = {"text": "a", "number": 1.5, "flag": True, "nothing": None, "list": [1, {"b": 2}]}
    message_id = send(http, {"a": 1}, headers=headers)
    (message,) = receive(http, vt=60)
    assert set(message) == {
        "id", "message_id", "receipt", "read_count", "enqueued_at", "visible_at", "message", "headers",
    }  # fmt: skip
    assert message["id"] == message_id
    assert message["read_count"] == 1
    assert message["message"] == {"a": 1}
    assert message["headers"] == headers
    assert RFC_3339(message["enqueued_at"])
    assert RFC_3339(message["visible_at"])
    assert receive(http) == []


def test_a_list_is_stored_in_order_with_a_delay_each(http: httpx.Client) -> None:
    entries = [{"message": 0}, {"message": 1, "delay": 900}, {"message": 2}]
    response = http.post("/v1/queues/orders/messages", json=entries)
    assert response.status_code == 201
    ids = response.json()["ids"]
    assert {message["id"]: message["message"] for message in receive(http, max=10)} == {ids[0]: 0, ids[2]: 2}
    peeked = http.get("/v1/queues/orders/messages/peek", params={"state": "delayed"}).json()
    assert [message["id"] for message in peeked] == [ids[1]]


def test_a_list_with_one_message_that_is_too_long_stores_nothing(http: httpx.Client) -> None:
    http.patch("/v1/queues/orders", json={"attributes": {"MaximumMessageSize": 1024}}).raise_for_status()
    entries = [{"message": "short"}, {"message": "x" * 1024}]
    response = http.post("/v1/queues/orders/messages", json=entries)
    assert error_of(response) == (413, "payload_too_large")
    assert receive(http, max=10) == []


def test_an_asynchronous_commit_stores_as_well(http: httpx.Client) -> None:
    response = http.post("/v1/queues/orders/messages?async_commit=true", json={"message": 1})
    assert response.status_code == 201
    assert [message["id"] for message in receive(http)] == [response.json()["id"]]


def test_up_to_1000_messages_a_receive(http: httpx.Client) -> None:
    http.post("/v1/queues/orders/messages", json=[{"message": n} for n in range(1000)]).raise_for_status()
    messages = receive(http, max=1000)
    while len(messages) < 1000:  # a receive can return fewer messages than the queue contains
        messages += receive(http, max=1000)
    assert sorted(message["message"] for message in messages) == list(range(1000))


def test_a_fifo_message_has_its_group(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "bills", "fifo": True}).raise_for_status()
    send(http, 1, "bills.fifo", group_id="a", dedup_id="x")
    repeated = send(http, 1, "bills.fifo", group_id="a", dedup_id="x")
    (message,) = receive(http, "bills.fifo", max=10)
    assert message["group_id"] == "a"
    assert message["id"] == repeated


def test_sqs_and_rest_clients_share_a_queue(http: httpx.Client, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    attributes = {
        "number": {"DataType": "Number", "StringValue": "7"},
        "binary": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
    }
    sqs.send_message(QueueUrl=url, MessageBody="not JSON", MessageAttributes=attributes)
    (message,) = receive(http, vt=0)
    assert message["message"] == "not JSON"
    assert message["headers"] == {"number": 7, "binary": "AAE="}
    receipt = sqs.receive_message(QueueUrl=url)["Messages"][0]["ReceiptHandle"]
    response = http.request("DELETE", "/v1/queues/orders/messages", json={"receipts": [receipt]})
    assert response.json() == {"deleted": [receipt]}


def test_messages_are_deleted_by_id_and_by_receipt(http: httpx.Client) -> None:
    ids = [send(http, number) for number in range(3)]
    response = http.request("DELETE", "/v1/queues/orders/messages", json={"ids": [ids[1], 2**40, ids[0]]})
    assert response.json() == {"deleted": [ids[1], ids[0]]}
    (message,) = receive(http)
    for deleted in ([message["receipt"]], []):
        response = http.request("DELETE", "/v1/queues/orders/messages", json={"receipts": [message["receipt"]]})
        assert response.json() == {"deleted": deleted}


def test_one_message_is_deleted_once(http: httpx.Client) -> None:
    message_id = send(http, 1)
    assert http.delete(f"/v1/queues/orders/messages/{message_id}").status_code == 204
    response = http.delete(f"/v1/queues/orders/messages/{message_id}")
    assert error_of(response) == (404, "message_not_found")


def test_visibility_changes_by_id(http: httpx.Client) -> None:
    message_id = send(http, 1)
    receive(http)
    response = http.patch(f"/v1/queues/orders/messages/{message_id}", json={"vt": 0})
    assert set(response.json()) == {"id", "visible_at"}
    assert response.json()["id"] == message_id
    assert [message["read_count"] for message in receive(http)] == [2]
    missing = http.patch("/v1/queues/orders/messages/999999", json={"vt": 0})
    assert error_of(missing) == (404, "message_not_found")


def test_a_failure_is_the_header_of_the_dead_letter(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "dead"}).raise_for_status()
    arn = http.get("/v1/queues/dead").json()["arn"]
    policy = {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})}
    http.patch("/v1/queues/orders", json={"attributes": policy}).raise_for_status()
    send(http, 1)
    (message,) = receive(http)
    path = f"/v1/queues/orders/messages/{message['receipt']}/fail"
    assert http.post(path, json={"error": "first"}).status_code == 204
    assert http.get("/v1/queues/orders").json()["in_flight"] == 1
    assert http.post(path, json={"error": "no stock \0", "vt": 0}).status_code == 204
    assert receive(http) == []
    (letter,) = http.get("/v1/queues/dead/messages/peek").json()
    assert letter["headers"] == {"PenstockError": "no stock \ufffd"}
    assert error_of(http.post(path, json={"error": "late"})) == (404, "message_not_found")
    assert error_of(http.post(path, json={"error": ""}))[0] == 400
    assert error_of(http.post(path, json={"error": "x", "vt": 43_201}))[0] == 400
    other = f"/v1/queues/dead/messages/{message['receipt']}/fail"
    assert error_of(http.post(other, json={"error": "x"})) == (400, "invalid_receipt_handle")


def test_groups_have_the_cause_as_title_and_a_filter_for_it(http: httpx.Client) -> None:
    errors = ["order 1 is late", "order 22 is late", "refused", None]
    for error in errors:
        message = {"message": "m", "headers": {"PenstockError": error} if error else {}}
        http.post("/v1/queues/orders/messages", json=message).raise_for_status()
    groups = http.get("/v1/queues/orders/failures").json()["groups"]
    assert [(group["count"], group["title"]) for group in groups[:1]] == [(2, "order # is late")]
    assert {group["title"] for group in groups[1:]} == {"refused", None}
    for group in groups:
        wanted = {**group["filter"], "text": "m"} if group["filter"] else {"cause": group["by"]["cause"] or ""}
        found = http.post("/v1/queues/orders/messages/search", json={"filter": wanted}).json()["messages"]
        assert len(found) == group["count"], wanted


def test_peek_does_not_consume_and_goes_on_after_an_id(http: httpx.Client) -> None:
    ids = sorted(send(http, number) for number in range(3))
    first = http.get("/v1/queues/orders/messages/peek", params={"limit": 2}).json()
    assert [message["id"] for message in first] == ids[:2]
    rest = http.get("/v1/queues/orders/messages/peek", params={"after": ids[1]}).json()
    assert [message["id"] for message in rest] == ids[2:]
    assert len(receive(http, max=10)) == 3
    in_flight = http.get("/v1/queues/orders/messages/peek", params={"state": "in_flight"}).json()
    assert [message["id"] for message in in_flight] == ids


def test_peek_tells_when_and_how_a_message_came(http: httpx.Client) -> None:
    """A dead letter keeps its send time (Developer Guide, "Setting-up dead-letter queue retention")."""
    http.post("/v1/queues", json={"name": "dead"}).raise_for_status()
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}
    http.patch("/v1/queues/orders", json={"attributes": {"RedrivePolicy": policy}}).raise_for_status()
    send(http, 1)
    (sent,) = http.get("/v1/queues/orders/messages/peek").json()
    assert sent["entered_by"] == "sent"
    assert sent["entered_at"] == sent["enqueued_at"]
    assert len(receive(http, vt=0)) == 1
    assert receive(http) == []
    (dead,) = http.get("/v1/queues/dead/messages/peek").json()
    assert dead["entered_by"] == "dead_lettered"
    assert dead["enqueued_at"] == sent["enqueued_at"] < dead["entered_at"]


def test_the_archive_keeps_deleted_messages(http: httpx.Client) -> None:
    http.patch("/v1/queues/orders", json={"attributes": {"archive": True}}).raise_for_status()
    ids = [send(http, number, headers={"n": number}) for number in range(2)]
    for message_id in ids:
        http.delete(f"/v1/queues/orders/messages/{message_id}").raise_for_status()
    first = http.get("/v1/queues/orders/archive", params={"limit": 1}).json()
    rest = http.get("/v1/queues/orders/archive", params={"after": first[0]["archive_id"]}).json()
    assert [message["id"] for message in first + rest] == ids
    assert first[0]["headers"] == {"n": 0}
    assert RFC_3339(first[0]["archived_at"])


# --- refusals --------------------------------------------------------------------------------------------------------
MESSAGES = "/v1/queues/orders/messages"
BAD: list[tuple[str, str, Any]] = [
    ("POST", "/v1/queues", {"name": "with space"}),
    ("POST", "/v1/queues", {"name": "x" * 81}),
    ("POST", "/v1/queues", {}),
    ("POST", "/v1/queues", {"name": "x", "typo": 1}),
    ("POST", "/v1/queues", {"name": "x", "attributes": {"VisibilityTimeout": 43_201}}),
    ("POST", "/v1/queues", {"name": "x", "attributes": {"Unknown": "1"}}),
    ("POST", "/v1/queues", ["x"]),
    ("PATCH", "/v1/queues/orders", {"attributes": {"FifoQueue": True}}),
    ("POST", MESSAGES, []),
    ("POST", MESSAGES, {}),
    ("POST", MESSAGES, {"message": 1, "delay": 31_536_001}),
    ("POST", MESSAGES, {"message": 1, "delay": -1}),
    ("POST", MESSAGES, {"message": 1, "delay": "1"}),
    ("POST", MESSAGES, {"message": 1, "typo": 1}),
    ("POST", MESSAGES, {"message": 1, "dedup_id": "only for FIFO"}),
    ("POST", MESSAGES, {"message": 1, "headers": {str(n): 1 for n in range(11)}}),
    ("GET", MESSAGES + "?max=0", None),
    ("GET", MESSAGES + "?max=1001", None),
    ("GET", MESSAGES + "?vt=43201", None),
    ("GET", MESSAGES + "?wait=21", None),
    ("GET", MESSAGES + "/peek?state=gone", None),
    ("DELETE", MESSAGES, {}),
    ("DELETE", MESSAGES, {"ids": [1], "receipts": ["x"]}),
    ("DELETE", MESSAGES + "/x", None),
    ("PATCH", MESSAGES + "/1", {"vt": 43_201}),
    ("PATCH", MESSAGES + "/1", {}),
    ("PATCH", MESSAGES + "/1", {"vt": False}),
    ("PATCH", MESSAGES + "/1", {"vt": "1"}),
    ("POST", "/v1/queues", {"name": "x", "fifo": "no"}),
    ("GET", "/v1/queues?limit=0", None),
    ("GET", "/v1/queues?next=%25", None),
]


def test_bad_requests_are_400_in_the_one_shape(http: httpx.Client) -> None:
    responses = {
        (method, path, str(body)): error_of(http.request(method, path, json=body)) for method, path, body in BAD
    }
    assert {request: response for request, response in responses.items() if response != (400, "bad_request")} == {}


@pytest.mark.parametrize("content", [b"", b"{", b'{"message": NaN}', b'{"message": "\xff"}', b"[" * 100_000])
def test_a_body_that_is_not_json_is_400(http: httpx.Client, content: bytes) -> None:
    assert error_of(http.post(MESSAGES, content=content, headers=JSON)) == (400, "bad_request")
    assert error_of(http.post("/v1/queues", content=content, headers=JSON)) == (400, "bad_request")


@pytest.mark.parametrize("path", ["/v1/queues", MESSAGES, "/v1/events/%23/subscriptions", "/v1/transactions"])
@pytest.mark.parametrize(
    ("kind", "is_json"),
    [
        ("application/x-www-form-urlencoded", False),  # `curl -d` sends this content type.
        # A web page can send text/plain and multipart/form-data, or no content type, without a preflight request.
        ("text/plain;charset=UTF-8", False),
        (None, False),
        ("multipart/form-data; boundary=a", False),
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/vnd.company+json", True),
    ],
)
def test_a_body_says_that_it_is_json(http: httpx.Client, path: str, kind: str | None, is_json: bool) -> None:
    response = http.post(path, content=b"{", headers={} if kind is None else {"content-type": kind})
    assert error_of(response) == ((400, "bad_request") if is_json else (415, "unsupported_media_type"))
    assert is_json or "content-type: application/json" in response.json()["error"]["hint"]


def test_an_unknown_parameter_is_refused(http: httpx.Client) -> None:
    """The service validates bodies as strictly as queries. A client that misspells the name of a filter must not
    receive all messages.
    """
    for path in ("/peek?body=ok", "?max=1&wait=1&x=", "?Max=1"):
        response = http.get(MESSAGES + path)
        assert error_of(response) == (400, "bad_request"), path
        assert "no parameter is called" in response.json()["error"]["message"]
    for method, path in (("POST", "/v1/queues/orders/purge?a"), ("DELETE", "/v1/queues/orders?force=1")):
        assert error_of(http.request(method, path)) == (400, "bad_request")


@pytest.mark.parametrize(
    ("method", "path", "methods"),
    [("PUT", "/v1/queues", "GET, POST"), ("POST", "/v1/queues/orders", "DELETE, GET, PATCH")],
)
def test_a_405_lists_the_allowed_methods(http: httpx.Client, method: str, path: str, methods: str) -> None:
    """The header lists the methods of all routes of the resource (RFC 9110, 15.5.6)."""
    response = http.request(method, path)
    assert error_of(response) == (405, "method_not_allowed")
    assert response.headers.get_list("allow") == [methods]


def test_no_body_says_nothing(http: httpx.Client) -> None:
    assert http.post("/v1/queues/orders/purge").is_success
    assert http.delete("/v1/queues/orders").status_code == 204


def test_a_receipt_that_is_none_is_refused(http: httpx.Client) -> None:
    response = http.request("DELETE", MESSAGES, json={"receipts": ["x"]})
    assert error_of(response) == (400, "invalid_receipt_handle")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"attributes": {"DelaySeconds": 1}}),
        ("DELETE", "", None),
        ("POST", "/purge", None),
        ("POST", "/messages", {"message": 1}),
        ("POST", "/messages", [{"message": 1}, {"message": 2}]),
        ("GET", "/messages", None),
        ("DELETE", "/messages", {"ids": [1]}),
        ("DELETE", "/messages", {"ids": []}),
        ("DELETE", "/messages", {"receipts": []}),
        ("DELETE", "/messages/1", None),
        ("PATCH", "/messages/1", {"vt": 1}),
        ("GET", "/messages/peek", None),
        ("GET", "/archive", None),
    ],
)
def test_a_queue_that_does_not_exist_is_404(http: httpx.Client, method: str, path: str, body: Any) -> None:
    response = http.request(method, f"/v1/queues/nothing{path}", json=body)
    assert error_of(response) == (404, "queue_not_found")
    assert response.json()["error"]["message"] == "Queue 'nothing' does not exist"


def test_purging_twice_at_once_is_429(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        assert http.post("/v1/queues/orders/purge").status_code == 200
        assert error_of(http.post("/v1/queues/orders/purge")) == (429, "too_many_requests")


def test_too_many_messages_in_flight_is_429(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_IN_FLIGHT_LIMIT="1") as service, service.http() as http:
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        send(http, "one")
        send(http, "two")
        assert len(receive(http)) == 1
        assert error_of(http.get("/v1/queues/orders/messages")) == (429, "too_many_requests")
        assert receive(http, wait=1) == []


# --- hostile input (more of it: tests/system/hostile/test_hostile.py) ------------------------------------------------
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/queues", {"name": "new", "attributes": {"\ud800": "1"}}),
        ("POST", "/v1/queues", {"name": "\ud800"}),
        ("DELETE", "/v1/queues/orders/messages", {"receipts": ["\ud800"]}),
    ],
)
def test_half_a_character_is_the_clients_fault(http: httpx.Client, method: str, path: str, body: Any) -> None:
    """JSON can contain a lone surrogate, but a response that quotes the surrogate cannot."""
    response = http.request(method, path, content=json.dumps(body).encode(), headers=JSON)
    assert (response.status_code, "error" in response.json()) == (400, True)


@pytest.mark.parametrize("tags", [{f"k{n}": "v" for n in range(51)}, {"k": "v" * 257}, {"k": "\0"}, {"": "v"}])
def test_tags_are_those_of_sqs(http: httpx.Client, tags: dict[str, str]) -> None:
    """A queue can have 50 tags with keys of 1-128 characters and values of at most 256 characters."""
    assert http.post("/v1/queues", json={"name": "new", "tags": tags}).status_code == 400
    assert http.get("/v1/queues/new").status_code == 404


MANY = b",".join([b'{"message":0}'] * 300_000)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/queues/orders/messages", b"[" + MANY + b"]", 400),
        ("POST", "/v1/queues/orders/messages", b'{"message":0,"headers":{"a":[' + MANY + b"]}}", 400),
        ("POST", "/v1/queues/orders/messages", b'{"message":[' + MANY + b"]}", 413),
        ("POST", "/v1/queues/orders/messages", b'{"message":[' + b" " * 3_200_000 + b"]}", 413),
        ("POST", "/v1/queues", b'{"name":"x","attributes":[' + MANY + b"]}", 413),
        ("DELETE", "/v1/queues/orders/messages", b'{"ids":[' + b"1," * 200_000 + b"1]}", 413),
    ],
)
def test_megabytes_are_refused_unread(http: httpx.Client, method: str, path: str, body: bytes, status: int) -> None:
    """Penstock chose the size limit, because a million small members would block all other requests for a second."""
    assert http.request(method, path, content=body, headers=JSON).status_code == status
    assert http.get("/v1/queues/orders").json()["queue_length"] == 0


def test_a_thousand_messages_of_some_kilobytes(http: httpx.Client) -> None:
    """The limit applies to the number of parts and the length of their headers, not to the content."""
    inner = [{"message": number, "headers": {}} for number in range(80)]
    many = [{"message": inner, "headers": {"n": number}} for number in range(1_000)]
    response = http.post("/v1/queues/orders/messages", json=many)
    assert (response.status_code, len(response.json()["ids"])) == (201, 1_000)
    assert receive(http, max=1)[0]["message"] == inner
