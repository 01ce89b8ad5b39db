"""Tests schedules on a real service. Shapes: docs/reference/schedules.md."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service
from tests.support.schedules.rows import MILLISECONDS, NEW, TARGET, create, moments, names, refused

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(QUEUE_SCHEDULE_ENABLED="false", QUEUE_RECREATE_INTERVAL_SECONDS="0"),
]


# --- one schedule ----------------------------------------------------------------------------------------------------
def test_a_schedule_has_its_shape(http: httpx.Client) -> None:
    response = http.post("/v1/schedules", json=NEW)
    assert (response.status_code, response.headers["location"]) == (201, "/v1/schedules/nightly")
    made = response.json()
    assert made == http.get("/v1/schedules/nightly").json()
    for name in ("created_at", "updated_at"):
        assert MILLISECONDS(made.pop(name))
    fires = moments(made.pop("next_fires"))
    assert len(fires) == 5
    assert fires == [fires[0] + timedelta(days=number) for number in range(5)]
    assert (fires[0].hour, fires[0].minute, fires[0].second) == (3, 0, 0)
    assert timedelta(0) < fires[0] - datetime.now(UTC) <= timedelta(days=1)
    assert moments([made.pop("next_fire_at")]) == fires[:1]
    assert made == {
        "name": "nightly", "expression": "0 3 * * *", "cron": "0 3 * * *", "timezone": "UTC", "jitter_secs": 0,
        "catchup": False, "catchup_limit": 100, "failure_threshold": 3, "overlap": "allow", "start_at": None,
        "end_at": None, "target": {**TARGET, "headers": {}}, "status": "active", "last_fired_at": None,
        "last_error": None, "consecutive_failures": 0, "fire_count": 0, "human_readable": "Every day at 03:00",
    }  # fmt: skip


def test_everything_that_is_said_is_shown(http: httpx.Client) -> None:
    given = {
        "every": "30s", "timezone": "America/New_York", "jitter_secs": 7, "catchup": True, "catchup_limit": 5,
        "failure_threshold": 9, "overlap": "skip", "start_at": "2036-01-02T03:04:05Z",
        "end_at": "2037-01-02T03:04:05Z", "status": "paused",
        "target": {"queue": "orders", "message": [1, "ü"], "headers": {"a": "b", "n": 1.10, "j": {"k": [1]}}},
    }  # fmt: skip
    made = create(http, cron=None, **given)
    assert (made["expression"], made["cron"]) == ("30s", "*/30 * * * * *")
    del given["every"]
    assert {name: made[name] for name in given} == given
    assert made["next_fires"] == []


@pytest.mark.parametrize(
    ("expression", "canonical"),
    [
        ({"cron": "0 9 * * mon-fri"}, {"cron": "0 9 * * MON-FRI"}),
        ({"every": "5m"}, {"cron": "*/5 * * * *"}),
        ({"every": "1d"}, {"cron": "0 0 * * *"}),
        ({"when": "every weekday at 9:30am"}, {"cron": "30 9 * * 1-5"}),
        ({"fire_at": "2036-01-31T09:00:00+01:00"}, {"fire_at": "2036-01-31T08:00:00Z"}),
    ],
)
def test_every_form(http: httpx.Client, expression: dict[str, str], canonical: dict[str, str]) -> None:
    """docs/reference/schedules.md defines these errors. The response contains `expression` as the client wrote it. A
    preview returns the same error as the creation of the schedule.
    """
    made = create(http, **{"cron": None, **expression})
    shown = {name: made[name] for name in ("cron", "fire_at") if name in made}
    assert (shown, made["expression"]) == (canonical, next(iter(expression.values())))
    preview = http.post("/v1/previews", json=expression).json()
    assert {name: made[name] for name in preview} == preview
    assert preview.keys() == {*canonical, "timezone", "human_readable", "next_fires"}


@pytest.mark.parametrize(
    "text", ['{"b": 1.10, "a": [1e400, 12345678901234567890123], "b": 2}', "null", '"\\u0000\\n"', '"é"', "0"]
)
def test_the_message_stays_as_it_was_sent(http: httpx.Client, text: str) -> None:
    body = f'{{"name":"n","every":"1h","target":{{"queue":"orders","message":{text}}}}}'
    assert http.post("/v1/schedules", content=body, headers={"content-type": "application/json"}).status_code == 201
    kept = text.replace(": ", ":").replace(", ", ",")
    assert f'"message":{kept}' in http.get("/v1/schedules/n").text
    http.post("/v1/schedules/n/runs").raise_for_status()
    assert f'"message":{kept}' in http.get("/v1/queues/orders/messages").text


def test_a_taken_name(http: httpx.Client) -> None:
    create(http)
    assert refused(http.post("/v1/schedules", json={**NEW, "cron": "* * * * *"})) == (409, "schedule_conflict")
    assert http.get("/v1/schedules/nightly").json()["cron"] == "0 3 * * *"


def test_put_makes_and_replaces(http: httpx.Client) -> None:
    first = http.put("/v1/schedules/nightly", json={"every": "1h", "target": TARGET, "jitter_secs": 9})
    assert (first.status_code, first.headers["location"]) == (201, "/v1/schedules/nightly")
    http.post("/v1/schedules/nightly/runs").raise_for_status()
    second = http.put("/v1/schedules/nightly", json={**NEW, "every": "1h", "cron": None})
    assert second.status_code == 200
    found = second.json()
    assert (found["jitter_secs"], found["fire_count"]) == (0, 1)
    for name in ("created_at", "next_fire_at"):
        assert found[name] == first.json()[name]
    assert refused(http.put("/v1/schedules/other", json=NEW)) == (400, "bad_request")


def test_put_computes_anew_when_the_expression_or_time_zone_changes(
    http: httpx.Client, shared_database: Database
) -> None:
    """If the times do not change, the next time stays the same, even if it has passed, because a late schedule still
    fires."""
    create(http)
    with psycopg.connect(shared_database.dsn) as connection:
        connection.execute("update queue.schedule set next_fire_at = '2020-01-01T03:00:00Z', consecutive_failures = 2")
    kept = http.put("/v1/schedules/nightly", json={**NEW, "jitter_secs": 5}).json()
    assert (kept["next_fire_at"], kept["consecutive_failures"]) == ("2020-01-01T03:00:00Z", 0)
    moved = http.put("/v1/schedules/nightly", json={**NEW, "timezone": "Asia/Kolkata"}).json()
    assert moved["next_fire_at"].endswith("T21:30:00Z")


def test_patch_changes_what_is_given(http: httpx.Client) -> None:
    before = create(http, start_at="2036-01-01T00:00:00Z", end_at="2037-01-01T00:00:00Z", jitter_secs=5)
    after = http.patch("/v1/schedules/nightly", json={"jitter_secs": 6, "end_at": None}).json()
    changed = {"jitter_secs": 6, "end_at": None, "updated_at": after["updated_at"]}
    assert after == {**before, **changed}
    assert after["next_fires"] == [f"2036-01-0{day}T03:00:00Z" for day in range(1, 6)]


def test_patch_of_the_time_zone_keeps_the_expression(http: httpx.Client) -> None:
    create(http, cron=None, when="every day at 9am")
    found = http.patch("/v1/schedules/nightly", json={"timezone": "Asia/Kolkata"}).json()
    assert (found["expression"], found["cron"]) == ("every day at 9am", "0 9 * * *")
    assert {fire[11:] for fire in found["next_fires"]} == {"03:30:00Z"}
    other = http.patch("/v1/schedules/nightly", json={"every": "6h"}).json()
    assert (other["cron"], other["timezone"]) == ("0 */6 * * *", "Asia/Kolkata")


def test_a_paused_schedule_stays_paused(http: httpx.Client) -> None:
    create(http)
    assert http.patch("/v1/schedules/nightly", json={"status": "paused"}).json()["status"] == "paused"
    assert http.patch("/v1/schedules/nightly", json={"every": "1h"}).json()["status"] == "paused"
    found = http.patch("/v1/schedules/nightly", json={"status": "active"}).json()
    assert found["status"] == "active"
    assert found["next_fires"][0] == found["next_fire_at"]


def test_delete_is_always_204(http: httpx.Client) -> None:
    create(http)
    for name in ("nightly", "nightly", "never", "Not%20a%20name"):
        assert http.delete(f"/v1/schedules/{name}").status_code == 204
    assert refused(http.get("/v1/schedules/nightly")) == (404, "schedule_not_found")


def test_a_time_that_has_passed(http: httpx.Client) -> None:
    """A schedule without a future occurrence is paused."""
    made = create(http, cron=None, fire_at="2020-01-01T00:00:00Z")
    assert (made["status"], made["last_error"]) == ("paused", "no future occurrence")
    assert (made["next_fire_at"], made["next_fires"]) == (None, [])
    over = create(http, name="over", end_at="2020-01-01T00:00:00Z")
    assert (over["status"], over["last_error"]) == ("paused", "no future occurrence")


def test_a_time_that_has_just_passed(http: httpx.Client) -> None:
    """The time passes during the request, but the occurrence is not lost. A schedule can have fired before a client
    writes it again.
    """
    just = (datetime.now(UTC) - timedelta(seconds=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = create(http, cron=None, fire_at=just)
    assert (made["status"], made["next_fire_at"]) == ("active", just)
    again = http.put("/v1/schedules/other", json={"fire_at": just, "target": TARGET}).json()
    assert (again["status"], again["next_fire_at"]) == ("paused", None)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/schedules/never", None),
        ("PATCH", "/v1/schedules/never", {}),
        ("POST", "/v1/schedules/never/runs", None),
        ("GET", "/v1/schedules/never/runs", None),
        ("GET", "/v1/schedules/%00", None),
        ("PATCH", "/v1/schedules/%F0%9F%98%80", {}),
        ("POST", "/v1/schedules/a%20b/runs", None),
    ],
)
def test_a_missing_schedule_is_404(http: httpx.Client, method: str, path: str, body: Any) -> None:
    assert refused(http.request(method, path, json=body)) == (404, "schedule_not_found")


# --- lists and syncs -------------------------------------------------------------------------------------------------
def test_a_list_has_the_schedules_that_its_filters_select(http: httpx.Client) -> None:
    create(http, name="b-1")
    create(http, name="a-1", status="paused")
    create(http, name="b-2", target={"topic": "orders.created", "message": 1})
    assert names(http) == ["a-1", "b-1", "b-2"]
    assert names(http, status="paused") == ["a-1"]
    assert names(http, target_kind="topic") == ["b-2"]
    assert names(http, name_prefix="b-", target_kind="queue") == ["b-1"]
    assert names(http, name_prefix="ü") == []
    assert http.get("/v1/schedules", params={"name_prefix": "b-1"}).json() == {
        "schedules": [http.get("/v1/schedules/b-1").json()]
    }


@pytest.mark.parametrize("query", [{"status": "ENABLED"}, {"target_kind": "url"}, {"name_prefix": "x" * 65}])
def test_bad_filters(http: httpx.Client, query: dict[str, str]) -> None:
    assert refused(http.get("/v1/schedules", params=query)) == (400, "bad_request")


@pytest.mark.parametrize("text", ["2036-01-31T09:00:00Z\0", "2036-01-31T09:00:00+01:00\0x", "2036-01-31T09:00\0:00Z"])
def test_a_time_with_a_nul_is_refused(http: httpx.Client, text: str) -> None:
    """Python's `datetime.fromisoformat` ignores everything after a NUL."""
    for member in ("start_at", "end_at"):
        response = http.post("/v1/schedules", json={**NEW, "name": "nul", member: text})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "schedule_invalid")
    assert http.get("/v1/schedules/nul").status_code == 404


def test_a_list_is_capped(shared_database: Database) -> None:
    with running_service(shared_database.api_dsn, QUEUE_SCHEDULE_LIST_MAX="2") as service, service.http() as http:
        http.put("/v1/schedules?prune=true", json=[{**NEW, "name": name} for name in "abc"])
        assert names(http) == ["a", "b"]


def test_a_sync_makes_replaces_and_prunes(http: httpx.Client, service: Service) -> None:
    for name in ("kept", "gone"):
        create(http, name=name, jitter_secs=1)
    of_aws = service.client("scheduler")
    of_aws.create_schedule(
        Name="theirs",
        ScheduleExpression="rate(365 days)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": "arn:aws:sqs:us-east-1:000000000000:orders", "RoleArn": "arn:aws:iam::000000000000:role/r"},
    )
    wanted = [{**NEW, "name": "kept"}, {**NEW, "name": "new"}]
    first = http.put("/v1/schedules", json=wanted)
    assert first.json() == {"created": ["new"], "updated": ["kept"], "unchanged": [], "deleted": []}
    before = http.get("/v1/schedules/kept").json()
    again = http.put("/v1/schedules?prune=true", json=wanted[::-1])
    assert again.json() == {"created": [], "updated": [], "unchanged": ["kept", "new"], "deleted": ["gone"]}
    assert http.get("/v1/schedules/kept").json()["updated_at"] == before["updated_at"]
    assert names(http) == ["kept", "new", "theirs"]
    assert http.get("/v1/schedules/kept").json()["jitter_secs"] == 0
    of_aws.delete_schedule(Name="theirs")


@pytest.mark.parametrize(
    ("expression", "zone", "pauses"),
    [
        ({"every": "5m"}, "Europe/Berlin", True), ({"cron": "*/30 * * * *"}, "America/New_York", True),
        ({"every": "1h"}, "Europe/Berlin", True), ({"every": "5m"}, "UTC", False),
        ({"every": "5m"}, "Asia/Kolkata", False), ({"cron": "0 0 * * *"}, "Europe/Berlin", False),
        ({"cron": "0 1-5 * * *"}, "Europe/Berlin", False), ({"every": "6h"}, "Europe/Berlin", False),
    ],
)  # fmt: skip
def test_a_pause_in_autumn_is_said_at_once(
    http: httpx.Client, expression: dict[str, str], zone: str, pauses: bool
) -> None:
    """A local time that occurs twice fires once, so a schedule that fires often pauses for an hour in autumn
    (docs/reference/schedules.md)."""
    http.post("/v1/queues", json={"name": "q"})
    given = {**expression, "timezone": zone, "target": {"queue": "q", "message": 1}}
    responses = [
        http.put("/v1/schedules/often", json=given).json(),
        http.patch("/v1/schedules/often", json={"timezone": zone}).json(),
        http.post("/v1/previews", json={**expression, "timezone": zone}).json(),
    ]
    assert [f"clock of {zone} is put back" in response.get("warning", "") for response in responses] == [pauses] * 3
    synced = http.put("/v1/schedules", json=[{**given, "name": "often"}]).json()
    assert ("often: The clock" in str(synced.get("warnings"))) is pauses


def test_a_schedule_whose_times_have_passed_is_said_at_once(http: httpx.Client) -> None:
    """A PUT pauses a schedule if all its times have passed (docs/reference/schedules.md)."""
    http.post("/v1/queues", json={"name": "q"})
    past: dict[str, object] = {"fire_at": "2020-01-01T00:00:00Z", "target": {"queue": "q", "message": 1}}
    ended = {**NEW, "end_at": "2020-01-01T00:00:00Z", "target": past["target"]}
    for number, given in enumerate((past, ended)):
        name = f"single{number}"
        single = http.put(f"/v1/schedules/{name}", json={**given, "name": name}).json()
        bulk = http.put("/v1/schedules", json=[{**given, "name": f"bulk{number}"}, {**NEW, "name": "well"}]).json()
        never = "The schedule is paused and never fires: all its times have passed."
        assert (single["status"], single["last_error"]) == ("paused", "no future occurrence")
        assert never in single["warning"]
        assert f"bulk{number}: {never}" in bulk["warnings"]
        assert not any(warning.startswith("well") for warning in bulk["warnings"])
        assert never in http.patch(f"/v1/schedules/{name}", json={"jitter_secs": 1}).json()["warning"]


def test_a_queue_that_is_not_there_is_said_at_once(http: httpx.Client) -> None:
    """The service creates the schedule although its queue is missing, because a client can create the queue later."""
    lost = {**NEW, "target": {"queue": "lost", "message": 1}}
    response = http.post("/v1/schedules", json=lost)
    warning = response.json()["warning"]
    assert (response.status_code, "'lost' does not exist" in warning) == (201, True)
    assert http.put("/v1/schedules/nightly", json=lost).json()["warning"] == warning
    patched = http.patch("/v1/schedules/nightly", json={"target": lost["target"]})
    assert patched.json()["warning"] == warning
    both = [{**NEW, "name": "well"}, lost]
    assert http.put("/v1/schedules", json=both).json()["warnings"] == [warning]
    assert "warning" not in http.get("/v1/schedules/nightly").json()
    http.post("/v1/queues", json={"name": "lost"})
    assert "warning" not in http.put("/v1/schedules/nightly", json=lost).json()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"cron": "0 9 *"}, "schedule_invalid"), ({"name": "kept"}, "bad_request"), ({"more": 1}, "bad_request")],
)
def test_a_sync_does_everything_or_nothing(http: httpx.Client, wrong: dict[str, Any], code: str) -> None:
    create(http, name="gone")
    before = http.get("/v1/schedules").json()
    response = http.put("/v1/schedules?prune=true", json=[{**NEW, "name": "kept"}, {**NEW, **wrong}])
    assert refused(response) == (400, code)
    assert http.get("/v1/schedules").json() == before


def test_a_sync_says_which_one_is_wrong(http: httpx.Client) -> None:
    response = http.put("/v1/schedules", json=[NEW, {**NEW, "name": "second", "every": "7m", "cron": None}])
    problem = response.json()["error"]
    assert problem["message"].startswith("schedule 1 ('second'): ")
    assert {"position", "suggestion", "examples"} <= problem.keys()
