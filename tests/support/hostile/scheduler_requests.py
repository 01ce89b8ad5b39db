"""Generates hostile requests to EventBridge Scheduler, each with one invalid member. The limits come from the
EventBridge
Scheduler API reference.
"""

import json
import re
from random import Random
from typing import Any
from urllib.parse import quote, quote_from_bytes

from tests.support.hostile import values
from tests.support.hostile.attack import Attack, request
from tests.support.hostile.invalid_members import Members, Target
from tests.support.hostile.values import ANYTHING, NOT_JSON, text

JSON = b"Content-Type: application/json"
NAME = re.compile(r"[0-9a-zA-Z-_.]{1,64}")
TOKEN = re.compile(r"[a-zA-Z0-9-_]{1,64}")
ROLE = "arn:aws:iam::000000000000:role/r"
GROUP_ARN = "arn:aws:scheduler:us-east-1:000000000000:schedule-group/"
EXPRESSIONS = (
    "", "x", "rate()", "rate(0 minutes)", "rate(-1 minutes)", "rate(1.5 minutes)", "rate(1 fortnight)",
    "rate(5 minute s)", "cron()", "cron(* * * * *)", "cron(* * * * * *)", "cron(61 0 * * ? *)", "cron(0 0 32 * ? *)",
    "cron(a b c d e f)", "cron(0 0 ? * ? *)", "at()", "at(yesterday)", "at(2036-01-01)", "at(2036-13-01T00:00:00)",
    "at(2036-01-01T00:00:00Z)", "* * * * *", "rate(5 minutes", "rate(99999999999999999999 days)",
    "cron(" + "1," * 200 + "1 0 * * ? *)", "x" * 257, "rate(5 minutes)\x00", "every day", "rate(٣ minutes)",
    "'; select pg_sleep(9); --", "${jndi:ldap://x}", "{{7*7}}",
)  # fmt: skip


def _window(rng: Random) -> Any:
    minutes = rng.choice((0, 1_441, -1, "x", 1.5))
    return rng.choice((
        None, {}, [], 1, "OFF", {"Mode": "off"}, {"Mode": text(rng, ANYTHING) + "x"}, {"Mode": "FLEXIBLE"},
        {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": minutes},
    ))  # fmt: skip


def _target(rng: Random, good: Members) -> Any:
    """Returns a target: `good` with one member wrong, or unchanged."""
    attempts, seconds = rng.choice((-1, 186, "x", 1.5, 10**30)), rng.choice((59, 86_401))
    bad: tuple[Members, ...] = (
        {"Arn": ""}, {"Arn": text(rng, ANYTHING)}, {"Arn": "x" * 1_601},
        {"Arn": "arn:aws:lambda:us-east-1:0:function:f"}, {"RoleArn": "x"}, {"RoleArn": text(rng, ANYTHING)},
        {"Input": ""}, {"Input": 1}, {"Input": "\x00"}, {"DeadLetterConfig": {"Arn": "x"}}, {"DeadLetterConfig": []},
        {"SqsParameters": {"MessageGroupId": "x" * 129}}, {"SqsParameters": {"MessageGroupId": ""}},
        {"RetryPolicy": {"MaximumRetryAttempts": attempts}}, {"RetryPolicy": {"MaximumEventAgeInSeconds": seconds}},
        {"KinesisParameters": {"PartitionKey": "k"}},
    )  # fmt: skip
    return rng.choice(
        ({}, [], 1, {"Arn": good["Arn"]}, {"RoleArn": ROLE}, *({**good, **broken} for broken in bad))
    )


def _schedule(rng: Random, target: Target) -> Members:
    """Returns the members of a schedule, one of them wrong."""
    good: Members = {
        "ScheduleExpression": "rate(1 hour)", "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": target.arn, "RoleArn": ROLE},
    }  # fmt: skip
    aim = good["Target"]
    bad: tuple[Members, ...] = (
        {"ScheduleExpression": rng.choice(EXPRESSIONS)}, {"ScheduleExpression": rng.choice(EXPRESSIONS)},
        {"ScheduleExpression": rng.choice(values.NOT_A_TEXT)}, {"ScheduleExpression": None}, {"Target": None},
        {"FlexibleTimeWindow": _window(rng)}, {"Target": _target(rng, aim)}, {"Target": _target(rng, aim)},
        {"StartDate": rng.choice(("x", "", [], True, "2036-01-01", 1e300, {"a": 1}))},
        {"EndDate": rng.choice(("x", [], 1e300))}, {"StartDate": 2_114_380_800, "EndDate": 2_082_758_400},
        {"State": text(rng, lambda state: state not in {"ENABLED", "DISABLED"})}, {"Description": "x" * 513},
        {"Description": "\x00"}, {"Description": 1},
        {"ScheduleExpressionTimezone": rng.choice(("", "Mars/Olympus", "../../etc/passwd", "x" * 51, "UTC\x00", 1))},
        {"KmsKeyArn": text(rng, ANYTHING)},
        {"ActionAfterCompletion": text(rng, lambda it: it not in {"NONE", "DELETE"})},
        {"ClientToken": text(rng, lambda token: TOKEN.fullmatch(token) is None)}, {"GroupName": "never-made"},
        {"GroupName": text(rng, lambda name: NAME.fullmatch(name) is None)}, {"GroupName": 1},
    )  # fmt: skip
    return {key: value for key, value in {**good, **rng.choice(bad)}.items() if value is not None}


def _name(rng: Random) -> str:
    """Returns an invalid name as a part of a path."""
    found = text(
        rng, lambda name: NAME.fullmatch(name) is None and 0 < len(name) < 5_000 and name not in {".", ".."}
    )
    return quote_from_bytes(found.encode(), safe="")


def scheduler(rng: Random, target: Target) -> Attack:
    """Returns a request of any of the 12 actions."""
    good = _schedule(Random(0), target) | {"ScheduleExpression": "rate(1 hour)"}
    tags: Any = rng.choice((None, 1, {}, [1], [{"Key": "a"}], [{"Value": "b"}], [{"Key": "", "Value": "b"}],
                       [{"Key": "k" * 129, "Value": "v"}], [{"Key": "k", "Value": "v" * 257}], [{"Key": "k\x00",
                       "Value": "v"}],
                       [{"Key": "aws:a", "Value": "v"}], [{"Key": "a", "Value": "b"}] * 201))  # fmt: skip
    word = quote(text(rng, lambda found: 0 < len(found) < 5_000))
    number = quote(rng.choice(("0", "101", "-1", "x", "1.5", "٣", "", "9" * 400, "NaN")))
    arn = quote(
        rng.choice(
            (f"{GROUP_ARN}never-made", f"{GROUP_ARN}a b", GROUP_ARN, "x", target.arn, "arn:aws:scheduler:::")
        ),
        safe="",
    )
    asked: tuple[tuple[str, str, Any], ...] = (
        ("POST", "/schedules/never-made", _schedule(rng, target)),
        ("POST", "/schedules/never-made", _schedule(rng, target)),
        ("POST", "/schedules/never-made", _schedule(rng, target)),
        ("PUT", "/schedules/never-made", _schedule(rng, target)),
        ("POST", "/schedules/never-made", rng.choice(NOT_JSON)), ("POST", f"/schedules/{_name(rng)}", good),
        ("POST", "/schedules/never-made", rng.choice(([], 1, "x", [good]))), ("PUT", f"/schedules/{_name(rng)}", good),
        ("GET", f"/schedules/{_name(rng)}", b""), ("GET", "/schedules/never-made", b""),
        ("GET", f"/schedules/never-made?groupName={word}x%20", b""), ("DELETE", "/schedules/never-made", b""),
        ("DELETE", f"/schedules/{_name(rng)}", b""), ("GET", f"/schedules?MaxResults={number}", b""),
        ("GET", f"/schedules?NextToken={word}", b""), ("GET", f"/schedules?State={word}x", b""),
        ("GET", f"/schedules?ScheduleGroup={word}%20", b""), ("POST", f"/schedule-groups/{_name(rng)}", {}),
        ("POST", "/schedule-groups/never-made", {"Tags": tags or "x"}), ("POST", "/schedule-groups/default", {}),
        ("GET", "/schedule-groups/never-made", b""), ("GET", f"/schedule-groups/{_name(rng)}", b""),
        ("DELETE", "/schedule-groups/default", b""), ("DELETE", "/schedule-groups/never-made", b""),
        ("GET", f"/schedule-groups?MaxResults={number}", b""), ("GET", f"/schedule-groups?NextToken={word}", b""),
        ("POST", f"/tags/{arn}", {"Tags": [{"Key": "a", "Value": "b"}]}), ("GET", f"/tags/{arn}", b""),
        ("DELETE", f"/tags/{arn}?TagKeys=a", b""),
        ("POST", f"/tags/{quote(f'{GROUP_ARN}default', safe='')}", {"Tags": tags}),
        ("PATCH", "/schedules/never-made", good), ("POST", "/schedules", good),
        ("PUT", "/schedule-groups/never-made", {}),
    )  # fmt: skip
    method, path, body = rng.choice(asked)
    data = (
        body
        if isinstance(body, bytes)
        else json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    )
    written = request(data, JSON, method=method.encode(), path=path.encode())
    return Attack(f"scheduler {method} {path[:40]}", written)
