"""Checks Grafana's dashboards: queries use existing metrics, links lead to targets, and every panel has a description.

Grafana's documentation (grafana.com/docs) defines the form: "Dashboard JSON model", "Variables" and "Configure data
links". The tests do not start Grafana.
"""

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.support.database import Database
from tests.support.metric_names import exposed, labels_of, named
from tests.support.metrics_page import check, families

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
    variable["definition"]
    for variable in VARIABLES
    if variable.get("datasource", {}).get("type") == "prometheus"
]
SQL = [
    *(target["rawSql"] for target in TARGETS if "rawSql" in target),
    *(v["definition"] for v in VARIABLES if v.get("datasource", {}).get("type") == "postgres"),
]
# Grafana's replacements ("Global variables", "Variable syntax", "PostgreSQL query editor: Macros").
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
    """The metrics and their labels exist. `job` and `instance` come from Prometheus."""
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
        connection.execute(
            "select queue.create('orders'), queue.create_fifo('b.fifo'), queue.send('orders', '1')"
        )
        connection.commit()
        connection.read_only = True
        assert connection.execute(filled(query).encode()).description


@pytest.mark.parametrize("name", DASHBOARDS)
def test_variables_and_links(name: str) -> None:
    """Every used variable exists. Links lead to existing dashboards and set their variables."""
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
