"""Tests the REST API's OpenAPI document, without a database. Source: OpenAPI Specification 3.1."""

import importlib
import inspect
import json
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]
import pytest
from fastapi import APIRouter

import penstock.management
import penstock_web.console
import penstock_web.metrics
from penstock.access.users import build_user
from penstock.context import Context, Interface
from penstock.environment import Environment
from penstock.errors import AccessDenied, AwsError
from penstock.http import HttpRequest
from penstock.management.actions import OWN_ACTIONS
from penstock.management.installation import read_scope
from penstock.management.rights import RIGHT, require, right_of
from penstock.postgres.statements.access import READ_POLICIES, READ_TOPIC_POLICIES
from penstock.settings import Settings
from penstock_web.console.console import list_screens
from penstock_web.mcp.tools import TOOLS
from penstock_web.rest import webhooks
from penstock_web.rest.api import ROUTES
from penstock_web.rest.application import RestApplication
from penstock_web.routing.errors import ERROR_TABLE
from penstock_web.routing.openapi import _MEANINGS, EVERY_ROUTE
from penstock_web.routing.routes import AdmittingRoute, Routes

Operation = dict[str, Any]


def document(access: object = None) -> dict[str, Any]:
    """Returns the OpenAPI document of a service. `access` is None for QUEUE_ACCESS=off."""
    environment = cast("Environment", SimpleNamespace(access=access))
    return RestApplication(environment, cast("Any", None)).openapi()


def operations(path: dict[str, Any]) -> Iterator[tuple[str, Operation]]:
    for template, methods in path.items():
        for method, operation in methods.items():
            yield f"{method.upper()} {template}", operation


@pytest.fixture(scope="module")
def routes() -> dict[str, Operation]:
    """Returns the operations below /v1 with QUEUE_ACCESS=off, except for the operations that never need a key."""
    return {
        name: operation
        for name, operation in operations(document()["paths"])
        if not {"certificates", "webhook events"} & set(operation["tags"])
    }


def test_every_error_of_the_rest_api_is_in_the_document() -> None:
    documented = set(EVERY_ROUTE).union(webhooks.RAISES, *(route.raises for routes in ROUTES for route in routes))
    assert ERROR_TABLE.keys() - documented == set()


def test_no_response_is_left_to_a_default(routes: dict[str, Operation]) -> None:
    """The response `default` would document every status. FastAPI would respond with 422, but the service responds with
    400."""
    assert {name for name, route in routes.items() if {"default", "422"} & route["responses"].keys()} == set()


@pytest.mark.parametrize("status", [400, 401, 403, 408, 413, 415, 421, 429, 500, 503])
def test_every_route_documents_these_errors(routes: dict[str, Operation], status: int) -> None:
    """docs/operate/access.md and hosts.md list the statuses 401, 403, 415 and 421, and an unknown key leads to 429."""
    assert {name for name, route in routes.items() if str(status) not in route["responses"]} == set()


@pytest.mark.parametrize(
    ("operation", "status", "code"),
    [
        ("POST /v1/queues", "409", "queue_exists"),
        ("GET /v1/queues/{name}", "404", "queue_not_found"),
        ("DELETE /v1/queues/{name}/messages/{id}", "404", "message_not_found"),
        ("POST /v1/transactions", "409", "stale_receipt"),
        ("PATCH /v1/schedules/{name}", "404", "schedule_not_found"),
    ],
)
def test_a_status_names_its_codes(routes: dict[str, Operation], operation: str, status: str, code: str) -> None:
    assert f"`{code}`" in routes[operation]["responses"][status]["description"]


def test_a_body_of_success_has_a_schema(routes: dict[str, Operation]) -> None:
    """The document also describes bodies that msgspec writes without FastAPI."""
    bodies = {
        f"{name} {status}": form.get("schema")
        for name, route in routes.items()
        for status, response in route["responses"].items()
        if status in ("200", "201", "202")
        for form in response.get("content", {"none": {}}).values()
    }
    assert {name for name, schema in bodies.items() if not schema} == set()


def test_every_parameter_of_a_path_is_described() -> None:
    """Each template expression corresponds to a path parameter (OpenAPI 3.1, Path Item)."""
    missing = {
        name
        for name, operation in operations(document()["paths"])
        for parameter in name.split("{")[1:]
        if parameter.partition("}")[0] not in {known["name"] for known in operation.get("parameters", ())}
    }
    assert missing == set()


def test_a_key_is_wanted_where_access_is_controlled(routes: dict[str, Operation]) -> None:
    assert {name for name, route in routes.items() if "security" in route} == set()
    controlled = dict(operations(document(access=object())["paths"]))
    assert {name for name in routes if controlled[name].get("security") != [{"HTTPBearer": []}]} == set()


def test_bodies_say_what_excludes_what(routes: dict[str, Operation]) -> None:
    """docs/reference/schedules.md: a body has exactly one of cron, every, when and fire_at. A schema that the document
    references keeps its members.
    """
    new = routes["POST /v1/schedules"]["requestBody"]["content"]["application/json"]["schema"]
    assert [choice["required"] for choice in new["oneOf"]] == [
        [form, "name"] for form in ("cron", "every", "when", "fire_at")
    ]
    assert "properties" in new
    assert "message" in new["properties"]["target"]["required"]


def test_a_binding_has_what_it_binds(routes: dict[str, Operation]) -> None:
    """docs/reference/events.md: a queue has no endpoint, and a URL has no queue. The document omits null members."""
    binding = routes["POST /v1/events/{pattern}/subscriptions"]["responses"]["201"]["content"]
    required = binding["application/json"]["schema"]["required"]
    assert {"queue_name", "endpoint", "filter_policy"} & set(required) == set()


def test_an_error_of_an_unknown_kind_is_a_bad_request() -> None:
    assert ERROR_TABLE[AwsError][:2] == (400, "bad_request")


# --- rights ----------------------------------------------------------------------------------------------------------
# Tests the rights that each REST route and each MCP tool requires (docs/operate/policies.md).


RIGHTS = """
POST /queues: operation: sqs:CreateQueue
GET /queues: account: sqs:ListQueues
GET /queues/{name}: queue: sqs:GetQueueAttributes
PATCH /queues/{name}: queue: sqs:SetQueueAttributes
DELETE /queues/{name}: queue: sqs:DeleteQueue
GET /queues/{name}/receivers: queue: penstock:ListReceivers
POST /queues/{name}/purge: queue: sqs:PurgeQueue
POST /queues/{name}/pause: queue: penstock:PauseQueue
POST /queues/{name}/resume: queue: penstock:PauseQueue
POST /queues/{name}/messages: queue: sqs:SendMessage
GET /queues/{name}/messages: queue: sqs:ReceiveMessage
DELETE /queues/{name}/messages: queue: sqs:DeleteMessage
GET /queues/{name}/messages/peek: queue: sqs:ReceiveMessage
DELETE /queues/{name}/messages/{id}: queue: sqs:DeleteMessage
PATCH /queues/{name}/messages/{id}: queue: sqs:ChangeMessageVisibility
POST /queues/{name}/messages/{handle}/fail: queue: sqs:ChangeMessageVisibility
POST /queues/{name}/messages/{id}/edit: queue: sqs:ReceiveMessage sqs:DeleteMessage
POST /queues/{name}/messages/replace: queue: sqs:ReceiveMessage sqs:DeleteMessage
GET /queues/{name}/archive: queue: penstock:ReadArchive sqs:ReceiveMessage
POST /queues/{name}/messages/search: queue: sqs:ReceiveMessage
GET /queues/{name}/failures: queue: sqs:ReceiveMessage
GET /queues/{name}/messages/{id}: queue: sqs:ReceiveMessage
GET /messages/{id}: account: sqs:ListQueues
POST /queues/{name}/moves: queue: sqs:StartMessageMoveTask
GET /queues/{name}/moves: queue: sqs:ListMessageMoveTasks
GET /queues/{name}/moves/{id}: queue: sqs:ListMessageMoveTasks
POST /queues/{name}/moves/{id}/continue: queue: sqs:StartMessageMoveTask
POST /queues/{name}/moves/{id}/cancel: queue: sqs:CancelMessageMoveTask
POST /events/{routing_key}: account: penstock:PublishEvent
GET /events/{routing_key}/matches: account: penstock:MatchEvent
POST /events/{pattern}/subscriptions: account: penstock:Subscribe
GET /events/{pattern}/subscriptions: account: penstock:ListSubscriptions
DELETE /events/{pattern}/subscriptions/{id}: account: penstock:Unsubscribe
GET /queues/{name}/subscriptions: queue: penstock:ListSubscriptions
GET /buses: account: events:ListEventBuses
POST /buses: operation: events:CreateEventBus
GET /buses/{bus}: operation: events:DescribeEventBus
PATCH /buses/{bus}: operation: events:UpdateEventBus
DELETE /buses/{bus}: operation: events:DeleteEventBus
GET /buses/{bus}/subscribers: operation: events:ListSubscribers
POST /buses/{bus}/subscribers: operation: events:CreateSubscriber
GET /buses/{bus}/subscribers/{subscriber}: operation: events:DescribeSubscriber
PATCH /buses/{bus}/subscribers/{subscriber}: operation: events:UpdateSubscriber
DELETE /buses/{bus}/subscribers/{subscriber}: operation: events:DeleteSubscriber
POST /buses/{bus}/subscribers/{subscriber}/pause: operation: events:UpdateSubscriber
POST /buses/{bus}/subscribers/{subscriber}/resume: operation: events:UpdateSubscriber
POST /buses/{bus}/subscribers/{subscriber}/replay: operation: events:UpdateSubscriber penstock:ReplayEvents
GET /buses/{bus}/events: operation: penstock:ReplayEvents
POST /buses/{bus}/events: operation: events:PutEvents events:PutRawEvents
GET /event-sources/{source}/secret: operation: penstock:ReadWebhookSecret
POST /connections: operation: events:CreateConnection
GET /connections: account: events:ListConnections
GET /connections/{connection}: operation: events:DescribeConnection
PATCH /connections/{connection}: operation: events:UpdateConnection
DELETE /connections/{connection}: operation: events:DeleteConnection
POST /api-destinations: operation: events:CreateApiDestination
GET /api-destinations: account: events:ListApiDestinations
GET /api-destinations/{api_destination}: operation: events:DescribeApiDestination
PATCH /api-destinations/{api_destination}: operation: events:UpdateApiDestination
DELETE /api-destinations/{api_destination}: operation: events:DeleteApiDestination
POST /topics: operation: sns:CreateTopic
GET /topics: account: sns:ListTopics
GET /topics/{topic}: topic: sns:GetTopicAttributes sns:ListTagsForResource
DELETE /topics/{topic}: topic: sns:DeleteTopic
POST /topics/{topic}/messages: topic: sns:Publish
GET /topics/{topic}/subscriptions: topic: sns:ListSubscriptionsByTopic
POST /topics/{topic}/subscriptions: topic: sns:Subscribe
DELETE /topics/{topic}/subscriptions/{id}: subscription: sns:Unsubscribe
GET /users: account: penstock:ReadKeys
PUT /users/{user}: user: penstock:SetUser
DELETE /users/{user}: user: penstock:EndUser
GET /keys: account: penstock:ReadKeys
POST /keys: operation: penstock:CreateKey
PATCH /keys/{key}: operation: penstock:LimitKey
DELETE /keys/{key}: operation: penstock:RevokeKey
POST /transactions: operation: sqs:SendMessage sqs:DeleteMessage penstock:PublishEvent
GET /deliveries: account: penstock:ListDeliveries
POST /deliveries/{id}/retry: account: penstock:RetryDelivery
POST /deliveries/retry: account: penstock:RetryDelivery
GET /deliveries/attempts: account: penstock:ListDeliveries
GET /deliveries/endpoints: account: penstock:ListDeliveries
POST /deliveries/endpoints/pause: account: penstock:PauseEndpoint
POST /deliveries/endpoints/resume: account: penstock:PauseEndpoint
POST /deliveries/endpoints/test: account: penstock:TestEndpoint
GET /outbox: account: penstock:ReadOutbox
PUT /outbox/opted-out/{phone_number}: account: penstock:OptOutPhoneNumber
POST /schedules: operation: scheduler:CreateSchedule
GET /schedules: schedules: scheduler:ListSchedules
PUT /schedules: operation: scheduler:CreateSchedule scheduler:UpdateSchedule scheduler:DeleteSchedule
GET /schedules/{name}: schedule: scheduler:GetSchedule
PUT /schedules/{name}: schedule: scheduler:CreateSchedule scheduler:UpdateSchedule
PATCH /schedules/{name}: schedule: scheduler:UpdateSchedule
DELETE /schedules/{name}: schedule: scheduler:DeleteSchedule
POST /schedules/{name}/runs: schedule: penstock:RunSchedule scheduler:GetSchedule
GET /schedules/{name}/runs: schedule: scheduler:GetSchedule
POST /previews: account: penstock:PreviewSchedule
POST /mappings: mappings: lambda:CreateEventSourceMapping
GET /mappings: mappings: lambda:ListEventSourceMappings lambda:ListTags
GET /mappings/{id}: mapping: lambda:GetEventSourceMapping lambda:ListTags
PATCH /mappings/{id}: mapping: lambda:UpdateEventSourceMapping lambda:TagResource lambda:UntagResource
DELETE /mappings/{id}: mapping: lambda:DeleteEventSourceMapping
GET /queues/{name}/metrics: queue: penstock:GetQueueMetrics
GET /queues/{name}/minutes: queue: penstock:GetQueueMetrics
GET /queues/{name}/lag: queue: penstock:GetQueueMetrics
GET /metrics/attention: account: sqs:ListQueues penstock:GetLag penstock:ListDeliveries
GET /metrics/lag: account: penstock:GetLag
GET /alerts: account: penstock:GetAlerts
PUT /alerts: account: penstock:SetAlerts
DELETE /alerts: account: penstock:SetAlerts
POST /alerts/test: account: penstock:TestAlerts
POST /alerts/mute: account: penstock:MuteAlerts
"""


def test_the_rights_of_all_routes() -> None:
    declared = [
        f"{route.method} {route.path}: {route.right.scope}: {' '.join(route.right.actions)}"
        for routes in ROUTES
        for route in routes
    ]
    assert declared == RIGHTS.strip().splitlines()


NAMED = {
    "/queues/{name}": "queue", "/topics/{topic}/subscriptions/{id}": "subscription", "/topics/{topic}": "topic",
    "/schedules/{name}": "schedule", "/mappings/{id}": "mapping", "/users/{user}": "user", "/keys/{key}": "operation",
}  # fmt: skip
"""Maps the beginning of a resource's path to the scope of the right."""


def test_a_right_is_about_the_resource_of_the_path() -> None:
    for routes in ROUTES:
        for route in routes:
            scope = next((NAMED[start] for start in NAMED if route.path.startswith(start)), None)
            if scope is None:
                assert route.right.scope in ("account", "operation", "schedules", "mappings"), route
            else:
                assert route.right.scope == scope, route


def test_a_change_shows_a_resource_only_to_a_caller_who_may_read_it() -> None:
    """A route that returns the same document as the GET of another route requires the right of that GET, or can omit
    the document."""
    paths = document()["paths"]
    rights = {(route.method.lower(), f"/v1{route.path}"): set(route.right.actions) for route in chain(*ROUTES)}

    def responses(path: str, method: str, status: str) -> str | None:
        found = paths[path].get(method, {}).get("responses", {}).get(status, {}).get("content", {})
        return json.dumps(found["application/json"]["schema"], sort_keys=True) if "application/json" in found else None

    read = {responses(path, "get", "200"): rights["get", path] for path in paths if responses(path, "get", "200")}
    checked = 0
    for path, methods in paths.items():
        for method in methods:
            shown = responses(path, method, "200")
            if method != "get" and shown in read:
                may_read = read[shown] <= rights[method, path]
                assert may_read or "204" in methods[method]["responses"], (method, path)
                checked += not may_read
    assert checked >= 5


OF_THE_PAGE = {"/console/queues/{name}/attributes", "/console/queues/{name}/messages/delete"}
"""The page checks the right before the operation does, because the user must first confirm the form."""


def test_operations_ask_for_their_rights_themselves() -> None:
    routes = {(route.path, route.right) for route in chain(*ROUTES)}
    for path, right in routes | {(screen.path, screen.right) for screen in list_screens()}:
        if right.actions and path not in OF_THE_PAGE:
            assert right.is_of_operation, path


OPERATIONS = sorted(
    {
        operation
        for package in (penstock.management, penstock_web.console, penstock_web.metrics)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for operation in vars(importlib.import_module(found.name)).values()
        if hasattr(operation, RIGHT) and right_of(operation).scope != "operation"
    },
    key=lambda operation: (operation.__module__, operation.__qualname__),
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_an_operation_asks_before_it_reads_or_changes_anything(operation: Callable[..., Any]) -> None:
    """The operation itself checks the rights, even without a route, screen or tool. The operation reads only the
    policies of the queue or topic before the check.
    """
    environment = Environment(Settings.read({"QUEUE_REGION": "us-east-1"}), cast("Any", None))
    context = Context("000000000000", "us-east-1", "id", environment, HttpRequest("GET", "/", b"", {}, b""))
    context.user = build_user("000000000000", "caller", ['{"Statement": []}'])
    context.interface = Interface.REST
    parameters = inspect.signature(operation).parameters.values()
    given = {each.name: context if each.name.endswith("context") else "guarded" for each in parameters}
    named = {each.name: given.pop(each.name) for each in parameters if each.kind is each.KEYWORD_ONLY}
    effects = operation(*given.values(), **named)

    def read_no_policies() -> None:
        effect = next(effects)
        while True:
            assert effect.statement in (READ_POLICIES, READ_TOPIC_POLICIES), effect
            effect = effects.send([])

    with pytest.raises(AccessDenied, match=right_of(operation).actions[0]):
        read_no_policies()


def test_tools_ask_what_the_routes_ask_that_do_the_same() -> None:
    asked = {route.name: route.right.actions for routes in ROUTES for route in routes}
    same = {
        "list_queues": ("lag",),
        "describe_queue": ("describe_queue", "queue_minutes"),
        "search_messages": ("search",),
        "message_life": ("read_message",),
        "failure_groups": ("failures",),
    }
    assert {name: tool.right.actions for name, tool in TOOLS.items()} == {
        tool: tuple(chain.from_iterable(asked[route] for route in names)) for tool, names in same.items()
    }
    assert all(tool.right.is_of_operation for tool in TOOLS.values())
    assert right_of(read_scope).actions == ("penstock:GetMetrics",)


def test_a_route_without_a_right_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match=r"GET /things/\{id\} requires no right: declare it with right="):
        Routes("things", prefix="/things").get("/{id}")  # type: ignore[call-arg]

    async def forgotten() -> None: ...

    with pytest.raises(TypeError, match="forgotten requires no right"):
        APIRouter(route_class=AdmittingRoute).add_api_route("/things", forgotten)


def test_a_right_names_actions_that_exist() -> None:
    with pytest.raises(ValueError, match="sqs:RecieveMessage"):
        require("sqs:RecieveMessage")


def test_the_page_lists_the_actions_of_penstock_alone() -> None:
    page = (Path(__file__).parents[4] / "docs/operate/policies.md").read_text()
    listed = page.partition("prefix `penstock:`:")[2].partition(". Every API requires")[0]
    assert {f"penstock:{name}" for name in re.findall(r"`(\w+)`", listed)} == OWN_ACTIONS


def members(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields each member of a body with its meaning, also of inner objects."""
    for name, member in schema.get("properties", {}).items():
        yield f"{schema.get('title')}.{name}", member.get("description", "")
        yield from members(member)
    for part in (schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())):
        if isinstance(part, dict):
            yield from members(part)


def bodies(routes: dict[str, Operation]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, operation in routes.items():
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield name, content


def test_every_parameter_and_member_of_a_body_has_a_meaning(routes: dict[str, Operation]) -> None:
    parameters = [
        f"{name} {each['name']}"
        for name, operation in routes.items()
        for each in operation.get("parameters", ())
        if not each["description"]
    ]
    found = [name for _, content in bodies(routes) for name, meaning in members(content["schema"]) if not meaning]
    assert (parameters, found) == ([], [])


def test_the_example_of_a_body_is_valid(routes: dict[str, Operation]) -> None:
    examples = {name: content for name, content in bodies(routes) if "example" in content}
    assert examples.keys() == tomllib.loads(_MEANINGS.read_text())["examples"].keys()
    for content in examples.values():
        jsonschema.validate(content["example"], content["schema"])
