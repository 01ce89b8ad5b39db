"""Documents that are not schedules. Shapes: docs/schedules.md."""

from typing import Any

import httpx
import pytest

from tests.support.schedules.rest_documents import NEW, TARGET, create, moments, names, refused

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(QUEUE_SCHEDULE_ENABLED="false", QUEUE_RECREATE_INTERVAL_SECONDS="0"),
]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None}, {"name": ""}, {"name": "Nightly"}, {"name": "x" * 65}, {"name": "a.b"}, {"name": "a\n"},
        {"cron": None}, {"every": "5m"}, {"timezone": "Mars/Olympus"}, {"timezone": ""}, {"timezone": "../UTC"},
        {"start_at": "2036-01-01"}, {"start_at": "soon"}, {"end_at": "0001-01-01T00:00:00+23:59"},
        {"start_at": "2036-01-02T00:00:00Z", "end_at": "2036-01-01T00:00:00Z"},
        {"target": {"workflow": "w", "input": {}}}, {"target": {}}, {"target": {"message": 1}},
        {"target": {"queue": "q", "topic": "t", "message": 1}}, {"target": {"queue": "orders"}},
        {"target": {"queue": "a b", "message": 1}}, {"target": {"topic": "a..b", "message": 1}},
    ],
)  # fmt: skip
def test_what_is_no_schedule(http: httpx.Client, changes: dict[str, Any]) -> None:
    assert refused(http.post("/v1/schedules", json={**NEW, **changes})) == (400, "schedule_invalid")
    assert names(http) == []
    if "name" not in changes:
        create(http)
        before = http.get("/v1/schedules/nightly").json()
        given = {**{key: value for key, value in NEW.items() if key != "name"}, **changes}
        assert refused(http.put("/v1/schedules/nightly", json=given)) == (400, "schedule_invalid")
        assert http.get("/v1/schedules/nightly").json() == before


@pytest.mark.parametrize(
    "body",
    [
        {}, [], 1, {"name": "n", "cron": "* * * * *"}, {**NEW, "more": 1}, {**NEW, "jitter_secs": -1},
        {**NEW, "jitter_secs": 86_401}, {**NEW, "catchup": "yes"}, {**NEW, "catchup_limit": 0}, {**NEW, "overlap": "x"},
        {**NEW, "failure_threshold": 0}, {**NEW, "status": "ENABLED"}, {**NEW, "cron": 5},
        {**NEW, "target": {**TARGET, "headers": {"_schedule": 1}}},
        {**NEW, "target": {**TARGET, "headers": {"a b": 1}}}, {**NEW, "target": {**TARGET, "headers": {"": 1}}},
        {**NEW, "target": {**TARGET, "headers": {f"h{number}": 1 for number in range(10)}}},
    ],
)  # fmt: skip
def test_bad_bodies(http: httpx.Client, body: Any) -> None:
    assert refused(http.post("/v1/schedules", json=body)) == (400, "bad_request")
    assert names(http) == []


def test_a_message_may_not_be_too_long(http: httpx.Client) -> None:
    answer = http.post(
        "/v1/schedules", json={**NEW, "target": {"queue": "orders", "message": "x" * 1_048_577}}
    )
    assert refused(answer) == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("given", "position", "suggestion"),
    [
        ({"cron": "0 9 *"}, 5, None),
        ({"when": "every weekdays at 9am"}, 6, "every weekday at 9am"),
        ({"when": "daily at 9 am"}, 9, "daily at 9am"),
        ({"timezone": "Europe/Berln", "every": "1h"}, None, "Europe/Berlin"),
    ],
)
def test_errors_of_expressions_help(
    http: httpx.Client, given: dict[str, str], position: int | None, suggestion: str | None
) -> None:
    """Where, what instead, examples: of previews and of schedules alike."""
    answer = http.post("/v1/previews", json=given)
    assert refused(answer) == (400, "schedule_invalid")
    problem = answer.json()["error"]
    assert problem["position"] == position
    assert suggestion is None or problem["suggestion"] == suggestion
    assert problem["examples"]
    same = http.post("/v1/schedules", json={"name": "n", "target": TARGET, **given}).json()["error"]
    assert same == problem


def test_previews(http: httpx.Client) -> None:
    """docs/schedules.md: a number of times, a time zone, the text for people."""
    answer = http.post(
        "/v1/previews", json={"cron": "0 9 * * 1-5", "timezone": "America/New_York", "count": 3}
    )
    assert answer.status_code == 200
    found = answer.json()
    assert len(moments(found.pop("next_fires"))) == 3
    assert found == {
        "cron": "0 9 * * 1-5",
        "timezone": "America/New_York",
        "human_readable": "At 09:00, Monday through Friday, America/New_York",
    }
    once = http.post("/v1/previews", json={"fire_at": "2036-01-31T09:00:00Z"}).json()
    assert once["next_fires"] == [once["fire_at"]] == ["2036-01-31T09:00:00Z"]
    assert refused(http.post("/v1/previews", json={"every": "1h", "count": 101})) == (400, "bad_request")
    assert names(http) == []
