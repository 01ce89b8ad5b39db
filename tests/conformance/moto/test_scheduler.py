"""Compares schedules and their groups with moto; test_sqs.py describes the method."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.conformance.moto import Case, call_outcome, moto_outcome
from tests.support.conformance.scheduler import Scheduler

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
ROLE = "arn:aws:iam::000000000000:role/scheduler"
PAST = datetime(2020, 1, 1, tzinfo=UTC)


# --- what is done ----------------------------------------------------------------------------------------------------
def given(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "Name": name,
        "ScheduleExpression": "rate(365 days)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": QUEUE, "RoleArn": ROLE},
        **changes,
    }


def create(suffix: str = "", **changes: Any) -> Callable[[Any, str], None]:
    return lambda scheduler, name: scheduler.create_schedule(**given(name + suffix, **changes))


def targeting(**changes: Any) -> Callable[[Any, str], None]:
    return create(Target={"Arn": QUEUE, "RoleArn": ROLE, **changes})


def on(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call about a new schedule, or about a missing one."""

    def action(scheduler: Any, name: str) -> None:
        scheduler.create_schedule(**given(name))
        getattr(scheduler, method)(Name=f"{name}-none" if missing else name, **parameters)

    return action


def update(*, missing: bool = False, **changes: Any) -> Callable[[Any, str], None]:
    return on(
        "update_schedule", missing=missing, **{k: v for k, v in given("", **changes).items() if k != "Name"}
    )


def twice(method: str, **parameters: Any) -> Callable[[Any, str], None]:
    def action(scheduler: Any, name: str) -> None:
        for _ in range(2):
            getattr(scheduler, method)(Name=name, **parameters)

    return action


def create_twice(scheduler: Any, name: str) -> None:
    for _ in range(2):
        scheduler.create_schedule(**given(name))


def group(suffix: str = "", **more: Any) -> Callable[[Any, str], None]:
    return lambda scheduler, name: scheduler.create_schedule_group(Name=name + suffix, **more)


def on_group(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call about a new group, or about a missing one."""

    def action(scheduler: Any, name: str) -> None:
        scheduler.create_schedule_group(Name=name)
        getattr(scheduler, method)(Name=f"{name}-none" if missing else name, **parameters)

    return action


def in_group(scheduler: Any, name: str) -> None:
    scheduler.create_schedule_group(Name=name)
    scheduler.create_schedule(**given(name, GroupName=name))
    scheduler.get_schedule(Name=name, GroupName=name)


def tags(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call about the tags of a new group, or of a missing one."""

    def action(scheduler: Any, name: str) -> None:
        arn = scheduler.create_schedule_group(Name=name)["ScheduleGroupArn"]
        getattr(scheduler, method)(ResourceArn=f"{arn}-none" if missing else arn, **parameters)

    return action


def call(method: str, **parameters: Any) -> Callable[[Any, str], None]:
    return lambda scheduler, name: getattr(scheduler, method)(**parameters)


CASES = (
    Case("create", create()),
    Case("create twice", create_twice),
    Case("create a bad name", create(" x"),
         "ok", "moto does not look (model: the pattern of Name)"),
    Case("create a long name", create("x" * 64),
         "ok", "moto does not look (model: at most 64)"),
    Case("create in no group", create(GroupName="nobody-made-it"),
         "not implemented", "moto breaks at it (CreateSchedule: ResourceNotFoundException)"),
    Case("create in a group", in_group),
    Case("create with an invalid expression", create(ScheduleExpression="now and then"),
         "ok", "moto does not look (User Guide: rate, cron and at expressions)"),
    Case("create with a rate of nothing", create(ScheduleExpression="rate(0 minutes)"),
         "ok", "moto does not look (User Guide: a positive number)"),
    Case("create with an unknown time zone", create(ScheduleExpressionTimezone="Mars/Olympus"),
         "ok", "moto does not look (User Guide: a time zone of IANA)"),
    Case("create with a window without its length", create(FlexibleTimeWindow={"Mode": "FLEXIBLE"}),
         "ok", "moto does not look (User Guide: a flexible window has a length)"),
    Case("create with a length of no window", create(FlexibleTimeWindow={"Mode": "OFF", "MaximumWindowInMinutes": 1}),
         "ok", "moto does not look (User Guide: only a flexible window has a length)"),
    Case("create that ended", create(EndDate=PAST)),
    Case("create that began", create(StartDate=PAST),
         "ok", "moto does not look (AWS: at most 5 minutes ago)"),
    Case("create disabled", create(State="DISABLED")),
    Case("create in an unknown state", create(State="ASLEEP"),
         "ok", "moto does not look (model: the values of State)"),
    Case("create for an invalid target", targeting(Arn="q"),
         "ok", "moto does not look (User Guide: the ARN of a target)"),
    Case("create without a role", targeting(RoleArn="nobody"),
         "ok", "moto does not look (model: the pattern of RoleArn)"),
    Case("create with too many attempts", targeting(RetryPolicy={"MaximumRetryAttempts": 186}),
         "ok", "moto does not look (model: at most 185)"),
    Case("create with too old an age", targeting(RetryPolicy={"MaximumEventAgeInSeconds": 86_401}),
         "ok", "moto does not look (model: at most 86,400)"),
    Case("get", on("get_schedule")),
    Case("get none", on("get_schedule", missing=True)),
    Case("get in no group", on("get_schedule", GroupName="nobody-made-it")),
    Case("update", update(Description="d")),
    Case("update none", update(missing=True)),
    Case("update to an invalid expression", update(ScheduleExpression="now and then"),
         "ok", "moto does not look (User Guide: rate, cron and at expressions)"),
    Case("delete", on("delete_schedule")),
    Case("delete none", on("delete_schedule", missing=True)),
    Case("delete in no group", on("delete_schedule", GroupName="nobody-made-it")),
    Case("list", call("list_schedules")),
    Case("list an unknown group", call("list_schedules", GroupName="nobody-made-it"),
         "ok", "moto does not look (ListSchedules: ResourceNotFoundException)"),
    Case("list pages of 101", call("list_schedules", MaxResults=101),
         "ok", "moto does not look (model: at most 100)"),
    Case("list after a page that never was", call("list_schedules", NextToken="?"),
         "InvalidToken", "not an error of this API (ListSchedules: ValidationException)"),
    Case("group", group()),
    Case("group twice", twice("create_schedule_group"),
         "ok", "moto does not look (CreateScheduleGroup: ConflictException)"),
    Case("group with a bad name", group(" x"),
         "ok", "moto does not look (model: the pattern of Name)"),
    Case("group default", call("create_schedule_group", Name="default"),
         "ok", "moto does not look (User Guide: it exists in every account)"),
    Case("get a group", on_group("get_schedule_group")),
    Case("get the default group", call("get_schedule_group", Name="default")),
    Case("get no group", on_group("get_schedule_group", missing=True)),
    Case("delete a group", on_group("delete_schedule_group")),
    Case("delete no group", on_group("delete_schedule_group", missing=True),
         "not implemented", "moto breaks at it (DeleteScheduleGroup: ResourceNotFoundException)"),
    Case("delete the default group", call("delete_schedule_group", Name="default"),
         "ok", "moto does not look (User Guide: it cannot be deleted)"),
    Case("list groups", call("list_schedule_groups")),
    Case("tag", tags("tag_resource", Tags=[{"Key": "a", "Value": "1"}])),
    Case("tag none", tags("tag_resource", missing=True, Tags=[{"Key": "a", "Value": "1"}]),
         "ok", "moto does not look (TagResource: ResourceNotFoundException)"),
    Case("untag", tags("untag_resource", TagKeys=["a"])),
    Case("untag none", tags("untag_resource", missing=True, TagKeys=["a"]),
         "ok", "moto does not look (UntagResource: ResourceNotFoundException)"),
    Case("tags", tags("list_tags_for_resource")),
    Case("tags of none", tags("list_tags_for_resource", missing=True),
         "ok", "moto does not look (ListTagsForResource: ResourceNotFoundException)"),
)  # fmt: skip


@pytest.mark.parametrize("scheduler", ["container"], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(scheduler: Scheduler, case: Case) -> None:
    ours = call_outcome(scheduler.client, case, scheduler.name())
    assert moto_outcome(case, "scheduler") == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []
