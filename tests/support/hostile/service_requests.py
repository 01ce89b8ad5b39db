"""Generates hostile requests to the REST API and EventBridge Scheduler.

REST requests contain documents that docs/ does not allow. A request to EventBridge Scheduler has one invalid member.
The limits come from the EventBridge Scheduler API reference.
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote, quote_from_bytes

from tests.support.hostile import values
from tests.support.hostile.connection import Attack, request
from tests.support.hostile.invalid_members import Members, Target
from tests.support.hostile.invalid_topic_members import filter_policy
from tests.support.hostile.values import ANYTHING, NOT_A_NAME, NOT_AN_ID, NOT_JSON, Native, native_number, text

KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
PATTERN = re.compile(r"([A-Za-z0-9_-]+|\*|#)(\.([A-Za-z0-9_-]+|\*|#))*")
SCHEDULE_NAME = re.compile(r"[0-9A-Za-z_.-]{1,64}")
UNTIMELY: tuple[Any, ...] = (
    "", "x", "2036-01-01", "2036-01-01T00:00:00", "2036-13-01T00:00:00Z", "1900-01-01T00:00:00Z", "0", "now",
    "2036-01-01T00:00:00Z\x00", "٣", 1, [], {}, True,
)  # fmt: skip
NO_EXPRESSIONS: tuple[dict[str, Any], ...] = (
    {}, {"cron": ""}, {"cron": "* * * *"}, {"cron": "* * * * * * * *"}, {"cron": "61 * * * *"}, {"cron": "a b c d e"},
    {"cron": "*/0 * * * *"}, {"cron": "1-70 * * * *"}, {"cron": "0 0 32 13 *"}, {"cron": "* * * * *\x00"}, {"cron": 1},
    {"cron": "*" * 300}, {"cron": ",".join(["1"] * 200) + " * * * *"}, {"cron": "0 0 30 2 *"}, {"every": ""},
    {"every": "0s"}, {"every": "-1m"}, {"every": "x"}, {"every": "1" * 300 + "s"}, {"every": "1e9s"}, {"every": 5},
    {"when": ""}, {"when": "some day, perhaps"}, {"when": "every " * 60}, {"fire_at": ""}, {"fire_at": "yesterday"},
    {"fire_at": "2036-01-01"}, {"fire_at": "99999-01-01T00:00:00Z"}, {"cron": "* * * * *", "every": "1m"},
    {"fire_at": "2036-01-01T00:00:00Z", "when": "every day"}, {"rate": "rate(5 minutes)"}, {"cron": ["* * * * *"]},
    {"cron": "* * * * *", "timezone": "Mars/Olympus"}, {"cron": "* * * * *", "timezone": "../../etc/passwd"},
    {"cron": "* * * * *", "timezone": ""}, {"cron": "* * * * *", "timezone": 1}, {"cron": "'; select 1; --"},
)  # fmt: skip


def _part(rng: Random, valid: re.Pattern[str]) -> str:
    """Returns an invalid part of a path."""
    text = values.text(
        rng, lambda found: valid.fullmatch(found) is None and 0 < len(found) < 5_000 and found not in {".", ".."}
    )
    return quote_from_bytes(text.encode(), safe="")


def _queue_headers(rng: Random) -> Any:
    return rng.choice((
        [], 1, "x", {"": 1}, {"a b": 1}, {"AWS.a": 1}, {f"h{n}": 1 for n in range(11)},
        {"a": "\x01"}, {"n": 10**200}, {"a" * 257: 1}, {"a\x00": 1}, {"a": "\uffff"},
    ))  # fmt: skip


def _headers(rng: Random) -> Any:
    """Returns an event's headers. An escaped NUL in an event header is invalid, because filters compare the header's
    values.
    """
    return {"a": {"b": "\x00"}} if rng.random() < 0.1 else _queue_headers(rng)


def _message(rng: Random) -> dict[str, Any]:
    """Returns an invalid message or event."""
    return rng.choice((
        {}, {"messages": 1}, {"message": 1, "more": 1},
        {"message": 1, "delay": rng.choice((-1, 901, "1", 1.5, 10**30))}, {"message": 1, "headers": _headers(rng)},
        {"message": 1, "delay": True}, {"message": "x" * 1_048_577},
    ))  # fmt: skip


def events(rng: Random, queue: str) -> Native:
    """Returns requests to /v1/events."""
    endpoint = rng.choice((
        "", "x", "ftp://example.com/", "http://", "http:///a", "http://ä.example/", "http://a b/", "http://a/\x00",
        "http://a/\r\nX: y", "http://example.com:0/", "http://example.com:99999/", "http://[::1",
        values.text(rng, ANYTHING), "https://example.com/",
    ))  # fmt: skip
    binding: tuple[Any, ...] = (
        {}, [], 1, {"queue_name": queue, "protocol": "http", "endpoint": "http://example.com/"}, {"queue_name": None},
        {"queue_name": "never-made"}, {"queue_name": values.text(rng, values.NOT_A_NAME)}, {"queue_name": 1},
        {"protocol": "http", "endpoint": endpoint}, {"protocol": "ftp", "endpoint": "ftp://example.com/"},
        {"protocol": "http"}, {"queue_name": queue, "more": 1}, {"queue_name": queue, "envelope": "perhaps"},
        {"queue_name": queue, "filter_policy": rng.choice(([], 1, "x", {"a": 1}, {"a": [{"no such": 1}]}, {"a": []}))},
        {"queue_name": queue, "filter_policy": filter_policy(rng)}, {"queue_name": "\ud800"}, {"queue_name": "q\x00"},
    )  # fmt: skip
    key, pattern = _part(rng, KEY), _part(rng, PATTERN)
    return rng.choice((
        ("POST", f"/events/{key}", {"message": 1}), ("POST", "/events/a.b", _message(rng)),
        ("POST", "/events/a.b", rng.choice(NOT_JSON)), ("POST", "/events/a.b", [{"message": 1}]),
        ("POST", "/events/*", {"message": 1}), ("POST", f"/events/{'a' * 256}", {"message": 1}),
        ("GET", f"/events/{key}/matches", b""), ("POST", f"/events/{pattern}/subscriptions", {"queue_name": queue}),
        ("POST", "/events/a.b/subscriptions", rng.choice(binding)),
        ("POST", "/events/a.b/subscriptions", rng.choice(NOT_JSON[1:])),
        ("GET", f"/events/{pattern}/subscriptions", b""),
        ("GET", f"/events/a.b/subscriptions?limit={native_number(rng, 1, 1_000)}", b""),
        ("GET", f"/events/a.b/subscriptions?after={native_number(rng, 0, 2**63 - 1)}", b""),
        ("DELETE", f"/events/a.b/subscriptions/{native_number(rng, 1, 2**63 - 1)}", b""),
        ("DELETE", f"/events/a.b/subscriptions/{rng.randint(10**9, 2**63 - 1)}", b""), ("PUT", "/events/a.b", {}),
        ("GET", f"/queues/{queue}/subscriptions?limit={native_number(rng, 1, 1_000)}", b""),
    ))  # fmt: skip


def transactions(rng: Random, queue: str) -> Native:
    """Returns a request to /v1/transactions, which must have no effect if a part is invalid."""
    good = {"queue": queue, "message": "half of a transaction"}
    bad: dict[str, Any] = rng.choice((
        {"send": [{**good, **_message(rng), "more": 1}]}, {"send": [{"queue": "never-made", "message": 1}]},
        {"send": [{"queue": values.text(rng, values.NOT_A_NAME), "message": 1}]}, {"send": {}}, {"send": 1},
        {"send": [{**good, "headers": _queue_headers(rng)}]}, {"send": [{"message": 1}]}, {"send": [{"queue": queue}]},
        {"ack": [{"queue": queue, "receipt": values.text(rng, ANYTHING)}]}, {"ack": [{"queue": queue}]}, {"ack": "x"},
        {"ack": [{"queue": "never-made", "receipt": "x"}]}, {"ack": [{"queue": queue, "receipt": "\ud800"}]},
        {"ack": [{"queue": queue, "receipt": 1}]}, {"ack": [None]},
        {"ack": [{"queue": queue, "receipt": "x", "more": 1}]},
        {"publish": [{"routing_key": values.text(rng, lambda text: KEY.fullmatch(text) is None), "message": 1}]},
        {"publish": [{"routing_key": "a.b", "message": 1, "headers": _headers(rng)}]}, {"publish": [{"message": 1}]},
        {"publish": [{"routing_key": "a.b"}]}, {"more": 1}, {"send": [{**good, "delay": 31_536_001}]},
        {"send": [good] * 1_001}, {"publish": [{"routing_key": "a.b", "message": 1}] * 1_001},
    ))  # fmt: skip
    whole = {**bad, "send": [good, *bad["send"]] if isinstance(bad.get("send"), list) else bad.get("send", [good])}
    return rng.choice((
        ("POST", "/transactions", whole), ("POST", "/transactions", whole),
        ("POST", "/transactions", rng.choice(NOT_JSON)), ("POST", "/transactions", rng.choice(([], 1, "x", [whole]))),
        ("GET", "/transactions", b""),
    ))  # fmt: skip


def deliveries(rng: Random, _queue: str) -> Native:
    """Returns requests to /v1/deliveries."""
    state = values.text(rng, lambda text: text not in {"pending", "exhausted"} and len(text) < 5_000)
    return rng.choice((
        ("GET", f"/deliveries?state={quote(state)}", b""),
        ("GET", f"/deliveries?limit={native_number(rng, 1, 1_000)}", b""),
        ("GET", f"/deliveries?after={native_number(rng, 0, 2**63 - 1)}", b""), ("DELETE", "/deliveries/1", b""),
        ("POST", f"/deliveries/{native_number(rng, 0, 2**63 - 1)}/retry", b""),
        ("POST", f"/deliveries/{rng.randint(10**9, 2**63 - 1)}/retry", b""),
    ))  # fmt: skip


def schedules(rng: Random, queue: str) -> Native:
    """Returns a request to /v1/schedules or /v1/previews."""
    target = {"queue": queue, "message": 1}
    good = {"name": "never-made", "cron": "0 0 * * *", "target": target}
    targets: tuple[Any, ...] = (
        {}, [], 1, "x", None, {"queue": queue}, {"message": 1}, {"topic": "a b", "message": 1}, {"workflow": "w"},
        {**target, "topic": "a.b"}, {**target, "more": 1}, {**target, "headers": _headers(rng)},
        {**target, "queue": "a b"}, {**target, "headers": {"_schedule": 1}},
    )  # fmt: skip
    expression = rng.choice(NO_EXPRESSIONS)
    bad: dict[str, Any] = rng.choice((
        {**{key: value for key, value in good.items() if key != "cron"}, **expression}, {"name": "never-made"}, {},
        {**good, "name": values.text(rng, lambda text: SCHEDULE_NAME.fullmatch(text) is None)}, {**good, "name": 1},
        {**good, "jitter_secs": rng.choice((-1, 86_401, "1", 1.5, 10**30))}, {**good, "catchup": "x"},
        {**good, "more": 1}, {**good, "catchup_limit": rng.choice((0, 1_001, "x"))},
        {**good, "failure_threshold": rng.choice((0, 1_001, None))},
        {**good, "overlap": values.text(rng, lambda text: text not in {"allow", "skip"})}, {**good, "status": "x"},
        {**good, "start_at": rng.choice(UNTIMELY)}, {**good, "end_at": rng.choice(UNTIMELY)},
        {**good, "target": rng.choice(targets)}, {**good, "target": rng.choice(targets)},
    ))  # fmt: skip
    name = _part(rng, SCHEDULE_NAME)
    counts = {"cron": "* * * * *", "count": rng.choice((0, 101, "x", 1.5, 10**30))}
    return rng.choice((
        ("POST", "/schedules", bad), ("POST", "/schedules", bad), ("POST", "/schedules", rng.choice(NOT_JSON)),
        ("PUT", "/schedules", [bad]), ("PUT", "/schedules", [good, bad]), ("PUT", "/schedules", [good, good]),
        ("PUT", "/schedules", rng.choice(({}, 1, "x", None))), ("PUT", "/schedules?prune=perhaps", [good]),
        ("PUT", f"/schedules/{name}", good), ("PUT", "/schedules/another", good),
        ("PUT", "/schedules/never-made", bad), ("PATCH", "/schedules/never-made", {"status": "paused"}),
        ("PATCH", "/schedules/never-made", bad), ("GET", f"/schedules/{name}", b""),
        ("GET", "/schedules/never-made", b""), ("POST", f"/schedules/{name}/runs", b""),
        ("POST", "/schedules/never-made/runs", b""), ("GET", f"/schedules/{name}/runs", b""),
        ("GET", f"/schedules/never-made/runs?limit={native_number(rng, 1, 1_000)}", b""), ("GET", "/previews", b""),
        ("POST", "/previews", expression), ("POST", "/previews", counts), ("POST", "/previews", rng.choice(NOT_JSON)),
    ))  # fmt: skip


def _name(rng: Random) -> str:
    """Returns an invalid queue name as a part of a path."""
    text = values.text(rng, lambda name: NOT_A_NAME(name) and 0 < len(name) < 5_000 and name not in {".", ".."})
    return quote_from_bytes(text.encode(), safe="")


def queues(rng: Random, queue: str) -> Native:
    """Returns requests to /v1/queues and /v1/queues/{name}."""
    new: tuple[Any, ...] = (
        {}, [], 1, {"name": 1}, {"name": None}, {"name": values.text(rng, NOT_A_NAME)}, {"name": "\ud800"},
        {"name": "n", "fifo": "perhaps"}, {"name": "n", "more": 1}, {"name": "n", "tags": values.tags(rng)},
        {"name": "n", "attributes": {"DelaySeconds": rng.choice((901, -1, "x", 1.5, [], 10**30))}},
        {"name": "n", "attributes": {"\ud800": "1"}}, {"name": "n", "attributes": {"a": "\ud800"}},
        {"name": "n", "attributes": {"RedrivePolicy": values.redrive_policy(rng)}}, {"name": queue},
    )  # fmt: skip
    return rng.choice((
        ("POST", "/queues", rng.choice(new)), ("POST", "/queues", rng.choice(NOT_JSON)),
        ("GET", f"/queues?limit={native_number(rng, 1, 1_000)}", b""), ("GET", f"/queues/{_name(rng)}", b""),
        ("GET", f"/queues?next={quote(values.text(rng, lambda text: 0 < len(text) < 5_000))}", b""),
        ("DELETE", f"/queues/{_name(rng)}", b""), ("POST", f"/queues/{_name(rng)}/purge", b""),
        ("PATCH", f"/queues/{queue}", {"attributes": values.attribute(rng)}), ("PATCH", f"/queues/{queue}", {"x": 1}),
        ("PATCH", f"/queues/{_name(rng)}", {"attributes": {"DelaySeconds": 1}}), ("PUT", f"/queues/{queue}", {}),
    ))  # fmt: skip


def messages(rng: Random, queue: str) -> Native:
    """Returns requests to the paths below a queue."""
    at = f"/queues/{queue}/messages"
    bad: tuple[Any, ...] = (
        [], {}, {"message": 1, "delay": rng.choice((-1, 31_536_001, "1", 1.5, 10**30))}, {"message": 1, "more": 1}, "x",
        1, None, {"message": 1, "group_id": values.text(rng, NOT_AN_ID)}, {"message": 1, "dedup_id": "x"},
        [{"message": 1}, {}], {"message": 1, "headers": {"": 1}}, {"message": 1, "headers": {"a b": 1}},
        {"message": 1, "headers": []}, {"message": 1, "headers": {f"h{n}": 1 for n in range(11)}},
        [{"message": 1}] * 1_001, {"message": "x" * 1_048_577}, {"message": 1, "headers": {"n": 10**200}},
    )  # fmt: skip
    deletion: tuple[Any, ...] = (
        {}, {"ids": [1], "receipts": ["x"]}, {"ids": ["x"]}, {"ids": [2**63]}, {"ids": [-1]}, {"ids": 1},
        {"ids": [1] * 1_001}, {"receipts": [values.text(rng, ANYTHING)]}, {"receipts": [1]}, {"receipts": "x"},
        {"receipts": ["\ud800"]},
    )  # fmt: skip
    return rng.choice((
        ("POST", at, rng.choice(bad)), ("POST", at, rng.choice((*NOT_JSON, b'{"message":NaN}', b'{"message":1e}'))),
        ("GET", f"{at}?max={native_number(rng, 1, 1_000)}", b""),
        ("GET", f"{at}?vt={native_number(rng, 0, 43_200)}", b""),
        ("GET", f"{at}?wait={native_number(rng, 0, 20)}", b""), ("DELETE", at, rng.choice(deletion)),
        ("DELETE", at, b"\xff"), ("DELETE", f"{at}/{native_number(rng, 0, 2**63 - 1)}", b""),
        ("PATCH", f"{at}/1", {"vt": rng.choice((-1, 43_201, "x", [], 1.5))}),
        ("GET", f"{at}/peek?state={quote(values.text(rng, lambda text: len(text) < 5_000))}", b""),
        ("GET", f"{at}/peek?limit={native_number(rng, 1, 1_000)}", b""),
        ("GET", f"{at}/peek?after={native_number(rng, 0, 2**63 - 1)}", b""),
        ("POST", f"{at}/search", rng.choice(({"limit": 0}, {"filter": {"states": "x"}}, {"after": "x"}, []))),
        ("GET", f"/queues/{queue}/archive?limit={native_number(rng, 1, 1_000)}", b""),
        ("GET", f"/queues/{_name(rng)}/messages", b""), ("POST", f"/queues/{_name(rng)}/messages", {"message": 1}),
    ))  # fmt: skip


def metrics(rng: Random, queue: str) -> Native:
    """Returns requests for the results of the metrics job."""
    no_time = values.text(rng, lambda text: len(text) < 5_000 and not text.startswith(("1", "2")))
    query = rng.choice((
        f"from={quote(no_time)}", f"to={quote(no_time)}", "from=2026-01-01T00:00:00", "window=1s", "format=CSV",
        "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from=1970-01-01T00:00:00Z", "to=99999-01-01T00:00:00Z",
        f"group={quote(values.text(rng, NOT_AN_ID))}",
    ))  # fmt: skip
    return rng.choice((
        ("GET", f"/queues/{queue}/metrics?{query}", b""), ("GET", f"/queues/{_name(rng)}/metrics", b""),
        ("GET", f"/queues/{queue}/minutes?from={quote(no_time)}", b""), ("GET", f"/queues/{_name(rng)}/lag", b""),
        ("GET", f"/metrics/lag?target_lag_seconds={native_number(rng, 1, 86_400)}", b""),
        ("GET", f"/metrics/lag?limit={native_number(rng, 1, 200)}", b""), ("POST", f"/queues/{queue}/metrics", {}),
        ("GET", f"/metrics/lag?next={quote(values.text(rng, lambda text: 0 < len(text) < 5_000))}", b""),
    ))  # fmt: skip


KINDS: tuple[Callable[[Random, str], Native], ...] = (
    queues, messages, metrics, events, transactions, deliveries, schedules,
)  # fmt: skip


def rest_request(rng: Random, queue: str) -> tuple[str, str, bytes]:
    """Returns the method, path and body of a hostile request. `queue` is an existing queue."""
    method, path, body = rng.choice(KINDS)(rng, queue)
    if isinstance(body, bytes):
        return method, f"/v1{path}", body
    return (method, f"/v1{path}", json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass"))


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
    """Returns a target with one wrong member, or `good` itself."""
    attempts, seconds = rng.choice((-1, 186, "x", 1.5, 10**30)), rng.choice((59, 86_401))
    bad: tuple[Members, ...] = (
        {"Arn": ""}, {"Arn": text(rng, ANYTHING)}, {"Arn": "x" * 1_601},
        {"Arn": "arn:aws:lambda:us-east-1:0:function:f"}, {"RoleArn": "x"}, {"RoleArn": text(rng, ANYTHING)},
        {"Input": ""}, {"Input": 1}, {"Input": "\x00"}, {"DeadLetterConfig": {"Arn": "x"}}, {"DeadLetterConfig": []},
        {"SqsParameters": {"MessageGroupId": "x" * 129}}, {"SqsParameters": {"MessageGroupId": ""}},
        {"RetryPolicy": {"MaximumRetryAttempts": attempts}}, {"RetryPolicy": {"MaximumEventAgeInSeconds": seconds}},
        {"KinesisParameters": {"PartitionKey": "k"}},
    )  # fmt: skip
    return rng.choice(({}, [], 1, {"Arn": good["Arn"]}, {"RoleArn": ROLE}, *({**good, **broken} for broken in bad)))


def _schedule(rng: Random, target: Target) -> Members:
    """Returns a schedule's members, one of which is invalid."""
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


def _plan(rng: Random) -> str:
    """Returns an invalid name as a part of a path."""
    found = text(rng, lambda name: NAME.fullmatch(name) is None and 0 < len(name) < 5_000 and name not in {".", ".."})
    return quote_from_bytes(found.encode(), safe="")


def scheduler(rng: Random, target: Target) -> Attack:
    good = _schedule(Random(0), target) | {"ScheduleExpression": "rate(1 hour)"}
    tags: Any = rng.choice((None, 1, {}, [1], [{"Key": "a"}], [{"Value": "b"}], [{"Key": "", "Value": "b"}],
                       [{"Key": "k" * 129, "Value": "v"}], [{"Key": "k", "Value": "v" * 257}], [{"Key": "k\x00",
                       "Value": "v"}],
                       [{"Key": "aws:a", "Value": "v"}], [{"Key": "a", "Value": "b"}] * 201))  # fmt: skip
    word = quote(text(rng, lambda found: 0 < len(found) < 5_000))
    number = quote(rng.choice(("0", "101", "-1", "x", "1.5", "٣", "", "9" * 400, "NaN")))
    arn = quote(
        rng.choice((f"{GROUP_ARN}never-made", f"{GROUP_ARN}a b", GROUP_ARN, "x", target.arn, "arn:aws:scheduler:::")),
        safe="",
    )
    asked: tuple[tuple[str, str, Any], ...] = (
        ("POST", "/schedules/never-made", _schedule(rng, target)),
        ("POST", "/schedules/never-made", _schedule(rng, target)),
        ("POST", "/schedules/never-made", _schedule(rng, target)),
        ("PUT", "/schedules/never-made", _schedule(rng, target)),
        ("POST", "/schedules/never-made", rng.choice(NOT_JSON)), ("POST", f"/schedules/{_plan(rng)}", good),
        ("POST", "/schedules/never-made", rng.choice(([], 1, "x", [good]))), ("PUT", f"/schedules/{_plan(rng)}", good),
        ("GET", f"/schedules/{_plan(rng)}", b""), ("GET", "/schedules/never-made", b""),
        ("GET", f"/schedules/never-made?groupName={word}x%20", b""), ("DELETE", "/schedules/never-made", b""),
        ("DELETE", f"/schedules/{_plan(rng)}", b""), ("GET", f"/schedules?MaxResults={number}", b""),
        ("GET", f"/schedules?NextToken={word}", b""), ("GET", f"/schedules?State={word}x", b""),
        ("GET", f"/schedules?ScheduleGroup={word}%20", b""), ("POST", f"/schedule-groups/{_plan(rng)}", {}),
        ("POST", "/schedule-groups/never-made", {"Tags": tags or "x"}), ("POST", "/schedule-groups/default", {}),
        ("GET", "/schedule-groups/never-made", b""), ("GET", f"/schedule-groups/{_plan(rng)}", b""),
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
