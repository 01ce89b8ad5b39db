"""Tests that an administrator creates users and keys at /v1/users and /v1/keys. Users and keys have only the given
rights."""

import json
import re
from itertools import count

import httpx
import psycopg
import pytest

from penstock.access.audit.refusals import READING
from penstock_web.cli import main
from penstock_web.rest.api import ROUTES
from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import Database
from tests.support.events import store_bus
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until
from tests.support.web.console import ConsoleClient
from tests.support.web.http_connection import error_code

pytestmark = [pytest.mark.shared, pytest.mark.settings(**SIGV4)]

Header = dict[str, str]


def token(database: Database, account: str | None) -> Header:
    with key_ring(database) as ring:
        return {"authorization": f"Bearer {ring.create(account, '', bearer=True).token}"}


ELSEWHERE = '{"Statement": {"Effect": "Deny", "Action": "sqs:*", "Resource": ["*", "arn:aws-cn:sqs:*:*:q"]}}'
ACCOUNTS = count(100_000_000_000)


@pytest.fixture
def account() -> str:
    return str(next(ACCOUNTS))


@pytest.fixture
def root(shared_database: Database, account: str) -> Header:
    return token(shared_database, account)


def key_of(http: httpx.Client, caller: Header, **new: object) -> Header:
    made = http.post("/v1/keys", json={"bearer": True, **new}, headers=caller)
    assert made.status_code == 201, made.text
    return {"authorization": f"Bearer {made.json()['token']}"}


def test_a_user_and_his_keys_from_beginning_to_end(
    http: httpx.Client, root: Header, shared_database: Database, account: str
) -> None:
    assert http.put("/v1/users/ann", json={"policies": ["read"]}, headers=root).status_code == 204
    ann = key_of(http, root, user="ann", description="her laptop", expires_at="2099-01-01T00:00:00Z")
    assert http.get("/v1/queues", headers=ann).status_code == 200
    assert http.post("/v1/queues", json={"name": "q"}, headers=ann).status_code == 403
    assert http.put("/v1/users/ann", json={"policies": ["admin"]}, headers=root).status_code == 204
    assert http.post("/v1/queues", json={"name": "q"}, headers=ann).status_code == 201
    assert [(user["name"], user["policies"]) for user in http.get("/v1/users", headers=root).json()] == [
        ("ann", ["admin"])
    ]
    key = next(key for key in http.get("/v1/keys", headers=root).json() if key["user"] == "ann")
    assert (key["kind"], key["description"], key["expires_at"][:10]) == ("bearer", "her laptop", "2099-01-01")
    assert "secret" not in key
    assert http.patch(f"/v1/keys/{key['id']}", json={"expires_at": None}, headers=root).status_code == 204
    assert http.delete(f"/v1/keys/{key['id']}", headers=root).status_code == 204
    assert http.get("/v1/queues", headers=ann).status_code == 401
    access = http.post("/v1/keys", json={"user": "ann"}, headers=root).json()
    assert access["token"] is None
    with psycopg.connect(shared_database.api_dsn) as db:
        found = db.execute(
            "select action, target from queue.audit where account_id = %s order by audit_id", (account,)
        ).fetchall()
        stored = db.execute("select sealed_secret from queue.access_key where account_id = %s", (account,)).fetchone()
    assert stored is not None
    assert access["secret"].encode() not in stored[0]  # it is encrypted
    arn = f"arn:aws:iam::{account}:user/ann"
    named = [action for action, target in found if target == arn]
    assert named[:2] == ["penstock:SetUser", "penstock:CreateKey"]
    assert http.delete("/v1/users/ann", headers=root).status_code == 204
    assert http.get("/v1/users", headers=root).json() == []
    assert error_code(http.delete("/v1/users/ann", headers=root)) == (404, "user_not_found")


def test_an_administrator_makes_no_key_of_the_account(http: httpx.Client, root: Header) -> None:
    http.put("/v1/users/ann", json={"policies": ["admin"]}, headers=root).raise_for_status()
    ann = key_of(http, root, user="ann")
    assert http.post("/v1/keys", json={"bearer": True}, headers=ann).status_code == 403
    account_key = next(key["id"] for key in http.get("/v1/keys", headers=ann).json() if key["user"] is None)
    assert http.delete(f"/v1/keys/{account_key}", headers=ann).status_code == 403
    assert http.patch(f"/v1/keys/{account_key}", json={"expires_at": None}, headers=ann).status_code == 403
    assert http.post("/v1/keys", json={"bearer": True, "user": "ann"}, headers=ann).status_code == 201
    assert error_code(http.post("/v1/keys", json={"bearer": True, "user": "ann"}, headers=ann))[0] == 429


def test_accounts_do_not_see_each_other(http: httpx.Client, root: Header, shared_database: Database) -> None:
    http.put("/v1/users/ann", json={"policies": ["read"]}, headers=root).raise_for_status()
    key_of(http, root, user="ann")
    partner = token(shared_database, str(next(ACCOUNTS)))
    keys = http.get("/v1/keys", headers=root).json()
    assert len(keys) == 2
    assert http.get("/v1/users", headers=partner).json() == []
    assert len(http.get("/v1/keys", headers=partner).json()) == 1
    for key in keys:
        assert error_code(http.delete(f"/v1/keys/{key['id']}", headers=partner)) == (404, "key_not_found")
    assert http.delete("/v1/users/ann", headers=partner).status_code == 404
    assert http.post("/v1/keys", json={"bearer": True, "user": "ann"}, headers=partner).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/users/a b", {"policies": ["read"]}),
        ("PUT", "/v1/users/ann", {"policies": ["root"]}),
        ("PUT", "/v1/users/ann", {"policies": ["read"] * 11}),
        ("PUT", "/v1/users/ann", {"policies": [ELSEWHERE]}),
        ("POST", "/v1/keys", {"expires_at": "2001-01-01T00:00:00Z"}),
        ("POST", "/v1/keys", {"expires_at": "2099-01-01T00:00:00"}),
        ("POST", "/v1/keys", {"description": "\0"}),
        ("POST", "/v1/keys", {"secret": "mine"}),
    ],
)
def test_an_invalid_change_of_access_is_refused(
    http: httpx.Client, root: Header, method: str, path: str, body: object
) -> None:
    assert error_code(http.request(method, path, json=body, headers=root)) == (400, "bad_request")
    assert http.get("/v1/users", headers=root).json() == []
    assert len(http.get("/v1/keys", headers=root).json()) == 1


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_no_text_is_our_mistake(http: httpx.Client, root: Header, text: str) -> None:
    for method, path, body in (
        ("PUT", "/v1/users/ann", {"policies": [text]}),
        (
            "PUT",
            "/v1/users/ann",
            {"policies": [json.dumps({"Statement": {"Effect": "Allow", "Action": text, "Resource": "*"}})]},
        ),
        ("PUT", "/v1/users/a%00b", {"policies": ["read"]}),
        ("DELETE", "/v1/users/a%00b", None),
        ("POST", "/v1/keys", {"user": text}),
        ("POST", "/v1/keys", {"description": text}),
    ):
        content = None if body is None else json.dumps(body)
        headers = {**root, "content-type": "application/json"}
        assert http.request(method, path, content=content, headers=headers).status_code < 500, (path, body)


def test_where_nobody_is_asked_no_key_is_made(shared_database: Database) -> None:
    """If the service created keys without access control, a client could create a key now, and sign in with the key
    after an operator turns access control on."""
    with running_service(shared_database.api_dsn) as service, service.http() as http:
        for method, path, body in (
            ("POST", "/v1/keys", {"bearer": True}),
            ("PUT", "/v1/users/ann", {"policies": ["admin"]}),
            ("DELETE", "/v1/users/ann", None),
        ):
            assert error_code(http.request(method, path, json=body)) == (409, "access_is_off")
        assert http.get("/v1/keys").json() == []


# --- audit -----------------------------------------------------------------------------------------------------------
def audit_of(database: Database, account: str, columns: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database.api_dsn) as db:
        return db.execute(
            f"select {columns} from queue.audit where account_id = %s order by audit_id", (account,)
        ).fetchall()


HOOK = {"endpoint": "http://127.0.0.1:9/"}
TARGET = {"queue": "q", "message": 1}
CONNECTION = {
    "name": "c",
    "authorization_type": "BASIC",
    "auth_parameters": {"BasicAuthParameters": {"Username": "max", "Password": "hunter2"}},
}
DESTINATION = {"name": "d", "connection": "c", "invocation_endpoint": "https://a.example/", "http_method": "POST"}
ACTS: list[tuple[str, str, object, int]] = [
    ("POST", "queues", {"name": "q"}, 1),
    ("PATCH", "queues/q", {"attributes": {"DelaySeconds": 3}}, 1),
    ("POST", "queues/q/pause", None, 1),
    ("POST", "queues/q/resume", None, 1),
    ("POST", "queues/q/purge", None, 1),
    ("PATCH", "queues/q", {"attributes": {"DelaySeconds": 0}}, 1),
    ("POST", "queues/q/messages", {"message": 1}, 0),
    ("POST", "queues/q/messages/{id}/edit", {"message": 2}, 1),
    ("PATCH", "queues/q/messages/{id}", {"vt": 0}, 0),
    ("GET", "queues/q/messages", None, 0),
    ("POST", "queues/q/messages/{receipt}/fail", {"error": "boom"}, 0),
    ("DELETE", "queues/q/messages/{id}", None, 0),
    ("POST", "queues/q/messages", {"message": {"a": 1}}, 0),
    ("POST", "queues/q/messages/replace", {"filter": {}, "path": "a", "value": 3, "preview": True}, 0),
    ("POST", "queues/q/messages/replace", {"filter": {}, "path": "a", "value": 4}, 1),
    ("POST", "queues/q/messages", [{"message": 1}] * 50, 0),
    ("DELETE", "queues/q/messages", {"ids": [1]}, 0),
    ("POST", "transactions", {"send": [TARGET]}, 0),
    ("POST", "queues/q/moves", {"filter": {}, "to": "q2", "per_second": 1, "canary": 1}, 1),
    ("POST", "queues/q/moves/{id}/continue", {"per_second": 2}, 1),
    ("POST", "queues/q/moves/{id}/cancel", None, 1),
    ("POST", "topics", {"name": "t"}, 1),
    ("POST", "topics/t/subscriptions", {"queue": "q"}, 1),
    ("POST", "topics/t/messages", {"message": "x"}, 0),
    ("DELETE", "topics/t/subscriptions/{id}", None, 1),
    ("DELETE", "topics/t", None, 1),
    ("POST", "buses", {"name": "new"}, 1),
    ("PATCH", "buses/new", {"retention_days": 2}, 1),
    ("PATCH", "buses/new", {"retention_days": 2}, 0),
    ("PATCH", "buses/new", {"tags": {"a": "1"}}, 1),
    ("PATCH", "buses/new", {"tags": {"b": "1"}}, 2),
    ("PATCH", "buses/new", {"tags": {"b": "1"}}, 0),
    ("POST", "buses/new/subscribers", {"name": "new", "target": "q"}, 1),
    ("PATCH", "buses/new/subscribers/new", {"configuration": {"Description": "d"}}, 1),
    ("PATCH", "buses/new/subscribers/new", {"tags": {"a": "1"}}, 1),
    ("DELETE", "buses/new/subscribers/new", None, 1),
    ("DELETE", "buses/new", None, 1),
    ("POST", "buses/b/subscribers/s/pause", None, 1),
    ("POST", "buses/b/subscribers/s/pause", None, 0),
    ("POST", "buses/b/subscribers/s/resume", None, 1),
    ("POST", "buses/b/subscribers/s/replay", {"from": "oldest"}, 1),
    ("POST", "buses/b/events", {"data": 1}, 0),
    ("POST", "connections", CONNECTION, 1),
    ("PATCH", "connections/c", {"description": "d"}, 1),
    ("PATCH", "connections/c", {"description": "d"}, 0),
    ("PATCH", "connections/c", {"auth_parameters": CONNECTION["auth_parameters"]}, 1),
    ("POST", "api-destinations", DESTINATION, 1),
    ("PATCH", "api-destinations/d", {"http_method": "PUT"}, 1),
    ("DELETE", "api-destinations/d", None, 1),
    ("DELETE", "connections/c", None, 1),
    ("POST", "events/kept/subscriptions", {"bus": "b"}, 1),
    ("POST", "events/%23/subscriptions", HOOK, 1),
    ("POST", "events/a", {"message": 1}, 0),
    ("POST", "deliveries/endpoints/pause", HOOK, 1),
    ("POST", "deliveries/endpoints/test", HOOK, 1),
    ("POST", "deliveries/{delivery}/retry", None, 1),
    ("POST", "deliveries/endpoints/resume", HOOK, 1),
    ("DELETE", "events/%23/subscriptions/{id}", None, 1),
    ("PUT", "alerts", {"url": "https://example.com/secret"}, 1),
    ("PUT", "alerts", {"url": "https://example.com/secret"}, 0),
    ("POST", "alerts/test", None, 1),
    ("POST", "alerts/mute", {"resource": "queue", "name": "q", "hours": 8}, 1),
    ("DELETE", "alerts", None, 1),
    ("POST", "schedules", {"name": "s", "every": "1h", "target": TARGET}, 1),
    ("PUT", "schedules/s", {"every": "2h", "target": TARGET}, 1),
    ("PUT", "schedules", [{"name": "s", "every": "3h", "target": TARGET}], 1),
    ("PATCH", "schedules/s", {"status": "paused"}, 1),
    ("POST", "schedules/s/runs", None, 1),
    ("DELETE", "schedules/s", None, 1),
    ("POST", "mappings", {"queue": "q", "function": "https://example.com/", "enabled": False}, 1),
    ("PATCH", "mappings/{id}", {"batch_size": 7}, 1),
    ("DELETE", "mappings/{id}", None, 1),
    ("PUT", "outbox/opted-out/+15550100000", None, 1),
    ("PUT", "users/ann", {"policies": ["read"]}, 1),
    ("POST", "keys", {"user": "ann"}, 1),
    ("PATCH", "keys/{id}", {"expires_at": None}, 1),
    ("DELETE", "keys/{id}", None, 1),
    ("DELETE", "users/ann", None, 1),
    ("GET", "queues", None, 0),
    ("DELETE", "queues/q", None, 1),
]
"""Lists requests in order, with the number of audit rows that each request adds. `{id}` is the last part of the id or
ARN in the previous response.
"""
NO_ACTS = {"POST /queues/{name}/messages/search", "POST /previews", "POST /deliveries/retry"}
"""The first two requests only read. A test of deliveries covers the third request, which needs a delivery without
attempts left.
"""


def test_every_route_that_changes_something_is_in_the_table() -> None:
    for route in (route for routes in ROUTES for route in routes):
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path.removeprefix("/")))
        listed = [path for method, path, _, _ in ACTS if method == route.method and pattern.fullmatch(path)]
        assert listed or route.method == "GET" or f"{route.method} {route.path}" in NO_ACTS, route


def acts_of(database: Database, account: str) -> list[tuple[object, ...]]:
    """Returns the interface, actor and key of each act. The process writes reads of messages at other times."""
    rows = audit_of(database, account, "action, interface, actor, key_id")
    return [row[1:] for row in rows if row[0] != READING]


@pytest.mark.parametrize(("agent", "interface"), [("python", "rest"), ("penstock-cli/0.1.0", "cli")])
def test_each_act_leaves_one_row_by_every_interface(
    agent: str, interface: str, http: httpx.Client, root: Header, shared_database: Database, account: str
) -> None:
    """An action over REST and the command that uses REST add equal audit rows."""
    key = root["authorization"].removeprefix("Bearer ").partition(".")[0]
    http.post("/v1/queues", json={"name": "q2"}, headers=root).raise_for_status()
    store_bus(shared_database, account, "b", "s")
    made = {"id": "", "delivery": ""}
    for method, template, given, expected in ACTS:
        if "{delivery}" in template:
            made["delivery"] = str(http.get("/v1/deliveries", headers=root).json()[0]["id"])
        path = template.format(**made)
        before = len(acts_of(shared_database, account))
        response = http.request(method, f"/v1/{path}", json=given, headers={**root, "user-agent": agent})
        assert response.is_success, (path, response.text)
        rows = acts_of(shared_database, account)[before:]
        assert rows == [(interface, f"arn:aws:iam::{account}:root", key)] * expected, path
        document = response.json() if response.content else {}
        if (template, given) == ("queues/q/messages", None):
            made["receipt"] = document[0]["receipt"]
        if (
            not template.startswith("deliveries")
            and isinstance(document, dict)
            and (found := document.get("id") or document.get("arn"))
        ):
            made["id"] = str(found).rpartition(":")[2]


def test_rows_hide_passwords_and_keep_policies(
    http: httpx.Client, root: Header, shared_database: Database, account: str
) -> None:
    policy = '{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}}'
    secret = "https://ann:hunter2@example.com/"
    named = policy.replace('"Effect"', f'"Sid":"{secret}","Effect"')
    acts: list[tuple[str, str, object]] = [
        ("POST", "queues", {"name": "q"}),
        ("PATCH", "queues/q", {"attributes": {"Policy": policy}}),
        ("POST", "topics", {"name": "t"}),
        ("POST", "topics/t/subscriptions", {"url": secret}),
        ("POST", "events/a/subscriptions", {"endpoint": secret}),
        ("POST", "deliveries/endpoints/test", {"endpoint": secret}),
        ("POST", "connections", CONNECTION),
        ("PATCH", "queues/q", {"attributes": {"Policy": named}}),
    ]
    for method, path, body in acts:
        response = http.request(method, f"/v1/{path}", json=body, headers=root)
        assert response.is_success, (path, response.text)
    rows = audit_of(shared_database, account, "target, details::text, changes")
    assert len(rows) == 1 + len(acts)  # the first row is the key's row
    assert "hunter2" not in str(rows)
    assert str(rows).count("https://***@example.com/") >= 4
    changes = [row[2] for row in rows if isinstance(row[2], dict)]
    assert {"Policy": [None, policy]} in changes
    assert {"Policy": [policy, named.replace("ann:hunter2", "***")]} in changes


def test_readings_of_a_minute_are_one_row(root: Header, shared_database: Database, account: str) -> None:
    """Every request that shows messages without receiving them adds an audit row, regardless of the interface."""
    token = root["authorization"].removeprefix("Bearer ")
    settings = {**SIGV4, "QUEUE_MCP": "true"}
    often = {"penstock.access.audit.refusals.WRITE_SECONDS": 0.1}
    with running_service(shared_database.api_dsn, constants=often, **settings) as fresh, fresh.http() as http:
        http.post("/v1/queues", json={"name": "q"}, headers=root).raise_for_status()
        console = ConsoleClient(fresh)
        assert console.sign_in(token).status_code == 303
        for path in ("messages", "messages?text=a", "messages/export", "failures"):
            assert console.get(f"/console/queues/q/{path}").status_code == 200, path
        for path in ("messages/peek", "archive", "failures"):
            assert http.get(f"/v1/queues/q/{path}", headers=root).status_code == 200, path
        assert http.get("/v1/queues/q/messages/1", headers=root).status_code == 404
        search = http.post("/v1/queues/q/messages/search", json={}, headers=root)
        assert search.status_code == 200, search.text
        for tool in ("search_messages", "failure_groups"):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            parameters = {"name": tool, "arguments": {"queue": "q"}}
            headers = {**root, "accept": "application/json, text/event-stream"}
            assert "error" not in http.post("/mcp", json={**call, "params": parameters}, headers=headers).json()

        def count() -> dict[object, int]:
            rows = audit_of(shared_database, account, "interface, action, target, error, repeated")
            read = [row for row in rows if row[1] == "penstock:ReadMessages"]
            assert {row[2:4] for row in read} <= {(f"arn:aws:sqs:us-east-1:{account}:q", None)}
            return {one: sum(int(str(row[4])) for row in read if row[0] == one) for one in {row[0] for row in read}}

        wait_until(lambda: count() == {"console": 4, "rest": 5, "mcp": 2})


def test_a_life_omits_queues_from_which_the_user_may_not_receive(
    http: httpx.Client, root: Header, account: str
) -> None:
    http.post("/v1/queues", json={"name": "dead"}, headers=root).raise_for_status()
    head = f"arn:aws:sqs:us-east-1:{account}"
    policy = {"deadLetterTargetArn": f"{head}:dead", "maxReceiveCount": 1}
    attributes = {"RedrivePolicy": policy, "PenstockTrace": True}
    http.post("/v1/queues", json={"name": "secret", "attributes": attributes}, headers=root).raise_for_status()
    http.post("/v1/queues/secret/messages", json={"message": 1}, headers=root).raise_for_status()
    (held,) = http.get("/v1/queues/secret/messages", headers=root).json()
    failure = {"error": "a secret", "vt": 0}
    http.post(f"/v1/queues/secret/messages/{held['receipt']}/fail", json=failure, headers=root).raise_for_status()
    assert http.get("/v1/queues/secret/messages", headers=root).json() == []
    (letter,) = http.get("/v1/queues/dead/messages/peek", headers=root).json()
    allow = [{"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": f"{head}:dead"}]
    for user, statements in (
        ("ann", allow),
        ("bob", [*allow, {**allow[0], "Action": "sqs:ListQueues", "Resource": "*"}]),
    ):
        http.put(f"/v1/users/{user}", json={"policies": [json.dumps({"Statement": statements})]}, headers=root)
    http.put("/v1/users/cy", json={"policies": ["read"]}, headers=root).raise_for_status()
    ann, bob, reader = (key_of(http, root, user=user) for user in ("ann", "bob", "cy"))
    path = f"/v1/queues/dead/messages/{letter['id']}"
    whole, part = (http.get(path, headers=caller) for caller in (root, ann))
    message_id = whole.json()["message_id"]
    assert {event["queue"] for event in whole.json()["events"]} == {"secret", "dead"}
    assert [(event["what"], event["queue"]) for event in part.json()["events"]] == [("dead_lettered", "dead")]
    assert part.json()["source_queue"] is None
    assert "secret" not in part.text
    anywhere = f"/v1/messages/{message_id}"
    assert http.get(anywhere, headers=bob).json() == part.json()
    assert (http.get(anywhere, headers=ann).status_code, http.get(path, headers=reader).status_code) == (403, 403)
    assert http.get(f"/v1/queues/secret/messages/{held['id']}", headers=ann).status_code == 403
    assert error_code(http.get(anywhere, headers=reader)) == (404, "message_not_found")


def test_refusals_and_failed_sign_ins_are_counted(
    http: httpx.Client, root: Header, shared_database: Database, account: str
) -> None:
    http.put("/v1/users/ann", json={"policies": ["read"]}, headers=root).raise_for_status()
    ann = key_of(http, root, user="ann")
    with running_service(shared_database.api_dsn, **SIGV4) as fresh, fresh.http() as interface:
        for _ in range(3):
            assert interface.post("/v1/queues", json={"name": "x"}, headers=ann).status_code == 403

    def count() -> int:
        found = audit_of(shared_database, account, "error, repeated, actor, action, interface")
        rows = [row for row in found if row[0]]
        assert {(*row[:1], *row[2:]) for row in rows} <= {
            ("AccessDenied", f"arn:aws:iam::{account}:user/ann", "sqs:CreateQueue", "rest")
        }
        return sum(int(str(row[1])) for row in rows)

    # The service writes the first refusal immediately and the others within ten seconds.
    assert count() >= 1


def test_keys_of_the_command_line_leave_rows(shared_database: Database, account: str) -> None:
    """The commands `penstock keys` and `penstock users` change the database without the service."""
    with key_ring(shared_database) as ring:
        list(ring.set_user("ann", ["read"], account, new=True))
        key = ring.create(account, "", bearer=False, user="ann").key_id
        list(ring.limit(key, None))
        list(ring.revoke(key))
        list(ring.end_user("ann", account))
    rows = audit_of(shared_database, account, "action, interface, actor is not null")
    acts = ("SetUser", "CreateKey", "LimitKey", "RevokeKey", "EndUser")
    assert rows == [(f"penstock:{act}", "database", True) for act in acts]


def check_console(service: Service, key: Header, *, may: bool) -> None:
    """Checks the pages of the schedule `payroll` and the queue `q` with a key that may or may not read messages."""
    console = ConsoleClient(service)
    console.post("/console/sign-in", key=key["authorization"].removeprefix("Bearer "))
    shown = console.get("/console/schedules").text
    assert "payroll" in shown
    assert ("scheduler:GetSchedule" in shown) is not may
    assert ("payroll" in console.get("/console/schedules?view=calendar").text) is may
    assert console.get("/console/queues/q").status_code == (200 if may else 403)


def test_a_deny_of_aws_holds_for_lists_and_runs(
    http: httpx.Client,
    root: Header,
    shared_service: Service,
    account: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """AWS's ListSchedules returns no Input (EventBridge Scheduler API reference), so a list shows no message that
    GetSchedule would refuse to show.
    """
    http.post("/v1/queues", json={"name": "q"}, headers=root).raise_for_status()
    for name in ("open", "payroll"):
        given = {"name": name, "every": "1h", "target": {"queue": "q", "message": f"text-of-{name}"}}
        http.post("/v1/schedules", json=given, headers=root).raise_for_status()
    schedule = f"arn:aws:scheduler:us-east-1:{account}:schedule/default/payroll"
    denied = [
        {"Effect": "Deny", "Action": "scheduler:*", "Resource": schedule},
        {"Effect": "Deny", "Action": "sqs:*", "Resource": f"arn:aws:sqs:us-east-1:{account}:q"},
    ]
    policy = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, *denied]}
    http.put("/v1/users/eve", json={"policies": [json.dumps(policy)]}, headers=root).raise_for_status()
    eve = key_of(http, root, user="eve")
    listed = http.get("/v1/schedules", headers=eve)
    assert ([one["name"] for one in listed.json()["schedules"]], listed.json()["unreadable"]) == (["open"], ["payroll"])
    assert "text-of-payroll" not in listed.text
    whole = http.get("/v1/schedules", headers=root).json()
    assert [one["name"] for one in whole["schedules"]] == ["open", "payroll"]
    assert "unreadable" not in whole
    for path in ("/v1/schedules/payroll/runs", "/v1/schedules/open/runs"):
        status = http.post(path, headers=eve).status_code
        assert status == (403 if "payroll" in path else 202)
    for path in ("messages/peek", "archive", "failures"):
        assert http.get(f"/v1/queues/q/{path}", headers=eve).status_code == 403
    monkeypatch.setenv("PENSTOCK_TOKEN", eve["authorization"])
    for option in ((), ("--json",)):
        assert main(["schedules", "list", "--endpoint", shared_service.url, *option]) == 0
    _, shown_open, shown_payroll, _, last = capsys.readouterr().out.splitlines()
    assert (shown_open.split()[:2], shown_payroll.split()) == (["open", "active"], ["payroll", "unreadable"])
    assert json.loads(last) == {"name": "payroll", "unreadable": True}
    # The request with the account's key comes first. The service does not use the cached result of that request for
    # Eve.
    check_console(shared_service, root, may=True)
    check_console(shared_service, eve, may=False)
