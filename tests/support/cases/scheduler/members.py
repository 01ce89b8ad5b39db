"""Defines cases of EventBridge Scheduler's twelve actions. The limits follow from the traits in botocore's model.

The response to a missing or invalid member is ValidationException in AWS's format ("1 validation error detected: …").
One text contains all violations. The response to a value of a wrong type is SerializationException. The service ignores
unknown members. Names are case-sensitive.
"""

from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import (
    ABSENT,
    MALFORMED,
    MODELS,
    OK,
    REST_JSON,
    Case,
    Member,
    Members,
    Response,
    Source,
    common_errors,
    members_of,
    problem,
    problems_of,
    reference,
    report,
    violations,
)

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
# Parameters for target types that Penstock does not support.
WITHOUT = frozenset(
    (
        "EcsParameters",
        "EventBridgeParameters",
        "EventBridgePutEventsV2Parameters",
        "EventBridgePutRawEventsParameters",
        "KinesisParameters",
        "SageMakerPipelineParameters",
    )
)
# The list items of cases that change a member of an item.
ITEMS: dict[str, Any] = {"Tags": [TAG]}
BEGINNINGS = {
    "KmsKeyArn": "arn:aws:kms:us-east-1:710000000001:key/",
    "RoleArn": "arn:aws:iam::710000000001:role/",
    "DeadLetterConfigArnString": "arn:aws:sqs:us-east-1:710000000001:",
    "TagResourceArn": "arn:aws:scheduler:us-east-1:710000000001:schedule-group/",
    "TargetArn": "arn:aws:sqs:us-east-1:710000000001:",
}
TOKENS = {str: "STRING_VALUE", int: "NUMBER_VALUE", bool: "TRUE_VALUE"}


def invalid(*problems: str) -> Response:
    return Response("ValidationException", violations(*problems))


SERIALIZATION = Response("SerializationException")
NULL = "not be null"
CONVERSION = report("aarondfrancis/sidecar", 148)


def cases() -> Iterator[Case]:
    for action, usual in USUAL.items():
        yield Case("scheduler", action, "", "as usual", {}, OK, reference("scheduler", action))
        yield Case(
            "scheduler",
            action,
            "",
            "unsigned, nothing given",
            dict.fromkeys(_body_of(action), ABSENT),
            Response("MissingAuthenticationTokenException"),
            common_errors("scheduler"),
            unsigned=True,
        )
        for member in members_of("scheduler", action, without=WITHOUT):
            for case, change, response, source in _of_member(member):
                parameter = member.path.replace("/0/", ".N.").replace("/", ".")
                yield Case("scheduler", action, parameter, case, _placed(action, usual, change), response, source)


def _body_of(action: str) -> list[str]:
    return [name for name in USUAL[action] if name not in ("Name", "ResourceArn")]


def _placed(action: str, usual: Members, change: dict[str, Any]) -> dict[str, Any]:
    """Returns the change. Adds the list item that the change's path needs but the usual request lacks."""
    path = next(iter(change))
    first = path.split("/")[0]
    return {first: ITEMS[first], **change} if "/0/" in path and first not in usual else change


Found = tuple[str, dict[str, Any], Response, Source]


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
            yield (
                f"of a wrong type: {value!r}",
                {member.path: value},
                Response("SerializationException", text),
                source,
            )
    if member.where == "querystring":
        if member.required:
            yield "absent", {member.path: ABSENT}, missing, MODEL
        lower = member.shape.serialization["name"].lower()
        yield "name in lower case", {f"?{lower}": "x", member.path: ABSENT}, missing, REST_JSON
    yield from _values(member)


def _wrong_types(member: Member) -> list[Any]:
    values: dict[str, list[Any]] = {
        "string": [1, True, [], {}],
        "integer": ["1", 1.5, True, []],
        "timestamp": ["2030-01-01", True, {}],
        "structure": ["x", 1, []],
        "list": ["x", {}, [None]],
    }
    return values[member.kind]


def _values(member: Member) -> Iterator[Found]:
    """Yields values of the right type that break the model's traits, and values at the limits."""
    if member.kind == "string":
        yield from _texts(member)
    elif member.kind == "integer":
        yield from _numbers(member)
    elif member.kind == "list" and member.trait("max"):
        many = [{"Key": str(n), "Value": "v"} if member.path == "Tags" else str(n) for n in range(201)]
        yield "201 items", {member.path: many}, Response("ValidationException"), MODEL
    elif member.kind == "structure":
        inner = list(member.shape.required_members)
        text = (
            violations(*(problem("null", f"{member.shown}.{_small(name)}", NULL) for name in inner)) if inner else None
        )
        response = Response("ValidationException", text) if inner else OK
        yield "empty", {member.path: {}}, response, MODEL


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
        text = invalid(*problems_of(member, value)) if most < 500 else Response("ValidationException")
        yield f"{most + 1} characters", {member.path: value}, text, MODEL
    if member.trait("pattern") is not None:
        yield ("a character too many", {member.path: f"{beginning}a b"},
               invalid(*problems_of(member, beginning + "a b")), MODEL)  # fmt: skip
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
