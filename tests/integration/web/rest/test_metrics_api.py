"""Tests /v1/queues/{name}/metrics and /v1/metrics/lag in every deployment. The tests write the rows that the metrics
job would write.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

# The test imports the module before the server's threads start, because pydantic parses source code, which Python 3.11
# cannot do in two threads at the same time.
import penstock_web.rest.application  # noqa: F401
from penstock.settings import DRIVERS
from tests.support import client_setup
from tests.support.database import Database, TestServer
from tests.support.functions.server import FunctionServer
from tests.support.local_lambda.events import EVENT_FORMS
from tests.support.programs.penstock_service import running_service
from tests.support.sql.metric_rows import add_forecast, add_latency, add_run, add_window, new_queue

START = datetime(2026, 3, 29, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SPAN = {"from": "2026-03-29T00:00:00Z", "to": "2026-03-29T01:00:00Z"}
COUNTS = ("arrivals", "deliveries", "redeliveries", "deletions", "dead_lettered", "purged", "expired", "moved")


@pytest.fixture(scope="module")
def database(postgres: TestServer) -> Iterator[Database]:
    """`orders` has two minutes, and one of them contains only counts. `bills` has no minute."""
    with postgres.database() as database:
        with psycopg.connect(database.api_dsn, autocommit=True) as db:
            db.execute(f"alter database {database.name} set timezone = 'Asia/Kolkata'".encode())
            orders = new_queue(db, "orders")
            new_queue(db, "bills")
            counts: dict[str, Any] = {name: number for number, name in enumerate(COUNTS, 10)}
            add_window(db, orders, START, **counts, depth=7, waiting=4, received=3, oldest_age_us=2_500_000)
            add_window(db, orders, START + MINUTE, arrivals=1, visible=5, in_flight=1, delayed=0, groups=2,
                       top_group_share=0.75, gini=0.5)  # fmt: skip
            add_window(db, orders, START, group_id="=tenant,1", arrivals=6)
            for measure in ("wait", "processing", "lag"):
                add_latency(db, orders, START, [1_000, 2_000, -3], measure=measure)
            add_latency(db, orders, START + MINUTE, [4_000_000])
            add_forecast(db, orders, START + 2 * MINUTE)
            add_run(db, START + 2 * MINUTE)
            add_latency(db, orders, START, [1_000, 2_000, 4_000_000], seconds=3600)
            add_latency(db, orders, START - timedelta(hours=1), [3_000], seconds=3600)
            add_latency(db, 0, START, [12], measure="delivery", seconds=3600)
        yield database


@pytest.fixture(scope="module", params=["container", *DRIVERS])
def http(database: Database, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Yields the deployment of the container, and the deployments of the functions with both drivers."""
    if request.param == "container":
        with running_service(database.api_dsn, QUEUE_METRICS_DAYS="36500") as service, service.http() as http:
            yield http
        return
    variables = {"QUEUE_DATABASE_DRIVER": request.param}
    with (
        FunctionServer(database.pooled_dsn, EVENT_FORMS[0], variables) as deployment,
        client_setup.Client(base_url=deployment.endpoint_url) as http,
    ):
        yield http


def read(http: httpx.Client, queue: str = "orders", **query: Any) -> dict[str, Any]:
    response = http.get(f"/v1/queues/{queue}/metrics", params={**SPAN, **query})
    assert response.status_code == 200, response.text
    return dict(response.json())


def table(response: httpx.Response) -> list[dict[str, str]]:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    return list(csv.DictReader(response.text.splitlines(), strict=True))


# --- a queue ---------------------------------------------------------------------------------------------------------
def test_windows_and_their_sum(http: httpx.Client) -> None:
    found = read(http)
    assert {key: value for key, value in found.items() if isinstance(value, str | None)} == {
        "queue": "orders", "window": "1m", "group": None, **SPAN, "computed_at": found["computed_at"],
        "computed_until": "2026-03-29T00:02:00Z",
    }  # fmt: skip
    assert found["computed_at"].endswith("Z")
    first, second = found["windows"]
    assert (first["starts_at"], first["ends_at"]) == ("2026-03-29T00:00:00Z", "2026-03-29T00:01:00Z")
    assert [first[name] for name in COUNTS] == list(range(10, 18))
    assert [first[name] for name in ("depth", "waiting", "received", "oldest_age_us")] == [7, 4, 3, 2_500_000]
    assert [second[name] for name in ("visible", "in_flight", "delayed", "groups", "top_group_share", "gini")] == [
        5, 1, 0, 2, 0.75, 0.5,
    ]  # fmt: skip
    assert (found["total"]["arrivals"], found["total"]["ends_at"]) == (11, SPAN["to"])
    assert found["hot_groups"] == [{"group_id": "=tenant,1", "arrivals": 6}]


def test_latencies_say_whether_they_are_exact(http: httpx.Client) -> None:
    found = read(http)
    first, second = found["windows"]
    assert first["wait"] == first["processing"] == first["lag"] == found["total"]["wait"] == {
        "count": 3, "mean_us": 1000, "p50_us": 1000, "p90_us": 2000, "p95_us": 2000, "p99_us": 2000, "max_us": 2000,
        "negative_count": 1, "exact": True,
    }  # fmt: skip
    assert (second["wait"], second["lag"]["p99_us"]) == (None, 4_000_000)
    total = found["total"]["lag"]
    assert (total["count"], total["max_us"], total["negative_count"], total["exact"]) == (4, 4_000_000, 1, False)
    assert total["p50_us"] == pytest.approx(1000, rel=0.02)


def test_one_group(http: httpx.Client) -> None:
    found = read(http, group="=tenant,1")
    assert (found["group"], found["total"]["arrivals"], len(found["windows"])) == ("=tenant,1", 6, 1)
    assert (found["hot_groups"], read(http, group="nobody")["windows"]) == ([], [])


def test_the_same_as_csv(http: httpx.Client) -> None:
    first, second = table(http.get("/v1/queues/orders/metrics", params={**SPAN, "format": "csv"}))
    shown = read(http)["windows"][0]
    assert [first["starts_at"], first["computed_at"]] == [shown["starts_at"], shown["computed_at"]]
    assert [int(first[name]) for name in COUNTS] == list(range(10, 18))
    assert (first["lag_p99_us"], first["lag_exact"], first["visible"]) == ("2000", "true", "")
    assert (second["wait_count"], second["lag_mean_us"], second["gini"]) == ("", "4000000", "0.5")
    empty = http.get("/v1/queues/bills/metrics", params={**SPAN, "format": "csv"})
    assert (table(empty), empty.text.count("\r\n")) == ([], 1)


def test_nothing_computed_is_said(http: httpx.Client) -> None:
    found = read(http, "bills")
    assert (found["computed_at"], found["computed_until"], found["windows"]) == (None, None, [])
    assert (found["total"]["arrivals"], found["total"]["lag"]) == (0, None)
    assert "`penstock metrics run`" in found["hint"]


@pytest.mark.parametrize(("window", "span"), [("1m", "PT1H"), ("1h", "P1D"), ("1d", "P30D")])
def test_the_time_by_default(http: httpx.Client, window: str, span: str) -> None:
    found = http.get("/v1/queues/orders/metrics", params={"window": window}).json()
    length = datetime.fromisoformat(found["to"]) - datetime.fromisoformat(found["from"])
    assert length == {"PT1H": timedelta(hours=1), "P1D": timedelta(days=1), "P30D": timedelta(days=30)}[span]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(found["to"])) < timedelta(minutes=5)


def test_times_have_offsets(http: httpx.Client) -> None:
    found = read(http, **{"from": "2026-03-29T05:30:00+05:30", "to": "2026-03-28T19:00:30-05:00"})
    assert (found["from"], found["to"]) == ("2026-03-29T00:00:00Z", "2026-03-29T00:00:30Z")
    assert len(found["windows"]) == 1


HOSTILE: dict[str, dict[str, str]] = {
    "no window": {"window": "5m"},
    "no form": {"format": "xml"},
    "no offset": {"from": "2026-03-29T00:00:00"},
    "a space for a plus": {"from": "2026-03-29T00:00:00 00:00"},
    "no time": {"to": "yesterday"},
    "a number": {"to": "1700000000"},
    "empty": {"from": ""},
    "NUL": {"from": "\0"},
    "other digits": {"from": "٢٠٢٦-03-29T00:00:00Z"},
    "long": {"to": "2" * 65},
    "before time": {"from": "0001-01-01T00:00:00+14:00"},
    "after time": {"to": "9999-12-31T23:59:59-14:00"},
    "no such day": {"from": "2026-02-30T00:00:00Z"},
    "backwards": {"from": SPAN["to"], "to": SPAN["from"]},
    "nothing": {"from": SPAN["to"]},
    "a minute too many": {"from": "2026-03-28T00:59:59Z"},
    "empty group": {"group": ""},
    "NUL in group": {"group": "a\0"},
    "long group": {"group": "g" * 129},
    "not ASCII": {"group": "ä"},
}


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_bad_requests(http: httpx.Client, query: dict[str, str]) -> None:
    response = http.get("/v1/queues/orders/metrics", params={**SPAN, **query})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request"), response.text


def test_at_most_1440_windows(http: httpx.Client) -> None:
    assert len(read(http, **{"from": "2026-03-28T01:00:00Z"})["windows"]) == 2
    response = http.get("/v1/queues/orders/metrics", params={**SPAN, "from": "2026-03-28T00:59:00Z"})
    assert "more than 1440 windows of 1m" in response.json()["error"]["message"]


@pytest.mark.parametrize("name", ["none", "a b", "x" * 81, "%00", "..%2F"])
def test_no_such_queue(http: httpx.Client, name: str) -> None:
    response = http.get(f"/v1/queues/{name}/metrics")
    assert (response.status_code, response.json()["error"]["code"]) in [(404, "queue_not_found"), (404, "not_found")]


# --- all queues ------------------------------------------------------------------------------------------------------
def test_the_lag_of_all_queues_has_its_period_and_percentiles(http: httpx.Client) -> None:
    response = http.get("/v1/metrics/lag")
    assert response.status_code == 200, response.text
    page = response.json()
    assert [page[name] for name in ("from", "to", "computed_at")] == [
        "2026-03-28T23:00:00Z", "2026-03-29T00:02:00Z", "2026-03-29T00:02:00Z",
    ]  # fmt: skip
    assert (page["fire"], page["delivery"]["p50_us"], "next" in page) == (None, 12, False)
    assert "hint" not in page
    bills, orders = page["queues"]
    assert (bills["name"], bills["computed_at"], bills["forecast"], bills["lag"]) == ("bills", None, [], None)
    assert (bills["outlook"], bills["warnings"]) == (None, None)
    assert orders["now"] == {"visible": 0, "in_flight": 0, "delayed": 0, "oldest_age_us": 0}
    assert [orders[name] for name in ("backlog", "arrival_rate", "drain_rate", "drain_seconds")] == [600, 1.5, 2, 1200]
    assert len(orders["forecast"]) == 12
    assert orders["forecast"][-1] == {"at": "2026-03-29T01:02:00Z", "messages": 0, "low": 0, "high": 400}
    assert orders["outlook"] == {
        "method": "daily_fading", "reason": None, "interval_level": 0.8, "interval_coverage": 0.79, "mean_error": 12,
        "unchanged_error": 30, "backtests": 276,
    }  # fmt: skip
    assert orders["warnings"] == {"retention_seconds": 172_800, "fastest_rate": None, "mean_rate": None}
    assert (orders["lag"]["count"], orders["lag"]["exact"], orders["wait"]) == (4, False, None)


def test_lag_page_by_page(http: httpx.Client) -> None:
    first = http.get("/v1/metrics/lag", params={"limit": 1}).json()
    assert [queue["name"] for queue in first["queues"]] == ["bills"]
    last = http.get("/v1/metrics/lag", params={"limit": 1, "next": first["next"]}).json()
    assert ([queue["name"] for queue in last["queues"]], "next" in last) == (["orders"], False)


def test_lag_as_csv(http: httpx.Client) -> None:
    response = http.get("/v1/metrics/lag", params={"limit": 1, "format": "csv"})
    (bills,) = table(response)
    assert (bills["name"], bills["now_visible"], bills["drain_seconds"]) == ("bills", "0", "")
    following = response.links["next"]["url"]
    (orders,) = table(http.get(following))
    assert (orders["name"], orders["forecast_at"], orders["forecast_high"], orders["lag_count"]) == (
        "orders", "2026-03-29T01:02:00Z", "400.0", "4",
    )  # fmt: skip
    assert (orders["outlook_method"], orders["warnings_retention_seconds"], bills["outlook_method"]) == (
        "daily_fading", "172800.0", "",
    )  # fmt: skip
    assert "link" not in http.get(following).headers


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "201"}, {"next": "x"}, {"next": "\0"}, {"format": "tsv"}])
def test_bad_requests_of_lag(http: httpx.Client, query: dict[str, str]) -> None:
    response = http.get("/v1/metrics/lag", params=query)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")


def test_both_are_in_the_document(http: httpx.Client) -> None:
    paths = http.get("/v1/openapi.json").json()["paths"]
    described = paths["/v1/queues/{name}/metrics"]["get"]
    assert {parameter["name"] for parameter in described["parameters"]} == {
        "name",
        "window",
        "from",
        "to",
        "group",
        "format",
    }
    for path, member in (("/v1/queues/{name}/metrics", "windows"), ("/v1/metrics/lag", "queues")):
        forms = paths[path]["get"]["responses"]["200"]["content"]
        assert set(forms) == {"application/json", "text/csv"}
        assert member in forms["application/json"]["schema"]["properties"]
