"""Every action has its place in the rules of access."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import fields

from penstock.access import ARN_MEMBERS, OF_THE_ACCOUNT, SHARED
from penstock.actions import ACTIONS, Action

MEMBERS = {"queue_url", "queue_owner_aws_account_id", "task_handle", *ARN_MEMBERS}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_action_is_about_the_account_or_names_a_queue(action: Action) -> None:
    """One that does neither would be denied to everybody."""
    names = {field.name for field in fields(action.request)}
    assert action.name in OF_THE_ACCOUNT or names & MEMBERS


def test_only_actions_are_shared() -> None:
    assert {action.name for action in ACTIONS} >= SHARED


def test_a_task_handle_names_its_queue() -> None:
    from base64 import b64encode

    from penstock.access import targets

    arn = "arn:aws:sqs:us-east-1:111122223333:dead"
    handle = b64encode(f'{{"taskId":"x","sourceArn":"{arn}"}}'.encode()).decode()
    assert targets(SimpleNamespace(task_handle=handle), None) == [arn]  # type: ignore[arg-type]
    assert targets(SimpleNamespace(task_handle="no handle"), None) == []  # type: ignore[arg-type]
