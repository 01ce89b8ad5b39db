"""What each route of the REST API, and each tool of MCP, asks of the policies of the caller (docs/access.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi import APIRouter

from penstock.management.actions import OWN_ACTIONS
from penstock.management.rights import require
from penstock_web.mcp.tools import TOOLS
from penstock_web.metrics.scraping import RIGHT as SCRAPING
from penstock_web.rest.api import ROUTES
from penstock_web.routing.routes import AdmittingRoute, Routes

RIGHTS = """
POST /queues: account: sqs:CreateQueue
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
GET /queues/{name}/archive: queue: penstock:ReadArchive
POST /queues/{name}/messages/search: queue: sqs:ReceiveMessage
GET /queues/{name}/failures: queue: sqs:ReceiveMessage
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
POST /topics: account: sns:CreateTopic
GET /topics: account: sns:ListTopics
GET /topics/{topic}: topic: sns:GetTopicAttributes sns:ListTagsForResource
DELETE /topics/{topic}: topic: sns:DeleteTopic
POST /topics/{topic}/messages: topic: sns:Publish
GET /topics/{topic}/subscriptions: topic: sns:ListSubscriptionsByTopic
POST /topics/{topic}/subscriptions: topic: sns:Subscribe
DELETE /topics/{topic}/subscriptions/{id}: topic: sns:Unsubscribe
GET /users: account: penstock:ReadKeys
PUT /users/{user}: account: penstock:SetUser
DELETE /users/{user}: account: penstock:EndUser
GET /keys: account: penstock:ReadKeys
POST /keys: account: penstock:CreateKey
PATCH /keys/{key}: account: penstock:LimitKey
DELETE /keys/{key}: account: penstock:RevokeKey
POST /transactions: account: sqs:SendMessage sqs:DeleteMessage penstock:PublishEvent
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
POST /schedules: account: scheduler:CreateSchedule
GET /schedules: account: scheduler:ListSchedules
PUT /schedules: account: scheduler:CreateSchedule scheduler:UpdateSchedule scheduler:DeleteSchedule
GET /schedules/{name}: account: scheduler:GetSchedule
PUT /schedules/{name}: account: scheduler:CreateSchedule scheduler:UpdateSchedule
PATCH /schedules/{name}: account: scheduler:UpdateSchedule
DELETE /schedules/{name}: account: scheduler:DeleteSchedule
POST /schedules/{name}/runs: account: penstock:RunSchedule
GET /schedules/{name}/runs: account: scheduler:GetSchedule
POST /previews: account: penstock:PreviewSchedule
POST /mappings: account: lambda:CreateEventSourceMapping
GET /mappings: account: lambda:ListEventSourceMappings lambda:ListTags
GET /mappings/{id}: account: lambda:GetEventSourceMapping lambda:ListTags
PATCH /mappings/{id}: account: lambda:UpdateEventSourceMapping lambda:TagResource lambda:UntagResource
DELETE /mappings/{id}: account: lambda:DeleteEventSourceMapping
GET /queues/{name}/metrics: queue: penstock:GetQueueMetrics
GET /queues/{name}/minutes: queue: penstock:GetQueueMetrics
GET /metrics/lag: account: penstock:GetLag
"""


def test_the_rights_of_all_routes() -> None:
    declared = [
        f"{route.method} {route.path}: {route.right.scope}: {' '.join(route.right.actions)}"
        for routes in ROUTES
        for route in routes
    ]
    assert declared == RIGHTS.strip().splitlines()


def test_a_right_is_about_the_queue_or_topic_of_the_path() -> None:
    for routes in ROUTES:
        for route in routes:
            assert (route.right.scope == "queue") == ("/queues/{name}" in route.path), route
            assert (route.right.scope == "topic") == ("/topics/{topic}" in route.path), route


def test_tools_ask_what_the_routes_ask_that_do_the_same() -> None:
    asked = {route.name: route.right for routes in ROUTES for route in routes}
    same = {
        "list_queues": "lag",
        "describe_queue": "describe_queue",
        "search_messages": "search",
        "failure_groups": "failures",
    }
    assert {name: tool.right for name, tool in TOOLS.items()} == {
        tool: asked[route] for tool, route in same.items()
    }
    assert SCRAPING.actions == ("penstock:GetMetrics",)


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
    page = (Path(__file__).parents[4] / "docs/access.md").read_text()
    listed = page.partition("all with the prefix `penstock:`:")[2].partition(". There an action asks")[0]
    assert {f"penstock:{name}" for name in re.findall(r"`(\w+)`", listed)} == OWN_ACTIONS
