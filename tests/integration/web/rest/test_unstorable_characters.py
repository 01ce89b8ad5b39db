"""Tests that NUL and lone surrogates in the REST API are a client error, or are stored in JSON's escaped form. Such
characters never lead to a response with the status 500.

PostgreSQL logs no error, because the error would contain the text of the client.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from penstock_web.rest.api import ROUTES
from penstock_web.rest.outbox import routes as outbox
from tests.support.database import TestServer
from tests.support.events import store_bus
from tests.support.programs.penstock_service import running_service

UNSTORABLE = ("a\0b", "a\ud800b")
JSON = {"content-type": "application/json"}
MESSAGE = {"message": {"a": "b"}, "headers": {"text": "t", "object": {"a": ["b"]}}}
SCHEDULE = {
    "cron": "0 0 * * *", "timezone": "UTC", "start_at": "2036-01-01T00:00:00Z", "end_at": "2037-01-01T00:00:00Z",
    "overlap": "skip", "status": "paused", "target": {"queue": "q", **MESSAGE},
}  # fmt: skip
MOVE = "00000000-0000-4000-8000-000000000000"
CONNECTION = {
    "authorization_type": "API_KEY", "description": "d",
    "auth_parameters": {
        "ApiKeyAuthParameters": {"ApiKeyName": "n", "ApiKeyValue": "v"},
        "InvocationHttpParameters": {"BodyParameters": [{"Key": "k", "Value": "v"}]},
    },
}  # fmt: skip
DESTINATION = {
    "connection": "c",
    "invocation_endpoint": "https://a.example/",
    "http_method": "POST",
    "description": "d",
}
DELETABLE, BINDING = "/queues/{other}", "/events/{key}/subscriptions"
TIMES = "from={2026-01-01T00:00:00Z}&to={2026-01-02T00:00:00Z}"

# Without access control, the service refuses requests about users and keys. `test_access_over_rest` tests such requests
# with access control.
ACCESS: list[tuple[str, str, Any]] = [
    ("GET", "/users", None),
    ("PUT", "/users/{ann}", {"policies": ["read"]}),
    ("DELETE", "/users/{ann}", None),
    ("GET", "/keys", None),
    ("POST", "/keys", {"user": "ann", "description": "d", "expires_at": "2099-01-01T00:00:00Z"}),
    ("PATCH", "/keys/{PSTBIVLK22BJRDAZVJ4X}", {"expires_at": "2099-01-01T00:00:00Z"}),
    ("DELETE", "/keys/{PSTBIVLK22BJRDAZVJ4X}", None),
]

PART = re.compile(r"\{[^}]*\}")

# Each entry consists of a method, a path and a body. The tests replace each text between braces with other values.
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/queues", {"name": "new", "attributes": {"Policy": {"a": "b"}, "DelaySeconds": "1"}, "tags": {"a": "b"}}),
    ("GET", "/queues?next={x}", None),
    ("GET", "/queues/{q}", None),
    ("PATCH", "/queues/{q}", {"attributes": {"Policy": {"a": "b"}, "KmsMasterKeyId": "k"}}),
    ("DELETE", DELETABLE, None),
    ("POST", f"{DELETABLE}/purge", None),
    ("GET", "/queues/{q}/subscriptions", None),
    ("POST", "/queues/{q}/messages", {**MESSAGE, "group_id": "g", "dedup_id": "d"}),
    ("POST", "/queues/{q}/messages", [MESSAGE, MESSAGE]),
    ("GET", "/queues/{q}/messages?max={1}", None),
    ("DELETE", "/queues/{q}/messages", {"receipts": ["x"]}),
    ("GET", "/queues/{q}/messages/peek?state={visible}", None),
    ("POST", "/queues/{q}/messages/search", {"after": "0:1:g", "filter": {
        "text": "a", "json": {"path": ["a"], "equals": "b"}, "attribute": {"name": "a", "equals": "b"}, "group_id": "g",
        "source_queue": "q", "cause": "c"}}),
    ("GET", "/queues/{q}/failures?by={attribute}&attribute={a}&after={0:1:g}", None),
    ("POST", "/queues/{q}/moves", {"filter": {"text": "a", "source_queue": "q"}, "to": "q"}),
    ("GET", "/queues/{q}/moves", None),
    ("GET", f"/queues/{{q}}/moves/{{{MOVE}}}", None),
    ("POST", f"/queues/{{q}}/moves/{{{MOVE}}}/continue", None),
    ("POST", f"/queues/{{q}}/moves/{{{MOVE}}}/cancel", None),
    ("DELETE", "/queues/{q}/messages/{1}", None),
    ("PATCH", "/queues/{q}/messages/{1}", {"vt": 1}),
    ("POST", "/queues/{q}/messages/{x}/fail", {"error": "boom", "vt": 1}),
    ("GET", "/queues/{q}/archive", None),
    ("GET", f"/queues/{{q}}/metrics?{TIMES}&group={{g}}&format={{csv}}&window={{1m}}", None),
    ("GET", "/queues/{q}/lag", None),
    ("GET", f"/queues/{{q}}/minutes?{TIMES}&format={{csv}}", None),
    ("GET", "/metrics/attention", None),
    ("GET", "/metrics/lag?next={x}&target_lag_seconds={1}", None),
    ("POST", "/events/{bound}", MESSAGE),
    ("GET", "/events/{bound}/matches", None),
    ("POST", BINDING, {"queue_name": "q", "filter_policy": {"a": ["b", {"prefix": "c"}]}}),
    ("POST", BINDING, {"protocol": "http", "endpoint": "http://example.com/", "filter_policy": {"a": ["b"]}}),
    ("GET", BINDING, None),
    ("DELETE", f"{BINDING}/{{1}}", None),
    ("POST", "/transactions", {
        "ack": [{"queue": "q", "receipt": "x"}], "send": [{"queue": "q", **MESSAGE}],
        "publish": [{"routing_key": "bound", **MESSAGE}],
    }),
    ("GET", "/deliveries?state={pending}", None),
    ("POST", "/deliveries/{1}/retry", None),
    ("GET", "/deliveries/attempts?endpoint={https://a.example/}&since={2026-01-01T00:00:00Z}", None),
    ("GET", "/deliveries/endpoints", None),
    ("POST", "/deliveries/endpoints/pause", {"endpoint": "https://a.example/"}),
    ("POST", "/deliveries/endpoints/resume", {"endpoint": "https://a.example/"}),
    ("POST", "/deliveries/endpoints/test", {"endpoint": "https://a.example/"}),
    ("POST", "/deliveries/retry", {"endpoint": "https://a.example/", "since": "2026-01-01T00:00:00Z"}),
    ("POST", "/queues/{q}/pause", None),
    ("POST", "/queues/{q}/resume", None),
    ("GET", "/queues/{q}/receivers", None),
    ("GET", "/topics?next={x}", None),
    ("POST", "/topics", {"name": "t", "attributes": {"DisplayName": "d"}, "tags": {"a": "b"}}),
    ("GET", "/topics/{t}", None),
    ("POST", "/topics/{t}/messages", {**MESSAGE, "subject": "s", "group_id": "g", "dedup_id": "d"}),
    ("POST", "/topics/{t}/subscriptions", {"queue": "q", "filter": {"a": ["b"]}, "dead_letters": "q"}),
    ("GET", "/topics/{t}/subscriptions?next={x}", None),
    ("DELETE", f"/topics/{{t}}/subscriptions/{{{MOVE}}}", None),
    ("DELETE", "/topics/{other}", None),
    ("GET", "/buses?next={x}", None),
    ("POST", "/buses", {"name": "n", "description": "d", "tags": {"a": "b"}}),
    ("GET", "/buses/{b}", None),
    ("PATCH", "/buses/{b}", {"description": "d", "tags": {"a": "b"}}),
    ("DELETE", "/buses/{b}", None),
    ("GET", "/buses/{b}/subscribers?next={x}", None),
    ("POST", "/buses/{b}/subscribers", {
        "name": "n", "target": "q", "from": "oldest", "to": "2999-01-01T00:00:00Z", "tags": {"a": "b"},
        "filters": {"DATA": {"a": ["b"]}}, "configuration": {"Description": "d"},
    }),
    ("GET", "/buses/{b}/subscribers/{s}", None),
    ("PATCH", "/buses/{b}/subscribers/{s}", {"filters": {"DATA": {"a": ["b"]}}, "configuration": {"Description": "d"}}),
    ("PATCH", "/buses/{b}/subscribers/{s}", {"tags": {"a": "b"}}),
    ("DELETE", "/buses/{b}/subscribers/{none}", None),
    ("POST", "/buses/{b}/subscribers/{s}/pause", None),
    ("GET", "/event-sources/{s}/secret", None),
    ("POST", "/buses/{b}/subscribers/{s}/resume", {"position": "last_processed"}),
    ("POST", "/buses/{b}/subscribers/{s}/replay", {"from": "oldest"}),
    ("GET", f"/buses/{{b}}/events?{TIMES}&group={{g}}&source={{s}}&detail_type={{d}}&next={{MS4x}}", None),
    ("GET", '/buses/{b}/events?pattern={["a"]}', None),
    ("POST", "/buses/{b}/events", [
        {"data": {"a": "b"}, "metadata": {"k": "v"}, "group_id": "g", "deduplication_id": "d"},
        {"source": "s", "detail_type": "d", "detail": {"a": "b"}, "resources": ["r"], "time": "2026-01-01T00:00:00Z"},
    ]),
    ("POST", "/connections", {**CONNECTION, "name": "new"}),
    ("GET", "/connections?next={x}", None),
    ("GET", "/connections/{c}", None),
    ("PATCH", "/connections/{c}", CONNECTION),
    ("POST", "/api-destinations", {**DESTINATION, "name": "new"}),
    ("GET", "/api-destinations?next={x}", None),
    ("GET", "/api-destinations/{d}", None),
    ("PATCH", "/api-destinations/{d}", DESTINATION),
    ("DELETE", "/api-destinations/{d}", None),
    ("DELETE", "/connections/{c}", None),
    *ACCESS,
    ("GET", "/schedules?queue={q}&topic={bound}&status={active}&next={x}", None),
    *(
        ("POST", "/schedules", {**SCHEDULE, "name": "new", "cron": None, kind: "x"})
        for kind in ("every", "when", "fire_at")
    ),
    ("POST", "/schedules", {**SCHEDULE, "name": "new", "target": {"topic": "bound", **MESSAGE}}),
    ("PUT", "/schedules?prune={false}", [{**SCHEDULE, "name": "new"}]),
    ("GET", "/schedules/{made}", None),
    ("PUT", "/schedules/{made}", SCHEDULE),
    ("PATCH", "/schedules/{made}", SCHEDULE),
    ("DELETE", "/schedules/{other}", None),
    ("POST", "/schedules/{made}/runs", None),
    ("GET", "/schedules/{made}/runs?next={x}", None),
    ("POST", "/mappings", {"queue": "q", "function": "http://127.0.0.1:1/", "enabled": False, "tags": {"a": "b"},
                           "filters": [{"body": {"a": ["b", {"prefix": "c"}]}}]}),
    ("GET", "/mappings?queue={q}&function={f}&next={x}", None),
    ("GET", f"/mappings/{{{MOVE}}}", None),
    ("PATCH", f"/mappings/{{{MOVE}}}", {"function": "f", "filters": [{"body": ["a"]}], "tags": {"a": "b"}}),
    ("DELETE", f"/mappings/{{{MOVE}}}", None),
    ("POST", "/previews", {"cron": "0 0 * * *", "timezone": "UTC"}),
    ("GET", f"/messages/{{{MOVE}}}", None),
    ("GET", f"/queues/{{q}}/messages/{{{MOVE}}}", None),
    ("POST", "/queues/{q}/messages/{1}/edit", {**MESSAGE, "to": "q", "group_id": "g", "dedup_id": "d"}),
    ("POST", "/queues/{q}/messages/replace", {"filter": {"text": "a"}, "path": ["a"], "value": {"a": "b"}, "to": "q"}),
    ("PUT", "/alerts", {"url": "https://a.example/"}),
    ("GET", "/alerts", None),
    ("POST", "/alerts/test", None),
    ("POST", "/alerts/mute", {"resource": "queue", "name": "q", "hours": 1}),
    ("DELETE", "/alerts", None),
]  # fmt: skip


def changed(value: Any, text: str) -> Iterator[Any]:
    """Returns one copy of the document for each text or name. Each copy has a different text or name replaced."""
    if isinstance(value, str):
        yield text
    elif isinstance(value, list):
        for index, element in enumerate(value):
            for other in changed(element, text):
                yield [*value[:index], other, *value[index + 1 :]]
    elif isinstance(value, dict):
        for name, element in value.items():
            yield {text if key == name else key: member for key, member in value.items()}
            for other in changed(element, text):
                yield {**value, name: other}


def paths(path: str) -> Iterator[str]:
    """Returns the path, and copies of the path in which one part is replaced by NUL or by invalid UTF-8."""
    plain = path.replace("{", "").replace("}", "")
    yield plain
    pieces = path.split("{")
    for number in range(1, len(pieces)):
        for text in ("a%00b", "a%ED%A0%80b", "%00"):
            made = [piece.replace("}", "") for piece in pieces]
            made[number] = text + pieces[number].partition("}")[2]
            yield "".join(made)


@pytest.fixture(scope="module")
def http(postgres: TestServer) -> Iterator[httpx.Client]:
    settings = {"QUEUE_RECREATE_INTERVAL_SECONDS": "0", "QUEUE_HTTP_DELIVERY_ENABLED": "false"}
    log = postgres.server.data.parent / "log"
    start = log.stat().st_size
    with (
        postgres.database() as database,
        running_service(database.api_dsn, **settings) as service,
        service.http() as http,
    ):
        for name in ("q", "target"):
            http.post("/v1/queues", json={"name": name}).raise_for_status()
        http.post("/v1/events/bound/subscriptions", json={"queue_name": "target"}).raise_for_status()
        policy = {"queue_name": "q", "filter_policy": {"a": [{"prefix": "x"}]}}
        http.post("/v1/events/bound/subscriptions", json=policy).raise_for_status()
        http.post("/v1/schedules", json={**SCHEDULE, "name": "made"}).raise_for_status()
        store_bus(database, "000000000000", "b", "s")
        yield http
    written = log.read_bytes()[start:].decode()
    assert [line for line in written.splitlines() if "ERROR:" in line] == []


def test_every_route_is_asked() -> None:
    # The texts in requests to the outbox are phone numbers, so this test excludes them.
    declared = [route for routes in ROUTES if routes is not outbox for route in routes]
    served = {(route.method, PART.sub("{}", route.path)) for route in declared}
    asked = {(method, PART.sub("{}", path.partition("?")[0])) for method, path, _ in REQUESTS}
    assert served == asked


def sent(body: Any) -> Iterator[bytes]:
    """Returns the body as JSON, once with escapes and once without."""
    if body is None:
        yield b""
    else:
        yield json.dumps(body).encode()
        yield json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS, ids=[f"{method} {path}" for method, path, _ in REQUESTS])
def test_no_text_is_our_mistake(http: httpx.Client, method: str, path: str, body: Any) -> None:
    plain = path.replace("{", "").replace("}", "")
    tried = [(where, body) for where in paths(path)]
    tried += [(plain, change) for text in UNSTORABLE for change in changed(body, text)]
    responses = [
        (where, content, http.request(method, f"/v1{where}", content=content, headers=JSON))
        for where, document in tried
        for content in sent(document)
    ]
    wrong = [(where, content, response.text) for where, content, response in responses if response.status_code >= 500]
    assert wrong == []


@pytest.mark.parametrize("headers", [{"a": {"b": "\0"}}, {"a": [{"\0": 1}]}, {"a": ["\\\0"]}])
def test_headers_of_events_have_no_nul(http: httpx.Client, headers: Any) -> None:
    """A delivery to a URL contains the headers as stored JSON."""
    response = http.post("/v1/events/bound", json={"message": 1, "headers": headers})
    assert (response.status_code, response.json()["error"]["message"]) == (400, "headers: NUL cannot be stored")


def test_a_backslash_before_u0000_is_no_nul(http: httpx.Client) -> None:
    response = http.post("/v1/events/bound", json={"message": 1, "headers": {"a": {"b": "\\u0000"}}})
    assert response.status_code == 201
