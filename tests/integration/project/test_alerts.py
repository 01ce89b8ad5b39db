"""Checks Grafana's dashboards and Prometheus's alert rules.

Grafana's documentation (grafana.com/docs) defines the format: "Dashboard JSON model", "Variables" and "Configure data
links". The tests do not start Grafana. promtool tests when each alert fires.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from penstock.management.verdicts import QUEUE_LEVELS
from penstock.verdicts import Facts
from tests.support.database import Database
from tests.support.metrics_page import check, exposed, families, labels_of, named
from tests.support.verdicts.score import series_of, verdicts_of
from tests.support.verdicts.simulation import SCENARIOS, Plan, simulate

ROOT = Path(__file__).parents[3]
GRAFANA = ROOT / "infra/container/grafana"
DASHBOARDS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((GRAFANA / "dashboards").glob("*.json"))
}
PANELS = [panel for board in DASHBOARDS.values() for panel in board["panels"] if panel["type"] != "row"]
VARIABLES = [variable for board in DASHBOARDS.values() for variable in board["templating"]["list"]]
TARGETS = [target for panel in PANELS for target in panel["targets"]]
QUERIES = [target["expr"] for target in TARGETS if "expr" in target]
VARIABLE_QUERIES = [
    variable["definition"] for variable in VARIABLES if variable.get("datasource", {}).get("type") == "prometheus"
]
SQL = [
    *(target["rawSql"] for target in TARGETS if "rawSql" in target),
    *(v["definition"] for v in VARIABLES if v.get("datasource", {}).get("type") == "postgres"),
]
# Values for Grafana's variables ("Global variables", "Variable syntax", "PostgreSQL query editor: Macros").
VALUES = {
    "${queue:sqlstring}": "'orders'",
    "${account:sqlstring}": "'000000000000'",
    "$__rate_interval": "1m",
    "$job": ".*",
    "$instance": ".*",
    "$queue": "orders",
}


def filled(query: str) -> str:
    for variable, value in VALUES.items():
        query = query.replace(variable, value)
    return re.sub(r"\$__timeFilter\(([^)]*)\)", r"\1 between now() - interval '1 hour' and now()", query)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_asks_for_what_is_exposed(query: str) -> None:
    """The metrics and their labels exist. Prometheus adds the labels `job` and `instance`."""
    assert named(query)
    assert named(query) <= exposed()
    known = {family.name: {*labels, "job", "instance", "le"} for family, labels in families()}
    for name, labels in labels_of(query).items():
        base = re.sub(r"_(bucket|sum|count)$", "", name) if name not in known else name
        assert labels <= known.get(base, {"job", "instance"}), name


def test_prometheus_understands_every_query(tmp_path: Path) -> None:
    rules = [{"record": f"a:query{n}", "expr": filled(query)} for n, query in enumerate(QUERIES)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))
    assert "SUCCESS" in check("check", "rules", file)


@pytest.mark.parametrize("query", VARIABLE_QUERIES)
def test_the_values_of_a_variable_are_exposed(query: str) -> None:
    match = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", query)
    assert match
    (labels,) = [labels for family, labels in families() if family.name == match[1]]
    assert match[2] in (*labels, "job", "instance")


@pytest.mark.parametrize("query", SQL)
def test_a_query_of_the_database_runs(database: Database, query: str) -> None:
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("select queue.create('orders'), queue.create_fifo('b.fifo'), queue.send('orders', '1')")
        connection.commit()
        connection.read_only = True
        assert connection.execute(filled(query).encode()).description


@pytest.mark.parametrize("name", DASHBOARDS)
def test_variables_and_links(name: str) -> None:
    """Every variable that a query uses exists. Links lead to existing dashboards and set the dashboards' variables."""
    board = DASHBOARDS[name]
    text = json.dumps(board)
    own = {variable["name"] for variable in board["templating"]["list"]}
    used = {name for name in re.findall(r"\$\{?([a-z_]+)", text) if not name.startswith("__")}
    assert used <= own
    assert {"datasource", "job", "instance", "queue"} <= own
    uids = {other["uid"]: {v["name"] for v in other["templating"]["list"]} for other in DASHBOARDS.values()}
    links = re.findall(r"\"url\": \"/d/([a-z-]+)/[^\"?]+\??([^\"]*)\"", text)
    assert {uid for uid, _ in links} == uids.keys() - {board["uid"]}
    for uid, query in links:
        assert set(re.findall(r"var-(\w+)=", query)) <= uids[uid]


def test_a_queue_of_the_overview_opens_its_dashboard() -> None:
    table, lines = (
        [panel for panel in PANELS if "/d/penstock-queue/" in json.dumps(panel) and panel["type"] == kind]
        for kind in ("table", "timeseries")
    )
    assert table
    assert len(lines) >= 3


def test_panels_explain_themselves() -> None:
    for panel in PANELS:
        assert panel["description"].endswith("."), panel["title"]
        for target in panel["targets"]:
            assert target["datasource"]["uid"] in ("${datasource}", "${database}")
    assert sum("thresholds" in panel["fieldConfig"]["defaults"] for panel in PANELS) >= 10


def test_panels_neither_overlap_nor_share_a_number() -> None:
    for board in DASHBOARDS.values():
        cells = [
            (x, y)
            for at in (panel["gridPos"] for panel in board["panels"])
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ]
        assert len(cells) == len(set(cells))
        assert max(x for x, _ in cells) < 24
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_specified_metrics_are_shown() -> None:
    shown = set[str]().union(*map(named, QUERIES))
    assert {
        "penstock_queue_depth",
        "penstock_queue_in_flight",
        "penstock_queue_messages_sent_total",
        "penstock_db_pool_active",
        "penstock_http_requests_total",
    } <= shown


def test_the_kinds_of_data_sources_are_provisioned() -> None:
    provisioned = yaml.safe_load((GRAFANA / "provisioning/datasources/penstock.yaml").read_text())
    kinds = {source["type"] for source in provisioned["datasources"]}
    assert {variable["query"] for variable in VARIABLES if variable["type"] == "datasource"} == kinds


# --- rules -----------------------------------------------------------------------------------------------------------
# promtool accepts the alert rules, each alert fires in its case, and no alert fires on a quiet installation.
#
# `promtool test rules` evaluates the rules on generated series (prometheus.io, "Unit Testing for Rules").
PROMETHEUS = ROOT / "infra/container/prometheus"
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}
PAGE = (ROOT / "docs/operate/alerts.md").read_text()

STEADY = "0+0x200"
FASTER = "0+60x200"  # one message arrives each second
OLDER = "0+60x200"
ONE = "1+0x200"


def verdict(kind: str) -> str:
    """Returns the name of the series for this verdict on a queue."""
    return f'penstock_queue_verdict{{queue="q",verdict="{kind}"}}'


# Each of these series has a value for each minute and makes an alert fire within 100 minutes. In each case, the second
# dictionary contains the labels of the alert.
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "PenstockDown": ({'up{job="penstock",instance="a"}': STEADY}, {"job": "penstock", "instance": "a"}),
    "PenstockDatabaseDown": ({'penstock_db_up{instance="a"}': STEADY, 'penstock_db_up{instance="b"}': STEADY}, {}),
    "PenstockDatabaseNotWritable": (
        {'penstock_db_writable{instance="a"}': "1+0x200", 'penstock_db_writable{instance="b"}': STEADY},
        {},
    ),
    "PenstockErrors": (
        {
            'penstock_http_requests_total{status="200"}': "0+98x200",
            'penstock_http_requests_total{status="503"}': "0+2x200",
        },
        {},
    ),
    "PenstockSlow": (
        {
            'penstock_http_request_duration_seconds_bucket{path="sqs:SendMessage",le="0.5"}': "0+90x200",
            'penstock_http_request_duration_seconds_bucket{path="sqs:SendMessage",le="1"}': "0+100x200",
            'penstock_http_request_duration_seconds_bucket{path="sqs:SendMessage",le="+Inf"}': "0+100x200",
        },
        {},
    ),
    "PenstockPoolExhausted": ({"penstock_db_pool_acquire_timeouts_total": "0+1x200"}, {}),
    "PenstockAuthFailures": (
        {'penstock_auth_failures_total{code="AccessDenied"}': "0+120x200"},
        {"code": "AccessDenied"},
    ),
    "PenstockOldMessages": ({'penstock_queue_oldest_message_age_seconds{queue="q"}': OLDER}, {"queue": "q"}),
    "PenstockNobodyReceives": ({verdict("stalled"): ONE}, {"queue": "q"}),
    "PenstockThrottled": ({verdict("throttled"): ONE}, {"queue": "q"}),
    "PenstockNeverEmpties": ({verdict("draining"): ONE}, {"queue": "q"}),
    "PenstockFallingBehind": (
        {verdict("falling_behind"): ONE, 'penstock_queue_until_empty_seconds{queue="q"}': "9000+0x200"},
        {"queue": "q"},
    ),
    "PenstockRetentionReached": ({'penstock_queue_until_retention_seconds{queue="q"}': "200000+0x200"}, {"queue": "q"}),
    "PenstockMessagesExpire": ({'penstock_queue_messages_expired_total{queue="q"}': "0+1x200"}, {"queue": "q"}),
    "PenstockNeverCatchesUp": ({'penstock_queue_never_catches_up{queue="q"}': ONE}, {"queue": "q"}),
    "PenstockPoisoned": ({verdict("poisoned"): ONE}, {"queue": "q"}),
    "PenstockDeadLetters": ({'penstock_queue_messages_dead_lettered_total{queue="q"}': "0+1x200"}, {"queue": "q"}),
    "PenstockDeadLettersWait": ({verdict("dead_letters"): ONE}, {"queue": "q"}),
    "PenstockEndpointsPaused": ({"penstock_delivery_paused_endpoints": ONE}, {}),
    "PenstockEndpointsFail": ({"penstock_delivery_failing_endpoints": ONE}, {}),
    "PenstockNoisyGroup": ({'penstock_queue_noisy_groups{queue="q"}': "1+0x200"}, {"queue": "q"}),
    "PenstockNoVerdicts": ({"penstock_queues_measured": ONE}, {}),
    "PenstockNotMeasured": ({"penstock_queue_measurement_age_seconds": OLDER}, {}),
    "PenstockWorkerFails": (
        {'penstock_worker_runs_total{worker="move",outcome="failure"}': FASTER},
        {"worker": "move"},
    ),
    "PenstockWorkerDead": (
        {'penstock_worker_last_success_timestamp_seconds{worker="move"}': STEADY},
        {"worker": "move"},
    ),
    "PenstockMetricsJobFails": ({"penstock_metrics_job_failed_runs": ONE}, {}),
    "PenstockMetricsJobOld": ({"penstock_metrics_job_last_success_timestamp_seconds": "-3600+0x200"}, {}),
    "PenstockNotMaintained": ({'penstock_worker_last_success_timestamp_seconds{worker="maintain"}': "5700+0x200"}, {}),
    "PenstockSchedulesLate": ({"penstock_schedule_overdue_seconds": OLDER}, {}),
    "PenstockSchedulesFail": ({'penstock_worker_work_total{worker="fire",what="failed"}': "0+0x90 1+0x100"}, {}),
    "PenstockDeliveriesLate": ({"penstock_delivery_overdue_seconds": OLDER}, {}),
    "PenstockDeliveriesGivenUp": ({"penstock_queue_delivery_exhausted_total": "0+1x200"}, {}),
    "PenstockOldTransaction": ({"penstock_db_oldest_transaction_age_seconds": OLDER}, {}),
    "PenstockOldSnapshot": ({"penstock_db_oldest_xmin_age_transactions": "0+200000x200"}, {}),
    "PenstockDeadRows": (
        {
            'penstock_db_dead_tuples{table="log"}': "2000000+0x200",
            'penstock_db_live_tuples{table="log"}': "900000+0x200",
        },
        {"table": "log"},
    ),
}  # fmt: skip
# Maps all metrics to normal values.
QUIET = {
    'up{job="penstock",instance="a"}': "1+0x200",
    'penstock_queue_until_retention_seconds{queue="q"}': "300000+0x200",
    'penstock_db_up{instance="a"}': "1+0x200",
    'penstock_db_up{instance="b"}': STEADY,  # another process reaches the database
    'penstock_db_writable{instance="a"}': "1+0x200",  # the other process has no reading
    'penstock_http_requests_total{status="200"}': "0+1000x200",
    'penstock_http_requests_total{status="503"}': "0+1x200",
    'penstock_http_request_duration_seconds_bucket{path="sqs:SendMessage",le="0.5"}': "0+100x200",
    'penstock_http_request_duration_seconds_bucket{path="sqs:SendMessage",le="+Inf"}': "0+100x200",
    'penstock_http_request_duration_seconds_bucket{path="sqs:ReceiveMessage",le="0.5"}': STEADY,  # long polls are slow
    'penstock_http_request_duration_seconds_bucket{path="sqs:ReceiveMessage",le="+Inf"}': "0+100x200",
    "penstock_db_pool_acquire_timeouts_total": "7+0x200",
    'penstock_auth_failures_total{code="AccessDenied"}': "0+1x200",
    'penstock_queue_oldest_message_age_seconds{queue="q"}': "60+0x200",
    'penstock_queue_oldest_message_age_seconds{queue="lost"}': OLDER,
    # Messages stay in the dead-letter queue `lost` intentionally.
    'penstock_queue_is_dead_letter_queue{queue="lost"}': "1+0x200",
    'penstock_queue_verdict{queue="q",verdict="ok"}': "1+0x200",
    'penstock_queue_verdict{queue="batch",verdict="draining"}': "1+0x200",
    'penstock_queue_until_empty_seconds{queue="batch"}': "600+0x200",
    'penstock_queue_verdict{queue="lost",verdict="idle"}': "1+0x200",
    "penstock_queues_measured": "3+0x200",
    'penstock_queue_messages_dead_lettered_total{queue="q"}': "3+0x200",
    'penstock_queue_messages_expired_total{queue="q"}': "3+0x200",
    'penstock_queue_noisy_groups{queue="q"}': "0+0x200",
    "penstock_queue_measurement_age_seconds": "10+0x200",
    'penstock_worker_runs_total{worker="move",outcome="success"}': FASTER,
    'penstock_worker_runs_total{worker="move",outcome="failure"}': "1+0x200",
    'penstock_worker_last_success_timestamp_seconds{worker="maintain"}': "0+60x200",
    'penstock_worker_last_success_timestamp_seconds{worker="move"}': "0+60x200",
    "penstock_metrics_job_failed_runs": "0+0x200",
    "penstock_metrics_job_last_success_timestamp_seconds": "0+60x200",
    "penstock_schedule_overdue_seconds": "1+0x200",
    'penstock_worker_work_total{worker="fire",what="failed"}': "2+0x200",
    'penstock_worker_work_total{worker="fire",what="fired"}': FASTER,
    "penstock_delivery_overdue_seconds": "1+0x200",
    "penstock_queue_delivery_exhausted_total": "2+0x200",
    "penstock_db_oldest_transaction_age_seconds": "30+0x200",
    "penstock_db_oldest_xmin_age_transactions": "50000+0x200",
    'penstock_db_dead_tuples{table="log"}': "2000000+0x200",
    'penstock_db_live_tuples{table="log"}': "5000000+0x200",
}


def expected(name: str, labels: dict[str, str]) -> dict[str, Any]:
    rule = ALERTS[name]
    annotations = {
        key: re.sub(r"{{ \$labels\.(\w+) }}", lambda match: labels[match[1]], text)
        for key, text in rule["annotations"].items()
    }
    return {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": annotations}


def case_of(series: dict[str, str], fires: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Returns a promtool test that expects exactly these alerts at minute 100."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": "100m",
                "alertname": name,
                "exp_alerts": [expected(name, fires[name])] if name in fires else [],
            }
            for name in ALERTS
        ],
    }


def test_rules_and_configuration_are_valid() -> None:
    assert "SUCCESS" in check("check", "config", PROMETHEUS / "prometheus.yml")


def test_each_alert_has_a_case() -> None:
    assert set(CASES) == set(ALERTS)


def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    tests = [case_of(series, {name: labels}) for name, (series, labels) in CASES.items()]
    file = tmp_path / "alerts_test.yaml"
    content = {"rule_files": [str(PROMETHEUS / "alerts.yaml")], "tests": [*tests, case_of(QUIET, {})]}
    file.write_text(yaml.safe_dump(content))
    assert "SUCCESS" in check("test", "rules", file)


def test_the_check_would_notice(tmp_path: Path) -> None:
    """With a wrong expectation, promtool fails, so the test above can fail."""
    file = tmp_path / "alerts_test.yaml"
    content = {"rule_files": [str(PROMETHEUS / "alerts.yaml")], "tests": [case_of(QUIET, {"PenstockErrors": {}})]}
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(AssertionError, match="FAILED"):
        check("test", "rules", file)


# --- names -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("query", [rule["expr"] for rule in ALERTS.values()])
def test_every_queried_metric_is_exposed(query: str) -> None:
    assert named(query)
    assert named(query) <= exposed()


# --- runbook ---------------------------------------------------------------------------------------------------------
def test_each_alert_has_a_line_in_the_runbook() -> None:
    rows = dict(re.findall(r"^\| `(Penstock\w+)` \| (\w+) \| .+ \|$", PAGE, re.MULTILINE))
    assert list(rows.items()) == [(name, rule["labels"]["severity"]) for name, rule in ALERTS.items()]


def test_each_alert_leads_to_a_place_in_the_runbook() -> None:
    for name, rule in ALERTS.items():
        page, _, anchor = rule["annotations"]["runbook_url"].partition("/#")
        source = ROOT / f"{page.strip('/')}.md"
        headings = re.findall(r"^#+ (.+)$", source.read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", text.lower()).replace(" ", "-") for text in headings}
        assert anchor in {"", *anchors}, name


def test_no_queue_is_left_out_by_its_name() -> None:
    for rule in ALERTS.values():
        assert not re.search(r"queue(=~|!~|!=)", rule["expr"])


def test_alerts_about_a_queue_name_it() -> None:
    for rule in ALERTS.values():
        if "by (queue)" in rule["expr"]:
            assert "{{ $labels.queue }}" in rule["annotations"]["summary"]


# --- how soon --------------------------------------------------------------------------------------------------------
# An alert pages the operator soon after a consumer stops, but never because of a healthy queue. promtool reads
# the series of /metrics for generated days. A scrape shows the oldest possible minutes and verdict.
#
# docs/operate/alerts.md promises a page within three minutes after a consumer stops, and no page for a healthy queue.
RULES = ROOT / "infra/container/prometheus/alerts.yaml"
DIES_AT = 90  # in minutes; the test adds a fraction of a minute
WITHIN = 180

# Maps four kinds of queues to the minutes of the day at which their consumers stop. The queues are busy, are quiet,
# have messages that stay in flight, or have consumers that were always behind.
DYING: dict[str, Callable[[float], Plan]] = {
    "busy": lambda end: Plan(lambda _: 300, lambda m, _: 0 if m >= end else 10, lambda _: 1.5),
    "quiet": lambda end: Plan(lambda _: 3, lambda m, _: 0 if m >= end else 1, lambda _: 1),
    "long-timeout": lambda end: Plan(
        lambda _: 300, lambda m, _: 0 if m >= end else 10, lambda _: 1.5, visibility_seconds=43_200
    ),
    "behind": lambda end: Plan(lambda _: 500, lambda m, _: 0 if m >= end else 10, lambda _: 1.5),
}
HEALTHY = ("steady", "quiet", "idle", "slow handlers by nature", "diurnal, enough", "hourly batch", "autoscaled")


def run(tmp_path: Path, interval: str, series: list[dict[str, str]], tests: list[dict[str, Any]]) -> str:
    file = tmp_path / "paging.yaml"
    test = {"interval": interval, "input_series": series, "promql_expr_test": tests}
    content = {"rule_files": [str(RULES)], "evaluation_interval": interval, "tests": [test]}
    file.write_text(yaml.safe_dump(content))
    return check("test", "rules", file)


@pytest.mark.parametrize("fraction", [0, 20, 40])
def test_a_dead_consumer_pages_within_three_minutes(tmp_path: Path, fraction: int) -> None:
    death = DIES_AT * 60 + fraction
    start, series = death - 1200, []
    for name, plan in DYING.items():
        made = plan(death / 60)
        made.minutes, made.partial_seconds = DIES_AT + 10, 5
        verdicts = list(verdicts_of(simulate(made), Facts(), start // 15 * 15, death + 400))
        series += series_of(name, verdicts)
    fires = 'sort_desc(count by (queue) (ALERTS{alertname="PenstockNobodyReceives",alertstate="firing"}))'
    begin = start // 15 * 15
    tests: list[dict[str, Any]] = [
        {"expr": fires, "eval_time": f"{death - begin + 30}s", "exp_samples": []},
        {
            "expr": fires,
            "eval_time": f"{(death - begin + WITHIN) // 15 * 15}s",
            "exp_samples": [{"labels": f'{{queue="{name}"}}', "value": 1} for name in DYING],
        },
    ]
    assert "SUCCESS" in run(tmp_path, "15s", series, tests)


def test_healthy_queues_page_nobody(tmp_path: Path) -> None:
    series = []
    for name in HEALTHY:
        scenario = SCENARIOS[name]
        day = simulate(scenario.plan)
        minutes = range(600, 900, 2)
        verdicts = list(verdicts_of(day, scenario.facts, minutes.start * 60, minutes.stop * 60, 120))
        series += series_of(name, verdicts)
    paged = 'count_over_time(ALERTS{alertstate="firing",severity="page",queue!=""}[1d])'
    assert "SUCCESS" in run(tmp_path, "2m", series, [{"expr": paged, "eval_time": "300m", "exp_samples": []}])


@pytest.mark.parametrize(
    "query",
    [
        *(f'verdict="{kind.value}"' for kind in QUEUE_LEVELS), "penstock_queue_messages_expired_total",
        "penstock_queue_delivery_exhausted_total", "penstock_delivery_paused_endpoints",
        "penstock_delivery_failing_endpoints",
    ],
)  # fmt: skip
def test_each_kind_of_concern_has_an_alert(query: str) -> None:
    assert query in "".join(rule["expr"] for rule in ALERTS.values())
