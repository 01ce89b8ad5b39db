"""Compares schedules and their groups with moto, by the method that test_sqs.py describes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.conformance.moto import Call, call_outcome, moto_outcome
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
    """Returns a call about a new or missing schedule."""

    def action(scheduler: Any, name: str) -> None:
        scheduler.create_schedule(**given(name))
        getattr(scheduler, method)(Name=f"{name}-none" if missing else name, **parameters)

    return action


def update(*, missing: bool = False, **changes: Any) -> Callable[[Any, str], None]:
    return on("update_schedule", missing=missing, **{k: v for k, v in given("", **changes).items() if k != "Name"})


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
    """Returns a call about a new or missing group."""

    def action(scheduler: Any, name: str) -> None:
        scheduler.create_schedule_group(Name=name)
        getattr(scheduler, method)(Name=f"{name}-none" if missing else name, **parameters)

    return action


def in_group(scheduler: Any, name: str) -> None:
    scheduler.create_schedule_group(Name=name)
    scheduler.create_schedule(**given(name, GroupName=name))
    scheduler.get_schedule(Name=name, GroupName=name)


def tags(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call about the tags of a new or missing group."""

    def action(scheduler: Any, name: str) -> None:
        arn = scheduler.create_schedule_group(Name=name)["ScheduleGroupArn"]
        getattr(scheduler, method)(ResourceArn=f"{arn}-none" if missing else arn, **parameters)

    return action


def call(method: str, **parameters: Any) -> Callable[[Any, str], None]:
    return lambda scheduler, name: getattr(scheduler, method)(**parameters)


CASES = (
    Call("create", create()),
    Call("create twice", create_twice),
    Call("create a bad name", create(" x"),
         "ok", "moto does not look (model: the pattern of Name)"),
    Call("create a long name", create("x" * 64),
         "ok", "moto does not look (model: at most 64)"),
    Call("create in no group", create(GroupName="nobody-made-it"),
         "not implemented", "moto breaks at it (CreateSchedule: ResourceNotFoundException)"),
    Call("create in a group", in_group),
    Call("create with an invalid expression", create(ScheduleExpression="now and then"),
         "ok", "moto does not look (User Guide: rate, cron and at expressions)"),
    Call("create with a rate of nothing", create(ScheduleExpression="rate(0 minutes)"),
         "ok", "moto does not look (User Guide: a positive number)"),
    Call("create with an unknown time zone", create(ScheduleExpressionTimezone="Mars/Olympus"),
         "ok", "moto does not look (User Guide: a time zone of IANA)"),
    Call("create with a window without its length", create(FlexibleTimeWindow={"Mode": "FLEXIBLE"}),
         "ok", "moto does not look (User Guide: a flexible window has a length)"),
    Call("create with a length of no window", create(FlexibleTimeWindow={"Mode": "OFF", "MaximumWindowInMinutes": 1}),
         "ok", "moto does not look (User Guide: only a flexible window has a length)"),
    Call("create that ended", create(EndDate=PAST)),
    Call("create that began", create(StartDate=PAST),
         "ok", "moto does not look (AWS: at most 5 minutes ago)"),
    Call("create disabled", create(State="DISABLED")),
    Call("create in an unknown state", create(State="ASLEEP"),
         "ok", "moto does not look (model: the values of State)"),
    Call("create for an invalid target", targeting(Arn="q"),
         "ok", "moto does not look (User Guide: the ARN of a target)"),
    Call("create without a role", targeting(RoleArn="nobody"),
         "ok", "moto does not look (model: the pattern of RoleArn)"),
    Call("create with too many attempts", targeting(RetryPolicy={"MaximumRetryAttempts": 186}),
         "ok", "moto does not look (model: at most 185)"),
    Call("create with too old an age", targeting(RetryPolicy={"MaximumEventAgeInSeconds": 86_401}),
         "ok", "moto does not look (model: at most 86,400)"),
    Call("get", on("get_schedule")),
    Call("get none", on("get_schedule", missing=True)),
    Call("get in no group", on("get_schedule", GroupName="nobody-made-it")),
    Call("update", update(Description="d")),
    Call("update none", update(missing=True)),
    Call("update to an invalid expression", update(ScheduleExpression="now and then"),
         "ok", "moto does not look (User Guide: rate, cron and at expressions)"),
    Call("delete", on("delete_schedule")),
    Call("delete none", on("delete_schedule", missing=True)),
    Call("delete in no group", on("delete_schedule", GroupName="nobody-made-it")),
    Call("list", call("list_schedules")),
    Call("list an unknown group", call("list_schedules", GroupName="nobody-made-it"),
         "ok", "moto does not look (ListSchedules: ResourceNotFoundException)"),
    Call("list pages of 101", call("list_schedules", MaxResults=101),
         "ok", "moto does not look (model: at most 100)"),
    Call("list after a page that never was", call("list_schedules", NextToken="?"),
         "InvalidToken", "not an error of this API (ListSchedules: ValidationException)"),
    Call("group", group()),
    Call("group twice", twice("create_schedule_group"),
         "ok", "moto does not look (CreateScheduleGroup: ConflictException)"),
    Call("group with a bad name", group(" x"),
         "ok", "moto does not look (model: the pattern of Name)"),
    Call("group default", call("create_schedule_group", Name="default"),
         "ok", "moto does not look (User Guide: it exists in every account)"),
    Call("get a group", on_group("get_schedule_group")),
    Call("get the default group", call("get_schedule_group", Name="default")),
    Call("get no group", on_group("get_schedule_group", missing=True)),
    Call("delete a group", on_group("delete_schedule_group")),
    Call("delete no group", on_group("delete_schedule_group", missing=True),
         "not implemented", "moto breaks at it (DeleteScheduleGroup: ResourceNotFoundException)"),
    Call("delete the default group", call("delete_schedule_group", Name="default"),
         "ok", "moto does not look (User Guide: it cannot be deleted)"),
    Call("list groups", call("list_schedule_groups")),
    Call("tag", tags("tag_resource", Tags=[{"Key": "a", "Value": "1"}])),
    Call("tag none", tags("tag_resource", missing=True, Tags=[{"Key": "a", "Value": "1"}]),
         "ok", "moto does not look (TagResource: ResourceNotFoundException)"),
    Call("untag", tags("untag_resource", TagKeys=["a"])),
    Call("untag none", tags("untag_resource", missing=True, TagKeys=["a"]),
         "ok", "moto does not look (UntagResource: ResourceNotFoundException)"),
    Call("tags", tags("list_tags_for_resource")),
    Call("tags of none", tags("list_tags_for_resource", missing=True),
         "ok", "moto does not look (ListTagsForResource: ResourceNotFoundException)"),
)  # fmt: skip


@pytest.mark.parametrize("scheduler", ["container"], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(scheduler: Scheduler, case: Call) -> None:
    ours = call_outcome(scheduler.client, case, scheduler.name())
    assert moto_outcome(case, "scheduler") == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []
