"""Generates hostile requests to the REST API for events, transactions, deliveries and schedules, from invalid documents
of docs/."""

import re
from random import Random
from typing import Any
from urllib.parse import quote, quote_from_bytes

from tests.support.hostile import values
from tests.support.hostile.invalid_topic_members import filter_policy
from tests.support.hostile.values import ANYTHING, NOT_JSON, Native, native_number

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
    """Returns a part of a path that must be refused."""
    text = values.text(
        rng,
        lambda found: valid.fullmatch(found) is None and 0 < len(found) < 5_000 and found not in {".", ".."},
    )
    return quote_from_bytes(text.encode(), safe="")


def _queue_headers(rng: Random) -> Any:
    return rng.choice((
        [], 1, "x", {"": 1}, {"a b": 1}, {"AWS.a": 1}, {f"h{n}": 1 for n in range(11)},
        {"a": ["\ud800"]}, {"a": "\x01"}, {"n": 10**200}, {"a" * 257: 1}, {"a\x00": 1}, {"a": "\uffff"},
    ))  # fmt: skip


def _headers(rng: Random) -> Any:
    """Returns headers of an event. A header's JSON may have an escaped NUL, but filters compare the header's values."""
    return {"a": {"b": "\x00"}} if rng.random() < 0.1 else _queue_headers(rng)


def _message(rng: Random) -> dict[str, Any]:
    """Returns a message or an invalid event."""
    return rng.choice((
        {}, {"messages": 1}, {"message": 1, "more": 1},
        {"message": 1, "delay": rng.choice((-1, 901, "1", 1.5, 10**30))}, {"message": 1, "headers": _headers(rng)},
        {"message": 1, "delay": True}, {"message": "x" * 1_048_577},
    ))  # fmt: skip


def events(rng: Random, queue: str) -> Native:
    """/v1/events."""
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
    """Returns a request to /v1/transactions, which must do nothing if a part is invalid."""
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
    whole = {
        **bad,
        "send": [good, *bad["send"]] if isinstance(bad.get("send"), list) else bad.get("send", [good]),
    }
    return rng.choice((
        ("POST", "/transactions", whole), ("POST", "/transactions", whole),
        ("POST", "/transactions", rng.choice(NOT_JSON)), ("POST", "/transactions", rng.choice(([], 1, "x", [whole]))),
        ("GET", "/transactions", b""),
    ))  # fmt: skip


def deliveries(rng: Random, _queue: str) -> Native:
    """/v1/deliveries."""
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
