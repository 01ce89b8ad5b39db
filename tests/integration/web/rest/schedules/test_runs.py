"""Tests lists of runs, and schedules that both APIs read, on a real service. Shapes: docs/reference/schedules.md.

Also tests documents that are not valid schedules. Shapes: docs/reference/schedules.md.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.conformance.requests import receive
from tests.support.database import Database
from tests.support.programs.penstock_service import Service, until_row
from tests.support.schedules.rows import MILLISECONDS, NEW, SECONDS, TARGET, create, moments, names, refused
from tests.support.sql.calls import call_pattern

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(QUEUE_SCHEDULE_ENABLED="false", QUEUE_RECREATE_INTERVAL_SECONDS="0"),
]


# --- runs ------------------------------------------------------------------------------------------------------------
def test_a_run_is_out_of_band(http: httpx.Client) -> None:
    target = {"queue": "orders", "message": {"do": "it"}, "headers": {"trace": "t", "n": 1}}
    before = create(http, target=target, status="paused")
    response = http.post("/v1/schedules/nightly/runs")
    assert response.status_code == 202
    run = response.json()
    assert MILLISECONDS(run["fired_at"])
    assert SECONDS(run["scheduled_for"])
    (message,) = receive(http, "orders")
    assert run == {
        "schedule_name": "nightly",
        "fired_at": run["fired_at"],
        "scheduled_for": run["scheduled_for"],
        "out_of_band": True,
        "msg_ids": [message["id"]],
    }
    told = {"name": "nightly", "scheduled_for": run["scheduled_for"], "out_of_band": True}
    assert message["message"] == {"do": "it"}
    assert message["headers"] == {"trace": "t", "n": 1, "_schedule": told}
    after = http.get("/v1/schedules/nightly").json()
    assert (after["next_fire_at"], after["status"]) == (before["next_fire_at"], "paused")
    assert (after["fire_count"], after["last_fired_at"]) == (1, run["fired_at"])


def test_runs_are_listed_the_newest_first(http: httpx.Client) -> None:
    create(http)
    assert http.get("/v1/schedules/nightly/runs").json() == {"runs": []}
    made = [http.post("/v1/schedules/nightly/runs").json() for _ in range(3)]
    first = http.get("/v1/schedules/nightly/runs", params={"limit": 2}).json()
    second = http.get("/v1/schedules/nightly/runs", params={"limit": 2, "before": first["next"]}).json()
    assert "next" not in second
    found = [*first["runs"], *second["runs"]]
    assert [{key: run[key] for key in made[0]} for run in found] == made[::-1]
    assert {(run["attempts"], run["error"]) for run in found} == {(1, None)}


def test_a_run_wakes_who_waits(http: httpx.Client, service: Service, shared_database: Database) -> None:
    create(http)
    with ThreadPoolExecutor(1) as pool, service.http() as other:
        polling = pool.submit(receive, other, "orders", wait=20)
        until_row(
            shared_database.dsn, f"select from pg_stat_activity where query ~ '{call_pattern('queue.poll_queues')}'"
        )
        http.post("/v1/schedules/nightly/runs").raise_for_status()
        assert [message["message"] for message in polling.result()] == [{"do": "it"}]


def test_a_run_reaches_whom_a_topic_reaches(http: httpx.Client) -> None:
    """The routing key selects the queues for the event, and filter policies apply to the message."""
    for pattern, policy in (("orders.*", {"do": ["it"]}), ("orders.#", {"do": ["else"]})):
        http.post(
            f"/v1/events/{pattern.replace('#', '%23')}/subscriptions",
            json={"queue_name": "orders", "filter_policy": policy},
        ).raise_for_status()
    create(http, target={"topic": "orders.created", "message": {"do": "it"}})
    run = http.post("/v1/schedules/nightly/runs").json()
    (message,) = receive(http, "orders", max=10)
    assert run["msg_ids"] == [message["id"]]
    assert message["headers"]["_schedule"]["name"] == "nightly"


def test_a_run_without_its_queue(http: httpx.Client) -> None:
    create(http, target={"queue": "never", "message": 1})
    response = http.post("/v1/schedules/nightly/runs")
    assert refused(response) == (409, "schedule_conflict")
    assert "'never'" in response.json()["error"]["message"]
    assert http.get("/v1/schedules/nightly/runs").json() == {"runs": []}


# --- the other API ---------------------------------------------------------------------------------------------------
def test_schedules_of_eventbridge_scheduler_are_seen(http: httpx.Client, service: Service) -> None:
    """EventBridge Scheduler's API reads the same rows as the REST API."""
    of_aws = service.client("scheduler")
    queue = "arn:aws:sqs:us-east-1:000000000000:orders"
    given = {
        "Name": "Of.AWS",
        "ScheduleExpression": "cron(0 3 * * ? *)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": queue, "RoleArn": "arn:aws:iam::000000000000:role/r", "Input": "text"},
    }
    of_aws.create_schedule(**given)
    found = http.get("/v1/schedules/Of.AWS").json()
    assert (found["expression"], found["target"]) == ("cron(0 3 * * ? *)", {"arn": queue, "input": "text"})
    assert http.post("/v1/schedules/Of.AWS/runs").status_code == 202
    assert [message["message"] for message in receive(http, "orders")] == ["text"]
    assert http.patch("/v1/schedules/Of.AWS", json={"status": "paused"}).json()["status"] == "paused"
    assert of_aws.get_schedule(Name="Of.AWS")["State"] == "DISABLED"
    refusal = http.patch("/v1/schedules/Of.AWS", json={"cron": "* * * * *"})
    assert refused(refusal) == (409, "schedule_conflict")
    assert http.delete("/v1/schedules/Of.AWS").status_code == 204


def test_eventbridge_scheduler_sees_schedules_made_here(http: httpx.Client, service: Service) -> None:
    create(http)
    create(http, name="once", cron=None, fire_at="2036-01-02T03:04:05Z", target={"topic": "a.b", "message": 1})
    of_aws = service.client("scheduler")
    found = of_aws.get_schedule(Name="nightly")
    assert (found["ScheduleExpression"], found["State"]) == ("cron(0 3 * * *)", "ENABLED")
    assert found["Target"]["Arn"] == "arn:aws:sqs:us-east-1:000000000000:orders"
    listed = of_aws.list_schedules()["Schedules"]
    arns = ["arn:aws:sqs:us-east-1:000000000000:orders", "arn:aws:sns:us-east-1:000000000000:a.b"]
    assert [schedule["Target"]["Arn"] for schedule in listed] == arns
    assert of_aws.get_schedule(Name="once")["ScheduleExpression"] == "at(2036-01-02T03:04:05)"
    of_aws.delete_schedule(Name="nightly")
    assert names(http) == ["once"]


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
def test_an_invalid_schedule_is_refused(http: httpx.Client, changes: dict[str, Any]) -> None:
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
    response = http.post("/v1/schedules", json={**NEW, "target": {"queue": "orders", "message": "x" * 1_048_577}})
    assert refused(response) == (413, "payload_too_large")


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
    """The errors of previews and of schedules contain the position, a suggestion and examples."""
    response = http.post("/v1/previews", json=given)
    assert refused(response) == (400, "schedule_invalid")
    problem = response.json()["error"]
    assert problem["position"] == position
    assert suggestion is None or problem["suggestion"] == suggestion
    assert problem["examples"]
    same = http.post("/v1/schedules", json={"name": "n", "target": TARGET, **given}).json()["error"]
    assert same == problem


def test_a_preview_has_times_and_a_description(http: httpx.Client) -> None:
    """A preview contains the requested number of times, a time zone, and a description in words
    (docs/reference/schedules.md)."""
    response = http.post("/v1/previews", json={"cron": "0 9 * * 1-5", "timezone": "America/New_York", "count": 3})
    assert response.status_code == 200
    found = response.json()
    assert len(moments(found.pop("next_fires"))) == 3
    assert found == {
        "cron": "0 9 * * 1-5",
        "timezone": "America/New_York",
        "human_readable": "At 09:00, Monday through Friday, America/New_York",
    }
    period = {"start_at": "2036-01-01T00:00:30Z", "end_at": "2036-01-01T00:20:30Z"}
    rate = http.post("/v1/previews", json={"expression": "rate(10 minutes)", **period, "count": 9}).json()
    assert rate["rate"] == "rate(10 minutes)"
    assert rate["next_fires"] == ["2036-01-01T00:00:30Z", "2036-01-01T00:10:30Z", "2036-01-01T00:20:30Z"]
    both = http.post("/v1/previews", json={"expression": "rate(1 hour)", "every": "1h"})
    assert refused(both) == refused(
        http.post("/v1/previews", json={"every": "1h", **period, "end_at": "2035-01-01T00:00:00Z"})
    )
    once = http.post("/v1/previews", json={"fire_at": "2036-01-31T09:00:00Z"}).json()
    assert once["next_fires"] == [once["fire_at"]] == ["2036-01-31T09:00:00Z"]
    assert refused(http.post("/v1/previews", json={"every": "1h", "count": 101})) == (400, "bad_request")
    assert names(http) == []
