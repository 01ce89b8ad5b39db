"""Tests routed events and transactions on a real service. Shapes: docs/reference/events.md."""

from typing import Any

import httpx
import pytest

from tests.support.conformance.requests import error_of, receive, send

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(QUEUE_PURGE_INTERVAL_SECONDS="0", QUEUE_RECREATE_INTERVAL_SECONDS="0"),
]

MANY = [f"q{number}" for number in range(3)]


@pytest.fixture
def http(http: httpx.Client) -> httpx.Client:
    """Creates three empty queues without bindings."""
    for queue in http.get("/v1/queues").json()["queues"]:
        for binding in http.get(f"/v1/queues/{queue['name']}/subscriptions").json()["subscriptions"]:
            unbind(http, binding)
        http.delete(f"/v1/queues/{queue['name']}").raise_for_status()
    for name in MANY:
        http.post("/v1/queues", json={"name": name}).raise_for_status()
    return http


def bind(http: httpx.Client, pattern: str, **what: Any) -> dict[str, Any]:
    response = http.post(f"/v1/events/{pattern.replace('#', '%23')}/subscriptions", json=what)
    assert response.status_code == 201, response.text
    return dict(response.json())


def unbind(http: httpx.Client, binding: dict[str, Any]) -> httpx.Response:
    pattern = binding["pattern"].replace("#", "%23")
    return http.delete(f"/v1/events/{pattern}/subscriptions/{binding['id']}")


def publish(http: httpx.Client, key: str, message: Any, **others: Any) -> dict[str, Any]:
    response = http.post(f"/v1/events/{key}", json={"message": message, **others})
    assert response.status_code == 201, response.text
    return dict(response.json())


# --- events ----------------------------------------------------------------------------------------------------------
def test_an_event_reaches_the_queues_that_are_bound(http: httpx.Client) -> None:
    bind(http, "orders.*", queue_name="q0")
    bind(http, "orders.created", queue_name="q1")
    bind(http, "bills.#", queue_name="q2")
    response = publish(http, "orders.created", {"id": 1}, headers={"trace": "t"})
    assert (response["queues_matched"], response["webhooks_matched"]) == (2, 0)
    assert [message["queue_name"] for message in response["messages"]] == ["q0", "q1"]
    for name, told in zip(("q0", "q1"), response["messages"], strict=True):
        (message,) = receive(http, name)
        assert (message["id"], message["message"], message["headers"]) == (told["msg_id"], {"id": 1}, {"trace": "t"})
    assert receive(http, "q2") == []


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("logs.#", "logs", True), ("logs.#", "logs.a.b", True), ("#", "a.b", True), ("#.b", "b", True),
        ("a.#.c", "a.c", True), ("a.#.c", "a.x.y.c", True), ("a.#.c", "a.x", False), ("*", "a", True),
        ("*", "a.b", False), ("a.*", "a", False), ("a.*.#", "a.b", True), ("a.*.#", "a", False),
        ("#.a.#.b", "x.a.a.b", True), ("#.a.#.b", "x.b.a", False), ("a", "A", False), ("a-_1", "a-_1", True),
    ],
)  # fmt: skip
def test_a_pattern_matches_routing_keys(http: httpx.Client, pattern: str, key: str, matches: bool) -> None:
    """As in AMQP: `*` matches one segment, and `#` matches any number of segments. A dry run lists the queues that a
    publish would reach.
    """
    made = bind(http, pattern, queue_name="q0")
    dry = http.get(f"/v1/events/{key}/matches").json()["subscriptions"]
    assert [binding["id"] for binding in dry] == ([made["id"]] if matches else [])
    assert publish(http, key, 1)["queues_matched"] == int(matches)


def test_a_queue_that_is_bound_twice_gets_one_message(http: httpx.Client) -> None:
    for pattern in ("a.*", "a.b", "#"):
        bind(http, pattern, queue_name="q0")
    assert publish(http, "a.b", "m")["queues_matched"] == 1
    assert len(receive(http, "q0", max=10)) == 1


def test_a_binding_is_made_once(http: httpx.Client) -> None:
    first = bind(http, "a.#", queue_name="q0")
    assert bind(http, "a.#", queue_name="q0") == first
    assert http.get("/v1/events/a.%23/subscriptions").json()["subscriptions"] == [first]
    assert http.get("/v1/queues/q0/subscriptions").json()["subscriptions"] == [first]
    assert unbind(http, first).status_code == 204
    assert error_of(unbind(http, first)) == (404, "subscription_not_found")


def test_a_url_gets_a_delivery(http: httpx.Client) -> None:
    made = bind(http, "a.b", protocol="https", endpoint="https://example.com/hook", envelope=True)
    assert (made["endpoint"], made["envelope"], "queue_name" in made) == ("https://example.com/hook", True, False)
    assert publish(http, "a.b", "m")["webhooks_matched"] == 1
    assert unbind(http, made).status_code == 204


def test_a_url_says_its_protocol(http: httpx.Client) -> None:
    made = bind(http, "a.b", endpoint="http://example.com/hook")
    assert (made["protocol"], made["endpoint"]) == ("http", "http://example.com/hook")
    assert unbind(http, made).status_code == 204


def test_the_password_of_a_url_is_hidden(http: httpx.Client) -> None:
    made = bind(http, "a.b", endpoint="https://max:secret@example.com/hook")
    assert made["endpoint"] == "https://max:****@example.com/hook"
    assert bind(http, "a.b", endpoint="https://max:secret@example.com/hook")["id"] == made["id"]
    publish(http, "a.b", "m")
    for path in ("", "/attempts", "/endpoints"):
        assert "secret" not in http.get(f"/v1/deliveries{path}").text
    given = {"endpoint": "https://max:secret@example.com/hook"}
    assert http.post("/v1/deliveries/endpoints/pause", json=given).is_success
    shown = [one["endpoint"] for one in http.get("/v1/deliveries/endpoints").json()]
    assert made["endpoint"] in shown
    assert "secret" not in str(shown)
    assert http.post("/v1/deliveries/endpoints/resume", json={"endpoint": made["endpoint"]}).is_success
    assert unbind(http, made).status_code == 204


def test_json_of_every_kind_passes_filters(http: httpx.Client) -> None:
    """RFC 8259 allows lone surrogates, huge numbers and deep nesting in JSON. The REST API shows U+FFFD for a lone
    surrogate, and returns numbers unchanged."""
    bind(http, "a", queue_name="q0", filter_policy={"b": [1]})
    deep = '{"b":2,"a":' + "[" * 40 + "]" * 40 + "}"
    for message in (r'{"a":"\ud83d","b":1}', '{"a":1e400,"b":1}', r'{"a":"\ud83d","b":2}', deep):
        content = f'{{"message":{message}}}'
        response = http.post("/v1/events/a", content=content, headers={"content-type": "application/json"})
        assert response.status_code == 201, response.text
    counted = 'penstock_filter_unjudged_messages_total{by="event"} '
    (line,) = [line for line in http.get("/metrics").text.splitlines() if line.startswith(counted)]
    assert float(line.removeprefix(counted)) >= 1
    shown = http.get("/v1/queues/q0/messages/peek").text
    assert [text in shown for text in (r'{"a":"\ufffd","b":1}', '{"a":1e400,"b":1}', deep, '"b":2}')] == [
        True, True, True, False,
    ]  # fmt: skip


def test_a_delayed_event(http: httpx.Client) -> None:
    bind(http, "a.b", queue_name="q0")
    publish(http, "a.b", "m", delay=900)
    assert http.get("/v1/queues/q0").json()["delayed"] == 1


@pytest.mark.parametrize("key", ["a..b", ".a", "a.", "a b", "ü", "a.*", "%23", "x" * 256])
def test_bad_routing_keys(http: httpx.Client, key: str) -> None:
    assert error_of(http.post(f"/v1/events/{key}", json={"message": 1})) == (400, "bad_request")


@pytest.mark.parametrize(
    "body",
    [
        {}, {"queue_name": "q0", "protocol": "http", "endpoint": "http://x/"}, {"protocol": "http"},
        {"protocol": "ftp", "endpoint": "ftp://x/"}, {"protocol": "http", "endpoint": "https://x/"},
        {"protocol": "http", "endpoint": "http:// x/"}, {"queue_name": "q0", "surplus": 1},
        {"endpoint": "http://user@x/"}, {"endpoint": "http://1.2.3/"},
    ],
)  # fmt: skip
def test_bad_bindings(http: httpx.Client, body: dict[str, Any]) -> None:
    assert error_of(http.post("/v1/events/a/subscriptions", json=body)) == (400, "bad_request")
    assert error_of(http.post("/v1/events/a..b/subscriptions", json={"queue_name": "q0"})) == (400, "bad_request")


def test_unknown_queues(http: httpx.Client) -> None:
    assert error_of(http.post("/v1/events/a/subscriptions", json={"queue_name": "none"})) == (404, "queue_not_found")
    assert error_of(http.get("/v1/queues/none/subscriptions")) == (404, "queue_not_found")


# --- transactions ----------------------------------------------------------------------------------------------------
def test_a_transaction_does_everything(http: httpx.Client) -> None:
    bind(http, "done.*", queue_name="q2")
    send(http, "work", "q0")
    (message,) = receive(http, "q0")
    response = http.post("/v1/transactions", json={
        "ack": [{"queue": "q0", "receipt": message["receipt"]}],
        "send": [{"queue": "q1", "message": {"next": 1}}, {"queue": "q1", "message": 2, "delay": 60}],
        "publish": [{"routing_key": "done.work", "message": "event"}, {"routing_key": "nobody", "message": 1}],
    })  # fmt: skip
    assert response.status_code == 200, response.text
    told = response.json()
    assert told["acked"] == 1
    assert [message["queue"] for message in told["sent"]] == ["q1", "q1"]
    assert [event["queues_matched"] for event in told["published"]] == [1, 0]
    (received,) = receive(http, "q1")
    assert (received["id"], received["message"]) == (told["sent"][0]["id"], {"next": 1})
    assert receive(http, "q2")[0]["message"] == "event"
    assert http.get("/v1/queues/q0").json()["queue_length"] == 0


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"send": [{"queue": "none", "message": 1}]}, (404, "queue_not_found")),
        ({"send": [{"queue": "q1", "message": "x" * 2000}]}, (413, "payload_too_large")),
        ({"publish": [{"routing_key": "a..b", "message": 1}]}, (400, "bad_request")),
        ({"send": [{"queue": "q1", "message": 1, "delay": 31_536_001}]}, (400, "bad_request")),
        ({"surplus": []}, (400, "bad_request")),
    ],
)
def test_a_failed_operation_undoes_the_transaction(
    http: httpx.Client, part: dict[str, Any], expected: tuple[int, str]
) -> None:
    http.patch("/v1/queues/q1", json={"attributes": {"MaximumMessageSize": 1024}}).raise_for_status()
    bind(http, "#", queue_name="q2")
    send(http, "work", "q0")
    (message,) = receive(http, "q0", vt=600)
    body = {"ack": [{"queue": "q0", "receipt": message["receipt"]}], "send": [{"queue": "q0", "message": "more"}],
            "publish": [{"routing_key": "x", "message": 1}]}  # fmt: skip
    for name, value in part.items():
        body[name] = [*body.get(name, []), *value]
    assert error_of(http.post("/v1/transactions", json=body)) == expected
    counts = {name: http.get(f"/v1/queues/{name}").json()["queue_length"] for name in MANY}
    assert counts == {"q0": 1, "q1": 0, "q2": 0}


def test_a_stale_receipt_fails_the_whole(http: httpx.Client) -> None:
    send(http, "work", "q0")
    (message,) = receive(http, "q0")
    ack = {"queue": "q0", "receipt": message["receipt"]}
    assert http.post("/v1/transactions", json={"ack": [ack]}).json()["acked"] == 1
    again = http.post("/v1/transactions", json={"ack": [ack], "send": [{"queue": "q1", "message": 1}]})
    assert error_of(again) == (409, "stale_receipt")
    assert http.get("/v1/queues/q1").json()["queue_length"] == 0


def test_an_empty_transaction(http: httpx.Client) -> None:
    assert http.post("/v1/transactions", json={}).json() == {"acked": 0, "sent": [], "published": []}
