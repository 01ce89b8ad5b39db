"""Tests names, pictures and the page: the documents name exactly the existing pictures."""

import json
import platform
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.catalogue import GROUPS, STUDIES, select_studies
from benchmarks.measure.host import machine
from benchmarks.options import arguments
from benchmarks.peers.makers import PEERS
from benchmarks.report import page as report_page
from benchmarks.report import pictures, summary
from benchmarks.report.pictures import axis_of, chart, format_tick
from benchmarks.report.rows import markdown
from benchmarks.studies import million
from infra.local.interpreter import is_optimised
from penstock_web.report.svg import Scale, round_ticks

README = Path(__file__).parents[3] / "benchmarks" / "README.md"


def test_the_readme_names_every_scenario_and_peer() -> None:
    text = README.read_text()
    assert [name for name in (*STUDIES, *PEERS) if f"`{name}`" not in text] == []


def test_a_group_means_its_studies_once_and_in_order() -> None:
    assert [study.name for study in select_studies(["warski", "warski_threads"])] == list(GROUPS["warski"])
    assert len(select_studies(["all"])) == len(STUDIES)


def test_names_may_stand_with_commas() -> None:
    options = arguments(["--scenario", "send_1,warski", "--peers", "pgmq,bullmq"], "")
    assert options.scenario == ["send_1", "warski"]
    assert options.peers == ["pgmq", "bullmq"]


@pytest.mark.parametrize("wrong", [["--scenario", "nothing"], ["--peers", "nobody"]])
def test_unknown_names_are_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(wrong, "")


@pytest.mark.parametrize(("rough", "step"), [(0.3, 0.5), (1.0, 1.0), (1.1, 2.0), (26, 50), (700, 1_000)])
def test_steps_are_round(rough: float, step: float) -> None:
    assert round_ticks(5 * rough, 5)[1] == pytest.approx(step)


def test_an_axis_holds_all_values() -> None:
    axis = axis_of([0, 7, 93], 0, 1)
    assert (axis.scale.low, axis.scale.high) == (0, 100)
    assert axis.ticks == [0, 20, 40, 60, 80, 100]


def test_a_logarithmic_axis_has_powers_of_ten() -> None:
    axis = axis_of([0, 20, 4_000], 0, 1, logarithmic=True)
    assert axis.ticks == [10, 100, 1_000, 10_000]
    assert [axis(0), axis(10), axis(10_000)] == [0, 0, 1]


def test_a_flat_axis_is_no_division_by_zero() -> None:
    assert Scale(1, 1, 0, 1)(1) == 0
    assert axis_of([0.0, 0.0], 0, 1)(0.0) == 0
    assert axis_of([100.0], 0, 1, logarithmic=True)(100.0) == 0


def test_a_chart_is_well_formed_and_escapes_names() -> None:
    root = ET.fromstring(chart("a < b", "x & y", "z", {"c<d": [(1, 2), (0, 1)], "e": [(2, 3)]}))
    curves = [element.attrib["d"] for element in root.iter() if element.tag.endswith("path")]
    assert len(curves) == 2
    first = [float(pair.split()[0]) for pair in curves[0].removeprefix("M").split("L")]
    assert first == sorted(first)
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"a < b", "x & y", "c<d"} < texts


def test_an_unmeasured_value_is_a_dash() -> None:
    """The page shows a dash for a client that does not time its calls, whose summary has 0."""
    document = summary.read_summaries(summary.RESULTS)["receive_delete_10"]
    rows = {row["p50"]: row for row in report_page.rows_of_systems([document], "p50", "p50_ms")}
    assert rows["bullmq"]["receive_delete_10"] is None
    assert rows["penstock"]["receive_delete_10"] is not None
    assert not re.search(r"p\d+ ms.*\| 0 \|", report_page.PAGE.read_text())


def test_the_page_begins_with_who_needs_less() -> None:
    document = summary.read_summaries(summary.RESULTS)["receive_delete_10"]
    (row,) = report_page.rows_in_short(document)
    assert [part.split()[0] for part in str(row["less CPU"]).split(", ")] == [
        "rabbitmq-quorum", "fauxqs", "rabbitmq-classic",
    ]  # fmt: skip


def test_a_table_says_once_what_is_equal_in_all_rows() -> None:
    rows: list[dict[str, object]] = [
        {"queues": 1, "ms": 4, "lost": 0, "verdict": "clean", "marks": ""},
        {"queues": 10, "ms": 7, "lost": 0, "verdict": "clean", "marks": ""},
    ]
    table = "| queues | ms |\n| --- | ---: |\n| 1 | 4 |\n| 10 | 7 |"
    assert report_page.condense(rows) == f"{table}\n\nIn each row: verdict clean; 0 lost."


@pytest.mark.parametrize(("value", "text"), [(20_000, "20k"), (5e6, "5M"), (0.25, "0.25"), (0, "0")])
def test_scales_are_short(value: float, text: str) -> None:
    assert format_tick(value) == text


@pytest.mark.parametrize(
    ("service", "database", "ratio", "met"),
    [(5.0, 60.0, 0.95, True), (5.1, 60.0, 0.95, False), (5.0, 60.1, 0.95, False), (5.0, 60.0, 0.94, False)],
)
def test_the_goals_of_the_million(service: float, database: float, ratio: float, met: bool) -> None:
    """The service may grow by 5 MB and the database by 60 MB. Receives must reach 0.95 of the empty queue's rate."""
    empty = {"stage": "empty", "service MiB": 50.0, "postgresql MiB": 40.0, "disk MiB": None}
    filled = {"stage": "filled", "service MiB": 50 + service, "postgresql MiB": 40 + database, "disk MiB": 9}
    row = million.growth_of([empty, filled])
    assert "disk MiB more" not in row
    assert million.reaches_goals(row | {"ratio": ratio}) is met


def test_pictures_are_of_studies() -> None:
    assert set(pictures.ROWS) <= set(STUDIES)


def results_document(scenario: str, system: dict[str, object]) -> dict[str, object]:
    return {
        "scenario": scenario,
        "date": "2026-01-02T03:04:05+00:00",
        "commit": "c0ffee",
        "machine": {"cpu": "c", "cores": 2, "kernel": "k"},
        "settings": {},
        "load_before": {"busy": False, "busy_share": 0.01},
        "systems": [system],
    }


def test_the_page_shows_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "pictures")
    raw, kept = tmp_path / "raw", tmp_path / "results.json"
    raw.mkdir()
    for day, rate in (("01", 111.0), ("02", 222.0)):
        rows = [{"threads": 1, "received/s": rate}, {"threads": 5, "received/s": 2 * rate}]
        system: dict[str, object] = {"system": "penstock", "rows": rows, "marks": ["busy host"], "facts": {}}
        document = results_document("warski_threads", system)
        (raw / f"2026-01-{day}.json").write_text(json.dumps(document))
        summary.write_summary(raw / f"2026-01-{day}.json", kept)
    assert list(summary.read_summaries(kept)) == ["warski_threads"]
    text = report_page.studies_page(summary.read_summaries(kept))
    assert "| 5 | 444 |" in text
    assert "111" not in text
    assert "busy host" in text
    assert "![warski-threads](warski-threads.svg)" in text
    assert (tmp_path / "pictures" / "warski-threads.svg").exists()


def test_the_table_of_goals_says_what_was_to_be_reached(tmp_path: Path) -> None:
    figures = {
        "messages_per_second": 20_000.0, "sent_per_second": 20_000.0, "server_cpu_seconds_per_1000": 0.05,
        "generator_cpu_seconds_per_1000": 0.02, "p50_ms": 0.7, "p99_ms": 2.0,
    }  # fmt: skip
    system: dict[str, object] = {
        "system": "penstock", "connections": 16, "median": figures, "marks": [], "facts": {}
    }  # fmt: skip
    text = report_page.page({"send_1": results_document("send_1", system)})
    assert "15,000 msg/s, 0.06 s" in text
    assert "20,000" in text


@pytest.mark.parametrize(
    ("recorded", "running", "text"),
    [
        ({"python": "3.11.2"}, False, "Python 3.11.2, of unknown build"),
        (
            {"python": "3.11.2", "python_implementation": "CPython", "python_optimised": True},
            False,
            "CPython 3.11.2, optimised",
        ),
        (
            {"python": "3.13.1", "python_implementation": "CPython", "python_optimised": False},
            True,
            "CPython 3.13.1, plain, of the runner beside a service that ran already",
        ),
    ],
)
def test_results_name_the_interpreter(recorded: dict[str, object], running: bool, text: str) -> None:
    document = {"scenario": "send_1", "machine": recorded, "settings": {"service_was_running": running}}
    assert report_page.interpreter_of(document) == text
    again = document | {"scenario": "send_10"}
    assert report_page.interpreters([document, again]) == f"Interpreter: {text} (send_1, send_10)."


def test_the_recorded_machine_names_its_interpreter() -> None:
    recorded = machine()
    assert recorded["python"] == platform.python_version()
    assert recorded["python_implementation"] == platform.python_implementation()
    assert recorded["python_optimised"] is is_optimised()


@pytest.mark.parametrize(
    ("ours", "marks", "told"),
    [
        # The goal is 0.060 s, and pgmq needed 0.090 s.
        (0.078, [], ["| pgmq | 0.65 | 0.67 | yes |"]),
        (0.09, [], ["| pgmq | 0.75 | 0.67 | no |"]),
        (0.078, ["INVALID: lost"], []),
    ],
)
def test_a_goal_beside_a_peer(ours: float, marks: list[str], told: list[str]) -> None:
    cpu = {"penstock": ours, "pgmq": 0.12, "unknown": 0.01}
    systems = [
        {"system": name, "connections": 16, "median": {"server_cpu_seconds_per_1000": value},
         "marks": marks if name == "pgmq" else []}
        for name, value in cpu.items()
    ]  # fmt: skip
    rows = list(report_page.rows_beside_peers({"scenario": "send_1", "systems": systems}))
    assert markdown(rows).splitlines()[2:] == [f"| send_1 | CPU {line}" for line in told]


def test_the_page_in_the_repository_is_what_its_summaries_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    assert report_page.main(["--check"]) == 0
