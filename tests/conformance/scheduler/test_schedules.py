"""Tests of EventBridge Scheduler's schedules in both deployments. The sources are the EventBridge Scheduler API
reference and User Guide and botocore's model `scheduler/2021-06-30`. The texts of AWS's errors come from public issues
where such issues exist.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.conformance.scheduler import OFF, ROLE, Scheduler
from tests.support.conformance.sdk_clients import ACCOUNT, REGION

pytestmark = pytest.mark.cbor("container")

CONFLICT, MISSING, INVALID = (
    ("ConflictException", 409),
    ("ResourceNotFoundException", 404),
    ("ValidationException", 400),
)
START, END = datetime(2036, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2037, 1, 2, 3, 4, 5, tzinfo=UTC)
WINDOW = "flexibleTimeWindow.maximumWindowInMinutes"
GROUP_ID = "target.sqsParameters.messageGroupId"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def everything(scheduler: Scheduler) -> dict[str, Any]:
    """Returns a schedule with every member."""
    return scheduler.given(
        GroupName=scheduler.group(),
        ScheduleExpression="cron(0/15 8-17 ? * MON-FRI *)",
        ScheduleExpressionTimezone="Europe/Berlin",
        StartDate=START,
        EndDate=END,
        Description="päckchen \n <&>",
        State="DISABLED",
        KmsKeyArn=KEY,
        FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 1440},
        ActionAfterCompletion="DELETE",
        Target={
            "Arn": scheduler.queue_arn("jobs.fifo"),
            "RoleArn": ROLE,
            "DeadLetterConfig": {"Arn": scheduler.queue_arn("dead")},
            "RetryPolicy": {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0},
            "Input": '{"a": "<aws.scheduler.scheduled-time> ü"}',
            "SqsParameters": {"MessageGroupId": "g"},
        },
    )


# --- one schedule ----------------------------------------------------------------------------------------------------
def test_a_schedule_reads_back_with_its_defaults(scheduler: Scheduler) -> None:
    """AWS returns these defaults for a schedule that has only the required members ("Getting started", User Guide)."""
    given = scheduler.given()
    arn = scheduler.client.create_schedule(**given)["ScheduleArn"]
    found = scheduler.get(given["Name"])
    created = found.pop("CreationDate")
    assert created == found.pop("LastModificationDate")
    assert abs((scheduler.sqs.clock.now() - created).total_seconds()) < 60
    assert arn == f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{given['Name']}"
    assert found == {
        **given,
        "Arn": arn,
        "GroupName": "default",
        "State": "ENABLED",
        "ScheduleExpressionTimezone": "UTC",
        "ActionAfterCompletion": "NONE",
        "Target": {**given["Target"], "RetryPolicy": {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}},
    }


def test_everything_reads_back_as_it_was_set(scheduler: Scheduler) -> None:
    given = everything(scheduler)
    arn = scheduler.client.create_schedule(**given)["ScheduleArn"]
    assert arn.endswith(f":schedule/{given['GroupName']}/{given['Name']}")
    found = scheduler.get(given["Name"], GroupName=given["GroupName"])
    assert {key: found[key] for key in given} == given
    assert scheduler.other_deployment().get(given["Name"], GroupName=given["GroupName"]) == found


def test_an_update_replaces_everything(scheduler: Scheduler) -> None:
    """UpdateSchedule resets omitted members to their defaults (API reference)."""
    given = everything(scheduler)
    scheduler.client.create_schedule(**given)
    name, group = given["Name"], given["GroupName"]
    before = scheduler.get(name, GroupName=group)
    after = scheduler.given(Name=name, GroupName=group, ScheduleExpression="at(2036-11-20T13:00:00)")
    assert scheduler.client.update_schedule(**after)["ScheduleArn"] == before["Arn"]
    found = scheduler.get(name, GroupName=group)
    assert found["CreationDate"] == before["CreationDate"] < found["LastModificationDate"]
    assert (found["ScheduleExpression"], found["State"]) == ("at(2036-11-20T13:00:00)", "ENABLED")
    gone = {"StartDate", "EndDate", "Description", "KmsKeyArn"}
    assert gone <= before.keys()
    assert not gone & found.keys()
    assert "DeadLetterConfig" not in found["Target"]


def test_a_deleted_schedule_is_gone(scheduler: Scheduler) -> None:
    name = scheduler.create()
    scheduler.client.delete_schedule(Name=name)
    assert scheduler.refused("get_schedule", Name=name) == MISSING
    assert scheduler.refusal("delete_schedule", Name=name).message == f"Schedule {name} does not exist."
    assert scheduler.refused("update_schedule", **scheduler.given(Name=name)) == MISSING


def test_a_name_is_taken_in_its_group(scheduler: Scheduler) -> None:
    name, group = scheduler.create(), scheduler.group()
    assert scheduler.refused("create_schedule", **scheduler.given(Name=name)) == CONFLICT
    scheduler.create(Name=name, GroupName=group)
    assert scheduler.refused("create_schedule", **scheduler.given(Name=name, GroupName=group)) == CONFLICT
    assert scheduler.get(name, GroupName=group)["GroupName"] == group
    scheduler.client.delete_schedule(Name=name, GroupName=group)
    assert scheduler.get(name)["GroupName"] == "default"


def test_a_group_must_be_there(scheduler: Scheduler) -> None:
    nowhere = scheduler.name()
    refusal = scheduler.refusal("create_schedule", **scheduler.given(GroupName=nowhere))
    assert (refusal.code, refusal.message) == (MISSING[0], f"Schedule group {nowhere} does not exist.")
    assert scheduler.refused("list_schedules", GroupName=nowhere) == MISSING


def test_client_tokens(scheduler: Scheduler) -> None:
    """Two equal requests with one token create one schedule. A request with a different content is a new request."""
    given = scheduler.given(ClientToken="token-1")
    first = scheduler.client.create_schedule(**given)
    again = scheduler.client.create_schedule(**given)
    assert first["ScheduleArn"] == again["ScheduleArn"]
    other = {**given, "Description": "another"}
    assert scheduler.refused("create_schedule", **other) == CONFLICT
    assert scheduler.refused("create_schedule", **{**given, "ClientToken": "token-2"}) == CONFLICT
    assert "Description" not in scheduler.get(given["Name"])


def test_client_tokens_of_deletions(scheduler: Scheduler) -> None:
    """A repeated request has no effect, even if a new schedule now has the name."""
    name, group = scheduler.create(), scheduler.group()
    for _ in range(2):
        scheduler.client.delete_schedule(Name=name, ClientToken="t")
        scheduler.client.delete_schedule_group(Name=group, ClientToken="t")
    assert scheduler.refused("delete_schedule", Name=name, ClientToken="u") == MISSING
    assert scheduler.refused("delete_schedule_group", Name=group, ClientToken="u") == MISSING
    scheduler.create(Name=name)
    scheduler.client.create_schedule_group(Name=group)
    scheduler.client.delete_schedule(Name=name, ClientToken="t")
    scheduler.client.delete_schedule_group(Name=group, ClientToken="t")
    assert scheduler.get(name)["Name"] == name
    assert scheduler.client.get_schedule_group(Name=group)["State"] == "ACTIVE"
    scheduler.client.delete_schedule(Name=name, ClientToken="u")
    assert scheduler.refused("get_schedule", Name=name) == MISSING


@pytest.mark.parametrize("expression", ["rate(1 day)", "cron(0 10 ? * MON-FRI *)", "at(2036-02-29T23:59:59)"])
def test_a_time_zone_belongs_to_every_form(scheduler: Scheduler, expression: str) -> None:
    name = scheduler.create(ScheduleExpression=expression, ScheduleExpressionTimezone="America/New_York")
    assert scheduler.get(name)["ScheduleExpressionTimezone"] == "America/New_York"


def test_a_schedule_shows_the_target_that_it_was_given(scheduler: Scheduler) -> None:
    topic = f"arn:aws:sns:{REGION}:{ACCOUNT}:news"
    for target in (
        {"Arn": topic},
        {"Arn": scheduler.queue_arn(), "SqsParameters": {"MessageGroupId": "g"}},
        {"Arn": UNIVERSAL, "Input": '{"QueueUrl": "jobs", "MessageBody": "<aws.scheduler.execution-id>"}'},
        {"Arn": PUBLISH, "Input": json.dumps({"TopicArn": topic, "Message": "m"})},
        {"Arn": BUS, **EVENT, "Input": '{"n": 1}'},
        {"Arn": BUS, "EventBridgePutRawEventsParameters": {"Metadata": {"k": "v"}}, "Input": "1"},
    ):
        name = scheduler.create(Target={**target, "RoleArn": ROLE})
        assert scheduler.get(name)["Target"].items() >= target.items()


# --- lists -----------------------------------------------------------------------------------------------------------
def test_schedules_are_listed_in_pages(scheduler: Scheduler) -> None:
    group = scheduler.group()
    names = [f"n{number}" for number in range(5)]
    for name in names:
        scheduler.create(Name=name, GroupName=group, State="DISABLED" if name == "n3" else None)
    pages: list[list[str]] = []
    token: dict[str, str] = {}
    while len(pages) < 5:
        response = scheduler.client.list_schedules(GroupName=group, MaxResults=2, **token)
        pages.append([schedule["Name"] for schedule in response["Schedules"]])
        if "NextToken" not in response:
            break
        token = {"NextToken": response["NextToken"]}
    assert pages == [["n0", "n1"], ["n2", "n3"], ["n4"]]
    (one,) = scheduler.client.list_schedules(GroupName=group, State="DISABLED")["Schedules"]
    assert one.pop("CreationDate") == one.pop("LastModificationDate")
    assert one == {
        "Arn": f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/{group}/n3",
        "Name": "n3",
        "GroupName": group,
        "State": "DISABLED",
        "Target": {"Arn": scheduler.queue_arn()},
    }


def test_schedules_are_listed_by_prefix_over_groups(scheduler: Scheduler) -> None:
    prefix, group = scheduler.name(), scheduler.group()
    places = [("default", f"{prefix}a"), ("default", f"{prefix}b"), (group, f"{prefix}a")]
    for where, name in places:
        scheduler.create(Name=name, GroupName=where)
    found: list[tuple[str, str]] = []
    for page in scheduler.client.get_paginator("list_schedules").paginate(NamePrefix=prefix, MaxResults=1):
        found += [(schedule["GroupName"], schedule["Name"]) for schedule in page["Schedules"]]
    assert found == places
    assert scheduler.client.list_schedules(NamePrefix=f"{prefix}c")["Schedules"] == []


def test_accounts_and_regions_are_apart(scheduler: Scheduler) -> None:
    name = scheduler.create()
    sqs = scheduler.sqs
    for other in (sqs.caller(account="111122223333"), sqs.caller(region="eu-west-1")):
        assert scheduler.of(other).refused("get_schedule", Name=name) == MISSING
        assert scheduler.of(other).client.list_schedules(NamePrefix=name)["Schedules"] == []


# --- groups ----------------------------------------------------------------------------------------------------------
def test_a_group(scheduler: Scheduler) -> None:
    name = scheduler.name()
    arn = scheduler.client.create_schedule_group(Name=name)["ScheduleGroupArn"]
    found = scheduler.client.get_schedule_group(Name=name)
    assert arn == found["Arn"] == scheduler.group_arn(name)
    assert (found["Name"], found["State"]) == (name, "ACTIVE")
    assert found["CreationDate"] == found["LastModificationDate"]
    assert scheduler.refused("create_schedule_group", Name=name) == CONFLICT
    assert scheduler.refused("create_schedule_group", Name="default") == CONFLICT
    listed = scheduler.client.list_schedule_groups(NamePrefix=name)["ScheduleGroups"]
    assert listed == [{key: found[key] for key in listed[0]}]
    assert listed[0].keys() == {"Arn", "Name", "State", "CreationDate", "LastModificationDate"}


def test_the_default_group_is_always_there(scheduler: Scheduler) -> None:
    assert scheduler.client.get_schedule_group(Name="default")["State"] == "ACTIVE"
    names = [group["Name"] for group in scheduler.client.list_schedule_groups(NamePrefix="def")["ScheduleGroups"]]
    assert names == ["default"]
    assert scheduler.refused("delete_schedule_group", Name="default") == INVALID


def test_a_deleted_group_takes_its_schedules_along(scheduler: Scheduler) -> None:
    group = scheduler.group()
    names = [scheduler.create(GroupName=group) for _ in range(3)]
    scheduler.client.delete_schedule_group(Name=group)
    assert scheduler.refused("get_schedule_group", Name=group) == MISSING
    assert scheduler.refused("delete_schedule_group", Name=group) == MISSING
    for name in names:
        assert scheduler.refused("get_schedule", Name=name, GroupName=group) == MISSING
    scheduler.client.create_schedule_group(Name=group)
    assert scheduler.client.list_schedules(GroupName=group)["Schedules"] == []


def test_groups_are_listed_in_pages(scheduler: Scheduler) -> None:
    prefix = scheduler.name()
    for letter in "abc":
        scheduler.client.create_schedule_group(Name=prefix + letter)
    pages = scheduler.client.get_paginator("list_schedule_groups").paginate(NamePrefix=prefix, MaxResults=2)
    found = [[group["Name"][-1] for group in page["ScheduleGroups"]] for page in pages]
    assert found == [["a", "b"], ["c"]]


def test_client_tokens_of_groups(scheduler: Scheduler) -> None:
    given: dict[str, Any] = {"Name": scheduler.name(), "ClientToken": "t", "Tags": [{"Key": "a", "Value": "b"}]}
    arns = {scheduler.client.create_schedule_group(**given)["ScheduleGroupArn"] for _ in range(2)}
    assert arns == {scheduler.group_arn(given["Name"])}
    assert scheduler.refused("create_schedule_group", **{**given, "Tags": []}) == CONFLICT


def test_a_group_has_the_tags_that_requests_set_and_remove(scheduler: Scheduler) -> None:
    group = scheduler.group(Tags=[{"Key": "team", "Value": "blue"}, {"Key": "a b/ü", "Value": "v"}])
    arn = scheduler.group_arn(group)
    assert scheduler.tags(group) == {"team": "blue", "a b/ü": "v"}
    scheduler.client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "red"}, {"Key": "&=+", "Value": "1"}])
    assert scheduler.tags(group) == {"team": "red", "a b/ü": "v", "&=+": "1"}
    scheduler.client.untag_resource(ResourceArn=arn, TagKeys=["a b/ü", "&=+", "never"])
    assert scheduler.tags(group) == {"team": "red"}


def test_tags_have_limits(scheduler: Scheduler) -> None:
    """A resource has at most 50 tags ("Tagging your resources", AWS General Reference). Keys that begin with aws: are
    reserved for AWS.
    """
    group = scheduler.group(Tags=[{"Key": str(n), "Value": "v"} for n in range(49)])
    arn = scheduler.group_arn(group)
    two = [{"Key": "x", "Value": "v"}, {"Key": "y", "Value": "v"}]
    assert scheduler.refused("tag_resource", ResourceArn=arn, Tags=two) == ("ServiceQuotaExceededException", 402)
    assert scheduler.refused("tag_resource", ResourceArn=arn, Tags=[two[0], two[0]]) == INVALID
    assert scheduler.refused("tag_resource", ResourceArn=arn, Tags=[{"Key": "AWS:x", "Value": "v"}]) == INVALID
    scheduler.client.tag_resource(ResourceArn=arn, Tags=two[:1])
    assert len(scheduler.tags(group)) == 50


@pytest.mark.parametrize("place", [("us-east-1", "111122223333"), ("eu-west-1", ACCOUNT)])
def test_tags_of_others(scheduler: Scheduler, place: tuple[str, str]) -> None:
    region, account = place
    group = scheduler.group()
    arn = f"arn:aws:scheduler:{region}:{account}:schedule-group/{group}"
    assert scheduler.refused("list_tags_for_resource", ResourceArn=arn) == MISSING
    tag = [{"Key": "a", "Value": "b"}]
    assert scheduler.refused("tag_resource", ResourceArn=arn, Tags=tag) == MISSING
    assert scheduler.refused("untag_resource", ResourceArn=arn, TagKeys=["a"]) == MISSING
    gone = scheduler.group_arn(scheduler.name())
    assert scheduler.refused("tag_resource", ResourceArn=gone, Tags=tag) == MISSING


# --- what is refused -------------------------------------------------------------------------------------------------
def target(**changes: Any) -> dict[str, Any]:
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:jobs"
    return {key: value for key, value in {"Arn": arn, "RoleArn": ROLE, **changes}.items() if value is not None}


UNIVERSAL, PUBLISH = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage", "arn:aws:scheduler:::aws-sdk:sns:publish"
BUS = f"arn:aws:events:{REGION}:{ACCOUNT}:event-busv2/orders/{'a' * 25}"
PUT_EVENTS = "target.eventBridgePutEventsV2Parameters"
EVENT = {"EventBridgePutEventsV2Parameters": {"DetailType": "order", "Source": "shop"}}

LIMITS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"Name": "a b"}, "'a b'", "name", "satisfy regular expression pattern: [0-9a-zA-Z-_.]+"),
    ({"Name": "x" * 65}, f"'{'x' * 65}'", "name", "have length less than or equal to 64"),
    ({"ScheduleExpression": ""}, "''", "scheduleExpression", "have length greater than or equal to 1"),
    ({"ScheduleExpression": None}, "null", "scheduleExpression", "not be null"),
    ({"State": "PAUSED"}, "'PAUSED'", "state", "satisfy enum value set: [DISABLED, ENABLED]"),
    ({"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 1441}}, "'1441'",
     "flexibleTimeWindow.maximumWindowInMinutes", "have value less than or equal to 1440"),
    ({"Target": target(RetryPolicy={"MaximumEventAgeInSeconds": 59})}, "'59'",
     "target.retryPolicy.maximumEventAgeInSeconds", "have value greater than or equal to 60"),
    ({"Target": target(RetryPolicy={"MaximumRetryAttempts": 186})}, "'186'",
     "target.retryPolicy.maximumRetryAttempts", "have value less than or equal to 185"),
    ({"Target": target(RoleArn=None)}, "null", "target.roleArn", "not be null"),
    ({"Target": target(RoleArn="arn:aws:iam::1:role/x")}, "'arn:aws:iam::1:role/x'", "target.roleArn",
     r"satisfy regular expression pattern: arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@\/-]+"),
    ({"Target": target(DeadLetterConfig={"Arn": "x.fifo"})}, "'x.fifo'", "target.deadLetterConfig.arn",
     r"satisfy regular expression pattern: arn:aws[a-z-]*:sqs:[a-z0-9\-]+:\d{12}:[a-zA-Z0-9\-_]+"),
    ({"Target": target(EventBridgePutEventsV2Parameters={"DetailType": "order", "Source": "aws.s"})}, "'aws.s'",
     "target.eventBridgePutEventsV2Parameters.source",
     r"satisfy regular expression pattern: (?=[/\.\-_A-Za-z0-9]+)((?!aws\.).*)|(\$(\.[\w_-]+(\[(\d+|\*)\])*)*)"),
    ({"ClientToken": "ü"}, "'ü'", "clientToken", "satisfy regular expression pattern: [a-zA-Z0-9-_]+"),
    ({"Description": "x" * 513}, f"'{'x' * 512}'", "description", "have length less than or equal to 512"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "shown", "path", "reason"), LIMITS)
def test_limits_of_the_model(scheduler: Scheduler, members: dict[str, Any], shown: str, path: str, reason: str) -> None:
    """AWS's services use the texts in this test. The error truncates a quoted value after 512 characters."""
    refusal = scheduler.refusal("create_schedule", **scheduler.given(**members))
    assert (refusal.code, refusal.status) == INVALID
    constraint = f"failed to satisfy constraint: Member must {reason}"
    assert refusal.message == f"1 validation error detected: Value {shown} at '{path}' {constraint}"


def test_an_error_names_every_invalid_member(scheduler: Scheduler) -> None:
    refusal = scheduler.refusal("create_schedule", **scheduler.given(Name="a b", State="no", Target={}))
    assert refusal.message.startswith("4 validation errors detected: Value 'a b' at 'name' ")
    assert "; Value null at 'target.arn' " in refusal.message


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"ScheduleExpression": "rate(1 minutes"}, "Invalid Schedule Expression rate(1 minutes."),
        ({"ScheduleExpression": "cron(* * * * * *)"}, "Invalid Schedule Expression cron(* * * * * *)."),
        ({"ScheduleExpression": "at(2036-02-30T00:00:00)"}, "Invalid Schedule Expression at(2036-02-30T00:00:00)."),
        ({"ScheduleExpressionTimezone": "Mars/Olympus"}, "'Mars/Olympus' at 'scheduleExpressionTimezone'"),
        ({"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}}, f"null at '{WINDOW}'"),
        ({"FlexibleTimeWindow": {"Mode": "OFF", "MaximumWindowInMinutes": 5}}, f"'5' at '{WINDOW}'"),
        ({"StartDate": END, "EndDate": START}, f"'{START.timestamp()}' at 'endDate'"),
        ({"Target": target(Arn="arn:aws:lambda:us-east-1:000000000000:function:f")},
         "'arn:aws:lambda:us-east-1:000000000000:function:f' at 'target.arn'"),
        ({"Target": target(Arn="arn:aws:scheduler:::aws-sdk:sqs:purgeQueue")},
         "'arn:aws:scheduler:::aws-sdk:sqs:purgeQueue' at 'target.arn'"),
        ({"Target": target(Arn=UNIVERSAL)}, "null at 'target.input'"),
        ({"Target": target(Arn=UNIVERSAL, Input='{"MessageBody": "m"}')}, "'…' at 'target.input'"),
        ({"Target": target(Arn=UNIVERSAL, Input='{"MessageBody": 1, "QueueUrl": "jobs"}')}, "'…' at 'target.input'"),
        ({"Target": target(Arn=UNIVERSAL, Input='{"MessageBody": "m", "QueueUrl": "a b"}')}, "'…' at 'target.input'"),
        ({"Target": target(Arn=UNIVERSAL, Input="[]")}, "'…' at 'target.input'"),
        ({"Target": target(Arn=PUBLISH, Input='{"Message": "m", "PhoneNumber": "+4912"}')}, "'…' at 'target.input'"),
        ({"Target": target(Arn=BUS)}, f"null at '{PUT_EVENTS}'"),
        ({"Target": target(Arn=BUS, **EVENT, EventBridgePutRawEventsParameters={})}, f"'{{…}}' at '{PUT_EVENTS}'"),
        ({"Target": target(Arn=BUS, Input="[]", **EVENT)}, "'{…}' at 'target'"),
        ({"Target": target(Arn=BUS, Input="no", EventBridgePutRawEventsParameters={})}, "'{…}' at 'target'"),
        ({"Target": target(**EVENT)}, f"'{{…}}' at '{PUT_EVENTS}'"),
        ({"Target": target(Arn="jobs")}, "'jobs' at 'target.arn'"),
        ({"Target": target(KinesisParameters={"PartitionKey": "k"})}, "'{…}' at 'target.kinesisParameters'"),
        ({"Target": target(Arn=f"arn:aws:sqs:{REGION}:{ACCOUNT}:a.fifo")}, f"null at '{GROUP_ID}'"),
        ({"Target": target(Arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:t", SqsParameters={"MessageGroupId": "g"})},
         f"'g' at '{GROUP_ID}'"),
        ({"Target": target(SqsParameters={"MessageGroupId": "a b"})}, f"'a b' at '{GROUP_ID}'"),
        ({"Target": target(Input="\x01")}, "'…' at 'target.input'"),
        ({"Target": target(Input="x" * 1_048_577)}, "'…' at 'target.input'"),
        ({"Target": target(Arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:t", Input="x" * 1_048_577)}, "'…' at 'target.input'"),
    ],
)  # fmt: skip
def test_an_invalid_schedule_is_refused(scheduler: Scheduler, members: dict[str, Any], text: str) -> None:
    """The service returns AWS's texts without any addition. If AWS's model has no text about a constraint, the text is
    Penstock's.
    """
    given = scheduler.given(**members)
    refusal = scheduler.refusal("create_schedule", **given)
    assert (refusal.code, refusal.status) == INVALID
    if text.startswith("Invalid"):
        assert refusal.message == text
    else:
        form = f"1 validation error detected: Value {text} failed to satisfy constraint: Member must "
        assert refusal.message.startswith(form)
        assert "." not in refusal.message.removeprefix(form)  # the message has one clause and no explanation after it
    name = scheduler.create()
    assert scheduler.refused("update_schedule", **{**given, "Name": name}) == INVALID


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("list_schedules", {"MaxResults": 0}),
        ("list_schedules", {"MaxResults": 101}),
        ("list_schedules", {"NextToken": "x"}),
        ("list_schedules", {"NextToken": "AAAA"}),
        ("list_schedules", {"NamePrefix": "a b"}),
        ("list_schedules", {"State": "enabled"}),
        ("list_schedule_groups", {"MaxResults": 101}),
        ("list_schedule_groups", {"NextToken": "x"}),
        ("get_schedule", {"Name": "%"}),
        ("get_schedule", {"Name": "a", "GroupName": "a/b"}),
        ("delete_schedule", {"Name": "a", "ClientToken": "."}),
        ("get_schedule_group", {"Name": "a/b"}),
        ("list_tags_for_resource", {"ResourceArn": "arn:aws:sqs:us-east-1:000000000000:q"}),
        ("tag_resource", {"ResourceArn": f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/a", "Tags": []}),
        ("untag_resource", {"ResourceArn": "x", "TagKeys": ["a"]}),
        ("create_schedule_group", {"Name": "n", "Tags": [{"Key": "", "Value": "v"}]}),
        ("create_schedule_group", {"Name": "n", "Tags": [{"Key": "k"}]}),
    ],
)  # fmt: skip
def test_bad_requests(scheduler: Scheduler, method: str, members: dict[str, Any]) -> None:
    assert scheduler.refused(method, **members) == INVALID


def test_the_errors_are_those_of_the_model(scheduler: Scheduler) -> None:
    """The client creates exception classes from the model's errors."""
    name = scheduler.create()
    with pytest.raises(scheduler.client.exceptions.ConflictException):
        scheduler.client.create_schedule(**scheduler.given(Name=name))
    with pytest.raises(scheduler.client.exceptions.ResourceNotFoundException):
        scheduler.client.get_schedule(Name="never")
    with pytest.raises(scheduler.client.exceptions.ValidationException):
        scheduler.client.create_schedule(**scheduler.given(ScheduleExpression="x", FlexibleTimeWindow=OFF))
