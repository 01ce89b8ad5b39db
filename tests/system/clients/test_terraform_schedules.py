"""Tests schedules and their groups with Terraform: creates, reads, changes, imports and destroys them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, client
from tests.support.clients.terraform_cli import ACCOUNT, CHANGES, NO_CHANGES, Terraform, applied

pytestmark = pytest.mark.clients

ARN = f"arn:aws:scheduler:us-east-1:{ACCOUNT}"
EVERYTHING = {"Name": "every.argument_1", "GroupName": "batch"}


@pytest.fixture(scope="module")
def scheduler(up: Deployment) -> Iterator[Any]:
    with client("scheduler", up, ACCOUNT) as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def made(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Creates everything in schedules.tf."""
    return applied(up, tmp_path_factory.mktemp("schedules"), "schedules.tf")


def tags(scheduler: Any, group: str) -> dict[str, str]:
    answer = scheduler.list_tags_for_resource(ResourceArn=f"{ARN}:schedule-group/{group}")
    return {tag["Key"]: tag["Value"] for tag in answer["Tags"]}


def test_created_resources_read_back_as_configured(made: Terraform, scheduler: Any) -> None:
    assert made.plan() == NO_CHANGES
    found = scheduler.get_schedule(**EVERYTHING)
    assert (found["State"], found["Description"]) == ("DISABLED", "päckchen")
    assert found["ScheduleExpression"] == "cron(0/15 8-17 ? * MON-FRI *)"
    assert found["StartDate"] == datetime(2036, 1, 1, tzinfo=UTC)
    assert found["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 1440}
    retries = {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    assert found["Target"]["RetryPolicy"] == retries
    assert found["Target"]["SqsParameters"] == {"MessageGroupId": "first"}
    assert tags(scheduler, "batch") == {"kept": "first", "gone": "grüße", "owner": "terraform"}


def test_changed_resources_read_back_as_configured(changed: Terraform, scheduler: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # An empty plan is then significant.
    found = scheduler.get_schedule(**EVERYTHING)
    assert (found["State"], found["ScheduleExpressionTimezone"]) == ("ENABLED", "UTC")
    assert "Description" not in found
    assert found["EndDate"] == datetime(2039, 1, 1, tzinfo=UTC)
    assert found["Target"]["SqsParameters"] == {"MessageGroupId": "second"}
    assert scheduler.get_schedule(Name="minimal")["ScheduleExpression"] == "rate(8 hours)"
    assert tags(scheduler, "batch") == {"kept": "changed", "new": "1", "owner": "terraform"}


def test_imported_resources_are_as_configured(changed: Terraform) -> None:
    ids = {
        "aws_scheduler_schedule.minimal": "default/minimal",
        "aws_scheduler_schedule.every_argument": "batch/every.argument_1",
        "aws_scheduler_schedule_group.batch": "batch",
    }
    said = changed.import_again(ids, changed=True)
    assert "Resources: 3 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed.plan(changed=True) == NO_CHANGES


def test_nothing_is_left_when_all_is_destroyed(changed: Terraform, scheduler: Any) -> None:
    changed.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert scheduler.list_schedules()["Schedules"] == []
    groups = scheduler.list_schedule_groups()["ScheduleGroups"]
    assert [group["Name"] for group in groups] == ["default"]
