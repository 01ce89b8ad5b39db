"""Cases of EventBridge Scheduler's twelve actions. Most follow from the traits of botocore's model; `ROWS` are by hand.

An absent or wrong member: ValidationException in AWS's form ("1 validation error detected: …"), all violations in one
text; a value of a wrong type: SerializationException; unknown members are ignored, and names have one letter case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import ABSENT, OK, OURS, Answer, Case, Members, Source
from tests.support.cases.members import Member, members_of, problem, problems_of, violations
from tests.support.cases.sources import MALFORMED, MODELS, REST_JSON, common_errors, guide, reference, report

MODEL = MODELS["scheduler"]
QUEUE = "arn:aws:sqs:us-east-1:710000000001:jobs"
ROLE = "arn:aws:iam::710000000001:role/scheduler"
SCHEDULE: Members = {
    "ScheduleExpression": "rate(365 days)",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": QUEUE, "RoleArn": ROLE},
}
TAG = {"Key": "a", "Value": "b"}
USUAL: dict[str, Members] = {
    "CreateSchedule": {"Name": "<name>", **SCHEDULE},
    "UpdateSchedule": {"Name": "<schedule>", **SCHEDULE},
    "GetSchedule": {"Name": "<schedule>"},
    "DeleteSchedule": {"Name": "<new-schedule>"},
    "ListSchedules": {},
    "CreateScheduleGroup": {"Name": "<name>"},
    "GetScheduleGroup": {"Name": "<group>"},
    "DeleteScheduleGroup": {"Name": "<new-group>"},
    "ListScheduleGroups": {},
    "TagResource": {"ResourceArn": "<group-arn>", "Tags": [TAG]},
    "UntagResource": {"ResourceArn": "<group-arn>", "TagKeys": ["a"]},
    "ListTagsForResource": {"ResourceArn": "<group-arn>"},
}
# Parameters of targets that Penstock does not invoke.
WITHOUT = frozenset((
    "EcsParameters", "EventBridgeParameters", "EventBridgePutEventsV2Parameters", "EventBridgePutRawEventsParameters",
    "KinesisParameters", "SageMakerPipelineParameters",
))  # fmt: skip
# What an item of a list is, when a case is about one of its members.
ITEMS: dict[str, Any] = {"Tags": [TAG]}
BEGINNINGS = {
    "KmsKeyArn": "arn:aws:kms:us-east-1:710000000001:key/",
    "RoleArn": "arn:aws:iam::710000000001:role/",
    "DeadLetterConfigArnString": "arn:aws:sqs:us-east-1:710000000001:",
    "TagResourceArn": "arn:aws:scheduler:us-east-1:710000000001:schedule-group/",
    "TargetArn": "arn:aws:sqs:us-east-1:710000000001:",
}
TOKENS = {str: "STRING_VALUE", int: "NUMBER_VALUE", bool: "TRUE_VALUE"}


def invalid(*problems: str) -> Answer:
    return Answer("ValidationException", violations(*problems))


SERIALIZATION = Answer("SerializationException")
NULL = "not be null"
CONVERSION = report("aarondfrancis/sidecar", 148)


def cases() -> Iterator[Case]:
    """All cases."""
    for action, usual in USUAL.items():
        yield Case("scheduler", action, "", "as usual", {}, OK, reference("scheduler", action))
        yield Case("scheduler", action, "", "unsigned, nothing given", dict.fromkeys(_body_of(action), ABSENT),
                   Answer("MissingAuthenticationTokenException"), common_errors("scheduler"), unsigned=True)  # fmt: skip
        for member in members_of("scheduler", action, without=WITHOUT):
            for case, change, answer, source in _of_member(member):
                parameter = member.path.replace("/0/", ".N.").replace("/", ".")
                yield Case("scheduler", action, parameter, case, _placed(action, usual, change), answer, source)
    for row in ROWS:
        yield Case("scheduler", *row)


def _body_of(action: str) -> list[str]:
    return [name for name in USUAL[action] if name not in ("Name", "ResourceArn")]


def _placed(action: str, usual: Members, change: dict[str, Any]) -> dict[str, Any]:
    """The change, with an item to be changed in a list that the usual request does not have."""
    path = next(iter(change))
    first = path.split("/")[0]
    return {first: ITEMS[first], **change} if "/0/" in path and first not in usual else change


Found = tuple[str, dict[str, Any], Answer, Source]


def _of_member(member: Member) -> Iterator[Found]:
    missing = invalid(problem("null", member.shown, NULL)) if member.required else OK
    if not member.where:
        if member.required:
            yield "absent", {member.path: ABSENT}, missing, MODEL
        yield "null", {member.path: None}, missing, REST_JSON
        head, _, name = member.path.rpartition("/")
        lower = f"{head}/{name.lower()}" if head else name.lower()
        yield "name in lower case", {lower: "x", member.path: ABSENT}, missing, REST_JSON
        for value in _wrong_types(member):
            text, source = None, MALFORMED
            if member.kind == "string" and not isinstance(value, list | dict):
                text, source = f"{TOKENS[type(value)]} can not be converted to a String", CONVERSION
            yield f"of a wrong type: {value!r}", {member.path: value}, Answer("SerializationException", text), source
    if member.where == "querystring":
        if member.required:
            yield "absent", {member.path: ABSENT}, missing, MODEL
        lower = member.shape.serialization["name"].lower()
        yield "name in lower case", {f"?{lower}": "x", member.path: ABSENT}, missing, REST_JSON
    yield from _values(member)


def _wrong_types(member: Member) -> list[Any]:
    return {
        "string": [1, True, [], {}],
        "integer": ["1", 1.5, True, []],
        "timestamp": ["2030-01-01", True, {}],
        "structure": ["x", 1, []],
        "list": ["x", {}, [None]],
    }[member.kind]


def _values(member: Member) -> Iterator[Found]:
    """Values of the right type that break the model's traits, and those at their limits."""
    if member.kind == "string":
        yield from _texts(member)
    elif member.kind == "integer":
        yield from _numbers(member)
    elif member.kind == "list" and member.trait("max"):
        many = [{"Key": str(n), "Value": "v"} if member.path == "Tags" else str(n) for n in range(201)]
        yield "201 items", {member.path: many}, Answer("ValidationException"), MODEL
    elif member.kind == "structure":
        inner = [name for name in member.shape.required_members]
        text = violations(*(problem("null", f"{member.shown}.{_small(name)}", NULL) for name in inner)) if inner else None
        answer = Answer("ValidationException", text) if inner else OK
        yield "empty", {member.path: {}}, answer, MODEL


def _small(name: str) -> str:
    return name[:1].lower() + name[1:]


def _texts(member: Member) -> Iterator[Found]:
    if member.where != "uri":
        found = problems_of(member, "")
        yield "empty", {member.path: ""}, invalid(*found) if found else OK, MODEL
    most = member.trait("max")
    beginning = BEGINNINGS.get(member.shape.name, "")
    if most is not None:
        value = beginning.ljust(most + 1, "a")
        text = invalid(*problems_of(member, value)) if most < 500 else Answer("ValidationException")
        yield f"{most + 1} characters", {member.path: value}, text, MODEL
    if member.trait("pattern") is not None:
        yield "a character too many", {member.path: f"{beginning}a b"}, invalid(*problems_of(member, beginning + "a b")), MODEL
    if member.enum:
        for case, value in (("in lower case", member.enum[0].lower()), ("unknown", "NO")):
            yield f"value {case}", {member.path: value}, invalid(*problems_of(member, value)), MODEL


def _numbers(member: Member) -> Iterator[Found]:
    least, most = member.trait("min"), member.trait("max")
    for value in (least - 1, most + 1):
        yield str(value), {member.path: value}, invalid(*problems_of(member, value)), MODEL
    if member.where == "querystring":
        for case, text in (("no number", "x"), ("empty", ""), ("a fraction", "1.5")):
            yield case, {member.path: text}, SERIALIZATION, MALFORMED
    elif not member.path.startswith("FlexibleTimeWindow"):
        for value in (least, most):
            yield str(value), {member.path: value}, OK, MODEL


NAME_TAKEN = Answer("ConflictException", "Schedule <schedule> already exists.")
GROUPS = guide("scheduler", "managing-schedule-group", "Managing a schedule group")
TYPES = guide("scheduler", "schedule-types", "Schedule types in EventBridge Scheduler")
FLEXIBLE = guide("scheduler", "managing-schedule-flexible-time-windows", "Configuring flexible time windows")
VALIDATION = Answer("ValidationException")


def _missing(what: str) -> Answer:
    return Answer("ResourceNotFoundException", f"{what} does not exist.")


EXPRESSIONS = (
    "x", "rate()", "rate(0 days)", "rate(-1 days)", "rate(1.5 days)", "rate(1 week)", "rate(1)", "rate(days)", "cron()",
    "cron(* * * * *)", "cron(* * * * * *)", "cron(60 * * * ? *)", "cron(0 24 * * ? *)", "cron(0 0 32 * ? *)",
    "cron(0 0 ? 13 * *)", "cron(0 0 ? * 8 *)", "cron(0 0 ? * MON#6 *)", "cron(0 0 1 * ? 1969)", "cron(0 0 1 * ? 2200)",
    "at()", "at(2030-01-01)", "at(2030-01-01 00:00:00)", "at(2030-01-01T00:00)", "at(2030-02-30T00:00:00)",
    "at(2030-01-01T00:00:00Z)", "at(2030-01-01T24:00:00)", "rate(1 day", "(1 day)",
)  # fmt: skip
VALID = (
    "rate(1 minute)", "rate(5 minutes)", "rate(1 hour)", "rate(3 hours)", "rate(1 day)", "at(2036-11-20T13:00:00)",
    "cron(15 10 ? * 6L 2022-2036)", "cron(0 10 * * ? *)", "cron(0/5 8-17 ? * MON-FRI *)", "cron(0 9 ? * 2#1 *)",
    "cron(0 9 L * ? *)", "cron(0 9 15W * ? *)", "cron(0 0 1 JAN,feb ? *)",
)  # fmt: skip

Row = tuple[str, str, str, dict[str, Any], Answer, Source]
ROWS: list[Row] = [
    # --- expressions -------------------------------------------------------------------------------------------------
    *(("CreateSchedule", "ScheduleExpression", text, {"ScheduleExpression": text}, VALIDATION, TYPES) for text in EXPRESSIONS),
    *(("CreateSchedule", "ScheduleExpression", text, {"ScheduleExpression": text}, OK, TYPES) for text in VALID),
    ("CreateSchedule", "ScheduleExpression", "RATE(1 day)", {"ScheduleExpression": "RATE(1 day)"}, VALIDATION, OURS),
    ("CreateSchedule", "ScheduleExpressionTimezone", "unknown", {"ScheduleExpressionTimezone": "Mars/Base"}, VALIDATION, TYPES),
    ("CreateSchedule", "ScheduleExpressionTimezone", "in lower case", {"ScheduleExpressionTimezone": "europe/berlin"},
     VALIDATION, OURS),
    # --- members that exclude or need each other ---------------------------------------------------------------------
    ("CreateSchedule", "FlexibleTimeWindow.MaximumWindowInMinutes", "with Mode OFF",
     {"FlexibleTimeWindow": {"Mode": "OFF", "MaximumWindowInMinutes": 5}}, VALIDATION, OURS),
    ("CreateSchedule", "FlexibleTimeWindow.MaximumWindowInMinutes", "absent with Mode FLEXIBLE",
     {"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}}, VALIDATION, FLEXIBLE),
    *(("CreateSchedule", "FlexibleTimeWindow.MaximumWindowInMinutes", str(minutes),
       {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": minutes}}, OK, MODEL) for minutes in (1, 1440)),
    ("CreateSchedule", "EndDate", "before StartDate", {"StartDate": 2_000_000_000, "EndDate": 1_999_999_999}, VALIDATION, OURS),
    ("CreateSchedule", "EndDate", "equal to StartDate", {"StartDate": 2_000_000_000, "EndDate": 2_000_000_000}, VALIDATION, OURS),
    ("CreateSchedule", "StartDate", "for a one-time schedule: ignored",
     {"StartDate": 2_000_000_000, "ScheduleExpression": "at(2036-11-20T13:00:00)"}, OK, reference("scheduler", "CreateSchedule")),
    ("CreateSchedule", "StartDate", "a year ago", {"StartDate": 1_700_000_000}, OK, OURS),
    ("CreateSchedule", "StartDate", "negative", {"StartDate": -1}, VALIDATION, OURS),
    ("CreateSchedule", "Target.SqsParameters", "absent for a FIFO queue", {"Target/Arn": f"{QUEUE}.fifo"}, VALIDATION, OURS),
    ("CreateSchedule", "Target.Arn", "of no service", {"Target/Arn": "x"}, VALIDATION, OURS),
    ("CreateSchedule", "Target.Arn", "of a function", {"Target/Arn": "arn:aws:lambda:us-east-1:710000000001:function:f"},
     VALIDATION, OURS),
    ("CreateSchedule", "Target.DeadLetterConfig.Arn", "absent", {"Target/DeadLetterConfig": {}}, OK, MODEL),
    ("CreateSchedule", "Target.EcsParameters", "with a queue", {"Target/EcsParameters": {"TaskDefinitionArn": "x"}},
     VALIDATION, OURS),
    ("CreateSchedule", "ClientToken", "twice the same", {"ClientToken": "t"}, OK, reference("scheduler", "CreateSchedule")),
    # --- existence ---------------------------------------------------------------------------------------------------
    ("CreateSchedule", "Name", "taken", {"Name": "<schedule>"}, NAME_TAKEN, reference("scheduler", "CreateSchedule")),
    ("CreateSchedule", "GroupName", "of no group", {"GroupName": "none"}, _missing("Schedule group none"),
     reference("scheduler", "CreateSchedule")),
    ("UpdateSchedule", "GroupName", "of no group", {"GroupName": "none"}, Answer("ResourceNotFoundException"),
     reference("scheduler", "UpdateSchedule")),
    ("UpdateSchedule", "Name", "of no schedule", {"Name": "none"}, _missing("Schedule none"),
     reference("scheduler", "UpdateSchedule")),
    ("UpdateSchedule", "Name", "in another letter case", {"Name": "CASE-1"}, _missing("Schedule CASE-1"), MODEL),
    ("GetSchedule", "Name", "of no schedule", {"Name": "none"}, _missing("Schedule none"), reference("scheduler", "GetSchedule")),
    ("GetSchedule", "GroupName", "of no group", {"GroupName": "none"}, Answer("ResourceNotFoundException"),
     reference("scheduler", "GetSchedule")),
    ("DeleteSchedule", "Name", "of no schedule", {"Name": "none"}, _missing("Schedule none"),
     reference("scheduler", "DeleteSchedule")),
    ("DeleteSchedule", "GroupName", "of no group", {"GroupName": "none"}, Answer("ResourceNotFoundException"),
     reference("scheduler", "DeleteSchedule")),
    ("ListSchedules", "GroupName", "of no group", {"GroupName": "none"}, _missing("Schedule group none"),
     reference("scheduler", "ListSchedules")),
    ("ListSchedules", "NextToken", "not ours", {"NextToken": "x"}, VALIDATION, OURS),
    ("ListSchedules", "MaxResults", "twice, the second one bad", {"MaxResults": [1, 0]}, OK, OURS),
    ("ListSchedules", "State", "twice, the second one bad", {"State": ["ENABLED", "x"]}, OK, OURS),
    ("ListScheduleGroups", "NextToken", "not ours", {"NextToken": "x"}, VALIDATION, OURS),
    ("ListScheduleGroups", "MaxResults", "twice, the second one bad", {"MaxResults": [1, 0]}, OK, OURS),
    ("ListScheduleGroups", "NamePrefix", "of no group", {"NamePrefix": "none"}, OK, reference("scheduler", "ListScheduleGroups")),
    ("CreateScheduleGroup", "Name", "taken", {"Name": "<group>"}, Answer("ConflictException", "Schedule group <group> already exists."),
     reference("scheduler", "CreateScheduleGroup")),
    ("CreateScheduleGroup", "Name", "default", {"Name": "default"}, Answer("ConflictException"), GROUPS),
    ("CreateScheduleGroup", "Tags", "a key twice", {"Tags": [TAG, TAG]}, VALIDATION, OURS),
    ("CreateScheduleGroup", "Tags", "a key of AWS", {"Tags": [{"Key": "aws:a", "Value": "b"}]}, VALIDATION, OURS),
    ("GetScheduleGroup", "Name", "of no group", {"Name": "none"}, _missing("Schedule group none"),
     reference("scheduler", "GetScheduleGroup")),
    ("DeleteScheduleGroup", "Name", "of no group", {"Name": "none"}, _missing("Schedule group none"),
     reference("scheduler", "DeleteScheduleGroup")),
    ("DeleteScheduleGroup", "Name", "default", {"Name": "default"}, VALIDATION, GROUPS),
    *((action, "ResourceArn", "of no group", {"ResourceArn": f"{BEGINNINGS['TagResourceArn']}none"},
       Answer("ResourceNotFoundException"), reference("scheduler", action))
      for action in ("TagResource", "UntagResource", "ListTagsForResource")),
    *((action, "ResourceArn", "of another account", {"ResourceArn": "arn:aws:scheduler:us-east-1:111122223333:schedule-group/g"},
       Answer("ResourceNotFoundException"), OURS) for action in ("TagResource", "UntagResource", "ListTagsForResource")),
    *((action, "ResourceArn", "of a schedule", {"ResourceArn": "arn:aws:scheduler:us-east-1:710000000001:schedule/default/a"},
       VALIDATION, MODEL) for action in ("TagResource", "UntagResource", "ListTagsForResource")),
    ("TagResource", "Tags", "a key twice", {"Tags": [TAG, TAG]}, VALIDATION, OURS),
    ("UntagResource", "TagKeys", "no such tag", {"TagKeys": ["none"]}, OK, OURS),
    # --- order of checks ---------------------------------------------------------------------------------------------
    ("CreateSchedule", "ScheduleExpression", "bad, in no group", {"ScheduleExpression": "x", "GroupName": "none"}, VALIDATION, OURS),
    ("CreateSchedule", "ScheduleExpression", "bad, name taken", {"ScheduleExpression": "x", "Name": "<schedule>"}, VALIDATION, OURS),
    ("CreateSchedule", "Name", "bad, with a wrong type", {"Name": "a b", "State": 1}, SERIALIZATION, OURS),
    ("UpdateSchedule", "ScheduleExpression", "bad, of no schedule", {"ScheduleExpression": "x", "Name": "none"}, VALIDATION, OURS),
    ("CreateSchedule", "", "three violations at once", {"Name": "a b", "State": "x", "Target/Arn": ABSENT},
     invalid(problem("'a b'", "name", "satisfy regular expression pattern: [0-9a-zA-Z-_.]+"),
             problem("'x'", "state", "satisfy enum value set: [ENABLED, DISABLED]"), problem("null", "target.arn", NULL)),
     report("webiny/webiny-js", 5445)),
]  # fmt: skip
