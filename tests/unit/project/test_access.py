"""Every action has its place in the rules of access."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import fields

from penstock.access.authorization import (
    PLATFORM_MEMBERS,
    RULES,
    TOPIC_MEMBERS,
    list_invoked_arns,
    list_queues,
)
from penstock.actions import ACTIONS, Action

MEMBERS = {
    "queue_url",
    "queue_owner_aws_account_id",
    "task_handle",
    "source_arn",
    *TOPIC_MEMBERS,
    *PLATFORM_MEMBERS,
}


# EventBridge Scheduler's are the caller's own, but for what they invoke.
WITH_POLICIES = [action for action in ACTIONS if action.service in RULES]


@pytest.mark.parametrize("action", WITH_POLICIES, ids=lambda action: action.name)
def test_every_action_is_about_the_account_or_names_something(action: Action[Any, Any]) -> None:
    """One that does neither would be denied to everybody."""
    names = {field.name for field in fields(action.request)}
    assert action.name in RULES[action.service].account_actions or names & MEMBERS


def test_what_has_a_destination_is_asked_about() -> None:
    """`authorize` asks the destination of this action for SendMessage."""
    with_destination = {
        action.name
        for action in ACTIONS
        if "destination_arn" in {field.name for field in fields(action.request)}
    }
    assert with_destination == {"StartMessageMoveTask"}


@pytest.mark.parametrize("service", RULES)
def test_rules_name_actions(service: str) -> None:
    rules = RULES[service]
    named = rules.grantable_actions | rules.account_actions | rules.owner_always_allowed
    assert {action.name for action in ACTIONS if action.service == service} >= named


def test_what_is_invoked_is_asked_about() -> None:
    """Every action of EventBridge Scheduler that has a target, and none that names another account's resources."""
    scheduler = [action for action in ACTIONS if action.service == "scheduler"]
    with_target = {a.name for a in scheduler if "target" in {field.name for field in fields(a.request)}}
    assert with_target == {"CreateSchedule", "UpdateSchedule"}
    queue, topic = "arn:aws:sqs:us-east-1:111122223333:q", "arn:aws:sns:us-east-1:111122223333:t"
    target = SimpleNamespace(arn=topic, dead_letter_config=SimpleNamespace(arn=queue))
    assert list_invoked_arns(SimpleNamespace(target=target)) == [topic, queue]
    assert list_invoked_arns(SimpleNamespace()) == []


def test_a_task_handle_names_its_queue() -> None:
    from base64 import b64encode

    arn = "arn:aws:sqs:us-east-1:111122223333:dead"
    handle = b64encode(f'{{"taskId":"x","sourceArn":"{arn}"}}'.encode()).decode()
    assert list_queues(SimpleNamespace(task_handle=handle), None) == [arn]  # type: ignore[arg-type]
    assert list_queues(SimpleNamespace(task_handle="no handle"), None) == []  # type: ignore[arg-type]
