"""Defines a valid request for each action of EventBridge Scheduler, and the members of its response."""

from collections.abc import Callable
from typing import Any, NamedTuple

import botocore.serialize
import botocore.session

from tests.support.conformance.scheduler import Scheduler

Members = dict[str, Any]
MODEL = botocore.session.get_session().get_service_model("scheduler")
SERIALIZER = botocore.serialize.create_serializer("rest-json", include_validation=False)
GROUP = ("Arn", "Name", "State", "CreationDate", "LastModificationDate")
EVERYTHING: Members = {
    "Description": "d", "StartDate": 2_082_758_400, "EndDate": 2_114_380_800.5, "ScheduleExpressionTimezone": "CET",
    "KmsKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k", "ClientToken": "t",
    "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5}, "ActionAfterCompletion": "DELETE",
}  # fmt: skip


class Good(NamedTuple):
    """`needs` creates the required resources and returns the request. `answered` lists the response's members."""

    needs: Callable[[Scheduler], Members]
    answered: tuple[str, ...] = ()


def new(scheduler: Scheduler) -> Members:
    dead_letters = {"Arn": scheduler.queue_arn("dead")}
    target = {
        **scheduler.given()["Target"],
        "Input": "i",
        "DeadLetterConfig": dead_letters,
        "SqsParameters": {"MessageGroupId": "g"},
    }
    return scheduler.given(**EVERYTHING, Target=target)


def there(scheduler: Scheduler) -> Members:
    given = new(scheduler)
    scheduler.client.create_schedule(**given)
    return given


def named(scheduler: Scheduler) -> Members:
    return {"Name": there(scheduler)["Name"], "GroupName": "default"}


def group(scheduler: Scheduler) -> Members:
    return {"Name": scheduler.group()}


def tagged(scheduler: Scheduler) -> Members:
    made = scheduler.group(Tags=[{"Key": key, "Value": "v"} for key in "abc"])
    return {"ResourceArn": scheduler.group_arn(made)}


def two_schedules(scheduler: Scheduler) -> Members:
    made = scheduler.group()
    for name in "ab":
        scheduler.create(Name=name, GroupName=made)
    return {"GroupName": made, "MaxResults": 1, "State": "ENABLED"}


def two_groups(scheduler: Scheduler) -> Members:
    prefix = scheduler.name()
    for letter in "ab":
        scheduler.client.create_schedule_group(Name=prefix + letter)
    return {"NamePrefix": prefix, "MaxResults": 1}


TARGET = ("Arn", "RoleArn", "DeadLetterConfig", "DeadLetterConfig.Arn", "RetryPolicy", "Input", "SqsParameters",
          "RetryPolicy.MaximumEventAgeInSeconds", "RetryPolicy.MaximumRetryAttempts",
          "SqsParameters.MessageGroupId")  # fmt: skip
SHOWN = (
    "Arn", "GroupName", "Name", "ScheduleExpression", "StartDate", "EndDate", "Description",
    "ScheduleExpressionTimezone", "State", "CreationDate", "LastModificationDate", "KmsKeyArn", "FlexibleTimeWindow",
    "FlexibleTimeWindow.Mode", "FlexibleTimeWindow.MaximumWindowInMinutes", "ActionAfterCompletion", "Target",
    *(f"Target.{name}" for name in TARGET),
)  # fmt: skip
LISTED = (*GROUP, "GroupName", "Target", "Target.Arn")
GOOD: dict[str, Good] = {
    "CreateSchedule": Good(new, ("ScheduleArn",)),
    "GetSchedule": Good(named, SHOWN),
    "UpdateSchedule": Good(there, ("ScheduleArn",)),
    "DeleteSchedule": Good(lambda scheduler: {**named(scheduler), "ClientToken": "t"}),
    "ListSchedules": Good(two_schedules, ("NextToken", "Schedules", *(f"Schedules[].{name}" for name in LISTED))),
    "CreateScheduleGroup": Good(
        lambda scheduler: {"Name": scheduler.name(), "Tags": [{"Key": "a", "Value": "b"}]}, ("ScheduleGroupArn",)
    ),
    "GetScheduleGroup": Good(group, GROUP),
    "DeleteScheduleGroup": Good(lambda scheduler: {**group(scheduler), "ClientToken": "t"}),
    "ListScheduleGroups": Good(
        two_groups, ("NextToken", "ScheduleGroups", *(f"ScheduleGroups[].{name}" for name in GROUP))
    ),
    "TagResource": Good(lambda scheduler: {**tagged(scheduler), "Tags": [{"Key": "d", "Value": "v"}]}),
    "UntagResource": Good(lambda scheduler: {**tagged(scheduler), "TagKeys": ["a", "b"]}),
    "ListTagsForResource": Good(tagged, ("Tags", "Tags[].Key", "Tags[].Value")),
}  # fmt: skip
