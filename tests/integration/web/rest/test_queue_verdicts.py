"""Tests the verdicts on queues from every interface: REST in each deployment, /metrics, and the command line. The tests
also read the minutes.

The expected verdicts follow from docs/reference/verdicts.md.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

# The test imports the module before the server's threads start, because pydantic parses source code, which Python 3.11
# cannot do in two threads at the same time.
import penstock_web.rest.application  # noqa: F401
from penstock.settings import DRIVERS
from penstock.verdicts import Minute
from penstock_web.cli import main
from tests.support import client_setup
from tests.support.database import Database, TestServer
from tests.support.functions.server import FunctionServer
from tests.support.local_lambda.events import EVENT_FORMS
from tests.support.programs.penstock_service import running_service
from tests.support.sql.metric_rows import Connection, add_messages, add_minutes, current_minute, new_queue
from tests.support.web.prometheus_text import scrape

MINUTE = timedelta(minutes=1)
KINDS = {
    "behind": "falling_behind",
    "dead-letters": "dead_letters",
    "draining": "draining",
    "keeps-up": "ok",
    "nothing": "idle",
    "stopped": "stalled",
}


@dataclass
class Queues:
    """Holds a database with queues, and with their minutes up to `now`, the start of the current minute."""

    database: Database
    ids: dict[str, int]
    now: datetime


def fill(db: Connection, queues: Queues, now: datetime) -> None:
    """Replaces all rows except the queues. Stores half an hour of minutes for each queue, and the number of messages in
    the last minute.
    """
    with db.transaction():
        store_rows(db, queues, now)
    queues.now = now
    db.execute("select queue.store_measurements(100, 0)")
    db.execute("select queue.store_measurements(100, 0)")


def store_rows(db: Connection, queues: Queues, now: datetime) -> None:
    """Locks the minutes, because the service's worker stores minutes meanwhile."""
    db.execute("lock table queue.minute in exclusive mode")
    for table in ("log", "minute", "outgoing_delivery", "delivery_endpoint"):
        db.execute(f"delete from queue.{table}".encode())
    for name, queue_id in queues.ids.items():
        add_minutes(db, queue_id, MINUTES[name](now))
    for name, count in {"behind": 3600, "draining": 3600, "stopped": 200, "dead-letters": 5}.items():
        add_messages(db, name, count, now - 20 * MINUTE)
    redrive = json.dumps(
        {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead-letters", "maxReceiveCount": 3}
    )
    statement = "update queue.queues set attributes = attributes || jsonb_build_object('RedrivePolicy', %s::text)"
    db.execute(f"{statement} where name = 'behind'".encode(), (redrive,))
    db.execute(
        "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, state, due_at, last_error) "
        "select n, '000000000000', 'https://user:secret@a.test/hook?token=secret', false, 'exhausted', "
        "%s::timestamptz + n * interval '1 minute', 'status 503' from generate_series(0, 2) n",
        (now - 40 * MINUTE,),
    )
    db.execute(
        "insert into queue.delivery_endpoint "
        "(endpoint_key, account_id, host, next_at, paused_until, paused_at, stopped) "
        "select '000000000000 https://' || h, '000000000000', h, 'infinity', 'infinity', %s, h = 'c.test' "
        "from unnest(array['b.test', 'c.test']) h",
        (now - 30 * MINUTE,),
    )
    db.execute(
        "insert into queue.delivery_endpoint (endpoint_key, account_id, host, next_at, failures, failing_since) "
        "select '000000000000 https://d.test', '000000000000', 'd.test', now() + interval '1 day', 12, %s",
        (now - 10 * MINUTE,),
    )
    db.execute(
        "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, due_at, last_error) "
        "select n, '000000000000', 'https://d.test', false, now() + interval '1 day', 'status 503' "
        "from generate_series(3, 6) n"
    )


def busy(now: datetime, ago: int, **columns: Any) -> Minute:
    """Returns the start of a minute, `minutes` before the current minute."""
    start = now - ago * MINUTE
    known = {"sent": 300, "received": 300, "deleted": 300, "visible": 0, "in_flight": 5, "delayed": 0}
    return Minute(start, last_received_at=start + MINUTE, **{**known, **columns})


def behind(now: datetime) -> list[Minute]:
    """Twenty minutes ago, the arrivals rose by 180 a minute."""
    before = [busy(now, ago) for ago in range(60, 20, -1)]
    return before + [busy(now, ago, sent=480, visible=180 * (21 - ago)) for ago in range(20, 0, -1)]


def draining(now: datetime) -> list[Minute]:
    """In each of ten minutes, consumers deleted 300 messages more than producers sent, so twelve minutes are left. The
    messages expired five minutes ago, because the counts of the last minute become complete some seconds after its end.
    """
    peak = [busy(now, 11, sent=300, visible=6600)]
    return peak + [
        busy(now, ago, received=600, deleted=600, visible=3600 + 300 * (ago - 1), expired=50 * (ago == 5))
        for ago in range(10, 0, -1)
    ]


def stopped(now: datetime) -> list[Minute]:
    """The last receive was ten minutes ago."""
    before = [busy(now, ago, sent=20, received=20, deleted=20, in_flight=0) for ago in range(30, 10, -1)]
    last = now - 10 * MINUTE
    return before + [
        Minute(now - ago * MINUTE, sent=20, visible=20 * (11 - ago), in_flight=0, delayed=0,
               oldest_at=last, last_received_at=last)
        for ago in range(10, 0, -1)
    ]  # fmt: skip


MINUTES: dict[str, Callable[[datetime], list[Minute]]] = {
    "behind": behind,
    "draining": draining,
    "stopped": stopped,
    "keeps-up": lambda now: [busy(now, ago, in_flight=0) for ago in range(30, 0, -1)],
    "nothing": lambda _now: [],
    "dead-letters": lambda now: [
        Minute(now - 20 * MINUTE, sent=5, visible=5, in_flight=0, delayed=0, oldest_at=now - 20 * MINUTE)
    ],
}


@pytest.fixture(scope="module")
def queues(postgres: TestServer) -> Iterator[Queues]:
    with postgres.database() as database:
        with psycopg.connect(database.api_dsn, autocommit=True) as db:
            db.execute(f"alter database {database.name} set timezone = 'Asia/Kolkata'".encode())
            made = Queues(database, {name: new_queue(db, name) for name in KINDS}, current_minute(db))
            fill(db, made, made.now)
        yield made


@pytest.fixture(autouse=True)
def _is_recent(queues: Queues) -> None:
    """Stores the minutes again if they are older than the current one, because verdicts depend on the clock."""
    with psycopg.connect(queues.database.api_dsn, autocommit=True) as db:
        if queues.now != (now := current_minute(db)):
            fill(db, queues, now)


@pytest.fixture(scope="module", params=["container", *DRIVERS])
def http(queues: Queues, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Yields the deployment of the container, and the deployments of the functions with both drivers."""
    if request.param == "container":
        with running_service(queues.database.api_dsn) as service, service.http() as http:
            yield http
        return
    variables = {"QUEUE_DATABASE_DRIVER": request.param}
    with (
        FunctionServer(queues.database.pooled_dsn, EVENT_FORMS[0], variables) as deployment,
        client_setup.Client(base_url=deployment.endpoint_url) as http,
    ):
        yield http


def verdicts(http: httpx.Client, **query: Any) -> dict[str, dict[str, Any]]:
    response = http.get("/v1/metrics/lag", params=query)
    assert response.status_code == 200, response.text
    return {queue["name"]: queue["verdict"] for queue in response.json()["queues"]}


# --- GET /v1/metrics/lag ---------------------------------------------------------------------------------------------
def test_each_queue_has_its_verdict(http: httpx.Client) -> None:
    found = verdicts(http)
    assert {name: verdict["kind"] for name, verdict in found.items()} == KINDS


def test_one_queue_has_the_same_verdict(http: httpx.Client) -> None:
    """docs/reference/metrics.md: GET /v1/queues/{name}/lag is one member of the list."""
    (listed,) = (queue for queue in http.get("/v1/metrics/lag").json()["queues"] if queue["name"] == "stopped")
    found = http.get("/v1/queues/stopped/lag")
    assert found.status_code == 200, found.text
    changing = {"seconds_since_receive"}
    for queue in (one := found.json(), listed):
        queue["now"].pop("oldest_age_us")
        queue["verdict"] = {name: value for name, value in queue["verdict"].items() if name not in changing}
    assert one == listed
    assert http.get("/v1/queues/unknown/lag").json()["error"]["code"] == "queue_not_found"


def test_since_when_and_why(http: httpx.Client, queues: Queues) -> None:
    found = verdicts(http)
    stopped, behind = found["stopped"], found["behind"]
    assert datetime.fromisoformat(stopped["since"]) == queues.now - 10 * MINUTE
    assert (stopped["cause"], stopped["cause_text"]) == (
        "nobody_receives",
        "Messages wait and no consumer receives them.",
    )
    assert stopped["since"].endswith("Z")
    assert stopped["seconds_since_receive"] >= 600
    assert abs(datetime.fromisoformat(behind["since"]) - (queues.now - 20 * MINUTE)) <= MINUTE
    assert (behind["cause"], behind["empties_at"], behind["since_or_before"]) == ("arrivals_rose", None, False)


def test_when_it_will_be_empty(http: httpx.Client, queues: Queues) -> None:
    """3,600 messages at 300 a minute take twelve minutes."""
    verdict = verdicts(http)["draining"]
    low, at, high = (datetime.fromisoformat(verdict[f"empties_{name}"]) for name in ("low", "at", "high"))
    assert low <= at <= high
    assert timedelta(minutes=9) < at - queues.now < timedelta(minutes=18)
    assert (verdict["backlog"], verdict["cause"]) == (3600, None)


def test_consumers_for_a_target(http: httpx.Client) -> None:
    """Five receivers are busy and handle 300 messages a minute, so each message takes one second. Sixty more receivers
    are needed to process the backlog of 3,600 messages within a minute.
    """
    slow, quick = (verdicts(http, target_lag_seconds=n)["behind"] for n in (3600, 60))
    assert (slow["consumers_now"], slow["target_lag_seconds"]) == (5, 3600)
    assert 8 <= slow["consumers_needed"] < 15
    assert 60 <= quick["consumers_needed"] < 75


def test_verdicts_as_csv(http: httpx.Client) -> None:
    response = http.get("/v1/metrics/lag", params={"format": "csv", "limit": 5, "target_lag_seconds": 60})
    rows = {row["name"]: row for row in csv.DictReader(response.text.splitlines(), strict=True)}
    assert (rows["behind"]["verdict_kind"], rows["behind"]["verdict_cause"]) == ("falling_behind", "arrivals_rose")
    assert (rows["nothing"]["verdict_kind"], rows["nothing"]["verdict_cause"]) == ("idle", "")
    assert "target_lag_seconds=60" in response.links["next"]["url"]


@pytest.mark.parametrize("seconds", ["0", "86401", "x"])
def test_bad_targets(http: httpx.Client, seconds: str) -> None:
    response = http.get("/v1/metrics/lag", params={"target_lag_seconds": seconds})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")


# --- what needs attention --------------------------------------------------------------------------------------------
def expected_concerns(now: datetime) -> list[tuple[str, str, str, datetime | None, int]]:
    return [
        ("stalled", "bad", "stopped", now - 10 * MINUTE, 200),
        ("given_up", "bad", "https://a.test/hook", now - 40 * MINUTE, 3),
        ("falling_behind", "warn", "behind", now - 20 * MINUTE, 3600),
        ("messages_expire", "warn", "draining", now - 5 * MINUTE, 50),
        ("dead_letters", "warn", "dead-letters", now - 20 * MINUTE, 5),
        ("endpoint_fails", "warn", "https://d.test", now - 10 * MINUTE, 4),
        ("endpoint_fails", "warn", "https://b.test", now - 30 * MINUTE, 0),
        ("endpoint_paused", "info", "https://c.test", now - 30 * MINUTE, 0),
    ]


def concerns_of(document: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (one["kind"], one["level"], one["name"], datetime.fromisoformat(one["since"]), one["number"])
        for one in document
    ]


def are_close(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> bool:
    """Returns whether the lists are equal, except for times that differ by at most a minute."""
    return [(*one[:3], one[4]) for one in found] == [(*one[:3], one[4]) for one in expected] and all(
        abs(one[3] - other[3]) <= MINUTE for one, other in zip(found, expected, strict=True)
    )


def test_queues_and_endpoints_need_attention(http: httpx.Client, queues: Queues) -> None:
    response = http.get("/v1/metrics/attention")
    assert response.status_code == 200, response.text
    assert response.json()["queues"] == len(KINDS)
    found = concerns_of(response.json()["concerns"])
    assert are_close(found, expected_concerns(queues.now)), found
    assert "secret" not in response.text


def test_the_start_of_a_concern_does_not_move(queues: Queues) -> None:
    """In an earlier commit, the verdict on a quiet dead-letter queue started again every minute."""
    with running_service(queues.database.api_dsn) as service, service.http() as http:
        (first,) = (
            one for one in http.get("/v1/metrics/attention").json()["concerns"] if one["kind"] == "dead_letters"
        )
        lag = verdicts(http)["dead-letters"]
    assert (first["since"], first["number"]) == (lag["since"], lag["backlog"])


def test_status_console_and_report_name_the_same(
    queues: Queues, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with running_service(queues.database.api_dsn, QUEUE_CONSOLE="full") as service, service.http() as http:
        main(["status", "--endpoint", service.url, "--json"])
        (status,) = map(json.loads, capsys.readouterr().out.splitlines())
        main(["status", "--endpoint", service.url])
        shown = capsys.readouterr().out
        page = http.get("/console").text
    assert are_close(concerns_of(status["attention"]), expected_concerns(queues.now))
    monkeypatch.setenv("DATABASE_URL", queues.database.api_dsn)
    assert main(["metrics", "report", "--output", str(tmp_path / "report.html")]) == 0
    report = (tmp_path / "report.html").read_text()
    for one in status["attention"]:
        state = one["state"]
        assert re.search(rf"^{state} +{one['name']}", shown, re.MULTILINE)
        assert re.search(rf'>{state}</span>\s+<a class="name" href="[^"]+">{one["name"]}<', page)
    assert {one["state"] for one in status["attention"] if "endpoint" in one["kind"]} == {"fails", "paused"}
    for _, _, name, _, _ in expected_concerns(queues.now):
        assert name in shown
        assert name in page
        assert name in report
    assert "50 messages ended in 15 minutes because their retention was over, and consumers are too slow." in report
    assert "5 dead letters" in page
    assert "3 of 6 queues need attention" in report
    assert "." not in shown.split("dead letters")[1].split()[1]  # whole seconds


# --- GET /v1/queues/{name}/minutes -----------------------------------------------------------------------------------
def test_minutes_are_those_of_the_wanted_period(http: httpx.Client, queues: Queues) -> None:
    start = (queues.now - 11 * MINUTE).isoformat()
    response = http.get("/v1/queues/draining/minutes", params={"from": start, "to": queues.now.isoformat()})
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["queue"], len(found["minutes"])) == ("draining", 11)
    first = found["minutes"][0]
    assert datetime.fromisoformat(first["starts_at"]) == queues.now - 11 * MINUTE
    assert first["starts_at"].endswith("Z")
    assert [first[name] for name in ("sent", "received", "deleted", "visible", "oldest_at")] == [
        300,
        300,
        300,
        6600,
        None,
    ]


def test_minutes_as_csv(http: httpx.Client, queues: Queues) -> None:
    query = {"from": (queues.now - 2 * MINUTE).isoformat(), "to": queues.now.isoformat(), "format": "csv"}
    response = http.get("/v1/queues/stopped/minutes", params=query)
    assert response.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    first, last = csv.DictReader(response.text.splitlines(), strict=True)
    assert (first["sent"], last["visible"], last["received"]) == ("20", "200", "0")


def test_minutes_that_cannot_be_asked_for(http: httpx.Client) -> None:
    for path, code in {"none/minutes": 404, "stopped/minutes?from=yesterday": 400}.items():
        assert http.get(f"/v1/queues/{path}").status_code == code
    late = http.get("/v1/queues/stopped/minutes?from=2026-03-28T00:00:00Z&to=2026-03-29T00:01:00Z")
    assert "more than 1440" in late.json()["error"]["message"]


def test_both_are_in_the_document(http: httpx.Client) -> None:
    paths = http.get("/v1/openapi.json").json()["paths"]
    forms = paths["/v1/queues/{name}/minutes"]["get"]["responses"]["200"]["content"]
    assert set(forms) == {"application/json", "text/csv"}
    assert "target_lag_seconds" in {parameter["name"] for parameter in paths["/v1/metrics/lag"]["get"]["parameters"]}


# --- /metrics and the command line -----------------------------------------------------------------------------------
def test_prometheus_shows_the_verdict_of_each_queue(queues: Queues) -> None:
    with running_service(queues.database.api_dsn) as service:
        found = scrape(service.url)
    for name, kind in KINDS.items():
        assert found.value("penstock_queue_verdict", queue=name, verdict=kind) == 1
    assert len(found.values("penstock_queue_verdict", "queue")) == len(KINDS)
    assert 500 < found.value("penstock_queue_until_empty_seconds", queue="draining") < 1100
    assert not found.has("penstock_queue_until_empty_seconds", queue="behind")
    assert found.value("penstock_queue_since_receive_seconds", queue="stopped") >= 600
    assert found.values("penstock_queue_is_dead_letter_queue", "queue") == {"dead-letters": 1}


def test_no_more_queues_than_the_limit(queues: Queues) -> None:
    with running_service(queues.database.api_dsn, QUEUE_METRICS_MAX_QUEUES="2") as service:
        found = scrape(service.url)
    assert len(found.values("penstock_queue_verdict", "queue")) == 2


@pytest.mark.parametrize("source", ["database", "service"])
def test_the_command_shows_the_worst_first(
    queues: Queues, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    with ExitStack() as stack:
        if source == "database":
            monkeypatch.setenv("DATABASE_URL", queues.database.api_dsn)
        else:
            monkeypatch.delenv("DATABASE_URL", raising=False)
            service = stack.enter_context(running_service(queues.database.api_dsn))
            monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
        check_command(capsys)


def check_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "lag", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["name"] for line in lines][:4] == ["stopped", "behind", "dead-letters", "draining"]
    assert {line["name"]: line["verdict"]["kind"] for line in lines} == KINDS
    assert main(["metrics", "lag", "--limit", "1"]) == 0
    title, stopped, rest = capsys.readouterr().out.splitlines()
    assert title.split() == ["queue", "verdict", "since", "why", "backlog", "in", "out", "empty", "consumers"]
    assert stopped.split()[:2] == ["stopped", "stalled"]
    assert "Messages wait and no consumer receives them." in stopped
    assert rest == "5 more queues"
