"""Generates hostile requests to the REST API."""

import json
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote, quote_from_bytes

from tests.support.hostile import values
from tests.support.hostile.event_requests import deliveries, events, schedules, transactions
from tests.support.hostile.values import ANYTHING, NOT_A_NAME, NOT_AN_ID, NOT_JSON, Native, native_number


def _name(rng: Random) -> str:
    """Returns an invalid queue name as a part of a path."""
    text = values.text(
        rng, lambda name: NOT_A_NAME(name) and 0 < len(name) < 5_000 and name not in {".", ".."}
    )
    return quote_from_bytes(text.encode(), safe="")


def queues(rng: Random, queue: str) -> Native:
    """Returns requests to /v1/queues and /v1/queues/{name}."""
    new: tuple[Any, ...] = (
        {}, [], 1, {"name": 1}, {"name": None}, {"name": values.text(rng, NOT_A_NAME)}, {"name": "\ud800"},
        {"name": "n", "fifo": "perhaps"}, {"name": "n", "more": 1}, {"name": "n", "tags": values.tags(rng)},
        {"name": "n", "attributes": {"DelaySeconds": rng.choice((901, -1, "x", 1.5, [], 10**30))}},
        {"name": "n", "attributes": {"\ud800": "1"}}, {"name": "n", "attributes": {"a": "\ud800"}},
        {"name": "n", "attributes": {"RedrivePolicy": values.redrive_policy(rng)}},
        {"name": "n", "tags": {"a": "\ud800"}}, {"name": queue},
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
        ("GET", f"/queues/{queue}/minutes?from={quote(no_time)}", b""),
        ("GET", f"/metrics/lag?target_lag_seconds={native_number(rng, 1, 86_400)}", b""),
        ("GET", f"/metrics/lag?limit={native_number(rng, 1, 200)}", b""), ("POST", f"/queues/{queue}/metrics", {}),
        ("GET", f"/metrics/lag?next={quote(values.text(rng, lambda text: 0 < len(text) < 5_000))}", b""),
    ))  # fmt: skip


KINDS: tuple[Callable[[Random, str], Native], ...] = (
    queues, messages, metrics, events, transactions, deliveries, schedules,
)  # fmt: skip


def rest_request(rng: Random, queue: str) -> tuple[str, str, bytes]:
    """Returns method, path and body of a hostile request. `queue` is the name of an existing queue."""
    method, path, body = rng.choice(KINDS)(rng, queue)
    if isinstance(body, bytes):
        return method, f"/v1{path}", body
    return (
        method,
        f"/v1{path}",
        json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass"),
    )
