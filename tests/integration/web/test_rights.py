"""Tests that the REST API, the console and MCP check each right on the ARN of the resource, as the AWS APIs do.

The cases come from the declarations of routes, screens and tools, so the tests also cover future ones. The source is
"IAM JSON policy elements: NotResource" (IAM User Guide).
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import httpx
import pytest

from penstock.management.rights import Right
from penstock_web.cli import main
from penstock_web.console.console import list_screens
from penstock_web.mcp.tools import TOOLS
from penstock_web.rest.api import ROUTES
from penstock_web.rest.application import RestApplication
from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import Database
from tests.support.events import build_arns, store_bus, store_destination, store_webhook
from tests.support.programs.penstock_service import Service
from tests.support.web.console import ConsoleClient, build_form

pytestmark = [pytest.mark.shared, pytest.mark.settings(**SIGV4, QUEUE_MCP="true")]

ACCOUNT, ID = "000000000000", "00000000-0000-4000-8000-000000000000"
HEAD = f"us-east-1:{ACCOUNT}"
PATH = {
    "name": "guarded", "topic": "guarded", "id": ID, "schedule": "guarded", "mapping": ID, "user": "guarded",
    "message_id": "1", "move": ID, "subscription": ID,
    "group": "guarded", "bus": "guarded", "subscriber": "guarded", "source": "guarded", "connection": "guarded",
    "api_destination": "guarded", "key": "PSTBAAAAAAAAAAAAAAAA",
}  # fmt: skip
RESOURCES = {
    "queue": f"arn:aws:sqs:{HEAD}:guarded",
    "topic": f"arn:aws:sns:{HEAD}:guarded",
    "subscription": f"arn:aws:sns:{HEAD}:guarded:{ID}",
    "schedule": f"arn:aws:scheduler:{HEAD}:schedule/default/guarded",
    "schedules": f"arn:aws:scheduler:{HEAD}:schedule/default/*",
    "mapping": f"arn:aws:lambda:{HEAD}:event-source-mapping:{ID}",
    "mappings": f"arn:aws:lambda:{HEAD}:event-source-mapping:*",
    "user": f"arn:aws:iam::{ACCOUNT}:user/guarded",
}
BUS, SUBSCRIBER = build_arns(ACCOUNT, "guarded", "guarded")
WEBHOOK = f"arn:aws:events:{HEAD}:event-sourcev2/webhook/guarded/{'0' * 25}"
CONNECTION, DESTINATION = (f"arn:aws:events:{HEAD}:{kind}/guarded/" for kind in ("connection", "api-destination"))
TARGET = {"queue": "q", "message": "x"}
BODIES: dict[str, Any] = {
    "POST /queues": {"name": "guarded"},
    "PATCH /queues/{name}": {"attributes": {"DelaySeconds": 1}},
    "POST /queues/{name}/messages": {"message": "x"},
    "DELETE /queues/{name}/messages": {"ids": [1]},
    "PATCH /queues/{name}/messages/{id}": {"vt": 0},
    "POST /queues/{name}/messages/{handle}/fail": {"error": "timeout"},
    "POST /queues/{name}/messages/search": {},
    "POST /queues/{name}/messages/{id}/edit": {"message": "x"},
    "POST /queues/{name}/messages/replace": {"filter": {}, "path": "a", "value": 1},
    "POST /queues/{name}/moves": {"filter": {}},
    "POST /topics/{topic}/messages": {"message": "x"},
    "POST /topics/{topic}/subscriptions": {"queue": "guarded"},
    "POST /mappings": {"queue": "guarded", "function": "http://127.0.0.1/"},
    "PATCH /mappings/{id}": {"tags": {}},
    "PUT /schedules/{name}": {"every": "1h", "target": TARGET},
    "PATCH /schedules/{name}": {"status": "paused"},
    "PUT /users/{user}": {"policies": []},
    "POST /topics": {"name": "guarded"},
    "POST /schedules": {"name": "guarded", "every": "1h", "target": TARGET},
    "PUT /schedules": [{"name": "guarded", "every": "1h", "target": TARGET}],
    "POST /buses": {"name": "guarded"},
    "PATCH /buses/{bus}": {},
    "PATCH /buses/{bus}/subscribers/{subscriber}": {},
    "POST /buses/{bus}/subscribers": {"name": "guarded", "target": "guarded"},
    "POST /buses/{bus}/subscribers/{subscriber}/replay": {"from": "oldest"},
    "POST /buses/{bus}/events": [{"data": 1}, {"source": "a", "detail_type": "b"}],
    "POST /connections": {
        "name": "guarded", "authorization_type": "API_KEY",
        "auth_parameters": {"ApiKeyAuthParameters": {"ApiKeyName": "x", "ApiKeyValue": "y"}},
    },
    "PATCH /connections/{connection}": {"description": "d"},
    "POST /api-destinations": {
        "name": "guarded", "connection": "guarded", "invocation_endpoint": "https://a.example/", "http_method": "POST",
    },
    "PATCH /api-destinations/{api_destination}": {"description": "d"},
    "POST /alerts/mute": {"resource": "queue", "name": "guarded", "hours": 1},
    "POST /keys": {"user": "guarded"},
    "PATCH /keys/{key}": {"expires_at": None},
}  # fmt: skip
ASKED = {
    "sqs:CreateQueue": RESOURCES["queue"],
    "sns:CreateTopic": RESOURCES["topic"],
    "scheduler:CreateSchedule": RESOURCES["schedule"],
    "scheduler:UpdateSchedule": RESOURCES["schedule"],
    "scheduler:DeleteSchedule": RESOURCES["schedule"],
    "scheduler:CreateScheduleGroup": f"arn:aws:scheduler:{HEAD}:schedule-group/guarded",
    "scheduler:DeleteScheduleGroup": f"arn:aws:scheduler:{HEAD}:schedule-group/guarded",
    **dict.fromkeys(("events:DescribeEventBus", "events:ListSubscribers", "events:PutEvents"), BUS),
    **dict.fromkeys(("events:PutRawEvents", "penstock:ReplayEvents"), BUS),
    "penstock:ReadWebhookSecret": WEBHOOK,
    **dict.fromkeys(("events:UpdateEventBus", "events:DeleteEventBus", "events:CreateSubscriber"), BUS),
    "events:CreateEventBus": BUS.replace("0" * 25, "*"),
    **dict.fromkeys((f"events:{act}Subscriber" for act in ("Describe", "Update", "Delete")), SUBSCRIBER),
    "events:CreateConnection": f"{CONNECTION}*",
    "events:CreateApiDestination": f"{DESTINATION}*",
    **{f"events:{verb}Connection": f"{CONNECTION}{ID}" for verb in ("Describe", "Update", "Delete")},
    **{f"events:{verb}ApiDestination": f"{DESTINATION}{ID}" for verb in ("Describe", "Update", "Delete")},
    "penstock:CreateKey": RESOURCES["user"],
    "penstock:LimitKey": RESOURCES["user"],
    "penstock:RevokeKey": RESOURCES["user"],
}
"""The resources on which the operation checks rights."""
PARTS: dict[str, Any] = {
    "sqs:SendMessage": {"send": [{"queue": "guarded", "message": "x"}]},
    "sqs:DeleteMessage": {"ack": [{"queue": "guarded", "receipt": "x"}]},
    "penstock:PublishEvent": {"publish": [{"routing_key": "a", "message": "x"}]},
}
"""Maps each right of a transaction to the part of the transaction that needs the right."""


class RightCase(NamedTuple):
    """Describes one right in one interface. `what` is a method and a path, or the name of a tool."""

    interface: str
    what: str
    action: str
    arn: str


def list_cases() -> Iterator[RightCase]:
    for route in (route for routes in ROUTES for route in routes):
        yield from cases_of("rest", f"{route.method} {route.path}", route.right)
    for screen in list_screens():
        yield from cases_of("console", f"{screen.method} {screen.path}", screen.right)
    for name, tool in TOOLS.items():
        yield from cases_of("mcp", name, tool.right)


def cases_of(interface: str, what: str, right: Right) -> Iterator[RightCase]:
    for action in right.actions:
        if right.scope == "operation":
            arn = (
                {"sqs": RESOURCES["queue"], "penstock": "*"}[action.partition(":")[0]]
                if "transactions" in what
                else ASKED[action]
            )
        else:
            arn = "*" if right.scope == "account" else RESOURCES[right.scope]
        yield RightCase(interface, what, action, arn)


CASES = list(list_cases())


class Interfaces(NamedTuple):
    """Holds the interfaces of a user, and the key ring that sets the rights of the user."""

    http: httpx.Client
    console: ConsoleClient
    database: Database
    root: dict[str, str]
    keys: dict[str, str]

    def set_policy(self, *statements: Mapping[str, object]) -> None:
        policy = {"policies": [json.dumps({"Statement": statements})]}
        self.http.put("/v1/users/caller", json=policy, headers=self.root).raise_for_status()

    def ask(self, case: RightCase, *, encoded: bool = False) -> tuple[int, str]:
        """Returns the status and the text of the response. With `encoded`, the names in the path are
        percent-encoded."""
        if case.interface == "mcp":
            return self._call(case.what)
        method, _, path = case.what.partition(" ")
        for name, known in {**PATH, "key": self.keys["guarded"]}.items():
            is_number = name == "id" and not path.startswith(("/topics", "/mappings")) and "/moves/" not in path
            value = "1" if is_number else known
            spelled = "".join(f"%{ord(letter):02X}" for letter in value) if encoded else value
            path = path.replace(f"{{{name}}}", spelled)
        if case.interface == "console":
            page = self.console.get(path) if method == "GET" else self.console.post(path, **build_form("guarded"))
            return page.status_code, page.text
        body = PARTS[case.action] if path == "/transactions" else BODIES.get(case.what)
        prune = "?prune=true" if case.action == "scheduler:DeleteSchedule" and method == "PUT" else ""
        headers = {"authorization": f"Bearer {self.keys['token']}"}
        if prune:
            body = []
        response = self.http.request(method, f"/v1{path}{prune}", json=body, headers=headers)
        return response.status_code, response.text

    def _call(self, tool: str) -> tuple[int, str]:
        arguments = {} if tool == "list_queues" else {"queue": "guarded"}
        if tool == "message_life":
            arguments["id"] = "1"
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"authorization": f"Bearer {self.keys['token']}", "accept": "application/json, text/event-stream"}
        text = self.http.post("/mcp", json=call, headers=headers).text
        return 403 if "is not authorized to perform" in text else 200, text


@pytest.fixture(scope="module")
def interfaces(shared_database: Database, shared_service: Service) -> Iterator[Interfaces]:
    with key_ring(shared_database) as ring:
        root = ring.create(ACCOUNT, "", bearer=True)
        for name in ("caller", "guarded"):
            list(ring.set_user(name, ["admin"], ACCOUNT, new=True))
        token = ring.create(ACCOUNT, "", bearer=True, user="caller")
        guarded = ring.create(ACCOUNT, "", bearer=True, user="guarded")
    headers = {"authorization": f"Bearer {root.token}"}
    keys = {"token": token.token, "guarded": guarded.key_id}
    with shared_service.http() as http:
        http.post("/v1/queues", json={"name": "guarded"}, headers=headers).raise_for_status()
        new = {"name": "guarded", "every": "1h", "target": TARGET}
        http.post("/v1/schedules", json=new, headers=headers).raise_for_status()
        store_bus(shared_database, ACCOUNT, "guarded", "guarded")
        assert store_webhook(shared_database, BUS, "guarded") == WEBHOOK
        store_destination(shared_database, ACCOUNT, "guarded")
        console = ConsoleClient(shared_service)
        assert console.sign_in(keys["token"]).status_code == 303
        yield Interfaces(http, console, shared_database, headers, keys)


EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.interface} {case.what} {case.action}")
def test_a_right_is_asked_with_its_arn(case: RightCase, interfaces: Interfaces) -> None:
    interfaces.set_policy(EVERYTHING, {"Effect": "Deny", "Action": case.action, "Resource": case.arn})
    status, text = interfaces.ask(case)
    assert status == 403, text
    assert f"perform: {case.action}" in text, text
    assert f"resource: {case.arn} " in html.unescape(text)
    assert interfaces.ask(case, encoded=True)[0] == 403
    interfaces.set_policy({"Effect": "Allow", "Action": "*", "NotResource": case.arn})
    assert interfaces.ask(case)[0] == 403


def test_an_api_destination_needs_the_right_on_its_connection(interfaces: Interfaces) -> None:
    """The endpoint receives the secrets, so a change of it needs rights on the connection ("Actions, resources, and
    condition keys for Amazon EventBridge", Service Authorization Reference)."""
    caller = {"authorization": f"Bearer {interfaces.keys['token']}"}
    interfaces.set_policy(
        EVERYTHING, {"Effect": "Deny", "Action": "events:*ApiDestination", "Resource": f"{CONNECTION}*"}
    )
    new = {**BODIES["POST /api-destinations"], "name": "other"}
    path = "/v1/api-destinations/guarded"
    for refused in (
        interfaces.http.post("/v1/api-destinations", json=new, headers=caller),
        interfaces.http.patch(path, json={"invocation_endpoint": "https://b.example/"}, headers=caller),
        interfaces.http.patch(path, json={"connection": "guarded"}, headers=caller),
    ):
        assert (refused.status_code, f"resource: {CONNECTION}{ID} " in refused.text) == (403, True), refused.text
    assert interfaces.http.patch(path, json={"description": "d"}, headers=caller).status_code == 200


def test_a_deny_on_another_resource_refuses_nothing(interfaces: Interfaces) -> None:
    interfaces.set_policy(
        EVERYTHING,
        *(
            {"Effect": "Deny", "Action": "*", "Resource": arn.replace("guarded", "other")}
            for arn in (RESOURCES["queue"], RESOURCES["topic"], RESOURCES["schedule"])
        ),
    )
    for what in ("GET /schedules/{name}", "GET /queues/{name}", "PATCH /keys/{key}"):
        assert interfaces.ask(RightCase("rest", what, "", ""))[0] < 300, what


def test_a_change_shows_nothing_to_a_caller_who_may_not_read(
    interfaces: Interfaces, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The responses to AWS's SetQueueAttributes and UpdateSchedule do not show the attributes of the resource (API
    references). The commands of `penstock` do not need the attributes either.
    """
    root = interfaces.root
    http = interfaces.http
    http.post("/v1/queues", json={"name": "other"}, headers=root).raise_for_status()
    for _ in range(2):  # The move pauses after the first message.
        http.post("/v1/queues/guarded/messages", json={"message": "x"}, headers=root).raise_for_status()
    given = {"filter": {}, "to": "other", "canary": 1}
    move = http.post("/v1/queues/guarded/moves", json=given, headers=root)
    new = {"queue": "guarded", "function": "http://127.0.0.1/", "enabled": False}
    mapping = http.post("/v1/mappings", json=new, headers=root)
    binding = {"endpoint": "https://example.com/", "filter_policy": {"kind": ["secret"]}}
    http.post("/v1/events/a.b/subscriptions", json=binding, headers=root).raise_for_status()
    moved = f"/queues/guarded/moves/{move.json()['id']}"
    changes: list[tuple[str, str, Any, str]] = [
        ("POST", "/queues", {"name": "hidden"}, "sqs:GetQueueAttributes"),
        ("PATCH", "/queues/guarded", {"attributes": {"DelaySeconds": 1}}, "sqs:GetQueueAttributes"),
        ("PATCH", "/schedules/guarded", {"status": "paused"}, "scheduler:GetSchedule"),
        ("PUT", "/schedules/guarded", {"every": "1h", "target": TARGET}, "scheduler:GetSchedule"),
        ("PATCH", f"/mappings/{mapping.json()['id']}", {"batch_size": 5}, "lambda:GetEventSourceMapping"),
        ("PATCH", f"/mappings/{mapping.json()['id']}", {"batch_size": 5}, "lambda:ListTags"),
        ("POST", f"{moved}/cancel", None, "sqs:ListMessageMoveTasks"),
        ("POST", "/events/a.b/subscriptions", {"endpoint": "https://example.com/"}, "penstock:ListSubscriptions"),
    ]
    caller = {"authorization": f"Bearer {interfaces.keys['token']}"}
    for may in (False, True):
        for method, path, body, action in changes if not may else changes[1:-2]:
            denied = {"Effect": "Deny", "Action": action, "Resource": "*"}
            interfaces.set_policy(EVERYTHING, *(() if may else (denied,)))
            response = http.request(method, f"/v1{path}", json=body, headers=caller)
            creates = path == "/queues" or path.startswith("/events")
            assert response.status_code == (201 if creates else 200 if may else 204), response.text
            assert bool(response.content) is may
            assert ("location" in response.headers) is creates
    monkeypatch.setenv("PENSTOCK_TOKEN", interfaces.keys["token"])
    interfaces.set_policy(EVERYTHING, {"Effect": "Deny", "Action": "scheduler:Get*", "Resource": "*"})
    put = ("put", "guarded", "--queue", "guarded", "--message", "x", "--every", "1h")
    for command in (put, ("pause", "guarded"), ("resume", "guarded")):
        assert main(["schedules", *command, "--endpoint", str(http.base_url)]) == 0
    assert capsys.readouterr() == ("guarded: replaced\npaused guarded\nresumed guarded\n", "")
    one = {"name": "guarded", "every": "1h", "target": TARGET}
    for every in ("1h", "1h", "2h"):  # The caller must not learn which value is stored.
        synced = http.put("/v1/schedules", json=[{**one, "every": every}], headers=caller).json()
        assert (synced["updated"], synced["unchanged"]) == (["guarded"], [])
    read = [http.put("/v1/schedules", json=[one], headers=root).json() for _ in range(2)]
    assert [sync["unchanged"] for sync in read] == [[], ["guarded"]]
    paused = http.get("/v1/queues/guarded", headers=root).json()["attributes"]["DelaySeconds"]
    state = http.get(f"/v1{moved}", headers=root).json()["state"]
    assert (paused, state) == ("1", "cancelled")


def test_a_caller_who_may_not_read_learns_that_the_change_is_made(
    interfaces: Interfaces, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interfaces.set_policy(EVERYTHING, {"Effect": "Deny", "Action": ["sqs:Get*", "sqs:List*"], "Resource": "*"})
    created = interfaces.console.post("/console/queues", name="by-form")
    shown = interfaces.console.get(created.headers["location"])
    assert (created.status_code, shown.status_code) == (303, 403)
    assert "The queue was created." in shown.text
    assert "is not authorized to perform" in shown.text
    monkeypatch.setenv("PENSTOCK_TOKEN", interfaces.keys["token"])
    endpoint = ("--endpoint", str(interfaces.http.base_url))
    assert main(["create", "by-command", *endpoint]) == 0
    assert capsys.readouterr() == ("created by-command\n", "")
    interfaces.http.post("/v1/queues/by-form/messages", json={"message": "x"}, headers=interfaces.root)
    assert main(["redrive", "by-form", "--to", "by-command", "--wait", "--yes", *endpoint]) == 1
    assert "has started, but its progress is not known" in capsys.readouterr().err


def test_the_accounts_own_key_obeys_the_policies_of_queues(interfaces: Interfaces) -> None:
    """A Deny also applies to the account that owns the queue, but this account can always correct the policy. Source:
    docs/operate/policies.md.
    """
    http = interfaces.http
    denied = {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}}
    new = {"name": "denied", "attributes": {"Policy": denied}}
    http.post("/v1/queues", json=new, headers=interfaces.root).raise_for_status()
    send = {"send": [{"queue": "denied", "message": "x"}]}
    acts: list[tuple[str, str, Any]] = [
        ("POST", "/v1/queues/denied/messages", {"message": "x"}),
        ("GET", "/v1/queues/denied/messages", None),
        ("POST", "/v1/queues/denied/purge", None),
        ("POST", "/v1/transactions", send),
        ("DELETE", "/v1/queues/denied", None),
    ]
    for allowed in (False, True):
        for method, path, body in acts:
            response = http.request(method, path, json=body, headers=interfaces.root)
            assert (response.status_code < 300) == allowed, (method, path, response.text)
            assert allowed or "with an explicit deny in a resource-based policy" in response.text
        if not allowed:
            assert http.get("/v1/queues/denied", headers=interfaces.root).status_code == 200
            change = {"attributes": {"Policy": ""}}
            http.patch("/v1/queues/denied", json=change, headers=interfaces.root).raise_for_status()


def test_a_user_who_may_nothing_learns_nothing(interfaces: Interfaces) -> None:
    """An operation checks the right on a resource after it has read the body. A user who has the right on no resource
    receives 403 before the service reads the body.
    """
    interfaces.set_policy({"Effect": "Allow", "Action": "sns:ListTopics", "Resource": "*"})
    token = {"authorization": f"Bearer {interfaces.keys['token']}", "content-type": "application/json"}
    for path in ("queues", "topics", "schedules", "keys", "transactions"):
        assert interfaces.http.post(f"/v1/{path}", content=b"no JSON", headers=token).status_code == 403, path


# --- parameters ------------------------------------------------------------------------------------------------------
BAD_VALUES = ("%00", "x", "9" * 30)
CONSOLE = Path(__file__).parents[3] / "layers/web/penstock_web/console"
SHARED_NAMES = {"text", "path", "value", "attr", "group", "min_receives", "source", "shape", "cause", "no_cause"}
"""The names of the parameters that are filters."""
PAGES = sorted({
    (screen.path, screen.handler.__module__.rpartition(".")[2])
    for screen in list_screens()
    if screen.method == "GET" and ".screens." in screen.handler.__module__
})  # fmt: skip


@pytest.mark.parametrize(("path", "module"), PAGES)
def test_no_parameter_of_a_page_is_our_mistake(path: str, module: str, interfaces: Interfaces) -> None:
    interfaces.set_policy(EVERYTHING)
    for name, value in PATH.items():
        path = path.replace(f"{{{name}}}", value)
    source = (CONSOLE / "screens" / f"{module}.py").read_text()
    names = set(re.findall(r"""query(?:\.\w+\(|\[)"(\w+)\"""", source))
    if "parse_filter" in source:
        names |= SHARED_NAMES
    for view in ("", "view=attempts&") if module == "deliveries" else ("",):
        for name in sorted(names):
            for value in BAD_VALUES:
                address = f"{path.replace('{rest:path}', 'x')}?{view}{name}={value}"
                assert interfaces.console.get(address).status_code < 500, address


@pytest.mark.parametrize(("path", "module"), PAGES)
def test_no_name_in_the_path_of_a_page_is_our_mistake(path: str, module: str, interfaces: Interfaces) -> None:
    interfaces.set_policy(EVERYTHING)
    for name in re.findall(r"\{(\w+)\}", path):
        address = path.replace(f"{{{name}}}", "%00")
        for other, usual in PATH.items():
            address = address.replace(f"{{{other}}}", usual)
        assert interfaces.console.get(address).status_code < 500, (module, address)


def list_parameters() -> Iterator[tuple[str, str, str]]:
    """Yields the method, the path, and each query or path parameter of every route in the OpenAPI document."""
    environment = cast("Any", SimpleNamespace(access=object()))
    for path, methods in RestApplication(environment, cast("Any", None)).openapi()["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                yield method.upper(), path, f"{parameter['in']} {parameter['name']}"


@pytest.mark.parametrize(("method", "path", "parameter"), sorted(set(list_parameters())))
def test_no_parameter_of_a_route_is_our_mistake(method: str, path: str, parameter: str, interfaces: Interfaces) -> None:
    interfaces.set_policy(EVERYTHING)
    headers = {"authorization": f"Bearer {interfaces.keys['token']}"}
    where, name = parameter.split()
    for value in BAD_VALUES:
        address = path.replace(f"{{{name}}}", value) if where == "path" else f"{path}?{name}={value}"
        for other, usual in {**PATH, "key": "PSTB", "routing_key": "a", "pattern": "a"}.items():
            address = address.replace(f"{{{other}}}", usual)
        body: dict[str, str] | None = {} if method in ("POST", "PUT", "PATCH") else None
        response = interfaces.http.request(method, address, headers=headers, json=body)
        assert response.status_code < 500, (address, response.text)
